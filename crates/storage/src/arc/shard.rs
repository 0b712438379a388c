//! One shard of the cache: four lists, twice (data and metadata), over one slab of entries.
//!
//! Entries are linked by slab index, so moving one between lists is a few stores. A ghost keeps its entry and name but
//! not its block.

use std::collections::HashMap;
use std::sync::Arc;

use super::Key;
use crate::Block;

/// Bytes that an entry costs besides its block: slab, map and slack.
const ENTRY: usize = 160;
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

/// Counts since start, and sizes now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    pub mru_hits: u64,
    pub mfu_hits: u64,
    /// Blocks that came back after they had been evicted from that list: a longer one would have kept them.
    pub mru_ghost_hits: u64,
    pub mfu_ghost_hits: u64,
    pub misses: u64,
    pub evicted: u64,
    pub mru_bytes: u64,
    pub mfu_bytes: u64,
    pub metadata_bytes: u64,
    /// What the MRU list aims at.
    pub target: u64,
    pub limit: u64,
}

impl Stats {
    pub fn plus(&self, other: &Stats) -> Stats {
        Stats {
            mru_hits: self.mru_hits + other.mru_hits,
            mfu_hits: self.mfu_hits + other.mfu_hits,
            mru_ghost_hits: self.mru_ghost_hits + other.mru_ghost_hits,
            mfu_ghost_hits: self.mfu_ghost_hits + other.mfu_ghost_hits,
            misses: self.misses + other.misses,
            evicted: self.evicted + other.evicted,
            mru_bytes: self.mru_bytes + other.mru_bytes,
            mfu_bytes: self.mfu_bytes + other.mfu_bytes,
            metadata_bytes: self.metadata_bytes + other.metadata_bytes,
            target: self.target + other.target,
            limit: self.limit + other.limit,
        }
    }
}

pub(super) struct Shard {
    limit: usize,
    /// Bytes that the MRU list may have when something must go.
    target: usize,
    entries: Vec<Entry>,
    unused: Vec<u32>,
    by_key: HashMap<Key, u32>,
    /// By place, data and metadata.
    lists: [[List; 2]; 4],
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
            counts: Stats::default(),
        }
    }

    pub fn get(&mut self, key: &Key) -> Option<Arc<Block>> {
        let Some(&at) = self.by_key.get(key) else {
            self.counts.misses += 1;
            return None;
        };
        let entry = &self.entries[at as usize];
        let Some(block) = entry.block.clone() else {
            self.counts.misses += 1;
            return None;
        };
        if entry.place == Place::Mfu {
            self.counts.mfu_hits += 1;
            self.move_to(at, Place::Mfu);
        } else {
            self.counts.mru_hits += 1;
            // A hit on the newest entry is a part of the use that brought it: small reads of one large block.
            if self.list(Place::Mru, entry.is_metadata).newest != at {
                self.move_to(at, Place::Mfu);
            }
        }
        Some(block)
    }

    /// Answers with what was evicted, for the caller to drop without the lock. `lent` bytes of the limit are not its own.
    pub fn insert(&mut self, key: Key, block: Arc<Block>, is_metadata: bool, lent: usize) -> Vec<Arc<Block>> {
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
        let entry = Entry { key, block: Some(block), size, place, is_metadata, newer: NIL, older: NIL };
        let at = self.enter(entry);
        self.by_key.insert(key, at);
        self.link(at);
        self.evict(self.limit.saturating_sub(lent))
    }

    pub fn remove(&mut self, key: &Key) -> Option<Arc<Block>> {
        let at = self.by_key.get(key).copied()?;
        self.forget(at)
    }

    pub fn bytes(&self) -> usize {
        self.resident(Place::Mru) + self.resident(Place::Mfu) + self.by_key.len() * ENTRY
    }

    pub fn stats(&self) -> Stats {
        let metadata = self.list(Place::Mru, true).bytes + self.list(Place::Mfu, true).bytes;
        Stats {
            mru_bytes: self.resident(Place::Mru) as u64,
            mfu_bytes: self.resident(Place::Mfu) as u64,
            metadata_bytes: metadata as u64,
            target: self.target as u64,
            limit: self.limit as u64,
            ..self.counts
        }
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
            self.counts.evicted += 1;
            let ghost =
                if self.entries[at as usize].place == Place::Mru { Place::GhostMru } else { Place::GhostMfu };
            gone.extend(self.entries[at as usize].block.take());
            self.move_to(at, ghost);
            self.trim_ghosts();
        }
        gone
    }

    /// The oldest data, or metadata where that has more than its share or there is no data.
    fn victim(&self, place: Place) -> Option<u32> {
        let metadata = self.list(Place::Mru, true).bytes + self.list(Place::Mfu, true).bytes;
        let metadata_first = metadata > self.limit / 4 * 3;
        let (first, second) =
            (self.list(place, metadata_first).oldest, self.list(place, !metadata_first).oldest);
        [first, second].into_iter().find(|&at| at != NIL)
    }

    /// Ghosts may stand for as many bytes as the limit on each side, and cost a sixteenth of it at most.
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
