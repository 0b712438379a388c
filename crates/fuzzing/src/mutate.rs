//! A seeded mutator of bytes: what libFuzzer does without coverage, the same everywhere for the
//! same seed.

use stdx::prng::Prng;

/// Numbers that decoders stumble over.
const WORDS: [u64; 12] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    1 << 63,
    u64::MAX - 1,
    u64::MAX,
];

/// Changes a few things. `other` is a second input to take pieces from.
pub fn mutate(prng: &mut Prng, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..prng.range(1, 5) {
        let at = prng.below(bytes.len() as u64 + 1) as usize;
        match prng.below(12) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at, prng.next_u64() as u8),
            2 | 3 => put_number(prng, bytes, at),
            4 => {
                let from = prng.below(other.len() as u64 + 1) as usize;
                let len = prng.below(256).min(other.len().saturating_sub(from) as u64) as usize;
                overwrite(bytes, at, &other[from..from + len]);
            }
            5 => {
                let end = (at + prng.below(128) as usize).min(bytes.len());
                bytes[at..end].fill(if prng.below(2) == 0 { 0 } else { 0xff });
            }
            6 => {
                let end = (at + prng.below(64) as usize).min(bytes.len());
                let again = bytes[at..end].to_vec();
                bytes.splice(at..at, again);
            }
            _ => flip(prng, bytes),
        }
    }
}

/// Changes a few things where something is written, and leaves the length as it is.
pub fn mutate_in_place(prng: &mut Prng, bytes: &mut [u8]) {
    if bytes.is_empty() {
        return;
    }
    for _ in 0..prng.range(1, 8) {
        let at = written(prng, bytes);
        match prng.below(8) {
            0..=3 => put_number(prng, bytes, at),
            4 => {
                let end = (at + prng.below(600) as usize).min(bytes.len());
                bytes[at..end].fill(0);
            }
            5 => {
                let from = prng.below(bytes.len() as u64) as usize;
                let len = (prng.below(256) as usize).min(bytes.len() - from.max(at));
                bytes.copy_within(from..from + len, at);
            }
            _ => bytes[at] ^= 1 << prng.below(8),
        }
    }
}

/// A place that is not zero, most of the time: blocks are mostly empty.
fn written(prng: &mut Prng, bytes: &[u8]) -> usize {
    let at = prng.below(bytes.len() as u64) as usize;
    let (before, after) = bytes.split_at(at);
    let ahead = after.iter().position(|byte| *byte != 0).map(|distance| at + distance);
    let found =
        if prng.below(8) == 0 { None } else { ahead.or_else(|| before.iter().rposition(|byte| *byte != 0)) };
    found.unwrap_or(at)
}

fn flip(prng: &mut Prng, bytes: &mut [u8]) {
    let at = prng.below(bytes.len().max(1) as u64) as usize;
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << prng.below(8);
    }
}

/// An interesting number, or a small step away from what is there, of 1 to 8 bytes in either order.
fn put_number(prng: &mut Prng, bytes: &mut [u8], at: usize) {
    let size = 1_usize << prng.below(4);
    let at = at & !(size - 1);
    let Some(field) = bytes.get_mut(at..at + size) else { return };
    let word = match prng.below(3) {
        0 => prng.below(1 << 16),
        1 => 1 << prng.below(64),
        _ => prng.pick(&WORDS).copied().unwrap_or(0),
    };
    let little = word.to_le_bytes();
    field.copy_from_slice(&little[..size]);
    if prng.below(4) == 0 {
        field.reverse();
    }
}

fn overwrite(bytes: &mut [u8], at: usize, piece: &[u8]) {
    let len = piece.len().min(bytes.len() - at);
    bytes[at..at + len].copy_from_slice(&piece[..len]);
}
