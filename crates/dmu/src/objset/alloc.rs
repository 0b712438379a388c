//! Finding room for a new dnode.
//!
//! A block of the meta dnode has 32 slots; a dnode takes consecutive ones of one block. A slot is
//! free if neither the newest block says it is taken nor an object made or freed since the last
//! done group covers it (`taken`). The search stays in one block as long as that has room, then
//! goes to a block where something was freed, then to the next that is at most three quarters full
//! by its fill count (subtrees that are fuller are passed over without being read), and at last
//! behind the end.

use std::collections::{BTreeMap, BTreeSet};

use ondisk::BlkPtr;
use ondisk::dnode::{MAX_OBJECT, SLOTS_PER_BLOCK};

use super::Objset;
use crate::DmuError;
use crate::store::{Block, Txg};
use crate::sync::dnodes_in;
use crate::tree::Step;

const SLOTS: u64 = SLOTS_PER_BLOCK as u64;
/// Blocks with freed slots that are remembered.
const HINTS: usize = 1024;
/// Blocks that looked roomy and were not, before the search goes to the end.
const TRIES: u32 = 32;

/// Where the search is. Held across reads of the meta dnode's blocks: the one lock that is, and
/// nobody who syncs takes it.
#[derive(Debug, Default)]
pub struct Search {
    block: u64,
}

/// Slots that must not be given out, whatever the disk says: object → (slots, last group that
/// changed it).
#[derive(Debug, Default)]
pub struct Taken {
    objects: BTreeMap<u64, (u8, Txg)>,
    /// Blocks in which slots became free.
    hints: BTreeSet<u64>,
}

impl Taken {
    pub fn note(&mut self, object: u64, slots: u8, txg: Txg) {
        self.objects.insert(object, (slots, txg));
    }

    /// The group is done: the disk speaks for this object again, unless a later group has changed
    /// it too.
    pub fn done(&mut self, object: u64, txg: Txg, freed: bool) {
        if self.objects.get(&object).is_some_and(|&(_, at)| at == txg) {
            self.objects.remove(&object);
            if freed && self.hints.len() < HINTS {
                self.hints.insert(object / SLOTS);
            }
        }
    }

    /// The first object after this one that was made or freed lately.
    pub fn after(&self, object: u64) -> impl Iterator<Item = u64> + '_ {
        self.objects.range(object + 1..).map(|(&object, _)| object)
    }

    /// Bit i: slot i of the block.
    fn bits(&self, block: u64) -> u32 {
        let start = block * SLOTS;
        let here = self.objects.range(start..start + SLOTS);
        here.fold(0, |bits, (&object, &(slots, _))| bits | slot_bits(object - start, slots))
    }
}

/// Slots in use in a block of dnodes.
pub fn occupied(block: &Block) -> u32 {
    dnodes_in(block)
        .fold(0, |bits, (slot, slots)| bits | slot_bits(slot as u64, slots.min(SLOTS_PER_BLOCK) as u8))
}

fn slot_bits(first: u64, slots: u8) -> u32 {
    ((1u64 << slots) - 1).checked_shl(first as u32).unwrap_or(0) as u32
}

impl Objset {
    /// Takes slots for a new object out of circulation; its number.
    pub(super) fn reserve(&self, slots: u8, txg: Txg) -> Result<u64, DmuError> {
        let mut search = env::lock(&self.search);
        let mut tries = 0;
        loop {
            if let Some(object) = self.reserve_in(search.block, None, slots, txg)? {
                return Ok(object);
            }
            tries += 1;
            search.block = self.next_block(search.block, slots, tries)?;
            if search.block * SLOTS >= MAX_OBJECT {
                return Err(DmuError::TooBig);
            }
        }
    }

    /// Takes these slots, or (without `wanted`) the first that fit; `None` when there is no room.
    pub(super) fn reserve_in(
        &self,
        block: u64,
        wanted: Option<u64>,
        slots: u8,
        txg: Txg,
    ) -> Result<Option<u64>, DmuError> {
        loop {
            let generation = self.meta.state().generation;
            let on_disk = self.meta.block(block)?.map_or(0, |b| occupied(&b));
            let mut taken = env::lock(&self.taken);
            // A group that was done meanwhile has moved objects from one side to the other.
            if self.meta.state().generation != generation {
                continue;
            }
            // The first slot of all stands for the meta dnode.
            let full = on_disk | taken.bits(block) | u32::from(block == 0);
            let mut candidates = match wanted {
                Some(object) => object % SLOTS..object % SLOTS + 1,
                None => 0..SLOTS,
            };
            let fits = |&slot: &u64| slot + u64::from(slots) <= SLOTS && full & slot_bits(slot, slots) == 0;
            let Some(slot) = candidates.find(fits) else { return Ok(None) };
            let object = block * SLOTS + slot;
            taken.note(object, slots, txg);
            return Ok(Some(object));
        }
    }

    fn next_block(&self, block: u64, slots: u8, tries: u32) -> Result<u64, DmuError> {
        if let Some(hint) = env::lock(&self.taken).hints.pop_first() {
            return Ok(hint);
        }
        let state = self.meta.state();
        let end = (state.attrs().max_blkid + 1).max(block + 1);
        if block >= state.attrs().max_blkid {
            return Ok(block + 1);
        }
        let mut walker = self.meta.walker(&state);
        drop(state);
        if tries > TRIES {
            return Ok(end);
        }
        let epbs = walker.phys().epbs();
        let mut roomy = |bp: &BlkPtr, level: u8| {
            let span = SLOTS.checked_shl(u32::from(level) * epbs).unwrap_or(u64::MAX);
            match bp.fill().saturating_mul(u64::from(slots)) < span / 4 * 3 {
                _ if bp.is_hole() => Step::Take,
                true if level == 0 => Step::Take,
                true => Step::Enter,
                false => Step::Skip,
            }
        };
        Ok(walker.find(block + 1, &mut roomy)?.unwrap_or(end))
    }
}
