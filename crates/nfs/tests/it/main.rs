//! The server over the model, as clients see it: raw calls, hostile bytes, and real clients.

mod calls;
mod exports;
mod files;
mod hostile;
mod names;
mod repeats;
mod setup;
mod tools;
