//! GF(2⁸) as RAID-Z defines it: polynomials over bits modulo x⁸ + x⁴ + x³ + x² + 1, in which 2
//! generates all but zero.

use super::MAX_PARITY;

/// What doubling subtracts when the highest bit leaves: the polynomial without x⁸.
pub const POLYNOMIAL: u8 = 0x1d;

/// A square matrix of at most [`MAX_PARITY`] rows.
pub type Matrix = [[u8; MAX_PARITY]; MAX_PARITY];

pub const fn double(a: u8) -> u8 {
    (a << 1) ^ if a & 0x80 != 0 { POLYNOMIAL } else { 0 }
}

/// The product of two elements.
pub const fn times(mut a: u8, mut b: u8) -> u8 {
    let mut product = 0;
    while b != 0 {
        if b & 1 != 0 {
            product ^= a;
        }
        a = double(a);
        b >>= 1;
    }
    product
}

/// `base` multiplied with itself so many times.
pub fn power(base: u8, exponent: usize) -> u8 {
    // The order of every element divides 255.
    (0..exponent % 255).fold(1, |product, _| times(product, base))
}

fn inverse(a: u8) -> u8 {
    power(a, 254)
}

/// Row `i` says how the `i`-th lost column is made of the sums that `parities` (by number, P is 0)
/// stand for. `exponents` are the powers with which the lost columns count; there are as many as
/// parities, all different.
pub fn solution(parities: &[usize], exponents: &[usize]) -> Matrix {
    let n = parities.len();
    // Equation by equation, the factors of the lost columns; beside them the unit matrix, which
    // becomes the inverse.
    let mut left: Matrix = [[0; MAX_PARITY]; MAX_PARITY];
    let mut right: Matrix = [[0; MAX_PARITY]; MAX_PARITY];
    for row in 0..n {
        for column in 0..n {
            left[row][column] = power(1 << parities[row], exponents[column]);
        }
        right[row][row] = 1;
    }
    for pivot in 0..n {
        let found = (pivot..n).find(|&row| left[row][pivot] != 0).expect("the equations are independent");
        left.swap(pivot, found);
        right.swap(pivot, found);
        let scale = inverse(left[pivot][pivot]);
        for column in 0..n {
            left[pivot][column] = times(left[pivot][column], scale);
            right[pivot][column] = times(right[pivot][column], scale);
        }
        for row in (0..n).filter(|&row| row != pivot) {
            let factor = left[row][pivot];
            for column in 0..n {
                left[row][column] ^= times(left[pivot][column], factor);
                right[row][column] ^= times(right[pivot][column], factor);
            }
        }
    }
    right
}
