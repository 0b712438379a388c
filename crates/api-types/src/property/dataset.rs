//! The native properties of datasets, and the words of their choices.

use super::PropType::{Choice, Limit, Number, Text};
use super::Reads::{Bytes, Count, Identifier, Ratio, Time};
use super::Setting::{Inherit, Once, OnceOwn, Own, ReadOnly};
use super::Shown::{ByName, Nowhere};
use super::{BOOLEAN, NumberRange, PropertyDef, Words, row};
use crate::DatasetKind::{self, Bookmark, Filesystem, Snapshot, Volume};

/// Bytes of a volume's blocks where nobody says (`ZVOL_DEFAULT_BLOCKSIZE` in include/sys/fs/zfs.h).
pub const DEFAULT_VOLBLOCKSIZE: u64 = 16 << 10;

/// In a number of `dedup`: bytes are compared, too.
const VERIFY: u64 = 1 << 8;

/// The number of a level of zstd: the level stands above the seven bits of the algorithm.
const fn zstd(level: u64) -> u64 {
    ZSTD | level << 7
}

const ZSTD: u64 = 16;

const YES_NO: Words = &[("no", 0), ("yes", 1)];

const CHECKSUM: Words = &[
    ("on", 1),
    ("off", 2),
    ("fletcher2", 6),
    ("fletcher4", 7),
    ("sha256", 8),
    ("noparity", 10),
    ("sha512", 11),
    ("skein", 12),
    ("edonr", 13),
    ("blake3", 14),
];

const DEDUP: Words = &[
    ("on", 1),
    ("off", 2),
    ("verify", 1 | VERIFY),
    ("sha256", 8),
    ("sha256,verify", 8 | VERIFY),
    ("sha512", 11),
    ("sha512,verify", 11 | VERIFY),
    ("skein", 12),
    ("skein,verify", 12 | VERIFY),
    ("edonr,verify", 13 | VERIFY),
    ("blake3", 14),
    ("blake3,verify", 14 | VERIFY),
];

const COMPRESSION: Words = &[
    ("on", 1),
    ("off", 2),
    ("lzjb", 3),
    ("gzip", 10),
    ("gzip-1", 5),
    ("gzip-2", 6),
    ("gzip-3", 7),
    ("gzip-4", 8),
    ("gzip-5", 9),
    ("gzip-6", 10),
    ("gzip-7", 11),
    ("gzip-8", 12),
    ("gzip-9", 13),
    ("zle", 14),
    ("lz4", 15),
    ("zstd", ZSTD),
    ("zstd-fast", zstd(103)),
    ("zstd-1", zstd(1)),
    ("zstd-2", zstd(2)),
    ("zstd-3", zstd(3)),
    ("zstd-4", zstd(4)),
    ("zstd-5", zstd(5)),
    ("zstd-6", zstd(6)),
    ("zstd-7", zstd(7)),
    ("zstd-8", zstd(8)),
    ("zstd-9", zstd(9)),
    ("zstd-10", zstd(10)),
    ("zstd-11", zstd(11)),
    ("zstd-12", zstd(12)),
    ("zstd-13", zstd(13)),
    ("zstd-14", zstd(14)),
    ("zstd-15", zstd(15)),
    ("zstd-16", zstd(16)),
    ("zstd-17", zstd(17)),
    ("zstd-18", zstd(18)),
    ("zstd-19", zstd(19)),
    ("zstd-fast-1", zstd(103)),
    ("zstd-fast-2", zstd(104)),
    ("zstd-fast-3", zstd(105)),
    ("zstd-fast-4", zstd(106)),
    ("zstd-fast-5", zstd(107)),
    ("zstd-fast-6", zstd(108)),
    ("zstd-fast-7", zstd(109)),
    ("zstd-fast-8", zstd(110)),
    ("zstd-fast-9", zstd(111)),
    ("zstd-fast-10", zstd(112)),
    ("zstd-fast-20", zstd(113)),
    ("zstd-fast-30", zstd(114)),
    ("zstd-fast-40", zstd(115)),
    ("zstd-fast-50", zstd(116)),
    ("zstd-fast-60", zstd(117)),
    ("zstd-fast-70", zstd(118)),
    ("zstd-fast-80", zstd(119)),
    ("zstd-fast-90", zstd(120)),
    ("zstd-fast-100", zstd(121)),
    ("zstd-fast-500", zstd(122)),
    ("zstd-fast-1000", zstd(123)),
];

