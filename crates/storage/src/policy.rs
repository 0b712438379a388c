//! What the layers above say about a block they want written, and what caches may keep of it.

mod keep;

use std::sync::Arc;

use ondisk::object_type::ObjectType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use crate::Block;
pub(crate) use keep::is_metadata;
pub use keep::{Keep, Scope};

/// One block to write.
#[derive(Clone)]
pub struct WriteItem {
    /// Logical bytes, a multiple of 512.
    pub data: Arc<Block>,
    pub policy: WritePolicy,
    /// A block born in this very transaction group, to be overwritten where it lies if the new
    /// bytes fit. When they do not, the new block goes elsewhere and the caller frees the old one:
    /// compare the DVAs.
    pub rewrite: Option<BlkPtr>,
    /// What is there already, of an older group: where that is the same block, it is the answer,
    /// and nothing is written (`zio/same.rs`).
    pub unless: Option<BlkPtr>,
}

/// How to write it. `checksum` and `compression` are resolved: "on" and "inherit" have been
/// replaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WritePolicy {
    /// `DMU_OT_*`.
    pub object_type: u8,
    pub level: u8,
    pub checksum: ChecksumKind,
    pub compression: CompressKind,
    /// Of zstd, as stored in the property; 0 is its default.
    pub complevel: i32,
    /// DVAs, 1 to 3.
    pub copies: u8,
    /// Whether data of at most 112 bytes may go into the pointer (feature embedded_data).
    pub embed: bool,
    pub is_metadata: bool,
    /// Bytes up to which it goes to special vdevs though it is data (property
    /// `special_small_blocks`).
    pub small: u64,
    /// The block of an encrypted object set that carries its own MACs.
    pub authenticated: bool,
    /// For the pointer's fill count.
    pub fill: u64,
    /// What caches may have.
    pub keep: Keep,
    /// Whether a block that is stored already is to be found instead of written.
    pub dedup: Dedup,
}

/// What to do with a block that may be stored already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Dedup {
    /// Write it.
    #[default]
    Off,
    /// Point to the block of the same checksum.
    On,
    /// The same, if its bytes are the same, too.
    Verify,
}

impl WritePolicy {
    /// Plain data: fletcher4, lz4, one copy.
    pub const fn data(object_type: ObjectType) -> WritePolicy {
        WritePolicy {
            object_type: object_type.0,
            level: 0,
            checksum: ChecksumKind::Fletcher4,
            compression: CompressKind::Lz4,
            complevel: 0,
            copies: 1,
            embed: false,
            is_metadata: false,
            small: 0,
            authenticated: false,
            fill: 1,
            keep: Keep::ALL,
            dedup: Dedup::Off,
        }
    }
}
