use super::*;

const SIZE: usize = 2 << 20;

fn found(disk: &[u8]) -> Option<Foreign> {
    find(disk.len() as u64, |at, len| disk.get(at as usize..at as usize + len).map(<[u8]>::to_vec))
}

fn with(parts: &[(usize, &[u8])]) -> Vec<u8> {
    let mut disk = vec![0; SIZE];
    for (at, bytes) in parts {
        disk[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    disk
}

#[test]
fn signatures_are_found_where_they_are() {
    for Signature(kind, at, bytes) in SIGNATURES {
        assert_eq!(found(&with(&[(*at, bytes)])), Some(Foreign::Content(kind)), "{kind} at {at}");
    }
    for (kind, parts) in [
        ("LVM2_member", &[(512, &b"LABELONE"[..]), (512 + 24, b"LVM2 001")][..]),
        ("swap", &[(4086, b"SWAPSPACE2")]),
        ("swap", &[((64 << 10) - 10, b"SWAPSPACE2")]),
        ("ext2", &[(1080, &[0x53, 0xef])]),
        ("ext3", &[(1080, &[0x53, 0xef]), (1024 + 0x5c, &[4])]),
        ("ext4", &[(1080, &[0x53, 0xef]), (1024 + 0x5c, &[4]), (1024 + 0x60, &[0x40])]),
        ("linux_raid_member", &[(SIZE - 8192, &[0xfc, 0x4e, 0x2b, 0xa9])]),
        ("linux_raid_member", &[(SIZE - (64 << 10), &[0xfc, 0x4e, 0x2b, 0xa9])]),
    ] {
        assert_eq!(found(&with(parts)), Some(Foreign::Content(kind)), "{parts:?}");
    }
    assert_eq!(found(&vec![0; SIZE]), None);
    assert_eq!(found(&with(&[(513, b"LABELONE")])), None);
}

#[test]
fn partitions_are_found() {
    let partition = |start: u32, len: u32, kind: u8| {
        let mut entry = vec![0, 0, 0, 0, kind, 0, 0, 0];
        entry.extend([start.to_le_bytes(), len.to_le_bytes()].concat());
        entry
    };
    let mbr = |entry: &[u8]| found(&with(&[(446 + 16, entry), (510, &[0x55, 0xaa])]));
    let expected = Partition { start: 1 << 20, len: 1 << 20 };
    assert_eq!(mbr(&partition(2048, 2048, 0x83)), Some(Foreign::Partitions(Table::Mbr, vec![(2, expected)])));
    // Longer than the disk, as on one that was cut: still somebody's. Beyond it, or of no type:
    // nobody's.
    assert_eq!(
        mbr(&partition(2048, 9_000_000, 0x83)),
        Some(Foreign::Partitions(Table::Mbr, vec![(2, expected)]))
    );
    assert_eq!(mbr(&partition(9_000_000, 8, 0x83)), None);
    assert_eq!(mbr(&partition(2048, 2048, 0)), None);
    // A table that does not sum.
    assert_eq!(found(&with(&[(512, b"EFI PART")])), Some(Foreign::Partitions(Table::Gpt, Vec::new())));
}

#[test]
fn small_and_unreadable_disks_hold_nothing() {
    for size in [0, 100, 512, 4096, 100_000] {
        assert_eq!(found(&vec![0; size]), None);
    }
    assert_eq!(find(SIZE as u64, |_, _| None), None);
    let mut rng = stdx::prng::Prng::new(7);
    for _ in 0..200 {
        let mut disk = vec![0; 80 << 10];
        rng.fill(&mut disk);
        disk[510..512].copy_from_slice(&[0x55, 0xaa]);
        found(&disk);
    }
}
