use super::*;

const SALT: Salt = Salt([7; 32]);
const ALL: std::ops::Range<u8> = 2..15;

#[test]
fn sha256_words_are_big_endian_numbers() {
    let sum = checksum(8, b"abc", None, false).unwrap();
    assert_eq!(sum[0], 0xba78_16bf_8f01_cfea);
    assert_eq!(checksum(8, b"abc", None, true).unwrap(), sum);
}

#[test]
fn sha512_is_truncated_with_its_own_start() {
    // FIPS 180-4, SHA-512/256 of "abc" begins 53048e26 81941ef9.
    assert_eq!(
        checksum(11, b"abc", None, false).unwrap()[0],
        u64::from_le_bytes(*b"\x53\x04\x8e\x26\x81\x94\x1e\xf9")
    );
    assert_eq!(checksum(11, b"abc", None, true).unwrap()[0], 0x5304_8e26_8194_1ef9);
}

#[test]
fn salted_kinds_need_their_salt() {
    for kind in [12, 13, 14] {
        assert_eq!(checksum(kind, b"x", None, false), Err(Unsupported(kind)));
        let one = checksum(kind, b"x", Some(&SALT), false).unwrap();
        assert_ne!(checksum(kind, b"x", Some(&Salt([8; 32])), false).unwrap(), one);
        assert_eq!(checksum(kind, b"x", Some(&SALT), true).unwrap(), one.map(u64::swap_bytes));
    }
    assert_eq!(checksum(15, b"x", Some(&SALT), false), Err(Unsupported(15)));
    assert_eq!(checksum(1, b"x", Some(&SALT), false), Err(Unsupported(1)));
}

#[test]
fn every_length_and_byte_counts() {
    for kind in ALL.filter(|&kind| kind != 2 && kind != 10) {
        for len in [512, 4096, 4096 + 512] {
            let mut data = vec![3; len];
            let before = checksum(kind, &data, Some(&SALT), false).unwrap();
            data[len - 1] ^= 1;
            assert_ne!(checksum(kind, &data, Some(&SALT), false).unwrap(), before, "kind {kind}");
        }
        for len in 0..300 {
            checksum(kind, &vec![1; len], Some(&SALT), false).unwrap();
        }
    }
}

/// A block of the kind with its trailer's checksum filled in, as a writer of the given byte order
/// does.
fn sealed(kind: u8, verifier: [u64; 4], swap: bool) -> (Vec<u8>, usize) {
    let order = |word: u64| if swap { word.to_be_bytes() } else { word.to_le_bytes() };
    let mut data: Vec<u8> = (0..8192u32).map(|i| (i % 251) as u8).collect();
    let trailer = if kind == 9 { 144 } else { data.len() - 40 };
    data[136..144].copy_from_slice(&order(5000));
    data[trailer..trailer + 8].copy_from_slice(&order(MAGIC));
    let sum = embedded_checksum(kind, &data, verifier).unwrap();
    for (i, word) in sum.into_iter().enumerate() {
        data[trailer + 8 + i * 8..][..8].copy_from_slice(&order(word));
    }
    (data, trailer)
}

#[test]
fn embedded_sums_ignore_themselves_but_not_the_verifier() {
    for kind in [3, 4, 5, 9] {
        for swap in [false, true] {
            let (data, _) = sealed(kind, [1, 2, 3, 4], swap);
            let (again, trailer) = sealed(kind, [1, 2, 3, 4], swap);
            assert_eq!(data, again);
            let sum = embedded_checksum(kind, &data, [1, 2, 3, 4]).unwrap();
            let order = |bytes: &[u8]| {
                let bytes = *bytes.first_chunk().unwrap();
                if swap { u64::from_be_bytes(bytes) } else { u64::from_le_bytes(bytes) }
            };
            let stored: [u64; 4] = std::array::from_fn(|i| order(&data[trailer + 8 + i * 8..]));
            assert_eq!(sum, stored, "kind {kind}");
            assert_ne!(embedded_checksum(kind, &data, [1, 2, 3, 5]).unwrap(), sum, "kind {kind}");
        }
    }
}

#[test]
fn embedded_sums_refuse_what_has_no_trailer() {
    let (mut data, trailer) = sealed(9, [0; 4], false);
    assert!(embedded_checksum(9, &data[..4096], [0; 4]).is_err(), "shorter than the bytes in use");
    data[136..144].fill(0xff);
    assert!(embedded_checksum(9, &data, [0; 4]).is_err(), "absurd length");
    data[trailer] ^= 1;
    assert!(embedded_checksum(9, &data, [0; 4]).is_err(), "wrong magic");
    assert!(embedded_checksum(3, &[0; 39], [0; 4]).is_err());
    assert!(embedded_checksum(9, &[0; 3], [0; 4]).is_err());
    assert!(embedded_checksum(7, &data, [0; 4]).is_err());
}
