//! Small files below the state directory, a record a line with tabs between its fields, each
//! replaced as a whole.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

/// What is there stays until all of the new is on the disk.
pub fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut to = fs::File::create(&new)?;
    to.write_all(text.as_bytes())?;
    to.sync_all()?;
    fs::rename(&new, file)?;
    // Durable is what the folder says, too.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}
