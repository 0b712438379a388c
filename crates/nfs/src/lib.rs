//! NFSv3 and MOUNT (RFC 1813) over `engine-api`.
//!
//! A record travels `listen` (sockets) → `conn` (who works on it) → [`Service`] (RPC, duplicate
//! requests) → `v3` (one function a procedure) → engine, and its reply back through
//! [`sockets::outbox`]. What a READ found is written to the socket from where the engine keeps it;
//! what a WRITE brings lies in the buffer the socket was read into.
//!
//! Invariants:
//! - A client holds nothing but handles, and the server remembers nothing a restart may not lose:
//!   the duplicate request cache and the list of mounts only make life smoother.
//! - Rights are looked up at every call: the export's rules by the handle's file system, then the
//!   engine's own permission checks with the squashed credential.
//! - No peer can make the server panic or allocate without bound: decoding is total, what a call
//!   brings and what its reply may be is leased before it is worked on ([`sockets::budget`]),
//!   queues have limits (`limits`), and a full queue makes the reader work instead of reading on.
//! - `status` is the one place where an engine error becomes a status.

mod conn;
mod context;
mod drc;
mod export;
mod handle;
mod limits;
mod listen;
mod mount;
mod service;
mod shares;
mod stats;
mod status;
mod v3;

pub use export::{ExportOptions, Host, NOBODY, Rule, Squash, parse as parse_sharenfs};
pub use handle::Handle;
pub use limits::MAX_TRANSFER;
pub use listen::{Server, ServerConfig};
pub use service::{Answer, Reply, Service, Session};
pub use stats::{ClientCounts, PROCEDURES, ServerStats};
pub use status::Status;
pub use v3::procedure;
