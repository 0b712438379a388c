//! Crashes: what was synced or committed is there afterwards, exactly that, however often replay
//! itself is cut short.

use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;

use engine::zpl::{AtCreation, Settings, XattrStore};
use engine_api::{
    CreateMode, Cred, Error, FileSystem, NewNode, NodeId, Project, RenameMode, SetAttr, SetTime, Stable,
    Time, XattrMode,
};
use model::MemFs;
use ondisk::Endian;
use ondisk::zil::record::{
    Created, LoggedNode, LrCreate, LrLink, LrRemove, LrRename, LrSetAttr, LrSetSaXattr, LrTruncate, LrWrite,
    Record, RenameKind, Written,
};
use ondisk::zil::{RecordHead, Records};

use crate::bench::Bench;
use crate::random::Duel;

const ROOT: Cred = Cred::root();

fn fork(oracle: &MemFs) -> Arc<MemFs> {
    oracle.fork(Box::new(|| Time { secs: 1_900_000_000, nanos: 0 }))
}

/// Opens what is left, and replays the log: in one go, or with crashes in between.
fn recover(bench: &mut Bench, cuts: &[usize]) {
    bench.crash();
    for cut in cuts {
        bench.fs.drain_unlinked().unwrap();
        bench.fs.while_replaying(|| bench.journal().replay(&bench.fs, *cut));
        if cut % 2 == 0 {
            bench.sync();
        }
        bench.crash();
    }
    bench.fs.drain_unlinked().unwrap();
    bench.fs.while_replaying(|| bench.journal().replay(&bench.fs, usize::MAX));
    bench.sync();
    bench.journal().clear();
}

/// Gives the number of records that were replayed.
fn storm(seed: u64, steps: u32) -> u64 {
    let mut duel = Duel::new(seed);
    let journal = duel.bench.journal();
    journal.whole.store(true, SeqCst);
    journal.saxattr.store(seed.is_multiple_of(2), SeqCst);
    duel.bench.sync();
    let mut durable = fork(&duel.oracle);
    let mut commits = duel.bench.journal().commits.load(SeqCst);
    for step in 0..steps {
        let what = duel.step();
        let synced = duel.rng.chance(1, 200);
        if synced {
            duel.bench.sync();
        } else if duel.rng.chance(1, 25) {
            duel.bench.fs.sync().unwrap();
        }
        let now = duel.bench.journal().commits.load(SeqCst);
        if synced || now != commits {
            (durable, commits) = (fork(&duel.oracle), now);
        }
        if duel.rng.chance(1, 80) {
            let cuts: Vec<usize> = (0..duel.rng.below(3)).map(|_| duel.rng.below(40) as usize).collect();
            recover(&mut duel.bench, &cuts);
            duel.oracle = fork(&durable);
            duel.open.clear();
            let (ours, theirs) = (duel.bench.fs.clone(), duel.oracle.clone());
            let alive = |(our, their): &(NodeId, NodeId)| {
                ours.getattr(*our).is_ok() && theirs.getattr(*their).is_ok()
            };
            duel.nodes.retain(alive);
            duel.compare(&format!("seed {seed}, step {step} ({what}), after a crash"));
        }
    }
    duel.bench.journal().applied.load(SeqCst)
}

#[test]
fn what_was_committed_is_there_after_a_crash() {
    let replayed: u64 = (0..12).map(|seed| storm(seed, 1500)).sum();
    assert!(replayed > 1000, "only {replayed} records were replayed");
}

fn bench(xattr: XattrStore) -> Bench {
    let bench = Bench::new(Settings { xattr, ..Settings::default() }, AtCreation::default());
    bench.sync();
    bench
}

fn file(bench: &Bench, name: &[u8]) -> NodeId {
    let attr = SetAttr { mode: Some(0o640), uid: Some(7), gid: Some(8), ..SetAttr::default() };
    bench.fs.create(&ROOT, bench.fs.root(), name, CreateMode::Guarded, &attr).unwrap().attr.node
}

