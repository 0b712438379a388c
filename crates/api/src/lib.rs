//! The management API's server: HTTP and JSON on a Unix socket and over HTTPS, and the only home of
//! async.
//!
//! A handler parses, hops to a blocking thread at once and calls the appliance or its engine there;
//! nothing of the engine ever runs on the runtime's own threads. Work that may take long becomes a
//! job. An `engine_api::Error` becomes a problem in one place ([`problem`]), a failure of the
//! appliance in another ([`words`]). Bodies are bounded, but for streams ([`flow`]). Everybody on
//! this machine may connect to the socket ([`door`]), and everybody who reaches it to HTTPS
//! ([`https`]), where a session or a token says who it is ([`identify`]). Both end in the same
//! [`caller`]; who may do what is said route by route ([`table`], [`rights`]) and decided in the
//! engine. The same table says what each request takes and gives; the description by OpenAPI is
//! made from it ([`openapi`]). What was asked, and by whom, is noted ([`audit`]). Nothing is asked
//! of others but certificates, where an administrator has said so ([`acme`]).

mod accounts;
mod acme;
mod analytics;
mod app;
mod audit;
mod caller;
mod connection;
mod console_files;
mod convert;
mod cookie;
mod denied;
mod desk;
mod devices;
mod door;
mod drill_downs;
mod etag;
mod feed;
mod flow;
mod gate;
mod handlers;
mod history;
mod https;
mod identify;
mod keeper;
mod kept_panes;
mod metrics;
mod openapi;
mod origin;
mod page;
mod pane_history;
mod path;
mod peer_words;
mod peering;
mod precondition;
mod problem;
mod program;
mod recorder;
mod repeat;
mod replica_words;
mod rights;
mod server;
mod service_words;
mod shares;
mod shells;
mod silence;
mod statistics;
mod table;
mod tally;
mod trace;
mod watching;
mod web;
mod words;

pub use desk::{AlertDesk, DeskFault};
pub use https::certificate::{KeptCertificate, Unfit};
pub use keeper::{Kept, StateKeeper};
pub use peer_words::check_peer;
pub use program::Program;
pub use recorder::HistoryConfig;
pub use rights::Right;
pub use server::{AccountsConfig, ApiServer, Config, FOR_OWNER, HttpsConfig, Served, listen, serve};
pub use table::{description, routes};
pub use watching::WatchedPane;
pub use words::problem;
