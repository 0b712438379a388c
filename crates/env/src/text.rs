//! Small files of this machine that say how something is to be done.

use std::io;
use std::path::Path;

use crate::files;

/// The text of a file of at most `most` bytes.
///
/// # Errors
/// The system's, or `InvalidData` where the file is longer, or not UTF-8.
pub fn read(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(files::read(path, most)?).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The number in a file of zgenhostid(8): the four bytes that it writes, or hexadecimal; `None`
/// where there is none, or 0.
pub fn hostid(path: &Path) -> Option<u64> {
    let bytes = files::read(path, 64).ok()?;
    let id = match <[u8; 4]>::try_from(&bytes[..]) {
        Ok(four) => u32::from_le_bytes(four),
        Err(_) => {
            let text = std::str::from_utf8(&bytes).ok()?.trim();
            u32::from_str_radix(text.trim_start_matches("0x"), 16).ok()?
        }
    };
    (id != 0).then_some(u64::from(id))
}
