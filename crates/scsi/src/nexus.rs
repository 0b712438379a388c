//! A nexus: what reservations, attentions, copies and the commands of a session go by.
//!
//! Source: SAM-5 4.

use std::sync::Arc;

/// An initiator's port, and the port of the target that it came through.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Nexus {
    /// As persistent reservations name it: `iqn.…,i,0x…`.
    pub initiator: Arc<str>,
    /// The relative identifier of the target's.
    pub port: u16,
}

impl Nexus {
    pub fn new(initiator: &str, port: u16) -> Nexus {
        Nexus { initiator: initiator.into(), port }
    }
}
