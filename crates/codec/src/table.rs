//! Kinds of checksum and compression: raw values in block pointers, names as property values.
//!
//! Facts: `include/sys/zio.h` (`enum zio_checksum`, `enum zio_compress`),
//! `module/zfs/zio_checksum.c` and `module/zfs/zio_compress.c`.

/// `enum zio_checksum`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Checksum {
    Inherit,
    On,
    Off,
    Label,
    GangHeader,
    Zilog,
    Fletcher2,
    Fletcher4,
    Sha256,
    Zilog2,
    Noparity,
    Sha512,
    Skein,
    Edonr,
    Blake3,
}

/// In the order of the raw values.
pub const CHECKSUMS: [(Checksum, &str); 15] = [
    (Checksum::Inherit, "inherit"),
    (Checksum::On, "on"),
    (Checksum::Off, "off"),
    (Checksum::Label, "label"),
    (Checksum::GangHeader, "gang_header"),
    (Checksum::Zilog, "zilog"),
    (Checksum::Fletcher2, "fletcher2"),
    (Checksum::Fletcher4, "fletcher4"),
    (Checksum::Sha256, "sha256"),
    (Checksum::Zilog2, "zilog2"),
    (Checksum::Noparity, "noparity"),
    (Checksum::Sha512, "sha512"),
    (Checksum::Skein, "skein"),
    (Checksum::Edonr, "edonr"),
    (Checksum::Blake3, "blake3"),
];

impl Checksum {
    pub fn from_raw(raw: u8) -> Option<Checksum> {
        CHECKSUMS.get(usize::from(raw)).map(|row| row.0)
    }

    pub fn from_name(name: &str) -> Option<Checksum> {
        CHECKSUMS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        CHECKSUMS[self as usize].1
    }

    /// Whether the pool's salt takes part.
    pub fn is_salted(self) -> bool {
        matches!(self, Checksum::Skein | Checksum::Edonr | Checksum::Blake3)
    }

    /// Whether it lies inside the block it protects.
    pub fn is_embedded(self) -> bool {
        matches!(self, Checksum::Label | Checksum::GangHeader | Checksum::Zilog | Checksum::Zilog2)
    }

    /// Strong enough that equal sums mean equal blocks (dedup without verify).
    pub fn is_dedup(self) -> bool {
        matches!(self, Checksum::Sha256 | Checksum::Sha512 | Checksum::Skein | Checksum::Blake3)
    }

    /// Strong enough to skip a write of what is there already.
    pub fn is_nopwrite(self) -> bool {
        self.is_dedup() || self == Checksum::Edonr
    }
}

/// `enum zio_compress`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Compression {
    Inherit,
    On,
    Off,
    Lzjb,
    Empty,
    Gzip1,
    Gzip2,
    Gzip3,
    Gzip4,
    Gzip5,
    Gzip6,
    Gzip7,
    Gzip8,
    Gzip9,
    Zle,
    Lz4,
    Zstd,
}

/// In the order of the raw values. "gzip" alone means gzip-6; zstd's level is apart.
pub const COMPRESSIONS: [(Compression, &str); 17] = [
    (Compression::Inherit, "inherit"),
    (Compression::On, "on"),
    (Compression::Off, "off"),
    (Compression::Lzjb, "lzjb"),
    (Compression::Empty, "empty"),
    (Compression::Gzip1, "gzip-1"),
    (Compression::Gzip2, "gzip-2"),
    (Compression::Gzip3, "gzip-3"),
    (Compression::Gzip4, "gzip-4"),
    (Compression::Gzip5, "gzip-5"),
    (Compression::Gzip6, "gzip-6"),
    (Compression::Gzip7, "gzip-7"),
    (Compression::Gzip8, "gzip-8"),
    (Compression::Gzip9, "gzip-9"),
    (Compression::Zle, "zle"),
    (Compression::Lz4, "lz4"),
    (Compression::Zstd, "zstd"),
];

impl Compression {
    pub fn from_raw(raw: u8) -> Option<Compression> {
        COMPRESSIONS.get(usize::from(raw)).map(|row| row.0)
    }

    pub fn from_name(name: &str) -> Option<Compression> {
        COMPRESSIONS.iter().find(|row| row.1 == name).map(|row| row.0)
    }

    pub fn name(self) -> &'static str {
        COMPRESSIONS[self as usize].1
    }

    /// The level of a gzip kind.
    pub fn gzip_level(self) -> Option<i32> {
        let level = self as i32 - Compression::Gzip1 as i32 + 1;
        (1..=9).contains(&level).then_some(level)
    }
}

#[cfg(test)]
mod tests;
