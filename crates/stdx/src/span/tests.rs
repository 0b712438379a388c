use super::*;

#[test]
fn spans_are_read_as_people_write_them_and_nonsense_is_not() {
    let read = ["0s", "90s", "30m", "12h", "1d", "2w"].map(|text| parse(text, &UNITS));
    assert_eq!(read, [0, 90, 1_800, 43_200, 86_400, 1_209_600].map(Some));
    assert_eq!(parse("2y", &[("y", 7)]), Some(14));
    for bad in [
        "",
        "d",
        "1",
        "1y",
        "-1d",
        "+1d",
        "1.5d",
        "1d ",
        "99999999999999999999s",
        "9999999999999999w",
        "\u{e4}",
    ] {
        assert_eq!(parse(bad, &UNITS), None, "{bad}");
    }
}
