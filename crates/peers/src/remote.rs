//! Replicas on another appliance.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use api_types::{ClaimFault, FailureClass, PeerFault};
use appliance::replication::{Claim, Fault, Fill, Found, Incoming, Live, Peer, stamp};
use appliance::{Failure, NotServed};
use engine_api::{Adopted, Identity, PropertyChange};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::link::{Link, Unanswered};
use crate::wire::{self, Adopt, Destroy, Receive};

/// The replicas of a service.
pub struct Remote {
    /// Of the peer.
    name: String,
    service: String,
    /// A replica → the guid of its source.
    sources: BTreeMap<String, u64>,
    /// `Err`: the peer cannot be asked.
    link: Result<Mutex<Link>, PeerFault>,
}

impl Remote {
    pub fn new(
        name: String,
        service: String,
        sources: BTreeMap<String, u64>,
        link: Result<Link, PeerFault>,
    ) -> Remote {
        Remote { name, service, sources, link: link.map(Mutex::new) }
    }

    fn claim(&self, dataset: &str) -> Claim {
        // What is no replica of a source is none of the claim's relation.
        let source = self.sources.get(dataset).copied().unwrap_or_default();
        Claim { service: self.service.clone(), source, dataset: dataset.to_owned() }
    }

    fn with<T>(&self, work: impl FnOnce(&mut Link) -> Result<T, Unanswered>) -> Result<T, Fault> {
        let done = match &self.link {
            Err(why) => Err(Unanswered::Peer(why.clone())),
            Ok(link) => work(&mut link.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        done.map_err(|why| fault(&self.name, why))
    }

    fn ask<A: DeserializeOwned>(&self, path: &str, question: &impl Serialize) -> Result<A, Fault> {
        self.with(|link| link.ask(path, question))
    }
}

/// What an answer that did not come is to a service.
pub fn fault(peer: &str, why: Unanswered) -> Fault {
    use FailureClass::{NeedsPerson, Retriable};
    let peer = peer.to_owned();
    match why {
        Unanswered::Peer(why) => {
            let class = match &why {
                PeerFault::Unreachable { .. } | PeerFault::Silent { .. } => Retriable,
                PeerFault::Unknown
                | PeerFault::NoAddress
                | PeerFault::OtherKey { .. }
                | PeerFault::Stranger
                | PeerFault::Version { .. }
                | PeerFault::Garbled
                | PeerFault::NoIdentity => NeedsPerson,
            };
            (class, NotServed::Peer { peer, why }.into())
        }
        Unanswered::Failed(failed) => {
            (failed.class, NotServed::Told { peer, problem: Box::new(failed.problem) }.into())
        }
        Unanswered::Source(fault) => fault,
        Unanswered::Stuck { seconds } => (Retriable, NotServed::Stuck { seconds }.into()),
        Unanswered::Stopped => (Retriable, NotServed::Stopped.into()),
    }
}

impl Peer for Remote {
    fn look(&self, dataset: &str) -> Result<Option<Found>, Fault> {
        self.ask(wire::LOOK, &self.claim(dataset))
    }

    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> Result<(), Fault> {
        let claim = self.claim(incoming.dataset);
        let at = incoming.stamp.as_deref().and_then(|value| stamp::parse(value, &self.service));
        let props: Vec<PropertyChange> = incoming.props.clone();
        self.with(|link| link.send(wire::RECEIVE, &Receive { claim, props, at }, incoming, fill))
    }

    /// A snapshot has its stamp as it becomes visible there, or never.
    fn stamp(&self, snapshot: &str, _: &str) -> Result<(), Fault> {
        let why = ClaimFault::NotOfRelation { name: snapshot.to_owned() };
        Err((FailureClass::NeedsPerson, Failure::Service(NotServed::Claim(why))))
    }

    fn abort(&self, dataset: &str) -> Result<(), Fault> {
        self.ask(wire::ABORT, &self.claim(dataset))
    }

    fn destroy(&self, snapshot: &str, guid: u64) -> Result<(), Fault> {
        let (dataset, short) = snapshot.split_once('@').unwrap_or((snapshot, ""));
        let question = Destroy { claim: self.claim(dataset), snapshot: short.to_owned(), guid };
        self.ask(wire::DESTROY, &question)
    }

    fn adopt(&self, dataset: &str, identity: &Adopted) -> Result<(), Fault> {
        let Identity { pool_guid, dataset_guid, key } = identity.identity;
        let key = key.map(|key| *key.bytes());
        self.ask(wire::ADOPT, &Adopt { claim: self.claim(dataset), pool_guid, dataset_guid, key })
    }

    fn promoted(&self, dataset: &str) -> Result<Option<Live>, Fault> {
        self.ask(wire::PROMOTED, &self.claim(dataset))
    }
}
