use super::*;

#[test]
fn a_leaf_vdev_is_called_by_its_path_where_another_has_its_name() {
    let leaf = |guid, name, path| Leaf { guid, name, path: Some(path) };
    let all = [leaf(1, "disk", "/a/disk"), leaf(2, "disk", "/b/disk"), leaf(3, "log", "/a/log")];
    assert_eq!(all.each_ref().map(|leaf| leaf.name_among(&all)), ["/a/disk", "/b/disk", "log"]);
    let called =
        |name| all.iter().filter(|leaf| leaf.is_called(name)).map(|leaf| leaf.guid).collect::<Vec<_>>();
    assert_eq!((called("disk"), called("/b/disk"), called("log")), (vec![1, 2], vec![2], vec![3]));
    assert_eq!((called("/a/log"), called("3"), called("lo")), (vec![3], vec![3], vec![]));
}
