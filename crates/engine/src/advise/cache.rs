//! What more memory or a cache device would change.
//!
//! The curve says how many more requests a larger cache would have answered; the rest of the misses
//! still waits for disks. A cache device answers those in its own time, memory in none; what
//! readers wait for besides is the same, as rehearsed.

use engine_api::{AdviceQuestion, CurvePoint, Finding};
use env::Nanos;
use env::waits::Waited;
use storage::arc::HitCurve;

use super::rehearsal::{Load, Rehearsed, Scene, Stage};
use super::words::{bytes, count, percent, time, times};
use super::{Loop, limit};

/// Sampled requests, and waits for disks, that say something.
const ENOUGH_SAMPLES: f64 = 200.0;
const ENOUGH_WAITS: u64 = 100;
/// A read from a consumer SSD: to the first byte, and a byte.
const SSD_LATENCY: f64 = 100_000.0;
const SSD_BYTE: f64 = 2.0;
/// Reads are rehearsed in records of these sizes.
const RECORDS: [u32; 2] = [4 << 10, 128 << 10];
/// Fewer than these of a hundred requests more are not worth a device.
const WORTH: f64 = 0.005;
/// What a curve tells of: so many times the memory that the cache may use.
const SIZES: [f64; 9] = [0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];

/// What was counted.
#[derive(Clone, Debug)]
pub struct CacheSeen {
    pub curve: HitCurve,
    /// Requests that memory answered, and others; read-ahead does not count.
    pub hits: f64,
    pub misses: f64,
    /// The share of hits among requests for contents of files.
    pub in_memory: f64,
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
    pub processors: usize,
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

    /// The share of requests that memory would answer if it were of so many bytes, less than now
    /// included.
    fn hit_rate_with(&self, size: f64) -> f64 {
        let misses = |size: f64| 1.0 - self.curve.hit_rate(size);
        let now = misses(self.memory).max(1e-9);
        (1.0 - (1.0 - self.hit_rate()) * misses(size) / now).clamp(0.0, 1.0)
    }

    /// A wait is taken for the device's whole: what is ours of it does not show beside a disk's
    /// time.
    fn load(&self) -> Loop {
        let callers = self.waits.total.0 as f64 / self.waits.busy.0.max(1) as f64;
        Loop::of(&self.waits, callers, self.waits.mean().0 as f64, self.processors)
    }

    /// The like of it, on the disks as they are, and on a device that takes so long.
    fn rehearse(&self, latency: f64, stage: Option<&dyn Stage>) -> Rehearsed {
        let load = self.load();
        let bytes = (self.mean_read as u32).clamp(RECORDS[0], RECORDS[1]).next_power_of_two();
        let scene = |device: f64, in_turn| Scene {
            load: Load::Read { bytes, in_memory: self.in_memory },
            callers: load.crowd(),
            device: Nanos(device as u64),
            in_turn,
        };
        Rehearsed::of(stage, &scene(load.device / load.callers, true), &scene(latency, false))
    }
}

pub fn advise(seen: &CacheSeen, question: &AdviceQuestion, stage: Option<&dyn Stage>) -> Vec<Finding> {
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
        let finding = |about| Finding::new(about, why.clone(), []);
        return vec![finding("memory"), finding("cache")];
    }
    let latency =
        question.cache_latency.map_or(SSD_LATENCY + SSD_BYTE * seen.mean_read, |nanos| nanos as f64);
    let rehearsed = seen.rehearse(latency, stage);
    vec![memory(seen, question, &rehearsed), device(seen, question, latency, &rehearsed)]
}

fn memory(seen: &CacheSeen, question: &AdviceQuestion, rehearsed: &Rehearsed) -> Finding {
    let size = question.memory.map_or(2.0 * seen.memory, |bytes| bytes as f64);
    let (now, share) = (seen.hit_rate(), seen.saved_by(size));
    let then = now + (1.0 - now) * share;
    let faster = seen.load().with(share, 0.0, rehearsed);
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
    let point = |share: f64| CurvePoint {
        bytes: seen.memory * share,
        hit_percent: 100.0 * seen.hit_rate_with(seen.memory * share),
        read_factor: (share >= 1.0)
            .then(|| seen.load().with(seen.saved_by(seen.memory * share), 0.0, rehearsed).factor),
    };
    Finding::new("memory", text, figures).with_curve(SIZES.map(point))
}

fn device(seen: &CacheSeen, question: &AdviceQuestion, latency: f64, rehearsed: &Rehearsed) -> Finding {
    let size = question.cache_size.map_or(4.0 * seen.memory, |bytes| bytes as f64);
    let mean = seen.waits.mean().0 as f64;
    if seen.has_devices && question.cache_size.is_none() {
        let all = (seen.device_hits + seen.device_misses).max(1.0);
        let text = format!(
            "There are cache devices: they answered {} of {} requests that memory could not.",
            percent(seen.device_hits / all),
            count(all)
        );
        return Finding::new("cache", text, [("device_hit_percent", 100.0 * seen.device_hits / all)]);
    }
    let share = seen.saved_by(seen.memory + size);
    let load = seen.load();
    let faster = load.with(share, latency, rehearsed);
    let wait = faster.wait(&load, seen.waits.mean());
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
    let mut figures = vec![("read_waits", seen.waits.count as f64), ("read_wait_nanos", mean)];
    figures.extend(load.figures());
    figures.extend([
        ("cache_bytes", size),
        ("cache_latency_nanos", latency),
        ("predicted_device_hit_percent", 100.0 * share),
        ("predicted_miss_wait_nanos", wait),
        ("predicted_device_read_factor", faster.factor),
        ("predicted_rest_nanos", faster.rest),
    ]);
    figures.extend(rehearsed.figures());
    let point = |share: f64| {
        let saved = seen.saved_by(seen.memory * (1.0 + share));
        CurvePoint {
            bytes: seen.memory * share,
            hit_percent: 100.0 * saved,
            read_factor: Some(load.with(saved, latency, rehearsed).factor),
        }
    };
    Finding::new("cache", text, figures).with_curve(SIZES.map(point))
}
