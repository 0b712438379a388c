//! What a walk hands to those that write the stream.

use ondisk::BlkPtr;
use ondisk::dnode::DnodePhys;

/// Something that is to be sent.
pub(super) enum Item {
    Object(u64, Box<DnodePhys>),
    /// Numbers that are no objects.
    FreeObjects {
        first: u64,
        count: u64,
    },
    /// Bytes of an object that are zero.
    Free {
        object: u64,
        offset: u64,
        length: u64,
    },
    Data {
        object: u64,
        kind: u8,
        blkid: u64,
        bp: BlkPtr,
    },
    Spill {
        object: u64,
        bp: BlkPtr,
    },
}

impl Item {
    pub fn bytes(&self) -> u64 {
        self.block().map_or(0, BlkPtr::lsize)
    }

    /// The block to be read for it.
    pub fn block(&self) -> Option<&BlkPtr> {
        match self {
            Item::Data { bp, .. } | Item::Spill { bp, .. } => Some(bp),
            _ => None,
        }
    }
}
