//! `zpool create`

use crate::command::{Cx, refusal};
use crate::fail::{Noun, Outcome, Stop, fail};
use crate::props::{self, Domain};
use crate::{accounts, getopt, jobs, vdevs};
use api_types::{
    DatasetKind, NewVdevs, PoolSpec, PropertyChange, PropertyDef, VdevSpec, is_dataset_at_property,
    is_feature_property, is_user_property, routes,
};

pub fn create(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "fndR:m:o:O:t:", &[])?;
    let mut request = PoolSpec {
        no_features: options.has("d"),
        force: options.has("f"),
        mountpoint: options.value("m").map(str::to_owned),
        altroot: options.value("R").map(str::to_owned),
        temporary_name: options.value("t").map(str::to_owned),
        history: cx.history.clone(),
        ..PoolSpec::default()
    };
    for text in options.values("o") {
        let prop = props::assignment(text, "missing '=' for -o option")?;
        if Domain::Pool.definition(&prop.name).is_none() && !is_feature_property(&prop.name) {
            return not_valid(&prop.name, "pool");
        }
        props::add(&mut request.props, prop)?;
    }
    for text in options.values("O") {
        let prop = props::assignment(text, "missing '=' for -O option")?;
        let own = is_user_property(&prop.name) || is_dataset_at_property(&prop.name);
        let known = Domain::Dataset.definition(&prop.name).is_some_and(|def| !is_of_volumes_alone(def));
        if !known && !own {
            return not_valid(&prop.name, "filesystem");
        }
        props::add(&mut request.fs_props, prop)?;
    }
    take_mountpoint(&mut request);
    request.fs_props = accounts::numbered(&cx.client, &request.fs_props).or_else(|why| {
        let name = options.operands.first().map_or("", String::as_str);
        fail(format!("cannot create '{name}': {why}"))
    })?;
    let missing = ["missing pool name argument", "missing vdev specification"];
    let (name, devices) = options.first_and_more(missing)?;
    check_name(name)?;
    request.temporary_name.as_deref().map_or(Ok(()), check_name)?;
    check_roots(&request)?;
    request.name.clone_from(name);
    cx.client.must_be_here(&cx.command)?;
    let layout = vdevs::parse(devices)?;
    if layout.data.is_empty() {
        return fail("invalid vdev specification: at least one toplevel vdev must be specified");
    }
    if let Some(prop) = request.props.iter().find(|prop| prop.name == "ashift") {
        vdevs::ashift(&prop.value)?;
    }
    if !request.force {
        let redundant = [&layout.data[..], &layout.special, &layout.dedup].concat();
        refuse_mismatches(&vdevs::mismatches(&redundant))?;
    }
    if options.has("n") {
        return show_layout(cx, name, &layout);
    }
    (request.vdevs, request.logs) = (layout.data, layout.logs);
    (request.special, request.dedup) = (layout.special, layout.dedup);
    (request.cache, request.spares) = (layout.cache, layout.spares);
    match jobs::run(cx, routes::POOLS, &request) {
        Ok(result) => cx.warn(&result.warnings),
        Err(error) => Err(refusal(&format!("cannot create '{name}'"), error, Noun::Pool)),
    }
}

/// What snapshots alone have is for the pool to refuse.
fn is_of_volumes_alone(def: &PropertyDef) -> bool {
    def.is_of(DatasetKind::Volume) && !def.is_of(DatasetKind::Filesystem)
}

/// A property that nothing of this kind has (cmd/zpool/zpool_main.c, `add_prop_list`).
fn not_valid(name: &str, of: &str) -> Outcome {
    fail(format!("property '{name}' is not a valid {of} property"))
}

/// Redundancy that differs must be asked for.
pub(super) fn refuse_mismatches(found: &[String]) -> Result<(), Stop> {
    if found.is_empty() {
        return Ok(());
    }
    let override_hint = "use '-f' to override the following errors:";
    fail(format!("invalid vdev specification\n{override_hint}\n{}", found.join("\n")))
}

