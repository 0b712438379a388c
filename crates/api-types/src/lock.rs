//! Locks: holds that nobody takes off before a time, which their tags say.
//!
//! A lock is a hold like any other to OpenZFS: elsewhere, too, nobody destroys the snapshot who
//! does not take the hold off first. Here it cannot be taken off before its time, and holds nothing
//! from then on.
//!
//! Invariant: what a tag says bounds how long it locks. One that is malformed, or whose time is
//! further ahead than [`FURTHEST`], is a hold like any other: whoever made the pool can keep nobody
//! from destroying a snapshot for longer.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the tag of a lock begins with. The time follows, as in `2027-01-01T00:00:00Z`.
pub const PREFIX: &str = "org.cistern:locked-until:";
/// Seconds for which a snapshot can be locked: ten years.
pub const LONGEST: i64 = 3_653 * 86_400;
/// Seconds from now to the end of a lock that is heeded: more than any that was made by a clock
/// that was right.
pub const FURTHEST: i64 = 2 * LONGEST;

/// `POST /v1/locks`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LockRequest {
    pub snapshots: Vec<String>,
    /// Seconds since 1970; later than any lock that they have.
    pub until: i64,
    /// Those of the same name below, too.
    #[serde(default)]
    pub recursive: bool,
    #[serde(default)]
    pub history: String,
}

/// The tag of a lock until a time in seconds since 1970. `None`: no tag says that.
pub fn tag(until: i64) -> Option<String> {
    let until = Timestamp::from_second(until).ok()?;
    Some(format!("{PREFIX}{until}"))
}

/// The time of a lock, as its tag has it.
pub fn time(until: i64) -> String {
    tag(until).map_or_else(|| until.to_string(), |tag| tag[PREFIX.len()..].to_owned())
}

/// Whether a tag is meant to lock, whether it is well formed or not.
pub fn is_meant(tag: &str) -> bool {
    tag.starts_with(PREFIX)
}

/// Until when a tag says that it locks. `None`: it is none that [`tag`] makes.
pub fn until(tag: &str) -> Option<i64> {
    let time: Timestamp = tag.strip_prefix(PREFIX)?.parse().ok()?;
    let until = time.as_second();
    (self::tag(until).as_deref() == Some(tag)).then_some(until)
}

/// Until when a hold with this tag cannot be taken off. `None`: now it can.
pub fn locked_until(tag: &str, now: i64) -> Option<i64> {
    until(tag).filter(|until| *until > now && until.saturating_sub(now) <= FURTHEST)
}

/// Whether it was a lock, and holds nothing any more.
pub fn is_over(tag: &str, now: i64) -> bool {
    until(tag).is_some_and(|until| until <= now)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_795_843_462;

    #[test]
    fn a_tag_says_until_when_and_in_one_form() {
        let made = tag(NOW).expect("a tag");
        assert_eq!(made, "org.cistern:locked-until:2026-11-28T05:24:22Z");
        assert_eq!(until(&made), Some(NOW));
        for other in [
            "",
            "keep",
            "org.cistern:locked-until:",
            "org.cistern:locked-until:soon",
            "org.cistern:locked-until:2026-11-28T05:24:22",
            "org.cistern:locked-until:2026-11-28T06:24:22+01:00",
            "org.cistern:locked-until:2026-11-28T05:24:22.5Z",
            "org.cistern:locked-until:2026-11-28 05:24:22Z",
            "org.cistern:locked-until:99999-01-01T00:00:00Z",
            " org.cistern:locked-until:2026-11-28T05:24:22Z",
        ] {
            assert_eq!((until(other), locked_until(other, 0), is_over(other, i64::MAX)), (None, None, false));
        }
    }

    #[test]
    fn it_locks_up_to_its_time_and_never_for_longer_than_any_is_made() {
        let made = tag(NOW + 100).expect("a tag");
        assert_eq!(locked_until(&made, NOW), Some(NOW + 100));
        assert_eq!(locked_until(&made, NOW + 99), Some(NOW + 100));
        assert!(locked_until(&made, NOW + 100).is_none() && is_over(&made, NOW + 100));
        assert!(!is_over(&made, NOW + 99));
        let far = tag(NOW + FURTHEST + 1).expect("a tag");
        assert!(locked_until(&far, NOW).is_none() && !is_over(&far, NOW), "a hold like any other");
        let last = "org.cistern:locked-until:9999-12-30T22:00:00Z";
        assert!(until(last).is_some() && locked_until(last, NOW).is_none());
    }
}
