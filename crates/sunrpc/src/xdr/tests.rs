#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

#[test]
fn items_read_back() {
    let mut out = Encoder::new();
    out.u32(7);
    out.u64(1 << 40);
    out.bool(true);
    out.opaque(b"hello");
    out.raw(&[1, 2, 3, 4]);
    out.bool(false);
    assert_eq!(out.len(), 4 + 8 + 4 + 4 + 8 + 4 + 4);
    out.patch(0, 9);

    let mut d = Decoder::new(out.bytes());
    assert_eq!(d.u32(), Ok(9));
    assert_eq!(d.u64(), Ok(1 << 40));
    assert_eq!(d.option(|d| d.opaque(5)), Ok(Some(&b"hello"[..])));
    assert_eq!(d.fixed(), Ok([1, 2, 3, 4]));
    assert_eq!(d.option(super::Decoder::u32), Ok(None));
    assert_eq!(d.remaining(), 0);
}

#[test]
fn lengths_are_checked_before_anything_is_taken() {
    let mut out = Encoder::new();
    out.u32(u32::MAX);
    assert_eq!(Decoder::new(out.bytes()).opaque(64), Err(Malformed::TooLong { len: u32::MAX, max: 64 }));
    assert_eq!(Decoder::new(out.bytes()).opaque(u32::MAX), Err(Malformed::Short));
    // The padding belongs to the item.
    assert_eq!(Decoder::new(&[0, 0, 0, 1, b'x']).opaque(1), Err(Malformed::Short));
    assert_eq!(Decoder::new(&[0, 0, 0, 2]).bool(), Err(Malformed::Value(2)));
    assert_eq!(Decoder::new(&[0, 0, 0]).u32(), Err(Malformed::Short));
}

#[test]
fn padding_fills_words() {
    assert_eq!([0, 1, 2, 3, 4, 5].map(padding), [0, 3, 2, 1, 0, 3]);
}
