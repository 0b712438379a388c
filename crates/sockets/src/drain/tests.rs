use super::*;

/// A thread that begins before there is a drain would find none and end, and slow peers would never
/// be written to.
#[test]
fn a_drain_has_its_thread_from_the_start() {
    let busy = Arc::new(());
    for _ in 0..4 {
        let until = Arc::downgrade(&busy);
        thread::spawn(move || while until.strong_count() > 0 {});
    }
    for _ in 0..20 {
        let drains: Vec<Arc<Drain>> = (0..100).map(|_| Drain::start()).collect();
        thread::sleep(Duration::from_millis(50));
        // Each thread has a way to its drain for as long as it runs.
        assert!(drains.iter().all(|drain| Arc::weak_count(drain) == 1), "a drain without a thread");
    }
}
