//! Sources on another appliance: what a service pulls.
//!
//! What is told of them is believed about them alone: each name is looked at before it becomes one
//! here, and what else comes is asked for again by the one that has it.

use std::io::Write;
use std::sync::{Mutex, PoisonError};

use api_types::{PeerFault, SnapTarget, SyncStep};
use appliance::replication::{
    Content, Elsewhere, Fault, Given, Named, Offered, Origin, Original, Patience, ReadClaim, Reading, Source,
    Time, is_dataset, is_part,
};
use engine_api::{Identity, SendEvent};

use crate::line::Line;
use crate::link::Link;
use crate::wire::{self, Fetch, Make, Names, Read, Rest, Step, Told};

/// Bytes of the names in a request for snapshots that are made together.
const NAMES: usize = 24 << 10;

/// The sources of a service.
pub struct Sources {
    line: Line,
    service: String,
    source: SnapTarget,
    /// When all of it was on the disks there.
    as_of: Mutex<Option<Time>>,
}

impl Sources {
    pub fn new(name: String, service: String, source: SnapTarget, link: Result<Link, PeerFault>) -> Sources {
        Sources { line: Line::new(name, link), service, source, as_of: Mutex::default() }
    }

    fn claim(&self, of: &Original) -> ReadClaim {
        ReadClaim { service: self.service.clone(), dataset: of.name.clone(), guid: of.guid }
    }

    fn garbled(&self) -> Fault {
        self.line.fault(PeerFault::Garbled.into())
    }

    fn offered(&self, of: &Original, counts: bool, anew: bool) -> Result<Offered, Fault> {
        let offered: Offered =
            self.line.ask(wire::SOURCE_READ, &Read { claim: self.claim(of), counts, anew })?;
        let Source { guid, snapshots, bookmarks, .. } = &offered.source;
        let names = snapshots.iter().map(|it| &it.name).chain(bookmarks.iter().map(|it| &it.name));
        let is_good = *guid == of.guid && names.into_iter().all(|name| is_part(name));
        if is_good { Ok(offered) } else { Err(self.garbled()) }
    }
}

impl Origin for Sources {
    fn read(&self, of: &Original, reading: Reading) -> Result<(Source, Time), Fault> {
        let Reading { counts, anew, now } = reading;
        let known = *self.as_of.lock().unwrap_or_else(PoisonError::into_inner);
        // The first look of a session is at what was written up to now.
        let is_new = anew || known.is_none();
        let offered = self.offered(of, counts, is_new)?;
        if known.is_none() {
            *self.as_of.lock().unwrap_or_else(PoisonError::into_inner) = Some(now);
        }
        Ok((offered.source, if is_new { now } else { known.unwrap_or(now) }))
    }

    /// Which there are each session lists first.
    fn is_gone(&self, _: &Original) -> bool {
        false
    }

    fn change(&self, of: &Original, step: &SyncStep, now: Time) -> Result<(), Fault> {
        self.line.ask(wire::SOURCE_CHANGE, &Step { claim: self.claim(of), step: step.clone(), at: now })
    }

    fn make_together(&self, wanted: &[(Original, String)], now: Time) {
        let mut left = wanted;
        while !left.is_empty() {
            let mut bytes = 0;
            let fits = |(of, short): &&(Original, String)| {
                bytes += 2 * self.service.len() + of.name.len() + short.len() + 100;
                bytes <= NAMES
            };
            let some = left.iter().take_while(fits).count().max(1);
            let (now_made, rest) = left.split_at(some);
            left = rest;
            let wanted = now_made.iter().map(|(of, short)| (self.claim(of), short.clone())).collect();
            if let Err((_, why)) = self.line.ask::<()>(wire::SOURCE_MAKE, &Make { wanted, at: now }) {
                tracing::warn!(id = self.service, ?why, "snapshots were not made together");
            }
        }
    }

    fn given(&self, of: &Original) -> Result<Given, Fault> {
        self.offered(of, false, false).map(Given::from)
    }

    /// What seals handles is that of all of the pool there, of which this machine may read a part.
    fn identity(&self, _: &Original, _: Option<(u64, u64)>) -> Result<Option<Identity>, Fault> {
        Ok(None)
    }

    fn has_rest(&self, of: &Original, token: &str) -> Result<bool, Fault> {
        self.line.ask(wire::SOURCE_REST, &Rest { claim: self.claim(of), token: token.to_owned() })
    }

    fn send(
        &self,
        of: &Original,
        content: &Content,
        to: &mut (dyn Write + Send),
        tell: &mut dyn FnMut(SendEvent),
        patience: &Patience<'_>,
    ) -> Result<(), Fault> {
        let question = Fetch { claim: self.claim(of), content: content.clone() };
        let mut tell = |told| {
            if let Told::Planned { snapshot, size } = told {
                tell(SendEvent::Planned { snapshot, from: None, size });
            }
        };
        let bounds = (patience.stuck, patience.stop);
        self.line.with(|link| link.fetch(wire::SOURCE_SEND, &question, (to, &mut tell), bounds))
    }
}

impl Elsewhere for Sources {
    fn names(&self) -> Result<Vec<Named>, Fault> {
        let SnapTarget { dataset, guid, .. } = &self.source;
        let question = Names { dataset: dataset.clone(), guid: *guid };
        let names: Vec<(String, u64)> = self.line.ask(wire::SOURCE_NAMES, &question)?;
        // No dataset has the guid 0, and a name becomes a part of one here.
        if names.iter().any(|(name, guid)| *guid == 0 || !is_dataset(name)) {
            return Err(self.garbled());
        }
        Ok(names.into_iter().map(|(name, guid)| Named { name, guid }).collect())
    }
}
