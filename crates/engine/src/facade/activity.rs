//! What is asked of file systems and volumes, by whatever protocol.
//!
//! Whatever a server does to data goes through what it was given of a dataset
//! ([`super::pool::LocalPool`]), and there it is counted: a call costs a relaxed addition or three,
//! and where data moves two looks at the clock. Datasets are known by their guids, which stay, and
//! shown by the names that they have when somebody looks.
//!
//! Here a request's trail also learns what the request is about, and how long the engine took for
//! it ([`stdx::trail`]): as long as a [`Call`] lasts, the engine works on it.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use counters::{Seen, Sums, Table};
use engine_api::{Breakdown, Cred, FileSystemCounts, Named, NodeId, Promise, ReadBuf, Result, VolumeCounts};
use env::Clock;
use stdx::trail::{self, Entered, Span};

/// Datasets that are not open, and are still counted one by one: each takes 1 KiB. Those that are
/// open have their counts in any case.
const COUNTED: usize = 1024;
/// Datasets that are shown one by one.
const SHOWN: usize = 1024;

/// What is done to a file system.
#[derive(Clone, Copy)]
pub enum FileOp {
    NewFile,
    NameRemoved,
    NameChanged,
    AttrRead,
    AttrSet,
    Lookup,
    DirRead,
    Read,
    Write,
    Sync,
    Other,
}

/// Places of sums: operations by their number, then these.
const FILE_OPS: usize = FileOp::Other as usize + 1;
const READ_BYTES: usize = FILE_OPS;
const READ_TIME: usize = FILE_OPS + 1;
const WRITE_BYTES: usize = FILE_OPS + 2;
const WRITE_TIME: usize = FILE_OPS + 3;
const FILE_PLACES: usize = FILE_OPS + 4;

/// Places of a volume's sums.
mod at {
    pub const READS: usize = 0;
    pub const WRITES: usize = 1;
    pub const FREES: usize = 2;
    pub const FLUSHES: usize = 3;
    pub const READ_BYTES: usize = 4;
    pub const WRITE_BYTES: usize = 5;
    pub const FREE_BYTES: usize = 6;
    pub const READ_TIME: usize = 7;
    pub const WRITE_TIME: usize = 8;
}
const VOLUME_PLACES: usize = at::WRITE_TIME + 1;

/// The guids of a pool and of a dataset.
pub type Guids = (u64, u64);

/// A dataset, which is known by its guids, as it was called when it was opened first.
#[derive(Clone, Debug)]
struct Key {
    guids: Guids,
    name: String,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.guids == other.guids
    }
}

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Key) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Key) -> Ordering {
        self.guids.cmp(&other.guids)
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.guids.hash(state);
    }
}

/// All that is counted.
pub struct Activity {
    clock: Arc<dyn Clock>,
    file_systems: Table<Key, FILE_PLACES>,
    volumes: Table<Key, VOLUME_PLACES>,
}

/// Where what is done to one file system is counted.
pub struct FileCounting {
    guids: Guids,
    clock: Arc<dyn Clock>,
    sums: Arc<Sums<FILE_PLACES>>,
}

/// Where what is done to one volume is counted.
pub struct VolumeCounting {
    guids: Guids,
    clock: Arc<dyn Clock>,
    sums: Arc<Sums<VOLUME_PLACES>>,
}

/// What a call to a file system is about, as its trail has it.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    object: Option<u64>,
    name: &'a [u8],
    user: Option<u32>,
    offset: Option<u64>,
    bytes: u64,
}

impl<'a> About<'a> {
    pub fn node(node: NodeId) -> About<'a> {
        About { object: Some(node.object), ..About::default() }
    }

    pub fn name(dir: NodeId, name: &'a [u8]) -> About<'a> {
        About { name, ..About::node(dir) }
    }

    pub fn by(self, cred: &Cred) -> About<'a> {
        About { user: Some(cred.uid), ..self }
    }

    pub fn range(self, offset: u64, bytes: u64) -> About<'a> {
        About { offset: Some(offset), bytes, ..self }
    }
}

/// The engine works on a call, until this is dropped.
#[must_use]
pub struct Call<'a>(Option<(&'a dyn Clock, Entered)>);

impl<'a> Call<'a> {
    fn begin(clock: &'a dyn Clock, dataset: Guids, about: About<'_>) -> Call<'a> {
        if !trail::is_followed() {
            return Call(None);
        }
        let mut is_staged = false;
        trail::note(|trail| {
            is_staged = trail.is_staged;
            trail.is_about(dataset, about.object, about.name);
            trail.user = trail.user.or(about.user);
            trail.offset = trail.offset.or(about.offset);
            trail.bytes = trail.bytes.max(about.bytes);
        });
        Call(is_staged.then(|| (clock, trail::enter(clock.now().0))))
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        if let Some((clock, entered)) = self.0.take() {
            trail::leave(Span::Engine, entered, clock.now().0);
        }
    }
}

