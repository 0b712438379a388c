//! Vector registers of x86-64, with and without the instructions for Galois fields.
//!
//! Without these, doubling compares with zero to find the bytes whose highest bit leaves, and a
//! product is looked up for each half of a byte by a shuffle. With them, an affine map over the
//! bits of a byte multiplies by any element at once: its matrix has the products of the element and
//! 2ʲ as columns.

use std::arch::x86_64::*;

use super::field::{POLYNOMIAL, double, times};
use super::kernel::{self, Job, Lanes, Register};

/// What the affine instruction takes to multiply by an element: byte `7 - i` says which bits of the
/// factor make up bit `i` of the product.
const fn affine(element: u8) -> i64 {
    let mut matrix = 0u64;
    let mut bit = 0;
    let mut column = element;
    while bit < 8 {
        let mut row = 0;
        while row < 8 {
            if column & (1 << row) != 0 {
                matrix |= 1 << (8 * (7 - row) + bit);
            }
            row += 1;
        }
        column = double(column);
        bit += 1;
    }
    matrix as i64
}

/// The products of an element with all values of a byte's lower half, and of its upper half.
fn halves(element: u8) -> [[u8; 16]; 2] {
    [0, 4].map(|shift| std::array::from_fn(|half| times(element, (half as u8) << shift)))
}

/// A kind of register by the names of its instructions.
macro_rules! register {
    ($name:ident, $inner:ty, $zero:ident, $load:ident, $store:ident, $plus:ident) => {
        #[derive(Clone, Copy)]
        struct $name($inner);

        impl Register for $name {
            const BYTES: usize = size_of::<$inner>();

            #[inline(always)]
            unsafe fn zero() -> $name {
                // SAFETY: the processor has the instruction.
                $name(unsafe { $zero() })
            }

            #[inline(always)]
            unsafe fn load(from: *const u8) -> $name {
                // SAFETY: the caller's promise; the load needs no alignment.
                $name(unsafe { $load(from.cast()) })
            }

            #[inline(always)]
            unsafe fn store(self, to: *mut u8) {
                // SAFETY: the caller's promise; the store needs no alignment.
                unsafe { $store(to.cast(), self.0) }
            }

            #[inline(always)]
            unsafe fn plus(self, other: $name) -> $name {
                // SAFETY: the processor has the instruction.
                $name(unsafe { $plus(self.0, other.0) })
            }
        }
    };
}

register!(Ssse3, __m128i, _mm_setzero_si128, _mm_loadu_si128, _mm_storeu_si128, _mm_xor_si128);
register!(Avx2, __m256i, _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256);
register!(Avx512, __m512i, _mm512_setzero_si512, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_xor_si512);
register!(GfniAvx2, __m256i, _mm256_setzero_si256, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_xor_si256);
register!(
    GfniAvx512,
    __m512i,
    _mm512_setzero_si512,
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_xor_si512
);

impl Lanes for Ssse3 {
    /// Products of the lower and of the upper half of a byte.
    type Factor = [__m128i; 2];

    #[inline(always)]
    unsafe fn double(self) -> Ssse3 {
        // SAFETY: the processor has the instructions.
        Ssse3(unsafe {
            let leaving = _mm_cmpgt_epi8(_mm_setzero_si128(), self.0);
            let less = _mm_and_si128(leaving, _mm_set1_epi8(POLYNOMIAL as i8));
            _mm_xor_si128(_mm_add_epi8(self.0, self.0), less)
        })
    }

    #[inline(always)]
    unsafe fn factor(element: u8) -> [__m128i; 2] {
        // SAFETY: the arrays have the 16 bytes that are loaded.
        halves(element).map(|half| unsafe { _mm_loadu_si128(half.as_ptr().cast()) })
    }

    #[inline(always)]
    unsafe fn times(self, [low, high]: [__m128i; 2]) -> Ssse3 {
        // SAFETY: the processor has the instructions.
        Ssse3(unsafe {
            let half = _mm_set1_epi8(0x0f);
            let lower = _mm_and_si128(self.0, half);
            let upper = _mm_and_si128(_mm_srli_epi64(self.0, 4), half);
            _mm_xor_si128(_mm_shuffle_epi8(low, lower), _mm_shuffle_epi8(high, upper))
        })
    }
}

impl Lanes for Avx2 {
    /// Products of the lower and of the upper half of a byte, twice each: a shuffle stays within 16
    /// bytes.
    type Factor = [__m256i; 2];

    #[inline(always)]
    unsafe fn double(self) -> Avx2 {
        // SAFETY: the processor has the instructions.
        Avx2(unsafe {
            let leaving = _mm256_cmpgt_epi8(_mm256_setzero_si256(), self.0);
            let less = _mm256_and_si256(leaving, _mm256_set1_epi8(POLYNOMIAL as i8));
            _mm256_xor_si256(_mm256_add_epi8(self.0, self.0), less)
        })
    }

