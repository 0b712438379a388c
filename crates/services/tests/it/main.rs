//! Thousands of years of automatic snapshots, from seeds: pools whose datasets come, go, are
//! renamed, promoted, received, full and read-only; snapshots of others, holds and clones;
//! failures, wrong clocks and restarts. After each step the promises of [`services::autosnap`] are
//! checked against what the simulation knows and the planner does not.

mod checks;
mod disturb;
mod failover;
mod policies;
mod scale;
mod seeds;
mod sim;
mod sync;
mod world;

use policies::Kind;
use seeds::{Tried, assert_happened, halves, sum};
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
type Sums = (f64, Tried, u64);

fn run(seeds: impl Iterator<Item = (u64, Kind, u64)>) -> Sums {
    let (mut years, mut tried, mut looks) = (0.0, Vec::new(), 0);
    for (seed, kind, length) in seeds {
        let sim = Sim::run(seed, kind, length);
        years += sim.years();
        looks += sim.looks;
        tried.push(sim.tried);
    }
    (years, sum(tried), looks)
}

#[test]
fn five_thousand_years_keep_their_promises() {
    let long = (0..LONG_RUNS).map(|seed| (seed, Kind::Long, LONG));
    let short = (0..SHORT_RUNS).map(|seed| (1_000 + seed, Kind::Short, SHORT));
    let all: Vec<(u64, Kind, u64)> = long.chain(short).collect();
    let halves = halves(|odd| run(all.iter().copied().filter(|(seed, ..)| seed % 2 == odd)));
    let years: f64 = halves.iter().map(|(years, ..)| years).sum();
    let looks: u64 = halves.iter().map(|(.., looks)| looks).sum();
    let tried = sum(halves.map(|(_, tried, _)| tried));
    println!("{years:.0} years, {looks} looks: {tried:?}");
    assert!(years >= 5_000.0, "only {years:.0} years");
    assert_happened(&tried, TRIED);
}
