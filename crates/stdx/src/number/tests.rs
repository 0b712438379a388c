//! Sizes, and what is none.

use super::parse;

#[test]
fn numbers_are_read_as_people_write_them() {
    assert_eq!(parse("131072"), Ok(128 << 10));
    assert_eq!(parse("128k"), Ok(128 << 10));
    assert_eq!(parse("1.5G"), Ok(3 << 29));
    assert_eq!(parse(".5G"), Ok(1 << 29));
    assert_eq!(parse("1."), Ok(1));
    assert_eq!(
        [parse("2TiB"), parse("2tb"), parse("2t"), parse("512B")],
        [2 << 40, 2 << 40, 2 << 40, 512].map(Ok)
    );
    let cases = [
        ("", "bad numeric value ''"),
        ("k", "bad numeric value 'k'"),
        ("-1", "bad numeric value '-1'"),
        ("NaN", "bad numeric value 'NaN'"),
        ("1q", "invalid numeric suffix 'q'"),
        ("1kk", "invalid numeric suffix 'kk'"),
        ("1bb", "invalid numeric suffix 'bb'"),
        ("1BiB", "invalid numeric suffix 'BiB'"),
        ("1GiBB", "invalid numeric suffix 'GiBB'"),
        (".", "invalid numeric suffix '.'"),
        ("1 k", "invalid numeric suffix ' k'"),
        ("0x200", "invalid numeric suffix 'x200'"),
        ("1.5.2", "invalid numeric suffix '.2'"),
        ("16E", "numeric value is too large"),
        ("16.0E", "numeric value is too large"),
        ("1Z", "numeric value is too large"),
        ("99999999999999999999", "numeric value is too large"),
    ];
    for (bad, why) in cases {
        assert_eq!(parse(bad), Err(why.into()), "{bad}");
    }
}
