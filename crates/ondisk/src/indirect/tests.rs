use super::*;

#[test]
fn entries_come_back_as_they_were() {
    let entry = MappingEntry { source: 0x1234_5600, destination: Dva::new(3, 0xabc_de00, 128 << 10) };
    let mut block = vec![0; 3 * MappingEntry::SIZE];
    block[2 * MappingEntry::SIZE..].copy_from_slice(&entry.encode());
    assert_eq!(MappingEntry::decode_at(&block, 2), Ok(entry));
    assert_eq!(entry.end(), 0x1234_5600 + (128 << 10));
    assert!(MappingEntry::decode_at(&block, 0).unwrap().is_empty());
    assert!(MappingEntry::decode_at(&block, 3).is_err());
}

#[test]
fn old_mappings_count_nothing() {
    let phys = MappingPhys { max_offset: 1 << 20, bytes_mapped: 4096, num_entries: 1, counts_object: 9 };
    assert_eq!(MappingPhys::decode(&phys.encode()[..24]).unwrap().counts_object, 0);
    assert_eq!(MappingPhys::decode(&phys.encode()), Ok(phys));
    assert!(MappingPhys::decode(&phys.encode()[..23]).is_err());
}
