use super::*;

fn info(number: u16) -> Option<AttrInfo> {
    let (length, swap) = match number {
        0 => (16, Swap::U64),
        1 => (8, Swap::U64),
        2 | 3 | 5 => (0, Swap::U8),
        4 => (0, Swap::Acl),
        _ => return None,
    };
    Some(AttrInfo { number, length, swap })
}

#[test]
fn registry_values_round_trip() {
    let mode = AttrInfo { number: 5, length: 8, swap: Swap::U64 };
    assert_eq!(mode.encode(), 0x0800_0005);
    assert_eq!(AttrInfo::decode(mode.encode()), Ok(mode));
    let aces = AttrInfo { number: 19, length: 0, swap: Swap::Acl };
    assert_eq!(aces.encode(), 0x4_0013);
    assert_eq!(AttrInfo::decode(aces.encode()), Ok(aces));
    assert!(AttrInfo::decode(0x5_0000).is_err());
}

#[test]
fn packed_values_are_found_again() {
    let layout = [1, 2, 0, 3, 5];
    let values: [&[u8]; 5] = [&[1; 8], b"abc", &[2; 16], b"", b"0123456789"];
    let pairs: Vec<_> = layout.iter().zip(values).map(|(&n, v)| (info(n).unwrap(), v)).collect();
    let bytes = encode(7, &pairs);
    let header = Header::decode(&bytes).unwrap().unwrap();
    assert_eq!((header.layout, header.size, header.endian), (7, 16, Endian::Little));
    let found = locate(&bytes, &header, &layout, info).unwrap();
    let read: Vec<&[u8]> = found.iter().map(|(_, range)| &bytes[range.clone()]).collect();
    assert_eq!(read, values);
    assert!(found.iter().all(|(_, range)| range.start % 8 == 0));
}

#[test]
fn big_endian_headers_are_told_by_their_magic() {
    let mut bytes = encode(3, &[(info(2).unwrap(), b"hello")]);
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    let header = Header::decode(&bytes).unwrap().unwrap();
    assert_eq!((header.layout, header.endian), (3, Endian::Big));
    let found = locate(&bytes, &header, &[2], info).unwrap();
    assert_eq!(&bytes[found[0].1.clone()], b"hello");
}

#[test]
fn damaged_buffers_are_errors() {
    let bytes = encode(2, &[(info(1).unwrap(), &[1; 8]), (info(2).unwrap(), b"some words")]);
    let header = Header::decode(&bytes).unwrap().unwrap();
    for len in 1..bytes.len() {
        let cut = &bytes[..len];
        let located = Header::decode(cut).and_then(|h| h.map(|h| locate(cut, &h, &[1, 2], info)).transpose());
        assert!(located.is_err(), "{len} bytes");
    }
    assert!(locate(&bytes, &header, &[1, 9], info).is_err(), "an attribute nobody registered");
    assert!(locate(&bytes, &header, &[2, 3, 5], info).is_err(), "more lengths than the header has");
    assert_eq!(Header::decode(&[]), Ok(None));
    assert_eq!(Header::decode(&[0; 320]), Ok(None));
    assert!(Header::decode(&[1; 320]).is_err());
}

#[test]
fn what_does_not_fit_goes_to_the_spill_block() {
    let fixed = |length| (length, false);
    let variable = |length| (length, true);
    assert_eq!(fit_bonus(&[fixed(200), variable(112)], 320), 2);
    // 313 bytes do not fit: then 128 go to the spill pointer as well.
    assert_eq!(fit_bonus(&[fixed(100), fixed(88), variable(125)], 320), 1);
    assert_eq!(fit_bonus(&[variable(400), fixed(8)], 320), 0);
}
