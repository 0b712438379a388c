//! Thousands of years of automatic snapshots, from seeds: pools whose datasets come, go, are
//! renamed, promoted, received, full and read-only; snapshots of others, holds and clones;
//! failures, wrong clocks and restarts. After each step the promises of [`services::autosnap`] are
//! checked against what the simulation knows and the planner does not.

mod checks;
mod disturb;
mod failover;
mod policies;
mod scale;
mod sim;
mod sync;
mod world;

use std::collections::BTreeMap;
use std::panic::resume_unwind;
use std::thread;

use policies::Kind;
use sim::Sim;

/// Simulated years of each kind of a run: of levels from days to years, and from minutes to days.
const LONG: u64 = 100;
const SHORT: u64 = 1;
/// How many runs of each.
const LONG_RUNS: u64 = 50;
const SHORT_RUNS: u64 = 16;

/// What has to have happened somewhere, or the promises were not tried.
const TRIED: &[&str] = &[
    "create",
    "catch-up",
    "destroy count",
    "destroy age",
    "destroy snapshots",
    "destroy space",
    "kept held",
    "kept cloned",
    "kept needed",
    "kept at-least",
    "kept back-off",
    "kept stopped",
    "skip unchanged",
    "skip receiving",
    "skip replica",
    "skip read-only",
    "skip full",
    "skip budget",
    "skip back-off",
    "skip stopped",
    "found over-budget",
    "found level-gone",
    "found unbelievable",
    "found renamed",
    "found gone",
    "clock disputed",
    "clock settled ahead",
    "clock settled behind",
    "restart kept",
    "restart lost",
    "killed amid a plan",
    "stale raised",
    "stale cleared",
    "forecast",
    "promote",
    "rename",
    "imitation",
    "stamp of another",
];

/// Years, what was tried how often, and looks at datasets.
type Sums = (f64, BTreeMap<&'static str, u64>, u64);

fn run(seeds: impl Iterator<Item = (u64, Kind, u64)>) -> Sums {
    let (mut years, mut tried, mut looks) = (0.0, BTreeMap::new(), 0);
    for (seed, kind, length) in seeds {
        let sim = Sim::run(seed, kind, length);
        years += sim.years();
        looks += sim.looks;
        for (what, count) in sim.tried {
            *tried.entry(what).or_default() += count;
        }
    }
    (years, tried, looks)
}

#[test]
fn five_thousand_years_keep_their_promises() {
    let long = (0..LONG_RUNS).map(|seed| (seed, Kind::Long, LONG));
    let short = (0..SHORT_RUNS).map(|seed| (1_000 + seed, Kind::Short, SHORT));
    let all: Vec<(u64, Kind, u64)> = long.chain(short).collect();
    let halves = thread::scope(|scope| {
        let half = |odd: u64| {
            let seeds: Vec<_> = all.iter().copied().filter(|(seed, ..)| seed % 2 == odd).collect();
            scope.spawn(move || run(seeds.into_iter()))
        };
        [half(0), half(1)].map(|half| half.join().unwrap_or_else(|panic| resume_unwind(panic)))
    });
    let years: f64 = halves.iter().map(|(years, ..)| years).sum();
    let looks: u64 = halves.iter().map(|(.., looks)| looks).sum();
    let mut tried: BTreeMap<&str, u64> = BTreeMap::new();
    for (what, count) in halves.iter().flat_map(|(_, tried, _)| tried) {
        *tried.entry(what).or_default() += count;
    }
    println!("{years:.0} years, {looks} looks: {tried:?}");
    assert!(years >= 5_000.0, "only {years:.0} years");
    let missing: Vec<&&str> = TRIED.iter().filter(|what| !tried.contains_key(**what)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
