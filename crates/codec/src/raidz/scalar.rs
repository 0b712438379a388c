//! Eight bytes in an ordinary register: for processors without better, and as the judge of the
//! others.

use super::field::POLYNOMIAL;
use super::kernel::{self, Job, Lanes, Register};

#[derive(Clone, Copy)]
struct Word(u64);

/// The lowest bit of each byte.
const ONES: u64 = u64::from_ne_bytes([1; 8]);

impl Register for Word {
    const BYTES: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Word {
        Word(0)
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Word {
        // SAFETY: the caller's promise.
        Word(unsafe { from.cast::<u64>().read_unaligned() })
    }

    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's promise.
        unsafe { to.cast::<u64>().write_unaligned(self.0) }
    }

    #[inline(always)]
    unsafe fn plus(self, other: Word) -> Word {
        Word(self.0 ^ other.0)
    }
}

impl Lanes for Word {
    /// The element.
    type Factor = u8;

    #[inline(always)]
    unsafe fn double(self) -> Word {
        let leaving = (self.0 >> 7) & ONES;
        // Each byte is 0 or 1, so none of the products reaches its neighbour.
        Word(((self.0 & !(ONES << 7)) << 1) ^ (leaving * u64::from(POLYNOMIAL)))
    }

    #[inline(always)]
    unsafe fn factor(element: u8) -> u8 {
        element
    }

    #[inline(always)]
    unsafe fn times(self, factor: u8) -> Word {
        let (mut product, mut power) = (0, self);
        for bit in 0..8 {
            if factor & (1 << bit) != 0 {
                product ^= power.0;
            }
            // SAFETY: ordinary instructions.
            power = unsafe { power.double() };
        }
        Word(product)
    }
}

/// # Safety
///
/// The job has passed [`Job::check`] with this mask.
pub unsafe fn run(mask: u8, job: Job<'_>) {
    // SAFETY: the caller's promise; the instructions are ordinary.
    unsafe { kernel::run::<Word, 4>(mask, job) }
}
