fn halve(n: u32) -> u32 {
    if n % 2 == 1 {
        crate::mark!(odd_number);
    }
    n / 2
}

#[test]
fn a_hit_mark_is_silent() {
    crate::mark_hit!(odd_number);
    assert_eq!(halve(7), 3);
}

#[test]
#[cfg_attr(debug_assertions, should_panic(expected = "mark odd_number was not hit"))]
fn a_missed_mark_fails() {
    crate::mark_hit!(odd_number);
    assert_eq!(halve(8), 4);
}
