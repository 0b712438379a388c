//! Datasets: what real pools say of theirs, and what ours do under administrative changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::{
    DatasetFilter, DatasetInfo, DatasetKind, DatasetPlace, DestroyPlan, DestroyQuery, Source, VdevSpec,
};
use dmu::{Holds, ObjectSpec};
use ondisk::label::config::PoolState;
use ondisk::object_type::ObjectType;
use pool::change::Change;
use pool::spa::create::create;
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options as VerifyOptions, verify};
use pool::{Pool, PoolError};
use storage::Cause;

use crate::create::spec;
use crate::support::{Dir, around, cut_partitions, fixture, shared_fixture, zdb_accepts};

const SIZE: u64 = 256 << 20;
const BLOCK: u32 = 64 << 10;
/// Defaults that are others since 2.1: nothing was compressed then, attributes lay in directories
/// of their own, and the time of reading was kept to the second.
const OTHER_DEFAULTS: [&str; 3] = ["compression", "xattr", "relatime"];
/// What only a file system, or the machine that mounts it, can say.
const OF_FILE_SYSTEMS: [&str; 5] = ["mounted", "version", "utf8only", "normalization", "casesensitivity"];
/// Properties that came after 2.1.
const NEWER: [&str; 5] = ["snapshots_changed", "prefetch", "volthreading", "direct", "longname"];

/// Name, value and source.
type Line = (String, String, String);
type Props = BTreeMap<String, Vec<Line>>;

/// What `zfs get -Hp all` said of each dataset.
fn recorded(text: &str) -> Props {
    let mut all = Props::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, prop, value, source] = fields[..] else { panic!("four fields: {line}") };
        all.entry(name.into()).or_default().push((prop.into(), value.into(), source.into()));
    }
    all
}

fn source_text(source: &Source) -> String {
    match source {
        Source::None => "-".into(),
        Source::Default => "default".into(),
        Source::Local => "local".into(),
        Source::Inherited(from) => format!("inherited from {from}"),
        Source::Received => "received".into(),
        Source::Temporary => "temporary".into(),
    }
}

/// Each dataset says all that it said then, in that order, with the same values from the same
/// sources.
fn differences(listed: &[DatasetInfo], recorded: &Props) -> Vec<String> {
    let drift = drift(listed, recorded);
    let mut wrong = Vec::new();
    for dataset in listed {
        let name = &dataset.name;
        let Some(expected) = recorded.get(name) else {
            wrong.push(format!("{name} is not recorded"));
            continue;
        };
        let counts = |prop: &&str| !NEWER.contains(prop) && !OF_FILE_SYSTEMS.contains(prop);
        let mut shown: Vec<&str> =
            dataset.props.iter().map(|shown| shown.name.as_str()).filter(counts).collect();
        let mut then: Vec<&str> = expected.iter().map(|(prop, ..)| prop.as_str()).filter(counts).collect();
        // Users' own come last, in the order of a hash.
        let of_user = |prop: &&str| prop.contains(':').then(|| prop.to_string());
        shown.sort_by_key(of_user);
        then.sort_by_key(of_user);
        if shown != then {
            wrong.push(format!("{name} has {shown:?}\nnot {then:?}"));
        }
        for (prop, value, source) in expected {
            let Some(shown) = dataset.props.iter().find(|shown| shown.name == *prop) else { continue };
            let is_other = OF_FILE_SYSTEMS.contains(&prop.as_str())
                || (source == "default" && OTHER_DEFAULTS.contains(&prop.as_str()));
            // Volumes had blocks of 8 KiB by default, and have 16 KiB.
            let is_same_source = prop == "volblocksize" || *source == source_text(&shown.source);
            let value = as_called_now(prop, value);
            let same = value == shown.value || is_drift(name, prop, (&shown.value, value), drift);
            let is_fine = is_other || (same && is_same_source);
            if !is_fine {
                wrong.push(format!("{name} {prop}: {value} {source}, not {shown:?}"));
            }
        }
    }
    wrong
}

/// Version 2.1 called attributes in directories by the name `on`.
fn as_called_now<'a>(prop: &str, value: &'a str) -> &'a str {
    match (prop, value) {
        ("xattr", "on") => "dir",
        (_, "-") => "",
        (_, value) => value,
    }
}

fn everything() -> DatasetFilter {
    use DatasetKind::{Bookmark, Filesystem, Snapshot, Volume};
    DatasetFilter { kinds: vec![Filesystem, Volume, Snapshot, Bookmark], ..DatasetFilter::default() }
}

/// By how much the meta object set grew between the record and the export: it counts for the root.
fn drift(listed: &[DatasetInfo], recorded: &Props) -> i64 {
    let root = &listed[0];
    let used = root.props.iter().find(|shown| shown.name == "used").unwrap();
    let (_, then, _) = recorded[&root.name].iter().find(|(prop, ..)| prop == "used").unwrap();
    let drift = number(&used.value) - number(then);
    assert!(drift.abs() < 256 << 10, "{drift}");
    drift
}

fn number(text: &str) -> i64 {
    text.parse().unwrap()
}

