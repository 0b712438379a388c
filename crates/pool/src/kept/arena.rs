//! The memory: who has which chunk, and what stands in it.
//!
//! What is in memory of the process ([`State`]) mirrors the list of chunks; notes are read back
//! only after a death. Locks: a lane < the state. Whoever fills a chunk holds its lane, and nobody
//! else knows the chunk.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use env::{Clock, Keepsake, lock};
use ondisk::uberblock::Uberblock;

use super::replies::{LEVEL, LEVELS, Replies};
use super::{AGAIN, CHUNK, Change, KeptPool, Noted, VolumeKey};
use crate::txg::Observer;

/// Also says of which form the rest is.
const MAGIC: u64 = 0x4369_7374_6b65_7031;
/// Pools that are known at a time.
const POOLS: usize = 64;
/// Where it says how many levels of answers there are behind the chunks.
const LEVELS_AT: u64 = 16;
/// Answers take one part of so many, at the most.
const ANSWERS: u64 = 4;
const POOLS_AT: u64 = 64;
/// Bytes of a pool: its guid, then its two last groups.
const POOL: u64 = 128;
/// Bytes of a group: the checksum of its root, then its number.
const ROOT: u64 = 40;
const CHUNKS_AT: u64 = POOLS_AT + POOLS as u64 * POOL;
/// Bytes of a chunk in the list: the pool's guid, the group, the life.
const ENTRY: u64 = 24;
/// Words of a note's head: life, number, number of the first part, parts, object, guid, offset,
/// length, bytes that follow.
const HEAD: usize = 9;
const HEAD_BYTES: u64 = 8 * HEAD as u64;
const TAIL_BYTES: u64 = 8;
/// Where a head has the count of parts: none are left when it is done.
const PARTS_AT: u64 = 24;
/// Bytes of a part at the most; and as many as make it worth to begin one at the end of a chunk.
const PART: u64 = CHUNK - HEAD_BYTES - TAIL_BYTES;
const PART_MIN: u64 = 4 << 10;
/// Chunks of a group that are filled at the same time.
const LANES: usize = 4;
/// A group is to be written when it has one chunk of so many that there is memory for: while it is
/// being written, the next one has room for twice as much.
const SHARE: usize = 3;

/// See [`super`].
pub struct Kept {
    memory: Arc<dyn Keepsake>,
    /// How many chunks there are.
    count: usize,
    state: Mutex<State>,
    /// Numbers of notes and lives.
    last: AtomicU64,
    lend: Arc<Observer>,
    /// None where there is no room for them.
    pub(super) replies: Option<Arc<Replies>>,
}

#[derive(Default)]
struct State {
    chunks: Vec<Owner>,
    /// Chunks that nobody has; those in `warm` have memory.
    warm: Vec<usize>,
    cold: Vec<usize>,
    /// The fewest that were warm since memory was given back last.
    idle: usize,
    /// Chunks that there is memory for, as far as is known: the machine may have less than all can
    /// take.
    room: usize,
    groups: Vec<Group>,
    /// Guids; 0 where there is none.
    pools: Vec<u64>,
    /// Of those, the ones that are open.
    open: BTreeSet<u64>,
    /// The list on the medium says something else than this one: nothing is noted any more.
    is_broken: bool,
}

/// Whose a chunk is.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Owner {
    guid: u64,
    txg: u64,
    life: u64,
}

/// A group that is not durable.
struct Group {
    of: (u64, u64),
    lanes: Arc<[Mutex<Lane>; LANES]>,
    chunks: usize,
    is_asked_for: bool,
}

/// A chunk that is being filled.
#[derive(Default)]
struct Lane {
    chunk: Option<(usize, u64)>,
    used: u64,
}

/// A note as it is found.
#[derive(Clone, Copy)]
struct Note {
    /// Place of its head.
    at: u64,
    number: u64,
    first: u64,
    parts: u64,
    volume: VolumeKey,
    offset: u64,
    len: u64,
    bytes: u64,
}

/// A change of a volume that is to be done again.
pub struct Again {
    pub offset: u64,
    pub len: u64,
    at: u64,
    bytes: u64,
}

impl Note {
    fn place_after(bytes: u64) -> u64 {
        (HEAD_BYTES + bytes + TAIL_BYTES).next_multiple_of(8)
    }
}