#[test]
fn a_project_comes_back_with_its_file_and_the_files_attributes() {
    let mut bench = bench(XattrStore::Directory);
    let one = file(&bench, b"one");
    bench.fs.setxattr(&ROOT, one, b"user.tag", b"a file of its own", XattrMode::Either).unwrap();
    bench.sync();
    let project = Project { id: 9, inherit: true };
    bench.fs.set_project(&ROOT, one, project).unwrap();
    bench.fs.commit(one).unwrap();
    recover(&mut bench, &[]);
    let one = bench.fs.lookup(&ROOT, bench.fs.root(), b"one").unwrap().node;
    assert_eq!(bench.fs.project(one), Ok(project));
    assert_eq!(bench.journal().applied.load(SeqCst), 1);
}

fn contents(bench: &Bench, name: &[u8]) -> Result<Vec<u8>, Error> {
    let attr = bench.fs.lookup(&ROOT, bench.fs.root(), name)?;
    Ok(bench.fs.read(&ROOT, attr.node, 0, 1 << 20)?.to_vec())
}

/// The records that wait, decoded, with nothing but what the test looks at.
fn logged(bench: &Bench, look: impl Fn(&Record<'_>, &RecordHead) -> String) -> Vec<String> {
    let waiting = bench.journal().waiting();
    let one = |bytes: &Vec<u8>| {
        let head = Records::new(bytes, Endian::Little).next().unwrap().unwrap().0;
        look(&Record::decode(&head, bytes, Endian::Little).unwrap(), &head)
    };
    waiting.iter().map(one).collect()
}

#[test]
fn committing_a_file_takes_its_name_and_data_and_leaves_other_files_alone() {
    let mut bench = bench(XattrStore::Directory);
    let [one, other] = [b"one", b"two"].map(|name| file(&bench, name));
    bench.fs.write(&ROOT, one, 0, b"kept", Stable::Unstable).unwrap();
    bench.fs.write(&ROOT, other, 0, b"lost", Stable::Unstable).unwrap();
    bench.fs.commit(one).unwrap();
    bench.fs.write(&ROOT, one, 0, b"late", Stable::Unstable).unwrap();
    file(&bench, b"three");
    recover(&mut bench, &[]);
    assert_eq!(contents(&bench, b"one").unwrap(), b"kept");
    assert_eq!(contents(&bench, b"two").unwrap(), b"");
    assert_eq!(contents(&bench, b"three"), Err(Error::NotFound));
    // The handle is as good as before.
    assert_eq!(bench.fs.getattr(one).unwrap().mode, 0o640);
    assert_eq!(bench.fs.getattr(other).unwrap().uid, 7);
}

#[test]
fn a_node_comes_back_as_it_was() {
    let mut bench = bench(XattrStore::Directory);
    let root = bench.fs.root();
    let attr = SetAttr { mode: Some(0o4711), uid: Some(5), gid: Some(6), ..SetAttr::default() };
    let what = [
        NewNode::Dir,
        NewNode::Symlink { target: b"over/there".to_vec() },
        NewNode::Fifo,
        NewNode::Socket,
        NewNode::CharDev { major: 5, minor: 1 },
        NewNode::BlockDev { major: 300, minor: 70_000 },
        NewNode::File,
    ];
    let made: Vec<_> = what
        .iter()
        .enumerate()
        .map(|(i, what)| bench.fs.make(&ROOT, root, format!("n{i}").as_bytes(), what, &attr).unwrap().attr)
        .collect();
    bench.fs.commit(root).unwrap();
    recover(&mut bench, &[3]);
    for before in made {
        let after = bench.fs.getattr(before.node).unwrap();
        let times = |attr: &engine_api::Attr| (attr.crtime, attr.mtime, attr.atime);
        assert_eq!((after.kind, after.mode, after.rdev), (before.kind, before.mode, before.rdev));
        assert_eq!((after.uid, after.gid, after.nlink), (before.uid, before.gid, before.nlink));
        assert_eq!((after.size, times(&after)), (before.size, times(&before)));
    }
    assert_eq!(
        bench.fs.readlink(&ROOT, bench.fs.lookup(&ROOT, root, b"n1").unwrap().node).unwrap(),
        b"over/there"
    );
}

#[test]
fn times_and_size_asked_for_at_creation_survive() {
    let mut bench = bench(XattrStore::Directory);
    let root = bench.fs.root();
    let at = |secs| SetTime::To(Time { secs, nanos: 5 });
    let attr = SetAttr { size: Some(9000), atime: Some(at(-1)), mtime: Some(at(1)), ..SetAttr::default() };
    bench.fs.create(&ROOT, root, b"sized", CreateMode::Guarded, &attr).unwrap();
    let exclusive = CreateMode::Exclusive { verifier: 77 << 32 | 78 };
    bench.fs.create(&ROOT, root, b"once", exclusive, &SetAttr::default()).unwrap();
    bench.fs.sync().unwrap();
    recover(&mut bench, &[]);
    let sized = bench.fs.lookup(&ROOT, root, b"sized").unwrap();
    assert_eq!((sized.size, sized.atime.secs, sized.mtime), (9000, -1, Time { secs: 1, nanos: 5 }));
    // The client asks again, and is told that it was its own.
    let again = bench.fs.create(&ROOT, root, b"once", exclusive, &SetAttr::default()).unwrap();
    assert!(!again.new);
}

#[test]
fn a_number_used_twice_in_one_log_is_claimed_twice() {
    let mut bench = bench(XattrStore::Directory);
    let root = bench.fs.root();
    let first = file(&bench, b"first");
    bench.fs.write(&ROOT, first, 0, b"first", Stable::FileSync).unwrap();
    bench.fs.remove(&ROOT, root, b"first").unwrap();
    bench.fs.commit(root).unwrap();
    let log = bench.journal().committed();
    // The same once more, as if the number had been given again at once.
    let second = log[0].clone();
    let head = Records::new(&second, Endian::Little).next().unwrap().unwrap().0;
    let Ok(Record::Create(create)) = Record::decode(&head, &second, Endian::Little) else {
        panic!("{head:?}")
    };
    let born = |after| LoggedNode { generation: create.node.generation + after, ..create.node };
    let second = LrCreate { name: b"second", node: born(1), ..create.clone() };
    recover(&mut bench, &[]);
    let bytes = Record::Create(second).encode();
    let head = Records::new(&bytes, Endian::Little).next().unwrap().unwrap().0;
    bench.fs.while_replaying(|| bench.fs.replay_record(&head, &bytes, Endian::Little, None)).unwrap();
    let removed = Record::Remove(LrRemove { is_dir: false, dir: root.object, name: b"second" }).encode();
    let third = Record::Create(LrCreate { name: b"third", node: born(3), ..create.clone() }).encode();
    for bytes in [removed, third] {
        let head = Records::new(&bytes, Endian::Little).next().unwrap().unwrap().0;
        bench.fs.while_replaying(|| bench.fs.replay_record(&head, &bytes, Endian::Little, None)).unwrap();
    }
    let third = bench.fs.lookup(&ROOT, root, b"third").unwrap().node;
    assert_eq!(third.object, first.object);
    assert_ne!(third.generation, first.generation);
}

#[test]
fn operations_log_what_openzfs_would() {
    let bench = bench(XattrStore::Directory);
    let (fs, root) = (&bench.fs, bench.fs.root());
    let node = file(&bench, b"f");
    let other = file(&bench, b"g");
    let dir = fs.make(&ROOT, root, b"d", &NewNode::Dir, &SetAttr::default()).unwrap().attr.node;
    fs.write(&ROOT, node, 10, &[1; 50_000], Stable::Unstable).unwrap();
    fs.link(&ROOT, node, dir, b"second").unwrap();
    fs.setattr(&ROOT, node, &SetAttr { size: Some(20), ..SetAttr::default() }).unwrap();
    fs.punch(&ROOT, node, 5, 1000).unwrap();
    fs.rename(&ROOT, (root, b"f"), (dir, b"second2"), RenameMode::Replace).unwrap();
    fs.rename(&ROOT, (dir, b"second"), (root, b"g"), RenameMode::Exchange).unwrap();
    fs.remove(&ROOT, dir, b"second2").unwrap();
    fs.remove(&ROOT, dir, b"second").unwrap();
    fs.rmdir(&ROOT, root, b"d").unwrap();
    let (n, d, r) = (node.object, dir.object, root.object);
    let said = logged(&bench, |record, head| match record {
        Record::Create(LrCreate { what, dir, node: LoggedNode { object, mode, .. }, name, .. }) => {
            format!("{} {what:?} {dir} {object} {mode:o} {}", head.txtype, name.escape_ascii())
        }
        Record::Write(LrWrite { object, offset, length }, _) => format!("write {object} {offset}+{length}"),
        Record::Link(LrLink { dir, object, name }) => format!("link {dir} {object} {}", name.escape_ascii()),
        Record::SetAttr(LrSetAttr { object, mask, size, .. }) => format!("set {object} {mask:x} {size}"),
        Record::Truncate(LrTruncate { object, offset, length }) => format!("free {object} {offset}+{length}"),
        Record::Rename(LrRename { kind, from_dir, to_dir, from, to }) => {
            let exchange = *kind == RenameKind::Exchange;
            format!("rename {exchange} {from_dir} {} {to_dir} {}", from.escape_ascii(), to.escape_ascii())
        }
        Record::Remove(LrRemove { is_dir, dir, name }) => {
            format!("remove {is_dir} {dir} {}", name.escape_ascii())
        }
        other => format!("{other:?}"),
    });
    let expected = [
        format!("1 File {r} {n} 100640 f"),
        format!("1 File {r} {} 100640 g", other.object),
        format!("2 Dir {r} {d} 40000 d"),
        format!("write {n} 10+50000"),
        format!("link {d} {n} second"),
        // Size and mtime; what was set free ends with the file.
        format!("set {n} 28 20"),
        format!("free {n} 5+15"),
        format!("rename false {r} f {d} second2"),
        format!("rename true {d} second {r} g"),
        format!("remove false {d} second2"),
        format!("remove false {d} second"),
        format!("remove true {r} d"),
    ];
    assert_eq!(said, expected);
}

#[test]
fn the_last_name_takes_what_was_logged_for_the_file_along() {
    let bench = bench(XattrStore::Directory);
    let node = file(&bench, b"f");
    bench.fs.open(node).unwrap();
    bench.fs.write(&ROOT, node, 0, b"data", Stable::Unstable).unwrap();
    bench.fs.remove(&ROOT, bench.fs.root(), b"f").unwrap();
    // Without a name nothing of it would be there after a crash.
    bench.fs.write(&ROOT, node, 0, b"more", Stable::Unstable).unwrap();
    bench.fs.setattr(&ROOT, node, &SetAttr { mode: Some(0), ..SetAttr::default() }).unwrap();
    bench.fs.setxattr(&ROOT, node, b"user.x", b"y", XattrMode::Either).unwrap();
    bench.fs.punch(&ROOT, node, 0, 2).unwrap();
    let types = logged(&bench, |_, head| head.txtype.to_string());
    assert_eq!(types, ["1", "5"]);
}

#[test]
fn extended_attributes_are_logged_in_the_form_they_are_stored_in() {
    for (store, has_record, expected) in [
        (XattrStore::Directory, false, ["1", "3", "1", "9", "10", "9", "5"].as_slice()),
        (XattrStore::System, true, &["1", "21 5", "21 6", "21 0"]),
        (XattrStore::System, false, &["1"]),
    ] {
        let mut bench = bench(store);
        bench.journal().saxattr.store(has_record, SeqCst);
        let node = file(&bench, b"f");
        let set = |value: &[u8]| bench.fs.setxattr(&ROOT, node, b"user.x", value, XattrMode::Either).unwrap();
        set(b"first");
        set(b"second");
        bench.fs.removexattr(&ROOT, node, b"user.x").unwrap();
        let said = logged(&bench, |record, head| match record {
            Record::SetSaXattr(LrSetSaXattr { value, .. }) => format!("{} {}", head.txtype, value.len()),
            Record::Create(LrCreate { what: Created::XattrDir, dir, .. }) => {
                assert_eq!(*dir, node.object);
                head.txtype.to_string()
            }
            Record::Write(_, Written::Here(data)) => {
                assert!([b"first".as_slice(), b"second"].contains(data));
                head.txtype.to_string()
            }
            _ => head.txtype.to_string(),
        });
        assert_eq!(said, expected, "{store:?} {has_record}");
        let set = |value: &[u8]| bench.fs.setxattr(&ROOT, node, b"user.x", value, XattrMode::Either).unwrap();
        set(b"third");
        bench.fs.commit(node).unwrap();
        recover(&mut bench, &[2, 3]);
        assert_eq!(bench.fs.getxattr(&ROOT, node, b"user.x").unwrap(), b"third");
    }
}

#[test]
fn sync_always_commits_every_operation() {
    let mut bench = bench(XattrStore::Directory);
    bench.journal().always.store(true, SeqCst);
    let node = file(&bench, b"f");
    bench.fs.write(&ROOT, node, 0, &[7; 100_000], Stable::Unstable).unwrap();
    bench.fs.setattr(&ROOT, node, &SetAttr { mode: Some(0o600), ..SetAttr::default() }).unwrap();
    bench.fs.rename(&ROOT, (bench.fs.root(), b"f"), (bench.fs.root(), b"g"), RenameMode::Replace).unwrap();
    assert_eq!(bench.journal().waiting(), Vec::<Vec<u8>>::new());
    recover(&mut bench, &[]);
    assert_eq!(contents(&bench, b"g").unwrap(), vec![7; 100_000]);
    assert_eq!(bench.fs.getattr(node).unwrap().mode, 0o600);
}

#[test]
fn records_that_cannot_be_applied_are_errors() {
    let bench = bench(XattrStore::Directory);
    let root = bench.fs.root().object;
    let apply = |record: Record<'_>| {
        let bytes = record.encode();
        let head = Records::new(&bytes, Endian::Little).next().unwrap().unwrap().0;
        bench.fs.while_replaying(|| bench.fs.replay_record(&head, &bytes, Endian::Little, None))
    };
    let gone = LrRemove { is_dir: false, dir: root, name: b"never there" };
    assert_eq!(apply(Record::Remove(gone)), Err(Error::NotFound));
    let link = LrLink { dir: root, object: 999, name: b"x" };
    assert_eq!(apply(Record::Link(link)), Err(Error::NotFound));
    let node = LoggedNode { object: 1000, slots: 1, mode: 0o100_644, ..LoggedNode::default() };
    let nowhere = LrCreate { dir: 999, node, name: b"x", ..LrCreate::default() };
    assert_eq!(apply(Record::Create(nowhere.clone())), Err(Error::NotFound));
    let taken = LrCreate { dir: root, node: LoggedNode { object: root, ..node }, ..nowhere };
    assert_eq!(apply(Record::Create(taken)), Err(Error::Exists));
    // A file that is gone is no error.
    let write = LrWrite { object: 999, offset: 0, length: 4 };
    assert_eq!(apply(Record::Write(write, Written::Here(b"data"))), Ok(()));
    let far = LrWrite { object: root, offset: u64::MAX - 2, length: 4 };
    assert!(apply(Record::Write(far, Written::Here(b"data"))).is_err());
}
