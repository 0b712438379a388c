//! DMU object types: what an object holds, as one byte of its dnode and of its block pointers.
//!
//! Types 0 to 53 are the old enumeration, listed once in the table below. Every later type is
//! described by its own bits (`DMU_OTN_*`), so that software that does not know it can still swap,
//! cache and encrypt it:
//!
//! ```text
//!    7     6          5           4        0
//!  +-----+----------+-----------+----------+
//!  |  1  | metadata | encrypted | byteswap |
//!  +-----+----------+-----------+----------+
//! ```
//! Sources: include/sys/dmu.h, module/zfs/dmu.c (`dmu_ot`).

use crate::kinds::kinds;

kinds! {
    /// How the numbers inside a block of some type are swapped, when it was written in the other
    /// byte order.
    Byteswap {
        U8 = 0 "uint8", U16 = 1 "uint16", U32 = 2 "uint32", U64 = 3 "uint64", Zap = 4 "zap",
        Dnode = 5 "dnode", Objset = 6 "objset", Znode = 7 "znode", OldAcl = 8 "oldacl", Acl = 9 "acl",
    }
}

/// An object type as it stands on disk; any byte is representable, [`ObjectType::is_valid`] tells
/// the known ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ObjectType(pub u8);

struct Info {
    name: &'static str,
    byteswap: Byteswap,
    metadata: bool,
    encrypted: bool,
}

macro_rules! yes {
    (meta) => {
        true
    };
    (enc) => {
        true
    };
    ($other:ident) => {
        false
    };
}

macro_rules! object_types {
    ($($number:literal $name:ident $swap:ident $meta:ident $enc:ident $text:literal;)*) => {
        /// Every type of the old enumeration, under its name without `DMU_OT_`.
        impl ObjectType {
            $(pub const $name: ObjectType = ObjectType($number);)*
        }

        const OLD_TYPES: [Info; ObjectType::OLD_COUNT as usize] = [$(Info {
            name: $text,
            byteswap: Byteswap::$swap,
            metadata: yes!($meta),
            encrypted: yes!($enc),
        }),*];

        #[cfg(test)]
        const NUMBERS: [u8; ObjectType::OLD_COUNT as usize] = [$($number),*];
    };
}

object_types! {
     0 NONE U8 meta plain "unallocated";
     1 OBJECT_DIRECTORY Zap meta plain "object directory";
     2 OBJECT_ARRAY U64 meta plain "object array";
     3 PACKED_NVLIST U8 meta plain "packed nvlist";
     4 PACKED_NVLIST_SIZE U64 meta plain "packed nvlist size";
     5 BPOBJ U64 meta plain "bpobj";
     6 BPOBJ_HDR U64 meta plain "bpobj header";
     7 SPACE_MAP_HEADER U64 meta plain "SPA space map header";
     8 SPACE_MAP U64 meta plain "SPA space map";
     9 INTENT_LOG U64 meta enc "ZIL intent log";
    10 DNODE Dnode meta enc "DMU dnode";
    11 OBJSET Objset meta plain "DMU objset";
    12 DSL_DIR U64 meta plain "DSL directory";
    13 DSL_DIR_CHILD_MAP Zap meta plain "DSL directory child map";
    14 DSL_DS_SNAP_MAP Zap meta plain "DSL dataset snap map";
    15 DSL_PROPS Zap meta plain "DSL props";
    16 DSL_DATASET U64 meta plain "DSL dataset";
    17 ZNODE Znode meta plain "ZFS znode";
    18 OLDACL OldAcl meta enc "ZFS V0 ACL";
    19 PLAIN_FILE_CONTENTS U8 data enc "ZFS plain file";
    20 DIRECTORY_CONTENTS Zap meta enc "ZFS directory";
    21 MASTER_NODE Zap meta plain "ZFS master node";
    22 UNLINKED_SET Zap meta enc "ZFS delete queue";
    23 ZVOL U8 data enc "zvol object";
    24 ZVOL_PROP Zap meta plain "zvol prop";
    25 PLAIN_OTHER U8 data enc "other uint8[]";
    26 UINT64_OTHER U64 data enc "other uint64[]";
    27 ZAP_OTHER Zap meta plain "other ZAP";
    28 ERROR_LOG Zap meta plain "persistent error log";
    29 SPA_HISTORY U8 meta plain "SPA history";
    30 SPA_HISTORY_OFFSETS U64 meta plain "SPA history offsets";
    31 POOL_PROPS Zap meta plain "Pool properties";
    32 DSL_PERMS Zap meta plain "DSL permissions";
    33 ACL Acl meta enc "ZFS ACL";
    34 SYSACL U8 meta enc "ZFS SYSACL";
    35 FUID U8 meta enc "FUID table";
    36 FUID_SIZE U64 meta plain "FUID table size";
    37 NEXT_CLONES Zap meta plain "DSL dataset next clones";
    38 SCAN_QUEUE Zap meta plain "scan work queue";
    39 USERGROUP_USED Zap meta enc "ZFS user/group/project used";
    40 USERGROUP_QUOTA Zap meta enc "ZFS user/group/project quota";
    41 USERREFS Zap meta plain "snapshot refcount tags";
    42 DDT_ZAP Zap meta plain "DDT ZAP algorithm";
    43 DDT_STATS Zap meta plain "DDT statistics";
    44 SA U8 meta enc "System attributes";
    45 SA_MASTER_NODE Zap meta enc "SA master node";
    46 SA_ATTR_REGISTRATION Zap meta enc "SA attr registration";
    47 SA_ATTR_LAYOUTS Zap meta enc "SA attr layouts";
    48 SCAN_XLATE Zap meta plain "scan translations";
    49 DEDUP U8 data enc "deduplicated block";
    50 DEADLIST Zap meta plain "DSL deadlist map";
    51 DEADLIST_HDR U64 meta plain "DSL deadlist map hdr";
    52 DSL_CLONES Zap meta plain "DSL dir clones";
    53 BPOBJ_SUBOBJ U64 meta plain "bpobj subobj";
}

