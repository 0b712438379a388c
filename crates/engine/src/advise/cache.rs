//! What more memory or a cache device would change.
//!
//! The curve says how many more requests a larger cache would have answered; the rest of the misses still waits for disks.
//! A cache device answers those in its own time, memory in none.

use engine_api::{AdviceQuestion, Finding};
use env::metric::Waited;
use storage::arc::HitCurve;

use super::words::{bytes, count, percent, time, times};
use super::{Faster, Loop, Machine};

/// Sampled requests, and waits for disks, that say something.
const ENOUGH_SAMPLES: f64 = 500.0;
const ENOUGH_WAITS: u64 = 100;
/// A read from a consumer SSD: to the first byte, and a byte.
const SSD_LATENCY: f64 = 100_000.0;
const SSD_BYTE: f64 = 2.0;
/// What a reader waits besides the device: for threads to wake, checksums, copying. It does not show beside a disk's time.
const OWN: f64 = 20_000.0;
/// Fewer than these of a hundred requests more are not worth a device.
const WORTH: f64 = 0.005;

/// What was counted.
#[derive(Clone, Debug)]
pub struct CacheSeen {
    pub curve: HitCurve,
    /// Requests that memory answered, and others; read-ahead does not count.
    pub hits: f64,
    pub misses: f64,
    /// Bytes that the cache may have, and whether that has ever been too little.
    pub memory: f64,
    pub full: bool,
    /// Readers that waited for disks.
    pub waits: Waited,
    /// Bytes.
    pub mean_read: f64,
    /// Of this pool; and what all cache devices of all pools answered.
    pub has_devices: bool,
    pub device_hits: f64,
    pub device_misses: f64,
    pub machine: Machine,
}

impl CacheSeen {
    fn requests(&self) -> f64 {
        (self.hits + self.misses).max(1.0)
    }

    fn hit_rate(&self) -> f64 {
        self.hits / self.requests()
    }

    /// The share of misses that would not be misses with a cache of so many bytes.
    fn saved_by(&self, size: f64) -> f64 {
        let misses = |size: f64| 1.0 - self.curve.hit_rate(size);
        (1.0 - misses(size) / misses(self.memory).max(1e-9)).clamp(0.0, 1.0)
    }

    /// What would come of it if this share of misses took `latency` each.
    fn with(&self, share: f64, latency: f64) -> Faster {
        let mean = (self.waits.mean().0 as f64).max(1.0);
        let left = 1.0 - share * (1.0 - latency / mean).clamp(0.0, 1.0);
        let load = Loop::of(&self.waits, &self.machine);
        load.with_wait(load.wait * left)
    }
}

pub fn advise(seen: &CacheSeen, question: &AdviceQuestion) -> Vec<Finding> {
    let few = seen.waits.count < ENOUGH_WAITS || seen.curve.sampled() < ENOUGH_SAMPLES;
    if few || !seen.full {
        let why = if few {
            format!(
                "No data yet: readers waited {} times for disks since import.",
                count(seen.waits.count as f64)
            )
        } else {
            "Nothing would change: all that was read since start fits into the cache as it is.".to_owned()
        };
        let finding = |about| Finding { about, text: why.clone(), figures: Vec::new() };
        return vec![finding("memory"), finding("cache")];
    }
    vec![memory(seen, question), device(seen, question)]
}

fn memory(seen: &CacheSeen, question: &AdviceQuestion) -> Finding {
    let size = question.memory.map_or(2.0 * seen.memory, |bytes| bytes as f64);
    let (now, share) = (seen.hit_rate(), seen.saved_by(size));
    let then = now + (1.0 - now) * share;
    let faster = seen.with(share, 0.0);
    let effect = match then - now < WORTH {
        true => format!("With {} it would not be noticeably more.", bytes(size)),
        false => format!(
            "With {} it would be {}, and {} as many requests could be answered in the same time{}.",
            bytes(size),
            percent(then),
            times(faster.factor),
            limit(&faster)
        ),
    };
    let text = format!(
        "The cache, which all pools share, may use {} and answered {} of {} requests. {effect}",
        bytes(seen.memory),
        percent(now),
        count(seen.requests()),
    );
    let figures = vec![
        ("memory_bytes", seen.memory),
        ("hit_percent", 100.0 * now),
        ("larger_memory_bytes", size),
        ("predicted_hit_percent", 100.0 * then),
        ("predicted_read_factor", faster.factor),
    ];
    Finding { about: "memory", text, figures }
}

fn limit(faster: &Faster) -> &'static str {
    if faster.is_bound() { "; the processors would be the limit then" } else { "" }
}

fn device(seen: &CacheSeen, question: &AdviceQuestion) -> Finding {
    let size = question.cache_size.map_or(4.0 * seen.memory, |bytes| bytes as f64);
    let typical = SSD_LATENCY + SSD_BYTE * seen.mean_read;
    let latency = question.cache_latency.map_or(typical, |nanos| nanos as f64);
    let mean = seen.waits.mean().0 as f64;
    if seen.has_devices && question.cache_size.is_none() {
        let all = (seen.device_hits + seen.device_misses).max(1.0);
        let text = format!(
            "There are cache devices: they answered {} of {} requests that memory could not.",
            percent(seen.device_hits / all),
            count(all)
        );
        return Finding {
            about: "cache",
            text,
            figures: vec![("device_hit_percent", 100.0 * seen.device_hits / all)],
        };
    }
    let share = seen.saved_by(seen.memory + size);
    let faster = seen.with(share, latency + OWN);
    let wait = mean * (1.0 - share) + share * (latency + OWN).min(mean);
    let effect = match share < WORTH || faster.factor < 1.02 {
        true => format!("A cache device of {} would change next to nothing.", bytes(size)),
        false => format!(
            "A cache device of {} ({} a read) would answer {} of what memory cannot: {} a read that memory cannot \
             answer, and {} as many requests in the same time{}.",
            bytes(size),
            time(latency),
            percent(share),
            time(wait),
            times(faster.factor),
            limit(&faster)
        ),
    };
    let text = format!(
        "Readers waited {} times for disks, {} each. {effect}",
        count(seen.waits.count as f64),
        time(mean)
    );
    let figures = vec![
        ("read_waits", seen.waits.count as f64),
        ("read_wait_nanos", mean),
        ("between_nanos", seen.waits.between.0 as f64 / seen.waits.count.max(1) as f64),
        ("processor_nanos", seen.machine.used.processor.0 as f64 / seen.waits.count.max(1) as f64),
        ("wake_nanos", Loop::of(&seen.waits, &seen.machine).cost_now().latency),
        ("predicted_wake_nanos", faster.wake),
        ("sleeps_per_wait", seen.machine.used.sleeps as f64 / seen.waits.count.max(1) as f64),
        ("cache_bytes", size),
        ("cache_latency_nanos", latency),
        ("predicted_device_hit_percent", 100.0 * share),
        ("predicted_miss_wait_nanos", wait),
        ("predicted_device_read_factor", faster.factor),
    ];
    Finding { about: "cache", text, figures }
}
