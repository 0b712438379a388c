//! A pool on image files, made here and judged by OpenZFS's own zdb.

mod bays;
mod cache;
mod checkpoint;
mod create;
mod dedup;
mod deleg;
mod dsl;
mod errlog;
mod import;
mod livelist;
mod missed;
mod rebuild;
mod removed;
mod rewind;
mod scan;
mod snapshots;
mod support;
mod trim;
mod vdevs;
mod zil;