/// Whether a value differs by the meta object set's growth only.
fn is_drift(dataset: &str, prop: &str, (now, then): (&str, &str), drift: i64) -> bool {
    let is_root = !dataset.contains(['/', '@']);
    match prop {
        "available" => number(now) == number(then) - drift,
        "used" | "usedbychildren" if is_root => number(now) == number(then) + drift,
        "logicalused" if is_root => (number(now) - number(then)).abs() < 64 << 10,
        _ => false,
    }
}

/// `zpool history -il` printed each record on a line that begins with its date; the export came
/// after it.
fn compare_history(dir: &Dir, pool: &Pool) {
    let path = format!("{}/zpool-history-{}.txt", dir.path(), pool.name());
    let printed = std::fs::read_to_string(path).unwrap();
    let lines: Vec<&str> = printed.lines().filter(|line| line.starts_with("2026-")).collect();
    let records = pool.dsl.history(true).unwrap();
    assert!(lines.len() > 20 && records.len() >= lines.len(), "{} of {}", records.len(), lines.len());
    for (line, record) in lines.iter().zip(&records) {
        let host = record.host.as_deref().unwrap_or("");
        let rest = match record.txg {
            Some(txg) if record.internal => format!("[txg:{txg}] {} [on {host}]", record.text),
            _ => record.text.clone(),
        };
        // What an ioctl was given is on lines of its own.
        let first = rest.lines().next().unwrap_or_default();
        assert!(line.contains(first) && printed.contains(&rest), "{line}\n{rest}");
    }
}

fn compare(name: &str) {
    let dir = Dir::new(&format!("dsl-{name}"));
    fixture(&dir, name);
    compare_in(&dir);
}

/// Of the larger collection, where that is there.
fn compare_shared(name: &str) {
    let dir = Dir::new(&format!("dsl-{name}"));
    if shared_fixture(&dir, name) {
        compare_in(&dir);
    }
}

/// Imports a pool read-only and compares every dataset with the record.
fn compare_in(dir: &Dir) {
    let around = around();
    let text = std::fs::read_to_string(format!("{}/zfs-get.txt", dir.path())).unwrap();
    let recorded = recorded(&text);
    for candidate in search(&around.env, &[dir.path()]) {
        let spec = ImportSpec { readonly: true, force: true, ..ImportSpec::default() };
        let pool = import(&around, &candidate, &spec).unwrap();
        let of_pool = |name: &str| name.split(['/', '@', '#']).next() == Some(&*pool.name());
        let recorded = recorded.clone().into_iter().filter(|(name, _)| of_pool(name)).collect();
        compare_pool(dir, &pool, &recorded);
        pool.export().unwrap();
    }
}

fn compare_pool(dir: &Dir, pool: &Pool, recorded: &Props) {
    let listed = pool.dsl.list(&everything()).unwrap();
    assert_eq!(listed.len(), recorded.len());
    let wrong = differences(&listed, recorded);
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    compare_history(dir, pool);
    let snapshot = listed.iter().find(|dataset| dataset.kind == DatasetKind::Snapshot);
    if let Some(snapshot) = snapshot {
        let open = pool.dsl.open_dataset(&snapshot.name).unwrap();
        assert!(open.is_snapshot() && open.readonly().is_some());
        assert!(open.objset().begin(Holds::new(1, 1)).is_err());
    }
}

#[test]
fn a_default_pool_says_what_openzfs_said() {
    compare("single-default");
}

#[test]
fn mirrors_say_what_openzfs_said() {
    compare("mirror2");
}

#[test]
fn snapshots_say_what_openzfs_said() {
    compare("snapshots");
}

#[test]
fn others_say_what_openzfs_said() {
    for name in ["zvols", "dedup", "raidz1-3disk", "raidz2-5disk", "removed", "stripe-of-mirrors"] {
        compare_shared(name);
    }
}

fn fresh(dir: &Dir) -> Arc<Pool> {
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    create(&around(), &spec("tank", vec![leaf])).unwrap()
}

fn make(name: &str, props: &[(&str, &str)]) -> Change {
    let props = props.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    Change::CreateFilesystem { name: name.into(), parents: false, props }
}

fn names(pool: &Pool) -> Vec<String> {
    let filter = DatasetFilter { props: vec!["name".into()], ..DatasetFilter::default() };
    pool.dsl.list(&filter).unwrap().into_iter().map(|dataset| dataset.name).collect()
}

fn get(pool: &Pool, name: &str, prop: &str) -> (String, Source) {
    let filter = DatasetFilter {
        roots: vec![name.into()],
        depth: Some(0),
        alone: false,
        props: vec![prop.into()],
        kinds: Vec::new(),
    };
    let shown = pool.dsl.list(&filter).unwrap().remove(0).props.remove(0);
    (shown.value, shown.source)
}

