//! Texts as they are written down.

use super::*;

#[test]
fn no_text_breaks_its_line_or_turns_it() {
    assert_eq!(escaped("a\nb\r\t\0"), "a\\u{a}b\\u{d}\\u{9}\\u{0}");
    assert_eq!(escaped("\u{1b}[2J\u{9b}"), "\\u{1b}[2J\\u{9b}");
    assert_eq!(escaped("x\u{202e}gpj\u{2028}"), "x\\u{202e}gpj\\u{2028}");
    assert_eq!(escaped("\\u{a}"), "\\\\u{a}");
    assert_eq!(escaped("tank/größe 😀"), "tank/größe 😀");
}

#[test]
fn a_text_is_cut_between_characters_at_its_bound() {
    assert_eq!(escaped(&"a".repeat(5_000)).len(), LONGEST_TEXT);
    assert_eq!(escaped(&format!("a{}", "😀".repeat(5_000))).len(), LONGEST_TEXT - 3);
    assert_eq!(escaped(&format!("{}\n", "a".repeat(LONGEST_TEXT - 1))).len(), LONGEST_TEXT - 1);
}