const NEW_TYPE: u8 = 0x80;
const NEW_METADATA: u8 = 0x40;
const NEW_ENCRYPTED: u8 = 0x20;
const NEW_BYTESWAP_MASK: u8 = 0x1f;

impl ObjectType {
    /// Types 0 to 53 are the old enumeration (`DMU_OT_NUMTYPES`).
    pub const OLD_COUNT: u8 = 54;

    /// A type described by its properties (`DMU_OT()`).
    pub const fn new_style(byteswap: Byteswap, metadata: bool, encrypted: bool) -> ObjectType {
        let metadata = if metadata { NEW_METADATA } else { 0 };
        let encrypted = if encrypted { NEW_ENCRYPTED } else { 0 };
        ObjectType(NEW_TYPE | metadata | encrypted | byteswap as u8)
    }

    pub const OTN_UINT8_DATA: ObjectType = ObjectType::new_style(Byteswap::U8, false, false);
    pub const OTN_UINT8_METADATA: ObjectType = ObjectType::new_style(Byteswap::U8, true, false);
    pub const OTN_UINT64_METADATA: ObjectType = ObjectType::new_style(Byteswap::U64, true, false);
    pub const OTN_ZAP_METADATA: ObjectType = ObjectType::new_style(Byteswap::Zap, true, false);

    /// Described by its own bits rather than by the table.
    pub const fn is_new_style(self) -> bool {
        self.0 & NEW_TYPE != 0
    }

    /// A type this format knows (`DMU_OT_IS_VALID`). The other questions answer for an unknown type
    /// as they do for opaque metadata bytes.
    pub const fn is_valid(self) -> bool {
        if self.is_new_style() {
            Byteswap::from_raw(self.0 & NEW_BYTESWAP_MASK).is_some()
        } else {
            self.0 < ObjectType::OLD_COUNT
        }
    }

