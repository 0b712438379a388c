//! RAID-Z parity: up to three sums over the data columns of a stripe, and the way back from any
//! that many columns lost.
//!
//! Bytes are elements of GF(2⁸) ([`field`]). Of the data columns `D₀ … Dₙ₋₁`, at each byte
//! position,
//!
//! ```text
//!   P = Σ Dᵢ         Q = Σ 2ⁿ⁻¹⁻ⁱ Dᵢ         R = Σ 4ⁿ⁻¹⁻ⁱ Dᵢ
//! ```
//! computed by Horner's rule: double (quadruple) the sum, add the next column. A column may be
//! shorter than those before it, and counts as zeros behind its end. If `k` data columns are lost,
//! the sums over those that are left, added to `k` parities, are `k` linear equations for the lost
//! bytes. Their matrix is the same at every position, so it is inverted once, and always can be: 2
//! and 4 have order 255, and there are fewer columns.
//!
//! The work is done by one [`kernel`], written once over [`kernel::Lanes`] and compiled for each
//! set of instructions. A [`Method`] is one of these; which is quickest is found by trying
//! ([`Method::fastest`]).
//!
//! Facts: module/zfs/vdev_raidz.c, vdev_raidz_math_impl.h.

mod field;
mod kernel;
mod scalar;
#[cfg(target_arch = "x86_64")]
mod x86;

use kernel::{Job, Sink};

/// Most parity columns.
pub const MAX_PARITY: usize = 3;
/// Most columns, parity included.
pub const MAX_COLUMNS: usize = 255;
/// Lengths of columns are multiples of so many bytes: the smallest sector.
pub const UNIT: usize = 512;

type Kernel = unsafe fn(u8, Job<'_>);

/// One way of computing parity, which this processor has the instructions for. All give the same
/// bytes.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    name: &'static str,
    /// The kernel, compiled for some instructions. It takes the parities that take part, P being
    /// bit 0.
    run: Kernel,
}

impl PartialEq for Method {
    fn eq(&self, other: &Method) -> bool {
        self.name == other.name
    }
}

impl Eq for Method {}

