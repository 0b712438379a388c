use crate::candidate::Candidate;
use crate::mounting::is_within;
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
