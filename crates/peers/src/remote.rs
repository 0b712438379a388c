//! Replicas on another appliance.

use std::collections::BTreeMap;

use api_types::{ClaimFault, FailureClass, PeerFault};
use appliance::replication::{Claim, Fault, Fill, Found, Incoming, Live, Peer, stamp};
use appliance::{Failure, NotServed};
use engine_api::{Adopted, Identity, PropertyChange};

use crate::line::Line;
use crate::link::Link;
use crate::wire::{self, Adopt, Destroy, Receive};

/// The replicas of a service.
pub struct Remote {
    line: Line,
    service: String,
    /// A replica → the guid of its source.
    sources: BTreeMap<String, u64>,
}

impl Remote {
    pub fn new(
        name: String,
        service: String,
        sources: BTreeMap<String, u64>,
        link: Result<Link, PeerFault>,
    ) -> Remote {
        Remote { line: Line::new(name, link), service, sources }
    }

    fn claim(&self, dataset: &str) -> Claim {
        // What is no replica of a source is none of the claim's relation.
        let source = self.sources.get(dataset).copied().unwrap_or_default();
        Claim { service: self.service.clone(), source, dataset: dataset.to_owned() }
    }
}

impl Peer for Remote {
    fn look(&self, dataset: &str) -> Result<Option<Found>, Fault> {
        self.line.ask(wire::LOOK, &self.claim(dataset))
    }

    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> Result<(), Fault> {
        let claim = self.claim(incoming.dataset);
        let at = incoming.stamp.as_deref().and_then(|value| stamp::parse(value, &self.service));
        let props: Vec<PropertyChange> = incoming.props.clone();
        self.line.with(|link| link.send(wire::RECEIVE, &Receive { claim, props, at }, incoming, fill))
    }

    /// A snapshot has its stamp as it becomes visible there, or never.
    fn stamp(&self, snapshot: &str, _: &str) -> Result<(), Fault> {
        let why = ClaimFault::NotOfRelation { name: snapshot.to_owned() };
        Err((FailureClass::NeedsPerson, Failure::Service(NotServed::Claim(why))))
    }

    fn abort(&self, dataset: &str) -> Result<(), Fault> {
        self.line.ask(wire::ABORT, &self.claim(dataset))
    }

    fn destroy(&self, snapshot: &str, guid: u64) -> Result<(), Fault> {
        let (dataset, short) = snapshot.split_once('@').unwrap_or((snapshot, ""));
        let question = Destroy { claim: self.claim(dataset), snapshot: short.to_owned(), guid };
        self.line.ask(wire::DESTROY, &question)
    }

    fn adopt(&self, dataset: &str, identity: &Adopted) -> Result<(), Fault> {
        let Identity { pool_guid, dataset_guid, key } = identity.identity;
        let key = key.map(|key| *key.bytes());
        self.line.ask(wire::ADOPT, &Adopt { claim: self.claim(dataset), pool_guid, dataset_guid, key })
    }

    fn promoted(&self, dataset: &str) -> Result<Option<Live>, Fault> {
        self.line.ask(wire::PROMOTED, &self.claim(dataset))
    }
}
