//! Recordings: lines of the shell in a file, which `run` types again.
//!
//! A line that failed is a comment. A recording has no secret: `password=?` asks again.

use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use stdx::os_error::words;

use crate::clock;
use crate::fail::{Stop, fail};

/// Bytes of a recording.
const LONGEST: u64 = 4 << 20;

pub struct Recording {
    pub path: PathBuf,
    file: File,
    /// Bytes that it has.
    len: u64,
}

impl Recording {
    /// Begins one in a new file, which its user alone may read.
    pub fn start(path: &str, appliance: &str) -> Result<Recording, Stop> {
        let cannot = |error: std::io::Error| Stop::Fail(format!("cannot write {path}: {}", words(&error)));
        let made = OpenOptions::new().create_new(true).write(true).mode(0o600).open(path);
        let mut file = made.map_err(cannot)?;
        let now = clock::stamp(clock::seconds());
        let head = format!("# cistern shell, {now}, at {appliance}\n# 'run FILE' types these lines again.\n");
        file.write_all(head.as_bytes()).map_err(cannot)?;
        Ok(Recording { path: PathBuf::from(path), file, len: head.len() as u64 })
    }

    /// Adds a line that is done, or was refused.
    pub fn add(&mut self, line: &str, is_done: bool) -> Result<(), Stop> {
        let text = if is_done { format!("{line}\n") } else { format!("# failed: {line}\n") };
        self.len += text.len() as u64;
        if self.len > LONGEST {
            return fail(format!("{} is too long", self.path.display()));
        }
        let cannot = |error| Stop::Fail(format!("cannot write {}: {}", self.path.display(), words(&error)));
        self.file.write_all(text.as_bytes()).map_err(cannot)
    }
}

/// The lines of a recording.
pub fn lines(path: &str) -> Result<Vec<String>, Stop> {
    let cannot = |error: std::io::Error| Stop::Fail(format!("cannot read {path}: {}", words(&error)));
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(LONGEST + 1).read_to_string(&mut text));
    match read.map_err(cannot)? as u64 > LONGEST {
        true => fail(format!("{path} is too long for a recording")),
        false => Ok(text.lines().map(str::to_owned).collect()),
    }
}
