//! Datasets: how old the newest snapshot is, how many there are, and what volumes promise.
//!
//! The wall clock, and the stamps of snapshots, may be wrong. A snapshot that is stamped later than
//! now was taken now; one that is stamped more than a day later says nothing, for a clock was
//! wrong when it was taken: the newest of the others counts.

use api_types::{AlertKind, AlertSettings, ClearCause, Severity};
use services::freshness::{Facts, becomes_stale};
use stdx::span;

use crate::book::Finding;

/// The property that says how old the newest snapshot of a dataset may be; datasets below inherit
/// it.
pub const FRESHNESS: &str = "org.cistern:freshness";
/// Seconds by which a stamp may be later than now and be believed.
const AHEAD: i64 = 24 * 60 * 60;

/// What is seen of a file system or volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dataset {
    pub name: String,
    /// Of a volume: bytes that it may still grow by, beyond what is reserved for it.
    pub promised: u64,
    /// The property [`FRESHNESS`], where it is set.
    pub freshness: Option<String>,
    /// What a service allows, in seconds, and which: of a dataset that has changed.
    pub stale_after: Option<(u64, String)>,
    /// Nothing was written since the newest snapshot.
    pub unchanged: bool,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    pub snapshots: u64,
    /// When the newest snapshot was taken that was not taken later than now; [`Dataset::saw`].
    pub newest: Option<i64>,
}

impl Dataset {
    /// It has this snapshot.
    pub fn saw(&mut self, taken: i64, now: i64) {
        self.snapshots += 1;
        if taken <= now.saturating_add(AHEAD) {
            self.newest = self.newest.max(Some(taken.min(now)));
        }
    }
}

/// What is seen of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolDatasets {
    pub pool: String,
    /// Bytes.
    pub room: u64,
    pub datasets: Vec<Dataset>,
}

/// What is wrong, and what is no sense in a property.
pub fn findings(
    pools: &[PoolDatasets],
    settings: &AlertSettings,
    now: i64,
) -> (Vec<Finding>, Option<String>) {
    let (mut findings, mut nonsense) = (Vec::new(), None);
    for PoolDatasets { pool, room, datasets } in pools {
        let promised: u64 = datasets.iter().fold(0, |sum, it| sum.saturating_add(it.promised));
        let (scaled, limit) =
            (u128::from(promised) * 100, u128::from(*room) * u128::from(settings.over_commit));
        let what = AlertKind::OverCommitted { pool: pool.clone(), promised, room: *room };
        match () {
            () if scaled > limit => findings.push(Finding::new(Severity::Warning, what)),
            () if promised > 0 && scaled * 100 > limit * 95 => {
                findings.push(Finding::lingering(Severity::Warning, what));
            }
            () => {}
        }
        for dataset in datasets {
            of_snapshots(dataset, settings, &mut findings);
            if let Err(why) = of_freshness(dataset, now, &mut findings) {
                nonsense.get_or_insert(why);
            }
        }
    }
    (findings, nonsense)
}

fn of_snapshots(dataset: &Dataset, settings: &AlertSettings, findings: &mut Vec<Finding>) {
    let what = AlertKind::TooManySnapshots {
        dataset: dataset.name.clone(),
        snapshots: dataset.snapshots,
        limit: settings.snapshots,
    };
    match dataset.snapshots {
        count if count > settings.snapshots => findings.push(Finding::new(Severity::Warning, what)),
        count if count > settings.snapshots / 10 * 9 => {
            findings.push(Finding::lingering(Severity::Warning, what));
        }
        _ => {}
    }
}

/// By what its property allows, and a service; the stricter is told.
///
/// # Errors
/// What is wrong with the property, which then allows anything.
fn of_freshness(dataset: &Dataset, now: i64, findings: &mut Vec<Finding>) -> Result<(), String> {
    let read = dataset.freshness.as_deref().map_or(Ok(None), span);
    let by_property = read.ok().flatten().map(|limit| (limit, None, false));
    let by_service =
        dataset.stale_after.as_ref().map(|(limit, id)| (*limit, Some(id.clone()), dataset.unchanged));
    // Who has none had as much time as its age.
    let (newest, since) = (dataset.newest, dataset.created.min(now));
    let is_stale = |(limit, _, unchanged): &(u64, Option<String>, bool)| {
        becomes_stale(Facts { newest, since, unchanged: *unchanged }, *limit).is_some_and(|at| at <= now)
    };
    let stale = [by_property, by_service].into_iter().flatten().filter(is_stale);
    if let Some((limit, service, _)) = stale.min_by_key(|(limit, ..)| *limit) {
        let age = u64::try_from(now.saturating_sub(newest.unwrap_or(since))).unwrap_or(0);
        // Twice as old is no delay any more.
        let severity = if age / 2 > limit { Severity::Error } else { Severity::Warning };
        let what = AlertKind::Stale { dataset: dataset.name.clone(), newest, limit, service };
        findings.push(Finding::new(severity, what));
    }
    let wrong = || format!("{FRESHNESS} of {} is no span of time: write 1d, 12h or 30m", dataset.name);
    read.map(drop).map_err(|NoSpan| wrong())
}

/// Why something is over that is not found any more.
pub fn cause(pools: &[PoolDatasets], what: &AlertKind) -> ClearCause {
    let name = match what {
        AlertKind::Stale { dataset, .. } | AlertKind::TooManySnapshots { dataset, .. } => dataset,
        AlertKind::OverCommitted { pool, .. } => {
            return match pools.iter().any(|it| it.pool == *pool) {
                true => ClearCause::WithinLimits,
                false => ClearCause::PoolGone,
            };
        }
        _ => return ClearCause::NotFound,
    };
    let dataset = pools.iter().flat_map(|pool| &pool.datasets).find(|dataset| dataset.name == *name);
    match (dataset, what) {
        (None, _) => ClearCause::DatasetGone,
        (Some(dataset), AlertKind::Stale { .. }) => match dataset.freshness.as_deref().map(span) {
            Some(Ok(Some(_))) => ClearCause::WithinLimits,
            _ if dataset.stale_after.is_some() => ClearCause::WithinLimits,
            _ => ClearCause::DatasetGone,
        },
        _ => ClearCause::WithinLimits,
    }
}

/// A text that is no span of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSpan;

/// Seconds of `90s`, `30m`, `12h`, `1d` or `2w`; `None` for `off`. At least a second.
pub fn span(text: &str) -> Result<Option<u64>, NoSpan> {
    if ["", "-", "off", "none"].contains(&text) {
        return Ok(None);
    }
    span::parse(text, &span::UNITS).filter(|seconds| *seconds > 0).map(Some).ok_or(NoSpan)
}

#[cfg(test)]
mod tests;
