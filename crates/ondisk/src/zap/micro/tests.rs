use super::*;

#[test]
fn round_trips() {
    let mut block = vec![0xff; 512];
    init(&mut block, 9, 1);
    let name = [b'n'; MAX_NAME];
    let entry = MicroEntry { value: 42, cd: 1, name: &name };
    set(&mut block, 3, Some(entry));
    let zap = MicroZap::new(&block).unwrap();
    assert_eq!((zap.salt, zap.normflags, zap.capacity()), (9, 1, 7));
    assert_eq!(zap.entries().collect::<Result<Vec<_>, _>>(), Ok(vec![(3, entry)]));
    assert_eq!(zap.find(&name), Some((3, entry)));
    assert_eq!((zap.find(&name[1..]), zap.find(b""), zap.find(&[b'n'; 50])), (None, None, None));
    set(&mut block, 3, None);
    assert_eq!(MicroZap::new(&block).unwrap().entries().count(), 0);
}

#[test]
fn hostile_bytes_are_errors() {
    let mut block = vec![0; 512];
    init(&mut block, 9, 0);
    assert!(MicroZap::new(&block[..63]).is_err());
    block[64..128].fill(b'x');
    let zap = MicroZap::new(&block).unwrap();
    assert_eq!(zap.entries().next(), Some(Err(Malformed::at("micro zap name", 64))));
}
