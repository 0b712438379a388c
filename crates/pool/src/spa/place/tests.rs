use super::*;

fn leaf(id: u64, guid: u64) -> VdevConfig {
    VdevConfig::new(VdevKind::File, id, guid)
}

fn root_of(top: VdevConfig) -> VdevConfig {
    let mut root = VdevConfig::new(VdevKind::Root, 0, 1);
    root.children = vec![hole(0), VdevConfig { id: 1, ashift: Some(12), asize: Some(64 << 20), ..top }];
    root.children[1].metaslab_array = Some(34);
    root
}

/// `replacing(10 mirror(11))` and so on.
fn shown(vdev: &VdevConfig) -> String {
    let below: Vec<String> = vdev.children.iter().map(shown).collect();
    match vdev.kind.is_leaf() {
        true => vdev.guid.to_string(),
        false => format!("{}:{}({})", vdev.kind.name(), vdev.guid, below.join(" ")),
    }
}

#[test]
fn a_disk_becomes_a_mirror_and_a_disk_again() {
    let mut root = root_of(leaf(1, 10));
    let before = root.clone();
    put_beside(&mut root, 10, &VdevKind::Mirror, 50, leaf(0, 11));
    assert_eq!(shown(&root.children[1]), "mirror:50(10 11)");
    assert_eq!(
        (root.children[1].metaslab_array, root.children[1].children[0].metaslab_array),
        (Some(34), None)
    );
    put_beside(&mut root, 10, &VdevKind::Mirror, 51, leaf(0, 12));
    assert_eq!(shown(&root.children[1]), "mirror:50(10 11 12)");
    assert_eq!(root.children[1].children[2].id, 2);
    let (gone, renamed) = take_out(&mut root, 11).unwrap();
    assert_eq!((gone.guid, renamed, shown(&root.children[1])), (11, None, "mirror:50(10 12)".into()));
    assert_eq!(root.children[1].children[1].id, 1);
    let (_, renamed) = take_out(&mut root, 12).unwrap();
    assert_eq!(renamed, Some((10, 50)));
    let disk = &root.children[1];
    assert_eq!((disk.guid, disk.pairs.u64(key::ORIG_GUID), disk.metaslab_array), (50, Some(10), Some(34)));
    assert_eq!((disk.kind.clone(), disk.id), (before.children[1].kind.clone(), 1));
    assert!(take_out(&mut root, 50).is_none(), "a top-level vdev has nothing above it");
}

#[test]
fn below_the_top_guids_stay() {
    let mut mirror = VdevConfig::new(VdevKind::Mirror, 1, 5);
    mirror.children = vec![leaf(0, 10), leaf(1, 11)];
    let mut root = root_of(mirror);
    put_beside(&mut root, 11, &VdevKind::Replacing, 50, leaf(0, 12));
    assert_eq!(shown(&root.children[1]), "mirror:5(10 replacing:50(11 12))");
    assert_eq!(root.children[1].children[1].id, 1);
    let place = Place::find(&root, 12).unwrap();
    assert_eq!((place.index(), place.parent().map(|parent| parent.guid), place.id()), (1, Some(50), 1));
    put_beside(&mut root, 11, &VdevKind::Spare, 51, leaf(0, 13));
    assert_eq!(shown(&root.children[1]), "mirror:5(10 replacing:50(spare:51(11 13) 12))");
    take_out(&mut root, 13).unwrap();
    let (_, renamed) = take_out(&mut root, 11).unwrap();
    assert_eq!((renamed, shown(&root.children[1])), (None, "mirror:5(10 12)".into()));
    assert_eq!(root.children[1].children[1].metaslab_array, None);
}

#[test]
fn a_disk_need_hold_whole_metaslabs_only() {
    let mut root = root_of(leaf(1, 10));
    (root.children[1].asize, root.children[1].metaslab_shift) = (Some((64 << 20) + 4096), Some(24));
    assert_eq!(Place::find(&root, 10).unwrap().least_asize(), 64 << 20);
    let mut raidz = VdevConfig::new(VdevKind::Other("raidz".into()), 1, 5);
    raidz.children = vec![leaf(0, 10), leaf(1, 11), leaf(2, 12)];
    let mut root = root_of(raidz);
    root.children[1].metaslab_shift = Some(24);
    assert_eq!(Place::find(&root, 10).unwrap().least_asize(), (64u64 << 20).div_ceil(3));
}