/// Writes incompressible bytes as one object.
fn fill(pool: &Pool, name: &str, bytes: usize) {
    let dataset = pool.dsl.open_dataset(name).unwrap();
    let mut random = stdx::prng::Prng::new(7);
    let mut data = vec![0; bytes];
    random.fill(&mut data);
    let tx = dataset.objset().begin(Holds::new(bytes as u64, 8)).unwrap();
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK);
    let object = dataset.objset().alloc(spec, &tx).unwrap();
    object.write(0, &data, &tx).unwrap();
}

fn export(dir: &Dir, pool: Arc<Pool>) {
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(dir, "tank");
}

#[test]
fn file_systems_come_are_renamed_and_go() {
    let dir = Dir::new("dsl-life");
    let pool = fresh(&dir);
    pool.dsl
        .commit(make("tank/a", &[("compression", "off"), ("quota", "64M")]), "zfs create tank/a")
        .unwrap();
    pool.dsl.commit(make("tank/a/b", &[]), "").unwrap();
    pool.dsl.commit(make("tank/c", &[("com.example:who", "me")]), "").unwrap();
    assert_eq!(names(&pool), ["tank", "tank/a", "tank/a/b", "tank/c"]);
    assert_eq!(get(&pool, "tank/a/b", "compression"), ("off".into(), Source::Inherited("tank/a".into())));
    assert_eq!(get(&pool, "tank/c", "com.example:who"), ("me".into(), Source::Local));
    let refused = pool.dsl.commit(make("tank/a", &[]), "").unwrap_err();
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "cannot create 'tank/a': dataset already exists");
    let refused = pool.dsl.commit(make("tank/x/y", &[]), "").unwrap_err();
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "cannot create 'tank/x/y': parent does not exist");

    fill(&pool, "tank/a/b", 8 << 20);
    pool.core().txgs.sync_now().unwrap();
    let used: u64 = get(&pool, "tank/a/b", "used").0.parse().unwrap();
    assert!((8 << 20..9 << 20).contains(&used), "{used}");
    let above: u64 = get(&pool, "tank/a", "usedbychildren").0.parse().unwrap();
    assert_eq!(above, used);

    let rename =
        Change::Rename { from: "tank/a/b".into(), to: "tank/c/d".into(), parents: false, recursive: false };
    pool.dsl.commit(rename, "").unwrap();
    assert_eq!(names(&pool), ["tank", "tank/a", "tank/c", "tank/c/d"]);
    let renamed =
        pool.dsl.history(true).unwrap().into_iter().find(|record| record.text.starts_with("rename"));
    let text = renamed.unwrap().text;
    assert!(text.starts_with("rename tank/a/b (") && text.ends_with(") -> tank/c/d"), "{text}");
    assert_eq!(get(&pool, "tank/a", "usedbychildren").0, "0");
    assert_eq!(get(&pool, "tank/c", "usedbychildren").0, used.to_string());

    let destroy = |names: &[&str]| Change::Destroy {
        names: names.iter().map(|name| (*name).into()).collect(),
        defer: false,
    };
    let refused = pool.dsl.commit(destroy(&["tank/c"]), "").unwrap_err();
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "cannot destroy 'tank/c': filesystem has children");
    pool.dsl.commit(destroy(&["tank/c/d", "tank/c"]), "").unwrap();
    assert_eq!(names(&pool), ["tank", "tank/a"]);
    pool.core().txgs.sync_empty().unwrap();
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!(pool.dsl.freeing(), 0);
    let history: Vec<String> =
        pool.dsl.history(true).unwrap().into_iter().map(|record| record.text).collect();
    assert!(history.iter().any(|text| text == "zfs create tank/a"), "{history:?}");
    assert!(history.iter().any(|text| text.starts_with("destroy tank/c/d (")), "{history:?}");
    export(&dir, pool);
}

#[test]
fn properties_are_set_inherited_and_survive() {
    let dir = Dir::new("dsl-props");
    let pool = fresh(&dir);
    pool.dsl.commit(make("tank/a", &[]), "").unwrap();
    let set = |name: &str, prop: &str, value: &str| {
        let props = vec![(prop.to_owned(), value.to_owned())];
        pool.dsl.commit(Change::SetProperties { name: name.into(), props }, "")
    };
    set("tank", "recordsize", "1M").unwrap();
    set("tank/a", "mountpoint", "/srv/a").unwrap();
    assert_eq!(get(&pool, "tank/a", "recordsize"), ("1048576".into(), Source::Inherited("tank".into())));
    let open = pool.dsl.open_dataset("tank/a").unwrap();
    assert_eq!(open.objset().policy().recordsize, 1 << 20);
    set("tank/a", "recordsize", "8k").unwrap();
    assert_eq!(open.objset().policy().recordsize, 8 << 10);
    drop(open);
    let inherit = Change::Inherit { name: "tank/a".into(), property: "recordsize".into(), received: false };
    pool.dsl.commit(inherit, "").unwrap();
    assert_eq!(get(&pool, "tank/a", "recordsize").1, Source::Inherited("tank".into()));
    let refused = set("tank/a", "quota", "1").unwrap_err().to_string();
    assert_eq!(refused, "cannot set property for 'tank/a': size is less than current used or reserved space");
    export(&dir, pool);
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let spec = ImportSpec { force: true, ..ImportSpec::default() };
    let pool = import(&around, &found[0], &spec).unwrap();
    assert_eq!(get(&pool, "tank/a", "mountpoint"), ("/srv/a".into(), Source::Local));
    export(&dir, pool);
}

