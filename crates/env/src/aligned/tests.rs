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

#[test]
fn buffers_used_again_are_as_asked_for() {
    for len in [4096, 64 << 10, 128 << 10, 1 << 20, 3 << 20] {
        for _ in 0..3 {
            let mut buf = AlignedBuf::zeroed(len);
            assert!(is_aligned(&buf, ALIGN) && buf.iter().all(|byte| *byte == 0));
            buf.fill(0xA5);
            assert_eq!(AlignedBuf::scratch(len).len(), len);
            let half = len / 2;
            let copy = AlignedBuf::concat(&[&buf[..half], &[], &buf[half..]]);
            assert_eq!(copy[..], buf[..]);
        }
    }
    assert!(AlignedBuf::concat(&[]).is_empty());
}

#[test]
fn what_nobody_needs_goes_back_to_the_system() {
    // A size that no other test of this process asks for.
    const LEN: usize = 512 << 10;
    let warm = || {
        let taken: Vec<recycle::Taken> = (0..8).map(|_| recycle::take(LEN).unwrap()).collect();
        taken.iter().for_each(|taken| recycle::keep(taken.ptr, LEN));
        taken.iter().filter(|taken| !taken.zeroed).count()
    };
    keep_spare(256 << 20);
    assert_eq!(warm(), 0);
    give_back();
    assert_eq!(warm(), 8);
    give_back();
    assert_eq!(warm(), 8, "it was needed since");
    give_back();
    give_back();
    assert_eq!(warm(), 0);
}
