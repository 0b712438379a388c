//! Clients whose calls come again: the power goes at any write, or the program dies there.

use std::time::Duration;

use sim::callers::{Options, Tally, run};
use sim::caught;

use crate::try_seeds;

/// Runs of one test at the most, and the time after which no other is begun.
const RUNS: u64 = 40;
const FIRST_SEED: u64 = 60_000;
const TIME: Duration = Duration::from_secs(10);

fn check(options: &Options) -> Tally {
    let seed = options.seed;
    let run = caught(|| run(options));
    run.unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind calls --seed {seed}")
    })
}

#[test]
fn a_call_is_done_once_whatever_dies() {
    let mut all = Tally::default();
    let runs = try_seeds(FIRST_SEED, RUNS, TIME, |seed| {
        let tally = check(&Options::new(seed));
        all.calls += tally.calls;
        all.cuts += tally.cuts;
        all.deaths += tally.deaths;
        all.answered_again += tally.answered_again;
        all.to_be_done += tally.to_be_done;
    });
    assert!(all.answered_again > 0 && all.to_be_done > 0 && all.cuts > 0, "{all:?}");
    println!("{runs} runs: {all:?}");
}

#[test]
fn a_seed_is_one_history_of_callers() {
    let options = Options { lives: 2, cuts: 2, ..Options::new(3) };
    assert_eq!(check(&options), check(&options));
}
