//! Listing a ZAP: entries in order of place (hash, then differentiator), a page at a time.

use std::collections::VecDeque;

use ondisk::zap::hash::{Cursor, after_prefix};
use ondisk::zap::leaf::Leaf;
use ondisk::zap::value::Value;

use super::Zap;
use super::blocks::Blocks;
use super::fat::Fat;
use super::key::{Hasher, Normalize};
use crate::DmuError;

/// How much an iterator fetches at a time.
const STEP: usize = 512;
/// How much of a fat ZAP is asked for when a listing starts.
const PREFETCH: u64 = 8 << 20;

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Empty where keys are numbers.
    pub name: Vec<u8>,
    /// Empty where keys are names.
    pub words: Vec<u64>,
    pub value: Value,
    pub place: Cursor,
    /// The serialized place right after it: where a listing that ended here goes on.
    pub next: u64,
    /// Another entry has the same normal form.
    pub conflict: bool,
}

impl Entry {
    /// `flags` are the ZAP's.
    pub(super) fn named(name: Vec<u8>, value: Value, place: Cursor, flags: u64) -> Entry {
        let next = Cursor { cd: place.cd.saturating_add(1), ..place }.serialize(flags);
        Entry { name, words: Vec::new(), value, place, next, conflict: false }
    }

    /// The name, where it is text (in the meta object set it is).
    pub fn text(&self) -> Option<&str> {
        std::str::from_utf8(&self.name).ok()
    }
}

/// Some entries in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub entries: Vec<Entry>,
    /// Where to go on; [`Cursor::END`] when this was the last.
    pub next: u64,
}

impl Page {
    /// From all entries in order: those from `from` on, at most `max`.
    pub(super) fn cut(entries: Vec<Entry>, from: u64, max: usize, flags: u64) -> Page {
        let start = match from {
            Cursor::END => entries.len(),
            from => {
                let place = Cursor::deserialize(from, flags);
                entries.partition_point(|entry| entry.place < place)
            }
        };
        let more = entries.len() - start > max;
        let entries: Vec<_> = entries.into_iter().skip(start).take(max).collect();
        let next = if more { entries.last().map_or(from, |entry| entry.next) } else { Cursor::END };
        Page { entries, next }
    }
}

/// Marks entries, sorted by place, that have a normal form in common. Equal forms have equal
/// hashes.
pub(super) fn mark_conflicts(entries: &mut [Entry], hasher: &Hasher<'_>) -> Result<(), DmuError> {
    if !hasher.folds() {
        return Ok(());
    }
    for group in entries.chunk_by_mut(|one, other| one.place.hash == other.place.hash) {
        for i in 0..group.len() {
            for j in 0..i {
                if hasher.conflict(&group[i].name, &group[j].name)? {
                    group[i].conflict = true;
                    group[j].conflict = true;
                }
            }
        }
    }
    Ok(())
}

/// All entries of a leaf, sorted by place.
fn leaf_entries<B: Blocks>(
    fat: &Fat<'_, B>,
    leaf: &Leaf<'_>,
    hasher: &Hasher<'_>,
) -> Result<Vec<Entry>, ondisk::Malformed> {
    let mut entries = Vec::new();
    let mut bytes = 0;
    for found in leaf.entries()? {
        let place = Cursor { hash: found.hash, cd: found.cd };
        let value = leaf.value(&found)?;
        let mut entry = Entry::named(Vec::new(), value, place, fat.info().flags);
        if fat.has_words() {
            entry.words = leaf.words(&found)?;
        } else {
            entry.name = leaf.name(&found)?;
        }
        bytes += entry.name.len() + entry.words.len() * 8 + entry.value.size();
        // Chunks shared by hostile entries must not make more of a block than it is.
        if bytes > fat.block_size() {
            return Err(ondisk::Malformed::at("zap leaf arrays", 0));
        }
        entries.push(entry);
    }
    entries.sort_by_key(|entry| entry.place);
    // Conflicts are for display: a name without a normal form has none.
    let _ = mark_conflicts(&mut entries, hasher);
    Ok(entries)
}

pub(super) fn fat_page<B: Blocks>(
    fat: &Fat<'_, B>,
    normalize: Option<&Normalize>,
    from: u64,
    max: usize,
) -> Result<Page, DmuError> {
    let info = fat.info();
    let mut page = Page { entries: Vec::new(), next: from };
    if from == Cursor::END {
        return Ok(page);
    }
    let hasher = Hasher::new(&info, normalize);
    if from == 0 && info.blocks > 2 {
        fat.prefetch(PREFETCH / fat.block_size() as u64);
    }
    let mut place = Cursor::deserialize(from, info.flags);
    while page.entries.len() < max {
        let (blkid, block) = fat.leaf_of(place.hash)?;
        let leaf = Leaf::new(&block).map_err(fat.corrupt_at(blkid))?;
        let entries = leaf_entries(fat, &leaf, &hasher).map_err(fat.corrupt_at(blkid))?;
        let room = max - page.entries.len();
        let (before, count) = (page.entries.len(), entries.len());
        let start = entries.partition_point(|entry| entry.place < place);
        page.entries.extend(entries.into_iter().skip(start).take(room));
        if page.entries.len() - before < count - start {
            page.next = page.entries.last().map_or(from, |entry| entry.next);
            return Ok(page);
        }
        let Some(hash) = after_prefix(place.hash, leaf.prefix_len) else {
            page.next = Cursor::END;
            return Ok(page);
        };
        place = Cursor { hash, cd: 0 };
        page.next = place.serialize(info.flags);
    }
    Ok(page)
}

/// See [`Zap::iter`]. Ends after the first error.
pub struct Entries<'a> {
    zap: &'a Zap,
    ready: VecDeque<Entry>,
    next: u64,
}

impl<'a> Entries<'a> {
    pub(super) fn new(zap: &'a Zap) -> Entries<'a> {
        Entries { zap, ready: VecDeque::new(), next: 0 }
    }
}

impl Iterator for Entries<'_> {
    type Item = Result<Entry, DmuError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.ready.is_empty() && self.next != Cursor::END {
            match self.zap.page(self.next, STEP) {
                Ok(page) => {
                    self.ready = page.entries.into();
                    self.next = page.next;
                }
                Err(error) => {
                    self.next = Cursor::END;
                    return Some(Err(error));
                }
            }
        }
        self.ready.pop_front().map(Ok)
    }
}
