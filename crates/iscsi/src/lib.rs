//! The target side of iSCSI (RFC 7143) over `scsi` and `engine-api`.
//!
//! A connection comes through a portal (`portal`) and has a thread that reads it (`conn`): its
//! initiator logs in (`login`) to a session that there is or that it begins (`sessions`), then the
//! thread takes PDUs (`pdu`), gathers what a command writes (`gather`), and hands whole commands to
//! the session (`session`), which has them executed, by their reader or its crew, and answered by
//! their connection. What is served is what the volumes say themselves (`share`, `catalogue`). The
//! crew ([`sockets::workers`]), the box for answers ([`sockets::outbox`]) and the keepers of what
//! has to be on stable storage first ([`sockets::keepers`]) are those of all servers.
//!
//! ```text
//!   listen ─▶ conn ─▶ login ─▶ house ─▶ sessions ─▶ session ─▶ crew ─▶ scsi::Target ─▶ engine
//!     │        └── requests                 │          ├── connection ─▶ gather, keepers, outbox
//!     └── watch: what nobody asks for ──────┘          └── catalogue ── share
//! ```
//! Invariants:
//! - No peer can make the server panic or allocate without bound: PDUs and texts are bounded before
//!   they are read, data is taken as it arrives, and what may arrive is granted by the target
//!   (`limits`). What commands bring, and what they ask for, is leased before that is held
//!   ([`sockets::budget`]), until it is on the wire.
//! - A target is visible when its volume is open, and to those initiators only that its share
//!   names.
//! - Error recovery level 0: a session that breaks, by any of its connections, is begun anew, by
//!   its initiator's port.
//! - What outlives a session (persistent reservations) belongs to the logical unit.
//!
//! Not built: iSNS, error recovery levels 1 and 2, markers.

mod binary;
mod catalogue;
mod cdb;
mod chap;
mod conn;
mod gather;
mod guard;
mod house;
mod keys;
mod limits;
mod listen;
mod login;
mod md5;
mod member;
mod parameters;
mod pdu;
mod portal;
mod requests;
mod seal;
mod session;
mod sessions;
mod share;
mod stats;
mod watch;

pub use listen::{Server, ServerConfig};
pub use pdu::{Digests, Pdu, PduError};
pub use portal::Portal;
pub use seal::{sealed, unsealed, without_secrets};
pub use share::{PROPERTY, Share, parse as parse_share};
pub use stats::{InitiatorCounts, KindCounts, ServerStats, SessionStats, Tally, UnitStats};

#[cfg(test)]
mod tests;
