//! `zfs destroy`

use super::name_fault;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::program::Cx;
use crate::{getopt, jobs};
use api_types::{DatasetDestroy, DestroyPreview, kind, routes};

pub fn destroy(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "vpndfrR", &[])?;
    let name = match options.operands.as_slice() {
        [] => return usage("missing dataset argument"),
        [name] => name.clone(),
        _ => return usage("too many arguments"),
    };
    if name.contains(['@', '#']) {
        return fail(format!(
            "cannot destroy '{name}': snapshots are not supported by this version of Cistern yet"
        ));
    }
    if let Some(why) = name_fault(&name) {
        return fail(format!("cannot open '{name}': {why}"));
    }
    let recursive = options.has("r") || options.has("R");
    let path = format!("{}?recursive=true", routes::at(routes::DATASET_DESTROY, &name));
    let preview = match cx.client.get::<DestroyPreview>(&path) {
        Ok(preview) => preview,
        Err(error) => {
            let problem = error.problem()?;
            let what = if problem.kind == kind::NOT_FOUND { "open" } else { "destroy" };
            return fail(sentence(&format!("cannot {what} '{name}'"), &problem, Noun::Dataset));
        }
    };
    let others: Vec<String> = preview.names.iter().filter(|one| **one != name).cloned().collect();
    let is_root = !name.contains('/');
    if is_root && !recursive {
        return fail(format!(
            "cannot destroy '{name}': operation does not apply to pools\n\
             use 'zfs destroy -r {name}' to destroy all datasets in the pool\n\
             use 'zpool destroy {name}' to destroy the pool itself"
        ));
    }
    if !others.is_empty() && !recursive {
        return fail(format!(
            "cannot destroy '{name}': filesystem has children\n\
             use '-r' to destroy the following datasets:\n{}",
            others.join("\n")
        ));
    }
    if options.has("v") || options.has("n") && options.has("p") {
        let verb = match (options.has("p"), options.has("n")) {
            (true, _) => "destroy\t",
            (false, true) => "would destroy ",
            (false, false) => "will destroy ",
        };
        for one in preview.names.iter().filter(|one| !is_root || **one != name) {
            writeln!(cx.io.out, "{verb}{one}")?;
        }
    }
    if options.has("n") {
        return Ok(0);
    }
    let request = DatasetDestroy { recursive, force: options.has("f"), history: cx.history.clone() };
    match jobs::run(cx, &routes::at(routes::DATASET_DESTROY, &name), &request) {
        Ok(result) => cx.warn(&result.warnings),
        Err(error) => {
            let problem = error.problem()?;
            fail(sentence(&format!("cannot destroy '{name}'"), &problem, Noun::Dataset))
        }
    }
}
