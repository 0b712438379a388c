//! Snapshots and what belongs to them, over random histories: a model of trees says what each
//! dataset holds, our verifier and zdb say whether the pool is whole, and every number that is kept
//! up is counted again from scratch.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::{DatasetFilter, DatasetInfo, DatasetKind, DestroyQuery, VdevSpec};
use dmu::{Holds, ObjectSpec, Objset};
use ondisk::object_type::ObjectType;
use pool::Pool;
use pool::PoolError;
use pool::change::Change;
use pool::spa::create::create;
use pool::spa::import::{ImportSpec, import};
use pool::spa::labels::search;
use pool::verify::{Options as VerifyOptions, verify};
use stdx::prng::Prng;

use crate::create::spec;
use crate::support::{Dir, around, crash, cut_partitions, fixture, zdb, zdb_accepts};

const SIZE: u64 = 256 << 20;
const BLOCK: u32 = 4 << 10;
const OBJECTS: usize = 12;

/// What a dataset holds: objects by number, with their bytes.
type Tree = BTreeMap<u64, Arc<Vec<u8>>>;

#[derive(Default)]
struct Model {
    heads: BTreeMap<String, Tree>,
    /// Name, content, tags, and whether it goes when nothing keeps it any more. In order of their
    /// making, of one head.
    snapshots: BTreeMap<String, Vec<Snap>>,
    /// Of clones: the snapshot, by guid.
    origins: BTreeMap<String, u64>,
    bookmarks: Vec<String>,
    guids: u64,
    /// Blocks are of a few kinds only, so that many are the same.
    alike: bool,
}

#[derive(Clone)]
struct Snap {
    name: String,
    tree: Tree,
    holds: u32,
    put_off: bool,
    id: u64,
}

pub fn commit(pool: &Pool, change: Change) -> Result<(), String> {
    pool.dsl.commit(change, "").map(drop).map_err(|error| error.to_string())
}

pub fn destroy(names: &[String], defer: bool) -> Change {
    Change::Destroy { names: names.to_vec(), defer }
}

pub fn snapshot(names: &[String], recursive: bool) -> Change {
    Change::Snapshot { names: names.to_vec(), recursive, props: vec![("test:by".into(), "random".into())] }
}

pub fn make(name: &str, dedup: &str) -> Change {
    let props = [("compression", "off"), ("recordsize", "4k"), ("dedup", dedup)];
    let props = props.map(|(name, value)| (name.into(), value.into())).to_vec();
    Change::CreateFilesystem { name: name.into(), parents: false, props }
}

/// All objects of files.
fn read(objset: &Arc<Objset>) -> Tree {
    let (mut tree, mut at) = (Tree::new(), 0);
    while let Some(object) = objset.next_object(at, 0).unwrap() {
        at = object;
        let dnode = objset.hold(object).unwrap();
        if dnode.object_type() == ObjectType::PLAIN_FILE_CONTENTS {
            let len = (dnode.max_blkid() + 1) * u64::from(BLOCK);
            tree.insert(object, Arc::new(dnode.read_bytes(0, len as usize).unwrap()));
        }
    }
    tree
}

/// Whole blocks of what comes, or of one of a few kinds.
fn fill(bytes: &mut [u8], alike: bool, random: &mut Prng) {
    if !alike {
        return random.fill(bytes);
    }
    for block in bytes.chunks_mut(BLOCK as usize) {
        // One kind is zeros.
        block.fill(random.below(20) as u8);
    }
}

