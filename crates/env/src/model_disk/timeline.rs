//! When a modelled device is done with what it is asked.
//!
//! A write is acknowledged by the cache; the arm takes it to the medium as soon as it is free,
//! going through the cached runs in one direction and around. A run that was in the cache before
//! the arm had finished with the one in front of it costs only the way between them; everything
//! else costs a positioning, also the very next place once the arm has stood still, because the
//! platter has turned meanwhile. A flush is done when everything that was cached before it is on
//! the medium. Reads go before cached writes that have not been started.
//!
//! Nothing happens between calls: each call first settles what the arm has begun since the last
//! one.

use std::collections::BTreeMap;

use super::{DeviceModel, ModelCounts};
use crate::clock::Nanos;

/// Neighbouring bytes in the cache, by where they begin.
#[derive(Clone, Copy)]
struct Run {
    end: u64,
    /// When the first of them came.
    since: Nanos,
}

pub(super) struct Timeline {
    model: DeviceModel,
    /// When each lane is free.
    lanes: Vec<Nanos>,
    link_free: Nanos,
    /// When and where the arm will be at the end of everything it has begun.
    arm_free: Nanos,
    arm_at: u64,
    /// The device's memory holds what was read from here up to the arm.
    buffer_from: Option<u64>,
    cached: BTreeMap<u64, Run>,
    cached_bytes: u64,
    /// Something was written since the last flush.
    unflushed: bool,
    counts: ModelCounts,
}

