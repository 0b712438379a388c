use super::name_fault;

#[test]
fn names() {
    for good in ["tank", "tank/a.b/c-d_e:f g", "tank/a@s"] {
        assert_eq!(name_fault(good), None, "{good}");
    }
    let long = "a".repeat(256);
    for (bad, why) in [
        ("/tank", "leading slash in name"),
        ("tank/", "trailing slash in name"),
        ("tank//a", "empty component or misplaced '@' or '#' delimiter in name"),
        ("tank/a\0b", "invalid character '\0' in name"),
        ("tank/é", "invalid character 'é' in name"),
        ("a@b@c", "multiple '@' and/or '#' delimiters in name"),
        ("tank/..", "parent reference, '..' is found in name"),
        ("tank/a@.", "self reference, '.' is found in name"),
        ("tank/a@b/c", "trailing slash in name"),
        ("tank/a*b/", "invalid character '*' in name"),
        ("tank/a@", "empty component or misplaced '@' or '#' delimiter in name"),
        (long.as_str(), "name is too long"),
    ] {
        assert_eq!(name_fault(bad).as_deref(), Some(why), "{bad}");
    }
}
