//! Answers to calls that may not be done twice, for clients that send them again to the next
//! program.
//!
//! A client whose server died sends again what was not answered. A REMOVE that is in the pool must
//! not be refused then for want of a file, and one that is not must be done. So whoever changes
//! something for a call ([`stdx::call`]) makes an entry here, inside its transaction: which call,
//! in which group. When its record is put into a log block, and before that is written, the entry
//! is told which record of which log that is; and when there is an answer, what it is.
//!
//! ```text
//!   transaction of N ─▶ entry: call, N ─▶ answer ─▶ record r of log l ─▶ the log block is written ─▶ the client is told
//!   death, import: N is in the uberblock ─▶ it has happened
//!                  else ─▶ the log of the file system: r of l is in it ─▶ it has happened, else it has not: the entry goes
//! ```
//! Invariants:
//! - What is answered from here has happened in the pool as it is: entries count only where the
//!   uberblock is of the root that this program wrote last, or was about to write ([`super`]), and
//!   are judged before anything of the pool is written.
//! - An entry that a log may yet confirm is in group [`AGAIN`] until that log was replayed, and is
//!   in the group that is open then: before the log is given back.
//! - Nobody's entry is overwritten while its call is under way. Of those that are answered the
//!   oldest go first. A client overwrites only entries of its own lane.
//! - Whatever stands in the memory, reading it finds entries or none.
//!
//! ```text
//!   lanes, by client: │ slots of 512 bytes: seal, number, digest (4), pool, dataset, group, log, record, time, length, answer │
//! ```
//! A slot without its seal is empty: the seal is broken first and put on last.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use env::{Clock, Keepsake, Nanos, lock};
use stdx::call::{CallId, Keeping};
use stdx::cursor::{Endian, Reader};

use super::AGAIN;
use crate::txg::Observer;

const SEAL: u64 = 0x4369_7374_7265_7031;
/// Clients that share nothing, unless there are more.
const LANES: usize = 16;
const SLOT: usize = 512;
/// Memory is taken for so many slots at a time.
const PIECE: usize = 128;
const PIECE_BYTES: u64 = (PIECE * SLOT) as u64;
/// Bytes of a piece of each lane.
pub const LEVEL: u64 = LANES as u64 * PIECE_BYTES;
/// Pieces of a lane: 2,048 slots, as many calls as a client can have under way, and more.
pub const LEVELS: u64 = 16;
/// A client asks again within so many seconds of service.
const LIFE: u64 = 300;

/// Words of a slot.
const NUMBER: usize = 1;
const DIGEST: usize = 2;
const POOL: usize = 6;
const DATASET: usize = 7;
const GROUP: usize = 8;
const LOG: usize = 9;
const RECORD: usize = 10;
const TIME: usize = 11;
const LENGTH: usize = 12;
const HEAD: usize = 13;
/// The longest answer.
const ANSWER_MAX: usize = SLOT - 8 * HEAD;

/// See the module. Locks: a lane < what earlier programs left.
pub(super) struct Replies {
    memory: Arc<dyn Keepsake>,
    /// Where the first lane begins.
    at: u64,
    /// Slots of a lane.
    slots: usize,
    clock: Arc<dyn Clock>,
    lanes: Vec<Mutex<Lane>>,
    /// Slots whose calls are under way.
    held: Vec<AtomicBool>,
    /// The newest number.
    last: AtomicU64,
    earlier: Mutex<Earlier>,
    /// How many answers of earlier programs there are.
    left: AtomicUsize,
    lend: Arc<Observer>,
}

#[derive(Default)]
struct Lane {
    /// The slot that is taken next.
    next: usize,
    /// There is memory for so many.
    slots: usize,
    /// When the last one was taken.
    used: Nanos,
}

/// What earlier programs left.
#[derive(Default)]
struct Earlier {
    /// Slots and their numbers, by digest.
    slots: HashMap<[u8; 32], Place>,
    since: Nanos,
    /// Entries that a log may confirm, by pool.
    pending: BTreeMap<u64, Vec<Pending>>,
}

