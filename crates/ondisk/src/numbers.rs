//! Numbers of one size in a row, turned from the other byte order.
//!
//! Any bytes can be turned: what is left behind the last whole number stays as it is.

/// Turns each number of `N` bytes round, in place.
pub(crate) fn swap_numbers<const N: usize>(bytes: &mut [u8]) {
    for number in bytes.as_chunks_mut::<N>().0 {
        number.reverse();
    }
}
