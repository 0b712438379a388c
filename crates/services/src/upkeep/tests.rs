use api_types::{Schedule, ServiceFault, UpkeepPolicy, When, Window};
use jiff::tz::TimeZone;

use super::{Pool, Progress, Step, Upkeep, Wait};
use crate::time::{DAY, Time};

/// Each day at 01:00 UTC, at work from 22:00 to 06:00.
fn nightly() -> Upkeep {
    upkeep(Some(Window { from: 22 * 60, until: 6 * 60 })).expect("it is good")
}

fn upkeep(window: Option<Window>) -> Result<Upkeep, ServiceFault> {
    let schedule = Schedule { when: When::Day { hour: 1, minute: 0 }, zone: None };
    Upkeep::new(&UpkeepPolicy { pools: Vec::new(), schedule, window }, &|_| Some(TimeZone::UTC))
}

fn pool() -> Pool {
    Pool {
        name: "tank".to_owned(),
        guid: 1,
        writable: true,
        resilvering: false,
        progress: Progress::Idle,
        served: 0,
        completed: None,
        possible: true,
    }
}

fn at(hour: i64) -> Time {
    10 * DAY + hour * 3_600
}

fn wait(until: Option<Time>, reason: Wait) -> Step {
    Step::Wait { until, reason }
}

#[test]
fn what_was_missed_is_one_run_within_the_window() {
    let upkeep = nightly();
    assert_eq!(upkeep.step(&pool(), at(2)), Step::Begin { slot: at(1), missed: 10 });
    assert_eq!(upkeep.step(&pool(), at(12)), wait(Some(at(22)), Wait::Window));
    let served = Pool { served: at(1), ..pool() };
    assert_eq!(upkeep.step(&served, at(2)), wait(Some(at(25)), Wait::NotDue));
}

#[test]
fn it_pauses_when_the_window_closes_and_goes_on_when_it_opens() {
    let upkeep = nightly();
    let running = Pool { progress: Progress::Ours, served: at(1), ..pool() };
    assert_eq!(upkeep.step(&running, at(5)), wait(None, Wait::Running));
    assert_eq!(upkeep.step(&running, at(6)), Step::Pause);
    let paused = Pool { progress: Progress::OursPaused, served: at(1), ..pool() };
    assert_eq!(upkeep.step(&paused, at(7)), wait(Some(at(22)), Wait::Window));
    assert_eq!(upkeep.step(&paused, at(22)), Step::Resume);
    let hurt = Pool { resilvering: true, ..paused };
    assert_eq!(upkeep.step(&hurt, at(22)), wait(None, Wait::Resilver));
}

#[test]
fn what_others_do_is_left_alone_and_counts() {
    let upkeep = nightly();
    let theirs = Pool { progress: Progress::Theirs, ..pool() };
    assert_eq!(upkeep.step(&theirs, at(7)), wait(None, Wait::Running));
    let done = Pool { completed: Some(at(2)), ..pool() };
    assert_eq!(upkeep.step(&done, at(3)), Step::Served { slot: at(1) });
    let before = Pool { completed: Some(at(0)), ..pool() };
    assert_eq!(upkeep.step(&before, at(3)), Step::Begin { slot: at(1), missed: 10 });
    // Completed in a future that was never: it does not count.
    let later = Pool { completed: Some(at(100)), ..pool() };
    assert_eq!(upkeep.step(&later, at(3)), Step::Begin { slot: at(1), missed: 10 });
}

#[test]
fn a_pool_that_cannot_is_told_why() {
    let upkeep = nightly();
    let step = |change: &dyn Fn(&mut Pool)| {
        let mut pool = pool();
        change(&mut pool);
        upkeep.step(&pool, at(2))
    };
    assert_eq!(step(&|it| it.writable = false), wait(None, Wait::NotWritable));
    assert_eq!(step(&|it| it.resilvering = true), wait(None, Wait::Resilver));
    assert_eq!(step(&|it| it.possible = false), wait(Some(at(25)), Wait::NotPossible));
}

#[test]
fn a_window_is_some_hours_of_a_day() {
    for window in [(0, 0), (0, 1_440), (1_440, 0), (90, 90)] {
        let window = Window { from: window.0, until: window.1 };
        assert_eq!(upkeep(Some(window)).err(), Some(ServiceFault::Window));
    }
    let morning = upkeep(Some(Window { from: 60, until: 120 })).expect("it is good");
    assert_eq!(morning.step(&pool(), at(1)), Step::Begin { slot: at(1), missed: 10 });
    assert_eq!(morning.step(&pool(), at(2)), wait(Some(at(25)), Wait::Window));
}