impl Kept {
    /// What an earlier process left in this memory, or nothing. `lend` hears of the memory that is
    /// taken.
    pub fn open(memory: Arc<dyn Keepsake>, clock: Arc<dyn Clock>, lend: Observer) -> io::Result<Arc<Kept>> {
        let mut head = [0; 2];
        memory.read_words(0, &mut head)?;
        let found = usize::try_from(head[1]).unwrap_or(usize::MAX);
        let fits =
            |chunks: usize| chunks as u64 <= memory.size() / CHUNK && place(chunks, chunks) <= memory.size();
        let known = head[0] == MAGIC && fits(found);
        if head[0] != 0 && !known {
            tracing::error!(
                "what an earlier program kept of volumes is of a form that is not known: it is lost"
            );
        }
        let (lend, last) = (Arc::new(lend), AtomicU64::new(0));
        let mut kept = Kept { memory, count: 0, state: Mutex::default(), last, lend, replies: None };
        if known {
            kept.count = found;
            kept.open_replies(&clock, false);
            kept.load(found)?;
        }
        if kept.is_empty() {
            kept.replies = None;
            kept.format()?;
            kept.open_replies(&clock, true);
        }
        Ok(Arc::new(kept))
    }

    /// Volumes do without answers. Those that nobody follows now are none to the next program
    /// either.
    fn open_replies(&mut self, clock: &Arc<dyn Clock>, fresh: bool) {
        if let Err(error) = self.try_open_replies(clock, fresh) {
            tracing::error!(%error, "what clients are answered dies with the program");
            let is_broken = self.memory.write_words(LEVELS_AT, &[0]).is_err();
            self.state.get_mut().expect("nobody has it yet").is_broken |= is_broken;
        }
    }

    /// Answers stand behind the chunks. A program from before there were any has left no room, but
    /// the memory may be larger now.
    fn try_open_replies(&mut self, clock: &Arc<dyn Clock>, fresh: bool) -> io::Result<()> {
        let at = place(self.count, self.count);
        let room = (self.memory.size().saturating_sub(at) / LEVEL).min(LEVELS);
        let mut levels = [0];
        self.memory.read_words(LEVELS_AT, &mut levels)?;
        let fresh = fresh || !(1..=room).contains(&levels[0]);
        if fresh {
            levels = [room];
            self.memory.write_words(LEVELS_AT, &levels)?;
        }
        if room > 0 {
            let (memory, lend) = (self.memory.clone(), self.lend.clone());
            self.replies = Some(Replies::open(memory, (at, levels[0]), clock.clone(), lend, fresh)?);
        }
        Ok(())
    }

    /// Takes all memory that there is.
    fn format(&mut self) -> io::Result<()> {
        let size = self.memory.size();
        let size = size - (size / ANSWERS / LEVEL).min(LEVELS) * LEVEL;
        let all = (size / CHUNK) as usize;
        let chunks = (0..=all).rev().find(|&chunks| place(chunks, chunks) <= size).unwrap_or(0);
        self.memory.reserve(0, chunks_at(chunks))?;
        self.memory.write_words(0, &[0])?;
        self.memory.write(8, &[&vec![0; chunks_at(chunks) as usize - 8]])?;
        self.memory.write_words(8, &[chunks as u64])?;
        self.memory.write_words(0, &[MAGIC])?;
        let state = self.state.get_mut().expect("nobody has it yet");
        self.count = chunks;
        state.room = chunks;
        state.chunks = vec![Owner::default(); chunks];
        state.cold = (0..chunks).rev().collect();
        state.pools = vec![0; POOLS];
        Ok(())
    }

