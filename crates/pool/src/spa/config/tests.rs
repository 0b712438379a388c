use storage::VdevKind;

use super::*;

fn config() -> PoolConfig {
    let mut root = VdevConfig::new(VdevKind::Root, 0, 99);
    let mut top = VdevConfig::new(VdevKind::Mirror, 0, 5);
    (top.ashift, top.asize, top.top_zap) = (Some(12), Some(1 << 30), Some(65));
    for id in 0..2 {
        let mut leaf = VdevConfig::new(VdevKind::File, id, 6 + id);
        leaf.path = Some(format!("/disks/{id}"));
        leaf.leaf_zap = Some(66 + id);
        top.children.push(leaf);
    }
    root.children.push(top);
    PoolConfig {
        version: 5000,
        name: "tank".into(),
        state: PoolState::Active,
        txg: 42,
        guid: 99,
        host: Host { id: 7, name: "here".into() },
        comment: Some("mine".into()),
        compatibility: None,
        features_for_read: vec!["com.delphix:hole_birth".into()],
        vdev_children: 1,
        tree: root,
        pairs: NvList::new(),
    }
}

#[test]
fn what_the_mos_keeps_is_read_back() {
    let config = config();
    let list = NvList::decode(&config.to_mos_nvlist().encode_xdr()).unwrap();
    let back = PoolConfig::from_nvlist(&list).unwrap();
    assert_eq!(back.to_mos_nvlist(), config.to_mos_nvlist());
    assert_eq!((back.name, back.guid, back.txg, back.host), (config.name, 99, 42, config.host));
    assert_eq!(back.tree.guid_sum(), 99 + 5 + 6 + 7);
}

#[test]
fn a_label_holds_its_own_vdev_and_no_vdev_zaps() {
    let config = config();
    let list = config.to_label_nvlist(&config.tree.children[0], 7);
    assert_eq!((list.u64(key::GUID), list.u64(key::TOP_GUID)), (Some(7), Some(5)));
    let tree = list.nvlist(key::VDEV_TREE).unwrap();
    assert!(!tree.contains(key::VDEV_TOP_ZAP) && tree.nvlist_array(key::CHILDREN).len() == 2);
    let back = PoolConfig::from_nvlist(&list).unwrap();
    assert_eq!((back.tree.guid, back.vdev_children), (5, 1));
}

#[test]
fn a_configuration_that_lacks_what_matters_is_refused() {
    let whole = config().to_mos_nvlist();
    for name in [key::VERSION, key::POOL_NAME, key::POOL_STATE, key::POOL_GUID, key::VDEV_TREE] {
        let mut list = whole.clone();
        list.remove(name);
        assert!(matches!(PoolConfig::from_nvlist(&list), Err(PoolError::Corrupt(_))), "{name}");
    }
}