/// An entry: another one in the same slot has another number.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    slot: usize,
    number: u64,
}

struct Pending {
    place: Place,
    dataset: u64,
    log: u64,
    record: u64,
}

/// What is known of a call that has happened: the answer, unless the program died before it had
/// one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Happened {
    pub answer: Option<Vec<u8>>,
}

/// The head of a slot that holds something.
struct Entry([u64; HEAD]);

impl Entry {
    fn read(words: [u64; HEAD]) -> Option<Entry> {
        let entry = Entry(words);
        (words[0] == entry.seal() && words[LENGTH] <= ANSWER_MAX as u64).then_some(entry)
    }

    fn seal(&self) -> u64 {
        self.0[DIGEST..GROUP].iter().fold(SEAL ^ self.0[NUMBER], |sum, word| sum.rotate_left(7) ^ word)
    }

    fn digest(&self) -> [u8; 32] {
        let mut digest = [0; 32];
        let words = &self.0[DIGEST..POOL];
        digest.as_chunks_mut().0.iter_mut().zip(words).for_each(|(to, word)| *to = word.to_le_bytes());
        digest
    }
}

impl Replies {
    /// What an earlier program left at this place, which has so many levels, or nothing. `fresh`:
    /// there is nothing.
    pub fn open(
        memory: Arc<dyn Keepsake>,
        (at, levels): (u64, u64),
        clock: Arc<dyn Clock>,
        lend: Arc<Observer>,
        fresh: bool,
    ) -> io::Result<Arc<Replies>> {
        if fresh {
            memory.discard(at, levels * LEVEL)?;
        }
        let slots = levels as usize * PIECE;
        let mut replies = Replies {
            memory,
            at,
            slots,
            clock,
            lanes: (0..LANES).map(|_| Mutex::default()).collect(),
            held: (0..LANES * slots).map(|_| AtomicBool::new(false)).collect(),
            last: AtomicU64::new(0),
            earlier: Mutex::default(),
            left: AtomicUsize::new(0),
            lend,
        };
        if !fresh {
            replies.load()?;
        }
        Ok(Arc::new(replies))
    }

    fn load(&mut self) -> io::Result<()> {
        let mut found = Vec::new();
        for lane in 0..LANES {
            let mut newest = (0, 0);
            for piece in 0..self.slots / PIECE {
                let some = found.len();
                self.read_piece(lane, piece, &mut |slot, entry| {
                    newest = newest.max((entry.0[NUMBER], slot % self.slots + 1));
                    found.push((slot, entry));
                })?;
                if found.len() > some {
                    self.take_memory(lane, (piece + 1) * PIECE)?;
                }
            }
            let state = self.lanes[lane].get_mut().expect("nobody has it yet");
            state.next = newest.1;
            state.used = self.clock.now();
        }
        // Of two entries for one call the newer one counts.
        found.sort_by_key(|(_, entry)| entry.0[NUMBER]);
        let last = found.iter().map(|(_, entry)| entry.0[NUMBER]).max().unwrap_or(0);
        let latest = found.iter().map(|(_, entry)| entry.0[TIME]).max().unwrap_or(0);
        let mut slots = HashMap::new();
        for (slot, entry) in found {
            if latest.abs_diff(entry.0[TIME]) > LIFE {
                self.wipe(slot);
            } else {
                slots.insert(entry.digest(), Place { slot, number: entry.0[NUMBER] });
            }
        }
        self.last = AtomicU64::new(last);
        self.left = AtomicUsize::new(slots.len());
        *self.earlier.get_mut().expect("nobody has it yet") =
            Earlier { slots, since: self.clock.now(), pending: BTreeMap::new() };
        Ok(())
    }