    fn load(&mut self, chunks: usize) -> io::Result<()> {
        self.count = chunks;
        let mut pools = vec![0; POOLS];
        for (slot, guid) in (0..).zip(&mut pools) {
            self.memory.read_words(slot_at(slot), std::slice::from_mut(guid))?;
        }
        let mut words = vec![0; chunks * ENTRY as usize / 8];
        self.memory.read_words(CHUNKS_AT, &mut words)?;
        let (entries, _) = words.as_chunks::<3>();
        let owner = |&[guid, txg, life]: &[u64; 3]| match life {
            0 => Owner::default(),
            _ => Owner { guid, txg, life },
        };
        let owners: Vec<Owner> = entries.iter().map(owner).collect();
        let mut last = 0;
        for (chunk, owner) in owners.iter().enumerate().filter(|(_, owner)| owner.life != 0) {
            last = last.max(owner.life);
            last = self.notes_in(chunk, owner.life)?.iter().map(|note| note.number).fold(last, u64::max);
        }
        let used = owners.iter().filter(|owner| owner.life != 0).count();
        let state = self.state.get_mut().expect("nobody has it yet");
        // Without chunks and answers it does not matter which groups a pool had.
        let answered = self.replies.as_ref().map_or_else(Vec::new, |replies| replies.pools());
        let has_some = |guid: &u64| {
            answered.contains(guid) || owners.iter().any(|owner| owner.life != 0 && owner.guid == *guid)
        };
        pools.iter_mut().filter(|guid| !has_some(guid)).for_each(|guid| *guid = 0);
        state.pools = pools;
        state.room = chunks;
        state.cold = (0..chunks).rev().filter(|&chunk| owners[chunk].life == 0).collect();
        state.chunks = owners;
        self.last = AtomicU64::new(last);
        (self.lend)((used as u64 * CHUNK) as i64);
        Ok(())
    }

    /// Whether nothing is noted.
    pub fn is_empty(&self) -> bool {
        lock(&self.state).chunks.iter().all(|owner| owner.life == 0)
            && self.replies.as_ref().is_none_or(|replies| replies.is_empty())
    }

    /// Drops what is noted of pools that are none of these, and will not come back.
    pub fn keep_only(&self, guids: &[u64]) {
        let pools = lock(&self.state).pools.clone();
        for (slot, guid) in pools.into_iter().enumerate() {
            if guid != 0 && !guids.contains(&guid) {
                tracing::warn!(guid, "what was kept of a pool that is used here no more is dropped");
                self.forget(guid, slot);
            }
        }
    }

    /// Gives memory back that nobody needed since this was called last.
    pub fn trim(&self) {
        self.replies.as_ref().inspect(|replies| replies.trim());
        let mut state = lock(&self.state);
        let idle = state.idle.min(state.warm.len());
        for _ in 0..idle {
            let chunk = state.warm.remove(0);
            if self.memory.discard(place(chunk, self.count), CHUNK).is_err() {
                state.warm.push(chunk);
                break;
            }
            (self.lend)(-(CHUNK as i64));
            state.cold.push(chunk);
        }
        state.idle = state.warm.len();
    }

