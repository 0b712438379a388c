//! What is wrong with what was seen: from plain data to findings.
//!
//! A limit that raises an alert is stricter than the one that lets it go, so that a number at the
//! limit does not make an alert come and go.

pub mod analytics;
pub mod clock;
pub mod datasets;
pub mod machine;
pub mod peers;
pub mod pools;
pub mod smart;
pub mod speed;
pub mod ups;
