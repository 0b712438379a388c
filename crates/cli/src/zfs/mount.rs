//! `zfs mount`, `unmount`, `share`, `unshare`

use crate::command::Cx;
use crate::fail::{Noun, Outcome, fail, sentence, usage};
use crate::getopt::{self, Parsed};
use crate::json::Json;
use api_types::{Mount, MountOutcome, MountRequest, ShareRequest, UnmountRequest, Warnings, kind, routes};
use serde::Serialize;

pub fn mount(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "ajRlvo:Of", &["json"])?;
    for later in ["R", "l"] {
        if options.has(later) {
            return fail(format!("zfs mount -{later}: not supported by this version of Cistern yet"));
        }
    }
    if options.value("o") == Some("") {
        return usage("empty mount options (-o) specified");
    }
    if options.operands.is_empty() && !options.has("a") {
        return list(cx, options.has("j"));
    }
    if options.has("j") {
        return usage("too many arguments");
    }
    let request = MountRequest {
        dataset: target(&options, MISSING)?,
        all: options.has("a"),
        overlay: options.has("O"),
        mountpoint: String::new(),
        options: options.values("o").flat_map(|list| list.split(',')).map(str::to_owned).collect(),
    };
    run(cx, routes::MOUNTS, &request, "mount", &request.dataset)
}

fn list(cx: &mut Cx<'_>, json: bool) -> Outcome {
    let mounts: Vec<Mount> = cx.client.get(routes::MOUNTS)?;
    if json {
        let mut all = Json::object();
        for mount in mounts {
            let item = Json::object()
                .with("filesystem", mount.dataset.as_str())
                .with("mountpoint", mount.mountpoint);
            all.put(mount.dataset, item);
        }
        let document = Json::document(&cx.command).with("datasets", all);
        writeln!(cx.io.out, "{document}")?;
        return Ok(0);
    }
    for mount in mounts {
        writeln!(cx.io.out, "{:<30}  {}", mount.dataset, mount.mountpoint)?;
    }
    Ok(0)
}

/// What `mount` and `share` say where nothing is named: only they tell of `-a`.
const MISSING: &str = "missing filesystem argument (specify -a for all)";

/// The one operand, or none with `-a`.
fn target(options: &Parsed, missing: &str) -> Result<String, crate::fail::Stop> {
    match (options.operands.as_slice(), options.has("a")) {
        ([], true) => Ok(String::new()),
        ([], false) => usage(missing),
        ([one], false) => Ok(one.clone()),
        _ => usage("too many arguments"),
    }
}

fn run(cx: &mut Cx<'_>, path: &str, request: &impl Serialize, verb: &str, target: &str) -> Outcome {
    match cx.client.post::<MountOutcome>(path, request) {
        Ok(outcome) => cx.warn(&Warnings { sentences: outcome.failed, ..Warnings::default() }),
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::DENIED && verb == "mount" {
                return fail(format!("cannot mount '{target}': Insufficient privileges"));
            }
            let verb = if problem.kind == kind::NOT_FOUND { "open" } else { verb };
            fail(sentence(&format!("cannot {verb} '{target}'"), &problem, Noun::Dataset))
        }
    }
}

pub fn unmount(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "afu", &[])?;
    let target = target(&options, "missing filesystem argument")?;
    let request = UnmountRequest { target, all: options.has("a") };
    run(cx, routes::UNMOUNTS, &request, "unmount", &request.target)
}

pub fn share(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = without_protocol(getopt::parse(args, "al", &[])?)?;
    let request = ShareRequest { target: target(&options, MISSING)?, all: options.has("a") };
    run(cx, routes::SHARES, &request, "share", &request.target)
}

pub fn unshare(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = without_protocol(getopt::parse(args, "a", &[])?)?;
    let target = target(&options, "missing filesystem argument")?;
    let request = ShareRequest { target, all: options.has("a") };
    run(cx, routes::UNSHARES, &request, "unshare", &request.target)
}

/// `-a nfs` is the same as `-a`; there is no SMB yet.
fn without_protocol(mut options: Parsed) -> Result<Parsed, crate::fail::Stop> {
    if options.has("a") {
        match options.operands.first().map(String::as_str) {
            Some("nfs") => {
                options.operands.remove(0);
            }
            Some("smb") => return fail("SMB is not supported by this version of Cistern yet"),
            Some(other) => return usage(format!("share type must be one of: nfs; not '{other}'")),
            None => {}
        }
    }
    Ok(options)
}