    #[inline(always)]
    unsafe fn factor(element: u8) -> [__m256i; 2] {
        // SAFETY: the arrays have the 16 bytes that are loaded.
        halves(element)
            .map(|half| unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(half.as_ptr().cast())) })
    }

    #[inline(always)]
    unsafe fn times(self, [low, high]: [__m256i; 2]) -> Avx2 {
        // SAFETY: the processor has the instructions.
        Avx2(unsafe {
            let half = _mm256_set1_epi8(0x0f);
            let lower = _mm256_and_si256(self.0, half);
            let upper = _mm256_and_si256(_mm256_srli_epi64(self.0, 4), half);
            _mm256_xor_si256(_mm256_shuffle_epi8(low, lower), _mm256_shuffle_epi8(high, upper))
        })
    }
}

impl Lanes for Avx512 {
    /// Products of the lower and of the upper half of a byte, four times each: a shuffle stays
    /// within 16 bytes.
    type Factor = [__m512i; 2];

    #[inline(always)]
    unsafe fn double(self) -> Avx512 {
        // SAFETY: the processor has the instructions.
        Avx512(unsafe {
            let leaving = _mm512_movepi8_mask(self.0);
            let less = _mm512_maskz_set1_epi8(leaving, POLYNOMIAL as i8);
            _mm512_xor_si512(_mm512_add_epi8(self.0, self.0), less)
        })
    }

    #[inline(always)]
    unsafe fn factor(element: u8) -> [__m512i; 2] {
        // SAFETY: the arrays have the 16 bytes that are loaded.
        halves(element).map(|half| unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(half.as_ptr().cast())) })
    }

    #[inline(always)]
    unsafe fn times(self, [low, high]: [__m512i; 2]) -> Avx512 {
        // SAFETY: the processor has the instructions.
        Avx512(unsafe {
            let half = _mm512_set1_epi8(0x0f);
            let lower = _mm512_and_si512(self.0, half);
            let upper = _mm512_and_si512(_mm512_srli_epi64::<4>(self.0), half);
            _mm512_xor_si512(_mm512_shuffle_epi8(low, lower), _mm512_shuffle_epi8(high, upper))
        })
    }
}

/// Multiplying by the instructions for Galois fields, by their names.
macro_rules! affine_lanes {
    ($name:ident, $inner:ty, $matrices:ident, $times:ident) => {
        impl Lanes for $name {
            type Factor = $inner;

            #[inline(always)]
            unsafe fn double(self) -> $name {
                // SAFETY: the processor has the instructions.
                unsafe { self.times($matrices(const { affine(2) })) }
            }

            #[inline(always)]
            unsafe fn quadruple(self) -> $name {
                // SAFETY: the processor has the instructions.
                unsafe { self.times($matrices(const { affine(4) })) }
            }

            #[inline(always)]
            unsafe fn factor(element: u8) -> $inner {
                // SAFETY: the processor has the instruction.
                unsafe { $matrices(affine(element)) }
            }

            #[inline(always)]
            unsafe fn times(self, matrix: $inner) -> $name {
                // SAFETY: the processor has the instruction.
                $name(unsafe { $times::<0>(self.0, matrix) })
            }
        }
    };
}

affine_lanes!(GfniAvx2, __m256i, _mm256_set1_epi64x, _mm256_gf2p8affine_epi64_epi8);
affine_lanes!(GfniAvx512, __m512i, _mm512_set1_epi64, _mm512_gf2p8affine_epi64_epi8);

/// The loop compiled for a set of instructions.
macro_rules! compiled {
    ($name:ident, $features:literal, $lanes:ident, $at_once:literal) => {
        /// # Safety
        ///
        /// The processor has the instructions, and the job has passed [`Job::check`] with this
        /// mask.
        #[target_feature(enable = $features)]
        pub unsafe fn $name(mask: u8, job: Job<'_>) {
            // SAFETY: the caller's promise.
            unsafe { kernel::run::<$lanes, $at_once>(mask, job) }
        }
    };
}

// As many registers at once as leave some for constants: the older sets have sixteen, the newer
// thirty-two.
compiled!(run_ssse3, "ssse3", Ssse3, 2);
compiled!(run_avx2, "avx2", Avx2, 2);
compiled!(run_avx512, "avx512f,avx512bw", Avx512, 4);
compiled!(run_gfni_avx2, "avx2,gfni", GfniAvx2, 4);
compiled!(run_gfni_avx512, "avx512f,avx512bw,gfni", GfniAvx512, 4);
