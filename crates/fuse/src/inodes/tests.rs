use super::*;
use crate::room::{Limits, NAMES};

fn node(object: u64, generation: u64) -> NodeId {
    NodeId { object, generation }
}

fn inodes() -> Inodes {
    Inodes::new(|| Some(node(34, 1)), Arc::default())
}

#[test]
fn a_node_is_known_until_every_lookup_is_forgotten() {
    let inodes = inodes();
    assert_eq!(inodes.node(1), Ok(node(34, 1)));
    assert_eq!(inodes.remember(node(34, 1), false), Ok(1));
    assert_eq!(inodes.node(50), Err(Error::Stale));
    for _ in 0..3 {
        assert_eq!(inodes.remember(node(50, 7), false), Ok(50));
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
    let inodes = inodes();
    inodes.remember(node(50, 7), false).unwrap();
    inodes.remember(node(50, 8), false).unwrap();
    assert_eq!(inodes.node(50), Ok(node(50, 8)));
    inodes.forget(50, 1);
    assert_eq!(inodes.node(50), Ok(node(50, 8)));
    inodes.forget(50, 1);
    assert_eq!(inodes.node(50), Err(Error::Stale));
}

#[test]
fn nothing_may_pose_as_the_root() {
    let inodes = inodes();
    assert!(inodes.remember(node(1, 1), false).is_err());
    assert!(inodes.remember(node(0, 1), false).is_err());
}

#[test]
fn data_is_kept_from_one_open_to_the_next_if_nothing_has_changed() {
    let inodes = inodes();
    inodes.remember(node(50, 7), false).unwrap();
    assert!(!inodes.opened(node(50, 7), 100, false, false), "never opened");
    assert!(inodes.opened(node(50, 7), 100, false, false));
    assert!(!inodes.opened(node(50, 7), 101, false, false), "changed");
    assert!(!inodes.opened(node(50, 7), 100, false, false), "changed back");
    inodes.remember(node(50, 8), false).unwrap();
    assert!(!inodes.opened(node(50, 8), 100, false, false), "another file of that number");
    assert!(!inodes.opened(node(51, 1), 100, false, false), "forgotten");
}

const BOTH: Changed = Changed { data: true, names: true };

#[test]
fn what_others_change_is_told_once_with_the_name_that_the_kernel_has() {
    let inodes = inodes();
    let file = node(50, 7);
    assert!(!inodes.changed(file, BOTH), "the kernel does not know it");
    inodes.remember(file, false).unwrap();
    assert!(inodes.remember_name(50, ROOT, b"file"));
    assert!(inodes.changed(file, Changed::ATTRIBUTES));
    assert!(!inodes.changed(file, Changed::DATA), "is to be told already");
    assert_eq!(inodes.next_stale(), Some(Stale { ino: 50, changed: What::of(Changed::DATA), name: None }));
    assert_eq!(inodes.next_stale(), None);
    assert!(inodes.changed(file, Changed::NAMES));
    let name = Some(Name(ROOT, b"file".as_slice().into()));
    assert_eq!(inodes.next_stale(), Some(Stale { ino: 50, changed: What::of(Changed::NAMES), name }));
    assert!(inodes.changed(node(34, 1), Changed::ATTRIBUTES), "the root");
    assert_eq!(inodes.next_stale().map(|stale| stale.ino), Some(ROOT));
    inodes.forget(ROOT, 9);
    assert!(inodes.all_changed());
    let mut all = [inodes.next_stale().unwrap().ino, inodes.next_stale().unwrap().ino];
    all.sort_unstable();
    assert_eq!((all, inodes.next_stale()), ([ROOT, 50], None));
    inodes.all_changed();
    let doubtful = |stale: Stale| stale.changed == What::ANY && What::ANY.names < Names::Changed;
    assert!(inodes.next_stale().is_some_and(doubtful), "nobody says that its name leads elsewhere");
}

#[test]
fn an_answer_that_others_overtook_is_looked_at_again() {
    let inodes = inodes();
    let mark = inodes.mark();
    inodes.changed(node(50, 7), Changed::DATA);
    inodes.changed(node(51, 7), Changed::DATA);
    assert_eq!((inodes.remember(node(50, 7), false), inodes.remember(node(52, 7), false)), (Ok(50), Ok(52)));
    assert!(inodes.recheck(mark, 50) && !inodes.recheck(mark, 52));
    assert_eq!(
        inodes.next_stale(),
        Some(Stale { ino: 50, changed: What::of(Changed::DATA), name: None }),
        "no more than what they changed"
    );
    let mark = inodes.mark();
    assert!(!inodes.recheck(mark, 50), "nothing since");
    (0..RECENT as u64).for_each(|n| {
        inodes.changed(node(1000 + n, 7), Changed::DATA);
    });
    assert!(!inodes.recheck(mark, 52));
    inodes.changed(node(999, 7), Changed::DATA);
    assert!(inodes.recheck(mark, 52), "more than is kept: it may have been among them");
    let mark = inodes.mark();
    inodes.all_changed();
    inodes.remember(node(53, 7), false).unwrap();
    assert!(inodes.recheck(mark, 53));
}

/// The listing of a directory goes with whatever others change of it, not with the space it takes.
#[test]
fn a_listing_is_right_until_others_change_the_directory() {
    let inodes = inodes();
    inodes.remember(node(50, 7), true).unwrap();
    let dropped = Some(Stale { ino: 50, changed: What { data: true, ..What::default() }, name: None });
    assert!(inodes.is_listing_right(50) && inodes.is_listing_right(ROOT) && !inodes.is_listing_right(51));
    inodes.written(&[50]);
    assert!(inodes.is_listing_right(50));
    assert!(!inodes.next_stale().unwrap().changed.data);
    let mark = inodes.mark();
    inodes.changed(node(50, 7), Changed::ATTRIBUTES);
    assert!(!inodes.is_listing_right(50), "the kernel has not been told");
    assert_eq!(inodes.next_stale(), dropped);
    assert!(!inodes.is_listing_right(50), "it is being told");
    inodes.told(50);
    assert!(inodes.is_listing_right(50));
    assert!(inodes.recheck(mark, 50), "it was listed at that moment");
    assert!(!inodes.is_listing_right(50));
    assert_eq!(inodes.next_stale(), dropped);
    inodes.told(50);
    inodes.all_changed();
    assert!(!inodes.is_listing_right(50) && !inodes.is_listing_right(ROOT));
}

#[test]
fn what_a_group_has_written_is_asked_for_again() {
    let inodes = inodes();
    inodes.remember(node(50, 7), false).unwrap();
    inodes.remember_name(50, ROOT, b"file");
    let attributes = |ino| Some(Stale { ino, changed: What::default(), name: None });
    let mark = inodes.mark();
    assert!(inodes.written(&[34, 50, 51]));
    assert_eq!([inodes.next_stale(), inodes.next_stale()], [attributes(ROOT), attributes(50)]);
    assert_eq!(inodes.next_stale(), None, "the kernel does not know the other");
    inodes.remember(node(51, 7), false).unwrap();
    assert!(inodes.recheck(mark, 51), "it may have been read before");
    assert_eq!(inodes.next_stale(), attributes(51));
    assert!(!inodes.recheck(inodes.mark(), 51) && !inodes.written(&[52]));
}

#[test]
fn a_name_is_remembered_for_one_node_and_a_node_by_one_name() {
    let inodes = inodes();
    for object in [50, 51] {
        inodes.remember(node(object, 7), false).unwrap();
    }
    assert!(inodes.remember_name(50, ROOT, b"one") && inodes.remember_name(50, ROOT, b"one"));
    assert!(!inodes.remember_name(50, ROOT, b"other"), "it has one");
    assert!(!inodes.remember_name(52, ROOT, b"unknown"));
    assert!(!inodes.remember_name(ROOT, ROOT, b"root"));
    assert!(inodes.remember_name(51, ROOT, b"one"), "the name leads elsewhere now");
    assert!(inodes.remember_name(50, ROOT, b"other"));
    inodes.removed(ROOT, b"other");
    assert!(inodes.remember_name(50, 51, b"third"));
    inodes.forget(50, 1);
    inodes.remember(node(50, 8), false).unwrap();
    assert!(inodes.remember_name(50, 51, b"third"));
    let room = inodes.room.clone();
    assert_eq!((room.counts().0, room.counts().1), (2, 2));
    drop(inodes);
    assert_eq!(room.counts(), (0, 0, 0));
}

#[test]
fn names_are_remembered_as_far_as_there_is_room_for_those_of_all_mounts() {
    let (room, root) = (Arc::<Room>::default(), || Some(node(34, 1)));
    let (one, other) = (Inodes::new(root, room.clone()), Inodes::new(root, room));
    for object in 0..=NAMES as u64 {
        one.remember(node(100 + object, 7), false).unwrap();
        assert_eq!(one.remember_name(100 + object, ROOT, &object.to_le_bytes()), object < NAMES as u64);
    }
    other.remember(node(50, 7), false).unwrap();
    assert!(!other.remember_name(50, ROOT, b"file"));
    drop(one);
    assert!(other.remember_name(50, ROOT, b"file"));
}

#[test]
fn a_name_moves_with_what_is_renamed_here() {
    let inodes = inodes();
    for object in [50, 51] {
        inodes.remember(node(object, 7), false).unwrap();
    }
    let told = |object| {
        inodes.changed(node(object, 7), Changed::NAMES);
        inodes.next_stale().unwrap().name.map(|Name(dir, name)| (dir, name.to_vec()))
    };
    assert!(inodes.remember_name(50, ROOT, b"a") && inodes.remember_name(51, 60, b"b"));
    assert_eq!(inodes.renamed((ROOT, b"a"), (60, b"b"), true), Some(50));
    assert_eq!((told(50), told(51)), (Some((60, b"b".to_vec())), Some((ROOT, b"a".to_vec()))));
    assert_eq!((told(50), told(51)), (None, None), "the kernel asks again");
    assert!(inodes.remember_name(50, 60, b"b") && inodes.remember_name(51, ROOT, b"a"));
    assert_eq!(inodes.renamed((ROOT, b"a"), (60, b"b"), false), Some(51));
    assert_eq!((told(50), told(51)), (None, Some((60, b"b".to_vec()))));
    assert_eq!(inodes.renamed((ROOT, b"nobody's"), (60, b"b"), false), None);
    assert_eq!(told(51), None, "it was replaced");
}

#[test]
fn data_is_kept_until_others_change_it_where_that_is_told() {
    let inodes = inodes();
    let file = node(50, 7);
    inodes.remember(file, false).unwrap();
    assert!(inodes.opened(file, 100, true, false) && inodes.opened(file, 101, true, false));
    inodes.changed(file, Changed::ATTRIBUTES);
    assert!(inodes.opened(file, 102, true, false));
    inodes.changed(file, Changed::DATA);
    assert!(!inodes.opened(file, 103, true, false));
    assert_eq!(inodes.next_stale().map(|stale| stale.ino), Some(50));
    assert!(!inodes.opened(file, 104, true, false), "the kernel may not have heard it");
    inodes.told(50);
    assert!(inodes.opened(file, 105, true, false));
    assert!(!inodes.opened(file, 106, true, true), "from now on somebody writes past the page cache");
    assert!(!inodes.opened(file, 107, true, false) && inodes.opened(file, 107, true, false));
}

#[test]
fn where_there_is_no_room_the_oldest_are_to_be_forgotten() {
    let room = Room::new(Limits { nodes: 800, held: Arc::default() });
    let root = || Some(node(34, 1));
    let (one, other) = (Inodes::new(root, room.clone()), Inodes::new(root, room.clone()));
    for object in 0..600 {
        one.remember(node(100 + object, 7), object == 0).unwrap();
    }
    for object in 0..200 {
        other.remember(node(100 + object, 7), false).unwrap();
    }
    assert!(!one.is_crowded() && one.surplus() == 0);
    other.remember(node(50, 7), false).unwrap();
    assert!(one.is_crowded());
    assert_eq!((one.surplus(), other.surplus()), (101, 101));
    assert_eq!(one.oldest(3), [100, 101, 102]);
    assert_eq!(one.oldest(1), [103], "who was not forgotten counts as new");
    for object in [100, 101] {
        assert!(one.remember_name(object, ROOT, &object.to_le_bytes()));
    }
    assert_eq!(one.take_name(100), None, "a directory: something may be mounted below it");
    assert_eq!(one.take_name(101), Some(Name(ROOT, 101_u64.to_le_bytes().into())));
    assert_eq!((one.take_name(101), one.take_name(102)), (None, None));
    (0..600).for_each(|object| one.forget(100 + object, 1));
    assert!(!other.is_crowded());
    assert_eq!((one.count(), room.counts().0), (1, 201));
}

#[test]
fn tables_give_memory_back_when_the_kernel_has_forgotten() {
    let inodes = inodes();
    for object in 0..100_000 {
        inodes.remember(node(100 + object, 7), false).unwrap();
    }
    let large = inodes.lock().known.capacity();
    (0..100_000).for_each(|object| inodes.forget(100 + object, 1));
    assert!(large > 100_000 && inodes.lock().known.capacity() <= SMALL);
}
