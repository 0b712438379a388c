//! Events: what happened to pools and their devices, for `zpool events` and whoever else watches.
//!
//! One ring for all pools of an engine, in memory. Each event has a number that only grows, so a
//! reader that was slow sees what it has missed. Classes and the names of what they hold are
//! OpenZFS's: `sysevent.fs.zfs.…` for what was done, `ereport.fs.zfs.…` for what went wrong,
//! `resource.fs.zfs.statechange` for what became of a device.
//!
//! Sources: module/zfs/zfs_fm.c, fm.c (`zfs_zevent_…`, the ring), include/sys/fm/fs/zfs.h,
//! include/sys/sysevent/eventdefs.h.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex};

use env::{Env, Nanos, WallTime, lock};
use ondisk::trim::{STATE_ACTIVE, STATE_CANCELED, STATE_COMPLETE, STATE_SUSPENDED};
use storage::{Cause, DiskReport, FailMode, VdevStat, VdevState, What};

use crate::spa::Core;
use crate::sweep::{SweepChange, SweepKind};

/// Events kept (`zfs_zevent_len_max` is 512); older ones go.
const KEPT: usize = 4096;
/// `errno` of a checksum error, as OpenZFS on Linux has it.
const ECKSUM: u64 = 52;
const EIO: u64 = 5;
const ENXIO: u64 = 6;

/// A value of an event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    Number(u64),
    Text(String),
}

impl From<u64> for Value {
    fn from(number: u64) -> Value {
        Value::Number(number)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

/// What an event holds, by name.
pub type Payload = Vec<(&'static str, Value)>;

/// One event.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Zevent {
    /// Its number, from 1.
    pub eid: u64,
    pub time: WallTime,
    pub class: String,
    pub payload: Payload,
}

/// The ring.
#[derive(Default)]
pub struct Zevents {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    last: u64,
    kept: VecDeque<Zevent>,
}

impl Zevents {
    pub fn post(&self, env: &Env, class: &str, payload: Payload) {
        let mut state = lock(&self.state);
        state.last += 1;
        let (eid, time) = (state.last, env.clock.wall());
        state.kept.push_back(Zevent { eid, time, class: class.to_owned(), payload });
        if state.kept.len() > KEPT {
            state.kept.pop_front();
        }
        drop(state);
        self.changed.notify_all();
    }

    /// Events after number `eid`, oldest first; waits up to `patience` for the first.
    pub fn after(&self, env: &Env, eid: u64, patience: Nanos) -> Vec<Zevent> {
        let state = lock(&self.state);
        let deadline = env.clock.now() + patience;
        let mut some = |state: &mut State| state.kept.back().is_some_and(|event| event.eid > eid);
        let (state, _) = env.wait_until(&self.state, state, &self.changed, deadline, &mut some);
        state.kept.iter().filter(|event| event.eid > eid).cloned().collect()
    }

    /// Forgets them all; says how many there were.
    pub fn clear(&self) -> u64 {
        std::mem::take(&mut lock(&self.state).kept).len() as u64
    }
}

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

#[cfg(test)]
mod tests;