#[test]
fn reservations_and_quotas_are_kept() {
    let dir = Dir::new("dsl-quota");
    let pool = fresh(&dir);
    let free = |pool: &Pool| get(pool, "tank", "available").0.parse::<u64>().unwrap();
    let before = free(&pool);
    pool.dsl.commit(make("tank/kept", &[("reservation", "32M"), ("refreservation", "40M")]), "").unwrap();
    let taken = before - free(&pool);
    assert!((40 << 20..42 << 20).contains(&taken), "{taken}");
    pool.dsl.commit(make("tank/small", &[("refquota", "4M")]), "").unwrap();
    fill(&pool, "tank/small", 3 << 20);
    pool.core().txgs.sync_now().unwrap();
    fill(&pool, "tank/small", 3 << 20);
    pool.core().txgs.sync_now().unwrap();
    let open = pool.dsl.open_dataset("tank/small").unwrap();
    let refused = open.objset().begin(Holds::new(1 << 20, 1)).err();
    assert_eq!(refused, Some(dmu::DmuError::Quota));
    assert_eq!(get(&pool, "tank/small", "available").0, "0");
    drop(open);
    fill(&pool, "tank/kept", 8 << 20);
    pool.core().txgs.sync_now().unwrap();
    let unused: u64 = get(&pool, "tank/kept", "usedbyrefreservation").0.parse().unwrap();
    assert!((31 << 20..33 << 20).contains(&unused), "{unused}");
    export(&dir, pool);
}

/// A dataset that could not be written, or mounted, is not begun.
#[test]
fn a_full_pool_gets_no_datasets() {
    let dir = Dir::new("dsl-no-room");
    let pool = fresh(&dir);
    pool.dsl.commit(make("tank/a", &[]), "").unwrap();
    let snapshot = Change::Snapshot { names: vec!["tank/a@s".into()], recursive: false, props: Vec::new() };
    pool.dsl.commit(snapshot, "").unwrap();
    let keep = |bytes: &str| {
        let props = vec![("reservation".into(), bytes.into())];
        pool.dsl.commit(Change::SetProperties { name: "tank/a".into(), props }, "").unwrap();
    };
    let free: u64 = get(&pool, "tank", "available").0.parse().unwrap();
    let used: u64 = get(&pool, "tank/a", "used").0.parse().unwrap();
    keep(&(free + used - (64 << 10)).to_string());
    let clone = Change::Clone {
        snapshot: "tank/a@s".into(),
        name: "tank/b".into(),
        parents: false,
        props: Vec::new(),
    };
    for change in [clone.clone(), make("tank/b", &[])] {
        let refused = pool.dsl.commit(change, "").unwrap_err().to_string();
        assert_eq!(refused, "cannot create 'tank/b': out of space");
    }
    keep("none");
    pool.dsl.commit(clone, "").unwrap();
    export(&dir, pool);
}

/// Empties every plain file of a dataset.
fn empty_files(pool: &Pool, name: &str) -> usize {
    let dataset = pool.dsl.open_dataset(name).unwrap();
    assert_eq!(dataset.readonly(), None, "{name}");
    let objset = dataset.objset();
    let (mut at, mut emptied) = (0, 0);
    while let Some(object) = objset.next_object(at, 0).unwrap() {
        at = object;
        let dnode = objset.hold(object).unwrap();
        if dnode.object_type() == ObjectType::PLAIN_FILE_CONTENTS {
            let tx = objset.begin(Holds::freeing(4)).unwrap();
            dnode.free_range(0, u64::MAX, &tx).unwrap();
            emptied += 1;
        }
    }
    emptied
}

#[test]
fn a_real_pool_with_snapshots_is_written_and_stays_whole() {
    let dir = Dir::new("dsl-deadlists");
    fixture(&dir, "snapshots");
    cut_partitions(&dir);
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let pool = import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    let before = |prop: &str| get(&pool, "g_snap/fs", prop).0.parse::<u64>().unwrap();
    let (snapshots, referenced) = (before("usedbysnapshots"), before("referenced"));
    assert!(empty_files(&pool, "g_snap/fs") > 10);
    fill(&pool, "g_snap/fs", 1 << 20);
    pool.core().txgs.sync_now().unwrap();
    assert!(before("usedbysnapshots") > snapshots + (256 << 10));
    assert!(before("referenced") < referenced + (1 << 20) - (256 << 10));
    fill(&pool, "g_snap/clone1", 1 << 20);
    let snapshot = Change::Destroy { names: vec!["g_snap/fs".into()], defer: false };
    let refused = pool.dsl.commit(snapshot, "").unwrap_err().to_string();
    assert_eq!(refused, "cannot destroy 'g_snap/fs': filesystem has children");
    pool.dsl.commit(make("g_snap/new", &[]), "zfs create g_snap/new").unwrap();
    fill(&pool, "g_snap/new", 1 << 20);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "g_snap");
}

