use std::sync::Arc;

use engine_api::Error;
use stdx::behalf::{Actor, Rank, Way, on_behalf_of};

use crate::candidate::Candidate;
use crate::mounting::{and_above, check_options, is_within};
use crate::{Failure, NotMountable, Verb, mount_props, mount_word};

#[test]
fn within_is_by_component() {
    assert!(is_within("tank", "tank") && is_within("tank/a", "tank") && is_within("tank@s", "tank"));
    assert!(!is_within("tank2", "tank") && !is_within("tank", "tank/a"));
}

#[test]
fn options_of_mounts_stand_for_properties() {
    let mut props: Vec<&str> = mount_props().collect();
    props.sort_unstable();
    assert_eq!(props, ["atime", "devices", "exec", "readonly", "relatime", "setuid", "xattr"]);
    assert_eq!(mount_word("ro"), Some(("readonly", true)));
    assert_eq!(mount_word("rw"), Some(("readonly", false)));
    assert_eq!(mount_word("nodevices"), Some(("devices", false)));
    assert_eq!(mount_word("saxattr"), Some(("xattr", true)));
    assert_eq!(mount_word("remount"), None);
}

#[test]
fn who_is_no_administrator_allows_nothing_on_a_mount() {
    let actor = |rank| Actor { user: 1, groups: Vec::new(), rank, within: None, way: Way::Management };
    let check = |rank, words: &str, hides| {
        on_behalf_of(Arc::new(actor(rank)), || check_options(&[words.to_owned()], hides))
    };
    for words in ["suid", "setuid", "dev", "devices", "exec", "rw", "ro,noatime,suid"] {
        assert_eq!(check(Rank::Operator, words, false), Err(Error::Denied), "{words}");
        assert_eq!(check(Rank::Administrator, words, true), Ok(()), "{words}");
    }
    for words in ["ro,nosuid,nodev,noexec", "noatime", "xattr", ""] {
        assert_eq!(check(Rank::Operator, words, false), Ok(()), "{words}");
        assert_eq!(check(Rank::Operator, words, true), Err(Error::Denied), "{words}");
    }
}

#[test]
fn a_place_is_inherited_from_all_above() {
    assert_eq!(and_above("tank/a/b").collect::<Vec<_>>(), ["tank", "tank/a", "tank/a/b"]);
    assert_eq!(and_above("tank").collect::<Vec<_>>(), ["tank"]);
}

#[test]
fn properties_keep_a_file_system_from_being_mounted() {
    let check = |mountpoint: &str, canmount: &str| {
        let one = Candidate {
            dataset: "t/a".into(),
            mountpoint: mountpoint.into(),
            canmount: canmount.into(),
            overlay: true,
            is_by_name: true,
            is_partly_received: false,
            sharenfs: "off".into(),
        };
        one.check(Verb::Mount)
    };
    let not = |why| Err(Failure::NotMountable { dataset: "t/a".into(), verb: Verb::Mount, why });
    assert_eq!(check("/t/a", "noauto"), Ok(()));
    assert_eq!(check("legacy", "on"), not(NotMountable::LegacyMountpoint));
    assert_eq!(check("none", "on"), not(NotMountable::NoMountpoint));
    assert_eq!(check("/x", "off"), not(NotMountable::CanmountOff));
}
