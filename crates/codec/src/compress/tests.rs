use super::*;

/// Every kind that compresses, with levels that differ in kind.
const KINDS: [(u8, i32); 10] =
    [(3, 0), (5, 0), (10, 0), (13, 0), (14, 0), (15, 0), (16, 0), (16, 19), (16, 103), (16, 123)];

struct Noise(u64);
impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

/// Blocks with text, runs of zeros, single zeros, repeats and noise.
fn samples() -> Vec<Vec<u8>> {
    let mut noise = Noise(7);
    let text: Vec<u8> = (0..40_000u32).flat_map(|i| format!("{} ", i / 3).into_bytes()).collect();
    let mixed: Vec<u8> = (0..131_072).map(|i| if i / 97 % 3 == 0 { noise.next() as u8 } else { 0 }).collect();
    let sparse: Vec<u8> = (0..5000).map(|i| if i % 2 == 0 { 0 } else { 1 }).collect();
    vec![
        text[..131_072].to_vec(),
        mixed,
        sparse,
        vec![0; 512],
        vec![0; 131_072],
        vec![9; 1000],
        vec![1, 0],
        vec![0],
    ]
}

/// With memory that held something else.
fn compressed(kind: u8, level: i32, src: &[u8], max_out: usize) -> Option<Vec<u8>> {
    compress(kind, level, src, &mut vec![0xa5; 300], max_out).map(<[u8]>::to_vec)
}

#[test]
fn what_goes_in_comes_out_also_with_padding() {
    for (kind, level) in KINDS {
        for sample in samples() {
            let mut stored = compressed(kind, level, &sample, 2 * sample.len() + 100).expect("there is room");
            stored.resize(stored.len().next_multiple_of(512), 0);
            let mut back = vec![0xaa; sample.len()];
            assert_eq!(decompress(kind, &stored, &mut back), Ok(()), "kind {kind}");
            assert!(back == sample, "kind {kind}, {} bytes", sample.len());
        }
    }
}

#[test]
fn the_limit_is_kept_and_noise_does_not_fit() {
    let mut noise = Noise(3);
    let random: Vec<u8> = (0..4096).map(|_| noise.next() as u8).collect();
    for (kind, level) in KINDS {
        assert_eq!(compressed(kind, level, &random, 3584), None, "kind {kind}");
        for max in [0, 1, 4, 8, 9] {
            assert_eq!(compressed(kind, level, &samples()[0], max), None, "kind {kind} max {max}");
        }
    }
    for (kind, level, max) in [(15, 0, 0), (2, 0, 512), (200, 0, 512), (16, 20, 512)] {
        assert_eq!(compressed(kind, level, &[0; 512], max), None, "kind {kind}");
    }
}

#[test]
fn what_saves_an_eighth_fits() {
    let repeats: Vec<u8> = (0..131_072u32).map(|i| if i / 1000 % 2 == 0 { 0 } else { i as u8 & 3 }).collect();
    for len in [4096, 131_072] {
        for (kind, level) in KINDS {
            let exact = compressed(kind, level, &repeats[..len], len - len / 8).expect("that much is saved");
            // Some compressors want a little room beyond what they end up using, but not an eighth.
            let tight = compressed(kind, level, &repeats[..len], exact.len() + 512);
            assert_eq!(tight.map(|tight| tight.len()), Some(exact.len()), "kind {kind}");
        }
    }
}

#[test]
fn hostile_bytes_never_panic() {
    let mut noise = Noise(11);
    for (kind, level) in KINDS {
        for sample in samples() {
            let stored = compressed(kind, level, &sample, 2 * sample.len() + 100).expect("there is room");
            for _ in 0..60 {
                let mut bad = stored.clone();
                for _ in 0..=noise.next() % 4 {
                    let at = noise.next() as usize % bad.len();
                    bad[at] = noise.next() as u8;
                }
                bad.truncate(noise.next() as usize % (2 * bad.len()));
                let mut back = vec![0; sample.len()];
                // Either is fine: damage may cancel out, or go unseen. The test is that this returns.
                let _ = decompress(kind, &bad, &mut back);
            }
            assert_eq!(decompress(kind, &[], &mut [0; 100]), Err(Corrupt), "kind {kind}");
        }
    }
}

#[test]
fn wrong_size_and_unknown_kind_are_corrupt() {
    for (kind, level) in KINDS {
        let stored = compressed(kind, level, &[5; 4096], 8192).expect("there is room");
        assert_eq!(decompress(kind, &stored, &mut vec![0; 4096 + 300]), Err(Corrupt), "kind {kind}");
    }
    assert_eq!(decompress(1, &[0; 512], &mut [0; 512]), Err(Corrupt));
    assert_eq!(decompress(17, &[0; 512], &mut [0; 512]), Err(Corrupt));
    assert_eq!(decompress(2, &[0; 511], &mut [0; 512]), Err(Corrupt));
}
