//! The bytes of a disk: as they read, as they would be after a crash, and the writes between the
//! two.

use std::collections::BTreeSet;
use std::sync::Arc;

use stdx::prng::Prng;

use super::Loss;

/// What a small write copies at the most, as long as somebody else has the same bytes.
const CHUNK: usize = 4 << 10;
/// Chunks that are shared together.
const GROUP: usize = 32;

type Chunk = Arc<[u8; CHUNK]>;
type Group = Arc<[Option<Chunk>; GROUP]>;

/// Chunks by number, in groups: so that a copy of it all costs next to nothing, and what is changed
/// afterwards little more.
#[derive(Clone, Default)]
struct Chunks(Vec<Option<Group>>);

impl Chunks {
    fn get(&self, chunk: u64) -> Option<&Chunk> {
        let group = self.0.get(chunk as usize / GROUP)?.as_ref()?;
        group[chunk as usize % GROUP].as_ref()
    }

    fn slot(&mut self, chunk: u64) -> &mut Option<Chunk> {
        let group = chunk as usize / GROUP;
        if self.0.len() <= group {
            self.0.resize(group + 1, None);
        }
        &mut Arc::make_mut(self.0[group].get_or_insert_default())[chunk as usize % GROUP]
    }

    /// Those that are there, in order.
    fn iter(&self) -> impl Iterator<Item = (u64, &Chunk)> {
        let groups = (0..).zip(&self.0).filter_map(|(n, group)| Some((n * GROUP as u64, group.as_ref()?)));
        let all = groups.flat_map(|(first, group)| (first..).zip(group.iter()));
        all.filter_map(|(chunk, bytes)| Some((chunk, bytes.as_ref()?)))
    }
}

/// Chunks that are not there are zero. Invariant: the durable chunks with all pending writes
/// applied are the current ones.
#[derive(Clone, Default)]
pub struct Image {
    current: Chunks,
    durable: Chunks,
    pending: Vec<(u64, Arc<[u8]>)>,
}

impl Image {
    /// Bytes of a stretch.
    pub const STRETCH: u64 = 16 << 10;

    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// What nothing can take away any more.
    pub fn durable(&self) -> Image {
        Image { current: self.durable.clone(), durable: self.durable.clone(), pending: Vec::new() }
    }

    pub fn read(&self, offset: u64, buf: &mut [u8]) {
        for (chunk, from, range) in pieces(offset, buf.len()) {
            let out = &mut buf[range];
            match self.current.get(chunk) {
                Some(bytes) => out.copy_from_slice(&bytes[from..from + out.len()]),
                None => out.fill(0),
            }
        }
    }

    pub fn write(&mut self, offset: u64, data: Arc<[u8]>) {
        put(&mut self.current, offset, &data);
        self.pending.push((offset, data));
    }

    /// Changes what is there for good, as a failing medium does.
    pub fn damage(&mut self, offset: u64, data: &[u8]) {
        put(&mut self.current, offset, data);
        put(&mut self.durable, offset, data);
    }

    /// The first of these bytes that nobody ever wrote, and their number.
    pub fn hole(&self, offset: u64, len: u64) -> Option<(u64, u64)> {
        let (size, end) = (CHUNK as u64, offset + len);
        let chunks = offset / size..end.div_ceil(size);
        let start = chunks.clone().find(|chunk| self.current.get(*chunk).is_none())?;
        let next = (start..chunks.end).find(|chunk| self.current.get(*chunk).is_some());
        let (start, next) = (offset.max(start * size), next.map_or(end, |chunk| chunk * size));
        Some((start, next - start))
    }

    /// Offsets of the stretches of [`Image::STRETCH`] bytes that were ever written.
    pub fn stretches(&self) -> Vec<u64> {
        let chunks = self.current.iter().map(|(chunk, _)| chunk * CHUNK as u64);
        let mut stretches: Vec<u64> = chunks.map(|at| at / Self::STRETCH * Self::STRETCH).collect();
        stretches.dedup();
        stretches
    }

    pub fn flush(&mut self) {
        let mut touched = BTreeSet::new();
        for (offset, data) in self.pending.drain(..) {
            touched.extend(pieces(offset, data.len()).map(|(chunk, ..)| chunk));
        }
        for chunk in touched {
            *self.durable.slot(chunk) = self.current.get(chunk).cloned();
        }
    }

    /// Each pending write is kept, dropped or torn; nothing is pending afterwards.
    pub fn crash(&mut self, sector: u32, loss: Loss, prng: &mut Prng) {
        for (offset, data) in self.pending.drain(..) {
            let fate = prng.below(100) as u32;
            if fate < loss.kept {
                put(&mut self.durable, offset, &data);
            } else if fate < loss.kept + loss.torn {
                tear(&mut self.durable, offset, &data, sector as usize, prng);
            }
        }
        self.current = self.durable.clone();
    }

    pub fn chunks(&self) -> Vec<(u64, Vec<u8>)> {
        self.current.iter().map(|(chunk, bytes)| (chunk * CHUNK as u64, bytes.to_vec())).collect()
    }
}

/// Some of the sectors land: a beginning, an end, or any.
fn tear(chunks: &mut Chunks, offset: u64, data: &[u8], sector: usize, prng: &mut Prng) {
    let count = data.len() / sector;
    let border = prng.below(count as u64 + 1) as usize;
    let way = prng.below(3);
    for (n, bytes) in data.chunks(sector).enumerate() {
        let lands = match way {
            0 => n < border,
            1 => n >= border,
            _ => prng.chance(1, 2),
        };
        if lands {
            put(chunks, offset + (n * sector) as u64, bytes);
        }
    }
}

/// Chunks of one write that are alike are one: a disk that is initialized takes no more memory than
/// a pattern.
fn put(chunks: &mut Chunks, offset: u64, data: &[u8]) {
    let mut last: Option<Chunk> = None;
    for (chunk, from, range) in pieces(offset, data.len()) {
        let (slot, piece) = (chunks.slot(chunk), &data[range]);
        if let Ok(whole) = <&[u8; CHUNK]>::try_from(piece) {
            let same = last.take().filter(|last| **last == *whole);
            let bytes = same.unwrap_or_else(|| Arc::new(*whole));
            last = Some(bytes.clone());
            *slot = Some(bytes);
        } else {
            let bytes = Arc::make_mut(slot.get_or_insert_with(|| Arc::new([0; CHUNK])));
            bytes[from..from + piece.len()].copy_from_slice(piece);
        }
    }
}

/// Cuts a range at chunk borders: (chunk, offset in it, range of the buffer).
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let from = (at % CHUNK as u64) as usize;
        let piece = (CHUNK - from).min(len - done);
        let range = done..done + piece;
        done += piece;
        (piece > 0).then_some((at / CHUNK as u64, from, range))
    })
}
