//! Making a transaction group durable: the order of writes and flushes that lets a crash see all of
//! it or nothing.
//!
//! ```text
//!   (flush) ─▶ labels 0, 2 ─▶ flush ─▶ uberblocks ─▶ flush ─▶ labels 1, 3 ─▶ flush
//! ```
//! The first flush is the caller's ([`crate::Storage::flush_all`]), who may have to note which
//! device failed in it. The labels are written only when the configuration changed. Whenever power
//! goes, two whole labels of every device say the same, and an uberblock never leads to blocks that
//! are not there. A device that refuses is left out and reported; the group is durable as long as
//! every top-level vdev, logs excepted, has one device that took everything. Logs get their
//! uberblocks last: had a log the only one of a group, to lose the log would be to lose the group,
//! and the one before it may have been overwritten by then. A device that is behind gets labels, so
//! that the next import finds it, but no uberblock: it could not follow it.
//!
//! When the power goes after the uberblocks, labels 0 and 2 alone may say what the group did: of a
//! new device's labels the others are blank, and a device or the pool may have another guid there.
//! The next group begins with 0 and 2. So whoever imports the pool finishes the last group first
//! ([`finish`]). Source: module/zfs/vdev_label.c (`vdev_config_sync`).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

use env::{DiskError, Env, lock};
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

use super::Device;
use crate::WriteError;

/// A device that takes part.
#[derive(Clone)]
pub struct Target {
    pub guid: u64,
    /// Its top-level vdev.
    pub top: u32,
    /// Of that vdev.
    pub ashift: u32,
    /// Nothing depends on it: its top-level vdev holds intent logs.
    pub is_log: bool,
    /// It lacks what others of its top-level vdev have.
    pub is_behind: bool,
    pub device: Device,
}

/// Gives the label of a leaf: (top-level vdev, leaf guid).
pub type LabelOf<'a> = &'a (dyn Fn(u32, u64) -> NvList + Sync);

/// See the module. Answers with the guids of devices that failed on the way.
pub fn commit(
    env: &Env,
    targets: &[Target],
    uberblock: &Uberblock,
    label: Option<LabelOf<'_>>,
) -> Result<BTreeSet<u64>, WriteError> {
    let run = Run { env, targets, failed: Mutex::default() };
    let labels = |even: bool| {
        label.map_or(Ok(()), |label| run.labels(&|target| Some(label(target.top, target.guid)), even))
    };
    labels(true)?;
    run.uberblocks(uberblock)?;
    labels(false)?;
    Ok(run.failed.into_inner().expect("a panic has been passed on"))
}

/// Does the rest of the commit that brought this uberblock, where a crash has cut it short: first
/// all devices get the uberblock, then labels 1 and 3 say what 0 and 2 say.
pub fn finish(env: &Env, targets: &[Target], uberblock: &Uberblock) -> Result<BTreeSet<u64>, WriteError> {
    let missing = |target: &Target| Some((target.guid, target.device.missing_label(uberblock.txg)?));
    let missing: BTreeMap<u64, NvList> = targets.iter().filter_map(missing).collect();
    let run = Run { env, targets, failed: Mutex::default() };
    if !missing.is_empty() {
        run.uberblocks(uberblock)?;
        run.labels(&|target| missing.get(&target.guid).cloned(), false)?;
    }
    Ok(run.failed.into_inner().expect("a panic has been passed on"))
}

struct Run<'a> {
    env: &'a Env,
    targets: &'a [Target],
    failed: Mutex<BTreeSet<u64>>,
}

impl Run<'_> {
    /// Writes the even labels or the odd ones of the devices that are to get any.
    fn labels(
        &self,
        label: &(dyn Fn(&Target) -> Option<NvList> + Sync),
        even: bool,
    ) -> Result<(), WriteError> {
        self.step(&|target| {
            let Some(label) = label(target) else { return Ok(()) };
            target.device.write_config(&label, even)?;
            target.device.disk.flush()
        })
    }

    fn uberblocks(&self, uberblock: &Uberblock) -> Result<(), WriteError> {
        let write = |target: &Target| match target.is_behind {
            true => Ok(()),
            false => target.device.write_uberblock(uberblock, target.ashift),
        };
        self.step(&|target| if target.is_log { Ok(()) } else { write(target) })?;
        self.step(&|target| if target.is_log { Ok(()) } else { target.device.disk.flush() })?;
        // It tells which copy of a log's device was in use last. Nobody waits until it is durable
        // there.
        self.step(&|target| if target.is_log { write(target) } else { Ok(()) })
    }

    /// Does one thing on all devices that are still good, at once.
    fn step(&self, act: &(dyn Fn(&Target) -> Result<(), DiskError> + Sync)) -> Result<(), WriteError> {
        self.env.driver.par_map(self.targets.len(), &|n| {
            let target = &self.targets[n];
            if lock(&self.failed).contains(&target.guid) {
                return;
            }
            if let Err(error) = act(target) {
                tracing::warn!(guid = target.guid, %error, "device left out of a commit");
                lock(&self.failed).insert(target.guid);
            }
        });
        let failed = lock(&self.failed);
        let needed = self.targets.iter().filter(|target| !target.is_log);
        let tops: BTreeSet<u32> = needed.map(|target| target.top).collect();
        let good = |top: &u32| {
            self.targets.iter().any(|t| t.top == *top && !t.is_behind && !failed.contains(&t.guid))
        };
        if tops.iter().all(good) && !tops.is_empty() { Ok(()) } else { Err(WriteError::Io) }
    }
}

#[cfg(test)]
mod tests;
