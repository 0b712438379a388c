//! Where sources are: what a session asks of that side, whichever way leads there.

use std::io::Write;
use std::time::Duration;

use api_types::SyncStep;
use engine_api::{Cancel, DatasetKind, Identity, PropertyChange, SendEvent};
use serde::{Deserialize, Serialize};
use services::autosnap::coverage::Named;
use services::autosync::view::Source;
use services::time::Time;

use super::Fault;

/// A dataset that is replicated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Original {
    pub guid: u64,
    pub name: String,
}

impl Original {
    pub fn pool(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }
}

/// How a source is read.
#[derive(Clone, Copy)]
pub struct Reading {
    /// What its snapshots keep is counted, too.
    pub counts: bool,
    /// Whatever was known before is read again.
    pub anew: bool,
    pub now: Time,
}

/// What is sent of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Both without their dataset; `from` with `@` or `#`.
    Snapshot { snapshot: String, from: Option<String> },
    /// The rest of what has this token.
    Rest { token: String },
}

/// Until when a stream is waited for.
pub struct Patience<'a> {
    /// The longest time without a byte.
    pub stuck: Duration,
    pub stop: &'a Cancel,
}

/// What a new replica gets of its source.
pub struct Given {
    pub kind: DatasetKind,
    /// That were set on it itself.
    pub props: Vec<PropertyChange>,
}

/// The side of the sources. Each call comes to an end, within bounds of its own or within those
/// that it is given. A change is made only while the name is that of the same dataset, or snapshot.
pub trait Origin: Sync {
    /// What a plan is made from. What was written after the time that is given, it may lack.
    fn read(&self, of: &Original, reading: Reading) -> Result<(Source, Time), Fault>;
    /// Whether another dataset has its name now, or none.
    fn is_gone(&self, of: &Original) -> bool;
    /// Does a step that is about the source alone. `now`: for what is made.
    fn change(&self, of: &Original, step: &SyncStep, now: Time) -> Result<(), Fault>;
    /// Makes snapshots of these names, of as many datasets together as may be. What cannot be made
    /// so is made one by one, later.
    fn make_together(&self, wanted: &[(Original, String)], now: Time);
    fn given(&self, of: &Original) -> Result<Given, Fault>;
    /// What clients know it by; `None`: that is of these guids, of pool and dataset, or there is
    /// nobody to tell it.
    fn identity(&self, of: &Original, known: Option<(u64, u64)>) -> Result<Option<Identity>, Fault>;
    /// Whether it has the rest of what was received in part.
    fn has_rest(&self, of: &Original, token: &str) -> Result<bool, Fault>;
    /// Writes a stream. Of how many bytes it will be about, `tell` is told first.
    fn send(
        &self,
        of: &Original,
        content: &Content,
        to: &mut (dyn Write + Send),
        tell: &mut dyn FnMut(SendEvent),
        patience: &Patience<'_>,
    ) -> Result<(), Fault>;
}

/// A side of sources that is not this machine.
pub trait Elsewhere: Origin {
    /// All datasets that the source may be one of, or above.
    fn names(&self) -> Result<Vec<Named>, Fault>;
}
