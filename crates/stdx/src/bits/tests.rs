use super::*;

#[test]
fn set_then_get_and_neighbours_stay() {
    for low in 0..64 {
        for len in 1..=64 - low {
            for word in [0, u64::MAX, 0x0123_4567_89ab_cdef] {
                let value = 0xfedc_ba98_7654_3210 & mask(len);
                let changed = set(word, low, len, value);
                assert_eq!(get(changed, low, len), value);
                assert_eq!(set(changed, low, len, get(word, low, len)), word);
            }
        }
    }
}

#[test]
#[should_panic(expected = "does not fit")]
fn too_large_a_value_is_a_bug() {
    set(0, 8, 4, 16);
}
