use super::*;

#[test]
fn bytes_fit_five_characters() {
    let cases: [(u64, &str); 9] = [
        (0, "0"),
        (512, "512"),
        (1023, "1023"),
        (1024, "1K"),
        (1536, "1.50K"),
        (10_300, "10.1K"),
        (150 << 20, "150M"),
        ((150 << 20) + 99_999, "150M"),
        (u64::MAX, "16.0E"),
    ];
    for (number, text) in cases {
        assert_eq!(bytes(number), text, "{number}");
    }
}

#[test]
fn times_are_utc() {
    assert_eq!(time(0), "1970-01-01 00:00:00");
    assert_eq!(time(951_782_400), "2000-02-29 00:00:00");
    assert_eq!(time(1_795_238_547), "2026-11-21 05:22:27");
    assert_eq!(time(u64::MAX / 2).len(), "292277026596-12-04 15:30:07".len());
    assert_eq!(duration(3723), "1:02:03");
    assert_eq!(duration(59), "0:59");
}

#[test]
fn columns_are_aligned() {
    let mut table = Table::new(&["NAME", ">SIZE"]);
    table.row(vec!["a".into(), "1".into()]);
    table.row(vec!["long".into(), "100K".into()]);
    let mut text = Vec::new();
    table.write(2, &mut text).unwrap();
    assert_eq!(String::from_utf8(text).unwrap(), "  NAME  SIZE\n  a        1\n  long  100K\n");
}
