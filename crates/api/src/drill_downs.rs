//! The drill-downs that run or are kept.
//!
//! Invariants: there are [`MOST`] at a time at the most, each with a bound of memory
//! ([`analytics::DrillDown`]). One that has ended is kept until somebody removes it, or a new one
//! needs its place. One that a worksheet needs is ended and removed by nobody while it does.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use analytics::{DrillDown, Filter, Observer};
use api_types::{
    DRILL_DOWN_SECONDS, DRILL_DOWN_SECONDS_MAX, DrillDown as Told, DrillDownCost, DrillDownRequest, kind,
};
use sockets::lock;

use crate::problem::{Refusal, refuse};

/// Drill-downs that run or are kept.
const MOST: usize = 16;

/// See the module.
#[derive(Default)]
pub struct DrillDowns(Mutex<State>);

#[derive(Default)]
struct State {
    last: u64,
    /// Oldest first.
    kept: Vec<Kept>,
}

#[derive(Clone)]
pub struct Kept {
    id: u64,
    pub request: DrillDownRequest,
    owner: String,
    began: u64,
    /// Until then a worksheet needs it, for which that is said again before.
    watched: Option<Instant>,
    pub drill_down: Arc<DrillDown>,
}

impl Kept {
    fn is_watched(&self, now: Instant) -> bool {
        self.watched.is_some_and(|until| now < until)
    }

    /// Refused while a worksheet needs it.
    fn may_end(&self) -> Result<(), Refusal> {
        match self.is_watched(Instant::now()) {
            true => Err(refuse(
                kind::BUSY,
                "a worksheet keeps what this drill-down finds, or has an alert for it: change that first",
            )),
            false => Ok(()),
        }
    }

    pub fn told(&self) -> Told {
        let now = Instant::now();
        let running = !self.drill_down.is_over(now);
        let left = self.drill_down.end().saturating_duration_since(now).as_secs_f64().ceil() as u64;
        let cost = self.drill_down.cost();
        Told {
            id: self.id,
            by: self.request.by.clone(),
            filter: self.request.filter.clone(),
            owner: self.owner.clone(),
            running,
            began: self.began,
            left: if running { left } else { 0 },
            watched: running && self.is_watched(now),
            cost: DrillDownCost { requests: cost.requests, time: cost.time, bytes: cost.bytes as u64 },
        }
    }
}

impl DrillDowns {
    /// Begins one, where there is room.
    pub fn begin(
        &self,
        observer: &Observer,
        request: DrillDownRequest,
        filter: Filter,
        owner: String,
    ) -> Result<Told, Refusal> {
        let seconds = seconds(&request);
        let now = Instant::now();
        let mut state = lock(&self.0);
        if state.kept.len() >= MOST {
            let Some(oldest) = state.kept.iter().position(|kept| kept.drill_down.is_over(now)) else {
                let text = format!("{MOST} drill-downs are running already: end one of them first");
                return Err(refuse(kind::BUSY, text));
            };
            state.kept.remove(oldest);
        }
        let drill_down = Arc::new(DrillDown::new(&request.by, filter, now + Duration::from_secs(seconds)));
        observer.show(&*drill_down);
        state.last += 1;
        let kept = Kept { id: state.last, request, owner, began: wall(), watched: None, drill_down };
        let told = kept.told();
        tracing::info!(id = told.id, owner = told.owner, by = ?told.by, seconds, "a drill-down begins");
        state.kept.push(kept);
        Ok(told)
    }

    /// One that runs and asks for the same, which goes on as if it began now; and whether that is
    /// for a worksheet that always needs it.
    pub fn extended(&self, request: &DrillDownRequest, is_watched: bool) -> Option<Told> {
        let now = Instant::now();
        let mut state = lock(&self.0);
        let is_same = |kept: &Kept| kept.request.by == request.by && kept.request.filter == request.filter;
        let runs = |kept: &&mut Kept| is_same(kept) && !kept.drill_down.is_over(now);
        let kept = state.kept.iter_mut().find(runs)?;
        let end = now + Duration::from_secs(seconds(request));
        kept.drill_down.extend(end);
        if is_watched {
            kept.watched = Some(end);
        }
        Some(kept.told())
    }

    pub fn list(&self) -> Vec<Told> {
        lock(&self.0).kept.iter().map(Kept::told).collect()
    }

    pub fn one(&self, id: u64) -> Result<Kept, Refusal> {
        let found = lock(&self.0).kept.iter().find(|kept| kept.id == id).cloned();
        found.ok_or_else(missing)
    }

    /// It takes nothing more; what it has found stays.
    pub fn end(&self, id: u64) -> Result<Told, Refusal> {
        let kept = self.one(id)?;
        kept.may_end()?;
        kept.drill_down.stop();
        Ok(kept.told())
    }

    pub fn remove(&self, id: u64) -> Result<(), Refusal> {
        let mut state = lock(&self.0);
        let at = state.kept.iter().position(|kept| kept.id == id).ok_or_else(missing)?;
        state.kept[at].may_end()?;
        state.kept.remove(at);
        Ok(())
    }
}

/// Seconds since 1970. A clock that is before is as good as one that is wrong otherwise.
pub fn wall() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

fn seconds(request: &DrillDownRequest) -> u64 {
    request.seconds.unwrap_or(DRILL_DOWN_SECONDS).clamp(1, DRILL_DOWN_SECONDS_MAX)
}

fn missing() -> Refusal {
    refuse(kind::NOT_FOUND, "there is no such drill-down: it was removed, or the daemon has started since")
}
