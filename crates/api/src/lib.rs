//! The management API's server: HTTP and JSON on a Unix socket, and the only home of async.
//!
//! A handler parses, hops to a blocking thread at once and calls the appliance or its engine there;
//! nothing of the engine ever runs on the runtime's own threads. Work that may take long becomes a
//! job. An `engine_api::Error` becomes a problem in one place ([`problem`]), a failure of the
//! appliance in another ([`words`]). Bodies are bounded, but for streams ([`flow`]). Everybody on
//! this machine may connect ([`door`]); who may do what is said route by route ([`server`],
//! [`rights`]) and decided in the engine. The same table says what each request takes and gives;
//! the description by OpenAPI is made from it ([`openapi`]).

mod app;
mod caller;
mod convert;
mod door;
mod flow;
mod handlers;
mod openapi;
mod path;
mod problem;
mod program;
mod rights;
mod server;
mod words;

pub use program::Program;
pub use rights::Right;
pub use server::{ApiServer, Config, FOR_OWNER, listen, routes, serve};