    /// What is noted of a pool that comes into use with this uberblock, before anything of it is
    /// written; `None` where it is new. `back`: later groups are given up. No pool: there are too
    /// many.
    pub(crate) fn of_pool(
        self: &Arc<Kept>,
        guid: u64,
        uberblock: Option<&Uberblock>,
        back: bool,
    ) -> Option<Arc<KeptPool>> {
        let slot = {
            let mut state = lock(&self.state);
            let known = state.pools.iter().position(|known| *known == guid);
            let slot = known.or_else(|| state.pools.iter().position(|known| *known == 0));
            let Some(slot) = slot.or_else(|| self.give_up_pool(&mut state)) else {
                tracing::warn!(
                    guid,
                    "writes of volumes that are not flushed die with the program: too many pools"
                );
                return None;
            };
            state.groups.retain(|group| group.of.0 != guid);
            if known.is_none() {
                let fresh = [guid, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
                state.pools[slot] = guid;
                state.is_broken |= self.memory.write_words(slot_at(slot), &fresh).is_err();
            }
            state.open.insert(guid);
            slot
        };
        let is_ours = uberblock.is_some_and(|uberblock| !back && self.is_root(slot, uberblock));
        let txg = uberblock.map_or(0, |uberblock| uberblock.txg);
        let (mut lost, all) = (0, lock(&self.state).chunks.clone());
        for (chunk, owner) in
            all.iter().enumerate().filter(|(_, owner)| owner.life != 0 && owner.guid == guid)
        {
            if !is_ours {
                lost += self
                    .notes_in(chunk, owner.life)
                    .map_or(1, |notes| notes.iter().filter(|note| note.parts > 0).count());
            }
            if is_ours && (owner.txg == AGAIN || owner.txg > txg) {
                self.mark_again(chunk);
            } else {
                self.free(&mut lock(&self.state), chunk);
            }
        }
        if lost > 0 {
            tracing::error!(
                guid,
                txg,
                writes = lost,
                "the pool was changed elsewhere, or goes back, since this program was ended in the middle of its work: writes of volumes that nobody had flushed are lost"
            );
        }
        self.replies.as_ref().inspect(|replies| replies.judge(guid, is_ours.then_some(txg)));
        Some(Arc::new(KeptPool { kept: self.clone(), guid, slot }))
    }

    /// The place of a pool that is not open and has nothing but answers: they are given up.
    fn give_up_pool(&self, state: &mut State) -> Option<usize> {
        let has_notes = |guid: u64| state.chunks.iter().any(|owner| owner.life != 0 && owner.guid == guid);
        let slot = state.pools.iter().position(|guid| !state.open.contains(guid) && !has_notes(*guid))?;
        self.replies.as_ref().inspect(|replies| replies.drop_pool(state.pools[slot]));
        Some(slot)
    }

    fn mark_again(&self, chunk: usize) {
        let mut state = lock(&self.state);
        state.chunks[chunk].txg = AGAIN;
        state.is_broken |= self.memory.write_words(entry_at(chunk) + 8, &[AGAIN]).is_err();
    }

    /// Whether the group is one of the two that this pool had last.
    fn is_root(&self, slot: usize, uberblock: &Uberblock) -> bool {
        let mut words = [0; 10];
        if let Err(error) = self.memory.read_words(slot_at(slot) + 8, &mut words) {
            tracing::error!(%error, "what was kept of volumes cannot be read");
        }
        words.as_chunks::<5>().0.iter().any(|root| *root == root_words(uberblock))
    }

    pub(super) fn write_root(&self, slot: usize, guid: u64, uberblock: &Uberblock) {
        let at = slot_at(slot) + 8 + ROOT * (uberblock.txg % 2);
        if self.memory.write_words(at, &root_words(uberblock)).is_err() {
            tracing::error!(guid, "nothing more is kept of volumes: their memory cannot be written");
            lock(&self.state).is_broken = true;
        }
    }

    pub(super) fn drop_groups(&self, guid: u64, txg: u64) {
        let mut state = lock(&self.state);
        state.groups.retain(|group| group.of.0 != guid || group.of.1 > txg);
        for chunk in 0..state.chunks.len() {
            let owner = state.chunks[chunk];
            if owner.life != 0 && owner.guid == guid && owner.txg <= txg {
                self.free(&mut state, chunk);
            }
        }
    }

    /// The pool is open no more. What could not be done again stays for the next import, and what
    /// clients were answered, but not of a pool that is `destroyed`.
    pub(super) fn let_go(&self, guid: u64, slot: usize, destroyed: bool) {
        lock(&self.state).open.remove(&guid);
        let is_answered = || self.replies.as_ref().is_some_and(|replies| replies.pools().contains(&guid));
        if destroyed || self.waiting(guid).is_empty() && !is_answered() {
            self.forget(guid, slot);
        }
    }

    fn forget(&self, guid: u64, slot: usize) {
        self.drop_groups(guid, AGAIN);
        self.replies.as_ref().inspect(|replies| replies.drop_pool(guid));
        let mut state = lock(&self.state);
        state.pools[slot] = 0;
        state.is_broken |= self.memory.write_words(slot_at(slot), &[0]).is_err();
    }

    fn free(&self, state: &mut State, chunk: usize) {
        state.is_broken |= self.memory.write_words(entry_at(chunk) + 16, &[0]).is_err();
        state.chunks[chunk] = Owner::default();
        state.warm.push(chunk);
    }

    // ── Noting ──

    pub(super) fn note(&self, of: (u64, u64), volume: VolumeKey, offset: u64, change: Change<'_>) -> Noted {
        let Some(lanes) = self.lanes(of) else { return Noted::No };
        let mut lane = match lanes.iter().find_map(|lane| lane.try_lock().ok()) {
            Some(lane) => lane,
            None => lock(&lanes[0]),
        };
        let (len, bytes) = match change {
            Change::Bytes(bytes) => (bytes.len() as u64, bytes),
            Change::Hole(len) => (len, &[][..]),
        };
        let mut head = [0, 0, 0, 0, volume.object, volume.guid, offset, len, 0];
        if !lane.fits(PART_MIN.min(bytes.len() as u64)) {
            lane.chunk = None;
        }
        let begun = lane.chunk.map_or(0, |_| lane.room().min(bytes.len() as u64));
        let others = (bytes.len() as u64 - begun).div_ceil(PART);
        let parts = (u64::from(lane.chunk.is_some()) + others).max(1);
        let first = self.last.fetch_add(parts, Relaxed) + 1;
        (head[2], head[3]) = (first, parts);
        let (mut rest, mut noted) = (bytes, Noted::Yes);
        for part in 0..parts {
            if part > 0 || lane.chunk.is_none() {
                let Some((chunk, is_share)) = self.take_chunk(of) else { return Noted::No };
                if is_share {
                    noted = Noted::Soon;
                }
                *lane = Lane { chunk: Some(chunk), used: 0 };
            }
            let (here, after) = rest.split_at((lane.room() as usize).min(rest.len()));
            rest = after;
            head[1] = first + part;
            head[8] = here.len() as u64;
            if let Change::Bytes(_) = change {
                head[7] = here.len() as u64;
            }
            if self.write_note(&mut lane, &mut head, here).is_err() {
                return Noted::No;
            }
            head[6] += here.len() as u64;
        }
        noted
    }

    fn write_note(&self, lane: &mut Lane, head: &mut [u64; HEAD], bytes: &[u8]) -> io::Result<()> {
        let (chunk, life) = lane.chunk.expect("it was just taken");
        head[0] = life;
        let encoded = head.map(u64::to_le_bytes);
        let tail = tail(life, head[1]).to_le_bytes();
        let at = place(chunk, self.count) + lane.used;
        self.memory.write(at, &[encoded.as_flattened(), bytes, &tail])?;
        lane.used += Note::place_after(bytes.len() as u64);
        Ok(())
    }

    fn lanes(&self, of: (u64, u64)) -> Option<Arc<[Mutex<Lane>; LANES]>> {
        let mut state = lock(&self.state);
        if state.is_broken {
            return None;
        }
        if let Some(group) = state.groups.iter().find(|group| group.of == of) {
            return Some(group.lanes.clone());
        }
        let lanes: Arc<[Mutex<Lane>; LANES]> = Arc::default();
        state.groups.push(Group { of, lanes: lanes.clone(), chunks: 0, is_asked_for: false });
        Some(lanes)
    }

    /// A chunk and its life; and, once for each group, that it has its share now.
    fn take_chunk(&self, of: (u64, u64)) -> Option<((usize, u64), bool)> {
        let mut state = lock(&self.state);
        let chunk = match state.warm.pop() {
            Some(chunk) => chunk,
            None => self.warm_up(&mut state)?,
        };
        state.idle = state.idle.min(state.warm.len());
        let owner = Owner { guid: of.0, txg: of.1, life: self.last.fetch_add(1, Relaxed) + 1 };
        if self.memory.write_words(entry_at(chunk), &[owner.guid, owner.txg, owner.life]).is_err() {
            state.is_broken = true;
            return None;
        }
        state.chunks[chunk] = owner;
        let share = state.room / SHARE;
        let mut is_share = false;
        for group in state.groups.iter_mut().filter(|group| group.of == of) {
            group.chunks += 1;
            is_share = group.chunks >= share && !std::mem::replace(&mut group.is_asked_for, true);
        }
        Some(((chunk, owner.life), is_share))
    }

    /// Memory for one more chunk.
    fn warm_up(&self, state: &mut State) -> Option<usize> {
        let chunk = *state.cold.last()?;
        let warmed = self.count - state.cold.len();
        if self.memory.reserve(place(chunk, self.count), CHUNK).is_err() {
            state.room = warmed;
            return None;
        }
        (self.lend)(CHUNK as i64);
        state.cold.pop();
        state.room = state.room.max(warmed + 1);
        Some(chunk)
    }

    // ── After a death ──

    /// Whole notes of a chunk, in the order in which they stand there.
    fn notes_in(&self, chunk: usize, life: u64) -> io::Result<Vec<Note>> {
        let start = place(chunk, self.count);
        let (mut at, mut notes) = (start, Vec::new());
        while at + HEAD_BYTES + TAIL_BYTES <= start + CHUNK {
            let (mut head, mut end) = ([0; HEAD], [0]);
            self.memory.read_words(at, &mut head)?;
            let [found, number, first, parts, object, guid, offset, len, bytes] = head;
            if found != life || bytes > start + CHUNK - at - HEAD_BYTES - TAIL_BYTES {
                break;
            }
            self.memory.read_words(at + HEAD_BYTES + bytes, &mut end)?;
            if end != [tail(life, number)] {
                break;
            }
            let volume = VolumeKey { object, guid };
            notes.push(Note { at, number, first, parts, volume, offset, len, bytes });
            at += Note::place_after(bytes);
        }
        Ok(notes)
    }

    /// What is to be done again in a pool, by its number, whatever became of its other parts.
    fn to_do(&self, guid: u64) -> io::Result<BTreeMap<u64, (usize, Note)>> {
        let chunks = lock(&self.state).chunks.clone();
        let mut all = BTreeMap::new();
        for (chunk, owner) in chunks.iter().enumerate() {
            if owner.life != 0 && owner.guid == guid && owner.txg == AGAIN {
                let notes = self.notes_in(chunk, owner.life)?;
                all.extend(
                    notes.into_iter().filter(|note| note.parts > 0).map(|note| (note.number, (chunk, note))),
                );
            }
        }
        Ok(all)
    }

    pub(super) fn waiting(&self, guid: u64) -> Vec<VolumeKey> {
        let found = self.to_do(guid).unwrap_or_else(|error| {
            tracing::error!(%error, "what was kept of volumes cannot be read");
            BTreeMap::new()
        });
        let volumes: BTreeSet<VolumeKey> = found.values().map(|(_, note)| note.volume).collect();
        volumes.into_iter().collect()
    }

    /// What is not all there was never answered.
    pub(super) fn again(&self, guid: u64, volume: VolumeKey) -> io::Result<Vec<Again>> {
        let notes = self.to_do(guid)?;
        let is_whole =
            |note: &Note| (note.first..note.first + note.parts).all(|part| notes.contains_key(&part));
        let own = notes.values().map(|(_, note)| note).filter(|note| note.volume == volume && is_whole(note));
        Ok(own
            .map(|note| Again { offset: note.offset, len: note.len, at: note.at, bytes: note.bytes })
            .collect())
    }

    pub(super) fn bytes(&self, again: &Again) -> io::Result<Option<Vec<u8>>> {
        if again.bytes == 0 {
            return Ok(None);
        }
        let mut bytes = vec![0; again.bytes as usize];
        self.memory.read(again.at + HEAD_BYTES, &mut bytes)?;
        Ok(Some(bytes))
    }

    pub(super) fn done(&self, guid: u64, volume: VolumeKey) {
        let Ok(notes) = self.to_do(guid) else { return };
        let (mut emptied, mut used) = (BTreeSet::new(), BTreeSet::new());
        for (chunk, note) in notes.values() {
            if note.volume != volume {
                used.insert(*chunk);
                continue;
            }
            emptied.insert(*chunk);
            let done = self.memory.write_words(note.at + PARTS_AT, &[0]);
            lock(&self.state).is_broken |= done.is_err();
        }
        let mut state = lock(&self.state);
        emptied.difference(&used).for_each(|chunk| self.free(&mut state, *chunk));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let cold = state.cold.len();
        (self.lend)(-((state.chunks.len() - cold) as i64 * CHUNK as i64));
    }
}

impl Lane {
    /// Whether a part of so many bytes has room.
    fn fits(&self, bytes: u64) -> bool {
        self.chunk.is_some() && self.used + HEAD_BYTES + bytes + TAIL_BYTES <= CHUNK
    }

    /// Bytes that the next part may have.
    fn room(&self) -> u64 {
        (CHUNK - self.used).saturating_sub(HEAD_BYTES + TAIL_BYTES)
    }
}

fn tail(life: u64, number: u64) -> u64 {
    life.rotate_left(32) ^ number ^ MAGIC
}

fn root_words(uberblock: &Uberblock) -> [u64; 5] {
    let [a, b, c, d] = uberblock.root_bp.checksum();
    [a, b, c, d, uberblock.txg]
}

fn slot_at(slot: usize) -> u64 {
    POOLS_AT + POOL * slot as u64
}

fn entry_at(chunk: usize) -> u64 {
    CHUNKS_AT + ENTRY * chunk as u64
}

/// Where the first of so many chunks begins.
fn chunks_at(chunks: usize) -> u64 {
    entry_at(chunks).next_multiple_of(4096)
}

/// Where a chunk begins, of so many. The one behind the last begins at the end.
fn place(chunk: usize, chunks: usize) -> u64 {
    chunks_at(chunks) + CHUNK * chunk as u64
}
