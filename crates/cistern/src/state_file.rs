//! Small files below the state directory, a record a line with tabs between its fields, each
//! replaced as a whole.
//!
//! A tab, a line feed or a backslash in a field is written as an octal number, as in proc(5): paths
//! may have any of them.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

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
    let mut to = fs::File::create(&new)?;
    to.write_all(text.as_bytes())?;
    to.sync_all()?;
    fs::rename(&new, file)?;
    // Durable is what the folder says, too.
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
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

/// A backslash without an octal number behind it stands for itself.
fn plain(field: &str) -> String {
    let mut parts = field.split('\\');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let octal = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()).filter(u8::is_ascii);
        match octal {
            Some(byte) => {
                text.push(char::from(byte));
                text += &part[3..];
            }
            None => {
                text.push('\\');
                text += part;
            }
        }
    }
    text
}

#[cfg(test)]
mod tests;
