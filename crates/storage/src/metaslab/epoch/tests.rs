use super::*;

#[test]
fn a_guard_holds_back_the_groups_after_it_however_many() {
    let epochs = Arc::new(Epochs::default());
    let before = epochs.advance();
    let reader = epochs.enter();
    assert!(epochs.none_before(before), "freed before it began");
    let after: Vec<u64> = (0..5 * SLOTS).map(|_| epochs.advance()).collect();
    assert!(after.iter().all(|epoch| !epochs.none_before(*epoch)));
    drop(reader);
    assert!(after.iter().all(|epoch| epochs.none_before(*epoch)));
}

/// Readers follow one another without a gap: each keeps back only what was freed while it lived.
#[test]
fn readers_that_never_pause_do_not_keep_space_for_ever() {
    let epochs = Arc::new(Epochs::default());
    let mut readers = vec![epochs.enter()];
    for _ in 0..3 * SLOTS {
        let freed = epochs.advance();
        readers.push(epochs.enter());
        assert!(!epochs.none_before(freed));
        drop(readers.remove(0));
        assert!(epochs.none_before(freed));
    }
}

/// One that reads for very long stops the ring; when it goes, everything moves on.
#[test]
fn the_ring_turns_again_after_a_long_reader() {
    let epochs = Arc::new(Epochs::default());
    let long = epochs.enter();
    for _ in 0..2 * SLOTS {
        epochs.advance();
    }
    let young = epochs.enter();
    drop(long);
    let freed = epochs.advance();
    assert!(!epochs.none_before(freed), "the young one may know what was freed just now");
    drop(young);
    assert!(epochs.none_before(freed));
}

/// A guard is never overlooked: whoever advances and finds nobody has nobody who began before.
#[test]
fn nobody_is_overlooked_while_epochs_change() {
    use std::sync::atomic::AtomicBool;
    let epochs = Arc::new(Epochs::default());
    // What is published stays valid until a group after it is done and no earlier guard lives.
    let (published, reused) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let stop = Arc::new(AtomicBool::new(false));
    let readers: Vec<_> = (0..3)
        .map(|_| {
            let (epochs, published, reused, stop) =
                (epochs.clone(), published.clone(), reused.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(SeqCst) {
                    let _guard = epochs.enter();
                    let mine = published.load(SeqCst);
                    std::hint::spin_loop();
                    assert!(reused.load(SeqCst) <= mine, "reused under a reader");
                }
            })
        })
        .collect();
    let mut waiting = std::collections::VecDeque::new();
    for round in 1..200_000u64 {
        // Everything published before this round is freed.
        published.store(round, SeqCst);
        waiting.push_back((round, epochs.advance()));
        while waiting.front().is_some_and(|(_, epoch)| epochs.none_before(*epoch)) {
            let (freed, _) = waiting.pop_front().expect("the front is there");
            reused.store(freed, SeqCst);
        }
    }
    stop.store(true, SeqCst);
    readers.into_iter().for_each(|reader| reader.join().unwrap());
}
