//! What a pool tells of itself and its devices as events ([`crate::zevent`]).
//!
//! What is done to a pool is told where it happens. That a disk is in another state is told by
//! comparing: code that changes a state need not tell it.
//!
//! Sources: module/zfs/zfs_fm.c, include/sys/fm/fs/zfs.h, include/sys/sysevent/eventdefs.h.

use std::collections::BTreeMap;

use env::{Nanos, lock};
use ondisk::trim::{STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE, STATE_SUSPENDED};
use storage::{Cause, DiskReport, FailMode, VdevStat, VdevState, What};

use super::Core;
use crate::sweep::{SweepChange, SweepKind};
use crate::zevent::Payload;

/// `errno` of a checksum error, as OpenZFS on Linux has it.
const ECKSUM: u64 = 52;
const EIO: u64 = 5;
const ENXIO: u64 = 6;

/// How disks are given what they lack: block by block, or by what is allocated.
#[derive(Clone, Copy)]
pub(crate) enum Resilver {
    Healing,
    Sequential,
}

impl Core {
    /// Something was done to the pool: `sysevent.fs.zfs.NAME`.
    pub(crate) fn sysevent(&self, name: &str) {
        self.post(&format!("sysevent.fs.zfs.{name}"), self.of_pool());
    }

    /// And to one of its devices.
    pub(crate) fn vdev_sysevent(&self, name: &str, guid: u64) {
        let mut payload = self.of_pool();
        payload.extend(self.of_vdev(guid));
        self.post(&format!("sysevent.fs.zfs.{name}"), payload);
    }

    /// A resilver began or ended.
    pub(crate) fn resilver_sysevent(&self, name: &str, kind: Resilver) {
        let mut payload = self.of_pool();
        let kind = match kind {
            Resilver::Healing => "healing",
            Resilver::Sequential => "sequential",
        };
        payload.push(("resilver_type", kind.into()));
        self.post(&format!("sysevent.fs.zfs.{name}"), payload);
    }

    /// The trimming of a disk goes on otherwise than before; of initializing nobody is told.
    pub(crate) fn sweep_sysevent(&self, change: &SweepChange) {
        let name = match change.now {
            _ if change.kind == SweepKind::Initialize => return,
            STATE_ACTIVE if change.before == STATE_SUSPENDED => "trim_resume",
            STATE_ACTIVE => "trim_start",
            STATE_SUSPENDED => "trim_suspend",
            STATE_CANCELED => "trim_cancel",
            STATE_COMPLETE => "trim_finish",
            _ => return,
        };
        self.vdev_sysevent(name, change.leaf);
    }

    /// A disk erred.
    pub(crate) fn disk_ereport(&self, report: &DiskReport) {
        let (class, error) = match report.what {
            What::Checksum => ("checksum", ECKSUM),
            What::Read(error) | What::Write(error) | What::Flush(error) => {
                ("io", if error == env::DiskError::Gone { ENXIO } else { EIO })
            }
        };
        let mut payload = self.of_ereport();
        payload.extend(self.of_vdev(report.guid));
        payload.push(("zio_err", error.into()));
        if report.size > 0 {
            payload.push(("zio_offset", report.offset.into()));
            payload.push(("zio_size", report.size.into()));
        }
        self.post(&format!("ereport.fs.zfs.{class}"), payload);
    }

    /// The pool was suspended.
    pub(crate) fn suspension_ereport(&self, cause: Cause) {
        let name = match cause {
            Cause::Io | Cause::Fault => "io_failure",
            Cause::Multihost => "mmp_write_failure",
        };
        let mut payload = self.of_ereport();
        if let Some(fault) = self.storage.suspension().fault_text() {
            payload.push(("cistern_fault", fault.as_str().into()));
        }
        self.post(&format!("ereport.fs.zfs.{name}"), payload);
    }

    /// Names who is stuck, once each: in the log and as `ereport.fs.zfs.deadman`.
    pub fn tell_stuck(&self, now: Nanos) {
        for stuck in self.storage.stuck(now) {
            let late = now.since(stuck.since);
            let (pool, seconds) = (lock(&self.name).clone(), late.0 / 1_000_000_000);
            tracing::error!(pool, who = stuck.what, vdev = stuck.vdev, seconds, "does not come to an end");
            let mut payload = self.of_ereport();
            payload.extend(stuck.vdev.map(|guid| self.of_vdev(guid)).unwrap_or_default());
            payload.push(("zio_delta", late.0.into()));
            payload.push(("cistern_who", stuck.what.as_str().into()));
            self.post("ereport.fs.zfs.deadman", payload);
        }
    }

    /// Tells of disks that are in another state than when this was called last. Whatever may have
    /// changed one calls it.
    pub(crate) fn tell_states(&self) {
        let now: BTreeMap<u64, VdevState> = self.storage.leaf_states().into_iter().collect();
        let before = std::mem::replace(&mut *lock(&self.told_states), now.clone());
        for (guid, state) in now {
            let Some(last) = before.get(&guid).filter(|last| **last != state) else { continue };
            let mut payload = self.of_pool();
            payload.extend(self.of_vdev(guid));
            payload.push(("vdev_laststate", number_of(*last).into()));
            self.post("resource.fs.zfs.statechange", payload);
        }
    }

    pub(crate) fn post(&self, class: &str, payload: Payload) {
        self.events.post(&self.env, class, payload);
    }

    fn of_pool(&self) -> Payload {
        let name = lock(&self.name).clone();
        let (guid, active, at_work) = (self.storage.pool_guid(), 0u64, 0u64);
        vec![
            ("pool", name.as_str().into()),
            ("pool_guid", guid.into()),
            ("pool_state", active.into()),
            ("pool_context", at_work.into()),
        ]
    }

    fn of_ereport(&self) -> Payload {
        let failmode = match self.storage.suspension().mode() {
            FailMode::Wait => "wait",
            FailMode::Continue => "continue",
            FailMode::Panic => "panic",
        };
        let mut payload = self.of_pool();
        payload.push(("pool_failmode", failmode.into()));
        payload
    }

    fn of_vdev(&self, guid: u64) -> Payload {
        let Some((stat, parent)) = find(&self.storage.status(), guid) else {
            return vec![("vdev_guid", guid.into())];
        };
        let mut payload = vec![("vdev_guid", guid.into()), ("vdev_type", stat.kind.name().into())];
        if let Some(path) = &stat.path {
            payload.push(("vdev_path", path.as_str().into()));
        }
        payload.extend([
            ("vdev_state", number_of(stat.state).into()),
            ("vdev_read_errors", stat.read_errors.into()),
            ("vdev_write_errors", stat.write_errors.into()),
            ("vdev_cksum_errors", stat.checksum_errors.into()),
            ("parent_guid", parent.0.into()),
            ("parent_type", parent.1.as_str().into()),
        ]);
        payload
    }
}

/// A vdev below this one, and its parent's guid and type.
fn find(vdev: &VdevStat, guid: u64) -> Option<(VdevStat, (u64, String))> {
    let here = vdev.children.iter().find(|child| child.guid == guid);
    let here = here.map(|child| (child.clone(), (vdev.guid, vdev.kind.name().to_owned())));
    here.or_else(|| vdev.children.iter().find_map(|child| find(child, guid)))
}

/// `vdev_state_t`
fn number_of(state: VdevState) -> u64 {
    match state {
        VdevState::Offline => 2,
        VdevState::Removed => 3,
        VdevState::Unavail => 4,
        VdevState::Faulted => 5,
        VdevState::Degraded => 6,
        VdevState::Online => 7,
    }
}
