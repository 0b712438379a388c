//! Faults that an operator asks for: rules over the disks of all pools ([`env::FaultDisks`]).
//!
//! The engine does not know of them: it meets them as it meets a disk that fails. A fault of blocks
//! is one of the places where they lie ([`super::places`]). Source: module/zfs/zio_inject.c (what
//! an error code makes of which I/O).

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use engine_api::{
    ActiveFault, BlockError, DeviceFault, Error, Fault, FaultEffect, FaultIo, Pool, PoolStatus, Result,
    VdevStatus,
};
use env::{DiskError, Env, FaultDisks, FaultKind, FaultOp, FaultRule, Nanos, Spans, lock};
use refusal::{Action, Reason, Refused};

use super::places;
use super::pool::LocalPool;

/// EIO
const EIO: i32 = 5;

/// The faults in force.
pub(super) struct Injections {
    disks: FaultDisks,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    last: u64,
    /// With the rules that make a fault.
    by_id: BTreeMap<u64, (Fault, Vec<u64>)>,
}

impl Injections {
    /// The same world with disks that can be made to fail.
    pub fn over(env: Env) -> (Env, Injections) {
        let disks = FaultDisks::timed(env.disks.clone(), env.clock.clone());
        let env = Env { disks: Arc::new(disks.clone()), ..env };
        (env, Injections { disks, state: Mutex::default() })
    }

    pub fn inject(&self, pool: &LocalPool, fault: &Fault) -> Result<ActiveFault> {
        let (fault, rules) = match fault {
            Fault::Device(fault) => {
                (Fault::Device(fault.clone()), vec![rule_of_device(&pool.status(), fault)?])
            }
            Fault::Blocks(fault) => {
                let (fault, places) = places::find(pool, fault)?;
                let kind = match fault.error {
                    BlockError::Io => FaultKind::Fail(DiskError::Io(EIO)),
                    BlockError::Checksum => FaultKind::Corrupt,
                };
                let (status, rate) = (pool.status(), rate(fault.rate)?);
                let rules = places.into_iter().map(|(guid, spans)| {
                    let (path, bytes) = (Some(path_in(&status, guid)?), Spans::new(spans));
                    Ok(FaultRule { path, bytes, rate, ..FaultRule::new(FaultOp::Read, kind) })
                });
                (Fault::Blocks(fault), rules.collect::<Result<Vec<_>>>()?)
            }
        };
        let rules = rules.into_iter().map(|rule| self.disks.inject(rule)).collect();
        let mut state = lock(&self.state);
        state.last += 1;
        let id = state.last;
        state.by_id.insert(id, (fault.clone(), rules));
        Ok(ActiveFault { id, fault, matched: 0, injected: 0 })
    }

    pub fn active(&self) -> Vec<ActiveFault> {
        let counts: BTreeMap<u64, (u64, u64)> =
            self.disks.rules().into_iter().map(|rule| (rule.id, (rule.matched, rule.fired))).collect();
        let state = lock(&self.state);
        let active = |(id, (fault, rules)): (&u64, &(Fault, Vec<u64>))| {
            let counts = rules.iter().filter_map(|rule| counts.get(rule));
            let (matched, injected) = counts.fold((0, 0), |sum, count| (sum.0 + count.0, sum.1 + count.1));
            ActiveFault { id: *id, fault: fault.clone(), matched, injected }
        };
        state.by_id.iter().map(active).collect()
    }

    pub fn cancel(&self, id: u64) -> bool {
        let Some((_, rules)) = lock(&self.state).by_id.remove(&id) else { return false };
        rules.into_iter().for_each(|rule| {
            self.disks.cancel(rule);
        });
        true
    }
}

fn path_in(pool: &PoolStatus, guid: u64) -> Result<String> {
    fn find(vdev: &VdevStatus, guid: u64) -> Option<String> {
        let here = (vdev.guid == guid).then(|| vdev.path.clone()).flatten();
        here.or_else(|| vdev.children.iter().find_map(|child| find(child, guid)))
    }
    let vdevs = std::iter::once(&pool.root).chain(&pool.cache).chain(&pool.spares);
    let path = vdevs.into_iter().find_map(|vdev| find(vdev, guid));
    path.ok_or_else(|| Refused::new(Action::AddFault, Reason::NoSuchDevice).into())
}

fn rate(rate: u32) -> Result<u32> {
    if rate == 0 || rate > env::fault::ALWAYS {
        return Err(Error::Invalid("the frequency is a part of a million".into()));
    }
    Ok(rate)
}

fn rule_of_device(pool: &PoolStatus, fault: &DeviceFault) -> Result<FaultRule> {
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
    let path = Some(path_in(pool, fault.guid)?);
    Ok(FaultRule { path, rate: rate(fault.rate)?, ..FaultRule::new(op, kind) })
}
