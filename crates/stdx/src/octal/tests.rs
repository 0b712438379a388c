use super::unescape;

#[test]
fn three_digits_behind_a_backslash_are_a_byte() {
    assert_eq!(unescape(br"two\040words\134x\377"), b"two words\\x\xff");
    assert_eq!(unescape(br"\0401"), b" 1");
}

#[test]
fn a_backslash_without_a_number_stands_for_itself() {
    for plain in [&br"\04"[..], br"\048", br"\400", br"\+12", br"a\", b"", b"na\xefve"] {
        assert_eq!(unescape(plain), plain);
    }
    assert_eq!(unescape(br"\\040"), br"\ ");
}