    /// Takes memory for the first slots of a lane, so many.
    fn take_memory(&mut self, lane: usize, slots: usize) -> io::Result<()> {
        let state = self.lanes[lane].get_mut().expect("nobody has it yet");
        let more = ((slots - state.slots) * SLOT) as u64;
        self.memory.reserve(self.at + ((lane * self.slots + state.slots) * SLOT) as u64, more)?;
        state.slots = slots;
        (self.lend)(more as i64);
        Ok(())
    }

    /// Whether nothing is in here that a client may ask for.
    pub fn is_empty(&self) -> bool {
        self.find(&mut |_, _| ()).is_ok_and(|found| found == 0)
    }

    /// Pools that entries are of.
    pub fn pools(&self) -> Vec<u64> {
        let mut pools = Vec::new();
        let told = self.find(&mut |_, entry| {
            if !pools.contains(&entry.0[POOL]) {
                pools.push(entry.0[POOL]);
            }
        });
        told.map_or_else(|_| Vec::new(), |_| pools)
    }

    /// Entries for which a lane has no new ones, and those of earlier programs for which nobody has
    /// asked, are given up after a while, the memory with them.
    pub fn trim(&self) {
        let life = Nanos::from_secs(LIFE);
        let now = self.clock.now();
        let old = {
            let mut earlier = lock(&self.earlier);
            let is_over = !earlier.slots.is_empty() && now.since(earlier.since) > life;
            if is_over { std::mem::take(&mut *earlier).slots } else { HashMap::new() }
        };
        if !old.is_empty() {
            self.left.store(0, SeqCst);
            old.into_values().for_each(|place| self.alter(place, |slot| self.wipe(slot)));
        }
        for (number, lane) in self.lanes.iter().enumerate() {
            let mut lane = lock(lane);
            let first = number * self.slots;
            let slots = first..first + lane.slots;
            let is_held = self.held[slots].iter().any(|held| held.load(SeqCst));
            if lane.slots == 0 || is_held || now.since(lane.used) <= life {
                continue;
            }
            let bytes = (lane.slots * SLOT) as u64;
            if self.memory.discard(self.slot_at(first), bytes).is_ok() {
                (self.lend)(-(bytes as i64));
                *lane = Lane { used: now, ..Lane::default() };
            }
        }
    }

    // ── What this program does ──

    /// An entry for a call that has changed something in this group. None: there is no room, and an
    /// answer that is lost is lost.
    pub fn note(
        self: &Arc<Replies>,
        call: &CallId,
        dataset: (u64, u64),
        txg: u64,
    ) -> Option<Arc<dyn Keeping>> {
        let slot = self.take_slot((call.place % LANES as u64) as usize)?;
        let keeping = Arc::new(Kept { replies: self.clone(), slot });
        let mut words = [0; HEAD];
        words[NUMBER] = self.last.fetch_add(1, Relaxed).wrapping_add(1);
        let mut digest = Reader::new(&call.digest, Endian::Little);
        words[DIGEST..POOL].fill_with(|| digest.u64().unwrap_or(0));
        (words[POOL], words[DATASET], words[GROUP]) = (dataset.0, dataset.1, txg);
        words[TIME] = self.clock.wall().secs.max(0) as u64;
        let bytes = words.map(u64::to_le_bytes);
        let at = self.slot_at(slot);
        let head = self.memory.write(at + 8, &[bytes[1..].as_flattened()]);
        let written = head.and_then(|()| self.memory.write(at, &[&Entry(words).seal().to_le_bytes()]));
        written.ok().map(|()| keeping as Arc<dyn Keeping>)
    }

