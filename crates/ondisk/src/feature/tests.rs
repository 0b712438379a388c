use super::*;

#[test]
fn every_dependency_and_every_member_of_a_set_is_in_the_table() {
    for feature in FEATURES {
        assert_eq!(by_guid(feature.guid), Some(feature));
        assert_eq!(by_name(feature.name), Some(feature));
        assert!(feature.needs.iter().all(|need| by_name(need).is_some()), "{feature:?}");
        assert!(!(feature.is(READONLY_COMPAT) && feature.is(MOS)), "{feature:?}");
    }
    for set in ["openzfs-2.0-linux", "openzfs-2.1-linux"] {
        let names = compatibility_set(set).unwrap();
        assert!(names.len() > 30 && names.iter().all(|name| by_name(name).is_some()));
    }
    assert_eq!(compatibility_set("legacy"), Some(Vec::new()));
    assert_eq!(compatibility_set("no-such-set"), None);
}
