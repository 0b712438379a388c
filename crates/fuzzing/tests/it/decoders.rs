//! Each target over its corpus, bent by a seeded mutator.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant};

use fuzzing::mutate::mutate;
use fuzzing::{TARGETS, Target};
use stdx::prng::Prng;

use crate::memory::peak_of;

/// Inputs of a target, and the longest it may take.
const INPUTS: u32 = 40_000;
const PATIENCE: Duration = Duration::from_millis(1000);

/// The committed inputs: seeds from real pools, and whatever once failed.
fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target.name);
    let mut paths: Vec<_> =
        fs::read_dir(&dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file of the corpus")).collect()
}

fn check(target: &Target, input: &[u8]) {
    let limit = target.limit(input.len());
    let mut outcome = Ok(());
    let peak = peak_of(|| outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(input))));
    if outcome.is_err() || peak > limit {
        let path = std::env::temp_dir().join(format!("cistern-fuzz-{}", target.name));
        fs::write(&path, input).expect("the failing input can be kept");
        let why = if outcome.is_err() { "panicked" } else { "holds too much" };
        panic!(
            "{} {why}: {peak} bytes held, {limit} allowed; the input is in {}",
            target.name,
            path.display()
        );
    }
}

fn run(target: &Target) {
    let seeds = corpus(target);
    assert!(!seeds.is_empty(), "{} has no corpus", target.name);
    // What lives from the first input on (tables, contexts) is nobody's input's fault.
    seeds.iter().for_each(|seed| (target.run)(seed));
    seeds.iter().for_each(|seed| check(target, seed));
    let mut prng = Prng::new(0xc157);
    let start = Instant::now();
    for _ in 0..INPUTS {
        let mut input = prng.pick(&seeds).expect("seeds").clone();
        let other = prng.pick(&seeds).expect("seeds");
        mutate(&mut prng, &mut input, other);
        check(target, &input);
        if start.elapsed() > PATIENCE {
            break;
        }
    }
}

#[test]
fn no_decoder_panics_or_grows_whatever_it_is_given() {
    let failed: Vec<&str> = TARGETS
        .iter()
        .filter(|target| catch_unwind(|| run(target)).is_err())
        .map(|target| target.name)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_target_has_its_fuzzer_and_none_is_left_over() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).expect("the fuzzers' manifest");
    for target in TARGETS {
        let path = format!("fuzz_targets/{}.rs", target.name);
        assert!(manifest.contains(&path) && fuzz.join(&path).exists(), "{} has no fuzzer", target.name);
    }
    let count = fs::read_dir(fuzz.join("fuzz_targets")).expect("the fuzzers").count();
    assert_eq!(count, TARGETS.len());
}
