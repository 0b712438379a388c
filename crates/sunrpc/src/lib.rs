//! ONC remote procedure calls (RFC 5531) as functions of byte slices.
//!
//! Layers, bottom up: [`xdr`] numbers and opaques (RFC 4506), [`record`] marking on a stream,
//! [`msg`] call and reply headers with their credentials, [`client`] a small blocking caller, and
//! [`portmap`], which tells rpcbind where a server listens (RFC 1833).
//!
//! Invariants:
//! - Decoding is total: every byte string is a value or [`xdr::Malformed`]; nothing here panics on
//!   what a peer sent.
//! - Nothing is allocated on the word of a length field alone: opaques are borrowed from the
//!   record, and a record is refused before a byte of it is read when it claims to be longer than
//!   its reader allows.
//! - No state: what a server remembers between calls (duplicates, sessions) belongs to the server.

#![deny(clippy::unwrap_used, clippy::indexing_slicing)]

pub mod client;
pub mod msg;
pub mod portmap;
pub mod record;
#[cfg(feature = "testing")]
pub mod testing;
pub mod xdr;
