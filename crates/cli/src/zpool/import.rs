//! `zpool import`: what could be imported, and importing it.

use super::rewind;
use super::status::folded;
use crate::command::{Cx, refusal};
use crate::fail::{Noun, Outcome, Stop, fail, sentence, usage};
use crate::getopt::{self, Parsed};
use crate::vdevs::{self, Naming};
use crate::{jobs, props};
use api_types::refusal::{ImportFault, Reason};
use api_types::{
    CacheFileSearch, ImportSearch, Importable, JobResult, PoolImport, Problem, VdevStatus, kind, routes,
};

pub fn import(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "aCc:d:DEfFlmnNo:R:stT:VX", &["rewind-to-checkpoint"])?;
    for later in ["C", "E", "l", "V"] {
        if options.has(later) {
            return fail(format!("zpool import -{later}: not supported by this version of Cistern yet"));
        }
    }
    if (options.has("n") || options.has("X")) && !options.has("F") {
        return usage("-n or -X only meaningful with -F");
    }
    if options.has("c") && options.has("d") {
        return usage("-c is incompatible with -d");
    }
    if options.operands.len() > if options.has("a") { 0 } else { 2 } {
        return usage("too many arguments");
    }
    let mut request = request(cx, &options)?;
    let done = act(cx, &request, &options);
    // Devices may have other paths than the cache file says, but hardly in other folders.
    if let Some(cachefile) = &mut request.cachefile
        && !cachefile.scan
        && !matches!(done, Ok(0))
    {
        writeln!(cx.io.out, "cachefile import failed, retrying")?;
        cachefile.scan = true;
        return act(cx, &request, &options);
    }
    done
}

fn act(cx: &mut Cx<'_>, request: &PoolImport, options: &Parsed) -> Outcome {
    match (options.operands.as_slice(), options.has("a")) {
        ([], false) => list(cx, request),
        ([], true) => import_all(cx, request),
        ([which, rest @ ..], _) => {
            let new_name = rest.first().cloned();
            let request = PoolImport { which: which.clone(), new_name, ..request.clone() };
            run(cx, &request, which)
        }
    }
}

fn request(cx: &Cx<'_>, options: &Parsed) -> Result<PoolImport, Stop> {
    let mut request = PoolImport {
        search: search(options),
        cachefile: cachefile(options),
        temporary: options.has("t"),
        force: options.has("f"),
        destroyed: options.has("D"),
        rewind: options.has("F"),
        extreme: options.has("X"),
        rewind_txg: options.value("T").map(txg).transpose()?,
        to_checkpoint: options.has("rewind-to-checkpoint"),
        missing_log: options.has("m"),
        dry_run: options.has("n"),
        no_mount: options.has("N"),
        altroot: options.value("R").map(str::to_owned),
        history: cx.history.clone(),
        ..PoolImport::default()
    };
    if let Some(root) = request.altroot.as_deref().filter(|root| !root.starts_with('/')) {
        return fail(format!("invalid alternate root '{root}': must be an absolute path"));
    }
    for text in options.values("o") {
        match text.split_once('=') {
            Some(("readonly", value)) => request.readonly = readonly(value)?,
            Some(("altroot", value)) => request.altroot = Some(value.to_owned()),
            Some(_) => props::add(&mut request.props, props::assignment(text, "")?)?,
            None => request.mount_options.extend(text.split(',').map(str::to_owned)),
        }
    }
    Ok(request)
}

fn txg(text: &str) -> Result<u64, Stop> {
    text.parse().or_else(|_| usage("invalid txg value"))
}

fn readonly(value: &str) -> Result<bool, Stop> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => fail("property 'readonly' must be 'on' or 'off'"),
    }
}

/// The daemon has its own working folder.
fn absolute(path: &str) -> String {
    std::path::absolute(path).map_or_else(|_| path.to_owned(), |path| path.display().to_string())
}

/// `-c`, and `-s` with it; without it, devices are always searched.
fn cachefile(options: &Parsed) -> Option<CacheFileSearch> {
    options.value("c").map(|path| CacheFileSearch { path: absolute(path), scan: options.has("s") })
}

/// `-d`, or `$ZPOOL_IMPORT_PATH`.
fn search(options: &Parsed) -> Vec<String> {
    let mut given: Vec<String> = options.values("d").map(absolute).collect();
    if given.is_empty()
        && let Ok(path) = std::env::var("ZPOOL_IMPORT_PATH")
    {
        given = path.split(':').filter(|part| !part.is_empty()).map(absolute).collect();
    }
    given
}

/// The pools that a request without a name is about; that there are none is said.
fn find(cx: &mut Cx<'_>, request: &PoolImport) -> Result<Vec<Importable>, Stop> {
    let search = ImportSearch { search: request.search.clone(), cachefile: request.cachefile.clone() };
    let found = cx.client.post::<Vec<Importable>>(routes::IMPORTABLE, &search);
    let mut found = found.map_err(|error| refusal("cannot discover pools", error, Noun::Pool))?;
    found.retain(|pool| pool.destroyed == request.destroyed);
    if found.is_empty() {
        cx.complain("no pools available to import")?;
    }
    Ok(found)
}

