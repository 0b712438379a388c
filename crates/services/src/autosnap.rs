//! Automatic snapshots.

pub mod agenda;
pub mod coverage;
pub mod forecast;
pub mod plan;
pub mod policy;
pub mod stamp;
pub mod state;
pub mod view;
