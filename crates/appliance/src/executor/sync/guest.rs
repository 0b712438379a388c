//! What another appliance may do here: to replicas that it keeps here, and, of [`reading`], to
//! sources that it pulls; nothing else.
//!
//! Invariants:
//! - Nothing is read or changed but replicas of the relation that is claimed, at or below what was
//!   granted. Of anything else that stands in the way no more is told than that it is there.
//! - A replica has readonly=on and canmount=noauto, and of the properties that come along only
//!   those that say how data is written. A stream is of one snapshot: it brings no property.
//! - What a snapshot is known by is set as it becomes visible: what somebody else made of a replica
//!   never becomes a peer's, and is never destroyed by one.
//! - Who may only append destroys nothing: neither what is there, nor by making it be rolled back,
//!   for nothing is received by force.

mod reading;

use std::io::Read;

use api_types::{ClaimFault, FailureClass, PeerGrant, PeerRead, PropertyChange};
use engine_api::{Adopted, Change, DatasetKind, Engine, Identity};
use serde::{Deserialize, Serialize};
use services::autosync::plan::beyond;
use services::autosync::stamp;
use services::instance::is_id;
use services::names::is_dataset;
use services::time::Time;
use stdx::names::is_at_or_below;

use super::super::facts::filter;
use super::peer::{Found, Live, Peer};
use super::pool::PoolPeer;
use super::{Fault, GIVEN, of_engine, pool_of};
use crate::NotServed;
pub use reading::{Offered, ReadClaim};

/// Which replica a peer asks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// Of the peer's, that replicates.
    pub service: String,
    /// guid of the dataset that is replicated.
    pub source: u64,
    /// Here.
    pub dataset: String,
}

/// What was done with a stream.
pub enum Taken<'a> {
    /// A snapshot is there; `is_new`: of a replica that was not.
    Received { is_new: bool },
    /// One that is kept no longer.
    Destroyed { snapshot: &'a str },
}

/// Is told what was done, as it is.
type Tell<'a> = dyn FnMut(Taken<'_>) + 'a;

/// Another appliance, by its name here.
pub struct Guest<'a> {
    pub engine: &'a dyn Engine,
    pub name: &'a str,
    pub grants: &'a [PeerGrant],
    pub reads: &'a [PeerRead],
}

fn refused(why: ClaimFault) -> Fault {
    (FailureClass::NeedsPerson, NotServed::Claim(why).into())
}

/// What was found, if it is the replica of a claim.
fn owned(claim: &Claim, found: Option<Found>) -> Result<Found, Fault> {
    let relation = stamp::relation(&claim.service, claim.source);
    let own = found.filter(|found| found.relation.as_deref() == Some(&*relation));
    own.ok_or_else(|| refused(ClaimFault::NotOfRelation { name: claim.dataset.clone() }))
}

