//! One shard of the cache: four lists, twice (data and metadata), over one slab of entries.
//!
//! Entries are linked by slab index, so moving one between lists is a few stores. A ghost keeps its
//! entry and name but not its block.

use std::collections::HashMap;
use std::sync::Arc;

use ondisk::BlkPtr;

use super::{Key, Stats};
use crate::Block;

/// Bytes that an entry costs besides its block: slab, map and slack.
const ENTRY: usize = 176;
/// Bytes that remembering the pointer it was read by costs.
const SOURCE: usize = 144;
/// No entry.
const NIL: u32 = u32::MAX;

/// Where an entry is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Mru = 0,
    Mfu = 1,
    GhostMru = 2,
    GhostMfu = 3,
}

struct Entry {
    key: Key,
    block: Option<Arc<Block>>,
    /// Bytes of the block, also after it has gone.
    size: usize,
    place: Place,
    is_metadata: bool,
    /// See [`Arrival`].
    is_prefetch: bool,
    on_device: bool,
    source: Option<Box<BlkPtr>>,
    newer: u32,
    older: u32,
}

#[derive(Clone, Copy)]
struct List {
    newest: u32,
    oldest: u32,
    bytes: usize,
    entries: usize,
}

impl List {
    const EMPTY: List = List { newest: NIL, oldest: NIL, bytes: 0, entries: 0 };
}

/// What a block is put in as.
pub(crate) struct Arrival {
    pub is_metadata: bool,
    /// Nobody has asked for it yet.
    pub is_prefetch: bool,
    /// The pointer it was read by, where a cache device may have it: from there its stored form can
    /// be made again.
    pub source: Option<Box<BlkPtr>>,
    /// It is on a cache device.
    pub on_device: bool,
}

/// How a block is asked for.
#[derive(Clone, Copy)]
pub(crate) struct Ask<'a> {
    pub is_metadata: bool,
    pub is_prefetch: bool,
    /// A miss is counted by whoever asks next.
    pub is_glance: bool,
    /// As [`Arrival::source`], for blocks that came before there was a cache device.
    pub source: Option<&'a BlkPtr>,
}

impl Ask<'_> {
    pub const PLAIN: Ask<'static> =
        Ask { is_metadata: false, is_prefetch: false, is_glance: false, source: None };
}

/// A block from the cold end of a list.
pub(crate) struct Cold {
    pub key: Key,
    pub block: Arc<Block>,
    pub source: BlkPtr,
    pub is_metadata: bool,
    pub is_mfu: bool,
}

/// What to look at for [`Cold`] blocks.
#[derive(Clone, Copy)]
pub(crate) struct ColdEnd {
    pub pool: u64,
    pub is_mfu: bool,
    pub is_metadata: bool,
    /// From the other end: while nothing has been evicted, the newest are as good.
    pub from_newest: bool,
    /// Bytes of blocks to look at.
    pub depth: usize,
}

/// Blocks looked at by [`Shard::cold`] under the lock.
const COLD_MAX: usize = 8192;

pub(super) struct Shard {
    limit: usize,
    /// Bytes that the MRU list may have when something must go.
    target: usize,
    entries: Vec<Entry>,
    unused: Vec<u32>,
    by_key: HashMap<Key, u32>,
    /// By place, data and metadata.
    lists: [[List; 2]; 4],
    /// Entries with a source.
    sourced: usize,
    counts: Stats,
}

impl Shard {
    pub fn new(limit: usize) -> Shard {
        Shard {
            limit,
            target: limit / 2,
            entries: Vec::new(),
            unused: Vec::new(),
            by_key: HashMap::new(),
            lists: [[List::EMPTY; 2]; 4],
            sourced: 0,
            counts: Stats::default(),
        }
    }

    pub fn get(&mut self, key: &Key, ask: Ask<'_>) -> Option<Arc<Block>> {
        let at = self.by_key.get(key).copied();
        let Some((at, block)) = at.and_then(|at| Some((at, self.entries[at as usize].block.clone()?))) else {
            if !ask.is_glance {
                self.counts.misses += 1;
                self.counts.missed.add(ask.is_metadata, ask.is_prefetch);
            }
            return None;
        };
        let entry = &mut self.entries[at as usize];
        self.counts.hits.add(entry.is_metadata, ask.is_prefetch);
        if entry.source.is_none()
            && let Some(source) = ask.source
        {
            entry.source = Some(Box::new(*source));
            self.sourced += 1;
        }
        let first_use = entry.is_prefetch && !ask.is_prefetch;
        entry.is_prefetch &= ask.is_prefetch;
        if entry.place == Place::Mfu {
            self.counts.mfu_hits += 1;
            self.move_to(at, Place::Mfu);
        } else {
            self.counts.mru_hits += 1;
            let is_metadata = entry.is_metadata;
            // A hit on the newest entry is a part of the use that brought it: small reads of one
            // large block. What was prefetched is used for the first time now.
            if first_use {
                self.move_to(at, Place::Mru);
            } else if self.list(Place::Mru, is_metadata).newest != at {
                self.move_to(at, Place::Mfu);
            }
        }
        Some(block)
    }

