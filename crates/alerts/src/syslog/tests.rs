use super::*;

#[test]
fn a_line_is_of_rfc_5424_and_nothing_that_is_told_breaks_out_of_it() {
    let mut message = Message::test("ops", "nas", 1_795_855_205);
    let plain = line(&message);
    let head = "<28>1 2026-11-28T08:40:05Z nas cistern - alert [alert@32473 id=\"test-1795855205\" ";
    assert!(plain.starts_with(head), "{plain}");
    assert!(plain.ends_with("test of route ops: Somebody asked for a test of route ops. Nothing is wrong. Alerts of nas come by this way."));
    message.title = "a\nb\0c".to_owned();
    message.id = "x\"]\\y".to_owned();
    message.host = "n a\ns".to_owned();
    let hostile = line(&message);
    assert!(!hostile.contains(char::is_control), "{hostile:?}");
    assert!(hostile.contains(" nas cistern ") && hostile.contains("id=\"x\\\"\\]\\\\y\""), "{hostile}");
    message.title = "ä".repeat(5_000);
    message.host = String::new();
    assert!(line(&message).len() <= LONGEST && line(&message).contains(" - cistern "));
    assert!(
        local_line(&message).len() <= LONGEST && local_line(&message).starts_with("<28>cistern: warning: ")
    );
}
