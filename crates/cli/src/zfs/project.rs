//! `zfs project`
//!
//! OpenZFS's command asks the kernel about every file by ioctl; this one asks the daemon, a
//! directory at a time, so a file system need not be mounted on this machine. Nodes that have no
//! project, such as links, are passed over, and what is mounted below a directory is another file
//! system.
//!
//! Sources: cmd/zfs/zfs_main.c (`zfs_do_project`), cmd/zfs/zfs_project.c.

use std::collections::VecDeque;

use crate::client::CallError;
use crate::command::Cx;
use crate::fail::{Outcome, Stop, usage};
use crate::getopt::{self, Parsed};
use api_types::{
    DatasetInfo, Mount, NodeProject, PROJECT_NODES_MAX, Problem, ProjectPage, ProjectSet, ProjectsSet,
    escape_path, kind, routes, unescape_path,
};

/// As OpenZFS ends where something fails.
const FAILED: i32 = 255;
/// The number that means no project.
const NO_PROJECT: u64 = u32::MAX as u64;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Op {
    List,
    Check,
    Clear,
    Set,
}

/// What a command line asks for.
struct Control {
    op: Op,
    /// `-p`
    project: Option<u32>,
    /// `-d`
    dir_only: bool,
    /// `-r`
    recursive: bool,
    /// `-k`
    keep_project: bool,
    /// `-s`
    set_flag: bool,
    /// `-0`
    ends_with_nul: bool,
}

/// A node of a file system, and how the operator calls it.
#[derive(Clone)]
struct Place {
    dataset: String,
    /// From the file system's root on.
    path: Vec<u8>,
    shown: Vec<u8>,
}

impl Place {
    fn entry(&self, name: &[u8]) -> Place {
        let join = |dir: &[u8]| [dir, b"/", name].concat();
        Place { dataset: self.dataset.clone(), path: join(&self.path), shown: join(&self.shown) }
    }

    fn route(&self) -> String {
        routes::at(routes::DATASET_PROJECTS, &self.dataset)
    }
}

pub fn project(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    if args.is_empty() {
        return usage("");
    }
    let options = getopt::parse(args, "0Ccdkp:rs", &[])?;
    let control = control(&options)?;
    if options.operands.is_empty() {
        return usage("missing file or directory target(s)");
    }
    let mut status = 0;
    for operand in &options.operands {
        let ended = one_target(cx, &control, operand)?;
        status = if status == 0 { ended } else { status };
    }
    Ok(status)
}

fn control(options: &Parsed) -> Result<Control, Stop> {
    let mut ops = options.options.iter().filter_map(|option| match option.name.as_str() {
        "C" => Some(Op::Clear),
        "c" => Some(Op::Check),
        "s" => Some(Op::Set),
        _ => None,
    });
    let given = ops.next();
    if ops.next().is_some() {
        return usage("cannot specify '-C' '-c' '-s' together");
    }
    let project = options.value("p").map(number).transpose()?;
    // Of the two the last one counts.
    let depth = options.options.iter().rev().find(|option| matches!(option.name.as_str(), "d" | "r"));
    let depth = depth.map(|option| option.name.as_str());
    let op = given.unwrap_or(if project.is_some() { Op::Set } else { Op::List });
    let control = Control {
        op,
        project,
        dir_only: depth == Some("d"),
        recursive: depth == Some("r"),
        keep_project: options.has("k"),
        set_flag: options.has("s"),
        ends_with_nul: options.has("0"),
    };
    let misuses = [
        (op == Op::Clear && control.dir_only, "'-d' is useless together with '-C'"),
        (op == Op::Set && control.dir_only, "'-d' is useless for set project ID and/or inherit flag"),
        (op != Op::Clear && control.keep_project, "'-k' is only valid together with '-C'"),
        (op != Op::Check && control.ends_with_nul, "'-0' is only valid together with '-c'"),
        (op == Op::Clear && project.is_some(), "'-p' is useless together with '-C'"),
    ];
    match misuses.into_iter().find(|(is_misused, _)| *is_misused) {
        Some((_, why)) => usage(why),
        None => Ok(control),
    }
}