/// A data column of a stripe that has lost some.
pub enum Column<'a> {
    Known(&'a [u8]),
    /// Where its bytes go.
    Lost(&'a mut [u8]),
}

/// More data columns are lost than there are parities.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooFew;

impl Method {
    /// Runs everywhere.
    pub const SCALAR: Method = Method { name: "scalar", run: scalar::run };

    /// All that this processor can run, the plainest first.
    pub fn available() -> Vec<Method> {
        #[allow(unused_mut)]
        let mut all = vec![Method::SCALAR];
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::is_x86_feature_detected as has;
            let avx512 = has!("avx512f") && has!("avx512bw");
            let candidates: [(bool, &str, Kernel); 5] = [
                (has!("ssse3"), "ssse3", x86::run_ssse3),
                (has!("avx2"), "avx2", x86::run_avx2),
                (avx512, "avx512bw", x86::run_avx512),
                (has!("avx2") && has!("gfni"), "gfni-avx2", x86::run_gfni_avx2),
                (avx512 && has!("gfni"), "gfni-avx512", x86::run_gfni_avx512),
            ];
            let there = candidates.into_iter().filter(|(has_all, ..)| *has_all);
            all.extend(there.map(|(_, name, run)| Method { name, run }));
        }
        all
    }

    pub fn name(self) -> &'static str {
        self.name
    }

    /// The quickest at a small stripe of each level, by a clock that counts up. It does a fixed
    /// amount of work, less than a few milliseconds; where the clock stands still, the last of
    /// [`Method::available`] is taken.
    pub fn fastest(now: &mut dyn FnMut() -> u64) -> Method {
        const COLUMNS: usize = 6;
        const LEN: usize = 16 << 10;
        const ROUNDS: usize = 4;
        let columns = [vec![0x5a; LEN], vec![0xc3; LEN]];
        let data: Vec<&[u8]> = (0..COLUMNS).map(|n| &columns[n % 2][..]).collect();
        let mut parity = [vec![0; LEN], vec![0; LEN], vec![0; LEN]];
        let mut time = |method: Method| {
            // The best of several rounds: whatever else the processor does can only add to it.
            let round = |_| {
                let begun = now();
                let mut into: Vec<&mut [u8]> = parity.iter_mut().map(|column| &mut column[..]).collect();
                (1..=MAX_PARITY).for_each(|level| method.generate(&mut into[..level], &data));
                now().saturating_sub(begun)
            };
            (0..ROUNDS).map(round).min().unwrap_or(0)
        };
        let timed = Method::available().into_iter().rev().map(|method| (time(method), method));
        timed.min_by_key(|(took, _)| *took).map_or(Method::SCALAR, |(_, method)| method)
    }

    /// Computes P, or P and Q, or all three. Columns are no longer than those before them, and the
    /// parities as long as the first; all lengths are multiples of [`UNIT`].
    ///
    /// Panics on other lengths, on no data, on more columns than [`MAX_COLUMNS`] and more parities
    /// than [`MAX_PARITY`].
    pub fn generate(self, parity: &mut [&mut [u8]], data: &[&[u8]]) {
        assert!((1..=MAX_PARITY).contains(&parity.len()), "{} parities", parity.len());
        let lens: Vec<usize> = data.iter().map(|column| column.len()).collect();
        check(parity.iter().map(|column| column.len()), &lens);
        let mask = (1 << parity.len()) - 1;
        for (from, to) in spans(&lens) {
            let present = lens.partition_point(|&len| len >= to);
            let job = Job {
                columns: data[..present].iter().map(|column| Some(&column[from..to])).collect(),
                trailing: data.len() - present,
                parity: [None; MAX_PARITY],
                sink: Sink::Parity(parity.iter_mut().map(|column| &mut column[from..to]).collect()),
                len: to - from,
            };
            self.run(mask, job);
        }
    }

    /// Computes the lost data columns from the others and the parities that are known (`None`:
    /// lost, too). Lengths as for [`Method::generate`]. Where there are more parities than needed
    /// the first are used.
    pub fn reconstruct(self, parity: &[Option<&[u8]>], data: &mut [Column<'_>]) -> Result<(), TooFew> {
        assert!((1..=MAX_PARITY).contains(&parity.len()), "{} parities", parity.len());
        let lens: Vec<usize> = data.iter().map(Column::len).collect();
        check(parity.iter().flatten().map(|column| column.len()), &lens);
        let lost: Vec<usize> =
            (0..data.len()).filter(|&n| matches!(data[n], Column::Lost(_)) && lens[n] > 0).collect();
        let known: Vec<usize> = (0..parity.len()).filter(|&n| parity[n].is_some()).collect();
        if lost.len() > known.len() {
            return Err(TooFew);
        }
        for (from, to) in spans(&lens) {
            let present = lens.partition_point(|&len| len >= to);
            let here: Vec<usize> = lost.iter().copied().filter(|&n| n < present).collect();
            if here.is_empty() {
                continue;
            }
            let used = &known[..here.len()];
            let exponents: Vec<usize> = here.iter().map(|n| data.len() - 1 - n).collect();
            let factors = field::solution(used, &exponents);
            let trailing = data.len() - present;
            let mut columns = Vec::with_capacity(present);
            let mut into = Vec::with_capacity(here.len());
            for column in &mut data[..present] {
                match column {
                    Column::Known(bytes) => columns.push(Some(&bytes[from..to])),
                    Column::Lost(bytes) => {
                        columns.push(None);
                        into.push(&mut bytes[from..to]);
                    }
                }
            }
            let mut sums = [None; MAX_PARITY];
            used.iter().for_each(|&n| sums[n] = parity[n].map(|bytes| &bytes[from..to]));
            let sink = Sink::Lost { into, factors };
            let mask = used.iter().map(|n| 1 << n).sum();
            self.run(mask, Job { columns, trailing, parity: sums, sink, len: to - from });
        }
        Ok(())
    }

    /// `mask`: the parities that take part, P being bit 0.
    fn run(self, mask: u8, job: Job<'_>) {
        job.check(mask);
        // SAFETY: the processor has the instructions, or `available` would not have given this
        // method; the job was checked.
        unsafe { (self.run)(mask, job) }
    }
}

impl Column<'_> {
    fn len(&self) -> usize {
        match self {
            Column::Known(bytes) => bytes.len(),
            Column::Lost(bytes) => bytes.len(),
        }
    }
}

fn check(mut parity: impl Iterator<Item = usize>, data: &[usize]) {
    assert!(!data.is_empty() && data.len() < MAX_COLUMNS, "{} data columns", data.len());
    assert!(data.is_sorted_by(|a, b| a >= b), "a column is longer than the one before");
    assert!(data.iter().all(|len| len.is_multiple_of(UNIT)), "a column is not whole sectors");
    assert!(parity.all(|len| len == data[0]), "a parity is not as long as the first column");
}

/// The ranges in which the same columns are present, from the front.
fn spans(lens: &[usize]) -> Vec<(usize, usize)> {
    let mut ends: Vec<usize> = lens.iter().rev().copied().filter(|&len| len > 0).collect();
    ends.dedup();
    let mut from = 0;
    ends.into_iter().map(|to| (std::mem::replace(&mut from, to), to)).collect()
}

#[cfg(test)]
mod tests;
