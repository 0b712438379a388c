use super::*;

fn dir(object: u64, parent: Option<&Arc<Dir>>, phys: DslDirPhys) -> Arc<Dir> {
    let phys = DslDirPhys { head_dataset_obj: object + 1, flags: FLAG_USED_BREAKDOWN, ..phys };
    Arc::new(Dir::new(object, parent.cloned(), format!("d{object}"), phys))
}

fn used(bytes: u64) -> DslDirPhys {
    DslDirPhys { used_bytes: bytes, ..DslDirPhys::default() }
}

const LIMITS: HeadLimits = HeadLimits { unused_reserve: 0, from_reserve: 0 };
const ROOM: PoolRoom = PoolRoom { size: 1000, deferred: 0, most: 2000, free: 2000 };

#[test]
fn names_follow_the_parents() {
    let root = dir(1, None, used(0));
    let child = dir(2, Some(&root), used(0));
    assert_eq!(child.name(), "d1/d2");
    child.move_to(Some(root), "other".into());
    assert_eq!(child.name(), "d1/other");
}

#[test]
fn the_smallest_room_on_the_way_up_counts() {
    let root = dir(1, None, used(100));
    let tight = dir(2, Some(&root), DslDirPhys { quota: 60, ..used(50) });
    let leaf = dir(3, Some(&tight), used(10));
    assert_eq!(root.available(1000, None, false), 900);
    assert_eq!(leaf.available(1000, None, false), 10);
    assert_eq!(leaf.available(105, None, false), 5);
    assert_eq!(leaf.available(1000, Some((2, 20)), false), 30);
}

#[test]
fn a_reservation_adds_room_of_ones_own() {
    let root = dir(1, None, used(900));
    let kept = dir(2, Some(&root), DslDirPhys { reserved: 300, ..used(100) });
    assert_eq!(kept.available(1000, None, false), 100 + 200);
}

#[test]
fn a_transaction_counts_while_it_runs_and_what_it_dirtied_until_the_sync() {
    let root = dir(1, None, used(0));
    let child = dir(2, Some(&root), DslDirPhys { quota: 320, ..used(0) });
    let first = child.reserve(320, false, LIMITS, ROOM, 5).ok().unwrap();
    let second = child.reserve(320, false, LIMITS, ROOM, 5).err();
    assert_eq!(second, None, "a little more than the quota may be in flight");
    drop(first);
    child.dirtied(400, 5);
    assert_eq!(child.reserve(1, false, LIMITS, ROOM, 6).err(), Some(NoRoom::Wait));
    child.settle(5);
    assert!(child.reserve(1, false, LIMITS, ROOM, 6).is_ok());
}

#[test]
fn one_group_overruns_what_is_left_by_little() {
    let quota = 4 << 30;
    for left in [1 << 20, 60 << 20, 150 << 20] {
        let root = dir(1, None, used(0));
        let child = dir(2, Some(&root), DslDirPhys { quota, ..used(quota - left) });
        let room = PoolRoom { size: 1 << 40, most: 1 << 40, free: 1 << 40, ..ROOM };
        let mut written = 0;
        // A block is taken for three times its size, in what is asked for and in what is dirty.
        let refused = loop {
            match child.reserve(3 << 13, false, LIMITS, room, 5) {
                Ok(_) => child.dirtied(3 << 13, 5),
                Err(refused) => break refused,
            }
            written += 1 << 13;
        };
        assert_eq!(refused, NoRoom::Wait);
        assert!(written < left + quota / 768, "{written} written where {left} were left");
    }
}

#[test]
fn a_full_quota_refuses_and_freeing_is_let_in() {
    let root = dir(1, None, used(50));
    let full = dir(2, Some(&root), DslDirPhys { quota: 50, ..used(50) });
    assert_eq!(full.reserve(1, false, LIMITS, ROOM, 5).err(), Some(NoRoom::Full(DmuError::Quota)));
    assert!(full.reserve(1, true, LIMITS, ROOM, 5).is_ok());
    let room = PoolRoom { size: 50, deferred: 0, most: 2000, free: 2000 };
    let other = dir(3, Some(&root), used(0));
    assert_eq!(other.reserve(1, false, LIMITS, room, 5).err(), Some(NoRoom::Full(DmuError::NoSpace)));
    let soon = PoolRoom { size: 50, deferred: 10, most: 2000, free: 2000 };
    assert_eq!(other.reserve(1, false, LIMITS, soon, 5).err(), Some(NoRoom::Soon));
}

#[test]
fn what_the_disks_cannot_hold_is_not_begun() {
    let root = dir(1, None, used(900));
    assert!(root.reserve(1100, false, LIMITS, ROOM, 5).is_ok());
    assert_eq!(root.reserve(1101, false, LIMITS, ROOM, 5).err(), Some(NoRoom::Full(DmuError::NoSpace)));
    root.dirtied(50, 5);
    assert_eq!(root.reserve(1100, false, LIMITS, ROOM, 6).err(), Some(NoRoom::Wait));
    assert!(root.reserve(1050, true, LIMITS, ROOM, 6).is_ok());
}

#[test]
fn a_parent_sees_no_change_below_a_reservation() {
    let phys = DslDirPhys { reserved: 100, ..used(0) };
    assert_eq!(parent_delta(&phys, 0, 60), 0);
    assert_eq!(parent_delta(&phys, 60, 60), 20);
    assert_eq!(parent_delta(&phys, 120, -60), -20);
}

#[test]
fn what_logs_have_until_the_group_is_done_is_waited_for() {
    let root = dir(1, None, used(100));
    let room = PoolRoom { free: 300, ..ROOM };
    assert_eq!(root.reserve(301, false, LIMITS, room, 5).err(), Some(NoRoom::Soon));
    assert!(root.reserve(300, false, LIMITS, room, 5).is_ok());
    root.dirtied(100, 5);
    assert_eq!(root.reserve(201, true, LIMITS, room, 5).err(), Some(NoRoom::Wait));
}
