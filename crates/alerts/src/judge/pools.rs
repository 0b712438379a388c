//! Pools and their disks: health, errors, space.
//!
//! One trouble is one alert: a pool that is degraded by a disk is told by the disk, and disks of a
//! pool that serves nothing by the pool.

use api_types::{
    AlertKind, AlertSettings, ClearCause, Condition, Health, PoolDisk, PoolStatus, Severity, VdevStatus,
};

use crate::book::Finding;
use crate::kinds;

/// Percent below a limit at which an alert about space is let go.
const MARGIN: u64 = 2;

/// What is seen of all pools.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    pub imported: Vec<PoolStatus>,
    /// Names of pools that were imported when the program last ran, and could not be.
    pub absent: Vec<String>,
    /// Names of those whose import has not ended.
    pub to_come: Vec<String>,
}

impl Pools {
    pub fn findings(&self, settings: &AlertSettings) -> Vec<Finding> {
        let mut findings = Vec::new();
        for pool in &self.absent {
            findings.push(Finding::new(Severity::Critical, AlertKind::PoolAbsent { pool: pool.clone() }));
        }
        for pool in &self.imported {
            of_pool(pool, settings, &mut findings);
        }
        findings
    }

    /// Why something is over that is not found any more; `None`: that cannot be told yet.
    pub fn cause(&self, what: &AlertKind) -> Option<ClearCause> {
        let name = kinds::pool(what)?;
        if self.to_come.iter().any(|pool| pool == name) {
            return None;
        }
        let Some(pool) = self.imported.iter().find(|pool| pool.name == name) else {
            return Some(ClearCause::PoolGone);
        };
        Some(match what {
            AlertKind::PoolFull { .. } | AlertKind::PoolFragmented { .. } => ClearCause::WithinLimits,
            AlertKind::DiskUnhealthy { disk, .. } | AlertKind::DiskErrors { disk, .. } => {
                match (disks(pool).into_iter().any(|it| it.guid == disk.guid), what) {
                    (false, _) => ClearCause::LeftPool,
                    (true, AlertKind::DiskErrors { .. }) => ClearCause::CountersReset,
                    (true, _) => ClearCause::OnlineAgain,
                }
            }
            _ => ClearCause::NotFound,
        })
    }
}

fn of_pool(pool: &PoolStatus, settings: &AlertSettings, findings: &mut Vec<Finding>) {
    let name = || pool.name.clone();
    let serves = matches!(pool.health, Health::Online | Health::Degraded);
    let suspended = match &pool.condition {
        Some(Condition::Suspended { cause, .. }) => Some(*cause),
        _ => None,
    };
    if suspended.is_some() || pool.health == Health::Suspended {
        let what = AlertKind::PoolSuspended { pool: name(), cause: suspended };
        findings.push(Finding::new(Severity::Critical, what));
    } else if !serves {
        let what = AlertKind::PoolUnhealthy { pool: name(), health: pool.health };
        findings.push(Finding::new(Severity::Critical, what));
    }
    let is_told = suspended.is_some() || !serves;
    let mut is_explained = false;
    for top in pool.root.children.iter().chain(&pool.cache) {
        for disk in leaves(top) {
            is_explained |= disk.health != Health::Online;
            of_disk(pool, top, disk, is_told, findings);
        }
    }
    if !is_told && pool.health == Health::Degraded && !is_explained {
        let what = AlertKind::PoolUnhealthy { pool: name(), health: pool.health };
        findings.push(Finding::new(Severity::Error, what));
    }
    if pool.data_errors > 0 {
        let what = AlertKind::DataErrors { pool: name(), errors: pool.data_errors };
        findings.push(Finding::new(Severity::Critical, what));
    }
    of_space(pool, settings, findings);
}

fn of_disk(
    pool: &PoolStatus,
    top: &VdevStatus,
    disk: &VdevStatus,
    is_told: bool,
    findings: &mut Vec<Finding>,
) {
    let named = || PoolDisk {
        pool: pool.name.clone(),
        guid: disk.guid,
        name: disk.path.clone().unwrap_or_else(|| disk.name.clone()),
    };
    let is_online = disk.health == Health::Online;
    if !is_online {
        let severity = match disk.health {
            Health::Offline if redundancy(top) > 0 => Severity::Warning,
            _ if redundancy(top) > 0 || pool.cache.iter().any(|it| it.guid == top.guid) => Severity::Error,
            _ => Severity::Critical,
        };
        let what = AlertKind::DiskUnhealthy { disk: named(), health: disk.health };
        findings.push(Finding { what, severity, is_firm: !is_told });
    }
    let (read, write, checksum) = (disk.read_errors, disk.write_errors, disk.checksum_errors);
    if read + write + checksum > 0 {
        let what = AlertKind::DiskErrors { disk: named(), read, write, checksum };
        // Why a disk is not online is told, and its errors are mostly that.
        findings.push(Finding { what, severity: Severity::Warning, is_firm: is_online && !is_told });
    }
}

fn of_space(pool: &PoolStatus, settings: &AlertSettings, findings: &mut Vec<Finding>) {
    let name = || pool.name.clone();
    let percent = match pool.root.size {
        0 => 0,
        size => (u128::from(pool.root.allocated) * 100 / u128::from(size)).min(100) as u64,
    };
    let what = AlertKind::PoolFull { pool: name(), percent: percent as u8 };
    let limits = [
        (settings.full_critical, Severity::Critical),
        (settings.full_error, Severity::Error),
        (settings.full_warning, Severity::Warning),
    ];
    match limits.iter().find(|(limit, _)| percent >= u64::from(*limit)) {
        Some((_, severity)) => findings.push(Finding::new(*severity, what)),
        None if percent + MARGIN >= u64::from(settings.full_warning) => {
            findings.push(Finding::lingering(Severity::Warning, what));
        }
        None => {}
    }
    if let Some(percent) = pool.root.fragmentation {
        let what = AlertKind::PoolFragmented { pool: name(), percent };
        let limit = u64::from(settings.fragmented);
        match u64::from(percent) {
            percent if percent >= limit => findings.push(Finding::new(Severity::Warning, what)),
            percent if percent + MARGIN >= limit => {
                findings.push(Finding::lingering(Severity::Warning, what));
            }
            _ => {}
        }
    }
}

/// The disks of a pool, its cache devices and hot spares included.
pub fn disks(pool: &PoolStatus) -> Vec<&VdevStatus> {
    let tops = pool.root.children.iter().chain(&pool.cache).chain(&pool.spares);
    tops.flat_map(leaves).collect()
}

/// The leaves of a vdev.
pub fn leaves(vdev: &VdevStatus) -> Vec<&VdevStatus> {
    match vdev.children.as_slice() {
        [] => vec![vdev],
        children => children.iter().flat_map(leaves).collect(),
    }
}

/// How many more disks a top-level vdev can lose.
fn redundancy(top: &VdevStatus) -> usize {
    let lacking = top.children.iter().filter(|child| !is_good(child)).count();
    let digits: String = top.name.chars().skip_while(|it| !it.is_ascii_digit()).take(1).collect();
    let spare = match top.kind.as_str() {
        kind if kind.starts_with("raidz") => digits.parse().unwrap_or(1),
        // A mirror, or a disk that is being replaced.
        _ => top.children.len().saturating_sub(1),
    };
    spare.saturating_sub(lacking)
}

/// Whether a vdev has all its data.
fn is_good(vdev: &VdevStatus) -> bool {
    match vdev.children.as_slice() {
        [] => vdev.health == Health::Online,
        children => children.iter().any(is_good),
    }
}

#[cfg(test)]
pub mod tests;
