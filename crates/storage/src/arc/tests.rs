use super::*;
use stdx::prng::Prng;

const SIZE: usize = 4096;

fn key(n: u64) -> Key {
    Key { pool: 1, vdev: 0, offset: n * SIZE as u64, birth: 9 }
}

fn block(n: u64) -> Arc<Block> {
    Arc::new(Block::from_slice(&[n as u8; SIZE]))
}

fn touch_all(cache: &Cache, names: std::ops::Range<u64>) {
    for n in names {
        touch(cache, n);
    }
}

/// Asks for a block; puts it in on a miss.
fn touch(cache: &Cache, n: u64) -> bool {
    let found = cache.get(&key(n));
    if let Some(found) = &found {
        assert_eq!(found[0], n as u8);
    } else {
        cache.insert(key(n), block(n), false);
    }
    found.is_some()
}

#[test]
fn a_block_is_found_until_it_is_removed_and_replaced_under_its_name() {
    let cache = Cache::new(1 << 20);
    assert!(cache.get(&key(1)).is_none());
    cache.insert(key(1), block(1), false);
    assert_eq!(cache.get(&key(1)).unwrap()[0], 1);
    cache.insert(key(1), block(7), false);
    assert_eq!(cache.get(&key(1)).unwrap()[0], 7);
    cache.remove(&key(1));
    assert!(cache.get(&key(1)).is_none());
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn a_pool_takes_its_blocks_along() {
    let cache = Cache::new(64 << 20);
    let other = |n: u64| Key { pool: 2, ..key(n) };
    for n in 0..100 {
        cache.insert(key(n), block(n), false);
        cache.insert(other(n), block(n), n % 2 == 0);
    }
    cache.forget_pool(2);
    assert!((0..100).all(|n| cache.get(&key(n)).is_some() && cache.get(&other(n)).is_none()));
    cache.forget_pool(1);
    assert_eq!(cache.bytes(), 0);
}

#[test]
fn it_never_holds_more_than_its_limit() {
    for limit in [64 << 10, 1 << 20, 80 << 20] {
        let cache = Cache::new(limit);
        let mut prng = Prng::new(limit as u64);
        for _ in 0..40_000 {
            let n = prng.below(30_000);
            if cache.get(&key(n)).is_none() {
                cache.insert(key(n), block(n), prng.below(3) == 0);
            }
            if prng.below(100) == 0 {
                cache.remove(&key(prng.below(30_000)));
            }
            debug_assert!(cache.bytes() <= limit);
        }
        assert!(cache.bytes() <= limit && cache.bytes() > limit / 2);
    }
}

#[test]
fn what_is_used_twice_survives_a_long_scan() {
    let cache = Cache::new(100 * SIZE * 2);
    for _ in 0..3 {
        touch_all(&cache, 0..50);
        touch(&cache, 999); // So that block 49 is not the newest when it is used again.
    }
    touch_all(&cache, 1000..20_000);
    let kept = (0..50).filter(|&n| cache.get(&key(n)).is_some()).count();
    assert_eq!(kept, 50);
}

#[test]
fn metadata_outlives_data_of_the_same_age() {
    let cache = Cache::new(1 << 20);
    (0..60).for_each(|n| cache.insert(key(n), block(n), true));
    (1000..3000).for_each(|n| cache.insert(key(n), block(n), false));
    assert!((0..60).all(|n| cache.get(&key(n)).is_some()));
}

#[test]
fn ghosts_move_the_target_towards_the_list_that_was_too_short() {
    let cache = Cache::new(100 * (SIZE + 256));
    touch_all(&cache, 0..40);
    touch_all(&cache, 0..40);
    // A loop over more than the MRU list holds: every miss is a ghost of it, until the list is long
    // enough.
    let before = cache.stats().target;
    for _ in 0..4 {
        touch_all(&cache, 1000..1070);
    }
    let stats = cache.stats();
    assert!(stats.mru_ghost_hits > 0 && stats.target > before, "{stats:?}");
}

#[test]
fn small_reads_of_one_block_are_one_use() {
    let cache = Cache::new(1 << 20);
    touch(&cache, 1);
    (0..32).for_each(|_| assert!(touch(&cache, 1)));
    assert_eq!(cache.stats().mfu_bytes, 0);
}

#[test]
fn threads_share_it() {
    let cache = Cache::new(2 << 20);
    std::thread::scope(|scope| {
        for seed in 0..4 {
            let cache = &cache;
            scope.spawn(move || {
                let mut prng = Prng::new(seed);
                for _ in 0..50_000 {
                    touch(cache, prng.below(2000));
                }
            });
        }
    });
    let stats = cache.stats();
    assert_eq!(stats.mru_hits + stats.mfu_hits + stats.misses, 200_000);
}
