use super::{for_create, not_built};
use engine_api::{PoolSpec, PropertyChange};

fn spec(props: &[(&str, &str)]) -> PoolSpec {
    let prop = |&(name, value): &(&str, &str)| PropertyChange { name: name.into(), value: value.into() };
    PoolSpec { name: "tank".into(), props: props.iter().map(prop).collect(), ..PoolSpec::default() }
}

/// What is enabled and what is told as missing make up the set, and share nothing.
#[test]
fn enabled_and_missing_features_make_up_the_set() {
    for compatibility in ["openzfs-2.1-linux", "openzfs-2.0-linux", "openzfs-2.1-linux,openzfs-2.0-linux"] {
        let spec = spec(&[("compatibility", compatibility)]);
        let mut all = not_built(&spec);
        assert!(all.contains(&"device_removal") && !all.contains(&"lz4_compress"), "{all:?}");
        assert_eq!(all.contains(&"draid"), compatibility == "openzfs-2.1-linux");
        all.extend(for_create(&spec).unwrap().features.iter().map(|feature| feature.name));
        all.sort_unstable();
        let set = compatibility.rsplit(',').next().unwrap();
        let mut whole = ondisk::feature::compatibility_set(set).unwrap();
        whole.sort_unstable();
        assert_eq!(all, whole);
    }
    assert_eq!(not_built(&spec(&[])), not_built(&spec(&[("compatibility", "openzfs-2.1-linux")])));
}

#[test]
fn nothing_is_missing_that_nobody_wanted() {
    assert!(!not_built(&spec(&[("feature@draid", "disabled")])).contains(&"draid"));
    assert!(not_built(&spec(&[("compatibility", "legacy")])).is_empty());
    assert!(not_built(&PoolSpec { no_features: true, ..spec(&[]) }).is_empty());
    let unknown = spec(&[("compatibility", "nonsense")]);
    assert!(not_built(&unknown).is_empty() && for_create(&unknown).is_err());
}
