//! Replicas in a pool of this machine.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;

use api_types::FailureClass;
use engine_api::{Change, DatasetKind, Engine, Error, Health, Pool, PropertyChange, ReceiveRequest, Result};
use services::autosync::stamp;
use stdx::behalf::{actor, on_behalf_of};
use stdx::patience::hurried;
use stdx::premise::{Premise, relying_on};

use super::super::carry::history;
use super::super::facts::filter;
use super::conduit::conduit;
use super::peer::{Fill, Found, Incoming, Peer};
use super::source::snapshot;
use super::{Fault, of_engine, pool_of};
use crate::NotServed;

/// See the module.
pub struct PoolPeer<'a> {
    pub engine: &'a dyn Engine,
    pub id: &'a str,
}

impl PoolPeer<'_> {
    fn commit(
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

    fn found(&self, pool: &dyn Pool, dataset: &str) -> Result<Option<Found>> {
        let status = pool.status();
        if status.health == Health::Suspended {
            return Err(Error::Suspended);
        }
        if status.readonly {
            return Err(Error::ReadOnly);
        }
        let props = [stamp::REPLICA, "readonly", "receive_resume_token"];
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
            snapshots: listed.iter().map(|info| snapshot(info, self.id, false)).collect(),
            token: head
                .value("receive_resume_token")
                .filter(|token| !matches!(*token, "" | "-"))
                .map(str::to_owned),
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
        let request = ReceiveRequest {
            target: incoming.dataset.to_owned(),
            props: incoming.props.clone(),
            resumable: true,
            history: history(self.id),
            ..ReceiveRequest::default()
        };
        let (mut inlet, mut outlet, known) =
            conduit(incoming.bytes.clone(), incoming.stuck, incoming.stop.clone());
        let actor = actor();
        let (sent, received) = thread::scope(|scope| {
            let sender = scope.spawn(move || on_behalf_of(actor, || hurried(|| fill(&mut inlet))));
            let received = pool.receive(&request, &mut outlet, &mut |_| {});
            // Whoever sends waits no more for it to be read.
            drop(outlet);
            (sender.join(), received)
        });
        let sent = sent.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if known.is_stuck.load(Relaxed) {
            let seconds = incoming.stuck.as_secs();
            return Err((FailureClass::Retriable, NotServed::Stuck { seconds }.into()));
        }
        match (sent, received) {
            // Nobody took it any more: why, the receiver says.
            (Err(_), Err(error)) if known.is_deserted.load(Relaxed) => Err(of_engine(error)),
            (Err(error), _) | (Ok(()), Err(error)) => Err(of_engine(error)),
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
}
