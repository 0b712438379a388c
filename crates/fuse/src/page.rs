//! Entries of a directory, between two requests of who lists it.

use crate::inodes::Mark;
use engine_api::DirEntry;
use std::collections::VecDeque;

/// Entries read but not sent yet.
pub struct Page {
    /// Taken before they were read ([`crate::inodes::Inodes::mark`]).
    pub mark: Mark,
    /// The cookie that continues with the first of `entries`.
    pub from: u64,
    pub with_attr: bool,
    pub entries: VecDeque<DirEntry>,
    pub eof: bool,
}