fn all(sums: &[u64]) -> u64 {
    sums.iter().fold(0, |sum, count| sum.wrapping_add(*count))
}

impl Activity {
    pub fn new(clock: Arc<dyn Clock>) -> Activity {
        Activity {
            clock,
            file_systems: Table::new(COUNTED, |sums| all(&sums[..FILE_OPS])),
            volumes: Table::new(COUNTED, |sums| all(&sums[..=at::FLUSHES])),
        }
    }

    pub fn of_file_system(&self, guids: Guids, name: &str) -> Arc<FileCounting> {
        let key = Key { guids, name: name.to_owned() };
        let (clock, sums) = (self.clock.clone(), self.file_systems.of(&key));
        Arc::new(FileCounting { guids, clock, sums })
    }

    pub fn of_volume(&self, guids: Guids, name: &str) -> Arc<VolumeCounting> {
        let key = Key { guids, name: name.to_owned() };
        let (clock, sums) = (self.clock.clone(), self.volumes.of(&key));
        Arc::new(VolumeCounting { guids, clock, sums })
    }

    /// What was counted so far. `names` gives those that datasets have now, of those that are open;
    /// it is asked for the busiest alone.
    pub fn seen(
        &self,
        names: impl FnOnce(&HashSet<Guids>) -> HashMap<Guids, String>,
    ) -> (Breakdown<FileSystemCounts>, Breakdown<VolumeCounts>) {
        let (file_systems, volumes) = (self.file_systems.seen(), self.volumes.seen());
        let files = file_systems.entries.iter().take(SHOWN).map(|(key, _)| key.guids);
        let wanted = files.chain(volumes.entries.iter().take(SHOWN).map(|(key, _)| key.guids));
        let names = names(&wanted.collect());
        (shown(file_systems, &names, file_counts), shown(volumes, &names, volume_counts))
    }
}

/// The busiest by name. A snapshot counts with its file system, and so does a dataset that is no
/// more with another that has its name now.
fn shown<T, const N: usize>(
    seen: Seen<Key, N>,
    names: &HashMap<Guids, String>,
    counts: fn(&[u64; N]) -> T,
) -> Breakdown<T> {
    let mut by_name: Seen<String, N> = Seen { entries: Vec::new(), rest: seen.rest, folded: seen.folded };
    let mut places = HashMap::new();
    for (key, sums) in seen.entries {
        let name = names.get(&key.guids).unwrap_or(&key.name);
        let name = name.split('@').next().unwrap_or_default().to_owned();
        let place = *places.entry(name).or_insert_with_key(|name| {
            by_name.entries.push((name.clone(), [0; N]));
            by_name.entries.len() - 1
        });
        by_name.entries[place].1.iter_mut().zip(sums).for_each(|(sum, more)| *sum = sum.wrapping_add(more));
    }
    let Seen { entries, rest, .. } = by_name.top(SHOWN);
    let each = entries.into_iter().map(|(name, sums)| Named { name, counts: counts(&sums) });
    Breakdown { each: each.collect(), others: counts(&rest) }
}

fn file_counts(sums: &[u64; FILE_PLACES]) -> FileSystemCounts {
    let of = |op: FileOp| sums[op as usize];
    FileSystemCounts {
        new_files: of(FileOp::NewFile),
        names_removed: of(FileOp::NameRemoved),
        names_changed: of(FileOp::NameChanged),
        attributes_read: of(FileOp::AttrRead),
        attributes_set: of(FileOp::AttrSet),
        lookups: of(FileOp::Lookup),
        directory_reads: of(FileOp::DirRead),
        reads: of(FileOp::Read),
        read_bytes: sums[READ_BYTES],
        read_time: sums[READ_TIME],
        writes: of(FileOp::Write),
        write_bytes: sums[WRITE_BYTES],
        write_time: sums[WRITE_TIME],
        syncs: of(FileOp::Sync),
        others: of(FileOp::Other),
    }
}

fn volume_counts(sums: &[u64; VOLUME_PLACES]) -> VolumeCounts {
    let [reads, writes, frees, flushes, read_bytes, write_bytes, free_bytes, read_time, write_time] = *sums;
    VolumeCounts { reads, read_bytes, read_time, writes, write_bytes, write_time, frees, free_bytes, flushes }
}

