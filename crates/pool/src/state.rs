//! What a pool remembers of its scans, its rebuilds, its error log and its checkpoint: in memory,
//! and how an import reads it from the meta object set. Scans and the error log are written here,
//! too.
//!
//! These are fields of [`crate::spa::Core`]. Nothing here knows a pool: whoever has one changes
//! them, and says how (modules `scan`, `rebuild`, `errlog` and `checkpoint` of the crate).

pub(crate) mod checkpoint;
pub(crate) mod errlog;
pub(crate) mod rebuild;
pub(crate) mod scan;
