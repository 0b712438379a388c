//! The states of a service: what may follow what, and why it is so.
//!
//! ```text
//!   Disabled ──enable──▶ Online ──begins──▶ Running ──ends──▶ Online
//!      ▲                   ▲  ▲                │
//!      └─disable (any)     │  └──ends well─────┼─ parts failed ──▶ Degraded ──begins──▶ Running
//!                          └──clear── Maintenance ◀─ all failed, or going on may do harm
//! ```
//!
//! - A part of the work that fails (a dataset, a pool) degrades the service, which goes on with all
//!   else. Its own back-off is kept where the part is.
//! - A service that fails as a whole is tried again after its back-off, where that may help;
//!   otherwise it is in maintenance.
//! - A failure after which going on may do harm puts it in maintenance, wherever it was.
//!
//! Invariants: in `Disabled`, `Maintenance` and `Running` there is no next run. Only `clear` leads
//! out of maintenance. A run that ends after its service was disabled does not enable it.

use std::collections::VecDeque;

use api_types::{
    FailureClass, LastRun, NextRun, NotNow, RunReason, ServiceCommand, ServiceLog, ServiceLogEntry,
    ServiceSpec, ServiceState, StateCause,
};
use serde::{Deserialize, Deserializer, Serialize};

use crate::backoff::Backoff;
use crate::time::Time;

/// Version of the form in which an instance is kept.
pub const FORMAT: u32 = 1;

/// Most lines of a log that are kept.
pub const LOG_LINES: usize = 1_000;

/// Bytes of an id.
const ID_BYTES: usize = 32;

/// One service, as it is kept over restarts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instance {
    /// [`FORMAT`]: what a newer program kept is not read.
    #[serde(deserialize_with = "known_format")]
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
    /// Where its policy is kept. `None`: by this machine. Otherwise `spec` is what it was when it
    /// was last at work, and what the home says counts.
    #[serde(default)]
    pub home: Option<Home>,
}

/// The dataset that keeps a service's policy, by guids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Home {
    pub pool: u64,
    pub dataset: u64,
}

/// Whether a text is an id.
pub fn is_id(id: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=ID_BYTES).contains(&id.len()) && id.bytes().all(good)
}

impl Instance {
    /// A new one, disabled. `None`: that is no id.
    pub fn new(id: &str, spec: ServiceSpec, now: Time) -> Option<Instance> {
        if !is_id(id) {
            return None;
        }
        Some(Instance {
            format: FORMAT,
            id: id.to_owned(),
            spec,
            state: ServiceState::Disabled,
            cause: StateCause::Asked,
            since: now,
            last: None,
            served: now,
            backoff: None,
            asked: false,
            home: None,
        })
    }

    /// What an administrator asks. To enable what is enabled, or disable what is disabled, changes
    /// nothing.
    pub fn command(&mut self, command: ServiceCommand, now: Time) -> Result<(), NotNow> {
        use ServiceCommand::{Clear, Disable, Enable, Run};
        use ServiceState::{Degraded, Disabled, Maintenance, Online, Running};
        match (command, self.state) {
            (Enable, Disabled) => {
                self.served = self.served.max(now);
                self.enter(Online, StateCause::Asked, now);
            }
            (Enable, Online | Running | Degraded | Maintenance) | (Disable, Disabled) => {}
            (Disable, Online | Running | Degraded | Maintenance) => {
                (self.asked, self.backoff) = (false, None);
                self.enter(Disabled, StateCause::Asked, now);
            }
            (Run, Online | Degraded) => self.asked = true,
            (Clear, Maintenance | Degraded) => {
                self.backoff = None;
                self.enter(Online, StateCause::Asked, now);
            }
            (Run, Disabled | Running | Maintenance) | (Clear, Disabled | Online | Running) => {
                return Err(NotNow { state: self.state, command });
            }
        }
        Ok(())
    }

    /// When it runs next, and why, if its schedule is due next at `due`. `None`: it does not.
    pub fn next(&self, due: Option<NextRun>, now: Time) -> Option<NextRun> {
        match self.state {
            ServiceState::Disabled | ServiceState::Maintenance | ServiceState::Running => None,
            ServiceState::Online | ServiceState::Degraded if self.asked => {
                Some(NextRun { at: now, reason: RunReason::Asked })
            }
            ServiceState::Online | ServiceState::Degraded => match self.backoff {
                None => due,
                Some(backoff) => {
                    let at = if backoff.may_try(now) { now } else { backoff.until };
                    Some(NextRun { at, reason: RunReason::Retry { failures: backoff.failures } })
                }
            },
        }
    }

    /// It begins to run.
    pub fn began(&mut self, reason: RunReason, now: Time) {
        self.asked = false;
        self.enter(ServiceState::Running, StateCause::Began { reason }, now);
    }

    /// A run ended. `backoff`: the service failed as a whole. The worst class of all failures says
    /// what follows.
    pub fn ended(&mut self, run: LastRun, backoff: Option<Backoff>, now: Time) {
        let is = |class| run.failures.iter().any(|failure| failure.class == class);
        let whole = backoff.map(|backoff| backoff.class);
        let state = match whole {
            Some(FailureClass::NeedsPerson | FailureClass::Fatal) => ServiceState::Maintenance,
            _ if is(FailureClass::Fatal) => ServiceState::Maintenance,
            Some(FailureClass::Retriable) => ServiceState::Degraded,
            None if run.failed > 0 => ServiceState::Degraded,
            None => ServiceState::Online,
        };
        let worst = run.failures.iter().max_by_key(|failure| match failure.class {
            FailureClass::Retriable => 0,
            FailureClass::NeedsPerson => 1,
            FailureClass::Fatal => 2,
        });
        let cause = worst.map_or(StateCause::Ended, |failure| StateCause::Failed {
            failure: failure.clone(),
            failed: run.failed,
        });
        self.last = Some(run);
        if self.state != ServiceState::Disabled {
            self.backoff = backoff;
            self.enter(state, cause, now);
        }
    }

    /// The program starts again: what ran has been interrupted.
    pub fn restarted(&mut self, now: Time) {
        if self.state == ServiceState::Running {
            self.enter(ServiceState::Online, StateCause::Interrupted, now);
        }
    }

    fn enter(&mut self, state: ServiceState, cause: StateCause, now: Time) {
        (self.state, self.cause, self.since) = (state, cause, now);
    }
}

fn known_format<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    let format = u32::deserialize(from)?;
    if (1..=FORMAT).contains(&format) {
        return Ok(format);
    }
    Err(serde::de::Error::custom(format_args!(
        "a service in form {format}, and {FORMAT} is the newest known"
    )))
}

/// The newest lines of what a service did.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Log {
    lines: VecDeque<ServiceLog>,
}

impl Log {
    /// The oldest line goes when there are [`LOG_LINES`].
    pub fn add(&mut self, at: Time, entry: ServiceLogEntry) {
        while self.lines.len() >= LOG_LINES {
            self.lines.pop_front();
        }
        self.lines.push_back(ServiceLog { at, entry });
    }

    /// Oldest first.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &ServiceLog> {
        self.lines.iter()
    }
}

#[cfg(test)]
mod tests;
