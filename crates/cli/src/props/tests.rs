use super::*;

fn value(name: &str, value: &str, kind: PropKind) -> PropValue {
    PropValue { name: name.into(), value: value.into(), kind, source: Source::None, received: None }
}

#[test]
fn values_for_people_and_for_programs() {
    let both = |domain, prop: &PropValue| (show(domain, prop, false), show(domain, prop, true));
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    let dataset = |name, text, kind| both(Domain::Dataset, &value(name, text, kind));
    assert_eq!(dataset("used", "0", PropKind::Size), pair("0B", "0"));
    assert_eq!(dataset("written", "0", PropKind::Size), pair("0", "0"));
    assert_eq!(dataset("recordsize", "131072", PropKind::Size), pair("128K", "131072"));
    assert_eq!(dataset("quota", "none", PropKind::Size), pair("none", "0"));
    assert_eq!(dataset("refreservation", "0", PropKind::Size), pair("none", "0"));
    assert_eq!(dataset("usedbyrefreservation", "0", PropKind::Size), pair("0B", "0"));
    assert_eq!(dataset("compressratio", "1.39", PropKind::Ratio), pair("1.39x", "1.39"));
    assert_eq!(dataset("compressratio", "100", PropKind::Ratio), pair("1.00x", "1.00"));
    assert_eq!(dataset("guid", "12201576458548625524", PropKind::Count).0, "12201576458548625524");
    assert_eq!(dataset("origin", "", PropKind::Text), pair("-", "-"));
    let pool = |name, text, kind| both(Domain::Pool, &value(name, text, kind));
    assert_eq!(pool("freeing", "0", PropKind::Size), pair("0", "0"));
    assert_eq!(pool("capacity", "25", PropKind::Percent), pair("25%", "25"));
}

#[test]
fn lists_of_properties() {
    let names = |list: &str| -> Vec<String> {
        columns(Domain::Dataset, list).expect(list).into_iter().map(|one| one.name).collect()
    };
    assert_eq!(names("avail,com.x:y"), ["available", "com.x:y"]);
    assert_eq!(names("space").len(), 7);
    assert!(matches!(columns(Domain::Dataset, "name,foo"),
        Err(Stop::Usage(text)) if text == "bad property list: invalid property 'foo'"));
    assert!(columns(Domain::Pool, "feature@lz4_compress").is_ok());
}

#[test]
fn columns_are_as_wide_as_openzfs_makes_them() {
    let width = |domain, name| column(domain, name).expect(name).min_width();
    let datasets = [
        ("referenced", 8),
        ("used", 5),
        ("creation", 8),
        ("compression", 14),
        ("dedup", 13),
        ("checksum", 9),
        ("mountpoint", 10),
        ("sharenfs", 17),
        ("com.example:x", 13),
    ];
    for (name, expected) in datasets {
        assert_eq!(width(Domain::Dataset, name), expected, "{name}");
    }
    for (name, expected) in [("health", 8), ("size", 5), ("failmode", 8), ("compatibility", 13)] {
        assert_eq!(width(Domain::Pool, name), expected, "{name}");
    }
}

#[test]
fn what_only_other_software_has_is_unknown_here() {
    assert!(column(Domain::Dataset, "iscsioptions").is_none());
    assert!(column(Domain::Dataset, "stmf_sbd_lu").is_none());
    assert!(column(Domain::Dataset, "prevsnap").is_some(), "whoever names it is shown it");
    let all = columns(Domain::Dataset, "all").expect("all");
    let names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
    assert_eq!((names[0], names[1], names.len()), ("name", "aclinherit", 88));
}