/// As strtoull(3) takes one of any base.
fn number(text: &str) -> Result<u32, Stop> {
    let parsed = match text.strip_prefix("0x").or(text.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if text.len() > 1 && text.starts_with('0') => u64::from_str_radix(text, 8),
        None => text.parse(),
    };
    match parsed {
        Err(_) => usage(format!("project ID must be less than {NO_PROJECT}")),
        Ok(id) if id >= NO_PROJECT => usage("invalid project ID"),
        Ok(id) => Ok(id as u32),
    }
}

/// One operand; the exit status that it asks for.
fn one_target(cx: &mut Cx<'_>, control: &Control, operand: &str) -> Outcome {
    let Some(top) = place(cx, operand)? else {
        cx.complain(&match std::fs::metadata(operand) {
            Ok(_) => format!("failed to get xattr for {operand}: Inappropriate ioctl for device"),
            Err(_) => format!("failed to stat {operand}: No such file or directory"),
        })?;
        return Ok(FAILED);
    };
    let found = match page(cx, &top, None) {
        Ok(page) => page.node,
        Err(error) => {
            let problem = error.problem()?;
            cx.complain(&match problem.kind.as_str() {
                kind::REFUSED => problem.detail,
                _ => format!("failed to stat {operand}: {}", errno_words(&problem)),
            })?;
            return Ok(FAILED);
        }
    };
    if !found.is_dir && (control.dir_only || control.recursive) {
        let option = if control.dir_only { 'd' } else { 'r' };
        cx.complain(&format!("'-{option}' option on non-dir target {operand}"))?;
        return Ok(FAILED);
    }
    let expected = control.project.unwrap_or(found.project);
    if !handle(cx, control, expected, &top, std::slice::from_ref(&found))? {
        return Ok(FAILED);
    }
    let goes_down = control.recursive || matches!(control.op, Op::List | Op::Check);
    if !found.is_dir || control.dir_only || !goes_down {
        return Ok(0);
    }
    let mut dirs = VecDeque::from([top]);
    while let Some(dir) = dirs.pop_front() {
        let mut after = Some(0);
        while let Some(from) = after {
            let page = match page(cx, &dir, Some(from)) {
                Ok(page) => page,
                Err(error) => match error.problem()? {
                    // Removed, or renamed, since its own directory was read.
                    problem if problem.kind == kind::NOT_FOUND => break,
                    problem => {
                        let shown = String::from_utf8_lossy(&dir.shown);
                        cx.complain(&format!("failed to opendir {shown}: {}", errno_words(&problem)))?;
                        return Ok(FAILED);
                    }
                },
            };
            after = page.next;
            if !handle(cx, control, expected, &dir, &page.entries)? {
                return Ok(FAILED);
            }
            let below = page.entries.iter().filter(|entry| control.recursive && entry.is_dir);
            dirs.extend(below.map(|entry| dir.entry(&unescape_path(&entry.name))));
        }
    }
    Ok(0)
}

/// Lists, checks or changes nodes: entries of a directory, or where the name is empty the node
/// itself. Whether all went well.
fn handle(
    cx: &mut Cx<'_>,
    control: &Control,
    expected: u32,
    dir: &Place,
    nodes: &[NodeProject],
) -> Result<bool, Stop> {
    let shown = |node: &NodeProject| match unescape_path(&node.name) {
        name if name.is_empty() => dir.shown.clone(),
        name => dir.entry(&name).shown,
    };
    let to_change = |node: &&NodeProject| match control.op {
        Op::Set => node.project != expected || control.set_flag && !node.inherit,
        Op::Clear => node.inherit || !control.keep_project && node.project != 0,
        Op::List | Op::Check => false,
    };
    match control.op {
        Op::List => {
            for node in nodes {
                write!(cx.io.out, "{:5} {} ", node.project, if node.inherit { 'P' } else { '-' })?;
                cx.io.out.write_all(&[&shown(node)[..], b"\n"].concat())?;
            }
        }
        Op::Check => {
            for node in nodes {
                check(cx, control, expected, node, &shown(node))?;
            }
        }
        Op::Set | Op::Clear => {
            let changing: Vec<&NodeProject> = nodes.iter().filter(to_change).collect();
            for some in changing.chunks(PROJECT_NODES_MAX) {
                let request = ProjectSet {
                    path: escape_path(&dir.path),
                    names: some.iter().map(|node| node.name.clone()).collect(),
                    project: match control.op {
                        Op::Set => Some(expected),
                        _ => (!control.keep_project).then_some(0),
                    },
                    inherit: match control.op {
                        Op::Set => control.set_flag.then_some(true),
                        _ => Some(false),
                    },
                };
                let set: ProjectsSet = cx.client.post(&dir.route(), &request)?;
                if let Some(why) = set.failed {
                    let node = some.get(set.done).map(|node| shown(node)).unwrap_or_default();
                    let node = String::from_utf8_lossy(&node);
                    cx.complain(&format!("failed to set xattr for {node}: {}", errno_words(&why)))?;
                    return Ok(false);
                }
            }
        }
    }
    Ok(true)
}

