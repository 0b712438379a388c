//! Who has logged in by one connection, as what, and what was agreed on.
//!
//! Login makes it; from then on it does not change.
//!
//! Source: RFC 7143 4.4.3.

use scsi::Nexus;

use crate::parameters::Parameters;

/// See the module.
pub struct Member {
    pub initiator: String,
    /// As the logical units know it.
    pub nexus: Nexus,
    /// `None`: a discovery session.
    pub target: Option<String>,
    /// Who that was proved to be.
    pub user: Option<String>,
    pub parameters: Parameters,
    pub command_number: u32,
    pub status_number: u32,
    /// As its initiator calls it.
    pub connection: u16,
}

/// Whose a session is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The initiator's port, and the target's: that is the group.
    pub nexus: Nexus,
    pub target: String,
}

impl Member {
    /// Of the session, unless that is for discovery.
    pub fn name(&self) -> Option<Name> {
        self.target.as_ref().map(|target| Name { nexus: self.nexus.clone(), target: target.clone() })
    }
}
