use api_types::Severity;

use super::*;
use crate::Moment;
use crate::book::{Book, Finding};

/// As many turns as wanted.
fn turns(count: usize) -> Vec<Turn> {
    let mut book = Book::new(Vec::new(), 1);
    let finding = |n| {
        let what = AlertKind::PoolFull { pool: format!("pool{n}"), percent: 90 };
        Finding::new(Severity::Error, what)
    };
    let findings: Vec<Finding> = (0..count).map(finding).collect();
    let now = Moment { wall: 1_795_000_000, steady: 0 };
    book.observe(api_types::AlertCheckName::Pools, &findings, &|_| None, now)
}

fn note(turn: &Turn, row: u64) -> Note {
    Note { row: Some(row), turn: turn.clone() }
}

fn outbox(routes: &[&str]) -> Outbox {
    let mut outbox = Outbox::default();
    routes.iter().for_each(|route| outbox.set(route, Severity::Warning, false));
    outbox
}

#[test]
fn a_note_goes_once_when_it_has_settled_and_leaves_when_it_has_arrived() {
    let mut outbox = outbox(&["mail"]);
    let turn = &turns(1)[0];
    outbox.put("mail", note(turn, 7), 100);
    assert!(outbox.take(100).is_empty());
    let taken = outbox.take(100 + SETTLE);
    assert_eq!(taken[0].1.notes, [note(turn, 7)]);
    assert!(outbox.take(10_000).is_empty(), "it is under way");
    assert_eq!(outbox.sent("mail", 1), [7]);
    assert!(outbox.take(20_000).is_empty() && outbox.state("mail") == LaneState::default());
}

#[test]
fn what_fails_is_tried_again_later_each_time_and_holds_no_other_lane() {
    let mut outbox = outbox(&["chat", "mail"]);
    let turn = &turns(1)[0];
    for route in ["chat", "mail"] {
        outbox.put(route, note(turn, 1), 0);
    }
    assert_eq!(outbox.take(10).len(), 2);
    outbox.sent("chat", 1);
    let (mut now, mut last) = (10, 0);
    for tries in 1..=30 {
        assert_eq!(outbox.failed(("mail", 1), "silence", now as i64, (now, 12_345)), tries);
        let mut wait = 0;
        while outbox.take(now + wait).is_empty() {
            wait += 1;
        }
        assert!(wait >= last && wait <= LONGEST, "{tries}: {wait}");
        (now, last) = (now + wait, wait);
    }
    assert_eq!(last, pause(30, 12_345));
    assert_eq!(outbox.failing(3).len(), 1);
    outbox.sent("mail", 1);
    assert!(outbox.failing(1).is_empty());
}

#[test]
fn pauses_double_up_to_an_hour_and_differ() {
    assert_eq!([1, 2, 3].map(|tries| pause(tries, 0)), [10, 20, 40]);
    assert_eq!((pause(0, 0), pause(u32::MAX, 0)), (10, 2_400));
    for tries in 0..60 {
        assert!((0..5_000).all(|random| (SHORTEST..=LONGEST).contains(&pause(tries, random))));
    }
}

#[test]
fn a_thousand_at_once_are_one_digest() {
    let mut outbox = outbox(&["mail"]);
    let turns = turns(1_000);
    for (row, turn) in (0..).zip(&turns) {
        outbox.put("mail", note(turn, row), 0);
    }
    let taken = outbox.take(5);
    assert_eq!((taken.len(), taken[0].1.notes.len(), taken[0].1.lost), (1, 1_000, 0));
    // What comes meanwhile waits for the next one.
    outbox.put("mail", note(&turns[0], 5_000), 6);
    assert_eq!(outbox.sent("mail", 1).len(), 1_000);
    assert_eq!(outbox.take(20)[0].1.notes.len(), 1);
}

#[test]
fn a_lane_that_is_full_loses_the_newest_and_says_how_many_once() {
    let mut outbox = outbox(&["mail"]);
    let turn = &turns(1)[0];
    for row in 0..MOST_NOTES as u64 + 40 {
        outbox.put("mail", note(turn, row), 0);
    }
    let batch = outbox.take(5).remove(0).1;
    assert_eq!((batch.notes.len(), batch.lost), (MOST_NOTES, 40));
    outbox.failed(("mail", 1), "silence", 0, (5, 0));
    outbox.put("mail", note(turn, 9_999), 6);
    assert_eq!(outbox.take(50)[0].1.lost, 41);
    assert_eq!(outbox.sent("mail", 1).len(), MOST_NOTES);
    assert!(outbox.take(5_000).is_empty());
}

#[test]
fn a_route_is_told_what_is_bad_enough_and_never_of_itself() {
    let mut outbox = outbox(&["mail"]);
    outbox.set("pager", Severity::Critical, false);
    outbox.set("quiet", Severity::Warning, true);
    assert_eq!(outbox.whom(&turns(1)[0]), ["mail"]);
    let failing = |route: &str| AlertKind::RouteFailing { route: route.into(), tries: 3, why: String::new() };
    let mut book = Book::new(Vec::new(), 1);
    let now = Moment { wall: 0, steady: 0 };
    let told = |book: &mut Book, route| {
        let turn = book.report(&Finding::new(Severity::Critical, failing(route)), now).expect("raised");
        outbox.whom(&turn)
    };
    assert_eq!(told(&mut book, "mail"), ["pager"]);
    assert_eq!(told(&mut book, "pager"), ["mail"]);
}

#[test]
fn a_route_that_is_set_anew_is_tried_at_once_and_one_that_goes_takes_all_with_it() {
    let mut outbox = outbox(&["mail"]);
    outbox.put("mail", note(&turns(1)[0], 1), 0);
    outbox.take(2);
    outbox.failed(("mail", 1), "silence", 0, (2, 0));
    assert!(outbox.take(3).is_empty());
    outbox.set("mail", Severity::Warning, false);
    assert_eq!(outbox.take(3).len(), 1);
    // It hangs, and is set once more: how the old way went says nothing of the new one.
    outbox.set("mail", Severity::Warning, false);
    let taken = outbox.take(4);
    assert_eq!((taken.len(), taken[0].1.round), (1, 3));
    assert!(outbox.sent("mail", 2).is_empty() && outbox.failed(("mail", 2), "late", 0, (4, 0)) == 0);
    assert_eq!(outbox.sent("mail", 3), [1]);
    outbox.put("mail", note(&turns(1)[0], 2), 5);
    outbox.remove("mail");
    assert!(outbox.sent("mail", 1).is_empty() && outbox.take(10_000).is_empty());
}
