use super::*;
use crate::blkptr::Dva;

#[test]
fn both_orders_come_back() {
    for endian in [Endian::Little, Endian::Big] {
        let mut block = [0xff; 64];
        Eck::put_tail(&mut block, endian, [1, 2, 3, 4]);
        assert_eq!(block[..24], [0xff; 24]);
        assert_eq!(Eck::decode_tail(&block), Ok(Eck { endian, checksum: [1, 2, 3, 4] }));
    }
    assert_eq!(Eck::decode_tail(&[0; 64]).unwrap_err().offset, 24);
    assert!(Eck::decode_tail(&[0; 39]).is_err());
}

#[test]
fn verifiers_say_where_a_block_belongs() {
    assert_eq!(label_verifier(0x4000), [0x4000, 0, 0, 0]);
    let mut bp = BlkPtr::HOLE;
    bp.set_dva(0, Dva::new(2, 0x600, 0x200)).set_birth(9, 9);
    assert_eq!(gang_verifier(&bp), [2, 0x600, 9, 0]);
}
