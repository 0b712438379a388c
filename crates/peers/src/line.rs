//! A peer that a service works with: one connection, on which one question is asked at a time, and
//! what an answer that did not come is to the service.

use std::sync::{Mutex, PoisonError};

use api_types::{FailureClass, PeerFault};
use appliance::NotServed;
use appliance::replication::Fault;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::link::{Link, Unanswered};

/// See the module.
pub struct Line {
    peer: String,
    /// `Err`: it cannot be asked.
    link: Result<Mutex<Link>, PeerFault>,
}

impl Line {
    pub fn new(peer: String, link: Result<Link, PeerFault>) -> Line {
        Line { peer, link: link.map(Mutex::new) }
    }

    pub fn with<T>(&self, work: impl FnOnce(&mut Link) -> Result<T, Unanswered>) -> Result<T, Fault> {
        let done = match &self.link {
            Err(why) => Err(Unanswered::Peer(why.clone())),
            Ok(link) => work(&mut link.lock().unwrap_or_else(PoisonError::into_inner)),
        };
        done.map_err(|why| self.fault(why))
    }

    pub fn ask<A: DeserializeOwned>(&self, path: &str, question: &impl Serialize) -> Result<A, Fault> {
        self.with(|link| link.ask(path, question))
    }

    /// As [`fault`].
    pub fn fault(&self, why: Unanswered) -> Fault {
        fault(&self.peer, why)
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
