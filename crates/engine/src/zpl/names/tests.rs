use super::*;

#[test]
fn upper_case_is_one_character_for_one() {
    assert_eq!(normal_form("straße Ä".as_bytes(), norm::TOUPPER), "STRAßE Ä".as_bytes());
    assert_eq!(normal_form(b"Read\xffme", norm::TOUPPER), b"READ\xffME");
    assert_eq!(normal_form(b"as it is", 0), b"as it is");
}

#[test]
fn forms_are_unicodes() {
    let (composed, decomposed) = ("\u{e9}", "e\u{301}");
    assert_eq!(normal_form(composed.as_bytes(), norm::NFD), decomposed.as_bytes());
    assert_eq!(normal_form(decomposed.as_bytes(), norm::NFC), composed.as_bytes());
    assert_eq!(normal_form("\u{fb01}".as_bytes(), norm::NFKC), b"fi");
    assert_eq!(normal_form("\u{fb01}".as_bytes(), norm::NFC), "\u{fb01}".as_bytes());
    assert_eq!(normal_form("\u{fb01}".as_bytes(), norm::NFKD), b"fi");
}

#[test]
fn names_are_checked() {
    let names = Names::new(0, 0, true);
    assert!(names.check_entry(b"ok").is_ok());
    assert_eq!(names.check_entry(&[b'x'; 256]), Err(Error::NameTooLong));
    for bad in [&b""[..], b"a/b", b"a\0b", b".", b"..", b"\xff"] {
        assert!(matches!(names.check_entry(bad), Err(Error::Invalid(_))), "{bad:?}");
    }
    assert!(names.check(b"..").is_ok());
    assert_eq!(names.matching(), Match::Exact);
    assert_eq!(Names::new(0, CASE_INSENSITIVE, false).matching(), Match::Normalized);
    assert_eq!(Names::new(0, CASE_MIXED, false).matching(), Match::NormalizedCase);
}
