//! LZJB: Lempel-Ziv with a copy map.
//!
//! Eight items share one leading byte, whose bits (lowest first) tell literals (0) from matches
//! (1). A match is two bytes, big-endian: six bits of length minus 3, ten bits of distance. Fact:
//! `module/zfs/lzjb.c`.

use crate::failure::Corrupt;

const MATCH_MIN: usize = 3;
const MATCH_MAX: usize = (1 << 6) + MATCH_MIN - 1;
const DISTANCE_MAX: usize = (1 << 10) - 1;
const TABLE: usize = 1024;

pub fn compress(src: &[u8], dst: &mut [u8]) -> Option<usize> {
    // Where the hash of three bytes was last seen, plus one; 0 is never.
    let mut seen = [0usize; TABLE];
    let (mut from, mut to, mut map, mut bit) = (0, 0, 0, 8);
    while from < src.len() {
        if bit == 8 {
            // Room for the map and eight matches.
            if dst.len() - to < 17 {
                return None;
            }
            (map, bit) = (to, 0);
            dst[map] = 0;
            to += 1;
        }
        match find(src, from, &mut seen) {
            Some((len, distance)) => {
                dst[map] |= 1 << bit;
                let pair = ((len - MATCH_MIN) << 10 | distance) as u16;
                dst[to..to + 2].copy_from_slice(&pair.to_be_bytes());
                to += 2;
                from += len;
            }
            None => {
                dst[to] = src[from];
                to += 1;
                from += 1;
            }
        }
        bit += 1;
    }
    Some(to)
}

/// Length and distance of an earlier match at `from`, if the table knows one.
fn find(src: &[u8], from: usize, seen: &mut [usize; TABLE]) -> Option<(usize, usize)> {
    let here = &src[from..];
    if here.len() < MATCH_MAX {
        return None;
    }
    let mut hash = usize::from(here[0]) << 16 | usize::from(here[1]) << 8 | usize::from(here[2]);
    hash += hash >> 9;
    hash += hash >> 5;
    let last = std::mem::replace(&mut seen[hash % TABLE], from + 1).checked_sub(1)?;
    let distance = from - last;
    if distance > DISTANCE_MAX || src[last..last + MATCH_MIN] != here[..MATCH_MIN] {
        return None;
    }
    let same = |&(a, b): &(&u8, &u8)| a == b;
    let len = here.iter().zip(&src[last..]).take(MATCH_MAX).take_while(same).count();
    Some((len, distance))
}

pub fn decompress(src: &[u8], dst: &mut [u8]) -> Result<(), Corrupt> {
    let mut input = src.iter().copied();
    let mut next = || input.next().ok_or(Corrupt);
    let (mut to, mut map, mut bit) = (0, 0, 8);
    while to < dst.len() {
        if bit == 8 {
            (map, bit) = (next()?, 0);
        }
        if map >> bit & 1 == 0 {
            dst[to] = next()?;
            to += 1;
        } else {
            let pair = usize::from(u16::from_be_bytes([next()?, next()?]));
            let (len, distance) = ((pair >> 10) + MATCH_MIN, pair & DISTANCE_MAX);
            let mut copy = to.checked_sub(distance).filter(|_| distance > 0).ok_or(Corrupt)?;
            // Byte by byte: a match may overlap what it writes. The last may be longer than the
            // block.
            for _ in 0..len.min(dst.len() - to) {
                dst[to] = dst[copy];
                (to, copy) = (to + 1, copy + 1);
            }
        }
        bit += 1;
    }
    Ok(())
}
