//! What an operator sees of a pool as a whole: plain data, gathered when asked.

use api_types::Errata;
use env::lock;
use ondisk::indirect::RemovingPhys;
use storage::{VdevConfig, VdevKind, VdevStat, VdevState};

use super::diagnose::is_condemned;
use super::labels::FoundPool;
use super::place::Place;
use super::{Core, Pool};
use crate::sweep::SweepKind;

pub use super::report::{VdevReport, vdev_name};

/// The pool's health follows from its vdevs.
#[derive(Clone, Debug)]
pub struct PoolReport {
    pub state: VdevState,
    pub version: u64,
    pub suspended: bool,
    /// Why, where I/O waits for an operator.
    pub cause: Option<storage::Cause>,
    pub root: VdevReport,
    pub cache: Vec<VdevReport>,
    pub spares: Vec<VdevReport>,
    pub txg: u64,
    /// Datasets whose last synchronous writes may be lost, because their intent logs were missing
    /// at import.
    pub lost_logs: Vec<String>,
    /// The last removal of a top-level vdev, and bytes of the mappings that all of them left.
    pub removal: Option<(RemovingPhys, u64)>,
    /// Disks are being given what they lack.
    pub resilvering: bool,
    /// Known blocks that cannot be had.
    pub data_errors: u64,
    pub errata: Option<Errata>,
}

impl Pool {
    pub fn report(&self) -> PoolReport {
        let core = &self.core;
        let stat = core.storage.status();
        let tree = lock(&core.config).tree.clone();
        let space = core.storage.space();
        let children: Vec<VdevReport> = stat
            .children
            .iter()
            .enumerate()
            .map(|(index, child)| {
                let config = tree.children.get(index);
                let mut report = describe(child, config, index as u64);
                core.tell_leaves(&mut report);
                report.rebuild = self.rebuild_report(index as u32);
                if let Some(space) = core.storage.vdev_space(index as u32) {
                    report.allocated = space.allocated;
                    report.size = space.capacity;
                    report.fragmentation = core.storage.fragmentation(Some(index as u32));
                }
                if let Some(config) = config {
                    report.expandable = core.expandable(config);
                }
                report.checkpoint = core.checkpoint.space_of(index as u32);
                report
            })
            .filter(|report| !matches!(report.stat.kind, VdevKind::Hole | VdevKind::Indirect))
            .collect();
        let suspended = core.storage.is_suspended() || (core.txgs.is_stopped() && !core.readonly);
        let root = VdevReport {
            allocated: space.allocated,
            size: space.capacity,
            fragmentation: core.storage.fragmentation(None),
            expandable: children.iter().map(|top| top.expandable).sum(),
            checkpoint: children.iter().map(|top| top.checkpoint).sum(),
            children,
            ..VdevReport::of(self.name(), 0, stat.clone())
        };
        PoolReport {
            version: core.version(),
            state: health(&stat),
            suspended,
            cause: core.storage.suspension().cause(),
            root,
            cache: core.cache_reports(),
            spares: core.spare_reports(),
            txg: core.txgs.synced(),
            lost_logs: lock(&core.lost_logs).clone(),
            removal: core.removed.last().map(|last| (last, core.removed.mapping_bytes())),
            resilvering: self.is_resilvering(),
            data_errors: self.error_count(),
            errata: core.errata(),
        }
    }
}

/// Online, unless a vdev below is not (`vdev_propagate_state`).
fn health(root: &VdevStat) -> VdevState {
    let worst = root.children.iter().map(|child| child.state).min().unwrap_or(VdevState::Online);
    if worst == VdevState::Online { VdevState::Online } else { worst.max(VdevState::Degraded) }
}

fn describe(stat: &VdevStat, config: Option<&VdevConfig>, id: u64) -> VdevReport {
    let children = stat.children.iter().enumerate().map(|(index, child)| {
        describe(child, config.and_then(|config| config.children.get(index)), index as u64)
    });
    let is_leaf = stat.kind.is_leaf();
    let name = vdev_name(&stat.kind, stat.path.as_deref(), stat.guid, id);
    VdevReport {
        ashift: config.and_then(|config| config.ashift).unwrap_or(0) as u32,
        size: if is_leaf { 0 } else { stat.size },
        physical: if is_leaf { stat.size } else { 0 },
        is_condemned: config.is_some_and(is_condemned),
        children: children.collect(),
        ..VdevReport::of(name, id, stat.clone())
    }
}

/// The state of a pool that is not imported, from which of the devices of its tree were found.
pub fn found_state(found: &FoundPool, tree: &VdevConfig) -> VdevState {
    let tops = tree.children.iter().filter(|top| !top.is_log && top.kind != VdevKind::Hole);
    tops.map(|top| found_vdev_state(found, top)).min().unwrap_or(VdevState::Online)
}

/// Online if all its leaves were found, degraded if enough, else unavailable.
pub fn found_vdev_state(found: &FoundPool, vdev: &VdevConfig) -> VdevState {
    match &vdev.kind {
        kind if kind.is_leaf() => {
            let there = found.device(vdev.guid).is_some();
            if there { VdevState::Online } else { VdevState::Unavail }
        }
        kind if kind.has_sides() || matches!(kind, VdevKind::Raidz(_)) => {
            let states = vdev.children.iter().map(|child| found_vdev_state(found, child));
            let states: Vec<VdevState> = states.collect();
            let needed = match kind {
                VdevKind::Raidz(parity) => states.len().saturating_sub(*parity as usize),
                _ => 1,
            };
            if states.iter().all(|state| *state == VdevState::Online) {
                VdevState::Online
            } else if states.iter().filter(|state| **state >= VdevState::Degraded).count() >= needed {
                VdevState::Degraded
            } else {
                VdevState::Unavail
            }
        }
        VdevKind::Hole | VdevKind::Indirect => VdevState::Online,
        // How many disks it can lack is not known here.
        VdevKind::Other(_) if !vdev.children.is_empty() => {
            let states = vdev.children.iter().map(|child| found_vdev_state(found, child));
            states.min().filter(|worst| *worst == VdevState::Online).unwrap_or(VdevState::Unavail)
        }
        _ => VdevState::Unavail,
    }
}

impl Core {
    /// Fills in what the configuration does not tell of the disks at and below a vdev.
    fn tell_leaves(&self, report: &mut VdevReport) {
        if report.stat.kind.is_leaf() {
            report.is_condemned |= self.diagnosis.is_set_aside(report.stat.guid);
            report.trim = self.sweeps.of(report.stat.guid, SweepKind::Trim);
            report.initialize = self.sweeps.of(report.stat.guid, SweepKind::Initialize);
            report.can_trim = self.storage.can_trim(report.stat.guid);
        }
        report.children.iter_mut().for_each(|child| self.tell_leaves(child));
    }

    /// The path of a disk, or its guid where it has none.
    pub(crate) fn path_of(&self, leaf: u64) -> String {
        let place = Place::find(&lock(&self.config).tree, leaf);
        place.and_then(|place| place.vdev().path.clone()).unwrap_or_else(|| leaf.to_string())
    }

    /// The name of the host that the labels show.
    pub fn host(&self) -> super::config::Host {
        lock(&self.config).host.clone()
    }
}
