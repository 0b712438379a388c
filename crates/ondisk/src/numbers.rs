//! Numbers turned from the other byte order, in a row or at known places.

/// Turns the numbers at these places round, each with its length, in place. All are within `bytes`.
pub(crate) fn swap_fields(bytes: &mut [u8], fields: &[(usize, usize)]) {
    for &(at, len) in fields {
        bytes[at..at + len].reverse();
    }
}

/// Turns each number of `N` bytes round, in place. Any bytes can be turned: what is left behind the
/// last whole number stays as it is.
pub(crate) fn swap_numbers<const N: usize>(bytes: &mut [u8]) {
    for number in bytes.as_chunks_mut::<N>().0 {
        number.reverse();
    }
}
