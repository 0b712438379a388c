//! Replicas in a pool of this machine.

use std::collections::BTreeSet;
use std::io::Read;

use api_types::FailureClass;
use engine_api::{
    Adopted, Change, DatasetInfo, DatasetKind, Engine, Error, Health, Pool, PropertyChange, ReceiveRequest,
    Result,
};
use services::autosync::stamp;
use stdx::premise::{Premise, relying_on};

use super::super::carry::history;
use super::super::facts::filter;
use super::conduit::carry;
use super::peer::{Fill, Found, Incoming, Live, Peer};
use super::source::snapshot;
use super::{Fault, of_engine, pool_of};
use crate::NotServed;

/// See the module.
pub struct PoolPeer<'a> {
    pub engine: &'a dyn Engine,
    pub id: &'a str,
}

/// guids of the snapshots of a dataset that this service has made.
pub fn marked(pool: &dyn Pool, dataset: &str, id: &str) -> Result<BTreeSet<u64>> {
    let listed = pool.datasets(&filter(dataset, Some(1), &[DatasetKind::Snapshot], &[stamp::SNAPSHOT]))?;
    let is_own = |info: &&DatasetInfo| {
        info.own(stamp::SNAPSHOT).is_some_and(|value| stamp::parse(value, id).is_some())
    };
    Ok(listed.iter().filter(is_own).map(|info| info.guid).collect())
}

impl PoolPeer<'_> {
    pub(super) fn commit(
        &self,
        dataset: &str,
        things: Vec<(String, u64)>,
        change: &Change,
    ) -> std::result::Result<(), Fault> {
        let pool = pool_of(self.engine, dataset)?;
        let premise = (!things.is_empty()).then_some(Premise::Same { things });
        let commit = || pool.commit(change, &history(self.id));
        relying_on(premise, commit).map(drop).map_err(of_engine)
    }

    /// Takes a stream in, which comes from elsewhere.
    pub(super) fn take(
        &self,
        dataset: &str,
        props: Vec<PropertyChange>,
        stamp: Option<String>,
        stream: &mut dyn Read,
    ) -> std::result::Result<(), Fault> {
        let pool = pool_of(self.engine, dataset)?;
        let request = self.request(dataset, props, stamp);
        pool.receive(&request, stream, &mut |_| {}).map(drop).map_err(of_engine)
    }

    fn request(&self, dataset: &str, props: Vec<PropertyChange>, stamp: Option<String>) -> ReceiveRequest {
        let mark = |value| PropertyChange { name: stamp::SNAPSHOT.to_owned(), value };
        ReceiveRequest {
            target: dataset.to_owned(),
            props,
            marks: stamp.map(mark).into_iter().collect(),
            resumable: true,
            single: true,
            history: history(self.id),
            ..ReceiveRequest::default()
        }
    }

    /// What has snapshots of this service, and is no replica any more.
    fn live(&self, pool: &dyn Pool, dataset: &str) -> Result<Option<Live>> {
        let heads = pool.datasets(&filter(dataset, Some(0), &[], &[stamp::REPLICA]))?;
        let Some(head) = heads.first().filter(|head| head.own(stamp::REPLICA).is_none()) else {
            return Ok(None);
        };
        let snapshots = marked(pool, dataset, self.id)?;
        // Without any it was never a replica of this service's.
        Ok((!snapshots.is_empty()).then_some(Live { guid: head.guid, snapshots }))
    }

    fn found(&self, pool: &dyn Pool, dataset: &str) -> Result<Option<Found>> {
        let status = pool.status();
        if status.health == Health::Suspended {
            return Err(Error::Suspended);
        }
        if status.readonly {
            return Err(Error::ReadOnly);
        }
        let props = [stamp::REPLICA, stamp::IDENTITY, "readonly", "receive_resume_token"];
        let heads = match pool.datasets(&filter(dataset, Some(0), &[], &props)) {
            Ok(heads) => heads,
            Err(Error::NotFound) => return Ok(None),
            Err(error) => return Err(error),
        };
        let Some(head) = heads.first() else { return Ok(None) };
        let props = ["userrefs", "numclones", stamp::SNAPSHOT];
        let listed = pool.datasets(&filter(dataset, Some(1), &[DatasetKind::Snapshot], &props))?;
        Ok(Some(Found {
            relation: head.own(stamp::REPLICA).map(str::to_owned),
            readonly: head.value("readonly") == Some("on"),
            keeps: false,
            snapshots: listed.iter().map(|info| snapshot(info, self.id, false)).collect(),
            token: head
                .value("receive_resume_token")
                .filter(|token| !matches!(*token, "" | "-"))
                .map(str::to_owned),
            known_as: head.own(stamp::IDENTITY).and_then(Adopted::parse).map(|it| it.identity.guids()),
        }))
    }
}

impl Peer for PoolPeer<'_> {
    fn look(&self, dataset: &str) -> std::result::Result<Option<Found>, Fault> {
        let pool = pool_of(self.engine, dataset)?;
        self.found(&*pool, dataset).map_err(|error| match error {
            // It may be imported otherwise, as it may be imported at all.
            Error::ReadOnly => (FailureClass::Retriable, Error::ReadOnly.into()),
            other => of_engine(other),
        })
    }

    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> std::result::Result<(), Fault> {
        let pool = pool_of(self.engine, incoming.dataset)?;
        let request = self.request(incoming.dataset, incoming.props.clone(), incoming.stamp.clone());
        let carried = carry(incoming, fill, |outlet| pool.receive(&request, outlet, &mut |_| {}));
        if carried.is_stuck {
            let seconds = incoming.stuck.as_secs();
            return Err((FailureClass::Retriable, NotServed::Stuck { seconds }.into()));
        }
        match (carried.sent, carried.received) {
            // Nobody took it any more: why, the receiver says.
            (Err(_), Err(error)) if carried.is_deserted => Err(of_engine(error)),
            (Err(fault), _) => Err(fault),
            (Ok(()), Err(error)) => Err(of_engine(error)),
            (Ok(()), Ok(_)) => Ok(()),
        }
    }

    fn stamp(&self, snapshot: &str, value: &str) -> std::result::Result<(), Fault> {
        let props = vec![PropertyChange { name: stamp::SNAPSHOT.to_owned(), value: value.to_owned() }];
        self.commit(snapshot, Vec::new(), &Change::SetProperties { name: snapshot.to_owned(), props })
    }

    fn abort(&self, dataset: &str) -> std::result::Result<(), Fault> {
        self.commit(dataset, Vec::new(), &Change::AbortReceive { name: dataset.to_owned() })
    }

    fn destroy(&self, snapshot: &str, guid: u64) -> std::result::Result<(), Fault> {
        let change = Change::Destroy { names: vec![snapshot.to_owned()], defer: false };
        self.commit(snapshot, vec![(snapshot.to_owned(), guid)], &change)
    }

    fn adopt(&self, dataset: &str, identity: &Adopted) -> std::result::Result<(), Fault> {
        let props = vec![PropertyChange { name: stamp::IDENTITY.to_owned(), value: identity.written() }];
        self.commit(dataset, Vec::new(), &Change::SetProperties { name: dataset.to_owned(), props })
    }

    fn promoted(&self, dataset: &str) -> std::result::Result<Option<Live>, Fault> {
        let pool = pool_of(self.engine, dataset)?;
        self.live(&*pool, dataset).map_err(of_engine)
    }
}
