use super::*;

/// A table with one ZFS partition over sectors 2048 to 4095, as the specification says it.
fn table(sector: usize) -> Vec<u8> {
    let mut head = vec![0; HEAD_SIZE.max(sector * 2 + 128 * 128)];
    let at = 2 * sector;
    head[at + 128..at + 144].copy_from_slice(&ZFS_TYPE);
    head[at + 160..at + 168].copy_from_slice(&2048u64.to_le_bytes());
    head[at + 168..at + 176].copy_from_slice(&4095u64.to_le_bytes());
    let entries = crc32(&head[at..at + 128 * 128]);
    let header = &mut head[sector..sector + HEADER_SIZE];
    header[..8].copy_from_slice(SIGNATURE);
    header[72..80].copy_from_slice(&2u64.to_le_bytes());
    header[80..84].copy_from_slice(&128u32.to_le_bytes());
    header[84..88].copy_from_slice(&128u32.to_le_bytes());
    header[88..92].copy_from_slice(&entries.to_le_bytes());
    let crc = crc32(header);
    header[16..20].copy_from_slice(&crc.to_le_bytes());
    head
}

#[test]
fn the_crc_has_its_published_check_value() {
    assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
}

#[test]
fn the_zfs_partition_is_found_for_both_sector_sizes() {
    for sector in [512, 4096] {
        let found = find_zfs(&table(sector), 1 << 40).unwrap();
        let unit = sector as u64;
        assert_eq!(found, Some(Partition { start: 2048 * unit, len: 2048 * unit }));
    }
}

#[test]
fn a_disk_without_a_table_has_no_partition() {
    assert_eq!(find_zfs(&[0; HEAD_SIZE], 1 << 30), Ok(None));
    assert_eq!(find_zfs(&[], 0), Ok(None));
}

#[test]
fn damage_is_an_error_and_never_a_panic() {
    let good = table(512);
    assert!(find_zfs(&good, 2_000_000).is_err(), "the partition is larger than the disk");
    for at in [520usize, 530, 590, 600, 1024 + 130, 1024 + 165] {
        let mut bad = good.clone();
        bad[at] ^= 0x55;
        assert!(find_zfs(&bad, 1 << 40).is_err(), "byte {at}");
    }
    for len in 0..good.len() {
        let _ = find_zfs(&good[..len], 1 << 40);
    }
}
