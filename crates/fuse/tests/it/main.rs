//! Real system calls on a real mount of the model. Needs root and /dev/fuse, and fails without.

mod fixture;
mod identity;
mod life;
mod posix;
