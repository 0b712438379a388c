//! What is asked of file systems and volumes, by whatever protocol.
//!
//! Whatever a server does to data goes through what it was given of a dataset
//! ([`super::pool::LocalPool`]), and there it is counted: a call costs a relaxed addition or three,
//! and where data moves two looks at the clock. Datasets are known by their guids, which stay, and
//! shown by the names that they have when somebody looks.

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use counters::{Seen, Sums, Table};
use engine_api::{Breakdown, FileSystemCounts, Named, Promise, ReadBuf, Result, VolumeCounts};
use env::Clock;

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
    clock: Arc<dyn Clock>,
    sums: Arc<Sums<FILE_PLACES>>,
}

/// Where what is done to one volume is counted.
pub struct VolumeCounting {
    clock: Arc<dyn Clock>,
    sums: Arc<Sums<VOLUME_PLACES>>,
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
        Arc::new(FileCounting { clock: self.clock.clone(), sums: self.file_systems.of(&key) })
    }

    pub fn of_volume(&self, guids: Guids, name: &str) -> Arc<VolumeCounting> {
        let key = Key { guids, name: name.to_owned() };
        Arc::new(VolumeCounting { clock: self.clock.clone(), sums: self.volumes.of(&key) })
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
    pub fn count(&self, op: FileOp) {
        self.sums.add(op as usize, 1);
    }

    /// Reads, and counts that.
    pub fn read(&self, work: impl FnOnce() -> Result<ReadBuf>) -> Result<ReadBuf> {
        let begun = self.clock.now();
        let done = work();
        let bytes = done.as_ref().map_or(0, ReadBuf::len);
        self.sums.add(FileOp::Read as usize, 1);
        self.sums.add(READ_BYTES, bytes as u64);
        self.sums.add(READ_TIME, self.clock.now().since(begun).0);
        done
    }

    /// Writes so many bytes, and counts that.
    pub fn write<T>(&self, bytes: usize, work: impl FnOnce() -> Result<T>) -> Result<T> {
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
        bytes: usize,
        work: impl FnOnce() -> Result<(T, Promise)>,
    ) -> Result<(T, Promise)> {
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
    pub fn read(&self, work: impl FnOnce() -> Result<ReadBuf>) -> Result<ReadBuf> {
        let begun = self.clock.now();
        let done = work();
        self.sums.add(at::READS, 1);
        self.sums.add(at::READ_BYTES, done.as_ref().map_or(0, ReadBuf::len) as u64);
        self.sums.add(at::READ_TIME, self.clock.now().since(begun).0);
        done
    }

    pub fn write(&self, bytes: usize, work: impl FnOnce() -> Result<()>) -> Result<()> {
        let begun = self.clock.now();
        let done = work();
        self.wrote(done.is_ok(), bytes);
        self.sums.add(at::WRITE_TIME, self.clock.now().since(begun).0);
        done
    }

    /// As [`FileCounting::write_promised`].
    pub fn write_promised(
        self: &Arc<Self>,
        bytes: usize,
        work: impl FnOnce() -> Result<Promise>,
    ) -> Result<Promise> {
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

    /// So many bytes are made to read as zeroes.
    pub fn free(&self, bytes: u64) {
        self.sums.add(at::FREES, 1);
        self.sums.add(at::FREE_BYTES, bytes);
    }

    pub fn flush(&self) {
        self.sums.add(at::FLUSHES, 1);
    }
}
