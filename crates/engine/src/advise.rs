//! The advisor: what a log device, more memory or a cache device would change for a pool, from what
//! was counted anyway.
//!
//! Each part is a function of plain numbers ([`log::LogSeen`], [`cache::CacheSeen`]) and gives
//! sentences with the figures they rest on. The reasoning is that of a closed loop: a caller waits
//! for the device, spends some time with all the rest (network, threads, copying, its own
//! thoughts), and waits again. Another device changes the first as its data sheet says. It changes
//! the rest too, and how much is rehearsed when the question is asked ([`rehearsal`]). Where
//! processors would become the limit, they are.

mod cache;
mod log;
pub mod rehearsal;
pub(crate) mod words;

use ::pool::Pool;
use engine_api::{Advice, AdviceQuestion};
use env::Nanos;
use env::waits::Waited;
use storage::LeafIo;

use cache::CacheSeen;
use log::{LogSeen, Place};
use rehearsal::{Rehearsed, Stage};

/// What the pool has seen since import, put to use.
pub fn advise(pool: &Pool, question: &AdviceQuestion, stage: Option<&dyn Stage>) -> Advice {
    let mut findings = vec![log::advise(&log_seen(pool), question, stage)];
    findings.extend(cache::advise(&cache_seen(pool), question, stage));
    Advice { findings }
}

/// What processors can be at work for at the most, before callers wait for them.
const BUSIEST: f64 = 0.85;

/// More callers than these are rehearsed as so many.
const CROWD: f64 = 1000.0;

/// A load in a closed loop; nanoseconds for each wait.
#[derive(Clone, Copy, Debug)]
struct Loop {
    /// At a time.
    callers: f64,
    /// From one wait of a caller to its next.
    cycle: f64,
    /// Of that, the device's.
    device: f64,
    /// Of all processors.
    work: f64,
    processors: f64,
}

/// What becomes of it.
struct Faster {
    /// Waits for each one before.
    factor: f64,
    /// A caller's cycle, and what is not the device's of it.
    cycle: f64,
    rest: f64,
    /// Processors are the limit.
    is_bound: bool,
}

impl Loop {
    /// Of these waits, of so many callers at a time, each of which took a device so long.
    fn of(waits: &Waited, callers: f64, device: f64, processors: usize) -> Loop {
        let each = |amount: Nanos| amount.0 as f64 / waits.count.max(1) as f64;
        let callers = callers.max(1.0);
        Loop {
            callers,
            cycle: (callers * each(waits.span())).max(1.0),
            device,
            work: each(waits.work),
            processors: processors.max(1) as f64,
        }
    }

    /// As a scene has it.
    fn crowd(&self) -> usize {
        self.callers.round().min(CROWD) as usize
    }

    /// If of `share` of the waiting each took a device `latency`, and the rest of it stayed.
    fn with(&self, share: f64, latency: f64, rehearsed: &Rehearsed) -> Faster {
        let mix = |now: f64, then: f64| (1.0 - share) * now + share * then;
        let rest_now = (self.cycle - self.device).max(0.0);
        let rest = rehearsed.rest(rest_now);
        let unbound = mix(self.cycle, latency + rest).clamp(1.0, self.cycle);
        let work = mix(self.work, rehearsed.work(self.work));
        // What is measured was possible.
        let least = (self.callers * work / (BUSIEST * self.processors)).min(self.cycle);
        let cycle = unbound.max(least);
        Faster { factor: self.cycle / cycle, cycle, rest: mix(rest_now, rest), is_bound: least > unbound }
    }

    fn figures(&self) -> [(&'static str, f64); 4] {
        [
            ("callers", self.callers),
            ("device_nanos", self.device),
            ("rest_nanos", (self.cycle - self.device).max(0.0)),
            ("processor_nanos", self.work),
        ]
    }
}

impl Faster {
    /// What is left of waits that took `wait` in the mean: what a caller does between them shrinks
    /// as all the rest does. Where many wait for the same, only some are counted as waiting.
    fn wait(&self, load: &Loop, wait: Nanos) -> f64 {
        let (wait, rest) = (wait.0 as f64, (load.cycle - load.device).max(1.0));
        let between = (load.cycle - wait).clamp(0.0, rest);
        let counted = wait / (load.cycle - between).max(1.0);
        counted * (self.cycle - between * (self.rest / rest).min(1.0)).max(0.0)
    }
}

/// Told behind a prediction.
fn limit(faster: &Faster) -> &'static str {
    if faster.is_bound { "; the processors would be the limit then" } else { "" }
}

fn log_seen(pool: &Pool) -> LogSeen {
    let core = pool.core();
    let stats = &core.zil_stats;
    let place = |from: &::pool::zil::PlaceStats| Place {
        bursts: from.bursts.get() as f64,
        bytes: from.bytes.get() as f64,
        nanos: from.nanos.get() as f64,
        write: from.write_nanos.get() as f64,
        flush: from.flush_nanos.get() as f64,
    };
    LogSeen {
        waits: stats.waits.snapshot(),
        records: stats.records.get() as f64,
        writes: (stats.indirect.get() + stats.copied.get() + stats.fetched.get()) as f64,
        group: stats.group_waits.snapshot(),
        main: place(&stats.normal),
        devices: place(&stats.slog),
        has_devices: core.storage.has_log_devices(),
        processors: core.env.driver.parallelism(),
    }
}

fn cache_seen(pool: &Pool) -> CacheSeen {
    let core = pool.core();
    let cache = core.storage.cache();
    let stats = cache.stats();
    let LeafIo { reads, read_bytes, .. } = pool.report().root.stat.io;
    let demand = |traffic: &storage::arc::Traffic| (traffic.demand_data + traffic.demand_metadata) as f64;
    CacheSeen {
        curve: cache.hit_curve(),
        hits: demand(&stats.hits),
        misses: demand(&stats.missed),
        in_memory: stats.hits.demand_data as f64
            / (stats.hits.demand_data + stats.missed.demand_data).max(1) as f64,
        memory: stats.limit.saturating_sub(stats.lent) as f64,
        full: stats.evicted > 0,
        waits: core.storage.read_waits(),
        mean_read: read_bytes as f64 / reads.max(1) as f64,
        has_devices: !pool.report().cache.is_empty(),
        device_hits: stats.l2.hits as f64,
        device_misses: stats.l2.misses as f64,
        processors: core.env.driver.parallelism(),
    }
}

#[cfg(test)]
mod tests;
