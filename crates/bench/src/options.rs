//! What a run is asked to measure, and how.

use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    pub dir: PathBuf,
    pub parts: Vec<String>,
    pub only: String,
    pub rounds: usize,
    pub span: Duration,
    pub is_docs: bool,
    /// The other build.
    pub before: Option<PathBuf>,
    /// Each of the two builds has the image that the other one had before.
    pub is_swapped: bool,
}
