//! How a service knows its snapshots again.
//!
//! A snapshot has its stamp as a user property from the moment it is made. It counts where it was
//! set on the snapshot itself: what a dataset hands down, or a stream brought along, is not ours. A
//! snapshot that is renamed stays ours; one that loses the property is not ours any more.

use crate::time::{FIRST, LAST, Time};

/// The user property.
pub const PROPERTY: &str = "org.cistern:service";

/// Bytes of a service's id, and of a level's name.
pub const LONGEST: usize = 32;

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
        let [service, level, at] = value.split(' ').collect::<Vec<_>>()[..] else { return None };
        let is_word = |word: &str| {
            let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
            (1..=LONGEST).contains(&word.len()) && word.bytes().all(good)
        };
        let stamp = Stamp { service: service.to_owned(), level: level.to_owned(), at: at.parse().ok()? };
        // One way of writing each: `+1` and `01` are not ours.
        let is_plain = stamp.to_string() == value && (FIRST..=LAST).contains(&stamp.at);
        (is_word(service) && is_word(level) && is_plain).then_some(stamp)
    }
}

impl std::fmt::Display for Stamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.service, self.level, self.at)
    }
}

#[cfg(test)]
mod tests;
