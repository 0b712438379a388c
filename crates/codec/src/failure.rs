//! Why a block is not compressed, or not what a compressed block is.

use std::fmt;

/// The bytes are no compressed block of exactly the wanted size, or not of a known kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Corrupt;

/// Why nothing could be tried: not the data's fault, and no word on what compression would have
/// saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unable {
    /// No kind of this value, or none that compresses.
    Kind,
    /// The kind has no such level.
    Level,
    /// The library failed, for lack of memory as a rule; the text is its own.
    Library(&'static str),
}

impl fmt::Display for Unable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unable::Kind => f.write_str("no such compression"),
            Unable::Level => f.write_str("no such level of compression"),
            Unable::Library(why) => write!(f, "the compressor failed: {why}"),
        }
    }
}

impl std::error::Error for Unable {}

impl fmt::Display for Corrupt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("compressed data is damaged")
    }
}

impl std::error::Error for Corrupt {}
