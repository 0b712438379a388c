//! Switches that ask for a rare path. Off in production; tests and the simulator turn them on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The closed list of rare paths one may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(usize)]
pub enum Quirk {
    /// Allocate as if no large extent were left, so that blocks become gang blocks.
    ForceGang,
    /// Close transaction groups after a few operations.
    SmallTxg,
    /// Pretend that the kernel refuses io_uring.
    NoUring,
    /// Pretend that no file system supports O_DIRECT.
    NoDirect,
    /// Give up a pool that lost more than it can, whatever its `failmode`: nobody is there to bring
    /// its disks back.
    NoOperator,
    /// Leave disks that lack something as they are.
    NoResilver,
}

const COUNT: usize = Quirk::NoResilver as usize + 1;

/// The switches of one appliance; clones share them.
#[derive(Clone, Default)]
pub struct Quirks(Arc<[AtomicBool; COUNT]>);

impl Quirks {
    pub fn is_on(&self, quirk: Quirk) -> bool {
        self.0[quirk as usize].load(Ordering::Relaxed)
    }

    pub fn set(&self, quirk: Quirk, on: bool) {
        self.0[quirk as usize].store(on, Ordering::Relaxed);
    }
}
