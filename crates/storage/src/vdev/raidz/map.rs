//! Where the columns of a block lie.
//!
//! Five disks, two parities, blocks A (8 data sectors), B (1) and C (3); letters with numbers are
//! data, `·` fills up:
//!
//! ```text
//!            disk 0   disk 1   disk 2   disk 3   disk 4
//!   row 0     A.P      A.Q      A0       A3       A6          A's columns: P  Q  0–2  3–5  6–7
//!   row 1     A.P      A.Q      A1       A4       A7
//!   row 2     A.P      A.Q      A2       A5        ·          14 sectors, filled up to 15
//!   row 3     B.P      B.Q      B0       C.P      C.Q
//!   row 4     C0       C1       C2        ·       …            5 sectors, filled up to 6
//! ```
//! With one parity, P and the first data column change places in every other MiB, a habit of the
//! format's first version that was meant to spread reads.
//!
//! Facts: module/zfs/vdev_raidz.c (`vdev_raidz_map_alloc`).

use super::Raidz;

/// Offsets with this bit have the first two columns exchanged, where there is one parity.
const EXCHANGED: u64 = 1 << 20;

/// A column: its bytes on one child.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// Index among the vdev's children.
    pub child: usize,
    /// In the child's allocatable space.
    pub offset: u64,
    pub len: usize,
}

/// The columns of a block of `len` bytes (whole sectors, at least one) at `offset`: parities, then
/// data. None is longer than the one before.
pub fn places(raidz: Raidz, offset: u64, len: usize) -> Vec<Place> {
    let Raidz { parity, width, ashift, .. } = raidz;
    let (first, sectors) = (offset >> ashift, len >> ashift);
    assert!(sectors > 0 && len.is_multiple_of(1 << ashift), "{len} bytes are not whole sectors");
    let rows = sectors / (width - parity);
    let rest = sectors % (width - parity);
    // Columns that have a sector more than the others.
    let longer = if rest == 0 { 0 } else { rest + parity };
    let columns = if rows == 0 { longer } else { width };
    let place = |column: usize| {
        let at = first + column as u64;
        Place {
            child: (at % width as u64) as usize,
            offset: (at / width as u64) << ashift,
            len: (rows + usize::from(column < longer)) << ashift,
        }
    };
    let mut places: Vec<Place> = (0..columns).map(place).collect();
    if parity == 1 && offset & EXCHANGED != 0 {
        places.swap(0, 1);
    }
    places
}
