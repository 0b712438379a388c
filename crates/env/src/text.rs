//! Small files of this machine that say how something is to be done.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// The system's, or `InvalidData` where the file is longer, or not UTF-8.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::InvalidData.into());
    }
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}