fn list(cx: &mut Cx<'_>, request: &PoolImport) -> Outcome {
    for (count, pool) in find(cx, request)?.iter().enumerate() {
        if count > 0 {
            writeln!(cx.io.out)?;
        }
        show(cx, pool)?;
    }
    Ok(0)
}

fn show(cx: &mut Cx<'_>, pool: &Importable) -> Result<(), Stop> {
    let destroyed = if pool.destroyed { " (DESTROYED)" } else { "" };
    writeln!(cx.io.out, "  pool: {}\n    id: {}", pool.name, pool.guid)?;
    writeln!(cx.io.out, " state: {}{destroyed}", pool.health.name())?;
    let (status, action) = (pool.condition.status(), pool.condition.action());
    if let Some(status) = &status {
        writeln!(cx.io.out, "status: {}", folded(status))?;
    }
    // The commonest action is the one long line that OpenZFS does not break.
    let action = if status.is_none() { action.to_owned() } else { folded(action) };
    writeln!(cx.io.out, "action: {action}")?;
    writeln!(cx.io.out, "config:\n")?;
    let width = vdevs::name_width(&pool.vdevs, &pool.name, Naming::default()).max(10);
    show_vdev(cx, &pool.vdevs, &pool.name, 0, width)
}

fn show_vdev(cx: &mut Cx<'_>, vdev: &VdevStatus, name: &str, depth: usize, width: usize) -> Result<(), Stop> {
    let pad = width.saturating_sub(depth);
    write!(cx.io.out, "\t{:depth$}{name:<pad$}  {}", "", vdev.health.name())?;
    if let Some(note) = &vdev.note {
        write!(cx.io.out, "  {note}")?;
    }
    writeln!(cx.io.out)?;
    for child in vdevs::normal(vdev) {
        show_vdev(cx, child, &vdevs::name(child, Naming::default()), depth + 2, width)?;
    }
    for (title, vdevs) in vdevs::classes(vdev) {
        writeln!(cx.io.out, "\t{title}\t")?;
        for vdev in vdevs {
            show_vdev(cx, vdev, &vdevs::name(vdev, Naming::default()), depth + 2, width)?;
        }
    }
    Ok(())
}

fn import_all(cx: &mut Cx<'_>, request: &PoolImport) -> Outcome {
    let mut status = 0;
    for pool in find(cx, request)? {
        let one = PoolImport { which: pool.guid.to_string(), ..request.clone() };
        match run(cx, &one, &pool.name) {
            Ok(code) => status |= code,
            Err(Stop::Fail(text)) => {
                cx.complain(&text)?;
                status = 1;
            }
            Err(other) => return Err(other),
        }
    }
    Ok(status)
}

/// Whether the pool is damaged, and not just incomplete.
fn is_damaged(problem: &Problem) -> bool {
    let why = problem.refused.as_ref().map(|refused| &refused.reason);
    why == Some(&Reason::Import(ImportFault::Damaged))
}

fn run(cx: &mut Cx<'_>, request: &PoolImport, name: &str) -> Outcome {
    match jobs::run(cx, routes::IMPORTS, request) {
        Ok(JobResult { rewound: Some(rewound), .. }) if request.dry_run => {
            write!(cx.io.out, "{}", rewind::exclaim(name, &rewound, true))?;
            Ok(1)
        }
        Ok(result) => {
            if let Some(rewound) = &result.rewound {
                write!(cx.io.out, "{}", rewind::exclaim(name, rewound, false))?;
            }
            if result.warnings.is_empty() {
                return Ok(0);
            }
            // The pool is there: as OpenZFS has it, mounts that fail don't make the import fail.
            cx.warn(&result.warnings)?;
            cx.complain("Import was successful, but unable to mount some datasets")?;
            Ok(0)
        }
        Err(error) => {
            let problem = error.problem()?;
            match problem.kind.as_str() {
                kind::NOT_FOUND => fail(format!("cannot import '{name}': no such pool available")),
                kind::EXISTS => fail(format!(
                    "cannot import '{name}': a pool with that name already exists\n\
                     use the form 'zpool import <pool | id> <newpool>' to give it a new name"
                )),
                _ if is_damaged(&problem) && !request.dry_run => {
                    cx.complain(&sentence(&format!("cannot import '{name}'"), &problem, Noun::Pool))?;
                    let back = PoolImport { rewind: true, dry_run: true, ..request.clone() };
                    let recovery =
                        jobs::run(cx, routes::IMPORTS, &back).ok().and_then(|result| result.rewound);
                    write!(cx.io.out, "\t{}", rewind::explain(name, recovery.as_ref()))?;
                    Ok(1)
                }
                _ => fail(sentence(&format!("cannot import '{name}'"), &problem, Noun::Pool)),
            }
        }
    }
}