/// Changes one object of a head, or makes or removes one.
fn write(pool: &Pool, name: &str, tree: &mut Tree, alike: bool, random: &mut Prng) {
    let dataset = pool.dsl.open_dataset(name).unwrap();
    let objset = dataset.objset();
    let tx = objset.begin(Holds::new(256 << 10, 16)).unwrap();
    let known: Vec<u64> = tree.keys().copied().collect();
    let object = random.pick(&known).copied();
    match object {
        Some(object) if known.len() >= OBJECTS || random.chance(1, 6) => {
            objset.free(object, &tx).unwrap();
            tree.remove(&object);
        }
        Some(object) if random.chance(2, 3) => {
            let mut bytes = (*tree[&object]).clone();
            let block = BLOCK as usize;
            let at = random.below((bytes.len() / block) as u64) as usize * block;
            let len = block * (1 + random.below(4) as usize);
            let end = (at + len).min(bytes.len());
            fill(&mut bytes[at..end], alike, random);
            objset.hold(object).unwrap().write(at as u64, &bytes[at..end], &tx).unwrap();
            tree.insert(object, Arc::new(bytes));
        }
        _ => {
            let mut bytes = vec![0; BLOCK as usize * (1 + random.below(40) as usize)];
            fill(&mut bytes, alike, random);
            let spec = ObjectSpec::new(ObjectType::PLAIN_FILE_CONTENTS).with_block_size(BLOCK);
            let dnode = objset.alloc(spec, &tx).unwrap();
            dnode.write(0, &bytes, &tx).unwrap();
            tree.insert(dnode.object(), Arc::new(bytes));
        }
    }
}

impl Model {
    fn new(alike: bool) -> Model {
        let heads = BTreeMap::from([("tank/a".to_owned(), Tree::new())]);
        Model { heads, alike, ..Model::default() }
    }

    fn pick_head(&self, random: &mut Prng) -> String {
        let names: Vec<&String> = self.heads.keys().collect();
        (*random.pick(&names).unwrap()).clone()
    }

    fn pick_snapshot(&self, random: &mut Prng) -> Option<(String, usize)> {
        let all: Vec<(String, usize)> = self
            .snapshots
            .iter()
            .flat_map(|(head, snaps)| (0..snaps.len()).map(|at| (head.clone(), at)))
            .collect();
        random.pick(&all).cloned()
    }

    fn clones(&self, id: u64) -> usize {
        self.origins.values().filter(|origin| **origin == id).count()
    }

    /// Takes snapshots out that were only waiting for the last that keeps them.
    fn settle(&mut self) {
        let clones: BTreeMap<u64, usize> = self.origins.values().map(|id| (*id, self.clones(*id))).collect();
        for snaps in self.snapshots.values_mut() {
            let is_kept = |snap: &Snap| snap.holds > 0 || clones.get(&snap.id).is_some_and(|n| *n > 0);
            snaps.retain(|snap| !snap.put_off || is_kept(snap));
        }
    }

    fn step(&mut self, pool: &Pool, random: &mut Prng) {
        match random.weighted(&[30, 14, 10, 5, 5, 4, 4, 4, 4, 3, 3]) {
            0 => {
                let name = self.pick_head(random);
                let tree = self.heads.get_mut(&name).unwrap();
                write(pool, &name, tree, self.alike, random);
            }
            1 => self.take(pool, random),
            2 => self.destroy_snapshot(pool, random),
            3 => self.destroy_range(pool, random),
            4 => self.clone_one(pool, random),
            5 => self.promote(pool, random),
            6 => self.roll_back(pool, random),
            7 => self.tag(pool, random),
            8 => self.rename(pool, random),
            9 => self.mark(pool, random),
            _ => self.destroy_head(pool, random),
        }
        self.settle();
    }

    fn note(&mut self, head: &str, name: &str) {
        self.guids += 1;
        let (tree, id) = (self.heads[head].clone(), self.guids);
        let snap = Snap { name: name.to_owned(), tree, holds: 0, put_off: false, id };
        self.snapshots.entry(head.to_owned()).or_default().push(snap);
    }

    fn take(&mut self, pool: &Pool, random: &mut Prng) {
        let name = format!("s{}", self.guids);
        if random.chance(1, 3) {
            commit(pool, snapshot(&[format!("tank/a@{name}")], true)).unwrap();
            let below: Vec<String> = self
                .heads
                .keys()
                .filter(|head| *head == "tank/a" || head.starts_with("tank/a/"))
                .cloned()
                .collect();
            below.iter().for_each(|head| self.note(head, &name));
            return;
        }
        let mut heads = vec![self.pick_head(random), self.pick_head(random)];
        heads.dedup();
        let names: Vec<String> = heads.iter().map(|head| format!("{head}@{name}")).collect();
        commit(pool, snapshot(&names, false)).unwrap();
        heads.iter().for_each(|head| self.note(head, &name));
    }

