//! Troubles: what the engine tells of them, and how it is given some on purpose.

use crate::{ActiveFault, Fault, Result, Tunable, Zevent};

/// What an engine tells of troubles, and those that can be made: for operators and tests, not for
/// servers.
pub trait Diagnostics: Send + Sync {
    /// Events of all pools after number `eid`, oldest first, of the last 4,096; waits up to so many
    /// nanoseconds for one.
    fn zevents(&self, eid: u64, patience: u64) -> Vec<Zevent>;
    /// Forgets them; says how many there were.
    fn clear_zevents(&self) -> u64;
    /// Makes a device or blocks fail until it is cancelled; gives the fault as it is in force.
    fn inject(&self, fault: &Fault) -> Result<ActiveFault>;
    /// Faults in force, by number.
    fn injected(&self) -> Vec<ActiveFault>;
    /// False if there is none of this number.
    fn cancel_fault(&self, id: u64) -> bool;
    /// Has a device thought of as if it had erred too often.
    fn condemn(&self, pool: &str, guid: u64, how: Condemn) -> Result<()>;
    /// Drops all blocks of all pools from memory, so that they have to be read again.
    fn drop_cache(&self);
    /// What may be turned while it runs.
    fn tunables(&self) -> Vec<Tunable>;
    /// Until the engine ends. `NotFound` if there is none of this name, `Invalid` outside of its
    /// range.
    fn set_tunable(&self, name: &str, value: u64) -> Result<()>;
}

/// What is to be thought of a device, whatever it does (`zinject -A`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condemn {
    Degrade,
    Fault,
}
