//! Pools whose disks fail, leave and join, with the power going at any write. The seeds are always the same here;
//! `make simulate` tries fresh ones.

use std::ops::Range;
use std::time::{Duration, Instant};

use sim::attrition::{Options, Tally, run};
use sim::caught;

/// The time after which a test is content with fewer seeds.
const TIME: Duration = Duration::from_secs(110);

/// Runs a seed, and says how to do it again when it fails.
fn check(options: &Options) -> Tally {
    let seed = options.seed;
    let told = caught(|| run(options));
    told.unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind attrition --seed {seed}")
    })
}

fn check_all(seeds: Range<u64>) {
    let begun = Instant::now();
    let mut tally = Tally::default();
    for seed in seeds {
        if tally.cases > 0 && begun.elapsed() > TIME {
            break;
        }
        tally += check(&Options::new(seed));
    }
    println!("{tally:?}");
    assert!(tally.beyond < tally.cases / 3, "most cases are within what redundancy allows: {tally:?}");
}

// Two tests, for two processors.
#[test]
fn disks_come_and_go_and_nothing_is_lost() {
    check_all(2..18);
}

#[test]
fn more_disks_come_and_go_and_nothing_is_lost() {
    check_all(100..112);
}

#[test]
fn a_story_is_one_history() {
    for seed in 2..=3 {
        let options = Options { cuts: 20, ..Options::new(seed) };
        assert_eq!(check(&options), check(&options), "seed {seed}");
    }
}

#[test]
fn zdb_finds_pools_whole_that_were_mended() {
    for seed in 21..=23 {
        let dir = std::env::temp_dir().join(format!("sim-attrition-{}-{seed}", std::process::id()));
        std::fs::create_dir(&dir).expect("a new folder");
        let options = Options { cuts: 1, zdb: Some(dir.clone()), ..Options::new(seed) };
        let told = caught(|| run(&options));
        std::fs::remove_dir_all(&dir).expect("the folder is ours");
        assert!(told.is_ok(), "seed {seed}: {}", told.unwrap_err());
    }
}
