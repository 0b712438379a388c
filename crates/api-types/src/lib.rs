//! What an operator sees of an appliance and asks of it: plain data, each defined once, with names
//! that stay, for they go over the wire of the management API. The engine gives and takes the same
//! types.
//!
//! HTTP and JSON under `/v1` (see [`routes`]) on a Unix socket and over HTTPS. Reading answers at
//! once; what may take long is a POST or DELETE that answers with a [`Job`] to wait for. Every
//! refusal is a [`Problem`]. Unknown fields in a request are an error, so that a misspelt option
//! never passes silently; unknown fields in an answer are to be ignored.

mod account;
mod alert;
mod allow;
mod analytics;
mod autosnap;
mod autosync;
mod autotier;
mod condition;
mod dataset;
mod dedup;
mod disk;
mod event;
mod file;
mod fingerprint;
mod history;
mod inject;
mod iscsi;
mod job;
mod keeping;
mod known;
pub mod lock;
mod measure;
mod mount;
mod notify;
mod passkey;
mod peer;
mod pool;
mod problem;
mod project;
mod property;
mod replica;
pub mod routes;
mod schedule;
mod service;
mod service_request;
mod shell;
mod statistics;
mod stream;
mod trace;
mod tunable;
mod upgrade;
mod warning;
mod worksheets;

pub use account::*;
pub use alert::*;
pub use allow::*;
pub use analytics::*;
pub use autosnap::*;
pub use autosync::*;
pub use autotier::*;
pub use condition::*;
pub use dataset::*;
pub use dedup::*;
pub use disk::*;
pub use event::*;
pub use file::*;
pub use fingerprint::*;
pub use history::*;
pub use inject::*;
pub use iscsi::*;
pub use job::*;
pub use keeping::*;
pub use measure::*;
pub use mount::*;
pub use notify::*;
pub use passkey::*;
pub use peer::*;
pub use pool::*;
/// Why a request is refused, as data.
pub use refusal;

pub use problem::{MEDIA_TYPE as PROBLEM_MEDIA_TYPE, Problem, kind};
pub use project::*;
pub use property::*;
pub use replica::*;
pub use schedule::*;
pub use service::*;
pub use service_request::*;
pub use shell::*;
pub use statistics::*;
pub use stream::*;
pub use trace::*;
pub use tunable::*;
pub use upgrade::*;
pub use warning::*;
pub use worksheets::*;

/// `GET /v1/version`
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct Version {
    /// Of the daemon.
    pub version: String,
    /// Of this interface: grows when something is added, never when something changes meaning.
    pub api: u32,
}

/// The interface's version that this crate describes.
pub const API_VERSION: u32 = 6;

/// Where volumes are served as network block devices: a socket of this name beside that of the
/// interface.
pub const NBD_SOCKET: &str = "nbd.sock";
