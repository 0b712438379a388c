//! Partition tables: where in the image of a whole disk the pool lies.
//!
//! OpenZFS gives a whole disk a GUID partition table with one large partition of type "ZFS" (and a
//! small reserved one).
//!
//! ```text
//! sector 0   protective MBR (ignored here)
//! sector 1   header: "EFI PART" | revision | header size | crc32 | … | entries' sector | count | entry size | crc32
//! sector 2…  entries of 128 bytes or more: type guid | unique guid | first sector | last sector | flags | name
//! ```
//! Sectors are of 512 or 4096 bytes; the signature tells which. Source: UEFI specification, chapter
//! 5; partition type in lib/libefi/rdwr_efi.c.

use crate::malformed::{Endian, Malformed, Reader};

/// Bytes from the start of the disk that [`find_zfs`] wants to see (fewer where the disk is
/// smaller).
pub const HEAD_SIZE: usize = 2 * 4096 + 128 * 128;

/// 6A898CC3-1DD2-11B2-99A6-080020736631 as it lies on disk: the first three parts little endian.
const ZFS_TYPE: [u8; 16] =
    [0xc3, 0x8c, 0x89, 0x6a, 0xd2, 0x1d, 0xb2, 0x11, 0x99, 0xa6, 0x08, 0x00, 0x20, 0x73, 0x66, 0x31];
/// The type of an entry that lists nothing.
const UNUSED: [u8; 16] = [0; 16];
const SIGNATURE: &[u8] = b"EFI PART";
const HEADER_SIZE: usize = 92;
const ENTRY_SIZE: usize = 128;
const ENTRIES_MAX: usize = 128;

/// A partition that a table lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Counted from 1, as the names of devices are.
    pub number: usize,
    pub is_zfs: bool,
    pub partition: Partition,
}

/// A run of bytes of the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    pub start: u64,
    pub len: u64,
}

/// The first ZFS partition, from the first [`HEAD_SIZE`] bytes of a disk of `disk_size` bytes.
/// `Ok(None)`: there is no partition table, or none of its partitions is ZFS's.
pub fn find_zfs(head: &[u8], disk_size: u64) -> Result<Option<Partition>, Malformed> {
    let all = partitions(head, disk_size)?.unwrap_or_default();
    Ok(all.into_iter().find(|entry| entry.is_zfs).map(|entry| entry.partition))
}

/// All partitions, as [`find_zfs`] looks for one. `Ok(None)`: there is no partition table.
pub fn partitions(head: &[u8], disk_size: u64) -> Result<Option<Vec<Entry>>, Malformed> {
    for sector in [512usize, 4096] {
        if head.get(sector..sector + 8) == Some(SIGNATURE) {
            return all_in(head, sector, disk_size).map(Some);
        }
    }
    Ok(None)
}

fn all_in(head: &[u8], sector: usize, disk_size: u64) -> Result<Vec<Entry>, Malformed> {
    let bad = |what| Malformed::at(what, sector);
    let header = head.get(sector..sector + HEADER_SIZE).ok_or(bad("partition table header"))?;
    let mut from = Reader::new(header, Endian::Little);
    let mut fields = || {
        from.skip(16)?;
        let header_crc = from.u32()?;
        from.skip(52)?;
        Some((header_crc, from.u64()?, [from.u32()?, from.u32()?, from.u32()?]))
    };
    let (header_crc, first_sector, [count, size, entries_crc]) =
        fields().ok_or(bad("partition table header"))?;
    let mut blank = header.to_vec();
    blank[16..20].fill(0);
    if crc32(&blank) != header_crc {
        return Err(bad("partition table checksum"));
    }
    let (count, size) = (count as usize, size as usize);
    if size != ENTRY_SIZE || count > ENTRIES_MAX || first_sector > 2 {
        return Err(bad("partition table of an unusual shape"));
    }
    let at = first_sector as usize * sector;
    let entries = head.get(at..at + count * size).ok_or(bad("partition table entries"))?;
    if crc32(entries) != entries_crc {
        return Err(bad("partition entries' checksum"));
    }
    let used = entries.chunks_exact(size).enumerate().filter(|(_, entry)| !entry.starts_with(&UNUSED));
    used.map(|(index, entry)| {
        let mut from = Reader::new(entry, Endian::Little);
        let ends = from.skip(32).and_then(|()| Some((from.u64()?, from.u64()?)));
        let (first, last) = ends.ok_or(bad("partition entry"))?;
        let unit = sector as u64;
        let end = last.checked_add(1).and_then(|end| end.checked_mul(unit));
        match (first.checked_mul(unit), end) {
            (Some(start), Some(end)) if start < end && end <= disk_size => {
                let partition = Partition { start, len: end - start };
                Ok(Entry { number: index + 1, is_zfs: entry.starts_with(&ZFS_TYPE), partition })
            }
            _ => Err(bad("partition outside the disk")),
        }
    })
    .collect()
}

/// CRC-32 as Ethernet has it, bit by bit: a few kilobytes once a disk.
fn crc32(bytes: &[u8]) -> u32 {
    let mut crc = !0u32;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
        }
    }
    !crc
}

#[cfg(test)]
mod tests;
