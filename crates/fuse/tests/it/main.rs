//! Real system calls on a real mount of the model. Needs root and /dev/fuse, and fails without.

mod fixture;
mod identity;
mod life;
mod mapped;
mod posix;

/// Whether requests are to come over io_uring.
const WANTS_RINGS: bool = false;
