//! How a service knows its snapshots and replicas again.
//!
//! Both are user properties that were set on the snapshot, or dataset, itself: what a dataset hands
//! down, or a stream brought along, does not count.

use crate::time::{FIRST, LAST, Time};

/// Of a snapshot: whose it is. On disk: `ID AT`, as in `offsite 1795843462`.
pub const SNAPSHOT: &str = "org.cistern:sync";

pub use api_types::{IDENTITY, REPLICA};

/// The value of [`SNAPSHOT`], for one that this service made then.
pub fn written(service: &str, at: Time) -> String {
    format!("{service} {at}")
}

/// When this service made a snapshot that has this value; `None`: it is not this service's.
pub fn parse(value: &str, service: &str) -> Option<Time> {
    let at = value.strip_prefix(service)?.strip_prefix(' ')?.parse().ok()?;
    // One way of writing it: `+1` and `01` are not ours.
    ((FIRST..=LAST).contains(&at) && written(service, at) == value).then_some(at)
}

/// The value of [`REPLICA`], for a source of this guid.
pub fn relation(service: &str, source: u64) -> String {
    format!("{service} {source}")
}

/// Whose replica has this value, and of which source; `None`: it makes no sense.
pub fn parse_relation(value: &str) -> Option<(&str, u64)> {
    let (service, source) = value.split_once(' ')?;
    let source = source.parse().ok()?;
    (relation(service, source) == value).then_some((service, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relation_is_read_as_it_was_written_and_no_other_way() {
        assert_eq!(parse_relation(&relation("away", 7)), Some(("away", 7)));
        for bad in ["", "away", "away 07", "away +7", "away 7 ", "away x"] {
            assert_eq!(parse_relation(bad), None, "{bad}");
        }
    }
}