    /// Answers with what was evicted, for the caller to drop without the lock. `lent` bytes of the
    /// limit are not its own.
    pub fn insert(&mut self, key: Key, block: Arc<Block>, what: Arrival, lent: usize) -> Vec<Arc<Block>> {
        let Arrival { is_metadata, is_prefetch, source, on_device } = what;
        let size = block.footprint();
        let place = match self.by_key.get(&key).copied() {
            Some(at) => {
                let was = self.entries[at as usize].place;
                self.adapt(was, size);
                self.forget(at);
                if was == Place::Mru { Place::Mru } else { Place::Mfu }
            }
            None => Place::Mru,
        };
        self.sourced += usize::from(source.is_some());
        let block = Some(block);
        let (newer, older) = (NIL, NIL);
        let entry =
            Entry { key, block, size, place, is_metadata, is_prefetch, on_device, source, newer, older };
        let at = self.enter(entry);
        self.by_key.insert(key, at);
        self.link(at);
        self.evict(self.limit.saturating_sub(lent))
    }

    pub fn remove(&mut self, key: &Key) -> Option<Arc<Block>> {
        let at = self.by_key.get(key).copied()?;
        self.forget(at)
    }

    /// All that is known of a pool's blocks.
    pub fn keys_of(&self, pool: u64) -> Vec<Key> {
        self.by_key.keys().filter(|key| key.pool == pool).copied().collect()
    }

    /// Notes that a block is on a cache device now.
    pub fn set_on_device(&mut self, key: &Key) {
        if let Some(&at) = self.by_key.get(key) {
            self.entries[at as usize].on_device = true;
        }
    }

    /// Adds what is fit for a cache device and not on one, coldest first, to `found` until that
    /// says it is enough.
    pub fn cold(&self, end: ColdEnd, found: &mut dyn FnMut(Cold) -> bool) {
        let place = if end.is_mfu { Place::Mfu } else { Place::Mru };
        let list = self.list(place, end.is_metadata);
        let mut at = if end.from_newest { list.newest } else { list.oldest };
        let mut depth = 0;
        for _ in 0..COLD_MAX {
            if at == NIL || depth >= end.depth {
                break;
            }
            let entry = &self.entries[at as usize];
            at = if end.from_newest { entry.older } else { entry.newer };
            depth += entry.size;
            let fit = entry.key.pool == end.pool && !entry.on_device && !entry.is_prefetch;
            if let (true, Some(source), Some(block)) = (fit, &entry.source, &entry.block) {
                let (key, is_metadata, is_mfu) = (entry.key, end.is_metadata, end.is_mfu);
                if !found(Cold { key, block: block.clone(), source: **source, is_metadata, is_mfu }) {
                    break;
                }
            }
        }
    }

    pub fn bytes(&self) -> usize {
        self.resident(Place::Mru) + self.resident(Place::Mfu) + self.overhead()
    }

    fn overhead(&self) -> usize {
        self.by_key.len() * ENTRY + self.sourced * SOURCE
    }

    /// Adds what was counted here, and what is held now.
    pub fn add_to(&self, sum: &mut Stats) {
        sum.add_counts(&self.counts);
        let metadata = |place| self.list(place, true).bytes as u64;
        sum.mru_bytes += self.resident(Place::Mru) as u64;
        sum.mfu_bytes += self.resident(Place::Mfu) as u64;
        sum.mru_metadata_bytes += metadata(Place::Mru);
        sum.mfu_metadata_bytes += metadata(Place::Mfu);
        sum.mru_ghost_bytes += self.resident(Place::GhostMru) as u64;
        sum.mfu_ghost_bytes += self.resident(Place::GhostMfu) as u64;
        sum.mru_ghost_metadata_bytes += metadata(Place::GhostMru);
        sum.mfu_ghost_metadata_bytes += metadata(Place::GhostMfu);
        sum.blocks += (self.count(Place::Mru) + self.count(Place::Mfu)) as u64;
        sum.overhead_bytes += self.overhead() as u64;
        sum.target += self.target as u64;
        sum.limit += self.limit as u64;
    }

    /// A ghost came back: the list it fell out of was too short.
    fn adapt(&mut self, was: Place, size: usize) {
        let mru = self.resident(Place::GhostMru).max(1);
        let mfu = self.resident(Place::GhostMfu).max(1);
        match was {
            Place::GhostMru => {
                self.counts.mru_ghost_hits += 1;
                let step = size.saturating_mul((mfu / mru).clamp(1, 10));
                self.target = self.target.saturating_add(step).min(self.limit);
            }
            Place::GhostMfu => {
                self.counts.mfu_ghost_hits += 1;
                let step = size.saturating_mul((mru / mfu).clamp(1, 10));
                self.target = self.target.saturating_sub(step);
            }
            Place::Mru | Place::Mfu => {}
        }
    }