const ENCRYPTION: Words = &[
    ("on", 1),
    ("off", 2),
    ("aes-128-ccm", 3),
    ("aes-192-ccm", 4),
    ("aes-256-ccm", 5),
    ("aes-128-gcm", 6),
    ("aes-192-gcm", 7),
    ("aes-256-gcm", 8),
];
const KEYFORMAT: Words = &[("none", 0), ("raw", 1), ("hex", 2), ("passphrase", 3)];
const KEYSTATUS: Words = &[("none", 0), ("unavailable", 1), ("available", 2)];

const SNAPDIR: Words = &[("hidden", 0), ("visible", 1), ("disabled", 2)];
const SNAPDEV: Words = &[("hidden", 0), ("visible", 1)];
const ACLMODE: Words = &[("discard", 0), ("groupmask", 2), ("passthrough", 3), ("restricted", 4)];
const ACLTYPE: Words =
    &[("off", 0), ("posix", 1), ("nfsv4", 2), ("disabled", 0), ("noacl", 0), ("posixacl", 1)];
const ACLINHERIT: Words = &[
    ("discard", 0),
    ("noallow", 1),
    ("restricted", 4),
    ("passthrough", 3),
    ("secure", 4),
    ("passthrough-x", 5),
];
const CASE: Words = &[("sensitive", 0), ("insensitive", 1), ("mixed", 2)];
const NORMALIZATION: Words =
    &[("none", 0), ("formD", 0x10), ("formKC", 0x60), ("formC", 0x50), ("formKD", 0x20)];
