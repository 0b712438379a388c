//! Trees of datasets, sent and received; the power goes in a receive.

use std::time::Duration;

use sim::caught;
use sim::copies::{Options, Tally, run};

use crate::try_seeds;

/// Runs of one test at the most, and the time after which no other is begun.
const RUNS: u64 = 30;
const FIRST_SEED: u64 = 30_000;
const TIME: Duration = Duration::from_secs(8);

fn check(options: &Options) -> Tally {
    let seed = options.seed;
    let run = caught(|| run(options));
    run.unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind copies --seed {seed}")
    })
}

#[test]
fn copies_are_what_was_sent() {
    let mut cuts = 0;
    let runs = try_seeds(FIRST_SEED, RUNS, TIME, |seed| cuts += check(&Options::new(seed)).cuts);
    println!("{runs} runs with {cuts} power failures");
}

#[test]
fn a_seed_is_one_history_of_copies() {
    let options = Options { rounds: 3, cuts: 3, ..Options::new(3) };
    assert_eq!(check(&options), check(&options));
}

#[test]
fn zdb_finds_copies_whole() {
    for seed in 21..=22 {
        let dir = std::env::temp_dir().join(format!("sim-zdb-copies-{}-{seed}", std::process::id()));
        std::fs::create_dir(&dir).expect("a new folder");
        let run = caught(|| run(&Options { cuts: 0, zdb: Some(dir.clone()), ..Options::new(seed) }));
        std::fs::remove_dir_all(&dir).expect("the folder is ours");
        assert!(run.is_ok(), "seed {seed}: {}", run.unwrap_err());
    }
}
