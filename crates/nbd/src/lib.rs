//! Volumes as network block devices on a Unix socket, for programs of this machine: qemu, libnbd,
//! the kernel's own client.
//!
//! A connection negotiates which volume it wants (`handshake`), then sends requests
//! (`transmission`). Which volumes there are is asked of [`Exports`] anew each time. The protocol
//! is "The NBD protocol", doc/proto.md of github:NetworkBlockDevice/nbd: fixed newstyle, structured
//! replies, the metadata context `base:allocation`.
//!
//! Invariants:
//! - No peer can make the server panic or allocate without bound (`wire`).
//! - Who may connect is the socket's mode: there is no TLS, so nothing is offered to other
//!   machines.
//! - A flush answered is a flush done; one connection's covers what was answered on every other.
//!
//! Not built: TLS, extended headers, resizing, caching on request.

mod exports;
mod handshake;
mod listen;
mod stats;
mod transmission;
mod wire;

pub use exports::{EngineVolumes, Exports};
pub use listen::Server;
pub use stats::ServerStats;
