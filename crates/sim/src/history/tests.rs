use super::*;

fn set(history: &mut History<u32>, earliest: u64, latest: u64, to: u32) {
    history.note(earliest, latest, |old| *old, |now| *now = to);
}

fn at(history: &History<u32>, txg: u64) -> Vec<u32> {
    history.candidates(txg).copied().collect()
}

#[test]
fn a_group_ends_in_the_state_after_its_last_operation() {
    let mut history = History::new(0, 4);
    set(&mut history, 5, 5, 1);
    set(&mut history, 5, 5, 2);
    set(&mut history, 7, 7, 3);
    assert_eq!(at(&history, 4), [0]);
    assert_eq!(at(&history, 5), [2]);
    assert_eq!(at(&history, 6), [2]);
    assert_eq!(at(&history, 7), [3]);
    assert!(at(&history, 3).is_empty(), "what was durable at the beginning stays");
}

#[test]
fn an_operation_whose_group_is_not_known_may_be_there_or_not() {
    let mut history = History::new(0, 4);
    set(&mut history, 5, 6, 1);
    assert_eq!(at(&history, 5), [1, 0]);
    assert_eq!(at(&history, 6), [1]);
    set(&mut history, 6, u64::MAX, 2);
    assert_eq!(at(&history, 5), [0, 1].map(|n| 1 - n));
    assert_eq!(at(&history, 9), [2, 1]);
}

#[test]
fn a_promise_leaves_no_older_state() {
    let mut history = History::new(0, 4);
    set(&mut history, 5, 8, 1);
    history.promise(6);
    assert_eq!(history.promised(), 6);
    assert_eq!(at(&history, 6), [1]);
    assert!(at(&history, 4).is_empty());
    set(&mut history, 8, 8, 1);
    history.promise(7);
    assert_eq!(at(&history, 7), [1], "it changed nothing, so nothing of group 8 had to be written");
}

#[test]
fn what_is_durable_makes_older_states_impossible() {
    let mut history = History::new(0, 4);
    set(&mut history, 5, 5, 1);
    set(&mut history, 6, 6, 2);
    history.synced(5);
    assert!(at(&history, 4).is_empty());
    assert_eq!(at(&history, 5), [1]);
}
