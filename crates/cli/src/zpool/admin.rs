//! destroy, export, labelclear, sync.

use super::pools;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::{getopt, jobs};
use api_types::{LabelClear, PoolRelease, kind, routes};
use stdx::os_error::words;

pub fn destroy(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "f", &[])?;
    let name = options.one("missing pool argument")?;
    let release = PoolRelease { force: options.has("f") };
    match jobs::run(cx, &routes::at(routes::POOL_DESTROY, name), &release) {
        Ok(_) => Ok(0),
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::NOT_FOUND {
                let hint = if name.contains('/') { "\nuse 'zfs destroy' to destroy a dataset" } else { "" };
                return fail(format!("cannot open '{name}': no such pool{hint}"));
            }
            fail(sentence(&format!("cannot destroy '{name}'"), &problem, Noun::Pool))
        }
    }
}

pub fn export(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "af", &[])?;
    let mut names = options.operands.clone();
    if options.has("a") {
        if !names.is_empty() {
            return usage("too many arguments");
        }
        names = pools(cx, &[])?.0.into_iter().map(|pool| pool.name).collect();
    } else if names.is_empty() {
        return usage("missing pool argument");
    }
    let release = PoolRelease { force: options.has("f") };
    let mut status = 0;
    for name in names {
        if let Err(error) = jobs::run(cx, &routes::at(routes::POOL_EXPORT, &name), &release) {
            let problem = error.problem()?;
            let what = if problem.kind == kind::NOT_FOUND { "open" } else { "export" };
            cx.complain(&sentence(&format!("cannot {what} '{name}'"), &problem, Noun::Pool))?;
            status = 1;
        }
    }
    Ok(status)
}

pub fn label_clear(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "f", &[])?;
    let name = options.one("missing vdev name")?;
    cx.client.must_be_here(&cx.command)?;
    let mut path = name.clone();
    if !path.starts_with('/') {
        path = format!("/dev/{name}");
        if !std::path::Path::new(&path).exists() {
            return fail(format!("failed to find device {name}, try specifying absolute path instead"));
        }
    }
    if let Err(error) = std::fs::metadata(&path) {
        return fail(format!("failed to open {path}: {}", words(&error)));
    }
    let request = LabelClear { path: path.clone(), force: options.has("f") };
    match jobs::run(cx, routes::LABELCLEAR, &request) {
        Ok(_) => Ok(0),
        Err(error) => {
            let problem = error.problem()?;
            match problem.kind.as_str() {
                kind::REFUSED => fail(problem.detail),
                kind::NOT_FOUND | kind::INVALID => fail(format!("failed to read label from {path}")),
                _ => fail(format!("failed to clear label for {path}: {problem}")),
            }
        }
    }
}

pub fn sync(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "f", &[])?;
    let (found, mut status) = pools(cx, &options.operands)?;
    let how = PoolRelease { force: options.has("f") };
    for pool in found {
        if let Err(error) = jobs::run(cx, &routes::at(routes::POOL_SYNC, &pool.name), &how) {
            status = cx.refused(&format!("sync '{}' failed", pool.name), error, Noun::Pool)?;
        }
    }
    Ok(status)
}
