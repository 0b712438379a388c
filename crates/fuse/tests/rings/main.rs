//! The tests of `it` once more, with requests over io_uring where the kernel has it (Linux 6.14),
//! and what concerns that alone. Needs root and /dev/fuse, and fails without.

#[path = "../it/fixture.rs"]
mod fixture;
#[path = "../it/identity.rs"]
mod identity;
#[path = "../it/life.rs"]
mod life;
#[path = "../it/mapped.rs"]
mod mapped;
#[path = "../it/posix.rs"]
mod posix;
mod threads;

/// Whether requests are to come over io_uring.
const WANTS_RINGS: bool = true;
