use super::*;

#[test]
fn the_table_is_in_order_of_its_numbers() {
    for (position, number) in NUMBERS.iter().enumerate() {
        assert_eq!(position, usize::from(*number));
    }
    assert_eq!(ObjectType::DSL_DATASET.name(), "DSL dataset");
    assert_eq!(ObjectType::BPOBJ_SUBOBJ, ObjectType(53));
}

#[test]
fn new_style_types_describe_themselves() {
    assert_eq!(ObjectType::OTN_ZAP_METADATA, ObjectType(0xc4));
    assert_eq!(ObjectType::OTN_UINT64_METADATA, ObjectType(0xc3));
    assert!(ObjectType::OTN_ZAP_METADATA.is_zap());
    assert!(ObjectType::OTN_ZAP_METADATA.is_metadata());
    assert!(!ObjectType::OTN_UINT8_DATA.is_metadata());
    assert!(ObjectType::new_style(Byteswap::U8, false, true).is_encrypted());
}

#[test]
fn every_byte_has_an_answer() {
    let valid = (0..=u8::MAX).filter(|byte| ObjectType(*byte).is_valid()).count();
    assert_eq!(valid, 54 + 4 * 10);
    for byte in 0..=u8::MAX {
        let kind = ObjectType(byte);
        assert_eq!(kind.name() == "unknown", !kind.is_valid(), "{byte}");
        assert_eq!(kind.is_zap(), kind.byteswap() == Byteswap::Zap);
    }
}
