//! The seam below: what this crate asks of storage, so that objects can be tested without disks.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use env::{AlignedBuf, IoClass};
use ondisk::{BlkPtr, ChecksumKind, CompressKind, Endian};

// Stand-ins until crate storage publishes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Txg(pub u64);
pub const TXG_SIZE: usize = 4;
#[derive(Debug, Clone)]
pub struct Block {
    data: AlignedBuf,
    endian: Endian,
}
impl Block {
    pub fn new(data: AlignedBuf, endian: Endian) -> Block {
        Block { data, endian }
    }
    pub fn zeroed(len: usize) -> Block {
        Block { data: AlignedBuf::zeroed(len), endian: Endian::Little }
    }
    pub fn from_slice(data: &[u8]) -> Block {
        Block { data: AlignedBuf::from_slice(data), endian: Endian::Little }
    }
    pub fn endian(&self) -> Endian {
        self.endian
    }
}
impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.data
    }
}
impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.data
    }
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReadError {
    Checksum,
    Io,
    Corrupt,
    Unsupported,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteError {
    NoSpace,
    Io,
    Suspended,
}
pub struct WriteItem {
    pub data: Arc<Block>,
    pub policy: WritePolicy,
    pub rewrite: Option<BlkPtr>,
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WritePolicy {
    pub object_type: u8,
    pub level: u8,
    pub checksum: ChecksumKind,
    pub compression: CompressKind,
    pub complevel: i32,
    pub copies: u8,
    pub embed: bool,
    pub is_metadata: bool,
    pub fill: u64,
}

/// Blocks by pointer. `storage::Storage` is the real one.
pub trait BlockStore: Send + Sync {
    /// The block, decoded. Never called for holes; embedded pointers are fine.
    fn read(&self, bp: &BlkPtr, class: IoClass) -> Result<Arc<Block>, ReadError>;

    /// As [`BlockStore::read`], all issued together; answers in the order asked.
    fn read_many(&self, bps: &[BlkPtr], class: IoClass) -> Vec<Result<Arc<Block>, ReadError>>;

    /// The block if that needs no disk.
    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>>;

    /// A hint that these will be read soon; may be dropped.
    fn prefetch(&self, bps: Vec<BlkPtr>);

    /// While the answer lives, space freed from now on is not reused: clean pointers stay readable.
    fn epoch(&self) -> Box<dyn Send>;

    /// Compresses, places and writes a batch; answers in the order given. Syncing context only.
    fn write_batch(&self, items: Vec<WriteItem>, txg: Txg) -> Vec<Result<BlkPtr, WriteError>>;

    /// Bytes a block occupies as `used` counts them, all copies together (`bp_get_dsize_sync`).
    fn dsize(&self, bp: &BlkPtr) -> u64;
}