    /// The oldest slot of a lane whose call is not under way. It is held, and empty.
    fn take_slot(&self, number: usize) -> Option<usize> {
        let mut lane = lock(&self.lanes[number]);
        for _ in 0..=self.slots {
            if lane.next >= self.slots {
                lane.next = 0;
            }
            if lane.next >= lane.slots {
                let at = self.slot_at(number * self.slots + lane.slots);
                if self.memory.reserve(at, PIECE_BYTES).is_ok() {
                    (self.lend)(PIECE_BYTES as i64);
                    lane.slots += PIECE;
                } else if lane.slots == 0 {
                    return None;
                } else {
                    lane.next = 0;
                }
            }
            let slot = number * self.slots + lane.next;
            lane.next += 1;
            if !self.held[slot].swap(true, SeqCst) {
                lane.used = self.clock.now();
                self.forget(slot);
                self.wipe(slot);
                return Some(slot);
            }
        }
        None
    }

    /// The slot is taken: what an earlier program left there is gone.
    fn forget(&self, slot: usize) {
        if self.left.load(SeqCst) == 0 {
            return;
        }
        let Ok(Some(entry)) = self.read(slot) else { return };
        let mut earlier = lock(&self.earlier);
        if earlier.slots.get(&entry.digest()).is_some_and(|place| place.slot == slot) {
            earlier.slots.remove(&entry.digest());
            self.left.store(earlier.slots.len(), SeqCst);
        }
    }

    // ── After a death ──

    /// A pool comes into use, of which nothing was written yet. `durable`: its group, where it is
    /// as this program left it.
    pub fn judge(&self, pool: u64, durable: Option<u64>) {
        let mut own = Vec::new();
        let read = self.find(&mut |slot, entry| {
            if entry.0[POOL] == pool {
                own.push((slot, entry));
            }
        });
        if let Err(error) = read {
            tracing::error!(%error, "what clients were answered cannot be read");
        }
        let mut pending = Vec::new();
        for (slot, Entry(words)) in own {
            let place = Place { slot, number: words[NUMBER] };
            match durable {
                None => self.alter(place, |slot| self.wipe(slot)),
                Some(txg) if words[GROUP] != AGAIN && words[GROUP] <= txg => {
                    self.alter(place, |slot| self.put(slot, GROUP, 0));
                }
                Some(_) => {
                    self.alter(place, |slot| self.put(slot, GROUP, AGAIN));
                    let [dataset, log, record] = [DATASET, LOG, RECORD].map(|at| words[at]);
                    pending.push(Pending { place, dataset, log, record });
                }
            }
        }
        lock(&self.earlier).pending.insert(pool, pending);
    }

    /// The log's records up to this one have been done again, in groups up to `txg`.
    pub fn replayed(&self, pool: u64, log: u64, record: u64, txg: u64) {
        let is_confirmed = |one: &mut Pending| log != 0 && one.log == log && one.record <= record;
        for one in self.take_pending(pool, is_confirmed) {
            self.alter(one.place, |slot| self.put(slot, GROUP, txg));
        }
    }

    /// What was in the logs of the dataset has been done again: nothing else has happened.
    pub fn opened(&self, pool: u64, dataset: u64) {
        for one in self.take_pending(pool, |one| one.dataset == dataset) {
            self.alter(one.place, |slot| self.wipe(slot));
        }
    }

    fn take_pending(&self, pool: u64, which: impl FnMut(&mut Pending) -> bool) -> Vec<Pending> {
        let mut earlier = lock(&self.earlier);
        let pending = earlier.pending.get_mut(&pool);
        pending.map_or_else(Vec::new, |pending| pending.extract_if(.., which).collect())
    }

    /// What is known of a call that an earlier program has done.
    pub fn recall(&self, dataset: (u64, u64), digest: &[u8; 32]) -> Option<Happened> {
        if self.left.load(SeqCst) == 0 {
            return None;
        }
        // Whoever takes the slot waits until it was read.
        let earlier = lock(&self.earlier);
        let slot = earlier.slots.get(digest)?.slot;
        let Entry(words) = self.read(slot).ok()??;
        let is_it = (words[POOL], words[DATASET]) == dataset && words[GROUP] != AGAIN;
        if !is_it {
            return None;
        }
        let mut answer = vec![0; words[LENGTH] as usize];
        self.memory.read(self.slot_at(slot) + 8 * HEAD as u64, &mut answer).ok()?;
        Some(Happened { answer: Some(answer).filter(|answer| !answer.is_empty()) })
    }

