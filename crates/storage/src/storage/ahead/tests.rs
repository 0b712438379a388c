use std::thread;

use super::*;

fn key(offset: u64) -> Key {
    Key { pool: 1, vdev: 0, offset, birth: 4 }
}

#[test]
fn who_waits_for_what_is_read_ahead_is_told_for_which_leaf_vdev() {
    let (ahead, env) = (Ahead::default(), Env::real());
    let wait = |at: Key| trail::followed(Box::default(), || ahead.wait_for(&env, [at].into_iter())).1.slowest;
    thread::scope(|scope| {
        let told = ahead.set_out([key(1), key(2)].into_iter(), true);
        let untold = ahead.set_out([key(2), key(3)].into_iter(), false);
        assert!(untold.slowest.is_none() && !untold.has(&key(2)), "it is on its way already");
        let waiting = [key(1), key(2)].map(|key| scope.spawn(move || wait(key)));
        let slowest = told.slowest.clone().expect("somebody wants to know");
        // Ours, that of the value, one for each block, and one for each who waits.
        while Arc::strong_count(&slowest) < 6 {
            thread::yield_now();
        }
        slowest.store(77, Relaxed);
        drop(told);
        for waiting in waiting {
            assert_eq!(waiting.join().expect("no panic").map(|waited| waited.vdev), Some(77));
        }
        drop(untold);
    });
    assert_eq!(wait(key(1)), None, "it has landed");
}
