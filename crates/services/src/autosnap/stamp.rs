//! How a service knows its snapshots again.

use crate::time::Time;

/// The user property.
pub const PROPERTY: &str = "org.cistern:service";

/// Whose a snapshot is. On disk: `ID LEVEL AT`, as in `auto-1 hourly 1764320662`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Of the service.
    pub service: String,
    pub level: String,
    /// The believed time at which the group was made: all of one group have the same.
    pub at: Time,
}

impl Stamp {
    /// `None`: that is none.
    pub fn parse(value: &str) -> Option<Stamp> {
        todo!()
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.service, self.level, self.at)
    }
}
