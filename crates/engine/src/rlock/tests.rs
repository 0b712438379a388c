use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

#[test]
fn readers_share_and_writers_of_other_ranges_pass() {
    let (env, ranges) = (Env::real(), RangeLock::default());
    let _one = ranges.shared(&env, 0, 100);
    let _two = ranges.shared(&env, 50, 100);
    let _writer = ranges.alone(&env, 150, 10);
    assert_eq!(lock(&ranges.state).ranges.len(), 3);
}

#[test]
fn a_writer_is_alone_in_its_range() {
    let (env, ranges) = (Env::real(), Arc::new(RangeLock::default()));
    let inside = Arc::new(AtomicU32::new(0));
    let threads: Vec<_> = (0..4)
        .map(|i| {
            let (env, ranges, inside) = (env.clone(), ranges.clone(), inside.clone());
            std::thread::spawn(move || {
                for round in 0..500 {
                    let guard = if round % 7 == 0 { ranges.whole(&env) } else { ranges.alone(&env, i, 10) };
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                    inside.fetch_sub(1, Ordering::SeqCst);
                    drop(guard);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(lock(&ranges.state).ranges.is_empty());
}
