//! Seeds on two processors, and whether all came about that promises were made for.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

/// What was tried, and how often.
pub type Tried = BTreeMap<&'static str, u64>;

/// What came of the even seeds, and of the odd ones.
pub fn halves<T: Send>(half: impl Fn(u64) -> T + Sync) -> [T; 2] {
    thread::scope(|scope| {
        let half = &half;
        let begun = [0, 1].map(|odd| scope.spawn(move || half(odd)));
        begun.map(|half| half.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

pub fn sum(all: impl IntoIterator<Item = Tried>) -> Tried {
    let mut sums = Tried::new();
    for (what, count) in all.into_iter().flatten() {
        *sums.entry(what).or_default() += count;
    }
    sums
}

/// Runs so many seeds. All that is named has to have happened in some of them.
pub fn run_all(seeds: u64, wanted: &[&str], run: impl Fn(u64) -> Tried + Sync) {
    let one = |seed| {
        catch_unwind(AssertUnwindSafe(|| run(seed))).unwrap_or_else(|panic| {
            println!("seed {seed}");
            resume_unwind(panic)
        })
    };
    let tried = sum(halves(|odd| sum((0..seeds).filter(|seed| seed % 2 == odd).map(one))));
    println!("{seeds} seeds: {tried:?}");
    assert_happened(&tried, wanted);
}

/// All that is named has happened.
pub fn assert_happened(tried: &Tried, wanted: &[&str]) {
    let missing: Vec<&&str> = wanted.iter().filter(|what| !tried.contains_key(**what)).collect();
    assert!(missing.is_empty(), "never happened: {missing:?}");
}
