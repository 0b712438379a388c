//! Micro ZAPs: one block, scanned as a whole. At most 2047 entries, so a scan costs some
//! microseconds.
//!
//! A block is let go before it is changed: else the change would copy it.

use std::sync::Arc;

use ondisk::zap::hash::Cursor;
use ondisk::zap::leaf::{Key, array_chunks, capacity};
use ondisk::zap::micro::{self, MAX_NAME, MicroEntry, MicroZap};
use ondisk::zap::value::Value;
use ondisk::zap::{Form, MICRO_MAX_BLOCK, fat::DEFAULT_BLOCK_SHIFT};

use super::blocks::{Blocks, Draft};
use super::fat::{self, Change, Fat, Put, What};
use super::key::{Hasher, Normalize, Wanted};
use super::page::{Entry, Page, mark_conflicts};
use super::{Info, Matched, ZapParams};
use crate::DmuError;
use crate::store::Block;

const SECTOR: usize = 512;
/// Chunks of a fat leaf an entry of a micro ZAP may need: its own, the name's, the value's.
const FAT_CHUNKS: usize = 1 + array_chunks(MAX_NAME + 1) + array_chunks(8);

pub(super) fn format<B: Blocks>(blocks: &B, params: ZapParams) -> Result<(), DmuError> {
    let mut block = Block::zeroed(blocks.block_size());
    micro::init(&mut block, params.salt, params.normflags);
    blocks.put(0, block)
}

/// All but the number of entries, which takes a scan.
pub(super) fn head<B: Blocks>(blocks: &B, block: &Block) -> Result<Info, DmuError> {
    let zap = MicroZap::new(block).map_err(blocks.corrupt_at(0))?;
    let (salt, normflags) = (zap.salt, zap.normflags);
    Ok(Info { form: Form::Micro, salt, normflags, flags: 0, entries: 0, leafs: 0, blocks: 1 })
}

pub(super) fn info<B: Blocks>(blocks: &B, block: &Block) -> Result<Info, DmuError> {
    let zap = MicroZap::new(block).map_err(blocks.corrupt_at(0))?;
    Ok(Info { entries: zap.entries().flatten().count() as u64, ..head(blocks, block)? })
}

