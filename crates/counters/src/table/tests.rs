use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use stdx::prng::Prng;

use super::*;

fn first(sums: &[u64; 2]) -> u64 {
    sums[0]
}

#[test]
fn the_heaviest_keep_their_entries_and_the_rest_is_summed() {
    let table = Table::<u32, 2>::new(16, first);
    for key in 0..1000 {
        let sums = table.of(&key);
        sums.add(0, u64::from(key));
        sums.add(1, 1);
    }
    let seen = table.seen();
    assert_eq!(seen.total(), [(0..1000).sum(), 1000]);
    assert!(seen.entries.len() <= 16 + 2 + 1, "{} entries", seen.entries.len());
    assert_eq!(seen.folded, 1000 - seen.entries.len() as u64);
    let top: Vec<u32> = seen.entries.iter().take(10).map(|(key, _)| *key).collect();
    assert_eq!(top, (990..1000).rev().collect::<Vec<u32>>());
    let three = seen.clone().top(3);
    assert_eq!((three.entries.len(), three.total()), (3, seen.total()));
    assert_eq!(three.entries, seen.entries[..3]);
}

#[test]
fn who_is_held_is_never_folded_however_light() {
    let table = Table::<u32, 2>::new(4, first);
    let held: Vec<_> = (0..100).map(|key| (key, table.of(&key))).collect();
    for key in 1000..2000 {
        table.of(&key).add(0, 1 << 20);
    }
    held.iter().for_each(|(key, sums)| sums.add(0, u64::from(*key)));
    let seen: BTreeMap<u32, [u64; 2]> = table.seen().entries.into_iter().collect();
    assert!(held.iter().all(|(key, _)| seen[key] == [u64::from(*key), 0]));
    drop(held);
    (3000..3100).for_each(|key| drop(table.of(&key)));
    let seen = table.seen();
    assert!(seen.entries.len() <= 4 + 1 + 1);
    assert_eq!(seen.total()[0], (0..100).sum::<u64>() + (1000 << 20));
}

/// What one thread has added.
fn count(table: &Table<u64, 2>, seed: u64, rounds: u64) -> [u64; 2] {
    let (mut prng, mut added) = (Prng::new(seed), [0; 2]);
    let mut held = Vec::new();
    for _ in 0..rounds {
        // A few keys are frequent.
        let magnitude = prng.below(12);
        let key = prng.below(1 << magnitude);
        let sums = table.of(&key);
        for _ in 0..prng.below(8) {
            let (place, n) = (prng.below(2) as usize, prng.below(1000));
            sums.add(place, n);
            added[place] += n;
        }
        if prng.chance(1, 4) {
            held.push(sums);
        }
        if held.len() > 20 {
            held.swap_remove(prng.below(20) as usize);
        }
    }
    added
}

#[test]
fn sums_are_exact_and_never_fall_while_all_count() {
    for seed in 0..8 {
        let table = Table::<u64, 2>::new(1 << (seed % 6), first);
        let ended = AtomicBool::new(false);
        let added = thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let mut last = [0; 2];
                while !ended.load(SeqCst) {
                    let now = table.seen().total();
                    assert!(now[0] >= last[0] && now[1] >= last[1], "{last:?}, then {now:?}");
                    last = now;
                }
            });
            let table = &table;
            let counting: Vec<_> =
                (0..4).map(|number| scope.spawn(move || count(table, seed * 100 + number, 5000))).collect();
            let all = counting.into_iter().map(|one| one.join().expect("it counts"));
            let added = all.fold([0; 2], |sum, one| [sum[0] + one[0], sum[1] + one[1]]);
            ended.store(true, SeqCst);
            reader.join().expect("it reads");
            added
        });
        assert_eq!(table.seen().total(), added, "seed {seed}");
    }
}