/// The time that `bytes` take at `rate` bytes a second.
fn transfer(bytes: u64, rate: u64) -> Nanos {
    Nanos((u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as u64)
}

impl Timeline {
    pub fn new(model: DeviceModel) -> Timeline {
        Timeline {
            model,
            lanes: vec![Nanos(0); model.lanes.max(1)],
            link_free: Nanos(0),
            arm_free: Nanos(0),
            arm_at: 0,
            buffer_from: None,
            cached: BTreeMap::new(),
            cached_bytes: 0,
            unflushed: false,
            counts: ModelCounts::default(),
        }
    }

    pub fn counts(&self) -> ModelCounts {
        self.counts
    }

    /// When a read that comes now is done.
    pub fn read(&mut self, now: Nanos, offset: u64, len: u64) -> Nanos {
        self.settle(now);
        self.counts.reads += 1;
        let lane = self.free_lane();
        let begin = self.lanes[lane].max(now) + self.model.read_latency;
        let done = if self.is_in_memory(offset, offset + len) {
            begin.max(self.link_free) + transfer(len, self.model.link_rate)
        } else {
            self.read_medium(begin, offset, len)
        };
        self.lanes[lane] = done;
        done
    }

    fn read_medium(&mut self, begin: Nanos, offset: u64, len: u64) -> Nanos {
        let begin = begin.max(self.arm_free);
        let ahead = offset.checked_sub(self.arm_at).map(|gap| transfer(gap, self.model.media_rate));
        let goes_on = self.buffer_from.is_some() && ahead.is_some_and(|way| way <= self.model.positioning);
        let way = if goes_on { ahead.unwrap_or_default() } else { self.position() };
        let from = self.buffer_from.filter(|_| goes_on).unwrap_or(offset);
        self.move_arm(begin, way, offset + len, len);
        self.buffer_from = Some(from.max((offset + len).saturating_sub(self.model.read_buffer)));
        self.arm_free
    }

    /// When a write that comes now is acknowledged.
    pub fn write(&mut self, now: Nanos, offset: u64, len: u64) -> Nanos {
        self.settle(now);
        self.counts.writes += 1;
        let lane = self.free_lane();
        let begin = self.lanes[lane].max(now);
        let room = if self.model.keeps_cache { begin } else { self.make_room(offset, len) };
        let ready = (begin + self.model.write_latency).max(room).max(self.link_free);
        let done = ready + transfer(len, self.model.link_rate);
        self.link_free = done;
        self.lanes[lane] = done;
        if self.model.keeps_cache {
            self.counts.busy += transfer(len, self.model.link_rate);
        } else {
            self.cache(begin, offset, offset + len);
            self.unflushed = true;
        }
        done
    }

    /// When a flush that comes now is done.
    pub fn flush(&mut self, now: Nanos) -> Nanos {
        self.counts.flushes += 1;
        if self.model.keeps_cache {
            return now;
        }
        self.settle(now);
        while self.write_back_next() {}
        if self.unflushed {
            self.unflushed = false;
            self.arm_free = self.arm_free.max(now) + self.model.flush_latency;
            self.counts.busy += self.model.flush_latency;
        }
        self.arm_free.max(now)
    }

    fn free_lane(&self) -> usize {
        (0..self.lanes.len()).min_by_key(|&lane| self.lanes[lane]).unwrap_or(0)
    }

    fn is_in_memory(&self, start: u64, end: u64) -> bool {
        let run = self.cached.range(..=start).next_back();
        run.is_some_and(|(_, run)| end <= run.end)
            || self.buffer_from.is_some_and(|from| from <= start && end <= self.arm_at)
    }

    /// The arm begins whatever it could begin before `now`.
    fn settle(&mut self, now: Nanos) {
        while self.next_run().is_some_and(|(_, run)| run.since.max(self.arm_free) < now) {
            self.write_back_next();
        }
    }

    /// The next run ahead of the arm, or the first of all.
    fn next_run(&self) -> Option<(u64, Run)> {
        let ahead = self.cached.range(self.arm_at..).next().or_else(|| self.cached.first_key_value());
        ahead.map(|(&start, &run)| (start, run))
    }

    /// The arm takes the next run to the medium. False if nothing is cached.
    fn write_back_next(&mut self) -> bool {
        let Some((start, run)) = self.next_run() else { return false };
        self.cached.remove(&start);
        self.cached_bytes -= run.end - start;
        let straight_on = run.since < self.arm_free && start >= self.arm_at && self.buffer_from.is_none();
        let way = if straight_on {
            let way = transfer(start - self.arm_at, self.model.media_rate);
            if way < self.model.positioning { way } else { self.position() }
        } else {
            self.position()
        };
        self.move_arm(run.since.max(self.arm_free), way, run.end, run.end - start);
        self.buffer_from = None;
        true
    }

    fn position(&mut self) -> Nanos {
        self.counts.positionings += 1;
        self.model.positioning
    }

    fn move_arm(&mut self, begin: Nanos, way: Nanos, to: u64, len: u64) {
        let span = way + transfer(len, self.model.media_rate);
        self.arm_free = begin + span;
        self.arm_at = to;
        self.counts.busy += span;
    }

    /// When the cache can take these bytes.
    fn make_room(&mut self, offset: u64, len: u64) -> Nanos {
        let mut room = Nanos(0);
        while !self.cached.is_empty() {
            let joins = self.cached.range(..=offset).next_back().is_some_and(|(_, run)| run.end >= offset);
            let has_run = joins || self.cached.len() < self.model.cache_runs;
            if has_run && self.cached_bytes.saturating_add(len) <= self.model.cache_bytes {
                break;
            }
            self.write_back_next();
            room = self.arm_free;
        }
        room
    }

    /// Puts bytes into the cache, joined with all that they touch.
    fn cache(&mut self, since: Nanos, start: u64, end: u64) {
        let mut joined = Run { end, since };
        let mut from = start;
        while let Some((&other, &run)) = self.cached.range(..=joined.end).next_back() {
            if run.end < from {
                break;
            }
            self.cached.remove(&other);
            self.cached_bytes -= run.end - other;
            from = from.min(other);
            joined = Run { end: joined.end.max(run.end), since: joined.since.min(run.since) };
        }
        self.cached_bytes += joined.end - from;
        self.cached.insert(from, joined);
    }
}