    /// Entries of a pool that nobody will use any more.
    pub fn drop_pool(&self, pool: u64) {
        self.judge(pool, None);
        lock(&self.earlier).pending.remove(&pool);
    }

    // ── Slots ──

    fn slot_at(&self, slot: usize) -> u64 {
        self.at + (slot * SLOT) as u64
    }

    /// Does something to an entry that is still there. Nobody takes its slot meanwhile.
    fn alter(&self, place: Place, change: impl FnOnce(usize)) {
        let _nobody_takes = lock(&self.lanes[place.slot / self.slots]);
        if matches!(self.read(place.slot), Ok(Some(entry)) if entry.0[NUMBER] == place.number) {
            change(place.slot);
        }
    }

    /// A word of a slot; where that cannot be, the slot is given up.
    fn put(&self, slot: usize, word: usize, value: u64) {
        let at = self.slot_at(slot);
        if self.memory.write(at + 8 * word as u64, &[&value.to_le_bytes()]).is_err() {
            self.wipe(slot);
        }
    }

    fn wipe(&self, slot: usize) {
        if let Err(error) = self.memory.write(self.slot_at(slot), &[&[0; 8]]) {
            tracing::error!(%error, "what a client was answered cannot be taken back");
        }
    }

    fn read(&self, slot: usize) -> io::Result<Option<Entry>> {
        let mut words = [0; HEAD];
        self.memory.read_words(self.slot_at(slot), &mut words)?;
        Ok(Entry::read(words))
    }

    /// All entries in memory; gives how many there are.
    fn find(&self, each: &mut dyn FnMut(usize, Entry)) -> io::Result<usize> {
        let mut found = 0;
        for lane in 0..LANES {
            let pieces = lock(&self.lanes[lane]).slots / PIECE;
            for piece in 0..pieces {
                self.read_piece(lane, piece, &mut |slot, entry| {
                    found += 1;
                    each(slot, entry);
                })?;
            }
        }
        Ok(found)
    }

    fn read_piece(&self, lane: usize, piece: usize, each: &mut dyn FnMut(usize, Entry)) -> io::Result<()> {
        let first = lane * self.slots + piece * PIECE;
        let mut words = vec![0; PIECE_BYTES as usize / 8];
        self.memory.read_words(self.slot_at(first), &mut words)?;
        for (slot, words) in (first..).zip(words.as_chunks::<{ SLOT / 8 }>().0) {
            if let Some(entry) = words.first_chunk().and_then(|head| Entry::read(*head)) {
                each(slot, entry);
            }
        }
        Ok(())
    }
}

impl Drop for Replies {
    fn drop(&mut self) {
        let slots: usize = self.lanes.iter().map(|lane| lock(lane).slots).sum();
        (self.lend)(-((slots * SLOT) as i64));
    }
}

/// The entry of a call that is under way.
struct Kept {
    replies: Arc<Replies>,
    slot: usize,
}

impl Keeping for Kept {
    fn changed(&self, group: u64) {
        self.replies.put(self.slot, GROUP, group);
    }

    fn logged(&self, log: u64, record: u64) {
        // The record's number never stands beside another log.
        self.replies.put(self.slot, LOG, 0);
        self.replies.put(self.slot, RECORD, record);
        self.replies.put(self.slot, LOG, log);
    }

    fn answer(&self, reply: &[u8]) {
        if reply.len() > ANSWER_MAX {
            return;
        }
        let at = self.replies.slot_at(self.slot);
        self.replies.put(self.slot, LENGTH, 0);
        if self.replies.memory.write(at + 8 * HEAD as u64, &[reply]).is_ok() {
            self.replies.put(self.slot, LENGTH, reply.len() as u64);
        }
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.replies.held[self.slot].store(false, SeqCst);
    }
}

#[cfg(test)]
mod tests;
