use super::*;

#[test]
fn round_trips() {
    let mut zap = MicroZap::new(512, 9, 0);
    assert_eq!(zap.chunks.len(), 7);
    zap.chunks[3] = Some(MicroEntry { value: 42, cd: 1, name: vec![b'n'; MAX_NAME] });
    assert_eq!(MicroZap::decode(&zap.encode(), Endian::Little), Ok(zap));
}

#[test]
fn hostile_bytes_are_errors() {
    let mut bytes = MicroZap::new(512, 9, 0).encode();
    assert!(MicroZap::decode(&bytes[..63], Endian::Little).is_err());
    assert!(MicroZap::decode(&bytes, Endian::Big).is_err());
    bytes[64..128].fill(b'x');
    assert_eq!(MicroZap::decode(&bytes, Endian::Little), Err(Malformed::at("micro zap name", 64)));
}
