//! Initiators at work on volumes; the power goes at any write, or the program dies there.

use std::time::Duration;

use sim::caught;
use sim::units::{Options, Tally, run};

use crate::try_seeds;

/// Runs of one test at the most, and the time after which no other is begun.
const RUNS: u64 = 30;
const FIRST_SEED: u64 = 40_000;
const TIME: Duration = Duration::from_secs(10);

fn check(options: &Options) -> Tally {
    let seed = options.seed;
    let run = caught(|| run(options));
    run.unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind units --seed {seed}")
    })
}

#[test]
fn initiators_keep_what_they_were_promised() {
    let mut all = Tally::default();
    let runs = try_seeds(FIRST_SEED, RUNS, TIME, |seed| {
        let tally = check(&Options::new(seed));
        all.calls += tally.calls;
        all.cuts += tally.cuts;
        all.deaths += tally.deaths;
        all.won += tally.won;
        all.lost += tally.lost;
    });
    assert!(all.deaths > 0, "no program died");
    println!("{runs} runs: {all:?}");
}

#[test]
fn a_seed_is_one_history_of_initiators() {
    let options = Options { lives: 2, cuts: 2, ..Options::new(3) };
    assert_eq!(check(&options), check(&options));
}

#[test]
fn zdb_finds_units_whole() {
    let dir = std::env::temp_dir().join(format!("sim-zdb-units-{}", std::process::id()));
    std::fs::create_dir(&dir).expect("a new folder");
    let run = caught(|| run(&Options { lives: 3, cuts: 2, zdb: Some(dir.clone()), ..Options::new(31) }));
    std::fs::remove_dir_all(&dir).expect("the folder is ours");
    assert!(run.is_ok(), "{}", run.unwrap_err());
}

#[test]
fn initiators_notice_disks_that_lie_about_flushes() {
    let lying = |seed| Options { lives: 1, lying: true, ..Options::new(seed) };
    let noticed = (1..=4).filter(|&seed| caught(|| run(&lying(seed))).is_err()).count();
    assert!(noticed >= 3, "only {noticed} of 4 runs on lying disks failed");
}