    fn evict(&mut self, limit: usize) -> Vec<Arc<Block>> {
        let mut gone = Vec::new();
        while self.bytes() > limit {
            let from = if self.resident(Place::Mru) > self.target { Place::Mru } else { Place::Mfu };
            let other = if from == Place::Mru { Place::Mfu } else { Place::Mru };
            let Some(at) = self.victim(from).or_else(|| self.victim(other)) else {
                match self.oldest_ghost() {
                    Some(ghost) => drop(self.forget(ghost)),
                    None => break,
                }
                continue;
            };
            self.count_eviction(at);
            let entry = &mut self.entries[at as usize];
            let ghost = if entry.place == Place::Mru { Place::GhostMru } else { Place::GhostMfu };
            gone.extend(entry.block.take());
            self.sourced -= usize::from(entry.source.take().is_some());
            self.move_to(at, ghost);
            self.trim_ghosts();
        }
        gone
    }

    fn count_eviction(&mut self, at: u32) {
        let entry = &self.entries[at as usize];
        self.counts.evicted += 1;
        let sum = match (entry.on_device, entry.source.is_some() && !entry.is_prefetch, entry.place) {
            (true, ..) => &mut self.counts.evicted_l2_cached,
            (_, true, Place::Mfu) => &mut self.counts.evicted_l2_eligible_mfu,
            (_, true, _) => &mut self.counts.evicted_l2_eligible_mru,
            (_, false, _) => &mut self.counts.evicted_l2_ineligible,
        };
        *sum += entry.size as u64;
    }

    /// The oldest data, or metadata where that has more than its share or there is no data.
    fn victim(&self, place: Place) -> Option<u32> {
        let metadata = self.list(Place::Mru, true).bytes + self.list(Place::Mfu, true).bytes;
        let metadata_first = metadata > self.limit / 4 * 3;
        let (first, second) =
            (self.list(place, metadata_first).oldest, self.list(place, !metadata_first).oldest);
        [first, second].into_iter().find(|&at| at != NIL)
    }

    /// Ghosts may stand for as many bytes as the limit on each side, and cost a sixteenth of it at
    /// most.
    fn trim_ghosts(&mut self) {
        for (ghost, live) in [(Place::GhostMru, Place::Mru), (Place::GhostMfu, Place::Mfu)] {
            while self.resident(ghost) + self.resident(live) > self.limit
                || self.count(ghost) * ENTRY > self.limit / 32
            {
                let (data, metadata) = (self.list(ghost, false).oldest, self.list(ghost, true).oldest);
                let at = if data != NIL { data } else { metadata };
                if at == NIL {
                    break;
                }
                self.forget(at);
            }
        }
    }

    fn oldest_ghost(&self) -> Option<u32> {
        let lists =
            [Place::GhostMru, Place::GhostMfu].into_iter().flat_map(|place| self.lists[place as usize]);
        lists.map(|list| list.oldest).find(|&at| at != NIL)
    }

    fn list(&self, place: Place, is_metadata: bool) -> &List {
        &self.lists[place as usize][usize::from(is_metadata)]
    }

    /// Bytes of the blocks in a list, or that its ghosts had.
    fn resident(&self, place: Place) -> usize {
        self.lists[place as usize].iter().map(|list| list.bytes).sum()
    }

    fn count(&self, place: Place) -> usize {
        self.lists[place as usize].iter().map(|list| list.entries).sum()
    }

    fn enter(&mut self, entry: Entry) -> u32 {
        match self.unused.pop() {
            Some(at) => {
                self.entries[at as usize] = entry;
                at
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        }
    }

    fn forget(&mut self, at: u32) -> Option<Arc<Block>> {
        self.unlink(at);
        let entry = &mut self.entries[at as usize];
        let block = entry.block.take();
        self.sourced -= usize::from(entry.source.take().is_some());
        self.by_key.remove(&entry.key);
        self.unused.push(at);
        block
    }

    fn move_to(&mut self, at: u32, place: Place) {
        self.unlink(at);
        self.entries[at as usize].place = place;
        self.link(at);
    }

    fn link(&mut self, at: u32) {
        let entry = &mut self.entries[at as usize];
        let list = &mut self.lists[entry.place as usize][usize::from(entry.is_metadata)];
        (entry.newer, entry.older) = (NIL, list.newest);
        list.bytes += entry.size;
        list.entries += 1;
        let second = std::mem::replace(&mut list.newest, at);
        match second {
            NIL => list.oldest = at,
            second => self.entries[second as usize].newer = at,
        }
    }

    fn unlink(&mut self, at: u32) {
        let entry = &self.entries[at as usize];
        let (newer, older) = (entry.newer, entry.older);
        let list = &mut self.lists[entry.place as usize][usize::from(entry.is_metadata)];
        list.bytes -= entry.size;
        list.entries -= 1;
        match newer {
            NIL => list.newest = older,
            newer => self.entries[newer as usize].older = older,
        }
        let list = &mut self.lists[self.entries[at as usize].place as usize]
            [usize::from(self.entries[at as usize].is_metadata)];
        match older {
            NIL => list.oldest = newer,
            older => self.entries[older as usize].newer = newer,
        }
    }
}
