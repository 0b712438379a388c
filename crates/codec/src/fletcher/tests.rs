use super::*;

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(len).collect()
}

#[test]
fn vectors_agree_with_the_plain_loop() {
    for len in (0..300).chain([4095, 4096, 131_072, 1 << 20]) {
        let data = noise(len);
        for swap in [false, true] {
            let plain = fletcher4_scalar([0; 4], &data, swap);
            assert_eq!(fletcher4(&data, swap), plain, "length {len}");
            #[cfg(target_arch = "x86_64")]
            if is_x86_feature_detected!("avx2") {
                // SAFETY: just detected.
                assert_eq!(unsafe { x86::fletcher4_avx2(&data, swap) }, plain, "length {len}");
            }
        }
    }
}

#[test]
fn small_sums_by_hand() {
    let data: Vec<u8> = [1u32, 2, 3].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(fletcher4(&data, false), [6, 10, 15, 21]);
    let data: Vec<u8> = [1u64, 2, 3, 4].iter().flat_map(|w| w.to_le_bytes()).collect();
    assert_eq!(fletcher2(&data, false), [4, 6, 5, 8]);
}

#[test]
fn swapped_input_with_swap_is_the_same_sum() {
    let data = noise(4096);
    let mut by_4 = data.clone();
    by_4.chunks_mut(4).for_each(<[u8]>::reverse);
    assert_eq!(fletcher4(&by_4, true), fletcher4(&data, false));
    let mut by_8 = data.clone();
    by_8.chunks_mut(8).for_each(<[u8]>::reverse);
    assert_eq!(fletcher2(&by_8, true), fletcher2(&data, false));
}

#[test]
fn sums_go_on_from_part_to_part() {
    let data = noise(1 << 12);
    for cut in [0, 4, 312, 1000, data.len()] {
        let (first, second) = data.split_at(cut);
        assert_eq!(
            fletcher4_append(fletcher4(first, false), second, false),
            fletcher4(&data, false),
            "{cut}"
        );
        assert_eq!(fletcher4_append(fletcher4(first, true), second, true), fletcher4(&data, true), "{cut}");
    }
}
