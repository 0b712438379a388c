//! The target side of iSCSI (RFC 7143) over `scsi` and `engine-api`.
//!
//! A connection has a thread that reads it: it logs in (`login`), then takes PDUs (`pdu`), gathers what a command writes
//! (`gather`), and hands whole commands to the connection's crew (`crew`), whose threads execute and answer them. What is
//! served as what the volumes say themselves (`share`, `catalogue`).
//!
//! ```text
//!   listen ─▶ conn ─▶ login ─▶ session ─▶ gather ─▶ crew ─▶ scsi::Target ─▶ engine
//!                                 └── catalogue ── share
//! ```
//! Invariants:
//! - No peer can make the server panic or allocate without bound: PDUs and texts are bounded before they are read, data is
//!   taken as it arrives, and what may arrive is granted by the target (`limits`).
//! - A target is visible when its volume is open, and to those initiators only that its share names.
//! - One connection a session, error recovery level 0: a session that breaks is begun anew, by its initiator's port.
//! - What outlives a session (persistent reservations) belongs to the logical unit.
//!
//! Not built: several connections a session, iSNS, error recovery levels 1 and 2, markers.

mod catalogue;
mod chap;
mod conn;
mod crew;
mod gather;
mod keys;
mod limits;
mod listen;
mod login;
mod md5;
mod parameters;
mod pdu;
mod session;
mod share;

pub use listen::{Server, ServerConfig};
pub use pdu::{Digests, Pdu, PduError};
pub use share::{PROPERTY, Share, parse as parse_share};

#[cfg(test)]
mod tests;