/// The entry meant, and its chunk: of several the one with the lowest differentiator.
fn find<'a, B: Blocks>(
    blocks: &B,
    zap: &MicroZap<'a>,
    wanted: &Wanted<'_>,
) -> Result<Option<(usize, MicroEntry<'a>)>, DmuError> {
    if let Some(name) = wanted.exact_name() {
        return Ok(zap.find(name));
    }
    let mut best: Option<(usize, MicroEntry<'a>)> = None;
    for entry in zap.entries() {
        let (index, entry) = entry.map_err(blocks.corrupt_at(0))?;
        if wanted.is(entry.name) && best.is_none_or(|(_, best)| entry.cd < best.cd) {
            best = Some((index, entry));
        }
    }
    Ok(best)
}

pub(super) fn get<B: Blocks>(blocks: &B, block: &Block, wanted: &Wanted<'_>) -> Result<Matched, DmuError> {
    let zap = MicroZap::new(block).map_err(blocks.corrupt_at(0))?;
    let (at, found) = find(blocks, &zap, wanted)?.ok_or(DmuError::NotFound)?;
    let mut conflict = false;
    if wanted.hasher().folds() {
        for (index, other) in zap.entries().flatten() {
            conflict |= index != at && wanted.hasher().conflict(found.name, other.name)?;
        }
    }
    Ok(Matched { value: Value::one(found.value), name: found.name.to_vec(), conflict })
}

/// Adds or replaces; `false` when that takes a fat ZAP, and nothing was changed.
pub(super) fn put<B: Blocks>(
    blocks: &B,
    block: Arc<Block>,
    wanted: &Wanted<'_>,
    value: &Value,
    replace: bool,
) -> Result<bool, DmuError> {
    let zap = MicroZap::new(&block).map_err(blocks.corrupt_at(0))?;
    let found = find(blocks, &zap, wanted)?;
    if found.is_some() && !replace {
        return Err(DmuError::Exists);
    }
    let (Key::Name(name), Some(number)) = (wanted.key, value.as_u64()) else { return Ok(false) };
    if name.len() > MAX_NAME {
        return Ok(false);
    }
    if let Some((index, old)) = found {
        let new = MicroEntry { value: number, cd: old.cd, name };
        drop(block);
        blocks.update(0, |block| micro::set(block, index, Some(new)))?;
        return Ok(true);
    }
    let colliding = colliding(blocks, &zap, wanted)?;
    // Entries of one hash cannot be parted: once fat, all of them must fit into one leaf (ZFS asks
    // only in zap_add).
    if !replace && capacity(1 << DEFAULT_BLOCK_SHIFT) <= (colliding.len() + 1) * FAT_CHUNKS {
        return Ok(false);
    }
    let cd = colliding.iter().enumerate().position(|(i, cd)| *cd != i as u32).unwrap_or(colliding.len());
    let new = MicroEntry { value: number, cd: cd as u32, name };
    let free = zap.chunks().position(|chunk| matches!(chunk, Ok(None)));
    match free {
        Some(index) => {
            drop(block);
            blocks.update(0, |block| micro::set(block, index, Some(new)))?;
        }
        None if block.len() + SECTOR > MICRO_MAX_BLOCK => return Ok(false),
        None => grow(blocks, &block, zap.capacity(), new)?,
    }
    Ok(true)
}

/// One sector more, and the entry in it.
fn grow<B: Blocks>(blocks: &B, block: &Block, index: usize, entry: MicroEntry<'_>) -> Result<(), DmuError> {
    let mut larger = Block::zeroed(block.len() + SECTOR);
    larger[..block.len()].copy_from_slice(block);
    micro::set(&mut larger, index, Some(entry));
    blocks.set_block_size(larger.len())?;
    blocks.put(0, larger)
}

/// The differentiators of the entries of the same hash, in order.
fn colliding<B: Blocks>(blocks: &B, zap: &MicroZap<'_>, wanted: &Wanted<'_>) -> Result<Vec<u32>, DmuError> {
    let mut cds = Vec::new();
    for entry in zap.entries() {
        let (_, entry) = entry.map_err(blocks.corrupt_at(0))?;
        if wanted.hasher().stored_hash(entry.name) == wanted.hash {
            cds.push(entry.cd);
        }
    }
    cds.sort_unstable();
    cds.dedup();
    Ok(cds)
}

pub(super) fn take<B: Blocks>(blocks: &B, block: Arc<Block>, wanted: &Wanted<'_>) -> Result<(), DmuError> {
    let zap = MicroZap::new(&block).map_err(blocks.corrupt_at(0))?;
    let (index, _) = find(blocks, &zap, wanted)?.ok_or(DmuError::NotFound)?;
    drop(block);
    blocks.update(0, |block| micro::set(block, index, None))
}

/// Turns it fat: built in memory first, so that a block which cannot become fat stays as it is.
pub(super) fn upgrade<B: Blocks>(
    blocks: &B,
    block: &Block,
    normalize: Option<&Normalize>,
) -> Result<(), DmuError> {
    let info = head(blocks, block)?;
    let zap = MicroZap::new(block).map_err(blocks.corrupt_at(0))?;
    let draft = Draft::new(blocks.object(), 1 << DEFAULT_BLOCK_SHIFT);
    fat::format(&draft, ZapParams { salt: info.salt, normflags: info.normflags, flags: 0 })?;
    let hasher = Hasher::new(&info, normalize);
    let mut fat = Fat::load(&draft)?;
    for entry in zap.entries() {
        let (_, entry) = entry.map_err(blocks.corrupt_at(0))?;
        let wanted = Wanted::exact(entry.name, hasher.stored_hash(entry.name), hasher);
        let value = Value::one(entry.value);
        fat.change(&[Change { wanted, what: What::Put(&value, Put::AddAt(entry.cd)) }])?;
    }
    blocks.set_block_size(draft.block_size())?;
    for (blkid, block) in draft.into_blocks() {
        blocks.put(blkid, block)?;
    }
    Ok(())
}

pub(super) fn page<B: Blocks>(
    blocks: &B,
    block: &Block,
    normalize: Option<&Normalize>,
    from: u64,
    max: usize,
) -> Result<Page, DmuError> {
    let info = head(blocks, block)?;
    let zap = MicroZap::new(block).map_err(blocks.corrupt_at(0))?;
    let hasher = Hasher::new(&info, normalize);
    let mut entries = Vec::new();
    for entry in zap.entries() {
        let (_, entry) = entry.map_err(blocks.corrupt_at(0))?;
        let place = Cursor { hash: hasher.stored_hash(entry.name), cd: entry.cd };
        entries.push(Entry::named(entry.name.to_vec(), Value::one(entry.value), place, 0));
    }
    entries.sort_by_key(|entry| entry.place);
    mark_conflicts(&mut entries, &hasher)?;
    Ok(Page::cut(entries, from, max, 0))
}
