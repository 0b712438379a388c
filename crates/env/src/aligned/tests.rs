use super::*;

#[test]
fn buffers_are_aligned_zeroed_and_independent() {
    for len in [1, 511, 4096, 131_072] {
        let mut buf = AlignedBuf::zeroed(len);
        assert!(is_aligned(&buf, ALIGN));
        assert!(buf.len() == len && buf.iter().all(|&b| b == 0));
        buf[len - 1] = 7;
        let copy = buf.clone();
        buf[len - 1] = 8;
        assert_eq!((copy[len - 1], buf[len - 1]), (7, 8));
    }
}

#[test]
fn empty_buffer_is_a_valid_slice() {
    assert_eq!(AlignedBuf::default().len(), 0);
    assert!(AlignedBuf::from_slice(&[]).is_empty());
}
