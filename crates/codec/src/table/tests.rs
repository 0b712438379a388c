use super::*;

#[test]
fn rows_stand_at_their_raw_value() {
    for (raw, (kind, name)) in CHECKSUMS.iter().enumerate() {
        assert_eq!((*kind as usize, kind.name(), Checksum::from_name(name)), (raw, *name, Some(*kind)));
    }
    for (raw, (kind, name)) in COMPRESSIONS.iter().enumerate() {
        assert_eq!((*kind as usize, kind.name(), Compression::from_name(name)), (raw, *name, Some(*kind)));
    }
    assert_eq!((Checksum::from_raw(15), Compression::from_raw(17)), (None, None));
    assert_eq!((Checksum::Fletcher4 as u8, Compression::Lz4 as u8, Compression::Zstd as u8), (7, 15, 16));
    assert_eq!((Compression::Gzip9.gzip_level(), Compression::Zle.gzip_level()), (Some(9), None));
}
