//! `zfs create`

use super::name_fault;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::program::Cx;
use crate::{getopt, human, props};
use api_types::{Changed, Dataset, DatasetCreate, Edit, PropSet, dataset_property, kind, routes};

pub fn create(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "PV:b:nso:puv", &[])?;
    let volume = options.has("V");
    if !volume && (options.has("s") || options.has("b")) {
        return usage("'-s' and '-b' can only be used when creating a volume");
    }
    if volume && options.has("u") {
        return usage("'-u' can only be used when creating a filesystem");
    }
    let name = match options.operands.as_slice() {
        [] => return usage(format!("missing {} argument", if volume { "volume" } else { "filesystem" })),
        [name] => name,
        _ => return usage("too many arguments"),
    };
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
            let Some(value) = human::bytes(text) else {
                return fail(format!("bad {what} '{text}': bad numeric value"));
            };
            props::add(&mut request.props, PropSet { name: name.into(), value: value.to_string() })?;
        }
    }
    for text in options.values("o") {
        props::add(&mut request.props, props::assignment(text, "missing '=' for property=value argument")?)?;
    }
    let dry_run = options.has("n");
    let what = format!("cannot {} '{name}'", if dry_run { "verify" } else { "create" });
    if let Some(why) = fault(&request) {
        return fail(format!("{what}: {why}"));
    }
    match super::props::numbered(&request.props) {
        Ok(props) => request.props = props,
        Err(why) => return fail(format!("{what}: {why}")),
    }
    let (verbose, parsable) = (options.has("v") || options.has("P"), options.has("P"));
    if dry_run {
        let status = verify(cx, &request, &what)?;
        if verbose && status == 0 {
            announce(cx, &request, true, parsable)?;
        }
        return Ok(status);
    }
    match cx.client.post::<Changed>(routes::DATASETS, &request) {
        Ok(changed) => {
            if verbose {
                announce(cx, &request, false, parsable)?;
            }
            if !changed.warnings.is_empty() {
                cx.complain("filesystem successfully created, but not mounted")?;
            }
            cx.warn(&changed.warnings)
        }
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::NOT_FOUND {
                return fail(format!("{what}: {}", missing(cx, &request)));
            }
            fail(sentence(&what, &problem, Noun::Dataset))
        }
    }
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
    if !name.contains('/') {
        return Some("missing dataset name".into());
    }
    let readonly = |prop: &&PropSet| dataset_property(&prop.name).is_some_and(|def| def.edit == Edit::Never);
    let found = request.props.iter().find(readonly).map(|prop| format!("'{}' is readonly", prop.name));
    found.or_else(|| {
        let unknown = |prop: &&PropSet| props::column(props::Domain::Dataset, &prop.name).is_none();
        request.props.iter().find(unknown).map(|prop| format!("invalid property '{}'", prop.name))
    })
}

/// The pool, or only the parent.
fn missing(cx: &mut Cx<'_>, request: &DatasetCreate) -> String {
    let pool = request.name.split('/').next().unwrap_or_default();
    match cx.client.get::<api_types::Pool>(&routes::at(routes::POOL, pool)) {
        Ok(_) => "parent does not exist".into(),
        Err(_) => format!("no such pool '{pool}'"),
    }
}

/// `-n`: whether it would work, as far as can be seen from outside.
fn verify(cx: &mut Cx<'_>, request: &DatasetCreate, what: &str) -> Outcome {
    let exists = |cx: &mut Cx<'_>, name: &str| {
        let path = format!("{}?roots={}&depth=0&props=type", routes::DATASETS, routes::segment(name));
        cx.client.get::<Vec<Dataset>>(&path).is_ok_and(|found| !found.is_empty())
    };
    let pool = request.name.split('/').next().unwrap_or_default().to_owned();
    let parent = request.name.rsplit_once('/').map_or(pool.as_str(), |(parent, _)| parent).to_owned();
    if !exists(cx, if request.parents { &pool } else { &parent }) {
        return fail(format!("{what}: {}", missing(cx, request)));
    }
    if exists(cx, &request.name) && !request.parents {
        return fail(format!("{what}: dataset already exists"));
    }
    Ok(0)
}

/// `-v` and `-P`
fn announce(
    cx: &mut Cx<'_>,
    request: &DatasetCreate,
    dry_run: bool,
    parsable: bool,
) -> Result<(), crate::fail::Stop> {
    let verb = |text: &str| match (parsable, dry_run) {
        (true, _) => format!("{}\t", text.replace(' ', "_").trim_end_matches("_of")),
        (false, true) => format!("would {text} "),
        (false, false) => format!("{text} "),
    };
    if request.parents {
        writeln!(cx.io.out, "{}{}", verb("create ancestors of"), request.name)?;
    }
    writeln!(cx.io.out, "{}{}", verb("create"), request.name)?;
    for prop in &request.props {
        match parsable {
            true => writeln!(cx.io.out, "property\t{}\t{}", prop.name, prop.value)?,
            false => writeln!(cx.io.out, "\t{}={}", prop.name, prop.value)?,
        }
    }
    Ok(())
}