    fn destroy_snapshot(&mut self, pool: &Pool, random: &mut Prng) {
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        let snap = self.snapshots[&head][at].clone();
        let defer = random.chance(1, 3);
        let name = format!("{head}@{}", snap.name);
        let done = commit(pool, destroy(std::slice::from_ref(&name), defer));
        let kept = snap.holds > 0 || self.clones(snap.id) > 0;
        let snaps = self.snapshots.get_mut(&head).unwrap();
        match (kept, defer) {
            (false, _) => {
                done.unwrap();
                snaps.remove(at);
            }
            (true, true) => {
                done.unwrap();
                snaps[at].put_off = true;
            }
            (true, false) => {
                let why = done.unwrap_err();
                assert!(why.starts_with(&format!("cannot destroy snapshot {name}: ")), "{why}");
            }
        }
    }

    /// As much of `head@first%last` as can be, with what it says would come back.
    fn destroy_range(&mut self, pool: &Pool, random: &mut Prng) {
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        let snaps = &self.snapshots[&head];
        let end = (at + 1 + random.below(4) as usize).min(snaps.len());
        if snaps[at..end].iter().any(|snap| snap.holds > 0 || self.clones(snap.id) > 0) {
            return;
        }
        let name = format!("{head}@{}%{}", snaps[at].name, snaps[end - 1].name);
        pool.core().txgs.sync_now().unwrap();
        while pool.dsl.is_freeing() {
            pool.core().txgs.sync_empty().unwrap();
        }
        let plan = pool.dsl.plan_destroy(&DestroyQuery { name, ..DestroyQuery::default() }).unwrap();
        assert_eq!(plan.names.len(), end - at);
        let used = |pool: &Pool| number(pool, &head, "usedbysnapshots");
        let before = used(pool);
        commit(pool, destroy(&plan.names, false)).unwrap();
        assert_eq!(before - used(pool), plan.bytes, "of {head}");
        self.snapshots.get_mut(&head).unwrap().drain(at..end);
    }

    fn clone_one(&mut self, pool: &Pool, random: &mut Prng) {
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        if self.heads.len() >= 5 {
            return;
        }
        self.guids += 1;
        let name = format!("tank/{}c{}", if random.chance(1, 2) { "a/" } else { "" }, self.guids);
        let snap = self.snapshots[&head][at].clone();
        let from = format!("{head}@{}", snap.name);
        let clone = Change::Clone { snapshot: from, name: name.clone(), parents: false, props: Vec::new() };
        commit(pool, clone).unwrap();
        self.heads.insert(name.clone(), snap.tree);
        self.origins.insert(name, snap.id);
    }

    /// Where a snapshot is.
    fn find(&self, id: u64) -> Option<(String, usize)> {
        self.snapshots
            .iter()
            .find_map(|(head, snaps)| Some((head.clone(), snaps.iter().position(|snap| snap.id == id)?)))
    }

    fn promote(&mut self, pool: &Pool, random: &mut Prng) {
        let names: Vec<String> = self.origins.keys().cloned().collect();
        let Some(clone) = random.pick(&names).cloned() else { return };
        let id = self.origins[&clone];
        let (head, at) = self.find(id).unwrap();
        if clone.starts_with(&format!("{head}/")) {
            return; // A parent that came from its child could not be destroyed in one go.
        }
        let own: Vec<String> =
            self.snapshots.get(&clone).into_iter().flatten().map(|snap| snap.name.clone()).collect();
        let conflict = self.snapshots[&head][..=at].iter().any(|snap| own.contains(&snap.name));
        let marks: Vec<String> =
            self.bookmarks.iter().filter(|mark| mark.starts_with(&format!("{head}#"))).cloned().collect();
        let done = commit(pool, Change::Promote { name: clone.clone() });
        if conflict {
            assert!(done.unwrap_err().contains("conflicting snapshot"));
            return;
        }
        done.unwrap();
        let moved: Vec<Snap> = self.snapshots.get_mut(&head).unwrap().drain(..=at).collect();
        let of_clone = self.snapshots.entry(clone.clone()).or_default();
        of_clone.splice(0..0, moved);
        match self.origins.remove(&head) {
            Some(above) => self.origins.insert(clone.clone(), above),
            None => self.origins.remove(&clone),
        };
        self.origins.insert(head.clone(), id);
        // Which of the bookmarks moved is told by the pool.
        self.bookmarks.retain(|mark| !marks.contains(mark));
    }

