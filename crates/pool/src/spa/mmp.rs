//! Multihost protection: a pool that is in use shows it on its disks all the time, so that no other
//! host opens it.
//!
//! While the property `multihost` is on, an uberblock like the last one, with a newer time and a
//! number that grows, is written every [`Pace::interval`] to each disk, one after the other, into
//! the slot of a label's ring that transaction groups leave alone. Who wants to import a pool that
//! was used so watches its labels for longer than its user may be silent: if anything changes, it
//! is in use. Then the importer claims the pool with a number drawn at random and looks whether it
//! is still there, for two may have watched at the same time.
//!
//! A host whose writes have failed for [`Pace::fails`] intervals must take it that another one has
//! the pool by now: it suspends the pool, and that ends by export only. Which disks can be reached
//! does not matter otherwise: one write that lands is a sign of life.
//!
//! The check does not hang on `-f`. It is spared where the same host has exported the pool.
//!
//! Sources: module/zfs/mmp.c (theory, delays), include/sys/mmp.h (numbers), module/zfs/spa.c
//! (`spa_activity_check_…`), lib/libzfs/libzfs_pool.c (messages).

use std::sync::{Arc, Mutex, Weak};

use env::{Env, Nanos, Next, Tunable, Worker, WorkerHandle, lock};
use ondisk::label::config::PoolState;
use ondisk::uberblock::{Mmp as Fields, Uberblock};
use refusal::ImportFault;
use storage::{Cause, Leash, Storage, VdevConfig, VdevKind};

use super::Core;
use super::config::{Host, PoolConfig};
use super::labels::{FoundPool, probe};

/// `MMP_IMPORT_SAFETY_FACTOR`, in hundredths.
const SAFETY: u64 = 200;
/// How often a claim is looked at (`MMP_IMPORT_VERIFY_ITERS`), and how long between.
const CLAIM_LOOKS: u32 = 10;
const CLAIM_PAUSE: Nanos = Nanos::from_millis(100);
/// How often labels are looked at while a pool is watched.
const LOOK: Nanos = Nanos::from_millis(1000);
/// Longest that a pool is watched. OpenZFS's defaults come to 20 seconds; nobody can have meant
/// more than this.
const WATCH_MAX: Nanos = Nanos::from_secs(2 * 3600);

/// How often a pool shows that it is in use, and what follows from that; as the tunables say now.
#[derive(Clone, Copy)]
struct Pace {
    interval: Nanos,
    /// Intervals of failed writes after which a pool is suspended; 0: never.
    fails: u64,
    /// Intervals to watch a pool whose signs do not say how often they come.
    imports: u64,
}

impl Pace {
    fn of(env: &Env) -> Pace {
        Pace {
            interval: Nanos::from_millis(env.tunable(Tunable::MultihostInterval)),
            fails: env.tunable(Tunable::MultihostFailIntervals),
            imports: env.tunable(Tunable::MultihostImportIntervals),
        }
    }
}

/// The signs of life of one pool.
#[derive(Default)]
pub struct Mmp {
    state: Mutex<State>,
    worker: Mutex<Option<WorkerHandle>>,
}

#[derive(Default)]
struct State {
    is_on: bool,
    /// The last one that is durable.
    uberblock: Option<Uberblock>,
    sequence: u16,
    last_write: Nanos,
    /// Signs that were tried: they go round the disks.
    turn: usize,
    /// A mean that rises at once and falls slowly, in nanoseconds.
    delay: u64,
}

impl State {
    fn fields(&self, pace: Pace, sequence: u16) -> Fields {
        Fields {
            interval_ms: Some((pace.interval.0 / 1_000_000) as u32),
            sequence: Some(sequence),
            fail_intervals: Some(pace.fails as u16),
        }
    }

    /// `mmp_delay_update`
    fn note_write(&mut self, pace: Pace, now: Nanos, leaves: u64) {
        let delay = now.since(self.last_write).0;
        self.last_write = now;
        let least = pace.interval.0 / leaves.max(1);
        let mean = if delay > self.delay { delay } else { (delay + self.delay * 127) / 128 };
        self.delay = mean.max(least);
    }
}

impl Mmp {
    /// The property has changed, or is known.
    pub fn set(&self, env: &Env, is_on: bool) {
        let mut state = lock(&self.state);
        if is_on && !state.is_on {
            (state.last_write, state.delay) = (env.clock.now(), Pace::of(env).interval.0);
        }
        state.is_on = is_on;
        drop(state);
        self.pace_changed();
    }

    /// A tunable has changed that says how often there are signs of life, or what a failed one
    /// means: the next comes at once (`mmp_signal_all_threads` in module/zfs/mmp.c).
    pub fn pace_changed(&self) {
        lock(&self.worker).as_ref().inspect(|worker| worker.wake());
    }

