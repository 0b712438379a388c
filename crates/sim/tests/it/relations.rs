//! Two appliances that keep each other's data: streams are cut and changed, the power goes at any
//! write on either side, and operators promote and turn round.

use std::time::Duration;

use sim::caught;
use sim::relation::{Options, Story, Tally, run};

use crate::try_seeds;

/// Runs of one test at the most, and the time after which no other is begun.
const RUNS: u64 = 60;
const TIME: Duration = Duration::from_secs(17);

fn check(options: &Options) -> Tally {
    let (seed, story) = (options.seed, options.story);
    let kind = match story {
        Story::Streams => "streams",
        Story::Pulls => "pulls",
        Story::Failover => "failover",
    };
    let run = caught(|| run(options));
    run.unwrap_or_else(|why| {
        panic!("{why}\nreproduce: cargo run --profile ci -p sim -- --kind {kind} --seed {seed}")
    })
}

/// Tries seeds, and gives the sum of what happened.
fn check_all(story: Story, first_seed: u64) -> Tally {
    let mut all = Tally::default();
    let runs = try_seeds(first_seed, RUNS, TIME, |seed| all.add(&check(&Options::new(story, seed))));
    println!("{runs} runs: {all:?}");
    all
}

#[test]
fn what_a_replica_shows_is_what_its_source_had() {
    let all = check_all(Story::Streams, 70_000);
    // What is seldom needs more seeds than there is time for.
    let happened = [all.cuts, all.kills, all.streams, all.cut + all.hung + all.flipped, all.relieved];
    assert!(happened.into_iter().all(|times| times > 0), "{all:?}");
}

#[test]
fn what_is_pulled_is_what_its_source_had() {
    let all = check_all(Story::Pulls, 92_000);
    let happened = [all.cuts, all.kills, all.streams, all.cut + all.hung + all.flipped];
    assert!(happened.into_iter().all(|times| times > 0), "{all:?}");
}

#[test]
fn a_relation_is_live_on_one_side() {
    let all = check_all(Story::Failover, 81_000);
    let happened = [all.cuts, all.streams, all.promoted + all.forced, all.refused, all.reversed + all.kept];
    assert!(happened.into_iter().all(|times| times > 0), "{all:?}");
}

/// Parts of replicas were given up that had replicas below them.
#[test]
fn what_is_below_a_replica_that_never_became_whole_is_not_lost() {
    for seed in [217, 267] {
        check(&Options::new(Story::Streams, seed));
    }
}

#[test]
fn a_seed_is_one_history_of_relations() {
    for story in [Story::Streams, Story::Pulls, Story::Failover] {
        let options = Options { steps: 20, ..Options::new(story, 3) };
        assert_eq!(check(&options), check(&options));
    }
}
