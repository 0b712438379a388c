//! The advisor: what a log device, more memory or a cache device would change for a pool, from what was counted anyway.
//!
//! Each part is a function of plain numbers ([`log::LogSeen`], [`cache::CacheSeen`]) and gives sentences with the figures
//! they rest on. The reasoning is that of a closed loop: callers wait (`busy`), think (`between`), and wait again; a device
//! changes the waiting, not the thinking. Where processors would become the limit, they are.

mod cache;
mod log;
mod words;

use ::pool::Pool;
use engine_api::{Advice, AdviceQuestion};
use env::Nanos;
use env::metric::Waited;
use storage::LeafIo;

use cache::CacheSeen;
use log::{LogSeen, Place};

/// What the pool has seen since import, put to use.
pub fn advise(pool: &Pool, question: &AdviceQuestion) -> Advice {
    let mut findings = vec![log::advise(&log_seen(pool), question)];
    findings.extend(cache::advise(&cache_seen(pool), question));
    Advice { findings }
}

/// What processors can be at work for at the most, before callers wait for them.
const BUSIEST: f64 = 0.85;

/// A load of so many requests, in a closed loop: nanoseconds of each that are waited, thought, and a processor's work.
#[derive(Clone, Copy)]
struct Loop {
    wait: f64,
    think: f64,
    work: f64,
    processors: usize,
}

/// What becomes of it.
struct Faster {
    /// Requests for each one before.
    factor: f64,
    /// Processors are the limit.
    is_bound: bool,
}

impl Loop {
    /// `processor` is what the process used meanwhile.
    fn of(waits: &Waited, processor: Nanos, processors: usize) -> Loop {
        let each = |nanos: Nanos| nanos.0 as f64 / waits.count.max(1) as f64;
        Loop { wait: each(waits.busy), think: each(waits.between), work: each(processor), processors }
    }

    /// With `wait` in the place of the waiting.
    fn with_wait(&self, wait: f64) -> Faster {
        let before = (self.wait + self.think).max(1.0);
        // What is measured was possible.
        let least = (self.work / (BUSIEST * self.processors.max(1) as f64)).min(before);
        let unbound = wait + self.think;
        Faster { factor: before / unbound.max(least).max(1.0), is_bound: least > unbound }
    }
}

fn log_seen(pool: &Pool) -> LogSeen {
    let core = pool.core();
    let stats = &core.zil_stats;
    let place = |from: &::pool::zil::PlaceStats| Place {
        blocks: from.count.get() as f64,
        nanos: from.nanos.get() as f64,
        write: from.write_nanos.get() as f64,
        flush: from.flush_nanos.get() as f64,
    };
    let before = stats.processor_before.get().copied().unwrap_or_default();
    LogSeen {
        waits: stats.waits.snapshot(),
        group: stats.group_waits.snapshot(),
        main: place(&stats.normal),
        devices: place(&stats.slog),
        has_devices: core.storage.has_log_devices(),
        processor: core.env.clock.processor().since(before),
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
        memory: stats.limit.saturating_sub(stats.lent) as f64,
        full: stats.evicted > 0,
        waits: core.storage.read_waits(),
        mean_read: read_bytes as f64 / reads.max(1) as f64,
        has_devices: !pool.report().cache.is_empty(),
        device_hits: stats.l2.hits as f64,
        device_misses: stats.l2.misses as f64,
        processor: core.env.clock.processor().since(core.storage.processor_before_reads()),
        processors: core.env.driver.parallelism(),
    }
}

#[cfg(test)]
mod tests;
