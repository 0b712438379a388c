//! What a log device would change.
//!
//! A commit waits for log blocks or for its transaction group. A log block takes its writing and
//! flushing, which is the device's; all the rest between two commits of a caller is not. Waiting
//! for groups stays as it is.

use engine_api::{AdviceQuestion, Finding};
use env::Nanos;
use env::waits::Waited;

use super::rehearsal::{Load, Rehearsed, Scene, Stage};
use super::words::{count, percent, time, times};
use super::{Faster, Loop, limit};

/// Commits that say something.
const ENOUGH: u64 = 100;
/// Fewer commits than this share of all that waited for groups are chains being begun: that happens
/// as often with a faster log.
const BEGINNINGS: f64 = 0.05;
/// Where so large a share of what is logged is changes of names, new files are rehearsed.
const NAMES: f64 = 0.25;
/// Writes are rehearsed in whole sectors; larger ones would go past the log where it has no device.
const SECTOR: u32 = 512;
const LARGEST: u32 = 31 << 10;
/// What is reckoned with when nobody says: a consumer SSD without power-loss protection, and a
/// battery-backed RAM drive.
const SSD: f64 = 1_550_000.0;
const RAM: f64 = 25_000.0;

/// Log blocks on one sort of devices: nanoseconds, added up.
#[derive(Clone, Copy, Default, Debug)]
pub struct Place {
    /// Times that blocks were written and flushed together.
    pub bursts: f64,
    /// Of records.
    pub bytes: f64,
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
    /// What was logged, and the writes of bytes among it.
    pub records: f64,
    pub writes: f64,
    /// Log blocks on the main disks and on log devices.
    pub main: Place,
    pub devices: Place,
    pub has_devices: bool,
    pub processors: usize,
}

/// What would come of a device that makes a block durable in so much time.
struct Prediction {
    rate: f64,
    wait: f64,
    then: Faster,
    rehearsed: Rehearsed,
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

    /// What a device takes for a burst of log blocks.
    fn device(&self) -> f64 {
        (self.main.write + self.main.flush + self.devices.write + self.devices.flush) / self.bursts().max(1.0)
    }

    /// Whether no more waited for groups than begin chains.
    fn is_by_log(&self) -> bool {
        (self.group.count as f64) < BEGINNINGS * self.waits.count.max(1) as f64
    }

    /// Without the beginnings.
    fn log_waits(&self) -> Waited {
        if !self.is_by_log() {
            return self.waits;
        }
        let (busy, total) =
            (self.waits.busy.since(self.group.busy), self.waits.total.since(self.group.total));
        Waited { busy, total, ..self.waits }
    }

    /// Who waits while another waits for the same block is not counted as waiting: how many there
    /// are is told by how many come to a burst.
    fn load(&self) -> Loop {
        let waits = self.log_waits();
        let burst = (self.main.nanos + self.devices.nanos) / self.bursts().max(1.0);
        let callers = waits.count as f64 * burst / waits.busy.0.max(1) as f64;
        Loop::of(&waits, callers, self.device(), self.processors)
    }

    /// The like of it, on such a device.
    fn scene(&self, latency: f64) -> Scene {
        let each = (self.main.bytes + self.devices.bytes) / self.waits.count.max(1) as f64;
        let bytes = (each as u32 / SECTOR * SECTOR).clamp(SECTOR, LARGEST);
        let names = 1.0 - self.writes / self.records.max(1.0);
        let load = if names < NAMES { Load::Write { bytes } } else { Load::SmallFile { bytes } };
        Scene { load, callers: self.load().crowd(), device: Nanos(latency as u64), in_turn: false }
    }

    fn with(&self, latency: f64, stage: Option<&dyn Stage>) -> Prediction {
        let by_log = if self.is_by_log() { 1.0 } else { 1.0 - self.group_share() };
        let rehearsed = Rehearsed::of(stage, &self.scene(self.device()), &self.scene(latency));
        let load = self.load();
        let then = load.with(by_log, latency, &rehearsed);
        let wait = then.wait(&load, self.log_waits().mean());
        Prediction { rate: self.rate() * then.factor, wait, then, rehearsed }
    }
}

pub fn advise(seen: &LogSeen, question: &AdviceQuestion, stage: Option<&dyn Stage>) -> Finding {
    let commits = seen.waits.count;
    if commits < ENOUGH || seen.bursts() < 1.0 {
        let text = format!(
            "No data yet: {} synchronous operations have waited since import, and {ENOUGH} say something.",
            count(commits as f64)
        );
        return Finding::new("log", text, []);
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
    ];
    figures.extend(seen.load().figures());
    let candidates = match question.log_latency {
        Some(nanos) => vec![("A log device", nanos as f64, GIVEN)],
        None if seen.has_devices => Vec::new(),
        None => {
            vec![("A consumer SSD as log device", SSD, OF_SSD), ("A battery-backed RAM log", RAM, OF_RAM)]
        }
    };
    for (what, latency, names) in candidates {
        let then = seen.with(latency, stage);
        text.push_str(&sentence(what, latency, &then, seen));
        let said = [then.rate, then.wait, then.then.factor, then.then.rest];
        figures.extend(names.into_iter().zip(said));
        if question.log_latency.is_some() {
            figures.extend(then.rehearsed.figures());
        }
    }
    Finding::new("log", text, figures)
}

/// Names of rate, wait, factor, and of what is not the device's between two waits of a caller.
const GIVEN: [&str; 4] = [
    "predicted_commits_per_second",
    "predicted_commit_wait_nanos",
    "predicted_commit_factor",
    "predicted_rest_nanos",
];
const OF_SSD: [&str; 4] =
    ["ssd_commits_per_second", "ssd_commit_wait_nanos", "ssd_commit_factor", "ssd_rest_nanos"];
const OF_RAM: [&str; 4] =
    ["ram_commits_per_second", "ram_commit_wait_nanos", "ram_commit_factor", "ram_rest_nanos"];

fn share_of(part: f64, seen: &LogSeen) -> f64 {
    (part / (seen.main.nanos + seen.devices.nanos).max(1.0)).min(1.0)
}

fn sentence(what: &str, latency: f64, then: &Prediction, seen: &LogSeen) -> String {
    let factor = then.rate / seen.rate().max(1e-9);
    if factor < 1.1 {
        return format!(" {what} ({} a block) would change next to nothing.", time(latency));
    }
    format!(
        " {what} ({} a block) would make that {} each and {} a second, {} as many{}.",
        time(latency),
        time(then.wait),
        count(then.rate),
        times(factor),
        limit(&then.then),
    )
}
