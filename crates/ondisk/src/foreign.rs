//! What else may be on a disk: file systems, swap, encrypted and striped volumes, partitions, by
//! their signatures.
//!
//! Who makes a pool of a disk overwrites what is there, so he is told first. A signature is a few
//! bytes at a known place; types have the names that libblkid gives them. That library is not
//! linked, for it would tie the binary to the systems that have it, and of its hundreds of kinds
//! those here are what disks of servers hold. The tests ask `blkid` whether both say the same of
//! what the proper tools made.
//!
//! Sources: the on-disk formats as documented by Linux (Documentation/filesystems,
//! include/uapi/linux/{btrfs_tree, raid/md_p}.h), LUKS1 and LUKS2 specifications, lvmdisk(5), the
//! FAT specification, UEFI specification chapter 5.

use crate::gpt::{self, Partition};

/// Bytes from the start that signatures lie in.
const HEAD: usize = 68 << 10;
const SECTOR: u64 = 512;
/// Disks hold no table of MBR's with more primary partitions.
const MBR_PARTITIONS: usize = 4;
const BOOT_SIGNATURE: (usize, &[u8]) = (510, &[0x55, 0xaa]);

/// What has been found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Foreign {
    /// Of this type, as libblkid names it.
    Content(&'static str),
    /// Partitions: the kind of table, each with its number.
    Partitions(Table, Vec<(usize, Partition)>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Table {
    Gpt,
    Mbr,
}

/// Bytes at one place that only one type has.
struct Signature(&'static str, usize, &'static [u8]);

/// In the order in which they are believed: what may lie inside another comes later.
const SIGNATURES: &[Signature] = &[
    Signature("crypto_LUKS", 0, b"LUKS\xba\xbe"),
    Signature("crypto_LUKS", 16 << 10, b"SKUL\xba\xbe"),
    Signature("linux_raid_member", 0, &[0xfc, 0x4e, 0x2b, 0xa9]),
    Signature("linux_raid_member", 4096, &[0xfc, 0x4e, 0x2b, 0xa9]),
    Signature("bcache", 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    Signature("bcachefs", 4096 + 24, b"\xc6\x85\x73\xf6\x66\xce\x90\xa9\xd9\x6a\x60\xcf\x80\x3d\xf7\xef"),
    Signature("ceph_bluestore", 0, b"bluestore block device"),
    Signature("stratis", 512 + 4, b"!Stra0tis\x86\xff\x02^\x41rh"),
    Signature("vdo", 0, b"dmvdo001"),
    Signature("BitLocker", 3, b"-FVE-FS-"),
    Signature("xfs", 0, b"XFSB"),
    Signature("btrfs", (64 << 10) + 64, b"_BHRfS_M"),
    Signature("ntfs", 3, b"NTFS    "),
    Signature("exfat", 3, b"EXFAT   "),
    Signature("vfat", 82, b"FAT32   "),
    Signature("vfat", 54, b"FAT16   "),
    Signature("vfat", 54, b"FAT12   "),
    Signature("f2fs", 1024, &[0x10, 0x20, 0xf5, 0xf2]),
    Signature("erofs", 1024, &[0xe2, 0xe1, 0xf5, 0xe0]),
    Signature("squashfs", 0, b"hsqs"),
    Signature("apfs", 32, b"NXSB"),
    Signature("hfsplus", 1024, b"H+\x00\x04"),
    Signature("hfsplus", 1024, b"HX\x00\x05"),
    Signature("reiserfs", (64 << 10) + 52, b"ReIsEr"),
    Signature("jfs", 32 << 10, b"JFS1"),
    Signature("ufs", (8 << 10) + 1372, &[0x54, 0x19, 0x01, 0x00]),
    Signature("iso9660", (32 << 10) + 1, b"CD001"),
    Signature("udf", (32 << 10) + 1, b"BEA01"),
];

/// Swap is signed at the end of its first page, whose size is the machine's.
const SWAP_PAGES: [usize; 5] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10];
const SWAP: [&[u8]; 2] = [b"SWAPSPACE2", b"SWAP-SPACE"];

/// Looks at a disk or partition of `size` bytes, which `read` reads from: `None` where it cannot.
/// Nothing is found on what cannot be read.
pub fn find(size: u64, mut read: impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<Foreign> {
    let head = read(0, (HEAD as u64).min(size / SECTOR * SECTOR) as usize)?;
    if let Some(kind) = in_head(&head).or_else(|| md_at_end(size, &mut read)) {
        return Some(Foreign::Content(kind));
    }
    match gpt::partitions(&head, size) {
        Ok(Some(all)) if !all.is_empty() => {
            let all = all.into_iter().map(|entry| (entry.number, entry.partition)).collect();
            Some(Foreign::Partitions(Table::Gpt, all))
        }
        // A table that is damaged may still be somebody's: its other half is at the end.
        Ok(_) => mbr(&head, size),
        Err(_) => Some(Foreign::Partitions(Table::Gpt, Vec::new())),
    }
}

fn in_head(head: &[u8]) -> Option<&'static str> {
    let has = |at: usize, bytes: &[u8]| head.get(at..at + bytes.len()) == Some(bytes);
    let signed = SIGNATURES.iter().find(|Signature(_, at, bytes)| has(*at, bytes)).map(|found| found.0);
    // A physical volume's label is in any of the first four sectors.
    let lvm = |sector: usize| has(sector * 512, b"LABELONE") && has(sector * 512 + 24, b"LVM2 001");
    signed.or_else(|| (0..4).any(lvm).then_some("LVM2_member")).or_else(|| ext(head)).or_else(|| {
        let swap = |page: &usize| SWAP.iter().any(|sign| has(page - sign.len(), sign));
        SWAP_PAGES.iter().any(swap).then_some("swap")
    })
}

/// ext2, ext3 and ext4 share a superblock; what it asks for tells which it is.
fn ext(head: &[u8]) -> Option<&'static str> {
    const SUPERBLOCK: usize = 1024;
    const MOST_SHIFTED: u32 = 6;
    const HAS_JOURNAL: u32 = 0x4;
    const JOURNAL_DEVICE: u32 = 0x8;
    /// What ext3 knows of incompatible and of read-only compatible features.
    const EXT3: (u32, u32) = (0x2 | 0x4 | 0x10, 0x1 | 0x2 | 0x4);
    let superblock = head.get(SUPERBLOCK..SUPERBLOCK + 256)?;
    let word = |at: usize| superblock.get(at..)?.first_chunk().map(|bytes| u32::from_le_bytes(*bytes));
    // The magic is short: the size of blocks, 1 KiB shifted, has to make sense as well.
    if superblock.get(0x38..0x3a)? != [0x53, 0xef] || word(0x18)? > MOST_SHIFTED {
        return None;
    }
    let (compatible, incompatible, read_only) = (word(0x5c)?, word(0x60)?, word(0x64)?);
    Some(if incompatible & JOURNAL_DEVICE != 0 {
        "jbd"
    } else if incompatible & !EXT3.0 != 0 || read_only & !EXT3.1 != 0 {
        "ext4"
    } else if compatible & HAS_JOURNAL != 0 {
        "ext3"
    } else {
        "ext2"
    })
}

/// Superblocks of Linux's RAID, versions 1.0 and 0.90, which lie at the end.
fn md_at_end(size: u64, read: &mut impl FnMut(u64, usize) -> Option<Vec<u8>>) -> Option<&'static str> {
    const MAGIC: [u8; 4] = [0xfc, 0x4e, 0x2b, 0xa9];
    const RESERVED: u64 = 64 << 10;
    let newer = (size / SECTOR).checked_sub(16).map(|sectors| (sectors & !7) * SECTOR);
    let older = (size / RESERVED).checked_sub(1).map(|reserved| reserved * RESERVED);
    let mut is_md =
        |at: Option<u64>| at.and_then(|at| read(at, 4096)).is_some_and(|found| found.starts_with(&MAGIC));
    (is_md(newer) || is_md(older)).then_some("linux_raid_member")
}

/// Primary partitions of an MBR that make sense on this disk.
fn mbr(head: &[u8], size: u64) -> Option<Foreign> {
    const ENTRIES: usize = 446;
    const ENTRY: usize = 16;
    let (at, signature) = BOOT_SIGNATURE;
    if head.get(at..at + signature.len()) != Some(signature) {
        return None;
    }
    let entries = head.get(ENTRIES..ENTRIES + MBR_PARTITIONS * ENTRY)?.chunks_exact(ENTRY);
    let sane = |(index, entry): (usize, &[u8])| {
        let sector =
            |at: usize| entry.get(at..)?.first_chunk().map(|word| u64::from(u32::from_le_bytes(*word)));
        let (start, len) = (sector(8)? * SECTOR, sector(12)? * SECTOR);
        let is_used = entry[0] & 0x7f == 0 && entry[4] != 0 && start > 0 && len > 0 && start < size;
        is_used.then(|| (index + 1, Partition { start, len: len.min(size - start) }))
    };
    let found: Vec<(usize, Partition)> = entries.enumerate().filter_map(sane).collect();
    (!found.is_empty()).then_some(Foreign::Partitions(Table::Mbr, found))
}

#[cfg(test)]
mod tests;
