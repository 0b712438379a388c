//! Whole runs: the seeds that failed once, many more, and the simulator held against itself.
//!
//! Every seed is fixed, so that what is red is red again; how many of them are tried in the time
//! depends on the machine. A change of the engine gives each of them another history. Seeds nobody
//! has tried are for `make simulate`.

mod attrition;
mod callers;
mod checkpoints;
mod commits;
mod copies;
mod lapses;
mod log_chain;
mod log_crashes;
mod outages;
mod relations;
mod units;

use std::time::{Duration, Instant};

use sim::caught;
use sim::run::{Options, Summary, run};

const SEEDS: &str = include_str!("../../seeds.txt");
/// Runs of one test at the most, and the time after which no other is begun.
const RUNS: u64 = 110;
const TIME: Duration = Duration::from_secs(30);

fn fixed_seeds() -> impl Iterator<Item = u64> {
    let lines = SEEDS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_whitespace().next()).map(|word| word.parse().expect("a seed"))
}

fn run_caught(options: &Options) -> Result<Summary, String> {
    caught(|| run(options))
}

/// Runs a seed, and says how to do it again when it fails.
fn check(seed: u64) -> u64 {
    match run_caught(&Options::new(seed)) {
        Ok(summary) => u64::from(summary.crashes),
        Err(why) => panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind work --seed {seed}"),
    }
}

fn check_from(first_seed: u64) {
    let mut crashes = 0;
    let runs = try_seeds(first_seed, RUNS, TIME, |seed| crashes += check(seed));
    println!("{runs} runs with {crashes} power failures");
}

/// Tries so many seeds behind this one, fewer when the time is up, but at least one, however slow
/// the machine; says how many.
fn try_seeds(before: u64, most: u64, time: Duration, mut run: impl FnMut(u64)) -> u64 {
    let begun = Instant::now();
    for runs in 1..most {
        run(before + runs);
        if begun.elapsed() > time {
            return runs;
        }
    }
    run(before + most);
    most
}

#[test]
fn runs_that_failed_once_are_right_now() {
    assert!(fixed_seeds().map(check).sum::<u64>() > 0, "the power did go");
}

// Two tests, for two processors.
#[test]
fn runs_lose_nothing() {
    check_from(10_000);
}

#[test]
fn more_runs_lose_nothing() {
    check_from(20_000);
}

#[test]
fn a_seed_is_one_history() {
    for seed in fixed_seeds().take(3) {
        let options = Options { crashes: 4, ..Options::new(seed) };
        let (first, second) = (run_caught(&options), run_caught(&options));
        assert!(first.is_ok(), "{first:?}");
        assert_eq!(first, second, "seed {seed}");
    }
}

#[test]
fn disks_that_lie_about_flushes_are_found_out() {
    let lying = |seed| Options { lying: true, ..Options::new(seed) };
    let found_out = (1..=8).filter(|&seed| run_caught(&lying(seed)).is_err()).count();
    assert!(found_out >= 6, "only {found_out} of 8 runs on lying disks failed");
}

#[test]
fn zdb_finds_what_crashes_left_whole() {
    for seed in 11..=14 {
        let dir = std::env::temp_dir().join(format!("sim-zdb-{}-{seed}", std::process::id()));
        std::fs::create_dir(&dir).expect("a new folder");
        // What a failing disk lost is for a scrub to find: zdb would count it.
        let options = Options { crashes: 3, zdb: Some(dir.clone()), faults: false, ..Options::new(seed) };
        let result = run_caught(&options);
        std::fs::remove_dir_all(&dir).expect("the folder is ours");
        assert!(result.is_ok(), "seed {seed}: {}", result.unwrap_err());
    }
}