impl FileCounting {
    /// Counts a call, which begins now.
    pub fn call(&self, op: FileOp, about: About<'_>) -> Call<'_> {
        self.sums.add(op as usize, 1);
        Call::begin(&*self.clock, self.guids, about)
    }

    /// A call that is not counted begins.
    pub fn uncounted(&self, about: About<'_>) -> Call<'_> {
        Call::begin(&*self.clock, self.guids, about)
    }

    /// Reads, and counts that.
    pub fn read(&self, about: About<'_>, work: impl FnOnce() -> Result<ReadBuf>) -> Result<ReadBuf> {
        let _call = self.uncounted(about);
        let begun = self.clock.now();
        let done = work();
        let bytes = done.as_ref().map_or(0, ReadBuf::len);
        self.sums.add(FileOp::Read as usize, 1);
        self.sums.add(READ_BYTES, bytes as u64);
        self.sums.add(READ_TIME, self.clock.now().since(begun).0);
        done
    }

    /// Writes so many bytes, and counts that.
    pub fn write<T>(&self, about: About<'_>, bytes: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _call = self.uncounted(about);
        let begun = self.clock.now();
        let done = work();
        self.wrote(done.is_ok(), bytes);
        self.sums.add(WRITE_TIME, self.clock.now().since(begun).0);
        done
    }

    /// As [`FileCounting::write`], where the waiting is left to the caller: the time counts when he
    /// has waited.
    pub fn write_promised<T>(
        self: &Arc<Self>,
        about: About<'_>,
        bytes: usize,
        work: impl FnOnce() -> Result<(T, Promise)>,
    ) -> Result<(T, Promise)> {
        let _call = self.uncounted(about);
        let begun = self.clock.now();
        let done = work();
        self.wrote(done.is_ok(), bytes);
        let (written, promise) = done?;
        let own = self.clone();
        let kept = move || {
            let kept = promise();
            own.sums.add(WRITE_TIME, own.clock.now().since(begun).0);
            kept
        };
        Ok((written, Box::new(kept)))
    }

    fn wrote(&self, is_done: bool, bytes: usize) {
        self.sums.add(FileOp::Write as usize, 1);
        self.sums.add(WRITE_BYTES, if is_done { bytes as u64 } else { 0 });
    }
}

impl VolumeCounting {
    fn call(&self, range: Option<(u64, u64)>) -> Call<'_> {
        let about =
            range.map_or_else(About::default, |(offset, bytes)| About::default().range(offset, bytes));
        Call::begin(&*self.clock, self.guids, about)
    }

    pub fn read(&self, range: (u64, u64), work: impl FnOnce() -> Result<ReadBuf>) -> Result<ReadBuf> {
        let _call = self.call(Some(range));
        let begun = self.clock.now();
        let done = work();
        self.sums.add(at::READS, 1);
        self.sums.add(at::READ_BYTES, done.as_ref().map_or(0, ReadBuf::len) as u64);
        self.sums.add(at::READ_TIME, self.clock.now().since(begun).0);
        done
    }

    /// Writes so many bytes to there, and counts that.
    pub fn write(&self, (offset, bytes): (u64, usize), work: impl FnOnce() -> Result<()>) -> Result<()> {
        let _call = self.call(Some((offset, bytes as u64)));
        let begun = self.clock.now();
        let done = work();
        self.wrote(done.is_ok(), bytes);
        self.sums.add(at::WRITE_TIME, self.clock.now().since(begun).0);
        done
    }

    /// As [`FileCounting::write_promised`].
    pub fn write_promised(
        self: &Arc<Self>,
        (offset, bytes): (u64, usize),
        work: impl FnOnce() -> Result<Promise>,
    ) -> Result<Promise> {
        let _call = self.call(Some((offset, bytes as u64)));
        let begun = self.clock.now();
        let done = work();
        self.wrote(done.is_ok(), bytes);
        let (promise, own) = (done?, self.clone());
        Ok(Box::new(move || {
            let kept = promise();
            own.sums.add(at::WRITE_TIME, own.clock.now().since(begun).0);
            kept
        }))
    }

    fn wrote(&self, is_done: bool, bytes: usize) {
        self.sums.add(at::WRITES, 1);
        self.sums.add(at::WRITE_BYTES, if is_done { bytes as u64 } else { 0 });
    }

    /// So many bytes are made to read as zeroes from there on.
    pub fn free(&self, offset: u64, bytes: u64) -> Call<'_> {
        self.sums.add(at::FREES, 1);
        self.sums.add(at::FREE_BYTES, bytes);
        self.call(Some((offset, bytes)))
    }

    pub fn flush(&self) -> Call<'_> {
        self.sums.add(at::FLUSHES, 1);
        self.call(None)
    }

    /// A call that is not counted begins.
    pub fn uncounted(&self, offset: u64, bytes: u64) -> Call<'_> {
        self.call(Some((offset, bytes)))
    }
}
