//! What the kernel may do with an answer.

use std::time::Duration;

/// How long the kernel may believe an answer: that the name leads there, and the attributes.
#[derive(Clone, Copy)]
pub struct Trust {
    pub name: Duration,
    pub attr: Duration,
}
