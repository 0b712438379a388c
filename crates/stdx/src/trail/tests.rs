use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;

/// A clock that goes on by so much at each look.
fn ticking(step: u64) -> impl Fn() -> u64 {
    let now = Cell::new(0);
    move || now.replace(now.get() + step)
}

#[test]
fn nothing_is_noted_and_no_clock_is_read_where_nobody_looks() {
    note(|_| panic!("nobody looks"));
    came_from(Source::Disk, 1);
    assert_eq!(during(Span::Log, || panic!("nobody looks"), || 5), 5);
    assert!(!is_followed());
}

#[test]
fn a_wait_inside_of_another_counts_once() {
    let clock = ticking(10);
    let ((), trail) = followed(Box::default(), || {
        during(Span::Engine, &clock, || {
            during(Span::Log, &clock, || during(Span::Group, &clock, || ()));
            during(Span::Disk, &clock, || ());
        });
    });
    // Eight looks at the clock, ten each: seven stretches.
    assert_eq!(trail.spent(), 70);
    assert_eq!(trail.spans, [30, 10, 20, 10]);
}

#[test]
fn it_is_about_what_was_asked_first_and_names_are_bounded() {
    let ((), trail) = followed(Box::default(), || {
        note(|trail| trail.is_about((1, 2), Some(3), &[b'x'; 1000]));
        note(|trail| trail.is_about((1, 9), None, b"other"));
        came_from(Source::Cache, 2);
        came_from(Source::Cache, usize::MAX);
    });
    assert_eq!((trail.dataset, trail.object), (Some((1, 2)), Some(3)));
    assert_eq!(trail.name.as_ref().map(|name| name.len()), Some(LONGEST_NAME));
    assert_eq!(trail.blocks, [0, u32::MAX, 0]);
}

#[test]
fn a_trail_is_gone_on_with_and_ends_with_a_panic() {
    let ((), trail) = followed(Box::default(), || came_from(Source::Overlay, 1));
    let ((), trail) = followed(trail, || came_from(Source::Overlay, 2));
    assert_eq!(trail.blocks, [3, 0, 0]);
    let panics = || followed(Box::default(), || -> () { panic!("a test") });
    assert!(catch_unwind(AssertUnwindSafe(panics)).is_err());
    assert!(!is_followed());
    note(|_| unreachable!("nobody looks"));
}

#[test]
fn the_longest_wait_for_a_leaf_vdev_is_kept_and_what_was_done_for_others_tells_its_own() {
    waited_for(1, 5);
    let ((inner, none), trail) = followed(Box::default(), || {
        waited_for(1, 30);
        waited_for(2, 20);
        let ((), inner) =
            slowest(|| [(3, 10), (4, 15), (3, 12)].iter().for_each(|&(vdev, nanos)| waited_for(vdev, nanos)));
        (inner, slowest(|| ()).1)
    });
    assert_eq!((inner, none), (Some(Waited { vdev: 4, nanos: 15 }), None));
    assert_eq!(trail.slowest, Some(Waited { vdev: 1, nanos: 30 }));
    // Also on a thread that nobody follows, which is not followed afterwards.
    let (is_inside, found) = slowest(|| {
        waited_for(7, 1);
        is_followed()
    });
    assert_eq!((is_inside, found, is_followed()), (true, Some(Waited { vdev: 7, nanos: 1 }), false));
}
