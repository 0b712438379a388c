//! The words of choices and their numbers on disk.

/// Words and numbers of one choice.
pub type Words = &'static [(&'static str, u64)];

/// Set in a number of `dedup` that compares bytes, too.
pub const CHECKSUM_VERIFY: u64 = 1 << 8;
/// A number of `compression` is the kind in these low bits, the level above.
pub const COMPRESS_BITS: u32 = 7;
const ZSTD: u64 = 16;

const fn zstd(level: u64) -> u64 {
    ZSTD | level << COMPRESS_BITS
}

pub const BOOLEAN: Words = &[("off", 0), ("on", 1)];
pub const YES_NO: Words = &[("no", 0), ("yes", 1)];

pub const CHECKSUM: Words = &[
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

pub const DEDUP: Words = &[
    ("on", 1),
    ("off", 2),
    ("verify", 1 | CHECKSUM_VERIFY),
    ("sha256", 8),
    ("sha256,verify", 8 | CHECKSUM_VERIFY),
    ("sha512", 11),
    ("sha512,verify", 11 | CHECKSUM_VERIFY),
    ("skein", 12),
    ("skein,verify", 12 | CHECKSUM_VERIFY),
    ("edonr,verify", 13 | CHECKSUM_VERIFY),
    ("blake3", 14),
    ("blake3,verify", 14 | CHECKSUM_VERIFY),
];

pub const COMPRESSION: Words = &[
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

pub const ENCRYPTION: Words = &[
    ("on", 1),
    ("off", 2),
    ("aes-128-ccm", 3),
    ("aes-192-ccm", 4),
    ("aes-256-ccm", 5),
    ("aes-128-gcm", 6),
    ("aes-192-gcm", 7),
    ("aes-256-gcm", 8),
];
pub const KEYFORMAT: Words = &[("none", 0), ("raw", 1), ("hex", 2), ("passphrase", 3)];
pub const KEYSTATUS: Words = &[("none", 0), ("unavailable", 1), ("available", 2)];

pub const SNAPDIR: Words = &[("hidden", 0), ("visible", 1), ("disabled", 2)];
pub const SNAPDEV: Words = &[("hidden", 0), ("visible", 1)];
pub const ACLMODE: Words = &[("discard", 0), ("groupmask", 2), ("passthrough", 3), ("restricted", 4)];
pub const ACLTYPE: Words =
    &[("off", 0), ("posix", 1), ("nfsv4", 2), ("disabled", 0), ("noacl", 0), ("posixacl", 1)];
pub const ACLINHERIT: Words = &[
    ("discard", 0),
    ("noallow", 1),
    ("restricted", 4),
    ("passthrough", 3),
    ("secure", 4),
    ("passthrough-x", 5),
];
pub const CASE: Words = &[("sensitive", 0), ("insensitive", 1), ("mixed", 2)];
pub const NORMALIZATION: Words =
    &[("none", 0), ("formD", 0x10), ("formKC", 0x60), ("formC", 0x50), ("formKD", 0x20)];
pub const COPIES: Words = &[("1", 1), ("2", 2), ("3", 3)];
pub const VERSION: Words = &[("1", 1), ("2", 2), ("3", 3), ("4", 4), ("5", 5), ("current", 5)];
pub const LOGBIAS: Words = &[("latency", 0), ("throughput", 1)];
pub const CANMOUNT: Words = &[("off", 0), ("on", 1), ("noauto", 2)];
pub const CACHE: Words = &[("none", 0), ("metadata", 1), ("all", 2)];
pub const SYNC: Words = &[("standard", 0), ("always", 1), ("disabled", 2)];
pub const XATTR: Words = &[("off", 0), ("sa", 2), ("on", 2), ("dir", 1)];
pub const DNODESIZE: Words =
    &[("legacy", 0), ("auto", 1), ("1k", 1024), ("2k", 2048), ("4k", 4096), ("8k", 8192), ("16k", 16384)];
pub const REDUNDANT_METADATA: Words = &[("all", 0), ("most", 1), ("some", 2), ("none", 3)];
pub const VOLMODE: Words = &[("default", 0), ("full", 1), ("geom", 1), ("dev", 2), ("none", 3)];
pub const DIRECT: Words = &[("disabled", 0), ("standard", 1), ("always", 2)];
pub const FAILMODE: Words = &[("wait", 0), ("continue", 1), ("panic", 2)];
