//! Skein-512 with 256 bits of output, keyed by the pool's salt.
//!
//! Threefish-512 (72 rounds) chained by UBI: key block, configuration block, message, output block.
//! Constants are of the Skein 1.3 specification; how ZFS keys it is in `module/zfs/skein_zfs.c`.

const BLOCK: usize = 64;

const ROTATIONS: [[u32; 4]; 8] = [
    [46, 36, 19, 37],
    [33, 27, 14, 42],
    [17, 49, 36, 39],
    [44, 9, 54, 56],
    [39, 30, 34, 24],
    [13, 50, 10, 17],
    [25, 29, 39, 43],
    [8, 35, 56, 22],
];

/// What a UBI chain is for: the type field of the tweak.
#[derive(Clone, Copy)]
enum Purpose {
    Key = 0,
    Config = 4,
    Message = 48,
    Output = 63,
}

type State = [u64; 8];

/// The keyed digest, as words of little-endian memory.
pub fn skein_512_256(data: &[u8], salt: &[u8; 32]) -> [u64; 4] {
    let mut config = [0; 32];
    config[..4].copy_from_slice(b"SHA3");
    config[4] = 1; // Version of the schema.
    config[8..16].copy_from_slice(&256u64.to_le_bytes());
    let state = ubi([0; 8], Purpose::Key, salt);
    let state = ubi(state, Purpose::Config, &config);
    let state = ubi(state, Purpose::Message, data);
    let [a, b, c, d, ..] = ubi(state, Purpose::Output, &[0; 8]);
    [a, b, c, d]
}

/// Chains the message through the cipher. An empty message is one block of zeros.
fn ubi(mut state: State, purpose: Purpose, message: &[u8]) -> State {
    const FIRST: u64 = 1 << 62;
    const FINAL: u64 = 1 << 63;
    let mut flags = (purpose as u64) << 56 | FIRST;
    // The last block, full or not, is marked as final.
    let whole = message.len().saturating_sub(1) / BLOCK;
    let (head, tail) = message.split_at(whole * BLOCK);
    let mut position = 0;
    for block in head.as_chunks::<BLOCK>().0 {
        position += BLOCK as u64;
        state = encrypt(&state, [position, flags], block);
        flags &= !FIRST;
    }
    let mut last = [0; BLOCK];
    last[..tail.len()].copy_from_slice(tail);
    encrypt(&state, [position + tail.len() as u64, flags | FINAL], &last)
}

/// Threefish-512 of the block under key and tweak, xored with the block.
fn encrypt(key: &State, tweak: [u64; 2], block: &[u8; BLOCK]) -> State {
    let words: State = std::array::from_fn(|i| u64::from_le_bytes(std::array::from_fn(|j| block[i * 8 + j])));
    let parity = key.iter().fold(0x1bd1_1bda_a9fc_1a22, |parity, word| parity ^ word);
    let keys: [u64; 9] = std::array::from_fn(|i| if i < 8 { key[i] } else { parity });
    let tweaks = [tweak[0], tweak[1], tweak[0] ^ tweak[1]];
    let mut x = words;
    for pair in 0..9 {
        inject(&mut x, &keys, &tweaks, 2 * pair);
        four_rounds::<0>(&mut x);
        inject(&mut x, &keys, &tweaks, 2 * pair + 1);
        four_rounds::<4>(&mut x);
    }
    inject(&mut x, &keys, &tweaks, 18);
    std::array::from_fn(|i| x[i] ^ words[i])
}

#[inline(always)]
fn inject(x: &mut State, keys: &[u64; 9], tweaks: &[u64; 3], n: usize) {
    for i in 0..8 {
        x[i] = x[i].wrapping_add(keys[(n + i) % 9]);
    }
    x[5] = x[5].wrapping_add(tweaks[n % 3]);
    x[6] = x[6].wrapping_add(tweaks[(n + 1) % 3]);
    x[7] = x[7].wrapping_add(n as u64);
}

/// Four rounds of mixing; after four the permutation of words is back where it was.
#[inline(always)]
fn four_rounds<const FROM: usize>(x: &mut State) {
    const PAIRS: [[(usize, usize); 4]; 4] = [
        [(0, 1), (2, 3), (4, 5), (6, 7)],
        [(2, 1), (4, 7), (6, 5), (0, 3)],
        [(4, 1), (6, 3), (0, 5), (2, 7)],
        [(6, 1), (0, 7), (2, 5), (4, 3)],
    ];
    for round in 0..4 {
        for lane in 0..4 {
            let (a, b) = PAIRS[round][lane];
            x[a] = x[a].wrapping_add(x[b]);
            x[b] = x[b].rotate_left(ROTATIONS[FROM + round][lane]) ^ x[a];
        }
    }
}