#[test]
fn destroying_goes_on_over_many_groups_and_over_an_export() {
    let dir = Dir::new("dsl-async");
    let around = around();
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    let pool = create(&around, &spec("tank", vec![leaf])).unwrap();
    pool.dsl.commit(make("tank/a", &[("recordsize", "4k"), ("compression", "off")]), "").unwrap();
    // A group frees 4 MiB of it, and an export has several groups.
    for _ in 0..24 {
        fill(&pool, "tank/a", 4 << 20);
    }
    pool.core().txgs.sync_now().unwrap();
    around.env.quirks.set(env::Quirk::SmallTxg, true);
    let free = |pool: &Pool| get(pool, "tank", "available").0.parse::<u64>().unwrap();
    let before = free(&pool);
    pool.dsl.commit(Change::Destroy { names: vec!["tank/a".into()], defer: false }, "").unwrap();
    let freeing = pool.dsl.freeing();
    assert!(freeing > 80 << 20 && free(&pool) < before + (8 << 20), "{freeing}");
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    let found = search(&around.env, &[dir.path()]);
    let looking = ImportSpec { force: true, readonly: true, ..ImportSpec::default() };
    let half_freed = import(&around, &found[0], &looking).unwrap();
    let report = verify(&half_freed, VerifyOptions { data: false }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "what was freed before the walk stopped is free: {:?}", report.problems);
    // Nothing goes on in this one.
    let left = half_freed.dsl.freeing();
    assert!(left > 0 && left < freeing, "{left}");
    half_freed.close(PoolState::Exported).unwrap();
    drop(half_freed);
    let pool = import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    // The pool makes groups of its own for this. In the last one no bytes are left a moment before
    // the queue is gone.
    for _ in 0..100 {
        if !pool.dsl.is_freeing() {
            break;
        }
        pool.core().txgs.sync_empty().unwrap();
    }
    assert!(!pool.dsl.is_freeing());
    assert_eq!(pool.dsl.freeing(), 0);
    assert!(free(&pool) > before + (96 << 20) - (2 << 20));
    export(&dir, pool);
}

#[test]
fn a_full_pool_refuses_data_and_still_deletes() {
    let dir = Dir::new("dsl-full");
    let leaf = VdevSpec::Leaf(dir.image("a.img", 128 << 20));
    let pool = create(&around(), &spec("tank", vec![leaf])).unwrap();
    pool.dsl.commit(make("tank/a", &[]), "").unwrap();
    let dataset = pool.dsl.open_dataset("tank/a").unwrap();
    let objset = dataset.objset();
    let mut random = stdx::prng::Prng::new(3);
    let mut data = vec![0; 1 << 20];
    let mut written = 0;
    let refused = loop {
        let tx = match objset.begin(Holds::new(data.len() as u64, 8)) {
            Ok(tx) => tx,
            Err(error) => break error,
        };
        random.fill(&mut data);
        let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK);
        objset.alloc(spec, &tx).unwrap().write(0, &data, &tx).unwrap();
        written += 1;
        assert!(written < 128);
    };
    assert_eq!(refused, dmu::DmuError::NoSpace);
    assert!(written > 40, "{written}");
    pool.core().txgs.sync_now().unwrap();
    assert_eq!(get(&pool, "tank/a", "available").0, "0");
    drop(dataset);
    assert_eq!(empty_files(&pool, "tank/a"), written);
    pool.core().txgs.sync_now().unwrap();
    let available: u64 = get(&pool, "tank/a", "available").0.parse().unwrap();
    assert!(available > 40 << 20, "{available}");
    let late = pool.dsl.open_dataset("tank/a").unwrap();
    pool.dsl.close_all().unwrap();
    assert_eq!(late.objset().begin(Holds::freeing(1)).err(), Some(dmu::DmuError::ReadOnly));
    drop(late);
    export(&dir, pool);
}

