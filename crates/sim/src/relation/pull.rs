//! Sources at the other place, for a service that pulls: what it asks goes through what the other
//! place lets it read ([`appliance::replication::Guest`]), and streams have the fates that others
//! have.

use std::io::Write;
use std::sync::Arc;

use api_types::{FailureClass, SnapTarget, SyncStep};
use appliance::replication::{
    Content, Elsewhere, Fault, Given, Guest, Named, Offered, Origin, Original, Patience, ReadClaim, Reading,
    Source, Time,
};
use engine_api::{Identity, SendEvent};
use env::Nanos;

use super::line::{Fate, Net, stuck, unreachable};

/// The sources of a service.
pub struct Sources {
    net: Arc<Net>,
    me: usize,
    service: String,
    source: SnapTarget,
}

impl Sources {
    pub fn new(net: &Arc<Net>, me: usize, service: &str, source: &SnapTarget) -> Sources {
        Sources { net: net.clone(), me, service: service.to_owned(), source: source.clone() }
    }

    fn claim(&self, of: &Original) -> ReadClaim {
        ReadClaim { service: self.service.clone(), dataset: of.name.clone(), guid: of.guid }
    }

    fn ask<T>(&self, ask: impl FnOnce(&Guest<'_>) -> Result<T, Fault>) -> Result<T, Fault> {
        self.net.as_reader(self.me, ask)
    }

    fn offered(&self, of: &Original, counts: bool, anew: bool, now: Time) -> Result<Offered, Fault> {
        self.ask(|guest| guest.read(&self.claim(of), (counts, anew), now))
    }
}

impl Origin for Sources {
    fn read(&self, of: &Original, Reading { counts, now, .. }: Reading) -> Result<(Source, Time), Fault> {
        let mut source = self.offered(of, counts, true, now)?.source;
        self.net.lie_of_source(&mut source);
        Ok((source, now))
    }

    fn is_gone(&self, _: &Original) -> bool {
        false
    }

    fn change(&self, of: &Original, step: &SyncStep, now: Time) -> Result<(), Fault> {
        self.ask(|guest| guest.change(&self.claim(of), step, now))
    }

    fn make_together(&self, wanted: &[(Original, String)], now: Time) {
        let wanted: Vec<_> = wanted.iter().map(|(of, name)| (self.claim(of), name.clone())).collect();
        // What was not made together is made one by one.
        drop(self.ask(|guest| guest.make_together(&wanted, now)));
    }

    fn given(&self, of: &Original) -> Result<Given, Fault> {
        self.offered(of, false, false, 0).map(Given::from)
    }

    fn identity(&self, _: &Original, _: Option<(u64, u64)>) -> Result<Option<Identity>, Fault> {
        Ok(None)
    }

    fn has_rest(&self, of: &Original, token: &str) -> Result<bool, Fault> {
        self.ask(|guest| guest.has_rest(&self.claim(of), token))
    }

    fn send(
        &self,
        of: &Original,
        content: &Content,
        to: &mut (dyn Write + Send),
        tell: &mut dyn FnMut(SendEvent),
        patience: &Patience<'_>,
    ) -> Result<(), Fault> {
        let (mut stream, mut planned) = (Vec::new(), Vec::new());
        let sent = self
            .ask(|guest| guest.send(&self.claim(of), content, &mut stream, &mut |event| planned.push(event)));
        self.net.learn(1 - self.me);
        let fate = match &sent {
            Ok(()) => self.net.fate(stream.len()),
            // What was sent before it broke off.
            Err(_) => Fate::Cut(stream.len(), true),
        };
        self.net.note(&fate);
        if matches!(fate, Fate::Flipped) {
            self.net.flip(&mut stream);
        }
        let len = match fate {
            Fate::Arrives | Fate::Flipped => stream.len(),
            Fate::Cut(len, _) | Fate::Hangs(len) => len.min(stream.len()),
        };
        planned.into_iter().for_each(tell);
        let taken = to.write_all(&stream[..len]);
        sent?;
        match fate {
            // Whoever takes it has more to say of why he does not.
            Fate::Arrives | Fate::Flipped => taken.map_err(|_| unreachable(self.me)),
            Fate::Cut(..) => Err(unreachable(self.me)),
            Fate::Hangs(_) => {
                self.net.pass(Nanos::from_secs(patience.stuck.as_secs()));
                Err((FailureClass::Retriable, stuck(patience.stuck).into()))
            }
        }
    }
}

impl Elsewhere for Sources {
    fn names(&self) -> Result<Vec<Named>, Fault> {
        let SnapTarget { dataset, guid, .. } = &self.source;
        self.ask(|guest| guest.names(dataset, *guid))
    }
}
