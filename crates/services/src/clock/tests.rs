use super::{ABSENCE, Belief, Clock, LEAP, PATIENCE, Reading, TOLERANCE};
use crate::time::{DAY, Time};

const NOW: Time = 1_764_320_000;

/// A machine: its clocks, and what is made of them.
struct Machine {
    boot: u64,
    monotonic: u64,
    wall: Time,
    clock: Clock,
}

impl Machine {
    fn new() -> Machine {
        let mut machine = Machine { boot: 1, monotonic: 50, wall: NOW, clock: Clock::default() };
        assert_eq!(machine.look(), Belief { now: NOW, dispute: None });
        machine
    }

    fn reading(&self) -> Reading {
        Reading { boot: self.boot, monotonic: self.monotonic, wall: self.wall }
    }

    fn look(&mut self) -> Belief {
        self.clock.observe(self.reading())
    }

    fn pass(&mut self, seconds: u64) -> Belief {
        self.monotonic += seconds;
        self.wall += i64::try_from(seconds).expect("it is short");
        self.look()
    }
}

#[test]
fn a_stamp_in_2099_or_1970_changes_nothing_but_a_warning() {
    for wall in [4_070_908_800, 0, i64::MAX, i64::MIN / 2] {
        let mut machine = Machine::new();
        machine.wall = wall;
        for minute in 0..10_000 {
            let belief = machine.look();
            assert_eq!(belief.now, NOW + minute * 60);
            assert_eq!(belief.dispute.expect("it is disputed").agrees_at, None);
            machine.monotonic += 60;
            machine.wall = machine.wall.saturating_add(60);
        }
        let reading = machine.reading();
        assert_eq!(machine.clock.agree(reading), Belief { now: machine.wall, dispute: None });
    }
}

#[test]
fn a_leap_of_an_hour_is_believed_when_it_stays() {
    for leap in [-3_600, 3_600, LEAP, -LEAP] {
        let mut machine = Machine::new();
        machine.wall += leap;
        let first = machine.look();
        assert_eq!(first.now, NOW);
        assert_eq!(first.dispute.expect("it is disputed").agrees_at, Some(NOW + 600));
        assert_eq!(machine.pass(PATIENCE - 1).now, NOW + 599);
        assert_eq!(machine.pass(1), Belief { now: NOW + 600 + leap, dispute: None });
    }
}

#[test]
fn a_clock_that_leaps_again_begins_anew_and_one_that_comes_back_is_believed() {
    let mut machine = Machine::new();
    for _ in 0..100 {
        machine.wall += 3_600;
        assert!(machine.pass(PATIENCE - 1).dispute.is_some());
    }
    machine.wall -= 3_600 * 100;
    assert_eq!(machine.look(), Belief { now: machine.wall, dispute: None });
}

#[test]
fn small_steps_are_followed_and_never_lead_back() {
    let mut machine = Machine::new();
    machine.wall += TOLERANCE;
    assert_eq!(machine.look().now, NOW + TOLERANCE);
    machine.wall -= TOLERANCE;
    assert_eq!(machine.look(), Belief { now: NOW + TOLERANCE, dispute: None });
    assert_eq!(machine.pass(60).now, NOW + TOLERANCE);
    assert_eq!(machine.pass(90).now, NOW + 150);
}

#[test]
fn a_machine_that_was_off_believes_its_clock_but_not_everything() {
    let boot = |wall: Time| {
        let mut machine = Machine::new();
        (machine.boot, machine.monotonic, machine.wall) = (2, 10, wall);
        let first = machine.look();
        (first, machine.pass(PATIENCE))
    };
    assert_eq!(boot(NOW + 8 * 3_600).0, Belief { now: NOW + 8 * 3_600, dispute: None });
    let (first, later) = boot(NOW + 30 * DAY);
    assert_eq!(first.now, NOW);
    assert_eq!(later, Belief { now: NOW + 30 * DAY + 600, dispute: None });
    let (_, later) = boot(NOW + ABSENCE + 1);
    assert!(later.dispute.is_some_and(|dispute| dispute.agrees_at.is_none()));
    // A battery that is empty.
    let (first, later) = boot(0);
    assert_eq!((first.now, later.now), (NOW, NOW + 600));
}

#[test]
fn what_was_seen_outlives_the_program() {
    let mut machine = Machine::new();
    machine.wall = 0;
    machine.look();
    let kept = serde_json::to_string(&machine.clock).expect("it can be kept");
    machine.clock = serde_json::from_str(&kept).expect("it can be read");
    assert_eq!(machine.pass(60).now, NOW + 60);
}
