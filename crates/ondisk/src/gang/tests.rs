use super::*;
use crate::blkptr::Dva;
use crate::object_type::ObjectType;

#[test]
fn pieces_come_back_in_order() {
    assert_eq!(HEADER_POINTERS, 3);
    let pieces: Vec<BlkPtr> = (1..=3)
        .map(|i| {
            let mut bp = BlkPtr::new(ObjectType(19), 0, 512 * i, 512 * i);
            bp.set_dva(0, Dva::new(0, 4096 * i, 512 * i)).set_birth(5, 5);
            bp
        })
        .collect();
    for n in 0..=3 {
        let header = encode(&pieces[..n], HEADER_SIZE, [7, 0, 0, 0]);
        assert_eq!(decode(&header).unwrap(), pieces[..n]);
        assert_eq!(Eck::decode_tail(&header).unwrap().checksum, [7, 0, 0, 0]);
    }
}

#[test]
fn wrong_sizes_and_magics_are_refused() {
    assert!(decode(&[0; 512]).is_err());
    let header = encode(&[], HEADER_SIZE, [0; 4]);
    assert!(decode(&header[..511]).is_err());
    assert_eq!(pointers_in(4096), 31);
}