#[test]
fn what_a_destroy_takes_along_is_told_before() {
    let dir = Dir::new("dsl-preview");
    let pool = fresh(&dir);
    for name in ["tank/a", "tank/a/b", "tank/a/c"] {
        pool.dsl.commit(make(name, &[]), "").unwrap();
    }
    let query = |name: &str| DestroyQuery { name: name.into(), recursive: true, ..DestroyQuery::default() };
    let DestroyPlan { names, bytes } = pool.dsl.plan_destroy(&query("tank/a")).unwrap();
    assert_eq!(names, ["tank/a/b", "tank/a/c", "tank/a"]);
    assert_eq!(bytes.to_string(), get(&pool, "tank/a", "used").0);
    assert_eq!(pool.dsl.plan_destroy(&query("tank/x")), Err(PoolError::NotFound));
    let held = pool.dsl.open_dataset("tank/a/b").unwrap();
    let refused = pool.dsl.commit(Change::Destroy { names: names.clone(), defer: false }, "").unwrap_err();
    assert!(matches!(refused, PoolError::Refused(_)), "{refused:?}");
    assert_eq!(refused.to_string(), "cannot destroy 'tank/a/b': dataset is busy");
    drop(held);
    let generation = pool.dsl.generation();
    pool.dsl.commit(Change::Destroy { names, defer: false }, "").unwrap();
    assert!(pool.dsl.generation() > generation);
    let parents = Change::CreateFilesystem { name: "tank/p/q/r".into(), parents: true, props: Vec::new() };
    pool.dsl.commit(parents, "").unwrap();
    let depth = DatasetFilter { depth: Some(1), props: vec!["name".into()], ..DatasetFilter::default() };
    let listed: Vec<_> = pool.dsl.list(&depth).unwrap().into_iter().map(|dataset| dataset.name).collect();
    assert_eq!(listed, ["tank", "tank/p"]);
    let take = Change::Snapshot { names: vec!["tank/p@s".into()], recursive: true, props: Vec::new() };
    pool.dsl.commit(take, "").unwrap();
    let deep = |depth: u32, kinds: &[DatasetKind]| {
        let (roots, kinds) = (vec!["tank/p".into()], kinds.to_vec());
        let filter =
            DatasetFilter { roots, kinds, depth: Some(depth), alone: false, props: vec!["name".into()] };
        pool.dsl.list(&filter).unwrap().into_iter().map(|dataset| dataset.name).collect::<Vec<_>>()
    };
    let of_snapshots = [DatasetKind::Snapshot];
    assert_eq!(deep(0, &of_snapshots), [""; 0]);
    assert_eq!(deep(1, &of_snapshots), ["tank/p@s"]);
    assert_eq!(deep(2, &of_snapshots), ["tank/p@s", "tank/p/q@s"]);
    let of_both = [DatasetKind::Filesystem, DatasetKind::Snapshot];
    assert_eq!(deep(1, &of_both), ["tank/p", "tank/p@s", "tank/p/q"]);
    let (roots, kinds) = (vec!["tank/p".into(), "tank/p/q".into()], of_both.to_vec());
    let alone = DatasetFilter { roots, kinds, alone: true, ..DatasetFilter::default() };
    let listed: Vec<_> = pool.dsl.list(&alone).unwrap().into_iter().map(|dataset| dataset.name).collect();
    assert_eq!(listed, ["tank/p", "tank/p@s", "tank/p/q", "tank/p/q@s"]);
    export(&dir, pool);
}

#[test]
fn datasets_of_a_real_pool_are_destroyed_with_their_logs() {
    let dir = Dir::new("dsl-real-destroy");
    fixture(&dir, "single-default");
    cut_partitions(&dir);
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let pool = import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    let all = names(&pool);
    let doomed: Vec<String> = all.iter().skip(1).step_by(2).cloned().collect();
    assert!(doomed.len() > 10);
    for name in &doomed {
        let change = Change::Destroy { names: vec![name.clone()], defer: false };
        pool.dsl.commit(change, &format!("zfs destroy {name}")).unwrap();
    }
    assert_eq!(names(&pool).len(), all.len() - doomed.len());
    pool.core().txgs.sync_empty().unwrap();
    assert_eq!(pool.dsl.freeing(), 0);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "g_single");
}

#[test]
fn every_checksum_and_compression_is_written_as_openzfs_reads_it() {
    let dir = Dir::new("dsl-kinds");
    let pool = fresh(&dir);
    let compressions = ["lzjb", "zle", "lz4", "gzip-1", "gzip-9", "zstd", "zstd-19", "zstd-fast-10", "off"];
    let checksums = ["fletcher2", "fletcher4", "sha256", "sha512", "skein", "edonr", "on"];
    for (n, compression) in compressions.iter().enumerate() {
        let name = format!("tank/c{n}");
        pool.dsl.commit(make(&name, &[("compression", compression)]), "").unwrap();
        write_text(&pool, &name);
        let ratio = get(&pool, &name, "refcompressratio").0;
        assert_eq!(ratio == "1.00", *compression == "off", "{compression} {ratio}");
    }
    for (n, checksum) in checksums.iter().enumerate() {
        let name = format!("tank/s{n}");
        pool.dsl.commit(make(&name, &[("checksum", checksum)]), "").unwrap();
        write_text(&pool, &name);
    }
    assert!(pool.core().features.is_active("zstd_compress") && pool.core().features.is_active("skein"));
    export(&dir, pool);
}

/// Writes text that compresses well.
fn write_text(pool: &Pool, name: &str) {
    let text: String = (0..20_000).map(|n| format!("line {n} of a text\n")).collect();
    let dataset = pool.dsl.open_dataset(name).unwrap();
    let tx = dataset.objset().begin(Holds::new(text.len() as u64, 8)).unwrap();
    let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK);
    dataset.objset().alloc(spec, &tx).unwrap().write(0, text.as_bytes(), &tx).unwrap();
    drop(tx);
    pool.core().txgs.sync_now().unwrap();
}

