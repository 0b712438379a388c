use stdx::prng::Prng;

use super::*;

/// Least recently used goes first, over all blocks, exactly.
struct Exact {
    limit: u64,
    bytes: u64,
    stamps: HashMap<u64, (u64, u64)>,
    by_stamp: BTreeSet<(u64, u64)>,
    hits: u64,
}

impl Exact {
    fn new(limit: u64) -> Exact {
        Exact { limit, bytes: 0, stamps: HashMap::new(), by_stamp: BTreeSet::new(), hits: 0 }
    }

    fn ask(&mut self, block: u64, size: u64, now: u64) {
        if let Some((stamp, _)) = self.stamps.get(&block) {
            self.hits += 1;
            self.by_stamp.remove(&(*stamp, block));
        } else {
            self.bytes += size;
        }
        self.stamps.insert(block, (now, size));
        self.by_stamp.insert((now, block));
        while self.bytes > self.limit {
            let (_, oldest) = self.by_stamp.pop_first().expect("something is held");
            let (_, size) = self.stamps.remove(&oldest).expect("it is held");
            self.bytes -= size;
        }
    }
}

fn key(block: u64) -> Key {
    Key { pool: 1, vdev: 0, offset: block << 17, birth: 7 }
}

/// A hash as good as the cache's.
fn hash(block: u64) -> u32 {
    let mut x = block.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    Curve::hash(x ^ (x >> 31))
}

/// Runs requests through the curve and through exact caches of these sizes; the largest difference
/// of a hit rate.
fn largest_error(requests: impl Iterator<Item = u64>, size: impl Fn(u64) -> u64, limits: &[u64]) -> f64 {
    let mut curve = Curve::new();
    let mut exact: Vec<Exact> = limits.iter().map(|limit| Exact::new(*limit)).collect();
    let mut count = 0;
    for block in requests {
        count += 1;
        curve.asked(&key(block), hash(block));
        curve.arrived(&key(block), hash(block), size(block));
        exact.iter_mut().for_each(|cache| cache.ask(block, size(block), count));
    }
    assert!(curve.used.len() <= SAMPLE_MAX);
    let found = curve.hit_curve(count);
    let error = |cache: &Exact| (found.hit_rate(cache.limit as f64) - cache.hits as f64 / count as f64).abs();
    exact.iter().map(error).fold(0.0, f64::max)
}

#[test]
fn uniform_requests_come_near_exact_caches() {
    let mut rng = Prng::new(11);
    let requests = (0..400_000).map(move |_| rng.below(20_000));
    let limits: Vec<u64> = [2, 5, 10, 15, 19, 25].map(|thousands| thousands * 1000 * 8192).to_vec();
    let error = largest_error(requests, |_| 8192, &limits);
    assert!(error < 0.03, "off by {error}");
}

#[test]
fn a_skewed_load_of_mixed_sizes_comes_near_exact_caches_also_when_the_sample_is_full() {
    let mut rng = Prng::new(12);
    // The product of two uniform numbers prefers small ones; far more blocks than the sample takes
    // at first.
    let requests = (0..1_500_000).map(move |_| rng.below(600) * rng.below(600));
    let size = |block: u64| 512 << (hash(block) % 6);
    let limits: Vec<u64> = [4, 16, 64, 256, 1024].map(|mib| mib << 20).to_vec();
    let error = largest_error(requests, size, &limits);
    assert!(error < 0.04, "off by {error}");
}

#[test]
fn a_loop_hits_all_or_nothing() {
    let requests = (0..10).flat_map(|_| 0..20_000u64);
    let error = largest_error(requests, |_| 4096, &[10_000 * 4096, 30_000 * 4096]);
    assert!(error < 0.02, "off by {error}");
}

#[test]
fn the_order_survives_renumbering_and_forgetting() {
    let mut curve = Curve::new();
    for _ in 0..3 {
        for block in 0..NUMBERS as u64 {
            curve.arrived(&key(block), (block % 1000) as u32, 100);
        }
    }
    for block in 0..NUMBERS as u64 {
        curve.gone(&key(block), (block % 1000) as u32);
    }
    assert_eq!((curve.used.len(), curve.by_hash.len(), curve.order.total), (0, 0, 0));
}

#[test]
fn nothing_seen_is_no_hit() {
    let curve = Curve::new().hit_curve(0);
    assert_eq!((curve.hit_rate(1e9), curve.sampled()), (0.0, 0.0));
}
