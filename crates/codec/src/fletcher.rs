//! Fletcher's sums over 64-bit pairs (fletcher2) and 32-bit words (fletcher4), as ZFS defines them.
//!
//! fletcher4 is the checksum of most blocks, so it has vector versions, picked by what the
//! processor has. Lane `i` of `N` sums every N-th word from the i-th on. Seen from the end, word
//! `k` of `n` adds `T(n - k)` times itself to a sum, where `T` is 1, x, x(x+1)/2, x(x+1)(x+2)/6 for
//! the four sums; writing `n - k = N·y - i` turns those polynomials of the whole into polynomials
//! of the lane's own `y`, and so the four sums into fixed combinations of the lane sums (see
//! [`combine`]). Everything is modulo 2⁶⁴. Facts: `module/zcommon/zfs_fletcher.c`.

/// fletcher2; bytes that do not fill a pair of words are not summed. `swap`: words are of the other
/// byte order.
pub fn fletcher2(data: &[u8], swap: bool) -> [u64; 4] {
    if swap { fletcher2_with(data, u64::from_be_bytes) } else { fletcher2_with(data, u64::from_le_bytes) }
}

#[inline(always)]
fn fletcher2_with(data: &[u8], word: impl Fn([u8; 8]) -> u64) -> [u64; 4] {
    let (mut a0, mut a1, mut b0, mut b1) = (0u64, 0u64, 0u64, 0u64);
    let (words, _) = data.as_chunks::<8>();
    for [w0, w1] in words.as_chunks::<2>().0 {
        a0 = a0.wrapping_add(word(*w0));
        a1 = a1.wrapping_add(word(*w1));
        b0 = b0.wrapping_add(a0);
        b1 = b1.wrapping_add(a1);
    }
    [a0, a1, b0, b1]
}

/// fletcher4; bytes that do not fill a word are not summed. `swap`: words are of the other byte
/// order.
pub fn fletcher4(data: &[u8], swap: bool) -> [u64; 4] {
    #[cfg(target_arch = "x86_64")]
    {
        if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
            // SAFETY: the processor has what the function is compiled for.
            return unsafe { x86::fletcher4_avx512(data, swap) };
        }
        if is_x86_feature_detected!("avx2") {
            // SAFETY: as above.
            return unsafe { x86::fletcher4_avx2(data, swap) };
        }
    }
    fletcher4_scalar([0; 4], data, swap)
}

/// The sums of everything summed so far and then `data`, whole words both.
pub fn fletcher4_append(sums: [u64; 4], data: &[u8], swap: bool) -> [u64; 4] {
    fletcher4_join(sums, fletcher4(data, swap), data.len() / 4)
}

/// The sums of everything summed so far and then of `words` words that have the sums `more`. Seen
/// from the end, each sum so far counts once more for every word: the same polynomials as in the
/// module text (`fletcher_4_incremental_combine`).
pub fn fletcher4_join(sums: [u64; 4], more: [u64; 4], words: usize) -> [u64; 4] {
    let [a, b, c, d] = sums;
    let n = words as u128;
    let (one, two, three) = (n as u64, (n * (n + 1) / 2) as u64, (n * (n + 1) * (n + 2) / 6) as u64);
    let times = |x: u64, y: u64| x.wrapping_mul(y);
    [
        more[0].wrapping_add(a),
        more[1].wrapping_add(b).wrapping_add(times(one, a)),
        more[2].wrapping_add(c).wrapping_add(times(one, b)).wrapping_add(times(two, a)),
        more[3]
            .wrapping_add(d)
            .wrapping_add(times(one, c))
            .wrapping_add(times(two, b))
            .wrapping_add(times(three, a)),
    ]
}

