//! `zfs create`

use super::{name_fault, select};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, reason, sentence, usage};
use crate::props::{self, Domain};
use crate::{accounts, getopt};
use api_types::refusal::{Action, Refused};
use api_types::{
    Changed, DEFAULT_VOLBLOCKSIZE, DatasetCreate, DatasetPlan, Edit, PropertyChange, Warning, kind, routes,
};
use stdx::number;

pub fn create(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "PV:b:nso:puv", &[])?;
    let volume = options.has("V");
    if !volume && (options.has("s") || options.has("b")) {
        return usage("'-s' and '-b' can only be used when creating a volume");
    }
    if volume && options.has("u") {
        return usage("'-u' can only be used when creating a filesystem");
    }
    let name = options.one(if volume { "missing volume argument" } else { "missing filesystem argument" })?;
    let mut request = DatasetCreate {
        name: name.clone(),
        parents: options.has("p"),
        no_mount: options.has("u"),
        volume,
        sparse: options.has("s"),
        history: cx.history.clone(),
        ..DatasetCreate::default()
    };
    for (option, name, what) in [("V", "volsize", "volume size"), ("b", "volblocksize", "volume block size")]
    {
        if let Some(text) = options.value(option) {
            let value = number::parse(text).or_else(|why| fail(format!("bad {what} '{text}': {why}")))?;
            props::add(&mut request.props, PropertyChange { name: name.into(), value: value.to_string() })?;
        }
    }
    for text in options.values("o") {
        props::add(&mut request.props, props::assignment(text, "missing '=' for property=value argument")?)?;
    }
    let dry_run = options.has("n");
    let what = format!("cannot {} '{name}'", if dry_run { "verify" } else { "create" });
    request.props =
        accounts::numbered(&cx.client, &request.props).or_else(|why| fail(format!("{what}: {why}")))?;
    let plan = if dry_run || volume { planned(cx, &request, &what)? } else { DatasetPlan::default() };
    if let Some(why) = fault(&request).filter(|_| !dry_run) {
        return fail(format!("{what}: {why}"));
    }
    if volume {
        warn_of_small_blocks(cx, &request)?;
    }
    let verbose = options.has("v") || options.has("P");
    if request.parents && (dry_run || verbose) && select::exists(cx, name)? {
        return Ok(0);
    }
    if verbose {
        announce(cx, &request, &asked(&options, &plan), (dry_run, options.has("P")))?;
    }
    if dry_run {
        return Ok(0);
    }
    match cx.client.post::<Changed>(routes::DATASETS, &request) {
        Ok(changed) => {
            // Who may not mount is told so instead.
            let says_it = changed.warnings.reasons.contains(&Warning::MountedByRootAlone);
            if !changed.warnings.is_empty() && !says_it {
                cx.complain("filesystem successfully created, but not mounted")?;
            }
            cx.warn(&changed.warnings)
        }
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::NOT_FOUND {
                return fail(format!("{what}: {}", missing(cx, &request)?));
            }
            fail(sentence(&what, &problem, Noun::Dataset))
        }
    }
}

/// Has the pool judge the properties.
fn planned(cx: &mut Cx<'_>, request: &DatasetCreate, what: &str) -> Result<DatasetPlan, Stop> {
    let problem = match cx.client.post::<DatasetPlan>(routes::DATASET_PLAN, request) {
        Ok(plan) => return Ok(plan),
        Err(error) => error.problem()?,
    };
    if problem.kind == kind::NOT_FOUND {
        let pool = request.name.split('/').next().unwrap_or_default();
        return fail(format!("cannot open '{pool}': no such pool"));
    }
    fail(match problem.refused.as_deref() {
        // It is refused as if it were made, and may only be verified.
        Some(Refused { action: Some(Action::Create { name }), reason }) if *name == request.name => {
            format!("{what}: {reason}")
        }
        _ => sentence(what, &problem, Noun::Dataset),
    })
}

fn warn_of_small_blocks(cx: &mut Cx<'_>, request: &DatasetCreate) -> Result<(), Stop> {
    let block = request.props.iter().find(|prop| prop.name == "volblocksize");
    let least = DEFAULT_VOLBLOCKSIZE;
    let Some(block) = block.and_then(|prop| number::parse(&prop.value).ok()).filter(|block| *block < least)
    else {
        return Ok(());
    };
    cx.complain(&format!(
        "Warning: volblocksize ({block}) is less than the default minimum block size ({least}).\n\
         To reduce wasted space a volblocksize of {least} is recommended."
    ))
}

