//! What the kernel knows: node number to node, with the count of look-ups that it has not forgotten
//! yet, the name by which it may go on finding the node without asking, and what it is still to be
//! told.
//!
//! The number is the object's. An object number may come back for another node while the kernel
//! still holds the old one; the kernel then sees another generation under the same number, drops
//! its old inode, and adds both counts up in what it forgets: so does this table.
//!
//! What others change of a node that the kernel knows is noted with the node, however often it
//! changes, and [`crate::notifier`] tells it. Names by which it has found a node, one for each
//! node, are remembered here, for they have to be named to it. An answer may be on its way while
//! others change what it says. So whoever answers takes a [`Inodes::mark`] before he asks the
//! engine, and once the answer is out looks at what has changed since ([`Inodes::recheck`]).
//!
//! The kernel forgets nodes when it wants memory, of which it may have far more than we do. So
//! where all mounts together know more nodes than there is [`Room`] for, it is asked to forget the
//! oldest.
//!
//! Invariants: a name that is not remembered was given to the kernel for a moment only; so there is
//! no more to tell than there are nodes that it knows. A number stands in `stale` once at the most.

mod ages;

use crate::abi::ROOT;
use crate::lock::lock;
use crate::room::Room;
use ages::Ages;
use engine_api::{Changed, Error, NodeId, Result};
use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// The newest changes by others that can be looked at once more.
const RECENT: usize = 512;

/// A table of so many entries is left as large as it is.
const SMALL: usize = 4096;

/// How far it has come with what is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Mark {
    changes: u64,
    groups: u64,
}

pub struct Inodes {
    /// The root as it is now: it is another when a whole file system was received in place of this
    /// one.
    root: Box<dyn Fn() -> Option<NodeId> + Send + Sync>,
    /// The object that was the root when it was last asked for: watchers must not ask.
    root_object: AtomicU64,
    hasher: RandomState,
    room: Arc<Room>,
    table: Mutex<Table>,
    /// Until then the kernel may believe names that are not remembered.
    believes: Mutex<Option<Instant>>,
    /// Changes by others so far, and groups that were written.
    changes: AtomicU64,
    groups: AtomicU64,
}

struct Table {
    known: HashMap<u64, Known>,
    ages: Ages,
    /// What a remembered name leads to, by the digest of directory and name.
    named: HashMap<u64, u64>,
    /// Numbers of what the kernel has to be told.
    stale: VecDeque<u64>,
    /// Objects that others changed, and what of them, the n-th at `n % RECENT`.
    recent: Box<[(u64, What); RECENT]>,
}

/// Whether the name by which the kernel finds a node may lead elsewhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Names {
    #[default]
    Same,
    /// It has to be looked up again. What is mounted below it stays, should it be the same.
    Doubtful,
    Changed,
}

/// What of a node has changed besides its attributes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct What {
    pub data: bool,
    pub names: Names,
}

impl What {
    const ANY: What = What { data: true, names: Names::Doubtful };

    fn of(changed: Changed) -> What {
        What { data: changed.data, names: if changed.names { Names::Changed } else { Names::Same } }
    }

    fn and(self, other: What) -> What {
        What { data: self.data || other.data, names: self.names.max(other.names) }
    }
}

#[derive(Default)]
struct Known {
    generation: u64,
    lookups: u64,
    is_dir: bool,
    /// Its state when it was last opened ([`engine_api::Attr::change`]).
    opened: Option<u64>,
    /// It has been opened past the page cache.
    is_direct: bool,
    name: Option<Name>,
    /// What the kernel has not been told yet.
    changed: Option<What>,
    /// Its data has changed, or its listing, and the kernel may not have dropped what it has of it.
    data_changed: bool,
}

/// A directory's number, and a name in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub u64, pub Box<[u8]>);

/// What the kernel is to be told of a node.
#[derive(Debug, PartialEq, Eq)]
pub struct Stale {
    pub ino: u64,
    pub changed: What,
    /// Where names have changed, the one by which it may still find it.
    pub name: Option<Name>,
}

impl Known {
    /// Whether it was up to date before.
    fn note(&mut self, what: What) -> bool {
        self.data_changed |= what.data;
        let both = self.changed.unwrap_or_default().and(what);
        self.changed.replace(both).is_none()
    }
}

