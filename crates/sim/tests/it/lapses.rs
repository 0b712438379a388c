//! Disks that miss writes and catch up: the pool lives on what they have when the others leave.

use std::time::Duration;

use sim::caught;
use sim::lapses::{Options, Tally, run};

use crate::try_seeds;

/// Runs at the most, and the time after which no other is begun.
const RUNS: u64 = 60;
const FIRST_SEED: u64 = 50_000;
const TIME: Duration = Duration::from_secs(20);

fn check(seed: u64) -> Tally {
    caught(|| run(&Options::new(seed))).unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind lapses --seed {seed}")
    })
}

#[test]
fn who_has_everything_again_can_stand_for_it() {
    let mut all = Tally::default();
    let runs = try_seeds(FIRST_SEED, RUNS, TIME, |seed| all += check(seed));
    assert!(all.gone > 0 && all.refused > 0 && all.missed > 0, "{all:?}");
    println!("{runs} runs: {all:?}");
}

#[test]
fn a_seed_is_one_history_of_lapses() {
    assert_eq!(check(5), check(5));
}
