//! Whether rare paths of the engine are taken at all by seeds of `work`, `attrition` and `logs`.
//!
//! Marks are those of a process. So this is the only test of its program: paths that other tests
//! take do not count.

use sim::{attrition, caught, rare, run, writers};

/// Seeds of each kind at the most: so many that each path is met several times over.
const SEEDS: std::ops::Range<u64> = 60_000..60_040;

/// A run that fails is for the other tests to look into, by what it takes to do it again.
fn try_one(kind: &str, seed: u64, run: impl FnOnce() -> Result<(), String>) {
    let told = caught(run);
    told.unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind {kind} --seed {seed}")
    });
}

#[test]
fn rare_paths_are_met() {
    if !cfg!(debug_assertions) {
        return; // There are no marks.
    }
    for seed in SEEDS {
        if rare::unmet().is_empty() {
            break;
        }
        try_one("work", seed, || run::run(&run::Options::new(seed)).map(drop));
        try_one("attrition", seed, || attrition::run(&attrition::Options::new(seed)).map(drop));
        try_one("logs", seed, || writers::run(&writers::Options::new(seed)).map(drop));
    }
    assert_eq!(rare::unmet(), Vec::<&str>::new(), "in no run of seeds {SEEDS:?}");
    assert_eq!(rare::unlisted(), Vec::<&str>::new(), "not in the list of sim::rare");
}
