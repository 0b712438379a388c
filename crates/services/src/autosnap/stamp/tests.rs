use super::Stamp;

#[test]
fn a_stamp_is_read_as_it_was_written() {
    let stamp = Stamp { service: "auto-1".to_owned(), level: "hourly".to_owned(), at: -5 };
    assert_eq!(stamp.to_string(), "auto-1 hourly -5");
    assert_eq!(Stamp::parse(&stamp.to_string()), Some(stamp));
}

#[test]
fn what_only_looks_like_one_is_none() {
    let long = format!("{} hourly 1", "a".repeat(33));
    for value in [
        "",
        "-",
        "auto-1",
        "auto-1 hourly",
        "auto-1 hourly 1 2",
        "auto-1 hourly +1",
        "auto-1 hourly 01",
        "auto-1  1",
        " auto-1 hourly 1",
        "auto-1 hourly 1 ",
        "Auto-1 hourly 1",
        "auto-1 hour/ly 1",
        "auto-1 hourly 99999999999999999999",
        "auto-1\thourly\t1",
        &long,
    ] {
        assert_eq!(Stamp::parse(value), None, "{value:?}");
    }
}
