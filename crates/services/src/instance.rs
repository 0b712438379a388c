//! The states of a service: what may follow what, and why it is so.

use api_types::{
    FailureClass, LastRun, NextRun, NotNow, RunReason, ServiceCommand, ServiceFailure, ServiceLog,
    ServiceLogEntry, ServiceSpec, ServiceState, StateCause,
};
use serde::{Deserialize, Serialize};

use crate::backoff::Backoff;
use crate::time::Time;

/// Version of the form in which an instance is kept.
pub const FORMAT: u32 = 1;

/// Most lines of a log that are kept.
pub const LOG_LINES: usize = 1_000;

/// One service, as it is kept over restarts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Instance {
    pub format: u32,
    /// Lower case letters, digits and `-`, at most 32; a snapshot's stamp has it.
    pub id: String,
    pub spec: ServiceSpec,
    pub state: ServiceState,
    pub cause: StateCause,
    /// When it came into this state.
    pub since: Time,
    pub last: Option<LastRun>,
    /// Up to which time its schedule was served.
    pub served: Time,
    /// Failures of the service as a whole, not of a part of its work.
    pub backoff: Option<Backoff>,
    /// It is to run at once.
    pub asked: bool,
}

impl Instance {
    /// A new one, disabled. `None`: that is no id.
    pub fn new(id: &str, spec: ServiceSpec, now: Time) -> Option<Instance> {
        todo!()
    }

    /// What an administrator asks.
    pub fn command(&mut self, command: ServiceCommand, now: Time) -> Result<(), NotNow> {
        todo!()
    }

    /// When it runs next, and why, if its schedule is due next at `due`. `None`: it does not.
    pub fn next(&self, due: Option<NextRun>, now: Time) -> Option<NextRun> {
        todo!()
    }

    /// It begins to run.
    pub fn began(&mut self, reason: RunReason, now: Time) {
        todo!()
    }

    /// A run ended; the worst class of its failures says what follows.
    pub fn ended(&mut self, run: LastRun, backoff: Option<Backoff>, now: Time) {
        todo!()
    }

    /// The program starts again: what ran has been interrupted.
    pub fn restarted(&mut self, now: Time) {
        todo!()
    }
}

/// The newest lines of what a service did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Log {
    lines: std::collections::VecDeque<ServiceLog>,
}

impl Log {
    /// The oldest line goes when there are [`LOG_LINES`].
    pub fn add(&mut self, at: Time, entry: ServiceLogEntry) {
        todo!()
    }

    /// Oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &ServiceLog> {
        self.lines.iter()
    }
}
