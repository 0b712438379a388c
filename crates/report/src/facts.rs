//! What a report is made of.

use api_types::{Alert, Health, ScanStatus, ServiceKind, ServiceState};

/// What was seen of a week. Times are in seconds since 1970.
#[derive(Clone, Debug)]
pub struct Facts {
    pub host: String,
    pub from: i64,
    pub to: i64,
    /// Percent of a pool's space in use that is a warning.
    pub full_warning: u8,
    /// Imported pools, by name.
    pub pools: Vec<PoolFacts>,
    /// `None`: what they did is not known; likewise below.
    pub services: Option<Vec<ServiceFacts>>,
    pub alerts: Option<Alerts>,
    /// Checks that cannot look, and why.
    pub blind: Vec<(String, String)>,
    /// Whether it is looked at all how old the newest snapshots are.
    pub knows_freshness: bool,
    /// `None`: there is no history.
    pub traffic: Option<Traffic>,
    pub busiest: Option<Busiest>,
}

/// Values at even distances: the first at `first`, then each `step` seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    pub first: i64,
    pub step: i64,
    /// `None` where nothing was noted.
    pub values: Vec<Option<f64>>,
}

#[derive(Clone, Debug)]
pub struct PoolFacts {
    pub name: String,
    pub health: Health,
    /// Bytes.
    pub size: u64,
    pub allocated: u64,
    /// Files or objects that are damaged for good.
    pub data_errors: u64,
    /// The last scrub or resilver.
    pub scan: Option<ScanStatus>,
    /// Bytes in use, of the last weeks.
    pub capacity: Series,
}

/// What a service did within the week.
#[derive(Clone, Debug)]
pub struct ServiceFacts {
    pub id: String,
    pub kind: ServiceKind,
    pub state: ServiceState,
    pub runs: u64,
    /// Runs of which a part failed.
    pub failed: u64,
    /// Snapshots made, pools begun, programs run.
    pub done: u64,
    /// Snapshots destroyed.
    pub destroyed: u64,
    /// Why it is not well.
    pub trouble: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Alerts {
    pub open: Vec<Alert>,
    /// That are over since the week began, the newest first.
    pub over: Vec<Alert>,
    /// How many were raised within the week.
    pub raised: u64,
    /// There were more than are listed.
    pub is_more: bool,
}

/// Means of each step: bytes by the second, and seconds that a request took.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    pub read: Series,
    pub write: Series,
    pub read_time: Series,
    pub write_time: Series,
}

/// Who and what was busiest, the busiest first.
#[derive(Clone, Debug, Default)]
pub struct Busiest {
    /// Since when it was counted.
    pub since: i64,
    pub clients: Vec<Busy>,
    pub datasets: Vec<Busy>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    pub name: String,
    pub requests: u64,
    pub read_bytes: u64,
    pub write_bytes: u64,
}

impl Series {
    /// Those that were noted, with their times.
    pub fn known(&self) -> impl Iterator<Item = (i64, f64)> + '_ {
        let times = (0..).map(|nth| self.first + nth * self.step);
        times.zip(&self.values).filter_map(|(at, value)| Some((at, (*value)?)))
    }

    pub fn highest(&self) -> Option<f64> {
        self.known().map(|(_, value)| value).max_by(f64::total_cmp)
    }

    pub fn mean(&self) -> Option<f64> {
        let (sum, count) =
            self.known().fold((0.0, 0_u32), |(sum, count), (_, value)| (sum + value, count + 1));
        (count > 0).then(|| sum / f64::from(count))
    }

    /// So many means, of equal parts of the time `from .. to`; `None` for a part of which nothing
    /// is known.
    pub fn parts(&self, (from, to): (i64, i64), count: usize) -> Vec<Option<f64>> {
        let mut parts = vec![(0.0, 0_u32); count];
        for (at, value) in self.known().filter(|(at, _)| (from..to).contains(at)) {
            let part = (at - from) as f64 / (to - from) as f64 * count as f64;
            let (sum, known) = &mut parts[(part as usize).min(count - 1)];
            *sum += value;
            *known += 1;
        }
        parts.into_iter().map(|(sum, known)| (known > 0).then(|| sum / f64::from(known))).collect()
    }
}
