//! The record of a request that is over.

use std::sync::Arc;

use api_types::{Protocol, ServedBy, StageTimes};
use stdx::trail::{Source, Span, Trail};

/// Stages of a request, in the order of [`StageTimes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// All of it has come, and it waits for a thread.
    Queue,
    /// The server decodes it and makes its answer.
    Protocol,
    Engine,
    Disk,
    Log,
    Group,
    /// Its answer waits, or is on its way to the system.
    Reply,
}

pub const STAGES: usize = Stage::Reply as usize + 1;

impl Stage {
    pub fn of(span: Span) -> Stage {
        match span {
            Span::Engine => Stage::Engine,
            Span::Disk => Stage::Disk,
            Span::Log => Stage::Log,
            Span::Group => Stage::Group,
        }
    }
}

/// See the module. Where nobody wanted its stages, all of its time but that after its work is in
/// one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// When all of it had come: microseconds since 1970.
    pub time: u64,
    pub protocol: Protocol,
    /// An address, or the name of an initiator.
    pub client: Arc<str>,
    pub operation: &'static str,
    /// Of the server's own users; the engine's are in the trail.
    pub account: Option<Arc<str>>,
    pub trail: Trail,
    /// Nanoseconds, by [`Stage`].
    pub stages: [u64; STAGES],
}

impl Seen {
    /// Nanoseconds.
    pub fn took(&self) -> u64 {
        self.stages.iter().fold(0, |sum, stage| sum.saturating_add(*stage))
    }

    pub fn user(&self) -> Option<String> {
        let account = self.account.as_deref().map(str::to_owned);
        account.or_else(|| self.trail.user.map(|user| user.to_string()))
    }

    pub fn times(&self) -> StageTimes {
        let [queue, protocol, engine, disk, log, group, reply] = self.stages;
        StageTimes { queue, protocol, engine, disk, log, group, reply }
    }

    /// The slowest of what served it; `None`: no block of data did.
    pub fn served_by(&self) -> Option<ServedBy> {
        let has = |source: Source| self.trail.blocks[source as usize] > 0;
        let waited = |span: Span| self.trail.spans[span as usize] > 0;
        if has(Source::Disk) || waited(Span::Disk) {
            Some(ServedBy::Disk)
        } else if waited(Span::Log) || self.stages[Stage::Log as usize] > 0 {
            Some(ServedBy::Log)
        } else if has(Source::Cache) {
            Some(ServedBy::Cache)
        } else {
            has(Source::Overlay).then_some(ServedBy::Overlay)
        }
    }

    /// The guids of the pool and the leaf vdev that it waited for longest.
    pub fn device(&self) -> Option<(u64, u64)> {
        let (pool, _) = self.trail.dataset?;
        Some((pool, self.trail.slowest?.vdev))
    }

    /// What it takes of memory.
    pub fn bytes(&self) -> usize {
        size_of::<Seen>() + self.trail.name.as_ref().map_or(0, |name| name.len())
    }
}
