//! Sends a message by a route: mail, webhook or syslog.
//!
//! The other end is named by an administrator, but who answers there may be anybody, and may mean
//! no good: silent, endless, or sending elsewhere. Each call has its own small runtime, which is
//! left behind when the time is over.
//!
//! Invariants:
//! - A call ends within the time that it is given, whatever the other end does.
//! - No redirection is followed; of an answer so many bytes are read, and none is told.
//! - A secret is sent over TLS, or where an administrator has said that there is none.

mod mail;
mod syslog;
mod tls;
mod webhook;

use std::fmt;
use std::time::Duration;

use alerts::message::Message;
use api_types::RouteTarget;
use tokio::runtime::Builder;
use tokio::time::timeout;

pub use mail::is_address;
pub use tls::are_roots;
pub use webhook::{host_of, is_url};

/// Why a message did not arrive, as far as is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// There was no answer in time.
    Silent(Duration),
    /// There is nobody, or nobody who can be trusted.
    Unreachable(String),
    /// The other end has refused it.
    Refused(String),
    /// It cannot be sent: what is set makes no sense, or something failed here.
    Here(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Silent(time) => write!(f, "there was no answer within {} s", time.as_secs()),
            Failure::Unreachable(why) => write!(f, "it cannot be reached: {why}"),
            Failure::Refused(why) => write!(f, "it was refused: {why}"),
            Failure::Here(why) => write!(f, "it cannot be sent: {why}"),
        }
    }
}

/// Sends a message within `time`. Blocks.
pub fn send(
    target: &RouteTarget,
    secret: Option<&str>,
    message: &Message,
    time: Duration,
) -> Result<(), Failure> {
    let runtime = Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::Here(error.to_string()))?;
    let work = async {
        match target {
            RouteTarget::Mail(mail) => mail::send(mail, secret, message, time).await,
            RouteTarget::Webhook(webhook) => webhook::send(webhook, secret, message).await,
            RouteTarget::Syslog(place) => syslog::send(place, message).await,
        }
    };
    let outcome = runtime.block_on(async { timeout(time, work).await });
    let outcome = outcome.unwrap_or(Err(Failure::Silent(time)));
    // A look-up of a name that does not end is not waited for.
    runtime.shutdown_background();
    outcome
}
