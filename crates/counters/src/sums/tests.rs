use std::thread;

use super::*;

#[test]
fn sums_add_up_over_threads() {
    let (counter, sums) = (Counter::default(), Sums::<3>::default());
    thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    counter.add(3);
                    sums.add(0, 1);
                    sums.add(2, 5);
                }
            });
        }
    });
    assert_eq!(counter.get(), 30_000);
    assert_eq!(sums.get(), [10_000, 0, 50_000]);
    assert_eq!(sums.at(2), 50_000);
    sums.add(0, u64::MAX);
    assert_eq!(sums.at(0), 9_999, "it wraps");
}

#[test]
fn sums_take_what_they_say() {
    assert_eq!(size_of::<Counter>(), 1 << 10);
    assert_eq!(size_of::<Sums<16>>(), 1 << 10);
    assert_eq!(size_of::<Sums<17>>(), 2 << 10);
}