/// The properties as `-v` tells them: as they were given, in that order; what is known better comes
/// last (`zfs_do_create` in cmd/zfs/zfs_main.c). A text is never known better.
fn asked(options: &getopt::Parsed, plan: &DatasetPlan) -> Vec<(String, String)> {
    let mut list: Vec<(String, String)> = Vec::new();
    let put = |list: &mut Vec<(String, String)>, name: &str, value: String| {
        list.retain(|(known, _)| known != name);
        list.push((name.to_owned(), value));
    };
    let mut texts = Vec::new();
    for option in &options.options {
        let number = || number::parse(&option.value).unwrap_or(0).to_string();
        match (option.name.as_str(), option.value.split_once('=')) {
            ("V", _) => put(&mut list, "volsize", number()),
            ("b", _) => put(&mut list, "volblocksize", number()),
            ("o", Some((name, value))) => {
                put(&mut list, name, value.to_owned());
                texts.push(name);
            }
            _ => {}
        }
    }
    if let Some(volume) = &plan.volume {
        if volume.block != DEFAULT_VOLBLOCKSIZE && !texts.contains(&"volblocksize") {
            put(&mut list, "volblocksize", volume.block.to_string());
        }
        if !list.contains(&("volsize".to_owned(), volume.size.to_string())) {
            put(&mut list, "volsize", volume.size.to_string());
        }
        if !options.has("s") && !texts.contains(&volume.limit.as_str()) {
            put(&mut list, &volume.limit, volume.reserved.to_string());
        }
    }
    list
}

/// What is wrong with the request as it stands.
fn fault(request: &DatasetCreate) -> Option<String> {
    let name = request.name.as_str();
    if let Some(why) = name_fault(name) {
        return Some(why);
    }
    if let Some(char) = name.chars().find(|char| "@#%".contains(*char)) {
        let what = if char == '@' {
            "snapshot delimiter '@' is not expected here"
        } else {
            "invalid character in name"
        };
        return Some(what.into());
    }
    // With -p, what is there already is what was asked for: a pool's root, too.
    if !name.contains('/') && !request.parents {
        return Some("missing dataset name".into());
    }
    let readonly = |prop: &&PropertyChange| {
        Domain::Dataset.definition(&prop.name).is_some_and(|def| def.edit() == Edit::Never)
    };
    let found = request.props.iter().find(readonly).map(|prop| format!("'{}' is readonly", prop.name));
    found.or_else(|| {
        let unknown = |prop: &&PropertyChange| props::column(Domain::Dataset, &prop.name).is_none();
        request.props.iter().find(unknown).map(|prop| format!("invalid property '{}'", prop.name))
    })
}

/// The pool, or only the parent.
fn missing(cx: &mut Cx<'_>, request: &DatasetCreate) -> Result<String, Stop> {
    let pool = request.name.split('/').next().unwrap_or_default();
    let problem = match cx.client.get::<api_types::PoolStatus>(&routes::at(routes::POOL, pool)) {
        Ok(_) => return Ok("parent does not exist".into()),
        Err(error) => error.problem()?,
    };
    Ok(match problem.kind.as_str() {
        kind::NOT_FOUND => format!("no such pool '{pool}'"),
        _ => reason(&problem, Noun::Pool),
    })
}

/// `-v` and `-P`
fn announce(
    cx: &mut Cx<'_>,
    request: &DatasetCreate,
    props: &[(String, String)],
    (dry_run, parsable): (bool, bool),
) -> Result<(), Stop> {
    let verb = |text: &str| match (parsable, dry_run) {
        (true, _) => format!("{}\t", text.replace(' ', "_").trim_end_matches("_of")),
        (false, true) => format!("would {text} "),
        (false, false) => format!("{text} "),
    };
    if request.parents {
        writeln!(cx.io.out, "{}{}", verb("create ancestors of"), request.name)?;
    }
    writeln!(cx.io.out, "{}{}", verb("create"), request.name)?;
    for (name, value) in props {
        match parsable {
            true => writeln!(cx.io.out, "property\t{name}\t{value}")?,
            false => writeln!(cx.io.out, "\t{name}={value}")?,
        }
    }
    Ok(())
}