    fn roll_back(&mut self, pool: &Pool, random: &mut Prng) {
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        let snaps = &self.snapshots[&head];
        let target = format!("{head}@{}", snaps[at].name);
        let done = commit(pool, Change::Rollback { snapshot: target });
        if at + 1 < snaps.len() {
            assert!(done.unwrap_err().contains("more recent than"));
            return;
        }
        match done {
            Ok(()) => drop(self.heads.insert(head.clone(), snaps[at].tree.clone())),
            // A bookmark may be newer.
            Err(why) => assert!(why.contains("more recent than"), "{why}"),
        }
    }

    fn tag(&mut self, pool: &Pool, random: &mut Prng) {
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        let snap = &mut self.snapshots.get_mut(&head).unwrap()[at];
        let snapshots = vec![format!("{head}@{}", snap.name)];
        if snap.holds == 0 {
            commit(pool, Change::Hold { snapshots: snapshots.clone(), tag: "keep".into(), recursive: false })
                .unwrap();
            let again = Change::Hold { snapshots: snapshots.clone(), tag: "keep".into(), recursive: false };
            assert!(commit(pool, again).unwrap_err().ends_with("tag already exists on this dataset"));
            assert_eq!(pool.dsl.holds(&snapshots[0]).unwrap()[0].0, "keep");
            snap.holds = 1;
        } else {
            commit(pool, Change::Release { snapshots, tag: "keep".into(), recursive: false }).unwrap();
            snap.holds = 0;
        }
    }

    fn rename(&mut self, pool: &Pool, random: &mut Prng) {
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        self.guids += 1;
        let to = format!("r{}", self.guids);
        let from = format!("{head}@{}", self.snapshots[&head][at].name);
        let to_full = format!("{head}@{to}");
        commit(pool, Change::Rename { from, to: to_full, parents: false, recursive: false }).unwrap();
        self.snapshots.get_mut(&head).unwrap()[at].name = to;
    }

    fn mark(&mut self, pool: &Pool, random: &mut Prng) {
        if !self.bookmarks.is_empty() && random.chance(1, 3) {
            let at = random.below(self.bookmarks.len() as u64) as usize;
            let name = self.bookmarks.remove(at);
            commit(pool, destroy(&[name], false)).unwrap();
            return;
        }
        let Some((head, at)) = self.pick_snapshot(random) else { return };
        self.guids += 1;
        let name = format!("{head}#m{}", self.guids);
        let source = format!("{head}@{}", self.snapshots[&head][at].name);
        commit(pool, Change::Bookmark { source, name: name.clone() }).unwrap();
        self.bookmarks.push(name);
    }

