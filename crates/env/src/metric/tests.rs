use std::thread;

use super::*;

#[test]
fn counter_adds_up_over_threads() {
    let counter = Counter::default();
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| (0..1000).for_each(|_| counter.add(3)));
        }
    });
    assert_eq!(counter.get(), 30_000);
}

#[test]
fn values_fall_into_their_bucket() {
    let histogram = Histogram::default();
    for value in [0, 1, 2, 3, 4, 1023, 1024, u64::MAX] {
        histogram.record(value);
    }
    let counts = histogram.snapshot();
    let filled: Vec<_> = (0..64).filter(|&i| counts[i] > 0).map(|i| (i, counts[i])).collect();
    assert_eq!(filled, [(0, 2), (1, 2), (2, 1), (9, 1), (10, 1), (63, 1)]);
}
