//! Edon-R 512 with ZFS's tweak of the original SHA-3 submission, keyed by the pool's salt.
//!
//! A block of sixteen words passes through four rows of a quasigroup transformation; the chain is a
//! double pipe of sixteen words. ZFS keys it by hashing one block made of the salt's digest and
//! that digest's digest first. Facts: `module/icp/algs/edonr/edonr.c`, `module/zfs/edonr_zfs.c`.

const BLOCK: usize = 128;

type Eight = [u64; 8];

/// The chain, and the length that has gone through it.
#[derive(Clone)]
struct State {
    /// Lower and upper half of the double pipe.
    pipe: [Eight; 2],
    bytes: u64,
}

/// The first 256 bits of the keyed digest, as words of little-endian memory.
pub fn edonr(data: &[u8], salt: &[u8; 32]) -> [u64; 4] {
    let mut key = [0; BLOCK];
    let once = digest(State::new(), salt);
    key[..64].copy_from_slice(&once);
    key[64..].copy_from_slice(&digest(State::new(), &once));
    let mut state = State::new();
    state.absorb(&key);
    let all = digest(state, data);
    std::array::from_fn(|i| le(&all, i))
}

fn le(bytes: &[u8], index: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|i| bytes[index * 8 + i]))
}

/// Ends a chain whose state has seen whole blocks only with the rest of the message.
fn digest(mut state: State, data: &[u8]) -> [u8; 64] {
    let (blocks, tail) = data.as_chunks::<BLOCK>();
    blocks.iter().for_each(|block| state.absorb(block));
    let bits = (state.bytes + tail.len() as u64) * 8;
    let mut last = [0; 2 * BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    last[tail.len()] = 0x80;
    let end = if tail.len() < BLOCK - 8 { BLOCK } else { 2 * BLOCK };
    last[end - 8..end].copy_from_slice(&bits.to_le_bytes());
    last[..end].as_chunks::<BLOCK>().0.iter().for_each(|block| state.absorb(block));
    let mut out = [0; 64];
    for (bytes, word) in out.as_chunks_mut::<8>().0.iter_mut().zip(state.pipe[1]) {
        *bytes = word.to_le_bytes();
    }
    out
}

impl State {
    fn new() -> State {
        // The initial pipe is the bytes 0x80, 0x81 … 0xff, read as big-endian words.
        let word = |n: usize| u64::from_be_bytes(std::array::from_fn(|i| (0x80 + n * 8 + i) as u8));
        State { pipe: [std::array::from_fn(word), std::array::from_fn(|n| word(n + 8))], bytes: 0 }
    }

    fn absorb(&mut self, block: &[u8; BLOCK]) {
        let low: Eight = std::array::from_fn(|i| le(block, i));
        let high: Eight = std::array::from_fn(|i| le(block, i + 8));
        let reversed = |mut eight: Eight| {
            eight.reverse();
            eight
        };
        let mut p = mix(&reversed(high), &low);
        let mut q = mix(&p, &high);
        p = mix(&self.pipe[1], &p);
        q = mix(&p, &q);
        p = mix(&p, &self.pipe[0]);
        q = mix(&q, &p);
        p = mix(&reversed(low), &p);
        q = mix(&p, &q);
        for i in 0..8 {
            self.pipe[0][i] ^= high[i] ^ p[i];
            self.pipe[1][i] ^= low[i] ^ q[i];
        }
        self.bytes += BLOCK as u64;
    }
}

/// The quasigroup operation: each operand goes through its own Latin square and rotations, then
/// both are combined.
#[inline(always)]
fn mix(x: &Eight, y: &Eight) -> Eight {
    let sum = |of: &Eight, at: [usize; 5]| at.iter().fold(0u64, |sum, &i| sum.wrapping_add(of[i]));
    const FIRST: u64 = 0xaaaa_aaaa_aaaa_aaaa;
    let s = [
        sum(x, [0, 1, 2, 4, 7]).wrapping_add(FIRST),
        sum(x, [0, 1, 3, 4, 7]).rotate_left(5),
        sum(x, [0, 1, 4, 6, 7]).rotate_left(15),
        sum(x, [2, 3, 5, 6, 7]).rotate_left(22),
        sum(x, [1, 2, 3, 5, 6]).rotate_left(31),
        sum(x, [0, 2, 3, 4, 5]).rotate_left(40),
        sum(x, [0, 1, 5, 6, 7]).rotate_left(50),
        sum(x, [2, 3, 4, 5, 6]).rotate_left(59),
    ];
    let t = [
        sum(y, [0, 1, 2, 5, 7]).wrapping_add(!FIRST),
        sum(y, [0, 1, 3, 4, 6]).rotate_left(10),
        sum(y, [0, 1, 2, 3, 5]).rotate_left(19),
        sum(y, [2, 3, 4, 6, 7]).rotate_left(29),
        sum(y, [0, 1, 3, 4, 5]).rotate_left(36),
        sum(y, [2, 4, 5, 6, 7]).rotate_left(44),
        sum(y, [1, 2, 5, 6, 7]).rotate_left(48),
        sum(y, [0, 3, 4, 6, 7]).rotate_left(55),
    ];
    let both = |i: [usize; 3], j: [usize; 3]| {
        (s[i[0]] ^ s[i[1]] ^ s[i[2]]).wrapping_add(t[j[0]] ^ t[j[1]] ^ t[j[2]])
    };
    [
        both([0, 1, 4], [0, 1, 5]),
        both([0, 4, 7], [2, 6, 7]),
        both([1, 6, 7], [0, 1, 3]),
        both([2, 3, 4], [0, 3, 4]),
        both([0, 1, 7], [1, 2, 5]),
        both([3, 5, 6], [3, 4, 6]),
        both([2, 5, 6], [2, 5, 7]),
        both([2, 3, 5], [4, 6, 7]),
    ]
}
