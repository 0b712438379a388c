use super::*;

#[test]
fn writes_read_back_in_both_orders() {
    for endian in [Endian::Little, Endian::Big] {
        let mut buf = [0; 18];
        let mut w = Writer::new(&mut buf, endian);
        w.u8(0xab);
        w.u16(0x0102);
        w.u32(0x0304_0506);
        w.skip(1);
        w.u64(0x0708_090a_0b0c_0d0e);
        w.bytes(b"xy");
        assert_eq!(w.position(), 18);

        let mut r = Reader::new(&buf, endian);
        assert_eq!(r.u8(), Some(0xab));
        assert_eq!(r.u16(), Some(0x0102));
        assert_eq!(r.u32(), Some(0x0304_0506));
        assert_eq!(r.skip(1), Some(()));
        assert_eq!(r.u64(), Some(0x0708_090a_0b0c_0d0e));
        assert_eq!(r.rest(), b"xy");
        assert!(r.is_empty());
    }
}

#[test]
fn a_short_read_moves_nothing() {
    let mut r = Reader::new(&[1, 2, 3], Endian::Little);
    assert_eq!(r.u32(), None);
    assert_eq!(r.take(4), None);
    assert_eq!(r.take(usize::MAX), None);
    assert_eq!((r.position(), r.remaining()), (0, 3));
    assert_eq!(r.u16(), Some(0x0201));
    assert_eq!(array_at::<2>(&[1, 2], 1), None);
    assert_eq!(array_at::<2>(&[1, 2], usize::MAX), None);
}

#[test]
fn the_first_byte_tells_the_order() {
    assert_eq!(Endian::Big.put_u32(1), [0, 0, 0, 1]);
    assert_eq!(Endian::Big.swapped().put_u32(1), [1, 0, 0, 0]);
}