    fn old(self) -> Option<&'static Info> {
        OLD_TYPES.get(usize::from(self.0))
    }

    pub fn byteswap(self) -> Byteswap {
        if self.is_new_style() {
            Byteswap::from_raw(self.0 & NEW_BYTESWAP_MASK).unwrap_or(Byteswap::U8)
        } else {
            self.old().map_or(Byteswap::U8, |info| info.byteswap)
        }
    }

    /// Kept in more copies than file contents, compressed and checksummed as metadata.
    pub fn is_metadata(self) -> bool {
        if self.is_new_style() {
            self.0 & NEW_METADATA != 0
        } else {
            self.old().is_none_or(|info| info.metadata)
        }
    }

    /// Encrypted in an encrypted dataset.
    pub fn is_encrypted(self) -> bool {
        if self.is_new_style() {
            self.0 & NEW_ENCRYPTED != 0
        } else {
            self.old().is_some_and(|info| info.encrypted)
        }
    }

    pub fn is_zap(self) -> bool {
        self.byteswap() == Byteswap::Zap
    }

    /// Its level-0 block pointers carry a fill count other than 1 (`DMU_OT_HAS_FILL`), so they
    /// cannot be embedded.
    pub fn has_fill(self) -> bool {
        self == ObjectType::DNODE || self == ObjectType::OBJSET
    }

    /// The name `zdb` prints.
    pub fn name(self) -> &'static str {
        if !self.is_new_style() {
            return self.old().map_or("unknown", |info| info.name);
        }
        if self.is_valid() { self.byteswap().name() } else { "unknown" }
    }
}

impl std::fmt::Debug for ObjectType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}

/// The names in the pool's object directory, a ZAP that is object 1 of the meta object set.
pub mod pool_directory {
    /// The directory itself.
    pub const OBJECT: u64 = 1;
    /// The root DSL directory.
    pub const ROOT_DATASET: &str = "root_dataset";
    /// Packed nvlist: the configuration.
    pub const CONFIG: &str = "config";
    /// Frees deferred to the next transaction group.
    pub const SYNC_BPOBJ: &str = "sync_bplist";
    /// Blocks of destroyed snapshots, still to be freed.
    pub const FREE_BPOBJ: &str = "free_bpobj";
    /// Trees of destroyed datasets, still to be freed.
    pub const BPTREE_OBJ: &str = "bptree_obj";
    /// The one empty list all empty dead lists share.
    pub const EMPTY_BPOBJ: &str = "empty_bpobj";
    /// ZAP: feature guid → reference count.
    pub const FEATURES_FOR_READ: &str = "features_for_read";
    /// The same for features that matter to writers only.
    pub const FEATURES_FOR_WRITE: &str = "features_for_write";
    /// ZAP: feature guid → words.
    pub const FEATURE_DESCRIPTIONS: &str = "feature_descriptions";
    /// ZAP: feature guid → transaction group.
    pub const FEATURE_ENABLED_TXG: &str = "feature_enabled_txg";
    pub const ERRLOG_SCRUB: &str = "errlog_scrub";
    pub const ERRLOG_LAST: &str = "errlog_last";
    pub const SPARES: &str = "spares";
    pub const L2CACHE: &str = "l2cache";
    /// 1: space is accounted deflated (RAID-Z parity left out).
    pub const DEFLATE: &str = "deflate";
    pub const HISTORY: &str = "history";
    pub const PROPS: &str = "pool_props";
    pub const TMP_USERREFS: &str = "tmp_userrefs";
    pub const CREATION_VERSION: &str = "creation_version";
    pub const SCAN: &str = "scan";
    pub const ERRORSCRUB: &str = "error_scrub";
    pub const LAST_SCRUBBED_TXG: &str = "last_scrubbed_txg";
    pub const DDT_STATS: &str = "DDT-statistics";
    pub const CHECKSUM_SALT: &str = "org.illumos:checksum_salt";
    pub const VDEV_ZAP_MAP: &str = "com.delphix:vdev_zap_map";
    pub const REMOVING: &str = "com.delphix:removing";
    pub const OBSOLETE_BPOBJ: &str = "com.delphix:obsolete_bpobj";
    pub const CONDENSING_INDIRECT: &str = "com.delphix:condensing_indirect";
    pub const ZPOOL_CHECKPOINT: &str = "com.delphix:zpool_checkpoint";
    /// ZAP: transaction group → log space map.
    pub const LOG_SPACEMAP_ZAP: &str = "com.delphix:log_spacemap_zap";
    pub const DELETED_CLONES: &str = "com.delphix:deleted_clones";
}

#[cfg(test)]
mod tests;
