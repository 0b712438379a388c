//! The one loop behind generating and reconstructing, over any kind of register.
//!
//! At each position the sums over all columns are computed in registers, several positions at once
//! so that the processor has something to do while a sum waits for its predecessor. Generating
//! stores the sums; reconstructing multiplies them by the solution's matrix. Where P takes part the
//! last lost column needs no multiplication: it is P's sum less the other lost ones.
//!
//! Which parities take part is a constant (`MASK`), so what is not wanted costs nothing.

use super::MAX_PARITY;
use super::field::Matrix;

/// Columns over the range in which the same ones are present.
pub struct Job<'a> {
    /// Those present; `None` where one is lost.
    pub columns: Vec<Option<&'a [u8]>>,
    /// Columns behind these, which have ended.
    pub trailing: usize,
    /// What is added to the sums: nothing, or the parities that take part.
    pub parity: [Option<&'a [u8]>; MAX_PARITY],
    pub sink: Sink<'a>,
    /// Bytes of each.
    pub len: usize,
}

/// Where results go.
pub enum Sink<'a> {
    /// The sums themselves, in order.
    Parity(Vec<&'a mut [u8]>),
    /// As many lost columns as parities take part, by the sums in the order of these.
    Lost { into: Vec<&'a mut [u8]>, factors: Matrix },
}

impl Job<'_> {
    /// Panics unless everything has `len` bytes, which are whole units, and there are as many sinks
    /// as `mask` has bits.
    pub fn check(&self, mask: u8) {
        let (Sink::Parity(into) | Sink::Lost { into, .. }) = &self.sink;
        let inputs = self.columns.iter().chain(&self.parity).flatten();
        assert!(
            inputs
                .map(|bytes| bytes.len())
                .chain(into.iter().map(|bytes| bytes.len()))
                .all(|n| n == self.len)
        );
        assert!(self.len.is_multiple_of(super::UNIT));
        assert!(into.len() == mask.count_ones() as usize && into.len() <= MAX_PARITY);
    }
}

/// A register of bytes.
///
/// # Safety
///
/// Of every method: the processor has the instructions. Loads and stores need no alignment, but
/// `BYTES` bytes.
pub trait Register: Copy {
    const BYTES: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u8) -> Self;
    unsafe fn store(self, to: *mut u8);
    unsafe fn plus(self, other: Self) -> Self;
}

/// A register whose bytes can be multiplied as elements of the field.
///
/// # Safety
///
/// Of every method: the processor has the instructions.
pub trait Lanes: Register {
    /// What multiplying by an element needs.
    type Factor: Copy;

    unsafe fn double(self) -> Self;

    #[inline(always)]
    unsafe fn quadruple(self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { self.double().double() }
    }

    unsafe fn factor(element: u8) -> Self::Factor;
    unsafe fn times(self, factor: Self::Factor) -> Self;
}

/// `N` registers side by side for each of the sums.
type Sums<L, const N: usize> = [[L; N]; MAX_PARITY];

/// # Safety
///
/// As of [`Lanes`]; the job has passed [`Job::check`] with this mask, and `N` registers fit a unit
/// a whole number of times.
#[inline(always)]
pub unsafe fn run<L: Lanes, const N: usize>(mask: u8, job: Job<'_>) {
    const { assert!(super::UNIT.is_multiple_of(N * L::BYTES)) };
    // SAFETY: the caller's promise.
    unsafe {
        match mask {
            0b001 => run_with::<L, N, 0b001>(job),
            0b010 => run_with::<L, N, 0b010>(job),
            0b011 => run_with::<L, N, 0b011>(job),
            0b100 => run_with::<L, N, 0b100>(job),
            0b101 => run_with::<L, N, 0b101>(job),
            0b110 => run_with::<L, N, 0b110>(job),
            0b111 => run_with::<L, N, 0b111>(job),
            _ => unreachable!("there are three parities"),
        }
    }
}

#[inline(always)]
unsafe fn run_with<L: Lanes, const N: usize, const MASK: u8>(job: Job<'_>) {
    let Job { columns, trailing, parity, sink, len } = job;
    // SAFETY: every slice has `len` bytes, and `at` plus a step never exceeds it, for steps divide
    // units.
    unsafe {
        match sink {
            Sink::Parity(mut into) => {
                for at in (0..len).step_by(N * L::BYTES) {
                    let sums = sums::<L, N, MASK>(&columns, trailing, at);
                    for (sum, bytes) in sums.iter().zip(&mut into) {
                        store(sum, bytes, at);
                    }
                }
            }
            Sink::Lost { mut into, factors } => {
                let factors = factors.map(|row| row.map(|element| L::factor(element)));
                for at in (0..len).step_by(N * L::BYTES) {
                    let sums = sums::<L, N, MASK>(&columns, trailing, at);
                    let equations = equations::<L, N, MASK>(sums, &parity, at);
                    let solved = solve::<L, N, MASK>(&equations, &factors);
                    for (column, bytes) in solved.iter().zip(&mut into) {
                        store(column, bytes, at);
                    }
                }
            }
        }
    }
}

