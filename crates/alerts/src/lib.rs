//! What is wrong, found once, told once: the rules of alerts, without a clock, a file or a socket.
//!
//! Whoever looks at something ([`judge`]) says what is wrong with it: findings. The [`book`] makes
//! alerts of findings: an alert is raised when something was found long enough, stays while it is,
//! and is over when it was not found for long enough. Each such turn becomes a note in the
//! [`outbox`], a lane for each route, which says what is to be sent now; [`message`] and [`forms`]
//! make the text of it.
//!
//! Invariants:
//! - Nothing here reads a clock or draws randomness: a [`Moment`] and a number are handed in. What
//!   waits, waits by the steady clock; the wall clock is for stamps alone, so that its jumps change
//!   nothing.
//! - Open alerts, traces of those that were, lanes and messages have bounds.
//! - What cannot be seen is not over: a check that did not look changes none of its alerts.

pub mod book;
pub mod forms;
pub mod judge;
pub mod kinds;
pub mod message;
pub mod outbox;
pub mod syslog;
pub mod text;
pub mod words;

/// Now, by both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Seconds since 1970; may jump.
    pub wall: i64,
    /// Seconds since some start; never goes back.
    pub steady: u64,
}
