use super::*;

#[test]
fn the_table_is_ecma_reflected() {
    assert_eq!(TABLE[128], POLY);
    // The check value of CRC-64/XZ, which starts from and ends with all ones.
    assert_eq!(!crc(u64::MAX, *b"123456789"), 0x995D_C9BB_DF19_39FA);
}

#[test]
fn only_the_top_bits_count() {
    let (short, long) = (of_name(b"name", 1, 0), of_name(b"name", 1, super::super::FLAG_HASH64));
    assert_eq!(short & ((1 << 36) - 1), 0);
    assert_eq!(long >> 36, short >> 36);
    assert_eq!(of_words(&[7], 1, 2), of_name(&7u64.to_le_bytes(), 1, 0));
    assert_eq!(of_words(&[u64::MAX], 1, 7), u64::MAX << 16);
}

#[test]
fn cursors_come_back() {
    for flags in [0, 1] {
        let cursor = Cursor { hash: of_name(b"x", 3, flags), cd: 5 };
        assert_eq!(Cursor::deserialize(cursor.serialize(flags), flags), cursor);
    }
    assert_eq!(Cursor::deserialize(u64::MAX, 1).cd, 0);
}
