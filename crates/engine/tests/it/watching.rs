//! Watchers are told what others change, all of it, and not what they change themselves.

use std::sync::{Arc, Mutex, Weak};

use engine::zpl::{AtCreation, Settings, Watchers};
use engine_api::{
    Changed, CreateMode, Cred, FileSystem, NewNode, NodeFlags, NodeId, Origin, RenameMode, SetAttr, SetTime,
    Stable, Watcher, XattrMode,
};

use crate::bench::Bench;

#[derive(Default)]
struct Told {
    nodes: Mutex<Vec<(NodeId, Changed)>>,
    written: Mutex<Vec<u64>>,
    all: Mutex<u32>,
}

impl Watcher for Told {
    fn changed(&self, node: NodeId, what: Changed) {
        self.nodes.lock().unwrap().push((node, what));
    }

    fn written(&self, objects: &[u64]) {
        self.written.lock().unwrap().extend_from_slice(objects);
    }

    fn all_changed(&self) {
        *self.all.lock().unwrap() += 1;
    }
}

impl Told {
    /// Since it was asked last, in the order of objects.
    fn take(&self) -> Vec<(NodeId, Changed)> {
        let mut nodes = std::mem::take(&mut *self.nodes.lock().unwrap());
        nodes.sort_by_key(|(node, what)| (*node, what.data, what.names));
        nodes.dedup();
        nodes
    }
}

fn watched(bench: &Bench) -> (Arc<Told>, Origin) {
    let (watchers, told) = (Arc::new(Watchers::default()), Arc::new(Told::default()));
    let weak: Weak<dyn Watcher> = Arc::<Told>::downgrade(&told);
    let origin = watchers.add(weak);
    bench.fs.watched_by(watchers);
    (told, origin)
}

const ATTRIBUTES: Changed = Changed::ATTRIBUTES;
const DATA: Changed = Changed::DATA;
const NAMES: Changed = Changed::NAMES;

#[test]
fn whoever_watches_is_told_of_every_change_by_others() {
    let bench = Bench::new(Settings::default(), AtCreation::default());
    let (told, own) = watched(&bench);
    let (fs, root) = (&bench.fs, bench.fs.root());
    let new = SetAttr { mode: Some(0o755), ..SetAttr::default() };
    let (others, own) = (Cred::root(), Cred { origin: own, ..Cred::root() });
    for cred in [&others, &own] {
        let case = |what: &str, wanted: &[(NodeId, Changed)]| {
            let mut wanted = if *cred == others { wanted.to_vec() } else { Vec::new() };
            wanted.sort_by_key(|(node, what)| (*node, what.data, what.names));
            assert_eq!(told.take(), wanted, "{what}");
        };
        let file = fs.create(cred, root, b"file", CreateMode::Guarded, &new).unwrap().attr.node;
        case("create", &[(root, ATTRIBUTES)]);
        let dir = fs.make(cred, root, b"dir", &NewNode::Dir, &new).unwrap().attr.node;
        case("make", &[(root, ATTRIBUTES)]);
        fs.write(cred, file, 0, b"data", Stable::Unstable).unwrap();
        case("write", &[(file, DATA)]);
        fs.append(cred, file, b"data", Stable::FileSync).unwrap();
        case("append", &[(file, DATA)]);
        fs.write_promised(cred, file, 0, b"data").unwrap().1().unwrap();
        case("write_promised", &[(file, DATA)]);
        fs.punch(cred, file, 0, 4).unwrap();
        case("punch", &[(file, DATA)]);
        fs.setattr(cred, file, &SetAttr { mtime: Some(SetTime::Now), ..SetAttr::default() }).unwrap();
        case("utimes", &[(file, ATTRIBUTES)]);
        fs.setattr(cred, file, &SetAttr { size: Some(2), ..SetAttr::default() }).unwrap();
        case("truncate", &[(file, DATA)]);
        let empty = SetAttr { size: Some(0), ..SetAttr::default() };
        fs.create(cred, root, b"file", CreateMode::Unchecked, &empty).unwrap();
        case("create over", &[(root, ATTRIBUTES), (file, DATA)]);
        fs.setxattr(cred, file, b"user.a", b"b", XattrMode::Either).unwrap();
        case("setxattr", &[(file, ATTRIBUTES)]);
        fs.removexattr(cred, file, b"user.a").unwrap();
        case("removexattr", &[(file, ATTRIBUTES)]);
        let flags = NodeFlags { no_dump: true, ..NodeFlags::default() };
        fs.set_flags(cred, file, flags).unwrap();
        case("set_flags", &[(file, ATTRIBUTES)]);
        fs.link(cred, file, dir, b"link").unwrap();
        case("link", &[(file, ATTRIBUTES), (dir, ATTRIBUTES)]);
        fs.rename(cred, (root, b"file"), (dir, b"file"), RenameMode::Replace).unwrap();
        case("rename", &[(root, ATTRIBUTES), (dir, ATTRIBUTES), (file, NAMES)]);
        let other = fs.create(cred, root, b"other", CreateMode::Guarded, &new).unwrap().attr.node;
        told.take();
        fs.rename(cred, (root, b"other"), (dir, b"file"), RenameMode::Exchange).unwrap();
        let both = [(root, ATTRIBUTES), (dir, ATTRIBUTES), (file, NAMES), (other, NAMES)];
        case("exchange", &both);
        fs.rename(cred, (root, b"file"), (dir, b"file"), RenameMode::NoReplace).unwrap_err();
        case("refused", &[]);
        fs.rename(cred, (root, b"other"), (dir, b"file"), RenameMode::Replace).unwrap();
        case("replace", &both);
        for name in [&b"link"[..], b"file"] {
            fs.remove(cred, dir, name).unwrap();
            case("remove", &[(dir, ATTRIBUTES), (file, NAMES)]);
        }
        fs.rmdir(cred, root, b"dir").unwrap();
        case("rmdir", &[(root, ATTRIBUTES), (dir, NAMES)]);
        fs.getattr(root).unwrap();
        case("getattr", &[]);
    }
    let all = || *told.all.lock().unwrap();
    bench.fs.set_settings(Settings::default());
    assert_eq!(all(), 0, "they are what they were");
    bench.fs.set_settings(Settings { posix_acls: true, ..Settings::default() });
    assert_eq!(all(), 1);
}

