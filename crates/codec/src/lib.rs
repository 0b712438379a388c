//! Checksums, compression and parity as ZFS defines them: pure functions, no state, nothing of
//! pools or disks.
//!
//! Algorithms are chosen by the raw values that block pointers carry; [`table`] has their names and
//! properties. Hostile input gives an error, never a panic, and never writes beyond the buffer it
//! was given.

pub mod checksum;
pub mod compress;
mod edonr;
mod failure;
mod fletcher;
mod gzip;
mod lz4;
mod lzjb;
pub mod raidz;
mod skein;
pub mod table;
mod zle;
mod zstd;

pub use checksum::{Salt, Unsupported, checksum, embedded_checksum, label_checksums};
pub use compress::{compress, decompress};
pub use failure::{Corrupt, Unable};
pub use fletcher::{fletcher4_append, fletcher4_join};
