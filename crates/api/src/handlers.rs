//! One file a resource: parse, call the engine, convert.

pub mod accounts;
pub mod alerts;
pub mod analytics;
pub mod certificate;
pub mod datasets;
pub mod events;
pub mod faults;
pub mod files;
pub mod jobs;
pub mod keeping;
pub mod keys;
pub mod measure;
pub mod mounts;
pub mod peers;
pub mod permissions;
pub mod pools;
pub mod projects;
pub mod replicas;
pub mod services;
pub mod session;
pub mod snapshots;
pub mod streams;
pub mod tokens;
pub mod trace;
pub mod tunables;
pub mod worksheets;