/// Its copies by the other spellings are as stale as everybody's.
#[test]
fn where_several_names_are_one_a_watcher_is_told_of_its_own_removals() {
    let at = AtCreation { casesensitivity: ondisk::znode::CASE_INSENSITIVE, ..AtCreation::default() };
    let bench = Bench::new(Settings::default(), at);
    let (told, own) = watched(&bench);
    let (fs, root, cred) = (&bench.fs, bench.fs.root(), Cred { origin: own, ..Cred::root() });
    let file = fs.create(&cred, root, b"File", CreateMode::Guarded, &SetAttr::default()).unwrap().attr.node;
    assert_eq!(told.take(), []);
    fs.remove(&cred, root, b"fILE").unwrap();
    assert_eq!(told.take(), [(file, NAMES)]);
}

#[test]
fn who_watches_is_told_of_the_space_that_its_own_writes_take() {
    let bench = Bench::new(Settings::default(), AtCreation::default());
    let (told, own) = watched(&bench);
    let (fs, root, cred) = (&bench.fs, bench.fs.root(), Cred { origin: own, ..Cred::root() });
    let file = fs.create(&cred, root, b"file", CreateMode::Guarded, &SetAttr::default()).unwrap().attr.node;
    fs.write(&cred, file, 0, &[1; 5000], Stable::Unstable).unwrap();
    let used = |node| fs.getattr(node).unwrap().used;
    let before = [root, file].map(used);
    let written = || std::mem::take(&mut *told.written.lock().unwrap());
    assert_eq!(written(), [] as [u64; 0]);
    bench.sync();
    assert!(used(file) > before[1]);
    let objects = written();
    for (node, before) in [root, file].into_iter().zip(before) {
        assert_eq!(objects.contains(&node.object), used(node) != before, "{node:?} of {objects:?}");
    }
    bench.sync();
    assert_eq!(written(), [] as [u64; 0], "nothing was changed");
    fs.setattr(&cred, file, &SetAttr { mode: Some(0o700), ..SetAttr::default() }).unwrap();
    bench.sync();
    assert_eq!(written(), [] as [u64; 0], "it takes the same space");
}
