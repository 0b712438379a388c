//! Texts as they are written down.

use super::*;

const LONGEST: usize = 1_024;

fn line(text: &str) -> String {
    escaped(text, LONGEST)
}

#[test]
fn no_text_breaks_its_line_or_turns_it() {
    assert_eq!(line("a\nb\r\t\0"), "a\\u{a}b\\u{d}\\u{9}\\u{0}");
    assert_eq!(line("\u{1b}[2J\u{9b}"), "\\u{1b}[2J\\u{9b}");
    assert_eq!(line("x\u{202e}gpj\u{2028}"), "x\\u{202e}gpj\\u{2028}");
    assert_eq!(line("\\u{a}"), "\\\\u{a}");
    assert_eq!(line("tank/größe 😀"), "tank/größe 😀");
}

#[test]
fn a_text_is_cut_between_characters_at_its_bound() {
    assert_eq!(line(&"a".repeat(5_000)).len(), LONGEST);
    assert_eq!(line(&format!("a{}", "😀".repeat(5_000))).len(), LONGEST - 3);
    assert_eq!(line(&format!("{}\n", "a".repeat(LONGEST - 1))).len(), LONGEST - 1);
}