#[test]
fn changes_and_writes_of_many_threads_end_in_a_whole_pool() {
    let dir = Dir::new("dsl-threads");
    let pool = fresh(&dir);
    std::thread::scope(|scope| {
        for worker in 0..4 {
            let pool = &pool;
            scope.spawn(move || {
                for round in 0..5 {
                    let name = format!("tank/w{worker}-{round}");
                    pool.dsl.commit(make(&name, &[("atime", "off")]), "").unwrap();
                    fill(pool, &name, 1 << 20);
                    let to = format!("{name}-renamed");
                    let rename =
                        Change::Rename { from: name, to: to.clone(), parents: false, recursive: false };
                    pool.dsl.commit(rename, "").unwrap();
                    fill(pool, &to, 1 << 20);
                    assert!(names(pool).contains(&to));
                    if round % 2 == 0 {
                        // Others look at it all the time, and are in nobody's way.
                        pool.dsl.commit(Change::Destroy { names: vec![to], defer: false }, "").unwrap();
                    }
                }
            });
        }
    });
    assert_eq!(names(&pool).len(), 1 + 4 * 2);
    export(&dir, pool);
}

#[test]
fn a_rename_makes_no_name_of_a_snapshot_too_long() {
    let dir = Dir::new("dsl-long-names");
    let pool = fresh(&dir);
    pool.dsl.commit(make("tank/a", &[]), "").unwrap();
    pool.dsl.commit(make("tank/a/b", &[]), "").unwrap();
    let snapshot = format!("tank/a/b@{}", "s".repeat(255 - "tank/a/b@".len()));
    let take = Change::Snapshot { names: vec![snapshot], recursive: false, props: Vec::new() };
    pool.dsl.commit(take, "").unwrap();
    let rename = |to: &str| {
        let (from, to) = ("tank/a".into(), to.into());
        pool.dsl.commit(Change::Rename { from, to, parents: false, recursive: false }, "")
    };
    let refused = rename("tank/aa").unwrap_err().to_string();
    assert_eq!(refused, "cannot rename 'tank/a': dataset name is too long");
    rename("tank/c").unwrap();
    pool.export().unwrap();
    zdb_accepts(&dir, "tank");
}

/// What was changed by half in memory is never written, and nothing after it.
#[test]
fn a_change_that_panics_ends_its_pool_alone() {
    let dir = Dir::new("dsl-panic");
    let make = |name: &str| {
        let top = VdevSpec::Leaf(dir.image(name, SIZE));
        create(&around(), &spec(name, vec![top])).unwrap()
    };
    let (pool, other) = (make("tank"), make("other"));
    let txgs = pool.core().txgs.clone();
    let synced = txgs.synced();
    let request = std::thread::spawn(move || {
        let _hold = txgs.enter(true).unwrap();
        panic!("half of it is done");
    });
    assert!(request.join().is_err());
    assert_eq!(pool.core().storage.suspension().cause(), Some(Cause::Fault));
    assert!(pool.core().txgs.sync_empty().is_err());
    assert_eq!(pool.core().txgs.synced(), synced);
    other.core().txgs.sync_empty().unwrap();
    other.export().unwrap();
    assert!(pool.export().is_err());
    zdb_accepts(&dir, "tank");
}

/// All of a list, by pages of so many.
fn by_pages(pool: &Pool, filter: &DatasetFilter, limit: usize) -> Vec<DatasetInfo> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = pool.dsl.page(filter, after.as_ref(), limit).unwrap();
        assert!(page.datasets.len() <= limit);
        all.extend(page.datasets);
        after = page.next;
        if after.is_none() {
            return all;
        }
    }
}