    fn destroy_head(&mut self, pool: &Pool, random: &mut Prng) {
        let name = self.pick_head(random);
        let query = DestroyQuery { name: name.clone(), recursive: true, ..DestroyQuery::default() };
        if name == "tank/a" {
            return;
        }
        let snaps = self.snapshots.get(&name).cloned().unwrap_or_default();
        let cloned = snaps.iter().any(|snap| self.clones(snap.id) > 0);
        let held = snaps.iter().any(|snap| snap.holds > 0);
        let plan = match pool.dsl.plan_destroy(&query) {
            Ok(plan) => plan,
            Err(PoolError::Refused(why)) if cloned => {
                assert!(why.to_string().contains("has dependent clones"), "{why}");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let done = commit(pool, destroy(&plan.names, false));
        if held {
            assert!(done.unwrap_err().contains("it's being held"));
            return;
        }
        done.unwrap();
        self.heads.remove(&name);
        self.snapshots.remove(&name);
        self.origins.remove(&name);
        self.bookmarks.retain(|mark| !mark.starts_with(&format!("{name}#")));
    }

    /// Holds every dataset against the pool.
    fn check(&self, pool: &Pool) {
        let mut expected: Vec<(String, &Tree)> =
            self.heads.iter().map(|(name, tree)| (name.clone(), tree)).collect();
        for (head, snaps) in &self.snapshots {
            expected.extend(snaps.iter().map(|snap| (format!("{head}@{}", snap.name), &snap.tree)));
        }
        for (name, tree) in &expected {
            let open = pool.dsl.open_dataset(name).unwrap();
            assert!(read(open.objset()) == **tree, "content of {name}");
        }
        let kinds = vec![DatasetKind::Filesystem, DatasetKind::Snapshot];
        let listed = pool.dsl.list(&DatasetFilter { kinds, ..DatasetFilter::default() }).unwrap();
        let mut listed: Vec<String> =
            listed.into_iter().map(|one| one.name).filter(|name| name != "tank").collect();
        let mut names: Vec<String> = expected.into_iter().map(|(name, _)| name).collect();
        listed.sort();
        names.sort();
        assert_eq!(listed, names);
        self.count(pool);
    }

    /// Space by snapshot and by dataset, counted again: a block is where it was born, and dies
    /// where nobody has it.
    fn count(&self, pool: &Pool) {
        for head in self.heads.keys() {
            let get = |prop: &str| number(pool, head, prop);
            let parts = get("usedbydataset") + get("usedbysnapshots") + get("usedbychildren");
            assert_eq!(get("used"), parts + get("usedbyrefreservation"), "parts of {head}");
            let snaps = self.snapshots.get(head).map_or(&[][..], Vec::as_slice);
            let alone: u64 =
                snaps.iter().map(|snap| number(pool, &format!("{head}@{}", snap.name), "used")).sum();
            assert!(alone <= get("usedbysnapshots"), "{head}: {alone} of {}", get("usedbysnapshots"));
            if let [only] = snaps {
                assert_eq!(alone, get("usedbysnapshots"), "{head}@{}", only.name);
            }
            if let Some(last) = snaps.last() {
                assert_eq!(get("written"), number(pool, head, &format!("written@{}", last.name)), "{head}");
            }
        }
    }
}

fn number(pool: &Pool, name: &str, prop: &str) -> u64 {
    let kinds = vec![DatasetKind::Filesystem, DatasetKind::Snapshot];
    let filter = DatasetFilter {
        roots: vec![name.into()],
        depth: Some(0),
        alone: false,
        props: vec![prop.into()],
        kinds,
    };
    let value = pool.dsl.list(&filter).unwrap().remove(0).props.remove(0).value;
    value.parse().unwrap_or_else(|_| panic!("{name} {prop}: {value:?}"))
}

pub fn is_whole(pool: &Pool) {
    let report = verify(pool, VerifyOptions { data: true }, &mut |_, _| {}).unwrap();
    assert!(report.is_clean(), "{:?}", report.problems);
}

/// Feature counts and dead lists, as zdb sees them.
fn zdb_counts(dir: &Dir, pool: &str) {
    let said = zdb(dir, &["-d", pool]);
    assert!(!said.contains("mismatch"), "{said}");
}

fn history(seed: u64, steps: usize, dedup: &str) {
    let dir = Dir::new(&format!("snapshots-{seed}-{dedup}"));
    let around = around();
    let leaf = VdevSpec::Leaf(dir.image("a.img", SIZE));
    let mut pool = create(&around, &spec("tank", vec![leaf])).unwrap();
    commit(&pool, make("tank/a", dedup)).unwrap();
    let mut model = Model::new(dedup != "off");
    let mut random = Prng::new(seed);
    for _ in 0..2 {
        for _ in 0..steps {
            model.step(&pool, &mut random);
        }
        model.check(&pool);
        pool.export().unwrap();
        drop(pool);
        zdb_accepts(&dir, "tank");
        zdb_counts(&dir, "tank");
        let found = search(&around.env, &[dir.path()]);
        let looking = ImportSpec { force: true, readonly: true, ..ImportSpec::default() };
        let read_only = import(&around, &found[0], &looking).unwrap();
        is_whole(&read_only);
        model.check(&read_only);
        read_only.export().unwrap();
        drop(read_only);
        pool = import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    }
    // Everything goes, and all of it comes back.
    let plan = pool.dsl.plan_destroy(&DestroyQuery {
        name: "tank".into(),
        recursive: true,
        clones: true,
        defer: false,
    });
    let mut names = plan.unwrap().names;
    names.retain(|name| name != "tank");
    for (head, snaps) in &model.snapshots {
        for snap in snaps.iter().filter(|snap| snap.holds > 0) {
            let snapshots = vec![format!("{head}@{}", snap.name)];
            commit(&pool, Change::Release { snapshots, tag: "keep".into(), recursive: false }).unwrap();
        }
    }
    commit(&pool, destroy(&names, false)).unwrap();
    while pool.dsl.is_freeing() {
        pool.core().txgs.sync_empty().unwrap();
    }
    assert_eq!(pool.dsl.freeing(), 0);
    assert_eq!(pool.core().ddt.report(), Default::default());
    assert!(number(&pool, "tank", "used") < 4 << 20);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    zdb_counts(&dir, "tank");
}

#[test]
fn a_random_history_keeps_every_tree_and_every_count() {
    history(1, 45, "off");
}

#[test]
fn another_random_history_does_so_too() {
    history(2, 45, "off");
}

/// The verifier and zdb count the references of each block again.
#[test]
fn a_random_history_of_deduplicated_blocks_keeps_every_reference() {
    history(3, 45, "on");
}

#[test]
fn snapshots_of_openzfs_are_destroyed_and_its_clones_promoted() {
    let dir = Dir::new("snapshots-golden");
    fixture(&dir, "snapshots");
    cut_partitions(&dir);
    let around = around();
    let found = search(&around.env, &[dir.path()]);
    let pool = import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    let kinds = vec![DatasetKind::Filesystem, DatasetKind::Snapshot];
    let filter =
        DatasetFilter { kinds, props: vec!["origin".into(), "userrefs".into()], ..DatasetFilter::default() };
    let clones = |pool: &Pool| -> Vec<String> {
        let listed = pool.dsl.list(&filter).unwrap();
        let is_clone = |one: &DatasetInfo| one.props[0].value.contains('@');
        listed.into_iter().filter(is_clone).map(|one| one.name).collect()
    };
    let before: BTreeMap<String, Tree> = names_of(&pool, &filter);
    let (mut promoted, mut destroyed) = (0, 0);
    for clone in clones(&pool) {
        commit(&pool, Change::Promote { name: clone.clone() }).unwrap();
        promoted += 1;
    }
    assert!(promoted > 0);
    let after = names_of(&pool, &filter);
    assert_eq!(before.len(), after.len());
    for one in pool.dsl.list(&filter).unwrap() {
        let is_snapshot = one.kind == DatasetKind::Snapshot;
        if is_snapshot && commit(&pool, destroy(std::slice::from_ref(&one.name), false)).is_ok() {
            destroyed += 1;
        }
    }
    assert!(destroyed > 0);
    for (name, tree) in names_of(&pool, &filter) {
        assert!(after[&name] == tree, "content of {name}");
    }
    while pool.dsl.is_freeing() {
        pool.core().txgs.sync_empty().unwrap();
    }
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "g_snap");
    zdb_counts(&dir, "g_snap");
}

/// The first block of every object of a file, by dataset.
fn names_of(pool: &Pool, filter: &DatasetFilter) -> BTreeMap<String, Tree> {
    let listed = pool.dsl.list(filter).unwrap();
    let content = |name: &String| {
        let open = pool.dsl.open_dataset(name).unwrap();
        let (mut tree, mut at) = (Tree::new(), 0);
        while let Some(object) = open.objset().next_object(at, 0).unwrap() {
            at = object;
            let dnode = open.objset().hold(object).unwrap();
            if dnode.object_type() == ObjectType::PLAIN_FILE_CONTENTS {
                tree.insert(object, Arc::new(dnode.read_bytes(0, dnode.block_size() as usize).unwrap()));
            }
        }
        tree
    };
    listed.into_iter().map(|one| (one.name.clone(), content(&one.name))).collect()
}

/// `tank/ab@s` is not below `tank/a@s`, though its name begins alike.
#[test]
fn a_tag_that_one_of_several_snapshots_lacks_is_refused() {
    let (dir, around) = (Dir::new("tags"), around());
    let pool = create(&around, &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", 256 << 20))])).unwrap();
    for name in ["tank/a", "tank/ab", "tank/a/c"] {
        commit(&pool, make(name, "off")).unwrap();
    }
    commit(&pool, snapshot(&["tank/a@s".into()], true)).unwrap();
    commit(&pool, snapshot(&["tank/ab@s".into()], false)).unwrap();
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    let hold = |of: &[&str]| Change::Hold { snapshots: names(of), tag: "t".into(), recursive: false };
    let release =
        |of: &[&str], recursive| Change::Release { snapshots: names(of), tag: "t".into(), recursive };
    // What no ZAP takes as a name is refused before it comes to a sync, which it would suspend.
    for (tag, why) in [("", "invalid tag"), ("a\0b", "invalid tag"), (&"t".repeat(256), "tag too long")] {
        let hold = Change::Hold { snapshots: names(&["tank/ab@s"]), tag: tag.into(), recursive: false };
        assert!(commit(&pool, hold).unwrap_err().ends_with(why), "{tag:?}");
    }
    commit(&pool, hold(&["tank/ab@s", "tank/a/c@s"])).unwrap();
    let both = &["tank/a@s", "tank/ab@s"];
    assert!(commit(&pool, release(&["tank@s", "tank/ab@s"], false)).is_err(), "tank@s is not there");
    assert!(commit(&pool, release(both, false)).is_err());
    assert!(commit(&pool, release(&["tank/a@s", "tank/a/c@s"], false)).is_err());
    assert_eq!(pool.dsl.holds("tank/ab@s").unwrap().len(), 1, "nothing was released");
    // With what is below, one that has the tag is enough.
    commit(&pool, release(both, true)).unwrap();
    assert!(
        pool.dsl.holds("tank/ab@s").unwrap().is_empty() && pool.dsl.holds("tank/a/c@s").unwrap().is_empty()
    );
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
}

/// What compared, or sent, and ended with its pool, leaves nothing behind that the next import
/// would not take away.
#[test]
fn a_temporary_snapshot_lasts_as_long_as_its_tag_or_the_pool() {
    let (dir, around) = (Dir::new("temporary"), around());
    let pool = create(&around, &spec("tank", vec![VdevSpec::Leaf(dir.image("a.img", 256 << 20))])).unwrap();
    commit(&pool, make("tank/a", "off")).unwrap();
    let take = |pool: &Pool, name: &str| {
        commit(pool, Change::TemporarySnapshot { name: name.into(), tag: "%tag".into() }).unwrap();
        assert!(pool.dsl.open_dataset(name).is_ok());
    };
    take(&pool, "tank/a@one");
    assert_eq!(pool.dsl.holds("tank/a@one").unwrap().len(), 1);
    let release =
        Change::Release { snapshots: vec!["tank/a@one".into()], tag: "%tag".into(), recursive: false };
    commit(&pool, release).unwrap();
    assert!(pool.dsl.open_dataset("tank/a@one").is_err());
    take(&pool, "tank/a@two");
    take(&pool, "tank/a@three");
    // One that somebody else keeps stays, without the tag; others go.
    commit(&pool, snapshot(&["tank/a@kept".into()], false)).unwrap();
    let hold = Change::Hold { snapshots: vec!["tank/a@three".into()], tag: "mine".into(), recursive: false };
    commit(&pool, hold).unwrap();
    let cut = crash(&dir, "temporary-cut");
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&dir, "tank");
    let found = search(&around.env, &[cut.path()]);
    let pool = import(&around, &found[0], &ImportSpec { force: true, ..ImportSpec::default() }).unwrap();
    pool.dsl.release_temporary().unwrap();
    let is_there = |name: &str| pool.dsl.open_dataset(name).is_ok();
    assert_eq!(["tank/a@two", "tank/a@three", "tank/a@kept"].map(is_there), [false, true, true]);
    let tags = pool.dsl.holds("tank/a@three").unwrap();
    assert_eq!(tags.iter().map(|(tag, _)| tag.as_str()).collect::<Vec<_>>(), ["mine"]);
    is_whole(&pool);
    pool.export().unwrap();
    drop(pool);
    zdb_accepts(&cut, "tank");
}
