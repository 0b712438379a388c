use super::*;

fn pointer(n: u64) -> LogPointer {
    LogPointer {
        address: (n + 9) << 20,
        payload_asize: 12 << 10,
        payload_start: n << 20,
        prop: Prop::of_sizes(64 << 10, 8 << 10)
            .with_compression(CompressKind::Lz4)
            .with_checksum(ChecksumKind::Fletcher4),
        checksum: [n, 2, 3, 4],
    }
}

fn header() -> DeviceHeader {
    DeviceHeader {
        version: VERSION,
        pool: 11,
        vdev: 12,
        log_entries: 1022,
        evict: 13 << 20,
        flags: FLAG_FIRST_ROUND,
        start: (4 << 20) + 4096,
        end: 1 << 30,
        newest: [pointer(1), pointer(2)],
        log_asize: 16 << 10,
        log_count: 2,
        trim_time: 14,
        trim_state: 15,
    }
}

fn block() -> LogBlock {
    let entry = |n: u64| LogEntry {
        dva: Dva::new(1, n << 12, 4096),
        birth: 77 + n,
        prop: Prop::of_sizes(128 << 10, 4096)
            .with_compression(CompressKind::Zstd)
            .with_contents(CONTENTS_METADATA, LIST_MFU),
        address: n << 13,
        complevel: 3,
    };
    LogBlock { previous: pointer(3), entries: (0..ENTRIES_MAX as u64).map(entry).collect() }
}

/// The same structure as a machine of the other byte order writes it.
fn swapped(bytes: &[u8]) -> Vec<u8> {
    bytes.chunks_exact(8).flat_map(|word| word.iter().rev().copied()).collect()
}

#[test]
fn headers_and_log_blocks_come_back_in_either_byte_order() {
    for size in [512, 4096] {
        let area = header().encode(size, [4 << 20, 0, 0, 0]);
        assert_eq!(area.len(), size);
        assert_eq!(DeviceHeader::decode(&area), Ok(header()));
        assert_eq!(DeviceHeader::decode(&swapped(&area)), Ok(header()));
        assert_eq!(Eck::decode_tail(&area).unwrap().checksum[0], 4 << 20);
    }
    let bytes = block().encode();
    assert_eq!(bytes.len(), 65_536);
    assert_eq!(LogBlock::decode(&bytes, ENTRIES_MAX), Ok(block()));
    assert_eq!(LogBlock::decode(&swapped(&bytes), ENTRIES_MAX), Ok(block()));
    assert_eq!(LogBlock::decode(&bytes, 5).unwrap().entries, block().entries[..5]);
    assert_eq!(LogBlock::decode(&bytes, usize::MAX).unwrap().entries.len(), ENTRIES_MAX);
}

#[test]
fn fields_lie_where_openzfs_has_them() {
    let area = header().encode(512, [0; 4]);
    let word = |at: usize| u64::from_le_bytes(*area[at..].first_chunk().unwrap());
    assert_eq!(&area[..8], b"EHCACSFZ");
    assert_eq!((word(16), word(24), word(32), word(40)), (11, 12, 1022, 13 << 20));
    assert_eq!((word(72), word(136), word(208)), (10 << 20, 11 << 20, 2));
    let bytes = block().encode();
    assert_eq!(&bytes[..8], b"DHKLBGOL");
    let word = |at: usize| u64::from_le_bytes(*bytes[at..].first_chunk().unwrap());
    // lsize 256 sectors, psize 8, zstd, metadata, MFU.
    assert_eq!(word(128 + 24), 255 | 7 << 16 | 16 << 32 | 2 << 48 | 3 << 57);
    assert_eq!((word(128 + 64 + 16), word(128 + 64 + 32)), (78, 1 << 13));
}

#[test]
fn a_word_of_sizes_and_kinds_gives_each_back() {
    let prop = block().entries[0].prop;
    assert_eq!((prop.lsize(), prop.psize()), (128 << 10, 4096));
    assert_eq!((prop.compression_raw(), prop.contents(), prop.list()), (16, CONTENTS_METADATA, LIST_MFU));
    assert!(!prop.was_prefetched() && !prop.is_protected());
    assert_eq!(pointer(1).prop.checksum_raw(), 7);
}

#[test]
fn what_is_short_or_has_another_magic_is_refused() {
    let area = header().encode(512, [0; 4]);
    assert!(DeviceHeader::decode(&area[..511]).is_err());
    assert!(DeviceHeader::decode(&[0; 512]).is_err());
    let bytes = block().encode();
    assert!(LogBlock::decode(&bytes[..65_535], 1).is_err());
    assert!(LogBlock::decode(&area, 1).is_err());
}