    /// What the uberblock of a group says of multihost protection.
    pub(crate) fn stamp(&self, env: &Env, uberblock: &mut Uberblock) {
        let state = lock(&self.state);
        if state.is_on {
            uberblock.set_mmp(state.fields(Pace::of(env), 0), state.delay);
        }
    }

    /// A group's uberblock is durable: that is a sign of life too.
    pub(crate) fn note_group(&self, env: &Env, uberblock: &Uberblock, leaves: u64) {
        let mut state = lock(&self.state);
        state.uberblock = Some(uberblock.clone());
        state.sequence = 1;
        state.note_write(Pace::of(env), env.clock.now(), leaves);
    }
}

impl Core {
    /// Starts to show that the pool is in use, while its property says so.
    pub(super) fn show_life(self: &Arc<Core>) {
        let worker = self.storage.spawn(Box::new(Heart(Arc::downgrade(self))));
        *lock(&self.mmp.worker) = Some(worker);
    }

    /// No sign of life is written any more.
    pub(super) fn stop_heart(&self) {
        let worker = lock(&self.mmp.worker).take();
        worker.inspect(WorkerHandle::stop_and_join);
    }

    /// Disks that uberblocks are written to.
    pub(crate) fn living_leaves(&self) -> u64 {
        self.storage.leaves().iter().filter(|leaf| leaf.usable).count() as u64
    }

    fn beat(&self, now: Nanos) -> Next {
        let pace = Pace::of(&self.env);
        let (mut uberblock, since, turn) = {
            let mut state = lock(&self.mmp.state);
            if !state.is_on {
                return Next::WaitForWork;
            }
            let Some(mut uberblock) = state.uberblock.clone() else { return Next::WaitForWork };
            let time = self.env.clock.wall().secs.max(0) as u64;
            if time > uberblock.timestamp {
                (uberblock.timestamp, state.sequence) = (time, 1);
            }
            uberblock.set_mmp(state.fields(pace, state.sequence), state.delay);
            state.sequence = state.sequence.wrapping_add(1);
            state.turn = state.turn.wrapping_add(1);
            (uberblock, state.last_write, state.turn)
        };
        uberblock.software_version = ondisk::version::FEATURES;
        let leaves: Vec<_> = self.storage.leaves().into_iter().filter(|leaf| leaf.usable).collect();
        let pause = Nanos(pace.interval.0 / (leaves.len() as u64).max(1));
        if self.storage.suspension().cause() != Some(Cause::Multihost) {
            let label = self.env.entropy.u64() as usize % 4;
            let leaf = leaves.get(turn % leaves.len().max(1));
            let written = leaf.map(|leaf| leaf.device.write_heartbeat(&uberblock, leaf.ashift, Some(label)));
            if let Some(Ok(())) = written {
                let mut state = lock(&self.mmp.state);
                state.note_write(pace, self.env.clock.now(), leaves.len() as u64);
                // A group may have been synced meanwhile: its uberblock is the newer one.
                if let Some(own) = state.uberblock.as_mut().filter(|own| own.txg == uberblock.txg) {
                    own.timestamp = uberblock.timestamp;
                }
            } else if pace.fails > 0 && now.since(since).0 > pace.fails * pace.interval.0 {
                tracing::error!("multihost writes have failed for too long: another host may take the pool");
                self.storage.suspension().suspend(Cause::Multihost);
            }
        }
        Next::WaitUntil(now + pause)
    }
}

struct Heart(Weak<Core>);

impl Worker for Heart {
    fn name(&self) -> &'static str {
        "mmp"
    }

    fn step(&mut self, now: Nanos) -> Next {
        self.0.upgrade().map_or(Next::Stop, |core| core.beat(now))
    }
}

// ── Importing ──

/// Whether a pool must be watched before it is imported.
fn needs_check(uberblock: &Uberblock, config: &PoolConfig, host: &Host) -> bool {
    let protected = uberblock.mmp().is_some() && uberblock.mmp_delay > 0;
    let own = host.id != 0 && config.host.id == host.id && config.state == PoolState::Exported;
    protected && !own && config.state != PoolState::Destroyed
}

