use super::*;

#[test]
fn what_means_the_same_is_the_same_text() {
    let cases = [
        ("quota", "1G", "1073741824"),
        ("quota", "0", "none"),
        ("filesystem_limit", "18446744073709551615", "none"),
        ("recordsize", "128k", "131072"),
        ("compression", "gzip-6", "gzip"),
        ("acltype", "posixacl", "posix"),
        ("userquota@7", "1K", "1024"),
        ("userquota@7", "none", "none"),
        ("mountpoint", "/A b", "/A b"),
        ("com.example:n", "1G", "1G"),
        (ISCSI, "target=a,user=u,sealed=********", "target=a,user=u,secret=********"),
        (ISCSI, "off", "off"),
    ];
    for (name, value, form) in cases {
        assert_eq!(canonical(name, value).as_deref(), Ok(form), "{name}={value}");
        assert_eq!(canonical(name, form).as_deref(), Ok(form), "{name}={form}");
    }
    for (name, value) in [
        ("quota", "x"),
        ("atime", "maybe"),
        ("refreservation", "auto"),
        ("recordsize", "1000"),
        (ISCSI, "sealed=00"),
    ] {
        assert!(canonical(name, value).is_err(), "{name}={value}");
    }
    let long = "x".repeat(LONGEST_VALUE + 1);
    for value in ["a\0b", &long] {
        for name in ["com.example:n", "mountpoint", ISCSI] {
            assert!(canonical(name, value).is_err(), "{name} of {} bytes", value.len());
        }
    }
    assert!(canonical("com.example:n", &long[1..]).is_ok());
}

#[test]
fn a_secret_is_hidden_and_found_again_for_the_same_user_alone() {
    let there = "target=a,user=u,secret=correcthorse,mutual_user=m,mutual_secret=batterystaple";
    let hidden = "target=a,user=u,secret=********,mutual_user=m,mutual_secret=********";
    assert_eq!(shown(ISCSI, there), hidden);
    assert!(tells_secret(ISCSI, there) && !tells_secret(ISCSI, hidden) && !tells_secret("a:b", "secret=x"));
    assert!(has_secret(ISCSI, there) && has_secret(ISCSI, hidden));
    assert!(!has_secret(ISCSI, "target=a") && !has_secret(ISCSI, "on") && !has_secret("a:b", "secret=x"));
    assert_eq!(revealed(hidden, Some(there)).as_deref(), Some(there));
    assert_eq!(revealed(there, None).as_deref(), Some(there));
    assert_eq!(revealed("on", Some(there)).as_deref(), Some("on"));
    let other = there.replace("user=u", "user=v");
    for there in [None, Some(""), Some("on"), Some(hidden), Some(other.as_str())] {
        assert_eq!(revealed(hidden, there), None, "{there:?}");
    }
}

#[test]
fn a_grant_is_what_its_key_says() {
    let some = BTreeSet::from(["mount".to_owned()]);
    let keys = ["user 1000 local", "group 5 descendent", "everyone local", "creator", "@set"];
    for key in keys {
        let grant = grant(key, &some).expect("it is one");
        assert_eq!(grantees(&grant), [key]);
    }
    let both = Grant { local: true, descendent: true, ..grant("user 7 local", &some).expect("it is one") };
    assert_eq!(grantees(&both), ["user 7 local", "user 7 descendent"]);
    for bad in [
        "",
        "@",
        "@a\nb",
        "user",
        "user x local",
        "user 1",
        "user 1 below",
        "user -1 local",
        "user 01 local",
        "root local",
    ] {
        assert_eq!(grant(bad, &some), None, "{bad}");
    }
}

#[test]
fn a_property_has_one_place_and_one_name() {
    for name in ["compression", "quota", "canmount", "sharenfs", ISCSI, "userquota@7", "projectobjquota@0"] {
        assert_eq!(place(name), Place::Properties, "{name}");
    }
    for name in ["casesensitivity", "volblocksize", "utf8only"] {
        assert_eq!(place(name), Place::Created, "{name}");
    }
    for name in [
        "compress",
        "used",
        "guid",
        "version",
        "volsize",
        "pbkdf2salt",
        "iscsioptions",
        "shareiscsi",
        "userused@7",
        "userquota@07",
        "userquota@joe",
        "written@a",
        "Upper:case",
        "nosuch",
        "",
    ] {
        assert_eq!(place(name), Place::Nowhere, "{name}");
    }
}