fn check(
    cx: &mut Cx<'_>,
    control: &Control,
    expected: u32,
    node: &NodeProject,
    shown: &[u8],
) -> Result<(), Stop> {
    let other = node.project != expected;
    let out = &mut cx.io.out;
    if control.ends_with_nul {
        if other || !node.inherit {
            out.write_all(&[shown, &[0]].concat())?;
        }
        return Ok(());
    }
    if other {
        out.write_all(shown)?;
        writeln!(out, " - project ID is not set properly ({}/{expected})", node.project)?;
    }
    if !node.inherit {
        out.write_all(shown)?;
        writeln!(out, " - project inherit flag is not set")?;
    }
    Ok(())
}

/// A node, and a part of its entries from there on.
fn page(cx: &Cx<'_>, at: &Place, entries: Option<u64>) -> Result<ProjectPage, CallError> {
    let path = routes::segment(&escape_path(&at.path));
    let (wanted, after) = (entries.is_some(), entries.unwrap_or(0));
    cx.client.get(&format!("{}?path={path}&entries={wanted}&after={after}", at.route()))
}

/// The file system that a path lies in, and where. Links are followed as far as the path can be
/// seen on this machine; a file system that is not mounted here lies where its clients see it.
fn place(cx: &mut Cx<'_>, operand: &str) -> Result<Option<Place>, Stop> {
    use std::os::unix::ffi::OsStrExt;
    cx.client.must_be_here(operand)?;
    let seen = std::fs::canonicalize(operand).or_else(|_| std::path::absolute(operand));
    let Ok(path) = seen else { return Ok(None) };
    let mounts: Vec<Mount> = cx.client.get(routes::MOUNTS)?;
    let mut places: Vec<(String, String)> =
        mounts.into_iter().map(|mount| (mount.mountpoint, mount.dataset)).collect();
    if !places.iter().any(|(at, _)| path.starts_with(at)) {
        let route = format!("{}?kinds=filesystem&props=mountpoint", routes::DATASETS);
        let datasets: Vec<DatasetInfo> = cx.client.get(&route)?;
        places = datasets
            .into_iter()
            .filter_map(|dataset| Some((dataset.props.first()?.value.clone(), dataset.name)))
            .filter(|(at, _)| at.starts_with('/'))
            .collect();
    }
    let inside = places.into_iter().filter(|(at, _)| path.starts_with(at)).max_by_key(|(at, _)| at.len());
    Ok(inside.and_then(|(at, dataset)| {
        let within = path.strip_prefix(at).ok()?;
        let within = [b"/", within.as_os_str().as_bytes()].concat();
        Some(Place { dataset, path: within, shown: operand.as_bytes().to_vec() })
    }))
}

/// strerror(3)'s words for what a file could not be done.
fn errno_words(problem: &Problem) -> String {
    match problem.kind.as_str() {
        kind::NOT_FOUND => "No such file or directory".into(),
        kind::DENIED => "Permission denied".into(),
        kind::READ_ONLY => "Read-only file system".into(),
        kind::NO_SPACE => "No space left on device".into(),
        kind::QUOTA => "Disk quota exceeded".into(),
        kind::INVALID => "Invalid argument".into(),
        kind::UNSUPPORTED => "Operation not supported".into(),
        kind::SUSPENDED | kind::CORRUPT => "Input/output error".into(),
        _ => problem.to_string(),
    }
}

#[cfg(test)]
mod tests;
