//! `zfs rename`

use super::{check_name, name_fault};
use crate::command::Cx;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::getopt;
use api_types::{Changed, Rename, kind, routes};

pub fn rename(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "pruf", &[])?;
    let (from, to) = options.two(["missing source dataset argument", "missing target dataset argument"])?;
    if options.has("p") && options.has("r") {
        return usage("-p and -r options are mutually exclusive");
    }
    if options.has("u") && options.has("p") {
        return usage("-u and -p options are mutually exclusive");
    }
    if options.has("r") && !from.contains('@') {
        return usage("source dataset for recursive rename must be a snapshot");
    }
    check_name(from)?;
    let target = snapshot_target(from, to);
    let to = &target;
    if let Some(why) = name_fault(to) {
        return fail(format!("cannot rename to '{to}': {why}"));
    }
    let pool = |name: &str| name.split(['/', '@']).next().unwrap_or_default().to_owned();
    if pool(from) != pool(to) {
        return fail(format!("cannot rename to '{to}': datasets must be within same pool"));
    }
    if to.strip_prefix(from.as_str()).is_some_and(|rest| rest.starts_with('/')) {
        return fail(format!(
            "cannot rename to '{to}': New dataset name cannot be a descendant of current dataset name"
        ));
    }
    let request = Rename {
        to: to.clone(),
        parents: options.has("p"),
        no_mount: options.has("u"),
        recursive: options.has("r"),
        history: cx.history.clone(),
    };
    match cx.client.post::<Changed>(&routes::at(routes::DATASET_RENAME, from), &request) {
        Ok(changed) => cx.warn(&changed.warnings),
        Err(error) => {
            let problem = error.problem()?;
            match problem.kind.as_str() {
                kind::NOT_FOUND if super::select::exists(cx, from)? => {
                    fail(format!("cannot create '{to}': parent does not exist"))
                }
                kind::NOT_FOUND => fail(format!("cannot open '{from}': dataset does not exist")),
                kind::EXISTS => fail(format!("cannot rename '{from}': dataset already exists")),
                _ => fail(sentence(&format!("cannot rename '{from}'"), &problem, Noun::Dataset)),
            }
        }
    }
}

/// The new name of a snapshot may be given without its dataset, with or without the `@`
/// (lib/libzfs/libzfs_dataset.c, `zfs_rename`).
fn snapshot_target(from: &str, to: &str) -> String {
    match from.split_once('@') {
        Some((head, _)) if to.starts_with('@') => format!("{head}{to}"),
        Some((head, _)) if !to.contains('@') => format!("{head}@{to}"),
        _ => to.to_owned(),
    }
}