impl Guest<'_> {
    /// What the peer's service is called here: no service of this machine is called so.
    fn id(&self, claim: &Claim) -> String {
        format!("{}/{}", self.name, claim.service)
    }

    /// The grant that a claim stands on.
    fn granted(&self, claim: &Claim) -> Result<&PeerGrant, Fault> {
        if !is_id(&claim.service) {
            return Err(refused(ClaimFault::Service));
        }
        if !is_dataset(&claim.dataset) {
            return Err(refused(ClaimFault::Name { name: claim.dataset.clone() }));
        }
        let has = |grant: &&PeerGrant| is_at_or_below(&claim.dataset, &grant.dataset);
        // Of two that lie in one another, the lower one counts.
        let grant = self.grants.iter().filter(has).max_by_key(|grant| grant.dataset.len());
        grant.ok_or_else(|| refused(ClaimFault::NotGranted { dataset: claim.dataset.clone() }))
    }

    fn relation(&self, claim: &Claim) -> String {
        stamp::relation(&self.id(claim), claim.source)
    }

    /// What is there, with the relation as the peer knows it.
    pub fn look(&self, claim: &Claim) -> Result<Option<Found>, Fault> {
        let grant = self.granted(claim)?;
        let id = self.id(claim);
        let Some(found) = PoolPeer { engine: self.engine, id: &id }.look(&claim.dataset)? else {
            return Ok(None);
        };
        if found.relation.as_deref() != Some(&*self.relation(claim)) {
            let relation = found.relation.map(|_| "of another".to_owned());
            return Ok(Some(Found { relation, ..Found::default() }));
        }
        let relation = Some(stamp::relation(&claim.service, claim.source));
        let keeps = grant.append_only || grant.keep.is_some();
        Ok(Some(Found { relation, keeps, ..found }))
    }

    /// The replica of a claim; refused where what is there is none.
    fn own(&self, claim: &Claim) -> Result<Found, Fault> {
        owned(claim, self.look(claim)?)
    }

    /// Takes a stream in. `props`: what the peer would have a new replica given. `at`: when its
    /// service made the snapshot, if it did. `tell` is told what was done, as it is.
    pub fn receive(
        &self,
        claim: &Claim,
        (props, at): (Vec<PropertyChange>, Option<Time>),
        (stream, tell): (&mut dyn Read, &mut Tell<'_>),
        now: Time,
    ) -> Result<(), Fault> {
        let grant = self.granted(claim)?;
        let id = self.id(claim);
        let found = self.look(claim)?;
        let is_new = found.is_none();
        let props = match is_new {
            true => self.given(claim, props),
            false => owned(claim, found).map(|_| Vec::new())?,
        };
        let peer = PoolPeer { engine: self.engine, id: &id };
        peer.take(&claim.dataset, props, at.map(|at| stamp::written(&id, at)), stream)?;
        tell(Taken::Received { is_new });
        if is_new {
            self.keep_unmounted(claim)?;
        }
        if let Some(keep) = &grant.keep {
            let found = self.own(claim)?;
            let newest = found.snapshots.iter().max_by_key(|it| it.createtxg).map(|it| it.guid);
            for old in beyond(keep, &found.snapshots, newest, now) {
                let name = format!("{}@{}", claim.dataset, old.name);
                peer.destroy(&name, old.guid)?;
                tell(Taken::Destroyed { snapshot: &name });
            }
        }
        Ok(())
    }

    fn given(&self, claim: &Claim, asked: Vec<PropertyChange>) -> Vec<PropertyChange> {
        let prop = |name: &str, value: &str| PropertyChange { name: name.into(), value: value.into() };
        let is_file_system = asked.iter().any(|it| it.name == "canmount");
        let mut props: Vec<PropertyChange> =
            asked.into_iter().filter(|it| GIVEN.contains(&&*it.name)).collect();
        props.push(prop("readonly", "on"));
        props.push(prop(stamp::REPLICA, &self.relation(claim)));
        if is_file_system {
            props.push(prop("canmount", "noauto"));
        }
        props
    }

    /// A peer may have said that a file system is a volume.
    fn keep_unmounted(&self, claim: &Claim) -> Result<(), Fault> {
        let pool = pool_of(self.engine, &claim.dataset)?;
        let wanted = filter(&claim.dataset, Some(0), &[], &["canmount"]);
        let heads = pool.datasets(&wanted).map_err(of_engine)?;
        let is_open = heads.first().is_some_and(|head| {
            head.kind == DatasetKind::Filesystem && head.value("canmount") != Some("noauto")
        });
        if !is_open {
            return Ok(());
        }
        let props = vec![PropertyChange { name: "canmount".to_owned(), value: "noauto".to_owned() }];
        let change = Change::SetProperties { name: claim.dataset.clone(), props };
        let id = self.id(claim);
        PoolPeer { engine: self.engine, id: &id }.commit(&claim.dataset, Vec::new(), &change)
    }

    /// Has a replica keep what clients know its original by. It sleeps there, until somebody here
    /// promotes the replica.
    pub fn adopt(&self, claim: &Claim, identity: Identity) -> Result<(), Fault> {
        self.own(claim)?;
        let id = self.id(claim);
        let adopted = Adopted { identity, is_live: false };
        PoolPeer { engine: self.engine, id: &id }.adopt(&claim.dataset, &adopted)
    }

    /// What became of a replica that was promoted here; `None`: it was not.
    pub fn promoted(&self, claim: &Claim) -> Result<Option<Live>, Fault> {
        self.granted(claim)?;
        let id = self.id(claim);
        PoolPeer { engine: self.engine, id: &id }.promoted(&claim.dataset)
    }

    pub fn abort(&self, claim: &Claim) -> Result<(), Fault> {
        self.own(claim)?;
        let id = self.id(claim);
        PoolPeer { engine: self.engine, id: &id }.abort(&claim.dataset)
    }

    pub fn destroy(&self, claim: &Claim, snapshot: &str, guid: u64) -> Result<(), Fault> {
        let grant = self.granted(claim)?;
        if grant.append_only || grant.keep.is_some() {
            return Err(refused(ClaimFault::AppendOnly));
        }
        let found = self.own(claim)?;
        let name = format!("{}@{snapshot}", claim.dataset);
        let known = |it: &&services::autosync::view::Snapshot| {
            it.name == snapshot && it.guid == guid && it.stamp.is_some()
        };
        if !found.snapshots.iter().any(|it| known(&it)) {
            return Err(refused(ClaimFault::NotOfRelation { name }));
        }
        let id = self.id(claim);
        PoolPeer { engine: self.engine, id: &id }.destroy(&name, guid)
    }
}