/// Gives memory back once a table is much larger than what is in it.
fn shrink<T>(table: &mut HashMap<u64, T>) {
    if table.capacity() > SMALL && table.capacity() / 8 > table.len() {
        table.shrink_to(2 * table.len());
    }
}

impl Table {
    fn note(&mut self, ino: u64, what: What) -> bool {
        let is_new = self.known.get_mut(&ino).is_some_and(|known| known.note(what));
        if is_new {
            self.stale.push_back(ino);
        }
        is_new
    }

    /// The same of what others changed. The data of a directory is its listing, which may be
    /// another where anything else is.
    fn note_change(&mut self, ino: u64, what: What) -> bool {
        let is_dir = self.known.get(&ino).is_some_and(|known| known.is_dir);
        self.note(ino, What { data: what.data || is_dir, ..what })
    }
}

impl Inodes {
    /// `root`: `None` where the file system is gone. It must not keep it: whoever tells the kernel
    /// outlives the mount.
    pub fn new(root: impl Fn() -> Option<NodeId> + Send + Sync + 'static, room: Arc<Room>) -> Inodes {
        let known = HashMap::from([(ROOT, Known { lookups: 1, is_dir: true, ..Known::default() })]);
        let (named, stale, recent) =
            (HashMap::new(), VecDeque::new(), Box::new([(0, What::default()); RECENT]));
        let root_object = AtomicU64::new(root().map_or(ROOT, |root| root.object));
        Inodes {
            root: Box::new(root),
            root_object,
            hasher: RandomState::new(),
            room,
            table: Mutex::new(Table { known, ages: Ages::default(), named, stale, recent }),
            believes: Mutex::default(),
            changes: AtomicU64::new(0),
            groups: AtomicU64::new(0),
        }
    }

    fn root(&self) -> NodeId {
        match (self.root)() {
            Some(root) => {
                self.root_object.store(root.object, Ordering::Relaxed);
                root
            }
            None => NodeId { object: self.root_object.load(Ordering::Relaxed), generation: 0 },
        }
    }

    /// The node behind a number; `Stale` for one that was never given out or is forgotten.
    pub fn node(&self, ino: u64) -> Result<NodeId> {
        if ino == ROOT {
            return Ok(self.root());
        }
        let generation = self.lock().known.get(&ino).ok_or(Error::Stale)?.generation;
        Ok(NodeId { object: ino, generation })
    }

    /// The number that stands for a node.
    pub fn number(&self, node: NodeId) -> u64 {
        if node == self.root() { ROOT } else { node.object }
    }

    /// The kernel gets one more reference to the node, under this number.
    ///
    /// # Errors
    /// `Corrupt` for a node that has the root's number: no ZPL file system has a file there.
    pub fn remember(&self, node: NodeId, is_dir: bool) -> Result<u64> {
        if node == self.root() {
            return Ok(ROOT);
        }
        if node.object == ROOT || node.object == 0 {
            return Err(Error::Corrupt { object: node.object, block: 0 });
        }
        let mut guard = self.lock();
        let table = &mut *guard;
        if !table.known.contains_key(&node.object) {
            self.room.add_node();
            let known = &table.known;
            table.ages.add(node.object, known.len(), |ino| known.contains_key(&ino));
        }
        let known = table.known.entry(node.object).or_default();
        known.is_dir = is_dir;
        if known.generation != node.generation {
            (known.generation, known.opened) = (node.generation, None);
        }
        known.lookups += 1;
        Ok(node.object)
    }

    /// The kernel is about to find the node by this name in directory `dir`. Whether it is
    /// remembered.
    pub fn remember_name(&self, ino: u64, dir: u64, name: &[u8]) -> bool {
        let digest = self.digest(dir, name);
        let mut guard = self.lock();
        let table = &mut *guard;
        if table.named.get(&digest) == Some(&ino) {
            return true;
        }
        let is_free = table.known.get(&ino).is_some_and(|known| known.name.is_none());
        if ino == ROOT || !is_free || !self.room.has_room_for_names() {
            return false;
        }
        self.drop_name(table, digest);
        self.room.add_name(name);
        table.named.insert(digest, ino);
        if let Some(known) = table.known.get_mut(&ino) {
            known.name = Some(Name(dir, name.into()));
        }
        true
    }

