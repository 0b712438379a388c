//! Who knows which blocks of a pool are stored already, and how many pointers lead to each: a
//! [`DedupSource`], which keeps that in objects. When it is asked is [`crate::zio::dedup`]'s
//! business.

use ondisk::ddt::{DdtKey, Slot};
use ondisk::{BlkPtr, ChecksumKind};

/// What a block is known by. Blocks written with another number of copies are other blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DedupName {
    pub checksum: ChecksumKind,
    pub key: DdtKey,
    pub copies: u8,
}

/// What is known of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Found {
    /// It is stored.
    There(Slot),
    New,
    /// It cannot be told, and nothing can be noted of it.
    Unknown,
}

/// Knows what is stored. Asked in syncing context only, from one thread.
pub trait DedupSource: Send + Sync {
    /// Where each of these blocks lies, if it is stored.
    fn find(&self, names: &[DedupName]) -> Vec<Found>;

    /// So many pointers more lead to a block that was found.
    fn refer(&self, name: &DedupName, references: u64);

    /// A new block was written, and so many pointers lead to it.
    fn add(&self, name: &DedupName, bp: &BlkPtr, references: u64);
}