/// How long (`spa_activity_check_duration`).
fn duration(pace: Pace, uberblock: &Uberblock) -> Nanos {
    let Pace { interval, imports, .. } = pace;
    let least = imports.saturating_mul(interval.0).max(1_000_000_000);
    let fields = uberblock.mmp().unwrap_or_default();
    let nanos = |ms: u32| u64::from(ms) * 1_000_000;
    Nanos(match (fields.interval_ms, fields.fail_intervals) {
        (Some(ms), Some(fails)) if fails > 0 => {
            nanos(ms).saturating_mul(u64::from(fails)).saturating_mul(SAFETY) / 100
        }
        (Some(ms), Some(_)) => {
            least.max(nanos(ms).saturating_add(uberblock.mmp_delay).saturating_mul(imports))
        }
        _ => least.max(interval.0.saturating_add(uberblock.mmp_delay).saturating_mul(imports)),
    })
}

/// Watches a pool that may be in use; `Err` if it is, or if this host cannot say who it is.
pub(super) fn watch(env: &Env, found: &FoundPool, host: &Host, leash: &Leash) -> Result<(), ImportFault> {
    let Some(before) = found.uberblocks().into_iter().next() else { return Ok(()) };
    if !needs_check(&before, &found.config, host) {
        return Ok(());
    }
    if host.id == 0 {
        return Err(ImportFault::MultihostNoHostid);
    }
    let span = duration(Pace::of(env), &before);
    if span > WATCH_MAX {
        return Err(ImportFault::MultihostDamaged { hours: span.0 / 3_600_000_000_000 });
    }
    // Two that begin at the same time must not end so.
    let span = Nanos(span.0 + env.entropy.u64() % (span.0 / 4).max(1));
    tracing::info!(pool = found.config.name, seconds = span.as_secs_f64(), "watching for another host");
    let end = env.clock.now() + span;
    while env.clock.now() < end {
        if leash.is_over() {
            return Err(ImportFault::Cancelled);
        }
        env.clock.sleep(LOOK.min(end.since(env.clock.now())));
        let now = found.devices.iter().filter_map(|device| newest(env, &device.path));
        if now.max_by(Uberblock::cmp_age).is_some_and(|now| now != before) {
            return Err(in_use(&found.config.host));
        }
    }
    Ok(())
}

fn newest(env: &Env, path: &str) -> Option<Uberblock> {
    probe(env, path)?.uberblocks.into_iter().next()
}

fn in_use(host: &Host) -> ImportFault {
    ImportFault::Multihost { host: host.name.clone(), hostid: host.id }
}

fn is_for_data(top: &VdevConfig) -> bool {
    !top.is_log && !matches!(top.kind, VdevKind::Hole | VdevKind::Indirect)
}

/// On how many disks of a top-level vdev a claim must be, so that no other host can have enough of
/// them without seeing it: one more than can be lacked, and every side of a mirror that is not
/// known to be out of service, for a side that this host alone cannot reach is one that another may
/// use (`mmp_claim_uberblock_sync`).
fn claims_needed(top: &VdevConfig) -> usize {
    match top.kind {
        VdevKind::Raidz(parity) => parity as usize + 1,
        _ => {
            let sides = top.children.iter();
            sides.filter(|side| !side.offline && !side.faulted && !side.removed).count().max(1)
        }
    }
}

/// Takes a pool that was watched, before anything else is written; `uberblock` is the one it is
/// opened with.
pub(super) fn claim(
    env: &Env,
    storage: &Storage,
    uberblock: &Uberblock,
    config: &PoolConfig,
    host: &Host,
) -> Result<(), ImportFault> {
    if !needs_check(uberblock, config, host) {
        return Ok(());
    }
    let mut mark = uberblock.clone();
    mark.timestamp = mark.timestamp.saturating_add(1).max(env.clock.wall().secs.max(0) as u64);
    let sequence = Some(env.entropy.u64() as u16);
    mark.set_mmp(Fields { sequence, ..uberblock.mmp().unwrap_or_default() }, uberblock.mmp_delay);
    let leaves: Vec<_> = storage.leaves().into_iter().filter(|leaf| leaf.usable).collect();
    let written = leaves.iter().filter(|leaf| leaf.device.write_heartbeat(&mark, leaf.ashift, None).is_ok());
    let written: Vec<u64> = written.map(|leaf| u64::from(leaf.top)).collect();
    let has_enough =
        |top: &VdevConfig| written.iter().filter(|id| **id == top.id).count() >= claims_needed(top);
    if !storage.config().children.iter().filter(|top| is_for_data(top)).all(has_enough) {
        return Err(ImportFault::MultihostClaim);
    }
    for _ in 0..CLAIM_LOOKS {
        env.clock.sleep(CLAIM_PAUSE);
        // Where the pool is taken back to an older group, the younger ones are still there.
        let found = leaves.iter().flat_map(|leaf| leaf.device.read_labels().uberblocks);
        let newest = found.filter(|found| found.txg <= mark.txg).max_by(Uberblock::cmp_age);
        if newest.as_ref() != Some(&mark) {
            return Err(in_use(&config.host));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
