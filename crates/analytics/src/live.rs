//! A request that is under way, and the time that each of its stages takes.
//!
//! It is in one stage at a time, and each look at the clock ends one and begins the next; what the
//! trail has of a stage's time is taken from it. So the stages are the whole time, exactly. It is
//! over when it is dropped: when its answer has gone to the system, or when there is none.
//!
//! Where nobody wants its stages, the clock is looked at when it begins, when it ends, and where it
//! waits for stable storage, and no more.

use std::sync::Arc;
use std::time::Instant;

use stdx::trail;

use crate::seen::{Seen, Stage};

/// Who is told of requests that are over.
pub trait Ends: Send + Sync {
    fn ended(&self, seen: &Seen, now: Instant);
}

/// See the module.
pub struct Live {
    observer: Arc<dyn Ends>,
    seen: Seen,
    stage: Stage,
    since: Instant,
}

impl Live {
    pub(crate) fn begin(observer: Arc<dyn Ends>, seen: Seen, since: Instant) -> Box<Live> {
        Box::new(Live { observer, seen, stage: Stage::Queue, since })
    }

    fn enter(&mut self, stage: Stage) {
        let now = Instant::now();
        let took = now.saturating_duration_since(self.since).as_nanos() as u64;
        self.seen.stages[self.stage as usize] += took;
        (self.stage, self.since) = (stage, now);
    }

    fn follow<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let trail = std::mem::take(&mut self.seen.trail);
        let (done, trail) = trail::followed(Box::new(trail), work);
        self.seen.trail = *trail;
        done
    }

    fn work<T>(&mut self, during: Stage, then: Stage, work: impl FnOnce() -> T) -> T {
        if !self.seen.trail.is_staged && during != Stage::Log {
            return self.follow(work);
        }
        self.enter(during);
        let before = self.seen.trail.spans;
        let done = self.follow(work);
        self.enter(then);
        // What was spent below this stage is no part of it.
        let spans = [trail::Span::Engine, trail::Span::Disk, trail::Span::Log, trail::Span::Group];
        for span in spans {
            let spent = self.seen.trail.spans[span as usize].saturating_sub(before[span as usize]);
            let spent = spent.min(self.seen.stages[during as usize]);
            self.seen.stages[during as usize] -= spent;
            self.seen.stages[Stage::of(span) as usize] += spent;
        }
        done
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.enter(Stage::Reply);
        self.observer.ended(&self.seen, self.since);
    }
}

/// Works on a request, which is looked at where there is a record of it; what then follows is that
/// its answer goes.
pub fn working<T>(live: &mut Option<Box<Live>>, work: impl FnOnce() -> T) -> T {
    match live {
        Some(live) => live.work(Stage::Protocol, Stage::Reply, work),
        None => work(),
    }
}

impl Live {
    /// It waits for stable storage before its answer may go.
    pub fn waits_for_log(live: &mut Option<Box<Live>>) {
        if let Some(live) = live {
            live.enter(Stage::Log);
        }
    }

    /// Has what was promised kept: all of that is waiting for stable storage.
    pub fn keeping<T>(live: &mut Option<Box<Live>>, work: impl FnOnce() -> T) -> T {
        match live {
            Some(live) => live.work(Stage::Log, Stage::Reply, work),
            None => work(),
        }
    }
}
