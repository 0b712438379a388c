//! Other appliances: how one is known, how two become peers, and how one asks the other.
//!
//! Each appliance has a certificate that signs itself, and is known by that certificate's
//! fingerprint alone. Peers speak TLS 1.3, in which each proves that it has the key of its
//! certificate ([`tls`]), and HTTP/1.1 inside ([`wire`]), on the port of the management API: what a
//! peer wants is told from the rest by ALPN. What a peer may do is decided by
//! [`appliance::replication::Guest`].
//!
//! Invariants:
//! - What shows another certificate than the one that is known is asked nothing, and nothing is
//!   done for it.
//! - Two become peers by fingerprints that people compare, or by a code ([`pairing`]): whoever
//!   stands between them and does not know the code is no peer of either, and a code is tried three
//!   times at most.
//! - Members of a group make each other known ([`group`]), and give each other no rights.
//! - Every call ends: an answer has a time and a size, and a stream moves or is broken off.

pub mod ahead;
mod book;
mod group;
mod identity;
mod line;
mod link;
mod pairing;
mod remote;
mod source;
pub mod tls;
pub mod wire;

pub use book::{Book, Refused};
pub use identity::Identity;
pub use line::fault;
pub use link::{Link, Unanswered};
pub use remote::Remote;
pub use source::Sources;
