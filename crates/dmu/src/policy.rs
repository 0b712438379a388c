//! How blocks of each kind are to be written: checksum, compression, copies. Sources:
//! `dmu_write_policy` in module/zfs/dmu.c; spa_misc.c (`spa_max_replication`), dnode.c
//! (`dnode_diduse_space`) for old pools.

use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetSize;
use ondisk::{ChecksumKind, CompressKind, version};

use crate::store::{Dedup, Keep, WritePolicy};

/// Levels from which on `redundant_metadata=most` keeps one more copy.
const MOST_DITTO_LEVEL: u8 = 2;
/// Copies a block pointer has room for.
const MAX_COPIES: u8 = 3;

/// Which metadata gets one copy more than data (property `redundant_metadata`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedundantMetadata {
    All,
    Most,
    Some,
    None,
}

/// The properties and features an object set is written by. `On` and `Inherit` are resolved by
/// whoever sets it, except in dnodes of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObjsetPolicy {
    pub checksum: ChecksumKind,
    pub compression: CompressKind,
    pub complevel: i32,
    /// Of data, 1 to 3.
    pub copies: u8,
    /// Of anything, metadata too.
    pub max_copies: u8,
    pub redundant_metadata: RedundantMetadata,
    /// What metadata is compressed with: lz4, or lzjb in a pool without feature lz4_compress.
    pub metadata_compression: CompressKind,
    /// Block size of new files, in bytes.
    pub recordsize: u32,
    /// Slots of new dnodes where the caller has no wish, 1 to 32.
    pub dnode_slots: u8,
    /// Small compressed blocks go into the block pointer (feature embedded_data).
    pub embedded_data: bool,
    /// Holes remember when they were punched (feature hole_birth).
    pub hole_birth: bool,
    /// How large the object set's block may become.
    pub objset_size: ObjsetSize,
    /// The space of an object is counted in bytes; in sectors before.
    pub used_in_bytes: bool,
    /// Space is counted by user and group.
    pub account_space: bool,
    /// So are objects (feature userobj_accounting).
    pub account_objects: bool,
    /// And both by project (feature project_quota).
    pub account_projects: bool,
    /// What caches may have of it (properties primarycache and secondarycache).
    pub keep: Keep,
    /// Bytes up to which data goes to special vdevs.
    pub special_small: u64,
    /// Whether data that is stored already is to be found, and by which checksum; that one data
    /// then has.
    pub dedup: Option<(ChecksumKind, Dedup)>,
}

impl ObjsetPolicy {
    /// Of the meta object set of a new pool, with all the features this program has.
    pub fn meta() -> ObjsetPolicy {
        ObjsetPolicy {
            checksum: ChecksumKind::Fletcher4,
            compression: CompressKind::Lz4,
            complevel: 0,
            copies: MAX_COPIES,
            max_copies: MAX_COPIES,
            redundant_metadata: RedundantMetadata::All,
            metadata_compression: CompressKind::Lz4,
            recordsize: 128 << 10,
            dnode_slots: 1,
            embedded_data: true,
            hole_birth: true,
            objset_size: ObjsetSize::V3,
            used_in_bytes: true,
            account_space: false,
            account_objects: false,
            account_projects: false,
            keep: Keep::ALL,
            special_small: 0,
            dedup: None,
        }
    }

    /// Of a file system with default properties in such a pool.
    pub fn dataset() -> ObjsetPolicy {
        ObjsetPolicy {
            compression: CompressKind::Lz4,
            copies: 1,
            account_space: true,
            account_objects: true,
            account_projects: true,
            ..ObjsetPolicy::meta()
        }
    }

    /// The same without what pools of this version do not have.
    pub fn of_pool(self, pool: u64) -> ObjsetPolicy {
        let spenders = pool >= version::USERSPACE;
        ObjsetPolicy {
            max_copies: if pool >= version::COPIES { self.max_copies } else { 1 },
            objset_size: if spenders { self.objset_size } else { ObjsetSize::V1 },
            used_in_bytes: self.used_in_bytes && pool >= version::DEFLATE,
            account_space: self.account_space && spenders,
            ..self
        }
    }

    /// For a block of an object. `own` are the object's own checksum and compression (`Inherit` as
    /// a rule); `spill` says that it is a spill block, whose type is then that of the bonus.
    pub(crate) fn block(&self, what: BlockKind, fill: u64) -> WritePolicy {
        let kind = what.object_type;
        let metadata = what.level > 0 || kind.is_metadata() || what.spill;
        let (checksum, compression) = if metadata {
            (self.metadata_checksum(), self.metadata_compression)
        } else {
            self.of_data(what.own)
        };
        let extra = metadata && self.extra_copy(what);
        let (checksum, dedup) = match self.dedup {
            Some(found_by) if !metadata => found_by,
            _ => (checksum, Dedup::Off),
        };
        WritePolicy {
            object_type: kind.0,
            level: what.level,
            checksum,
            compression,
            complevel: if metadata { 0 } else { self.complevel },
            copies: (self.copies + u8::from(extra)).min(self.max_copies),
            embed: self.embedded_data && what.level == 0 && !kind.has_fill(),
            is_metadata: metadata,
            small: if kind == ObjectType::PLAIN_FILE_CONTENTS { self.special_small } else { 0 },
            authenticated: false,
            fill,
            keep: self.keep,
            dedup,
        }
    }

    /// The data's checksum where it is good enough for metadata, else fletcher4.
    fn metadata_checksum(&self) -> ChecksumKind {
        use ChecksumKind::{Blake3, EdonR, Fletcher4, Sha256, Sha512, Skein};
        match self.checksum {
            Sha256 | Sha512 | Skein | EdonR | Blake3 => self.checksum,
            _ => Fletcher4,
        }
    }

    fn of_data(&self, own: (u8, u8)) -> (ChecksumKind, CompressKind) {
        let checksum = match ChecksumKind::from_raw(own.0) {
            None | Some(ChecksumKind::Inherit) => self.checksum,
            Some(ChecksumKind::On) => ChecksumKind::Fletcher4,
            Some(kind) => kind,
        };
        let compression = match CompressKind::from_raw(own.1) {
            None | Some(CompressKind::Inherit) => self.compression,
            Some(CompressKind::On) => self.metadata_compression,
            Some(kind) => kind,
        };
        (checksum, compression)
    }

    fn extra_copy(&self, what: BlockKind) -> bool {
        let kind = what.object_type;
        match self.redundant_metadata {
            RedundantMetadata::All => true,
            RedundantMetadata::Most => what.level >= MOST_DITTO_LEVEL || kind.is_metadata() || what.spill,
            RedundantMetadata::Some => {
                kind.is_metadata()
                    && (kind != ObjectType::DNODE || what.level > 0)
                    && kind != ObjectType::DIRECTORY_CONTENTS
                    && kind != ObjectType::SA
            }
            RedundantMetadata::None => false,
        }
    }
}

/// What a block is, as far as its policy goes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BlockKind {
    pub object_type: ObjectType,
    pub level: u8,
    pub spill: bool,
    pub own: (u8, u8),
}

#[cfg(test)]
mod tests;