/// `-O mountpoint=` and `-m` say the same.
fn take_mountpoint(request: &mut PoolSpec) {
    let is_mountpoint = |prop: &PropertyChange| prop.name == "mountpoint";
    if let Some(at) = request.fs_props.iter().position(is_mountpoint)
        && request.mountpoint.is_none()
    {
        request.mountpoint = Some(request.fs_props.remove(at).value);
    }
}

fn check_name(name: &str) -> Result<(), Stop> {
    if name.contains('/') {
        let hint = "use 'zfs create' to create a dataset";
        return fail(format!("cannot create '{name}': invalid character '/' in pool name\n{hint}"));
    }
    if let Some(why) = name_fault(name) {
        return fail(format!("cannot create '{name}': {why}"));
    }
    Ok(())
}

/// What is wrong with a new pool's name (module/zcommon/zfs_namecheck.c, `pool_namecheck`;
/// lib/libzfs/libzfs_pool.c).
pub fn name_fault(name: &str) -> Option<String> {
    const RESERVED: [&str; 4] = ["mirror", "raidz", "draid", "spare"];
    if name == "log" || RESERVED.iter().any(|word| name.starts_with(word)) {
        return Some("name is reserved".into());
    }
    if name.len() >= 240 {
        return Some("name is too long".into());
    }
    let valid = |char: char| char.is_ascii_alphanumeric() || "-_.: ".contains(char);
    if let Some(char) = name.chars().find(|char| !valid(*char)) {
        return Some(format!("invalid character '{char}' in pool name"));
    }
    (!name.starts_with(|first: char| first.is_ascii_alphabetic()))
        .then(|| "name must begin with a letter".into())
}

fn check_roots(request: &PoolSpec) -> Result<(), Stop> {
    if let Some(root) = request.altroot.as_deref().filter(|root| !root.starts_with('/')) {
        return fail(format!("invalid alternate root '{root}': must be an absolute path"));
    }
    let Some(mountpoint) = request.mountpoint.as_deref() else { return Ok(()) };
    if mountpoint.starts_with('/') || matches!(mountpoint, "legacy" | "none") {
        return Ok(());
    }
    fail(format!("invalid mountpoint '{mountpoint}': must be an absolute path, 'legacy', or 'none'"))
}

/// `-n`
fn show_layout(cx: &mut Cx<'_>, name: &str, layout: &NewVdevs) -> Outcome {
    writeln!(cx.io.out, "would create '{name}' with the following layout:\n\n\t{name}")?;
    for (title, vdevs) in classes(layout) {
        if !title.is_empty() && !vdevs.is_empty() {
            writeln!(cx.io.out, "\t{title}")?;
        }
        for vdev in &vdevs {
            show_vdev(cx, vdev, 2)?;
        }
    }
    Ok(0)
}

/// Vdevs by what they are for, in the order in which they are listed.
pub(super) fn classes(layout: &NewVdevs) -> [(&'static str, Vec<VdevSpec>); 6] {
    let leaves = |paths: &[String]| paths.iter().cloned().map(VdevSpec::Leaf).collect();
    [
        ("", layout.data.clone()),
        ("dedup", layout.dedup.clone()),
        ("special", layout.special.clone()),
        ("logs", layout.logs.clone()),
        ("cache", leaves(&layout.cache)),
        ("spares", leaves(&layout.spares)),
    ]
}

pub(super) fn show_vdev(cx: &mut Cx<'_>, spec: &VdevSpec, indent: usize) -> Result<(), Stop> {
    match spec {
        VdevSpec::Leaf(path) => {
            let shown = path.strip_prefix("/dev/").unwrap_or(path);
            writeln!(cx.io.out, "\t{:indent$}{shown}", "")?;
        }
        VdevSpec::Mirror(children) | VdevSpec::Raidz { children, .. } => {
            let name = match spec {
                VdevSpec::Raidz { parity, .. } => format!("raidz{parity}"),
                _ => "mirror".to_owned(),
            };
            writeln!(cx.io.out, "\t{:indent$}{name}", "")?;
            for child in children {
                show_vdev(cx, child, indent + 2)?;
            }
        }
    }
    Ok(())
}
