//! Work done on a pool, each kind beside a model of its own.
//!
//! A workload makes what it needs in a new pool, opens it after each import, does one operation at
//! a time, and after a crash finds its own data among the states its [`crate::history::History`]
//! allows.

pub mod datasets;
pub mod files;
pub mod objects;
pub mod snapshots;

use std::sync::Arc;

use engine_api::refusal::{Reason, Refused};
use engine_api::{Change, Engine, Error};
use pool::verify::{Options as VerifyOptions, verify};
use stdx::prng::Prng;

use crate::machine::{Machine, POOL, World};

/// `Err`: what is wrong with the pool, in words. While the power is off, an error means nothing.
pub type Done = Result<(), String>;

/// A pool between an import and the next crash or export.
pub struct Life<'a> {
    pub world: &'a World,
    pub machine: &'a Machine,
    pub api: Arc<dyn engine_api::Pool>,
    pub pool: Arc<pool::Pool>,
    pub verbose: bool,
}

impl<'a> Life<'a> {
    /// Of the pool that the machine has.
    pub fn of(world: &'a World, machine: &'a Machine, verbose: bool) -> Result<Life<'a>, String> {
        let api = machine.engine.pool(POOL).map_err(failed("the pool"))?;
        let pool = machine.engine.pool_below(POOL).map_err(failed("the pool"))?;
        Ok(Life { world, machine, api, pool, verbose })
    }

    pub fn is_on(&self) -> bool {
        self.world.disks.is_on()
    }

    /// The group that takes changes now.
    pub fn open_txg(&self) -> u64 {
        self.pool.core().txgs.open()
    }

    /// The last group on disk.
    pub fn synced(&self) -> u64 {
        self.pool.core().txgs.synced()
    }

    /// A line of the trace.
    pub fn say(&self, line: impl FnOnce() -> String) {
        if self.verbose {
            eprintln!("  {:>10} txg {:>5}  {}", self.world.disks.events(), self.open_txg(), line());
        }
    }

    /// An operator asks for a change. Whether it was done: what is refused, busy or not there is
    /// the operator's business.
    pub fn change(&self, change: &Change) -> Result<bool, String> {
        self.say(|| format!("{change:?}"));
        match self.api.commit(change, "") {
            Ok(_) => Ok(true),
            Err(Error::Refused(refused)) => {
                self.say(|| format!("refused: {refused}"));
                Ok(false)
            }
            Err(Error::Busy | Error::NotFound) => Ok(false),
            Err(error) => Err(format!("{change:?}: {error:?}")),
        }
    }
}

/// Whether it is for lack of space.
fn is_full(refused: &Refused) -> bool {
    match &refused.reason {
        Reason::Several(all) => all.iter().any(is_full),
        reason => *reason == Reason::NoSpace,
    }
}

/// See the module.
pub trait Workload {
    fn create(&mut self, life: &Life<'_>) -> Done;
    /// After an import; nothing, unless it keeps something of the pool open.
    fn open(&mut self, _life: &Life<'_>) -> Done {
        Ok(())
    }
    /// Before an export, and after a crash: lets go of what it keeps open.
    fn close(&mut self) {}
    fn step(&mut self, life: &Life<'_>, prng: &mut Prng) -> Done;
    /// Finds the state that a crash brought back among those possible at the end of group `txg`,
    /// and goes on from it.
    fn check(&mut self, life: &Life<'_>, txg: u64) -> Done;
    /// The group that must be durable.
    fn promised(&self) -> u64;
    /// Everything done so far is durable as of `txg`.
    fn promise(&mut self, txg: u64);
}

/// What went wrong, where.
pub fn failed<E: std::fmt::Debug>(what: &str) -> impl FnOnce(E) -> String + '_ {
    move |error| format!("{what}: {error:?}")
}

/// Whether the pool is whole: what is allocated is what something refers to, and everything can be
/// read.
pub fn whole(pool: &pool::Pool) -> Done {
    let report = verify(pool, VerifyOptions { data: true }, &mut |_, _| {}).map_err(failed("verify"))?;
    if report.is_clean() { Ok(()) } else { Err(format!("verify finds {:?}", report.problems)) }
}
