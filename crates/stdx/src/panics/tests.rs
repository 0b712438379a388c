use super::text;

#[test]
fn a_message_is_read_whether_it_was_put_together_or_not() {
    let caught = |panic: fn()| std::panic::catch_unwind(panic).expect_err("it panics");
    assert_eq!(text(&*caught(|| panic!("with a number: {}", "7".len()))), Some("with a number: 1"));
    assert_eq!(text(&*caught(|| panic!("plain"))), Some("plain"));
    assert_eq!(text(&*caught(|| std::panic::panic_any(7))), None);
}