    /// The kernel may believe a name that is not remembered for so long.
    pub fn believes(&self, this: Duration) {
        *lock(&self.believes) = Some(Instant::now() + this);
    }

    /// For so long the kernel may still believe names that it was not told of.
    pub fn still_believes(&self) -> Duration {
        lock(&self.believes).map_or(Duration::ZERO, |until| until.saturating_duration_since(Instant::now()))
    }

    /// The kernel knows that the name is gone.
    pub fn removed(&self, dir: u64, name: &[u8]) {
        let digest = self.digest(dir, name);
        self.drop_name(&mut self.lock(), digest);
    }

    /// The kernel knows that what had one name has the other now; and the reverse, where they were
    /// exchanged. Gives what had the first, as far as that is remembered.
    pub fn renamed(&self, from: (u64, &[u8]), to: (u64, &[u8]), exchanged: bool) -> Option<u64> {
        let (old, new) = (self.digest(from.0, from.1), self.digest(to.0, to.1));
        let mut guard = self.lock();
        let table = &mut *guard;
        let (moved, other) = (self.drop_name(table, old), self.drop_name(table, new));
        let back = other.filter(|_| exchanged).map(|ino| (ino, old, from));
        let all = moved.map(|ino| (ino, new, to)).into_iter().chain(back);
        for (ino, digest, (dir, name)) in all {
            self.room.add_name(name);
            table.named.insert(digest, ino);
            if let Some(known) = table.known.get_mut(&ino) {
                known.name = Some(Name(dir, name.into()));
            }
        }
        moved
    }

    /// Gives what it led to.
    fn drop_name(&self, table: &mut Table, digest: u64) -> Option<u64> {
        let ino = table.named.remove(&digest)?;
        if let Some(Name(_, name)) = table.known.get_mut(&ino).and_then(|known| known.name.take()) {
            self.room.drop_name(&name);
        }
        shrink(&mut table.named);
        Some(ino)
    }

    fn digest(&self, dir: u64, name: &[u8]) -> u64 {
        self.hasher.hash_one((dir, name))
    }

    /// The node is opened in this state. Whether it was in the same one when it was last opened:
    /// then what the kernel has of its data since is still right. So it is where the kernel is told
    /// of all that others change (`is_told`) and nobody here goes past its page cache
    /// (`is_direct`).
    pub fn opened(&self, node: NodeId, change: u64, is_told: bool, is_direct: bool) -> bool {
        match self.lock().known.get_mut(&node.object) {
            Some(known) if known.generation == node.generation => {
                known.is_direct |= is_direct;
                let is_same = known.opened.replace(change) == Some(change);
                if is_told && !known.is_direct { !known.data_changed } else { is_same }
            }
            _ => false,
        }
    }

    /// Whether what the kernel has of the listing of a directory is still right, where it is told
    /// of all that others change.
    pub fn is_listing_right(&self, ino: u64) -> bool {
        self.lock().known.get(&ino).is_some_and(|known| !known.data_changed)
    }

    /// The kernel gives `lookups` references back.
    pub fn forget(&self, ino: u64, lookups: u64) {
        let mut table = self.lock();
        let Some(known) = table.known.get_mut(&ino).filter(|_| ino != ROOT) else { return };
        known.lookups = known.lookups.saturating_sub(lookups);
        if known.lookups > 0 {
            return;
        }
        if let Some(Name(dir, name)) = known.name.clone() {
            self.drop_name(&mut table, self.digest(dir, &name));
        }
        table.known.remove(&ino);
        shrink(&mut table.known);
        self.room.drop_nodes(1);
    }

    /// Nodes that the kernel knows here.
    pub fn count(&self) -> usize {
        self.lock().known.len()
    }

    /// Whether the kernel knows more nodes, of all mounts, than it may.
    pub fn is_crowded(&self) -> bool {
        self.room.excess() > 0
    }

    /// So many nodes the kernel should forget now, should they all be of this mount.
    pub fn surplus(&self) -> usize {
        match self.room.excess() {
            0 => 0,
            excess => (excess + self.room.slack()).min(self.count()),
        }
    }

    /// The nodes, `how_many` at the most, that the kernel has known for longest.
    pub fn oldest(&self, how_many: usize) -> Vec<u64> {
        let mut guard = self.lock();
        let Table { known, ages, .. } = &mut *guard;
        ages.oldest(how_many, |ino| known.contains_key(&ino))
    }

