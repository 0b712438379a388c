use super::*;

#[test]
fn a_pointer_made_of_an_entry_leads_to_its_block() {
    let mut bp = BlkPtr::new(ObjectType::PLAIN_FILE_CONTENTS, 0, 128 << 10, 5 << 10);
    bp.set_compression(CompressKind::Lz4).set_checksum(ChecksumKind::Sha256, [1, 2, 3, u64::MAX]);
    bp.set_dva(0, Dva::new(3, 1 << 20, 8192)).set_birth(90, 70).set_dedup(true);
    let key = DdtKey::of(&bp);
    assert_eq!((key.lsize(), key.psize()), (128 << 10, 5 << 10));
    assert_eq!(DdtKey::from_words(&key.words()), Ok(key));
    assert!(DdtKey::from_words(&key.words()[..4]).is_err());
    let slot = Slot { dvas: bp.dvas(), references: 2, birth: 70 };
    assert!(slot.is_of(&bp) && !Slot::default().is_of(&bp));
    let made = key.pointer(ChecksumKind::Sha256, &slot);
    assert_eq!((DdtKey::of(&made), made.dvas(), made.birth()), (key, bp.dvas(), 70));
    assert!(made.is_dedup() && made.validate().is_ok());
}

#[test]
fn slots_come_back_in_either_order() {
    let mut slots = Slots::default();
    slots[1] = Slot { dvas: [Dva::new(1, 512, 512), Dva::EMPTY, Dva::EMPTY], references: 7, birth: 9 };
    slots[3] = Slot { dvas: [Dva::new(1, 4096, 512); 3], references: 1, birth: 10 };
    let bytes = encode_slots(&slots);
    assert_eq!(decode_slots(&bytes, Endian::Little), Ok(slots));
    let big: Vec<u8> = bytes.as_chunks::<8>().0.iter().flat_map(|word| word.iter().rev().copied()).collect();
    assert_eq!(decode_slots(&big, Endian::Big), Ok(slots));
    assert!(decode_slots(&bytes[1..], Endian::Little).is_err());
    assert_eq!(references(&slots), 8);
    assert_eq!(parse_value_head(value_head(CompressKind::Zle)), (Endian::Little, 14));
}

#[test]
fn histograms_add_up() {
    let mut histogram = Histogram::default();
    let stat = Stat::new([4096, 512, 1024], 5);
    histogram.bucket(5).unwrap().add(&stat);
    assert_eq!(histogram.0[2].ref_dsize, 5120);
    assert!(histogram.bucket(0).is_none());
    let mut twice = Histogram::from_words(&histogram.words()).unwrap();
    twice.add(&histogram);
    assert_eq!(twice.total().ref_blocks, 10);
    twice.bucket(5).unwrap().sub(&stat);
    assert_eq!(twice, histogram);
    assert!(Histogram::from_words(&[0; 511]).is_err());
    assert_eq!(object_name(ChecksumKind::Sha256, Class::of(2)), "DDT-sha256-zap-duplicate");
}
