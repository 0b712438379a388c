//! Small files below the state directory, a record a line with tabs between its fields, each
//! replaced as a whole; to one lines are added as well. Nobody else reads them.
//!
//! A tab, a line feed or a backslash in a field is written as an octal number, as in proc(5): paths
//! may have any of them.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use stdx::octal;

/// What is there; empty where there is no file yet.
///
/// Errors: it is there and cannot be read. Whoever went on as if there were none would overwrite
/// it.
pub fn read(file: &Path) -> io::Result<String> {
    match fs::read_to_string(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}

/// What is there stays until all of the new is on the disk.
pub fn replace(file: &Path, text: &str) -> io::Result<()> {
    let new = file.with_extension("new");
    let mut to = fs::File::options().write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    let written = to.write_all(text.as_bytes()).and_then(|()| to.sync_all());
    if let Err(error) = written.and_then(|()| fs::rename(&new, file)) {
        // It may have taken the last space of a full disk.
        drop(fs::remove_file(&new));
        return Err(error);
    }
    // Durable is what the folder says, too.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

/// Adds to what is there, and returns when that is on the disk.
pub fn append(file: &Path, text: &str) -> io::Result<()> {
    let mut to = fs::File::options().append(true).open(file)?;
    to.write_all(text.as_bytes())?;
    to.sync_data()
}

/// A record, with its line feed.
pub fn line<'a>(fields: impl IntoIterator<Item = &'a str>) -> String {
    let fields: Vec<String> = fields.into_iter().map(escaped).collect();
    fields.join("\t") + "\n"
}

/// The fields of a record.
pub fn fields(line: &str) -> impl Iterator<Item = String> {
    line.split('\t').map(plain)
}

fn escaped(field: &str) -> String {
    let mut text = String::with_capacity(field.len());
    for c in field.chars() {
        match c {
            '\t' | '\n' | '\\' => text += &format!("\\{:03o}", u32::from(c)),
            _ => text.push(c),
        }
    }
    text
}

/// A backslash without an octal number behind it stands for itself. An older version escaped
/// nothing: what would be no text is one of its fields.
fn plain(field: &str) -> String {
    String::from_utf8(octal::unescape(field.as_bytes())).unwrap_or_else(|_| field.to_owned())
}

#[cfg(test)]
mod tests;