    /// The name of a node that is no directory, which is not remembered from now on.
    pub fn take_name(&self, ino: u64) -> Option<Name> {
        let mut table = self.lock();
        let name = table.known.get(&ino).filter(|known| !known.is_dir)?.name.clone()?;
        self.drop_name(&mut table, self.digest(name.0, &name.1));
        Some(name)
    }

    pub fn mark(&self) -> Mark {
        let (changes, groups) = (self.changes.load(Ordering::Acquire), self.groups.load(Ordering::Acquire));
        Mark { changes, groups }
    }

    /// Others have changed a node. Whether there is more to tell now.
    pub fn changed(&self, node: NodeId, what: Changed) -> bool {
        let (what, mut table) = (What::of(what), self.lock());
        let count = self.changes.load(Ordering::Relaxed);
        table.recent[count as usize % RECENT] = (node.object, what);
        self.changes.store(count + 1, Ordering::Release);
        table.note_change(self.as_given(node.object), what)
    }

    /// The number that the kernel has for an object.
    fn as_given(&self, object: u64) -> u64 {
        if object == self.root_object.load(Ordering::Relaxed) { ROOT } else { object }
    }

    /// The space that these take may be another. Whether there is more to tell now.
    pub fn written(&self, objects: &[u64]) -> bool {
        let mut table = self.lock();
        self.groups.fetch_add(1, Ordering::Release);
        let noted = objects.iter().filter(|object| table.note(self.as_given(**object), What::default()));
        noted.count() > 0
    }

    /// Any node may be another. Whether there is more to tell now.
    pub fn all_changed(&self) -> bool {
        let mut table = self.lock();
        // Whoever answers at this moment looks at all.
        self.changes.fetch_add(RECENT as u64 + 1, Ordering::Release);
        let all: Vec<u64> = table.known.keys().copied().collect();
        let noted = all.into_iter().filter(|ino| table.note_change(*ino, What::ANY));
        noted.count() > 0
    }

    /// The kernel was answered about a node, by what was there after `mark`. Whether there is more
    /// to tell now.
    pub fn recheck(&self, mark: Mark, ino: u64) -> bool {
        if self.mark() == mark {
            return false;
        }
        let mut table = self.lock();
        let was_written = self.groups.load(Ordering::Relaxed) > mark.groups;
        let (mark, count) = (mark.changes, self.changes.load(Ordering::Relaxed));
        let object = if ino == ROOT { self.root_object.load(Ordering::Relaxed) } else { ino };
        let what = match count - mark > RECENT as u64 {
            true => Some(What::ANY),
            false => {
                let since = (mark..count).map(|at| table.recent[at as usize % RECENT]);
                since.filter(|(one, _)| *one == object).map(|(_, what)| what).reduce(What::and)
            }
        };
        match what {
            Some(what) => table.note_change(ino, what),
            None => was_written && table.note(ino, What::default()),
        }
    }

    /// What the kernel is to be told next; [`Inodes::told`] when it has been.
    pub fn next_stale(&self) -> Option<Stale> {
        let mut guard = self.lock();
        let table = &mut *guard;
        loop {
            let ino = table.stale.pop_front()?;
            let Some(known) = table.known.get_mut(&ino) else { continue };
            let Some(changed) = known.changed.take() else { continue };
            let name = known.name.clone().filter(|_| changed.names > Names::Same);
            // The kernel asks for it again, by this name or another.
            if let Some(Name(dir, name)) = &name {
                self.drop_name(table, self.digest(*dir, name));
            }
            return Some(Stale { ino, changed, name });
        }
    }

    /// The kernel has been told.
    pub fn told(&self, ino: u64) {
        if let Some(known) = self.lock().known.get_mut(&ino) {
            known.data_changed = known.changed.is_some_and(|changed| changed.data);
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        lock(&self.table)
    }
}

impl Drop for Inodes {
    fn drop(&mut self) {
        let table = self.lock();
        let names = table.known.values().filter_map(|known| known.name.as_ref());
        names.for_each(|Name(_, name)| self.room.drop_name(name));
        // The root does not count.
        self.room.drop_nodes(table.known.len() - 1);
    }
}

#[cfg(test)]
mod tests;
