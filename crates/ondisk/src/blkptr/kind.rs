//! How a block was checksummed and compressed.
//!
//! The numbers are those on disk. Source: include/sys/zio.h `enum zio_checksum`,
//! include/sys/zio_compress.h, and the names of module/zfs/zio_checksum.c and zio_compress.c.

use crate::kinds::kinds;

kinds! {
    /// Checksum functions.
    ChecksumKind {
        Inherit = 0 "inherit", On = 1 "on", Off = 2 "off", Label = 3 "label", GangHeader = 4 "gang_header",
        Zilog = 5 "zilog", Fletcher2 = 6 "fletcher2", Fletcher4 = 7 "fletcher4", Sha256 = 8 "sha256",
        Zilog2 = 9 "zilog2", NoParity = 10 "noparity", Sha512 = 11 "sha512", Skein = 12 "skein",
        EdonR = 13 "edonr", Blake3 = 14 "blake3",
    }
}

kinds! {
    /// Compression functions. `Empty` marks blocks that were all zero.
    CompressKind {
        Inherit = 0 "inherit", On = 1 "on", Off = 2 "uncompressed", Lzjb = 3 "lzjb", Empty = 4 "empty",
        Gzip1 = 5 "gzip-1", Gzip2 = 6 "gzip-2", Gzip3 = 7 "gzip-3", Gzip4 = 8 "gzip-4", Gzip5 = 9 "gzip-5",
        Gzip6 = 10 "gzip-6", Gzip7 = 11 "gzip-7", Gzip8 = 12 "gzip-8", Gzip9 = 13 "gzip-9",
        Zle = 14 "zle", Lz4 = 15 "lz4", Zstd = 16 "zstd",
    }
}

impl ChecksumKind {
    /// Whether the checksum lies at the end of the block itself, in a `zio_eck_t`, not in the
    /// pointer.
    pub const fn is_embedded(self) -> bool {
        use ChecksumKind::{GangHeader, Label, Zilog, Zilog2};
        matches!(self, Label | GangHeader | Zilog | Zilog2)
    }

    /// Strong enough to identify a block by.
    pub const fn is_dedup_strength(self) -> bool {
        use ChecksumKind::{Blake3, Sha256, Sha512, Skein};
        matches!(self, Sha256 | Sha512 | Skein | Blake3)
    }

    /// Keyed with the pool's salt.
    pub const fn is_salted(self) -> bool {
        matches!(self, ChecksumKind::Skein | ChecksumKind::EdonR | ChecksumKind::Blake3)
    }
}
