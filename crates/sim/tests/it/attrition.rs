//! Pools whose disks fail, leave and join, with the power going at any write. The seeds are always
//! the same here; `make simulate` tries fresh ones.

use sim::attrition::{Options, Tally, run};
use sim::caught;

/// Cases of each of two tests, at the least, of one in which more is always lost than redundancy
/// allows, and the power failures in a story.
const CASES: u64 = 9_000;
const CASES_BEYOND: u64 = 2_000;
const CUTS: usize = 400;
/// Seeds that failed once, with what was wrong. Stories have had more to tell since then.
const FAILED: [(u64, &str); 7] = [
    (112, "the operator left a bay empty in which a disk belonged that was found elsewhere"),
    (204, "the operator took disks out of use beside one that he had pulled"),
    (1_795_331_266_172_912, "likewise"),
    (226, "of disks that shared a place of a raidz, all lacking a block, one was rewritten and all believed"),
    (229, "labels of a group that never was, with another guid of the pool, were believed"),
    (50, "a disk below a raidz that was back spoke for its spare, before it was known what it lacks"),
    (1010, "the operator had made his last disk a cache device"),
];

/// Single cases, by seed, power failures in the story and number, in which more was lost than
/// redundancy allows.
const FAILED_BEYOND: [(u64, usize, usize, &str); 1] = [(
    543,
    300,
    46,
    "a sequential rebuild copied from a disk that passed for whole, since none had everything",
)];

/// Runs a seed, and says how to do it again when it fails.
fn check(options: &Options) -> Tally {
    let Options { seed, cuts, beyond, .. } = options;
    let beyond = if *beyond { " --beyond" } else { "" };
    let told = caught(|| run(options));
    told.unwrap_or_else(|why| {
        panic!(
            "{why}\nreproduce: cargo run --profile ci -p sim -- --kind attrition --seed {seed} --cuts {cuts}{beyond}"
        )
    })
}

/// As many seeds as it takes.
fn check_from(first: u64, cases: u64, beyond: bool) -> Tally {
    let mut tally = Tally::default();
    for seed in first.. {
        if tally.cases >= cases {
            break;
        }
        tally += check(&Options { cuts: CUTS, beyond, ..Options::new(seed) });
    }
    println!("{} cases: {tally:?}", tally.cases);
    tally
}

fn check_all(first: u64) {
    let tally = check_from(first, CASES, false);
    assert!(tally.beyond < tally.cases / 3, "most cases are within what redundancy allows: {tally:?}");
}

// Two tests, for two processors.
#[test]
fn disks_come_and_go_and_nothing_is_lost() {
    check_all(2);
}

#[test]
fn more_disks_come_and_go_and_nothing_is_lost() {
    check_all(100);
}

#[test]
fn what_is_lost_beyond_redundancy_is_said_to_be_lost() {
    let tally = check_from(300, CASES_BEYOND, true);
    assert!(tally.within < tally.beyond, "single disks have nothing to lose: {tally:?}");
    assert!(
        tally.answered > 0 && tally.failed > 0,
        "some calls are before the loss, some after it: {tally:?}"
    );
}

#[test]
fn stories_that_failed_once_are_right_now() {
    for (seed, why) in FAILED {
        assert!(check(&Options::new(seed)).cases > 0, "{why}");
    }
    for (seed, cuts, case, why) in FAILED_BEYOND {
        let options = Options { cuts, only: Some(case), beyond: true, ..Options::new(seed) };
        assert!(check(&options).cases > 0, "{why}");
    }
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
