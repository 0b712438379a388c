//! `zfs get`, `zfs set`, `zfs inherit`

use super::list::info;
use super::select::{self, Selection};
use crate::accounts;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::getopt;
use crate::propget::{self, Format, Subject};
use crate::props::{self, Domain};
use api_types::{
    Changed, Edit, Inherit, PropertiesSet, PropertyChange, is_dataset_at_property, is_user_property, kind,
    routes,
};

pub fn get(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "d:o:s:jrt:Hp", &["json", "json-int"])?;
    let format = Format::of(Domain::Dataset, &options)?;
    let mut below = options.clone();
    if below.operands.is_empty() {
        return usage("missing property argument");
    }
    let list = below.operands.remove(0);
    let wanted = propget::parse_list(Domain::Dataset, &list)?;
    let mut props = propget::query_names(wanted.as_deref());
    if props.is_empty() && wanted.is_some() {
        // "name" alone: the shortest answer that there is.
        props.push_str("type");
    }
    // Unless told otherwise, snapshots and bookmarks too, where it goes below what is named.
    let kinds = select::kinds(Some(options.value("t").unwrap_or("all")))?;
    let depth = select::depth(&below, &kinds)?;
    let within = below.has("d");
    let selection = Selection { operands: below.operands, depth, within, kinds, props };
    let (found, status) = select::select(cx, &selection)?;
    let subjects: Vec<Subject> = found
        .into_iter()
        .map(|dataset| Subject {
            info: info(&dataset, format.as_int),
            name: dataset.name,
            props: dataset.props,
        })
        .collect();
    if status == 0 || !format.json {
        propget::print(cx, &format, "datasets", &subjects, wanted.as_deref())?;
    }
    Ok(status)
}

pub fn set(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "u", &[])?;
    let operands = &options.operands;
    if operands.is_empty() {
        return usage("missing arguments");
    }
    let first_name = operands.iter().position(|operand| !operand.contains('=')).unwrap_or(operands.len());
    let (assignments, names) = operands.split_at(first_name);
    match (assignments.is_empty(), names.is_empty()) {
        (true, _) => return usage("missing property=value argument(s)"),
        (_, true) => return usage("missing dataset name(s)"),
        _ => {}
    }
    if names.iter().any(|name| name.contains('=')) {
        return usage("invalid argument order");
    }
    let mut wanted: Vec<PropertyChange> = Vec::new();
    for text in assignments {
        props::add(&mut wanted, props::assignment(text, "missing property=value argument(s)")?)?;
    }
    let mut status = 0;
    for name in names {
        let request =
            PropertiesSet { props: wanted.clone(), no_mount: options.has("u"), history: cx.history.clone() };
        status |= set_one(cx, name, &request)?;
    }
    Ok(status)
}

/// Sets properties of one dataset; what goes wrong is said, and is status 1.
pub fn set_one(cx: &mut Cx<'_>, name: &str, request: &PropertiesSet) -> Outcome {
    let what = format!("cannot set property for '{name}'");
    if let Some(why) = super::name_fault(name) {
        cx.complain(&format!("cannot open '{name}': {why}"))?;
        return Ok(1);
    }
    let wrong = request.props.iter().find_map(fault);
    let request = match wrong.map_or_else(|| accounts::numbered(&cx.client, &request.props), Err) {
        Ok(props) => PropertiesSet { props, ..request.clone() },
        Err(why) => {
            cx.complain(&format!("{what}: {why}"))?;
            return Ok(1);
        }
    };
    match cx.client.post::<Changed>(&routes::at(routes::DATASET_PROPERTIES, name), &request) {
        Ok(changed) => {
            if !changed.warnings.is_empty() {
                cx.complain("property may be set but unable to remount filesystem")?;
            }
            cx.warn(&changed.warnings)
        }
        Err(error) => refused(cx, name, &what, error),
    }
}

/// What is wrong with a property that can be seen without the engine.
fn fault(prop: &PropertyChange) -> Option<String> {
    match Domain::Dataset.definition(&prop.name) {
        Some(def) if def.edit() != Edit::Always => Some(format!("'{}' is readonly", prop.name)),
        Some(_) => None,
        None if is_user_property(&prop.name) || is_dataset_at_property(&prop.name) => None,
        None => Some(format!("invalid property '{}'", prop.name)),
    }
}

fn refused(cx: &mut Cx<'_>, name: &str, what: &str, error: crate::client::CallError) -> Outcome {
    let problem = error.problem()?;
    let what =
        if problem.kind == kind::NOT_FOUND { format!("cannot open '{name}'") } else { what.to_owned() };
    cx.complain(&sentence(&what, &problem, Noun::Dataset))?;
    Ok(1)
}

pub fn inherit(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "rS", &[])?;
    let Some((property, names)) = options.operands.split_first() else {
        return usage("missing property argument");
    };
    let property = &props::proper(property).to_owned();
    if names.is_empty() {
        return usage("missing dataset argument");
    }
    let received = options.has("S");
    check_inheritable(property, received)?;
    let mut status = 0;
    let mut targets = names.to_vec();
    if options.has("r") {
        let selection =
            Selection { operands: names.to_vec(), depth: None, props: "type".into(), ..Selection::default() };
        let (found, missing) = select::select(cx, &selection)?;
        targets = found.into_iter().map(|dataset| dataset.name).collect();
        status = missing;
    }
    for name in targets {
        let request = Inherit { property: property.clone(), received, history: cx.history.clone() };
        match cx.client.post::<Changed>(&routes::at(routes::DATASET_INHERIT, &name), &request) {
            Ok(changed) => status |= cx.warn(&changed.warnings)?,
            Err(error) => {
                status |= refused(cx, &name, &format!("cannot inherit {property} for '{name}'"), error)?;
            }
        }
    }
    Ok(status)
}

fn check_inheritable(property: &str, received: bool) -> Result<(), Stop> {
    let Some(def) = Domain::Dataset.definition(property) else {
        if is_user_property(property) {
            return Ok(());
        }
        return usage(format!("invalid property '{property}'"));
    };
    if def.edit() == Edit::Never {
        return fail(format!("{property} property is read-only"));
    }
    if def.is_inherited() || received {
        return Ok(());
    }
    let mut text = format!("'{property}' property cannot be inherited");
    if matches!(property, "quota" | "reservation" | "refquota" | "refreservation") {
        text.push_str(&format!("\nuse 'zfs set {property}=none' to clear"));
        text.push_str(&format!("\nuse 'zfs inherit -S {property}' to revert to received value"));
    }
    fail(text)
}
