//! A connection to another host, on which programs are run.

use std::io::{Read, Write};
use std::time::Duration;

use engine_api::Cancel;

/// Runs programs on another host, one after the other, until it is dropped. Each call comes to an
/// end within its bounds, whatever the host does.
pub trait Line: Send + Sync {
    /// Runs a command of a POSIX shell: `input` is what it reads, and what it prints is written to
    /// `output`. A failure of `input` is the end of it for the command.
    ///
    /// # Errors
    /// It is not known whether the command ran, or how far.
    fn run(
        &self,
        command: &str,
        input: &mut (dyn Read + Send),
        output: &mut (dyn Write + Send),
        bounds: &Bounds<'_>,
    ) -> Result<Ended, Broken>;
}

/// When a command is broken off.
pub struct Bounds<'a> {
    /// No byte has moved for so long.
    pub silence: Duration,
    /// It has taken so long; `None`: as long as bytes move.
    pub most: Option<Duration>,
    pub stop: &'a Cancel,
}

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    pub status: i32,
    /// The last of what it wrote as its errors.
    pub said: String,
}

/// Why a command did not come to its end, or a connection not about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Broken {
    /// `ssh` cannot be run, or gets no key.
    NotStarted {
        why: String,
    },
    /// There is no connection, or none any more; the last of what `ssh` said.
    Lost {
        said: String,
    },
    /// A bound was met.
    Silent {
        seconds: u64,
    },
    /// The output was not taken.
    Untaken,
    Stopped,
}
