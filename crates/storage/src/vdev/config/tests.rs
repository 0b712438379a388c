use super::*;

fn disk(id: u64) -> NvList {
    NvList::new()
        .with("type", "disk")
        .with("id", id)
        .with("guid", 10 + id)
        .with("path", "/dev/x")
        .with("from_the_future", 5u64)
        .with("whole_disk", 1u64)
}

fn mirror() -> NvList {
    NvList::new()
        .with("type", "mirror")
        .with("id", 0u64)
        .with("guid", 9u64)
        .with("metaslab_array", 68u64)
        .with("metaslab_shift", 24u64)
        .with("ashift", 9u64)
        .with("asize", 119_013_376u64)
        .with("is_log", 0u64)
        .with("children", vec![disk(0), disk(1)])
}

#[test]
fn what_is_not_understood_is_written_back() {
    let list = mirror();
    let config = VdevConfig::from_nvlist(&list).unwrap();
    assert_eq!(config.to_nvlist(), list);
    assert_eq!(config.guid_sum(), 9 + 10 + 11);
    assert_eq!((config.kind, config.ashift, config.children.len()), (VdevKind::Mirror, Some(9), 2));
}

#[test]
fn labels_hold_no_zaps() {
    let mut config = VdevConfig::from_nvlist(&mirror()).unwrap();
    config.top_zap = Some(129);
    config.children[1].leaf_zap = Some(130);
    assert_eq!(config.to_nvlist().u64(key::VDEV_TOP_ZAP), Some(129));
    assert_eq!(config.to_label_nvlist(), mirror());
}

#[test]
fn trees_that_cannot_be_are_refused() {
    let refused = |list: &NvList| VdevConfig::from_nvlist(list).is_err();
    assert!(refused(&NvList::new()));
    assert!(refused(&NvList::new().with("type", "disk")));
    let deep = (0..12).fold(disk(0), |below, _| mirror().with("children", vec![below]));
    assert!(refused(&deep));
}
