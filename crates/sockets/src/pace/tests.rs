use super::*;

/// Works on requests of class 0 until their average no longer depends on what was before.
fn requests(pace: &Pace<1>, work: impl Fn()) -> Duration {
    for _ in 0..30 {
        let watch = pace.watch(0, Instant::now());
        work();
        pace.end(watch);
    }
    pace.of(0)
}

#[test]
fn waiting_counts_and_is_forgotten_again() {
    let pace = Pace::new([Duration::ZERO]);
    let waiting = requests(&pace, || std::thread::sleep(Duration::from_millis(2)));
    assert!(waiting > FAST * 10, "{waiting:?}");
    let after = requests(&pace, || {});
    assert!(after < FAST, "{after:?}");
}

#[test]
fn one_slow_request_does_not_make_a_class_slow() {
    let pace = Pace::new([Duration::ZERO]);
    let watch = pace.watch(0, Instant::now());
    std::thread::sleep(Duration::from_millis(50));
    pace.end(watch);
    assert!(pace.of(0) < FAST && pace.of(0) > SUSPECT, "{:?}", pace.of(0));
}

/// Giving the processor to others is no sleep.
#[test]
fn who_is_kept_from_the_processor_does_not_wait() {
    let pace = Pace::new([Duration::ZERO]);
    let over = std::sync::atomic::AtomicBool::new(false);
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let kept = std::thread::scope(|scope| {
        for _ in 0..2 * processors {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        let kept = requests(&pace, std::thread::yield_now);
        over.store(true, Ordering::Relaxed);
        kept
    });
    assert!(kept < FAST, "{kept:?}");
}
