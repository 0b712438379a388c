//! The engine through its public interface: a file system on an object set in memory, beside the oracle.

mod basics;
mod bench;
mod random;
