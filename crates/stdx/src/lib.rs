//! Small tools that every layer may use and that know nothing of storage.
//!
//! Invariants: nothing here does I/O, reads a clock or allocates more than it is told to.

pub mod behalf;
pub mod bits;
pub mod bounded;
pub mod call;
pub mod cursor;
pub mod mark;
pub mod names;
pub mod number;
pub mod octal;
pub mod os_error;
pub mod panics;
pub mod patience;
pub mod posix;
pub mod premise;
pub mod prng;
pub mod scoped;
pub mod span;
pub mod trail;
