use super::*;

fn node(object: u64, generation: u64) -> NodeId {
    NodeId { object, generation }
}

#[test]
fn a_node_is_known_until_every_lookup_is_forgotten() {
    let inodes = Inodes::new(|| node(34, 1));
    assert_eq!(inodes.node(1), Ok(node(34, 1)));
    assert_eq!(inodes.remember(node(34, 1)), Ok(1));
    assert_eq!(inodes.node(50), Err(Error::Stale));
    for _ in 0..3 {
        assert_eq!(inodes.remember(node(50, 7)), Ok(50));
    }
    inodes.forget(50, 2);
    assert_eq!(inodes.node(50), Ok(node(50, 7)));
    inodes.forget(50, 1);
    assert_eq!(inodes.node(50), Err(Error::Stale));
    inodes.forget(50, 1);
    assert_eq!(inodes.node(1), Ok(node(34, 1)), "the root is never forgotten");
}

#[test]
fn a_number_that_came_back_counts_for_both() {
    let inodes = Inodes::new(|| node(34, 1));
    inodes.remember(node(50, 7)).unwrap();
    inodes.remember(node(50, 8)).unwrap();
    assert_eq!(inodes.node(50), Ok(node(50, 8)));
    inodes.forget(50, 1);
    assert_eq!(inodes.node(50), Ok(node(50, 8)));
    inodes.forget(50, 1);
    assert_eq!(inodes.node(50), Err(Error::Stale));
}

#[test]
fn nothing_may_pose_as_the_root() {
    let inodes = Inodes::new(|| node(34, 1));
    assert!(inodes.remember(node(1, 1)).is_err());
    assert!(inodes.remember(node(0, 1)).is_err());
}

#[test]
fn data_is_kept_from_one_open_to_the_next_if_nothing_has_changed() {
    let inodes = Inodes::new(|| node(34, 1));
    inodes.remember(node(50, 7)).unwrap();
    assert!(!inodes.opened(node(50, 7), 100), "never opened");
    assert!(inodes.opened(node(50, 7), 100));
    assert!(!inodes.opened(node(50, 7), 101), "changed");
    assert!(!inodes.opened(node(50, 7), 100), "changed back");
    inodes.remember(node(50, 8)).unwrap();
    assert!(!inodes.opened(node(50, 8), 100), "another file of that number");
    assert!(!inodes.opened(node(51, 1), 100), "forgotten");
}
