//! OpenZFS's bytes on disk: every magic, offset, enum value and bit, and nothing else. The words of
//! properties and their numbers are in `api-types`.
//!
//! Invariants:
//! - No I/O and no state. Bytes come in as slices and go out as arrays or vectors.
//! - Decoding is total and bounded: any input gives `Ok` or [`Malformed`], never a panic, and never
//!   allocates more than the input's own size justifies.
//! - Encoding then decoding gives the same value; decoding then encoding what OpenZFS wrote gives
//!   the same bytes.
//! - Numbers are written little endian; both orders are read. A block of a tree is swapped as a
//!   whole ([`byteswap`]) before it is decoded; what tells its order itself (labels, logs, streams)
//!   is decoded in it.
//! - Checksums are not computed here (that is `codec`), except the CRC of a partition table: this
//!   crate says where they lie and what they cover.

pub mod blkptr;
pub mod bookmark;
pub mod bpobj;
pub mod bptree;
pub mod byteswap;
pub mod ddt;
pub mod deadlist;
pub mod deleg;
pub mod dnode;
pub mod dsl_dataset;
pub mod dsl_dir;
pub mod eck;
pub mod feature;
pub mod foreign;
pub mod gang;
pub mod gpt;
pub mod indirect;
pub mod initialize;
mod kinds;
pub mod l2arc;
pub mod label;
pub mod malformed;
mod numbers;
pub mod nvlist;
pub mod object_type;
pub mod objset;
pub mod prop;
pub mod rebuild;
pub mod sa;
pub mod scan;
pub mod send;
pub mod spa_history;
pub mod spacemap;
pub mod trim;
pub mod uberblock;
pub mod version;
mod words;
pub mod zap;
pub mod zbookmark;
pub mod zil;
pub mod znode;
pub mod zvol;

pub use blkptr::{BlkPtr, ChecksumKind, CompressKind, Dva};
pub use malformed::{Endian, Malformed};
