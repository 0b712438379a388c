//! Faults that an operator asks for: rules over the disks of all pools ([`env::FaultDisks`]), by pool and device.
//!
//! The engine does not know of them: it meets them as it meets a disk that fails. Source: module/zfs/zio_inject.c (what an
//! error code makes of which I/O).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine_api::{ActiveFault, DeviceFault, Error, FaultEffect, FaultIo, PoolStatus, Result, VdevStatus};
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule, Nanos, lock};

/// EIO
const EIO: i32 = 5;

/// The faults in force.
pub(super) struct Injections {
    disks: FaultDisks,
    by_id: Mutex<BTreeMap<u64, DeviceFault>>,
}

impl Injections {
    /// The same world with disks that can be made to fail.
    pub fn over(env: Env) -> (Env, Injections) {
        let disks = FaultDisks::timed(env.disks.clone(), env.clock.clone());
        let env = Env { disks: Arc::new(disks.clone()), ..env };
        (env, Injections { disks, by_id: Mutex::default() })
    }

    pub fn inject(&self, pool: &PoolStatus, fault: &DeviceFault) -> Result<u64> {
        let vdevs = std::iter::once(&pool.root).chain(&pool.cache).chain(&pool.spares);
        let path = vdevs.into_iter().find_map(|vdev| path_of(vdev, fault.guid));
        let path = path.ok_or_else(|| Error::Refused("failed to add handler: No such device".into()))?;
        let mut by_id = lock(&self.by_id);
        let id = self.disks.inject(rule(path, fault)?);
        by_id.insert(id, fault.clone());
        Ok(id)
    }

    pub fn active(&self) -> Vec<ActiveFault> {
        let by_id = lock(&self.by_id);
        let active = |injected: env::Injected| {
            let fault = by_id.get(&injected.id)?.clone();
            Some(ActiveFault { id: injected.id, fault, matched: injected.matched, injected: injected.fired })
        };
        self.disks.rules().into_iter().filter_map(active).collect()
    }

    pub fn cancel(&self, id: u64) -> bool {
        lock(&self.by_id).remove(&id).is_some() && self.disks.cancel(id)
    }
}

fn path_of(vdev: &VdevStatus, guid: u64) -> Option<String> {
    let here = (vdev.guid == guid).then(|| vdev.path.clone()).flatten();
    here.or_else(|| vdev.children.iter().find_map(|child| path_of(child, guid)))
}

fn rule(path: String, fault: &DeviceFault) -> Result<FaultRule> {
    let op = match (fault.io, fault.effect) {
        (FaultIo::All, FaultEffect::Missing) => FaultOp::Device,
        (FaultIo::All, _) => FaultOp::Any,
        (FaultIo::Read, _) => FaultOp::Read,
        (FaultIo::Write, _) => FaultOp::Write,
        (FaultIo::Flush, _) => FaultOp::Flush,
        (FaultIo::Trim, _) => FaultOp::Discard,
    };
    let kind = match fault.effect {
        FaultEffect::Io => FaultKind::Fail(DiskError::Io(EIO)),
        FaultEffect::Missing => FaultKind::Fail(DiskError::Gone),
        FaultEffect::Corrupt => FaultKind::Corrupt,
        FaultEffect::Ignore => FaultKind::Lie,
        FaultEffect::Delay(nanos) => FaultKind::Delay(Nanos(nanos)),
    };
    if fault.rate == 0 || fault.rate > env::fault::ALWAYS {
        return Err(Error::Invalid("the frequency is a part of a million".into()));
    }
    Ok(FaultRule { path: Some(path), rate: fault.rate, ..FaultRule::new(op, kind) })
}
