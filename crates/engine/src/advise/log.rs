//! What a log device would change.
//!
//! A commit waits for log blocks or for its transaction group. A log block takes its writing and flushing, which is the
//! device's, and the rest (gathering records, checksums), which is ours. Another device changes the first; how many
//! blocks a commit waits for stays. So the waiting for log blocks shrinks as a block's time does.

use engine_api::{AdviceQuestion, Finding};
use env::metric::Waited;

use super::words::{count, percent, time, times};
use super::{Faster, Loop, Machine};

/// Commits that say something.
const ENOUGH: u64 = 100;
/// What is reckoned with when nobody says: a consumer SSD without power-loss protection, and a battery-backed RAM drive.
/// Fewer commits than this share of all that waited for groups are chains being begun: that happens as often with a faster
/// log.
const BEGINNINGS: f64 = 0.05;
const SSD: f64 = 1_550_000.0;
const RAM: f64 = 25_000.0;

/// Log blocks on one sort of devices: nanoseconds, added up.
#[derive(Clone, Copy, Default, Debug)]
pub struct Place {
    /// Times that blocks were written and flushed together.
    pub bursts: f64,
    pub nanos: f64,
    /// Of those.
    pub write: f64,
    pub flush: f64,
}

/// What was counted.
#[derive(Clone, Copy, Default, Debug)]
pub struct LogSeen {
    /// Commits, and those among them that waited for a transaction group.
    pub waits: Waited,
    pub group: Waited,
    /// Log blocks on the main disks and on log devices.
    pub main: Place,
    pub devices: Place,
    pub has_devices: bool,
    pub machine: Machine,
}

/// What would come of a device that makes a block durable in so much time.
struct Prediction {
    rate: f64,
    wait: f64,
    then: Faster,
}

impl LogSeen {
    fn bursts(&self) -> f64 {
        self.main.bursts + self.devices.bursts
    }

    /// Of the waiting, the share that is for groups.
    fn group_share(&self) -> f64 {
        (self.group.total.0 as f64 / self.waits.total.0.max(1) as f64).min(1.0)
    }

    fn rate(&self) -> f64 {
        self.waits.count as f64 / self.waits.span().as_secs_f64().max(1e-9)
    }

    fn with(&self, latency: f64) -> Prediction {
        let bursts = self.bursts().max(1.0);
        let all = (self.main.nanos + self.devices.nanos) / bursts;
        let device = (self.main.write + self.main.flush + self.devices.write + self.devices.flush) / bursts;
        let own = (all - device).max(0.0);
        let by_log = 1.0 - self.group_share();
        let count = self.waits.count.max(1) as f64;
        let few = (self.group.count as f64) < BEGINNINGS * count;
        let by_group = if few { 0.0 } else { self.group_share() };
        let left = by_group + by_log * (own + latency) / (own + device).max(1.0);
        let load = Loop::of(&self.waits, &self.machine);
        let then = load.with_wait(load.wait * left);
        Prediction {
            rate: self.rate() * then.factor,
            wait: self.waits.mean().0 as f64 * left * then.slowed,
            then,
        }
    }
}

pub fn advise(seen: &LogSeen, question: &AdviceQuestion) -> Finding {
    let commits = seen.waits.count;
    if commits < ENOUGH || seen.bursts() < 1.0 {
        let text = format!(
            "No data yet: {} synchronous operations have waited since import, and {ENOUGH} say something.",
            count(commits as f64)
        );
        return Finding { about: "log", text, figures: Vec::new() };
    }
    let flush_share = (1.0 - seen.group_share()) * share_of(seen.main.flush, seen);
    let write_share = (1.0 - seen.group_share()) * share_of(seen.main.write, seen);
    let mean = seen.waits.mean().0 as f64;
    let mut text = format!(
        "{} synchronous operations waited {} each, {} of them a second while there were any. Of this waiting {} was \
         for flushes of the main disks, {} for writing to them, {} for log devices, and {} for transaction groups.",
        count(commits as f64),
        time(mean),
        count(seen.rate()),
        percent(flush_share),
        percent(write_share),
        percent((1.0 - seen.group_share()) * share_of(seen.devices.write + seen.devices.flush, seen)),
        percent(seen.group_share()),
    );
    let mut figures = vec![
        ("commits", commits as f64),
        ("commit_wait_nanos", mean),
        ("commits_per_second", seen.rate()),
        ("main_flush_percent", 100.0 * flush_share),
        ("main_write_percent", 100.0 * write_share),
        ("group_percent", 100.0 * seen.group_share()),
        ("between_nanos", seen.waits.between.0 as f64 / commits as f64),
        ("processor_nanos", seen.machine.used.processor.0 as f64 / commits as f64),
        ("wake_nanos", Loop::of(&seen.waits, &seen.machine).cost_now().latency),
        ("sleeps_per_commit", seen.machine.used.sleeps as f64 / commits as f64),
    ];
    let candidates = match question.log_latency {
        Some(nanos) => vec![("A log device", nanos as f64, GIVEN)],
        None if seen.has_devices => Vec::new(),
        None => {
            vec![("A consumer SSD as log device", SSD, OF_SSD), ("A battery-backed RAM log", RAM, OF_RAM)]
        }
    };
    for (what, latency, names) in candidates {
        let then = seen.with(latency);
        text.push_str(&sentence(what, latency, &then, seen));
        figures.extend([(names[0], then.rate), (names[1], then.wait), (names[2], then.then.factor)]);
        figures.push((names[3], then.then.wake));
    }
    Finding { about: "log", text, figures }
}

/// Names of rate, wait, factor, and what waking a thread takes then.
const GIVEN: [&str; 4] = [
    "predicted_commits_per_second",
    "predicted_commit_wait_nanos",
    "predicted_commit_factor",
    "predicted_wake_nanos",
];
const OF_SSD: [&str; 4] =
    ["ssd_commits_per_second", "ssd_commit_wait_nanos", "ssd_commit_factor", "ssd_wake_nanos"];
const OF_RAM: [&str; 4] =
    ["ram_commits_per_second", "ram_commit_wait_nanos", "ram_commit_factor", "ram_wake_nanos"];

fn share_of(part: f64, seen: &LogSeen) -> f64 {
    (part / (seen.main.nanos + seen.devices.nanos).max(1.0)).min(1.0)
}

fn sentence(what: &str, latency: f64, then: &Prediction, seen: &LogSeen) -> String {
    let factor = then.rate / seen.rate().max(1e-9);
    let limit = if then.then.is_bound() { "; the processors would be the limit then" } else { "" };
    if factor < 1.1 {
        return format!(" {what} ({} a block) would change next to nothing.", time(latency));
    }
    format!(
        " {what} ({} a block) would make that {} each and {} a second, {} as many{limit}.",
        time(latency),
        time(then.wait),
        count(then.rate),
        times(factor),
    )
}