#[test]
fn pages_are_the_list_in_parts() {
    let dir = Dir::new("pages");
    let pool = fresh(&dir);
    for name in ["tank/b", "tank/b/c", "tank/b/c/d", "tank/b-c", "tank/a", "tank/z"] {
        pool.dsl.commit(make(name, &[]), "").unwrap();
    }
    let volume = Change::CreateVolume {
        name: "tank/b/v".into(),
        parents: false,
        sparse: true,
        props: vec![("volsize".into(), "1M".into())],
    };
    pool.dsl.commit(volume, "").unwrap();
    for name in ["tank/b@z", "tank/b@a", "tank/b/c@s", "tank@s", "tank/b@m"] {
        let names = vec![name.into()];
        pool.dsl.commit(Change::Snapshot { names, recursive: false, props: Vec::new() }, "").unwrap();
    }
    for (source, name) in [("tank/b@z", "tank/b#y"), ("tank/b@a", "tank/b#x")] {
        pool.dsl.commit(Change::Bookmark { source: source.into(), name: name.into() }, "").unwrap();
    }
    use DatasetKind::{Bookmark, Filesystem, Snapshot, Volume};
    let all = vec![Filesystem, Volume, Snapshot, Bookmark];
    for kinds in [all.clone(), Vec::new(), vec![Snapshot], vec![Bookmark, Volume]] {
        for roots in [&[][..], &["tank/b"], &["tank/b@a", "tank/b#x", "tank/b/c", "tank/z"]] {
            for depth in [None, Some(0), Some(1), Some(2)] {
                let roots = roots.iter().map(|&root| root.to_owned()).collect();
                let props = vec!["type".into()];
                let filter = DatasetFilter { roots, depth, alone: false, kinds: kinds.clone(), props };
                let whole = pool.dsl.list(&filter).unwrap();
                // A page begins in the first root alone: who has several asks for each by itself.
                for limit in if filter.roots.len() > 1 { vec![usize::MAX] } else { vec![1, 2, 3, 100] } {
                    assert_eq!(by_pages(&pool, &filter, limit), whole, "{filter:?} by {limit}");
                }
            }
        }
    }
    let filter = DatasetFilter { kinds: all, props: vec!["type".into()], ..DatasetFilter::default() };
    let names = |after: DatasetPlace| {
        let page = pool.dsl.page(&filter, Some(&after), 3).unwrap();
        page.datasets.into_iter().map(|info| info.name).collect::<Vec<_>>()
    };
    let place = |name: &str, createtxg| DatasetPlace { name: name.into(), createtxg };
    // Places of what is not there any more, or never was.
    assert_eq!(names(place("tank/aa/x/y", 0)), ["tank/b", "tank/b@z", "tank/b@a"]);
    assert_eq!(names(place("tank/b@gone", 1)), ["tank/b@z", "tank/b@a", "tank/b@m"]);
    assert_eq!(names(place("tank/b#gone", u64::MAX)), ["tank/b/c", "tank/b/c@s", "tank/b/c/d"]);
    assert_eq!(names(place("tank/b/c/d", 0)), ["tank/b/v", "tank/b-c", "tank/z"]);
    assert_eq!(names(place("tank/zz@x", 9)), Vec::<String>::new());
    assert!(matches!(pool.dsl.page(&filter, Some(&place("pond/a", 0)), 3), Err(PoolError::Invalid(_))));
    export(&dir, pool);
}

/// More than are read anew for each page, and more than a page passes over.
const MANY: usize = 1_100;

#[test]
fn the_order_of_a_long_list_follows_what_comes_and_goes() {
    let dir = Dir::new("long-list");
    let pool = fresh(&dir);
    for number in 0..MANY {
        pool.dsl.commit(make(&format!("tank/n{number:04}"), &[]), "").unwrap();
    }
    let snapshot = |name: String| {
        let change = Change::Snapshot { names: vec![name], recursive: false, props: Vec::new() };
        pool.dsl.commit(change, "").unwrap();
    };
    (0..MANY / 4).for_each(|number| snapshot(format!("tank/n0007@s{number}")));
    let volumes = DatasetFilter {
        kinds: vec![DatasetKind::Volume],
        props: vec!["type".into()],
        ..DatasetFilter::default()
    };
    let page = pool.dsl.page(&volumes, None, 10).unwrap();
    assert!(page.datasets.is_empty() && page.next.is_some(), "a page of rare things ends in time");
    assert!(by_pages(&pool, &volumes, 10).is_empty());
    let kinds = vec![DatasetKind::Filesystem, DatasetKind::Snapshot];
    let filter = DatasetFilter { kinds, props: vec!["type".into()], ..DatasetFilter::default() };
    let check = || {
        let names: Vec<String> = by_pages(&pool, &filter, 100).into_iter().map(|info| info.name).collect();
        let (snapshots, mut datasets): (Vec<&String>, Vec<&String>) =
            names.iter().partition(|name| name.contains('@'));
        assert!(datasets.is_sorted());
        datasets.dedup();
        (datasets.len(), snapshots.into_iter().cloned().collect::<Vec<_>>())
    };
    let (datasets, snapshots) = check();
    assert_eq!((datasets, snapshots.len()), (MANY + 1, MANY / 4));
    assert_eq!(snapshots[9], "tank/n0007@s9", "by age");
    let rename = |from: &str, to: &str| {
        let (from, to) = (from.into(), to.into());
        pool.dsl.commit(Change::Rename { from, to, parents: false, recursive: false }, "").unwrap();
    };
    rename("tank/n0007@s9", "tank/n0007@old");
    rename("tank/n0100", "tank/n0007/below");
    let names = vec!["tank/n0200".into(), "tank/n0007@s0".into()];
    pool.dsl.commit(Change::Destroy { names, defer: false }, "").unwrap();
    snapshot("tank/n0007@new".into());
    let (datasets, snapshots) = check();
    assert_eq!((datasets, snapshots.len()), (MANY, MANY / 4));
    assert_eq!(snapshots[8], "tank/n0007@old");
    assert_eq!(snapshots.last().map(String::as_str), Some("tank/n0007@new"));
    // A clone that is promoted takes them along.
    let (snapshot, name) = ("tank/n0007@new".into(), "tank/clone".into());
    pool.dsl.commit(Change::Clone { snapshot, name, parents: false, props: Vec::new() }, "").unwrap();
    pool.dsl.commit(Change::Promote { name: "tank/clone".into() }, "").unwrap();
    let (_, snapshots) = check();
    assert_eq!(snapshots.len(), MANY / 4);
    assert!(snapshots.iter().all(|name| name.starts_with("tank/clone@")), "{snapshots:?}");
    export(&dir, pool);
}
