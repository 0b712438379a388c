//! The management API's server: HTTP and JSON on a Unix socket, and the only home of async.
//!
//! A handler parses, hops to a blocking thread at once and calls the engine there; nothing of the engine ever runs on
//! the runtime's own threads. Work that may take long becomes a job. Every `engine_api::Error` becomes a problem in one
//! function ([`problem`]). Bodies are bounded, but for
//! streams ([`flow`]); the socket belongs to its owner alone (mode 0600).

mod app;
mod caller;
mod convert;
mod flow;
mod handlers;
mod jobs;
mod local;
mod mounting;
mod problem;
mod server;

pub use local::{LocalMount, LocalMounts, LocalShare, MountSpec};
pub use server::{ApiServer, Config, listen, serve};
