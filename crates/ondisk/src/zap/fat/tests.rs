use super::*;

fn head() -> FatHeader {
    let mut embedded = vec![1; 64];
    embedded[32..].fill(2);
    let ptrtbl = TablePhys { shift: 6, ..TablePhys::default() };
    FatHeader { ptrtbl, freeblk: 3, num_leafs: 2, num_entries: 5, salt: 7, normflags: 0, flags: 0, embedded }
}

#[test]
fn round_trips() {
    let block = head().encode();
    assert_eq!(block.len(), 1024);
    assert_eq!(FatHeader::decode(&block, Endian::Little), Ok(head()));
    assert_eq!(decode_pointers(&encode_pointers(&[1, 2]), Endian::Little), [1, 2]);
}

#[test]
fn slots_are_the_top_bits() {
    assert_eq!(head().slot(u64::MAX), 63);
    assert_eq!((slot(u64::MAX, 0), slot(1 << 63, 1)), (0, 1));
}

#[test]
fn hostile_bytes_are_errors() {
    let good = head().encode();
    assert!(FatHeader::decode(&good[..1000], Endian::Little).is_err());
    for (at, value) in [(0, 9), (8, 9), (32, 7), (32, 64), (32, 255)] {
        let mut bad = good.clone();
        bad[at] = value;
        assert!(FatHeader::decode(&bad, Endian::Little).is_err(), "byte {at} = {value}");
    }
}