const fn has(mask: u8, parity: usize) -> bool {
    mask & (1 << parity) != 0
}

/// The sums over the known columns, `N` registers from `at` on.
#[inline(always)]
unsafe fn sums<L: Lanes, const N: usize, const MASK: u8>(
    columns: &[Option<&[u8]>],
    trailing: usize,
    at: usize,
) -> Sums<L, N> {
    // SAFETY: as in `run_with`.
    unsafe {
        let mut sums = [[L::zero(); N]; MAX_PARITY];
        let mut columns = columns.iter();
        // Doubling nothing can be saved at the first column.
        if let Some(Some(bytes)) = columns.next() {
            for n in 0..N {
                let data = L::load(bytes.as_ptr().add(at + n * L::BYTES));
                sums.iter_mut().for_each(|sum| sum[n] = data);
            }
        }
        for column in columns {
            step::<L, N, MASK>(&mut sums);
            if let Some(bytes) = column {
                for n in 0..N {
                    let data = L::load(bytes.as_ptr().add(at + n * L::BYTES));
                    for (parity, sum) in sums.iter_mut().enumerate() {
                        if has(MASK, parity) {
                            sum[n] = sum[n].plus(data);
                        }
                    }
                }
            }
        }
        for _ in 0..trailing {
            step::<L, N, MASK>(&mut sums);
        }
        sums
    }
}

/// One column further: Q's sum counts twice, R's four times.
#[inline(always)]
unsafe fn step<L: Lanes, const N: usize, const MASK: u8>(sums: &mut Sums<L, N>) {
    // Loops, not closures: a closure that is not inlined is compiled without the instructions.
    // SAFETY: the caller's promise.
    unsafe {
        if has(MASK, 1) {
            for sum in &mut sums[1] {
                *sum = sum.double();
            }
        }
        if has(MASK, 2) {
            for sum in &mut sums[2] {
                *sum = sum.quadruple();
            }
        }
    }
}

/// The sums of the parities that take part with these added, one behind the other.
#[inline(always)]
unsafe fn equations<L: Lanes, const N: usize, const MASK: u8>(
    sums: Sums<L, N>,
    parity: &[Option<&[u8]>; MAX_PARITY],
    at: usize,
) -> Sums<L, N> {
    // SAFETY: as in `run_with`.
    unsafe {
        let mut equations = [[L::zero(); N]; MAX_PARITY];
        let mut count = 0;
        for (number, bytes) in parity.iter().enumerate() {
            if has(MASK, number) {
                let bytes = bytes.expect("a parity that takes part is known");
                for n in 0..N {
                    let stored = L::load(bytes.as_ptr().add(at + n * L::BYTES));
                    equations[count][n] = sums[number][n].plus(stored);
                }
                count += 1;
            }
        }
        equations
    }
}

#[inline(always)]
unsafe fn solve<L: Lanes, const N: usize, const MASK: u8>(
    equations: &Sums<L, N>,
    factors: &[[L::Factor; MAX_PARITY]; MAX_PARITY],
) -> Sums<L, N> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut solved = [[L::zero(); N]; MAX_PARITY];
        let count = MASK.count_ones() as usize;
        let by_matrix = count - usize::from(has(MASK, 0));
        for n in 0..N {
            let mut rest = equations[0][n];
            for column in 0..by_matrix {
                let mut value = equations[0][n].times(factors[column][0]);
                for equation in 1..count {
                    value = value.plus(equations[equation][n].times(factors[column][equation]));
                }
                solved[column][n] = value;
                rest = rest.plus(value);
            }
            if has(MASK, 0) {
                solved[by_matrix][n] = rest;
            }
        }
        solved
    }
}

#[inline(always)]
unsafe fn store<L: Lanes, const N: usize>(registers: &[L; N], bytes: &mut [u8], at: usize) {
    for (n, register) in registers.iter().enumerate() {
        // SAFETY: as in `run_with`.
        unsafe { register.store(bytes.as_mut_ptr().add(at + n * L::BYTES)) };
    }
}
