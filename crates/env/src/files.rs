//! Small files of this machine that are read and replaced as a whole.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

/// The bytes of a file of at most `most`.
///
/// # Errors
/// The system's, or `InvalidData` where the file is longer.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(io::ErrorKind::InvalidData.into()) } else { Ok(bytes) }
}

/// Puts a file with these bytes in the place of the one that is there: whoever looks sees the one
/// or the other.
///
/// # Errors
/// The system's.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut file = File::create(&new)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// Removes a file; it need not be there.
///
/// # Errors
/// The system's.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// Whether a file is at this path.
pub fn is_file(path: &Path) -> bool {
    path.is_file()
}

/// Whether a folder is at this path.
pub fn is_folder(path: &Path) -> bool {
    path.is_dir()
}
