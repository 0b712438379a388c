//! A file's bytes: chunks of 4 KiB in a map, holes where there is none.
//!
//! Invariant: no chunk starts at or past the size, and bytes of the last chunk past the size are
//! zero.

use engine_api::Seek;
use std::collections::BTreeMap;
use std::sync::Arc;

pub const CHUNK: u64 = 4096;

#[derive(Clone, Debug, Default)]
pub struct Content {
    size: u64,
    /// Shared with copies of the file until one of them changes.
    chunks: BTreeMap<u64, Arc<[u8]>>,
}

impl Content {
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of memory that hold data.
    pub fn used(&self) -> u64 {
        self.chunks.len() as u64 * CHUNK
    }

    /// Up to `len` bytes; fewer only at the end.
    pub fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let len = self.size.saturating_sub(offset).min(len as u64) as usize;
        let mut out = vec![0; len];
        for (start, piece) in pieces(offset, len) {
            if let Some(chunk) = self.chunks.get(&(start / CHUNK)) {
                let from = (start % CHUNK) as usize;
                let at = (start - offset) as usize;
                out[at..at + piece].copy_from_slice(&chunk[from..from + piece]);
            }
        }
        out
    }

    /// The caller has checked that `offset + data.len()` is within the largest file size.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (start, piece) in pieces(offset, data.len()) {
            let chunk = self.chunks.entry(start / CHUNK).or_insert_with(|| vec![0; CHUNK as usize].into());
            let from = (start % CHUNK) as usize;
            let at = (start - offset) as usize;
            Arc::make_mut(chunk)[from..from + piece].copy_from_slice(&data[at..at + piece]);
        }
        if !data.is_empty() {
            self.size = self.size.max(offset + data.len() as u64);
        }
    }

    pub fn resize(&mut self, size: u64) {
        if size < self.size {
            self.chunks.split_off(&size.div_ceil(CHUNK));
            if let Some(last) = self.chunks.get_mut(&(size / CHUNK)) {
                Arc::make_mut(last)[(size % CHUNK) as usize..].fill(0);
            }
        }
        self.size = size;
    }

    /// Zeroes, and holes where whole chunks go; the size stays.
    pub fn punch(&mut self, offset: u64, len: u64) {
        let end = offset.saturating_add(len).min(self.size);
        if offset >= end {
            return;
        }
        let touched: Vec<u64> =
            self.chunks.range(offset / CHUNK..end.div_ceil(CHUNK)).map(|(&index, _)| index).collect();
        for index in touched {
            let start = index * CHUNK;
            let from = offset.max(start) - start;
            let to = end.min(start + CHUNK) - start;
            // The last chunk goes whole where the hole reaches the file's end.
            if from == 0 && (to == CHUNK || start + to == self.size) {
                self.chunks.remove(&index);
            } else if let Some(chunk) = self.chunks.get_mut(&index) {
                Arc::make_mut(chunk)[from as usize..to as usize].fill(0);
            }
        }
    }

    /// The next data or hole at or after `offset`. The end of the file counts as a hole.
    pub fn seek(&self, offset: u64, what: Seek) -> Option<u64> {
        if offset >= self.size {
            return None;
        }
        let first = offset / CHUNK;
        match what {
            Seek::Data => {
                let (&index, _) = self.chunks.range(first..).next()?;
                Some(offset.max(index * CHUNK))
            }
            Seek::Hole => {
                let mut index = first;
                while self.chunks.contains_key(&index) {
                    index += 1;
                }
                Some(offset.max(index * CHUNK).min(self.size))
            }
        }
    }
}

/// Cut a range at chunk borders: (offset, length) each.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize)> {
    let end = offset + len as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let next = (at / CHUNK + 1) * CHUNK;
        let piece = next.min(end) - at;
        let start = at;
        at += piece;
        Some((start, piece as usize))
    })
}