/// Continues the sums with more words.
fn fletcher4_scalar(sums: [u64; 4], data: &[u8], swap: bool) -> [u64; 4] {
    let [mut a, mut b, mut c, mut d] = sums;
    for bytes in data.as_chunks::<4>().0 {
        let word = if swap { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
        a = a.wrapping_add(u64::from(word));
        b = b.wrapping_add(a);
        c = c.wrapping_add(b);
        d = d.wrapping_add(c);
    }
    [a, b, c, d]
}

/// The sums of the whole from the sums `[a, b, c, d]` of its `N` lanes; see the module text.
#[cfg(target_arch = "x86_64")]
fn combine<const N: usize>(lanes: [[u64; N]; 4]) -> [u64; 4] {
    let n = N as i64;
    let mut sums = [0u64; 4];
    for i in 0..N {
        let [la, lb, lc, ld] = lanes.map(|lane| lane[i]);
        let i = i as i64;
        let mut add = |sum: usize, factor: i64, lane: u64| {
            sums[sum] = sums[sum].wrapping_add((factor as u64).wrapping_mul(lane));
        };
        add(0, 1, la);
        add(1, n, lb);
        add(1, -i, la);
        add(2, n * n, lc);
        add(2, (n * (1 - 2 * i) - n * n) / 2, lb);
        add(2, i * (i - 1) / 2, la);
        add(3, n * n * n, ld);
        add(3, n * n * (1 - i) - n * n * n, lc);
        add(3, (n * n * n + 3 * n * n * (i - 1) + 3 * n * i * i - 6 * n * i + 2 * n) / 6, lb);
        add(3, -i * (i - 1) * (i - 2) / 6, la);
    }
    sums
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{combine, fletcher4_scalar};

    /// Four lanes.
    #[target_feature(enable = "avx2")]
    pub fn fletcher4_avx2(data: &[u8], swap: bool) -> [u64; 4] {
        let mut sums = [_mm256_setzero_si256(); 4];
        let order = _mm_setr_epi8(3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12);
        let (groups, tail) = data.as_chunks::<16>();
        for group in groups {
            // SAFETY: the group has the 16 bytes that are loaded; the load needs no alignment.
            let mut words = unsafe { _mm_loadu_si128(group.as_ptr().cast()) };
            if swap {
                words = _mm_shuffle_epi8(words, order);
            }
            sums[0] = _mm256_add_epi64(sums[0], _mm256_cvtepu32_epi64(words));
            sums[1] = _mm256_add_epi64(sums[1], sums[0]);
            sums[2] = _mm256_add_epi64(sums[2], sums[1]);
            sums[3] = _mm256_add_epi64(sums[3], sums[2]);
        }
        let mut lanes = [[0u64; 4]; 4];
        for (lane, sum) in lanes.iter_mut().zip(sums) {
            // SAFETY: a lane has the 32 bytes that are stored; the store needs no alignment.
            unsafe { _mm256_storeu_si256(lane.as_mut_ptr().cast(), sum) };
        }
        fletcher4_scalar(combine(lanes), tail, swap)
    }

    /// Eight lanes.
    #[target_feature(enable = "avx2,avx512f,avx512bw")]
    pub fn fletcher4_avx512(data: &[u8], swap: bool) -> [u64; 4] {
        let mut sums = [_mm512_setzero_si512(); 4];
        let order = _mm256_setr_epi8(
            3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15, 14, 13, 12, 3, 2, 1, 0, 7, 6, 5, 4, 11, 10, 9, 8, 15,
            14, 13, 12,
        );
        let (groups, tail) = data.as_chunks::<32>();
        for group in groups {
            // SAFETY: the group has the 32 bytes that are loaded; the load needs no alignment.
            let mut words = unsafe { _mm256_loadu_si256(group.as_ptr().cast()) };
            if swap {
                words = _mm256_shuffle_epi8(words, order);
            }
            sums[0] = _mm512_add_epi64(sums[0], _mm512_cvtepu32_epi64(words));
            sums[1] = _mm512_add_epi64(sums[1], sums[0]);
            sums[2] = _mm512_add_epi64(sums[2], sums[1]);
            sums[3] = _mm512_add_epi64(sums[3], sums[2]);
        }
        let mut lanes = [[0u64; 8]; 4];
        for (lane, sum) in lanes.iter_mut().zip(sums) {
            // SAFETY: a lane has the 64 bytes that are stored; the store needs no alignment.
            unsafe { _mm512_storeu_si512(lane.as_mut_ptr().cast(), sum) };
        }
        fletcher4_scalar(combine(lanes), tail, swap)
    }
}

#[cfg(test)]
mod tests;
