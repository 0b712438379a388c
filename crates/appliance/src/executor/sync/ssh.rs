//! Replicas on a host that has OpenZFS's commands, by SSH.
//!
//! All replicas of a session are listed at once. That is believed for a while ([`Fresh`]), then
//! all are listed anew; a dataset that was changed is by itself. Once the connection is lost, or
//! such a listing has failed, each further call fails at once.

use std::cell::RefCell;
use std::collections::BTreeMap;

use api_types::{FailureClass, SshTarget};
use engine_api::{Adopted, Cancel};
use services::autosync::stamp;

use super::super::World;
use super::super::line::{Bounds, Broken};
use super::Fault;
use super::conduit::carry;
use super::foreign;
use super::fresh::{Fresh, Wanted};
use super::host::{Bounded, Host, LISTING};
use super::peer::{Fill, Found, Incoming, Live, Peer};
use crate::RemoteFault;

/// See the module.
pub struct SshPeer<'a> {
    host: Host<'a>,
    /// Below which all replicas are.
    root: &'a str,
    /// Of the service.
    id: &'a str,
    /// All below the target is asked for, too.
    is_whole: bool,
    known: RefCell<Fresh<Found>>,
}

impl<'a> SshPeer<'a> {
    pub fn new(
        world: &'a dyn World,
        there: &'a SshTarget,
        (id, is_whole): (&'a str, bool),
        stop: &'a Cancel,
    ) -> SshPeer<'a> {
        let host = Host::new(world, there.place(), stop);
        SshPeer { host, root: &there.dataset, id, is_whole, known: RefCell::default() }
    }

    /// Does something to a snapshot, or dataset, which is read anew then.
    fn change(&self, name: &str, command: &str) -> Result<(), Fault> {
        let dataset = name.split('@').next().unwrap_or_default();
        self.known.borrow_mut().change(dataset);
        self.host.change(name, command)
    }

    /// What there is of a dataset, or of all below it too.
    fn list(&self, dataset: &str, is_whole: bool) -> Result<BTreeMap<String, Found>, Fault> {
        let (ended, text) = self.host.run(&foreign::list(dataset, is_whole))?;
        if ended.status != 0 && foreign::is_absent(&ended.said) {
            return self.host.absent(dataset).map(|()| BTreeMap::new());
        }
        self.host.judged(&ended)?;
        foreign::listed(&text, self.id).map_err(|why| self.host.fault(FailureClass::Retriable, why))
    }

    /// The guid of a snapshot, as it was listed.
    fn guid(&self, snapshot: &str) -> Option<u64> {
        let (dataset, short) = snapshot.split_once('@')?;
        let known = self.known.borrow();
        known.get(dataset)?.snapshots.iter().find(|it| it.name == short).map(|it| it.guid)
    }
}

impl Peer for SshPeer<'_> {
    fn look(&self, dataset: &str) -> Result<Option<Found>, Fault> {
        let now = self.host.now();
        let wanted = self.known.borrow().wanted(self.is_whole, now, dataset);
        match wanted {
            Wanted::Nothing => {}
            Wanted::All => {
                // What cannot be listed at once cannot be one by one either.
                let listed = self.list(self.root, true).inspect_err(|fault| self.host.lose(fault))?;
                *self.known.borrow_mut() = Fresh::of(listed, self.host.now());
            }
            Wanted::One => {
                let read = self.list(dataset, false)?.remove(dataset);
                self.known.borrow_mut().set(dataset, read);
            }
        }
        Ok(self.known.borrow().get(dataset).cloned())
    }

    fn receive(&self, incoming: &Incoming<'_>, fill: Fill<'_>) -> Result<(), Fault> {
        self.known.borrow_mut().change(incoming.dataset);
        let line = self.host.line()?;
        let command = foreign::receive(incoming.dataset, &incoming.props);
        let bounds = Bounds { silence: incoming.stuck, most: None, stop: &incoming.stop };
        let mut output = Bounded { bytes: Vec::new(), most: LISTING };
        let carried = carry(incoming, fill, |outlet| line.run(&command, outlet, &mut output, &bounds));
        if carried.is_stuck {
            return Err(Host::stuck(incoming.stuck));
        }
        match (carried.sent, carried.received) {
            (_, Err(Broken::Silent { .. })) => Err(Host::stuck(incoming.stuck)),
            (_, Err(broken)) => Err(self.host.broken(broken)),
            // Whoever did not take it to its end says why.
            (Err(_), Ok(ended)) if carried.is_deserted => {
                self.host.judged(&ended)?;
                let said = "it ended before the stream did".to_owned();
                Err(self.host.fault(FailureClass::Retriable, RemoteFault::Refused { said }))
            }
            (Err(fault), Ok(_)) => Err(fault),
            (Ok(()), Ok(ended)) => self.host.judged(&ended),
        }
    }

    fn stamp(&self, snapshot: &str, value: &str) -> Result<(), Fault> {
        let Some(guid) = self.guid(snapshot) else {
            let why = RemoteFault::Another { snapshot: snapshot.to_owned() };
            return Err(self.host.fault(FailureClass::Retriable, why));
        };
        self.change(snapshot, &foreign::set(snapshot, guid, stamp::SNAPSHOT, value))
    }

    fn abort(&self, dataset: &str) -> Result<(), Fault> {
        self.change(dataset, &foreign::abort(dataset))
    }

    fn destroy(&self, snapshot: &str, guid: u64) -> Result<(), Fault> {
        self.change(snapshot, &foreign::destroy(snapshot, guid))
    }

    /// All that it could keep, everybody there would be shown, in its command lines too.
    fn adopt(&self, _: &str, _: &Adopted) -> Result<(), Fault> {
        Ok(())
    }

    /// Who promotes a dataset there is not asked: a host has no word for it.
    fn promoted(&self, _: &str) -> Result<Option<Live>, Fault> {
        Ok(None)
    }
}
