use super::*;

#[test]
fn within_is_by_component() {
    assert!(is_within("tank", "tank") && is_within("tank/a", "tank") && is_within("tank@s", "tank"));
    assert!(!is_within("tank2", "tank") && !is_within("tank", "tank/a"));
}

#[test]
fn what_cannot_be_mounted_says_why() {
    let one = |mountpoint: &str, canmount: &str| Candidate {
        dataset: "t/a".into(),
        mountpoint: mountpoint.into(),
        canmount: canmount.into(),
        overlay: true,
        is_by_name: true,
    };
    assert!(not_mountable(&one("/t/a", "noauto"), "mount").is_none());
    assert_eq!(
        not_mountable(&one("legacy", "on"), "mount").map(|why| why.detail).as_deref(),
        Some("cannot mount 't/a': legacy mountpoint\nuse mount(8) to mount this filesystem")
    );
    assert!(
        not_mountable(&one("none", "on"), "mount").is_some()
            && not_mountable(&one("/x", "off"), "mount").is_some()
    );
    assert_eq!(mount_failure("t/a", "/t/a", &Error::NotEmpty), "cannot mount '/t/a': directory is not empty");
}