const COPIES: Words = &[("1", 1), ("2", 2), ("3", 3)];
const VERSION: Words = &[("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5), ("current", 5)];
const LOGBIAS: Words = &[("latency", 0), ("throughput", 1)];
const CANMOUNT: Words = &[("off", 0), ("on", 1), ("noauto", 2)];
const CACHE: Words = &[("none", 0), ("metadata", 1), ("all", 2)];
const SYNC: Words = &[("standard", 0), ("always", 1), ("disabled", 2)];
const XATTR: Words = &[("off", 0), ("sa", 2), ("on", 2), ("dir", 1)];
const DNODESIZE: Words =
    &[("legacy", 0), ("auto", 1), ("1k", 1024), ("2k", 2048), ("4k", 4096), ("8k", 8192), ("16k", 16384)];
const REDUNDANT_METADATA: Words = &[("all", 0), ("most", 1), ("some", 2), ("none", 3)];
const VOLMODE: Words = &[("default", 0), ("full", 1), ("geom", 1), ("dev", 2), ("none", 3)];
const DIRECT: Words = &[("disabled", 0), ("standard", 1), ("always", 2)];

type Kinds = &'static [DatasetKind];

const EVERY: Kinds = &[Filesystem, Volume, Snapshot, Bookmark];
const OBJSETS: Kinds = &[Filesystem, Volume, Snapshot];
const HEADS: Kinds = &[Filesystem, Volume];
const FILESYSTEMS: Kinds = &[Filesystem];
const FILESYSTEMS_AND_SNAPSHOTS: Kinds = &[Filesystem, Snapshot];
const VOLUMES: Kinds = &[Volume];
const VOLUMES_AND_SNAPSHOTS: Kinds = &[Volume, Snapshot];
const SNAPSHOTS: Kinds = &[Snapshot];

const fn powers_of_two(most: u64, or_zero: bool) -> NumberRange {
    NumberRange { least: 512, most, is_power_of_two: true, or_zero }
}

properties! {
    /// A native property of datasets.
    DatasetProperty {
        Type = row("type", "TYPE", Text(None), ReadOnly, EVERY).values("filesystem | volume | snapshot | bookmark"),
        Creation = row("creation", "CREATION", Number(0), ReadOnly, EVERY).values("<date>").reads(Time),
        Used = row("used", "USED", Number(0), ReadOnly, OBJSETS).values("<size>").reads(Bytes),
        Available = row("available", "AVAIL", Number(0), ReadOnly, HEADS).values("<size>").reads(Bytes),
        Referenced = row("referenced", "REFER", Number(0), ReadOnly, EVERY).values("<size>").reads(Bytes).width(8),
        Compressratio = row("compressratio", "RATIO", Number(0), ReadOnly, EVERY).values("<1.00x or higher if compressed>").reads(Ratio),
        Mounted = row("mounted", "MOUNTED", Choice(0, YES_NO), ReadOnly, FILESYSTEMS).values("yes | no"),
        Origin = row("origin", "ORIGIN", Text(None), ReadOnly, HEADS).values("<snapshot>"),
        Quota = row("quota", "QUOTA", Limit(0), Own, FILESYSTEMS).values("<size> | none").reads(Bytes),
        Reservation = row("reservation", "RESERV", Limit(0), Own, HEADS).values("<size> | none").reads(Bytes),
        Volsize = row("volsize", "VOLSIZE", Number(0), Own, VOLUMES_AND_SNAPSHOTS).values("<size>"),
        Volblocksize = row("volblocksize", "VOLBLOCK", Number(DEFAULT_VOLBLOCKSIZE), Once, VOLUMES).values("512 to 16M, power of 2").range(powers_of_two(16 << 20, false)),
        Recordsize = row("recordsize", "RECSIZE", Number(128 << 10), Inherit, FILESYSTEMS).values("512 to 16M, power of 2").range(powers_of_two(16 << 20, false)),
        Mountpoint = row("mountpoint", "MOUNTPOINT", Text(Some("/")), Inherit, FILESYSTEMS).values("<path> | legacy | none"),
        Sharenfs = row("sharenfs", "SHARENFS", Text(Some("off")), Inherit, FILESYSTEMS).values("on | off | NFS share options"),
        Checksum = row("checksum", "CHECKSUM", Choice(1, CHECKSUM), Inherit, HEADS).values("on | off | fletcher2 | fletcher4 | sha256 | sha512 | skein | edonr | blake3"),
        Compression = row("compression", "COMPRESS", Choice(1, COMPRESSION), Inherit, HEADS).values("on | off | lzjb | gzip | gzip-[1-9] | zle | lz4 | zstd | zstd-[1-19] | zstd-fast | zstd-fast-[1-10,20,30,40,50,60,70,80,90,100,500,1000]"),
        Atime = row("atime", "ATIME", Choice(1, BOOLEAN), Inherit, FILESYSTEMS).values("on | off").mount(&["atime"], &["noatime"]),
        Devices = row("devices", "DEVICES", Choice(1, BOOLEAN), Inherit, FILESYSTEMS_AND_SNAPSHOTS).values("on | off").mount(&["dev", "devices"], &["nodev", "nodevices"]),
        Exec = row("exec", "EXEC", Choice(1, BOOLEAN), Inherit, FILESYSTEMS_AND_SNAPSHOTS).values("on | off").mount(&["exec"], &["noexec"]),
        Setuid = row("setuid", "SETUID", Choice(1, BOOLEAN), Inherit, FILESYSTEMS_AND_SNAPSHOTS).values("on | off").mount(&["suid", "setuid"], &["nosuid", "nosetuid"]),
        Readonly = row("readonly", "RDONLY", Choice(0, BOOLEAN), Inherit, HEADS).values("on | off").mount(&["ro"], &["rw"]),
        Zoned = row("zoned", "ZONED", Choice(0, BOOLEAN), Inherit, FILESYSTEMS).values("on | off"),
        Snapdir = row("snapdir", "SNAPDIR", Choice(0, SNAPDIR), Inherit, FILESYSTEMS).values("disabled | hidden | visible"),
        Aclmode = row("aclmode", "ACLMODE", Choice(0, ACLMODE), Inherit, FILESYSTEMS).values("discard | groupmask | passthrough | restricted"),
        Aclinherit = row("aclinherit", "ACLINHERIT", Choice(4, ACLINHERIT), Inherit, FILESYSTEMS).values("discard | noallow | restricted | passthrough | passthrough-x"),
        Createtxg = row("createtxg", "CREATETXG", Number(0), ReadOnly, EVERY).values("<uint64>").reads(Identifier),
        Name = row("name", "NAME", Text(None), ReadOnly, EVERY).shown(ByName),
        Canmount = row("canmount", "CANMOUNT", Choice(1, CANMOUNT), Own, FILESYSTEMS).values("on | off | noauto"),
        Iscsioptions = row("iscsioptions", "ISCSIOPTIONS", Text(None), Inherit, VOLUMES).shown(Nowhere),
        Xattr = row("xattr", "XATTR", Choice(2, XATTR), Inherit, FILESYSTEMS_AND_SNAPSHOTS).values("on | off | dir | sa").mount(&["xattr", "saxattr", "dirxattr"], &["noxattr"]),
        Numclones = row("numclones", "NUMCLONES", Number(0), ReadOnly, SNAPSHOTS).reads(Count).shown(ByName),
        Copies = row("copies", "COPIES", Choice(1, COPIES), Inherit, HEADS).values("1 | 2 | 3"),
        Version = row("version", "VERSION", Choice(0, VERSION), Own, FILESYSTEMS_AND_SNAPSHOTS).values("1 | 2 | 3 | 4 | 5 | current").default("5"),
        Utf8only = row("utf8only", "UTF8ONLY", Choice(0, BOOLEAN), Once, FILESYSTEMS_AND_SNAPSHOTS).values("on | off"),
        Normalization = row("normalization", "NORMALIZATION", Choice(0, NORMALIZATION), Once, FILESYSTEMS_AND_SNAPSHOTS).values("none | formC | formD | formKC | formKD"),
        Casesensitivity = row("casesensitivity", "CASE", Choice(0, CASE), Once, FILESYSTEMS_AND_SNAPSHOTS).values("sensitive | insensitive | mixed"),
        Vscan = row("vscan", "VSCAN", Choice(0, BOOLEAN), Inherit, FILESYSTEMS).values("on | off"),
        Nbmand = row("nbmand", "NBMAND", Choice(0, BOOLEAN), Inherit, FILESYSTEMS_AND_SNAPSHOTS).values("on | off"),
        Sharesmb = row("sharesmb", "SHARESMB", Text(Some("off")), Inherit, FILESYSTEMS).values("on | off | SMB share options"),
        Refquota = row("refquota", "REFQUOTA", Limit(0), Own, FILESYSTEMS).values("<size> | none").reads(Bytes),
        Refreservation = row("refreservation", "REFRESERV", Limit(0), Own, HEADS).values("<size> | none").reads(Bytes),
        Guid = row("guid", "GUID", Number(0), ReadOnly, EVERY).values("<uint64>").reads(Identifier),
        Primarycache = row("primarycache", "PRIMARYCACHE", Choice(2, CACHE), Inherit, OBJSETS).values("all | none | metadata"),
        Secondarycache = row("secondarycache", "SECONDARYCACHE", Choice(2, CACHE), Inherit, OBJSETS).values("all | none | metadata"),
        Usedbysnapshots = row("usedbysnapshots", "USEDSNAP", Number(0), ReadOnly, HEADS).values("<size>").reads(Bytes),
        Usedbydataset = row("usedbydataset", "USEDDS", Number(0), ReadOnly, HEADS).values("<size>").reads(Bytes),
        Usedbychildren = row("usedbychildren", "USEDCHILD", Number(0), ReadOnly, HEADS).values("<size>").reads(Bytes),
        Usedbyrefreservation = row("usedbyrefreservation", "USEDREFRESERV", Number(0), ReadOnly, HEADS).values("<size>").reads(Bytes),
        Useraccounting = row("useraccounting", "USERACCOUNTING", Number(0), ReadOnly, OBJSETS).reads(Count).shown(ByName),
        StmfSbdLu = row("stmf_sbd_lu", "STMF_SBD_LU", Text(None), Inherit, VOLUMES).shown(Nowhere),
        DeferDestroy = row("defer_destroy", "DEFER_DESTROY", Choice(0, BOOLEAN), ReadOnly, SNAPSHOTS).values("yes | no"),
        Userrefs = row("userrefs", "USERREFS", Number(0), ReadOnly, SNAPSHOTS).values("<count>").reads(Count),
        Logbias = row("logbias", "LOGBIAS", Choice(0, LOGBIAS), Inherit, HEADS).values("latency | throughput"),
        Unique = row("unique", "UNIQUE", Number(0), ReadOnly, OBJSETS).shown(ByName),
        Objsetid = row("objsetid", "OBJSETID", Number(0), ReadOnly, OBJSETS).values("<uint64>").reads(Identifier),
        Dedup = row("dedup", "DEDUP", Choice(2, DEDUP), Inherit, HEADS).values("on | off | verify | sha256[,verify] | sha512[,verify] | skein[,verify] | edonr,verify | blake3[,verify]"),
        Mlslabel = row("mlslabel", "MLSLABEL", Text(Some("none")), Inherit, OBJSETS).values("<sensitivity label>"),
        Sync = row("sync", "SYNC", Choice(0, SYNC), Inherit, HEADS).values("standard | always | disabled"),
        Dnodesize = row("dnodesize", "DNSIZE", Choice(0, DNODESIZE), Inherit, FILESYSTEMS).values("legacy | auto | 1k | 2k | 4k | 8k | 16k").needs("large_dnode"),
        Refcompressratio = row("refcompressratio", "REFRATIO", Number(0), ReadOnly, OBJSETS).values("<1.00x or higher if compressed>").reads(Ratio),
        Written = row("written", "WRITTEN", Number(0), ReadOnly, OBJSETS).values("<size>"),
        Clones = row("clones", "CLONES", Text(None), ReadOnly, SNAPSHOTS).values("<dataset>[,...]"),
        Logicalused = row("logicalused", "LUSED", Number(0), ReadOnly, HEADS).values("<size>"),
        Logicalreferenced = row("logicalreferenced", "LREFER", Number(0), ReadOnly, EVERY).values("<size>"),
        Inconsistent = row("inconsistent", "INCONSISTENT", Number(0), ReadOnly, OBJSETS).reads(Count).shown(ByName),
        Volmode = row("volmode", "VOLMODE", Choice(0, VOLMODE), Inherit, HEADS).values("default | full | geom | dev | none"),
        FilesystemLimit = row("filesystem_limit", "FSLIMIT", Limit(u64::MAX), Own, FILESYSTEMS).values("<count> | none").reads(Count).needs("filesystem_limits"),
        SnapshotLimit = row("snapshot_limit", "SSLIMIT", Limit(u64::MAX), Own, HEADS).values("<count> | none").reads(Count).needs("filesystem_limits"),
        FilesystemCount = row("filesystem_count", "FSCOUNT", Number(u64::MAX), ReadOnly, FILESYSTEMS).values("<count>").reads(Count),
        SnapshotCount = row("snapshot_count", "SSCOUNT", Number(u64::MAX), ReadOnly, HEADS).values("<count>").reads(Count),
        Snapdev = row("snapdev", "SNAPDEV", Choice(0, SNAPDEV), Inherit, HEADS).values("hidden | visible"),
        Acltype = row("acltype", "ACLTYPE", Choice(0, ACLTYPE), Inherit, FILESYSTEMS_AND_SNAPSHOTS).values("off | nfsv4 | posix"),
        Context = row("context", "CONTEXT", Text(Some("none")), Own, OBJSETS).values("<selinux context>"),
        Fscontext = row("fscontext", "FSCONTEXT", Text(Some("none")), Own, OBJSETS).values("<selinux fscontext>"),
        Defcontext = row("defcontext", "DEFCONTEXT", Text(Some("none")), Own, OBJSETS).values("<selinux defcontext>"),
        Rootcontext = row("rootcontext", "ROOTCONTEXT", Text(Some("none")), Own, OBJSETS).values("<selinux rootcontext>"),
        Relatime = row("relatime", "RELATIME", Choice(1, BOOLEAN), Inherit, FILESYSTEMS).values("on | off").mount(&["relatime"], &["norelatime"]),
        RedundantMetadata = row("redundant_metadata", "REDUND_MD", Choice(0, REDUNDANT_METADATA), Inherit, HEADS).values("all | most | some | none"),
        Overlay = row("overlay", "OVERLAY", Choice(1, BOOLEAN), Inherit, FILESYSTEMS).values("on | off"),
        Prevsnap = row("prevsnap", "PREVSNAP", Text(None), ReadOnly, HEADS).shown(ByName),
        ReceiveResumeToken = row("receive_resume_token", "RESUMETOK", Text(None), ReadOnly, HEADS).values("<string token>"),
        Encryption = row("encryption", "ENCRYPTION", Choice(2, ENCRYPTION), Once, OBJSETS).values("on | off | aes-128-ccm | aes-192-ccm | aes-256-ccm | aes-128-gcm | aes-192-gcm | aes-256-gcm"),
        Keylocation = row("keylocation", "KEYLOCATION", Text(Some("none")), Own, HEADS).values("prompt | <file URI> | <https URL> | <http URL>"),
        Keyformat = row("keyformat", "KEYFORMAT", Choice(0, KEYFORMAT), OnceOwn, HEADS).values("none | raw | hex | passphrase"),
        Pbkdf2salt = row("pbkdf2salt", "PBKDF2SALT", Number(0), OnceOwn, HEADS).reads(Count).shown(ByName),
        Pbkdf2iters = row("pbkdf2iters", "PBKDF2ITERS", Number(0), OnceOwn, HEADS).values("<iters>").reads(Identifier),
        Encryptionroot = row("encryptionroot", "ENCROOT", Text(None), ReadOnly, OBJSETS).values("<filesystem | volume>"),
        Keyguid = row("keyguid", "KEYGUID", Number(0), ReadOnly, OBJSETS).reads(Identifier).shown(ByName),
        Keystatus = row("keystatus", "KEYSTATUS", Choice(0, KEYSTATUS), ReadOnly, OBJSETS).values("none | unavailable | available"),
        SpecialSmallBlocks = row("special_small_blocks", "SPECIAL_SMALL_BLOCKS", Number(0), Inherit, FILESYSTEMS).values("zero or 512 to 1M, power of 2").range(powers_of_two(1 << 20, true)).needs("allocation_classes"),
        Ivsetguid = row("ivsetguid", "IVSETGUID", Number(0), ReadOnly, EVERY).reads(Identifier).shown(ByName),
        Redacted = row("redacted", "REDACTED", Number(0), ReadOnly, OBJSETS).reads(Count).shown(ByName),
        RedactSnaps = row("redact_snaps", "RSNAPS", Text(None), ReadOnly, EVERY).values("<snapshot>[,...]"),
        SnapshotsChanged = row("snapshots_changed", "SNAPSHOTS_CHANGED", Number(0), ReadOnly, HEADS).values("<date>").reads(Time),
        Prefetch = row("prefetch", "PREFETCH", Choice(2, CACHE), Inherit, OBJSETS).values("none | metadata | all"),
        Volthreading = row("volthreading", "VOLTHREAD", Choice(1, BOOLEAN), Own, VOLUMES).values("on | off"),
        Direct = row("direct", "DIRECT", Choice(1, DIRECT), Inherit, FILESYSTEMS).values("disabled | standard | always"),
        Longname = row("longname", "LONGNAME", Choice(0, BOOLEAN), Inherit, FILESYSTEMS).values("on | off"),
    }
}
