//! A volume: an object set of two objects.
//!
//! ```text
//!   1  type 23, blocks of the volume's block size: the bytes, from 0 to the size
//!   2  type 24, a ZAP with one entry, "size": the size in bytes, a multiple of the block size
//! ```
//! Nothing says that a block behind the end must be free: a crash may come between a new size and
//! the freeing.
//!
//! Sources: include/sys/zvol.h, `zvol_create_cb` in module/zfs/zvol.c.

/// The object with the bytes.
pub const DATA: u64 = 1;
/// The ZAP.
pub const PROPS: u64 = 2;
/// Its one name.
pub const SIZE: &str = "size";
