//! The advisor: what a log device, more memory or a cache device would change for a pool, from what was counted anyway.
//!
//! Each part is a function of plain numbers ([`log::LogSeen`], [`cache::CacheSeen`]) and gives sentences with the figures
//! they rest on. The reasoning is that of a closed loop: callers wait (`busy`), think (`between`), and wait again; a device
//! changes the waiting, not the thinking. Where processors would become the limit, they are.
//!
//! One thing of thinking and work does change: waking threads. While a load waits for an arm, processors sleep, and each
//! change of threads has to wake one; a load that waits less does not let them. What that costs here is measured when
//! the question is asked ([`env::wake`]); how often threads went to sleep was counted.

mod cache;
mod log;
pub(crate) mod words;

use ::pool::Pool;
use engine_api::{Advice, AdviceQuestion};
use env::metric::Waited;
use env::{Usage, WakeCost, WakeCosts};
use storage::LeafIo;

use cache::CacheSeen;
use log::{LogSeen, Place};

/// What the pool has seen since import, put to use.
pub fn advise(pool: &Pool, question: &AdviceQuestion) -> Advice {
    let core = pool.core();
    let now = core.env.clock.usage();
    let (processors, costs) = (core.env.driver.parallelism(), core.env.driver.wake_costs());
    let machine = |before: Option<Usage>| {
        let used = before.map_or(Usage::default(), |before| now.since(before));
        Machine { processors, costs, used }
    };
    let log = log_seen(pool, machine(core.zil_stats.used_before.get().copied()));
    let cache = cache_seen(pool, machine(core.storage.used_before_reads()));
    let mut findings = vec![log::advise(&log, question)];
    findings.extend(cache::advise(&cache, question));
    Advice { findings }
}

/// What processors can be at work for at the most, before callers wait for them.
const BUSIEST: f64 = 0.85;

/// Threads that a gap between two waits wakes: the caller's, by the reply, and one of ours, by the next request.
const WOKEN: f64 = 2.0;
/// What is left of thinking and of work at the least, however dear waking is.
const LEFT: f64 = 0.25;
/// Less rest makes waking cheaper, and that the rest less: so often is this followed.
const ROUNDS: usize = 4;

/// A load of so many requests, in a closed loop: nanoseconds of each that are waited, thought, and a processor's work.
#[derive(Clone, Copy)]
struct Loop {
    wait: f64,
    think: f64,
    work: f64,
    /// Gaps that are thought in, and threads going to sleep, of each request.
    gaps: f64,
    sleeps: f64,
    processors: f64,
    costs: WakeCosts,
}

/// What becomes of it.
struct Faster {
    /// Requests for each one before.
    factor: f64,
    /// How many times as long a request takes because processors are the limit; 1 where they are not.
    slowed: f64,
    /// Nanoseconds to wake a thread then.
    wake: f64,
}

/// What the machine is for a load.
#[derive(Clone, Copy, Default, Debug)]
pub struct Machine {
    pub processors: usize,
    pub costs: WakeCosts,
    /// By the process, since the load began.
    pub used: Usage,
}

impl Faster {
    fn is_bound(&self) -> bool {
        self.slowed > 1.0
    }
}

impl Loop {
    fn of(waits: &Waited, machine: &Machine) -> Loop {
        let each = |amount: u64| amount as f64 / waits.count.max(1) as f64;
        Loop {
            wait: each(waits.busy.0),
            think: each(waits.between.0),
            work: each(machine.used.processor.0),
            gaps: each(waits.gaps),
            sleeps: each(machine.used.sleeps),
            processors: machine.processors.max(1) as f64,
            costs: machine.costs,
        }
    }

    fn period(&self) -> f64 {
        (self.wait + self.think).max(1.0)
    }

    /// What waking costs now.
    fn cost_now(&self) -> WakeCost {
        self.cost(self.period(), self.work)
    }

    /// What it costs if a request takes so long, and so much work.
    fn cost(&self, period: f64, work: f64) -> WakeCost {
        self.costs.after(period - work / self.processors)
    }

    /// With `wait` in the place of the waiting.
    fn with_wait(&self, wait: f64) -> Faster {
        let (before, now) = (self.period(), self.cost_now());
        let less = |of: f64, saved: f64| (of - saved.max(0.0)).max(LEFT * of);
        let (mut think, mut work) = (self.think, self.work);
        let mut then = Faster { factor: 1.0, slowed: 1.0, wake: now.latency };
        for _ in 0..ROUNDS {
            // What is measured was possible.
            let least = (work / (BUSIEST * self.processors)).min(before);
            let unbound = (wait + think).max(1.0);
            let period = unbound.max(least);
            let cost = self.cost(period, work);
            then = Faster { factor: before / period, slowed: period / unbound, wake: cost.latency };
            think = less(self.think, self.gaps * WOKEN * (now.latency - cost.latency));
            work = less(self.work, self.sleeps * (now.work - cost.work));
        }
        then
    }
}

fn log_seen(pool: &Pool, machine: Machine) -> LogSeen {
    let core = pool.core();
    let stats = &core.zil_stats;
    let place = |from: &::pool::zil::PlaceStats| Place {
        bursts: from.bursts.get() as f64,
        nanos: from.nanos.get() as f64,
        write: from.write_nanos.get() as f64,
        flush: from.flush_nanos.get() as f64,
    };
    LogSeen {
        waits: stats.waits.snapshot(),
        group: stats.group_waits.snapshot(),
        main: place(&stats.normal),
        devices: place(&stats.slog),
        has_devices: core.storage.has_log_devices(),
        machine,
    }
}

fn cache_seen(pool: &Pool, machine: Machine) -> CacheSeen {
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
        machine,
    }
}

#[cfg(test)]
mod tests;
