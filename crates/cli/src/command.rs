//! What a command is: a row of a program's table, what it works with, and how it ends.
//!
//! It knows no command by name.

use crate::client::{CallError, Client};
use crate::fail::{Noun, Outcome, Stop, sentence};
use api_types::Warnings;
use std::io::Write;
use stdx::os_error::words;

/// Where a command writes.
pub struct Io<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
    /// `out` is a terminal that takes colours.
    pub colour: bool,
    /// `err` is a terminal that takes progress.
    pub progress: bool,
    /// Standard input has answers to questions, or a stream.
    pub asks: bool,
    /// What this process is called from now on, in lists of processes.
    pub title: fn(&str),
}

/// A row of a program's table of commands.
pub struct Command {
    pub name: &'static str,
    /// As OpenZFS prints it, a tab before each line.
    pub usage: &'static str,
    pub examples: &'static [&'static str],
    /// `None`: known, and not built yet.
    pub run: Option<Run>,
}

/// What a command does with its arguments.
pub type Run = fn(&mut Cx<'_>, &[String]) -> Outcome;

impl Command {
    /// An empty line of the usage text.
    pub const GAP: Command = Command::planned("", "");

    /// A row that works.
    pub const fn built(
        name: &'static str,
        usage: &'static str,
        examples: &'static [&'static str],
        run: Run,
    ) -> Command {
        Command { name, usage, examples, run: Some(run) }
    }

    /// A row of OpenZFS's table whose command isn't built yet.
    pub const fn planned(name: &'static str, usage: &'static str) -> Command {
        Command { name, usage, examples: &[], run: None }
    }
}

/// What a command works with.
pub struct Cx<'a> {
    pub io: &'a mut Io<'a>,
    pub client: Client,
    /// As in "zpool list".
    pub command: String,
    /// The whole command line, for the pool's history.
    pub history: String,
}

impl Cx<'_> {
    /// Says something on standard error.
    pub fn complain(&mut self, text: &str) -> Result<(), Stop> {
        Ok(writeln!(self.io.err, "{text}")?)
    }
    /// What went wrong beside the work; 1 if anything did.
    pub fn warn(&mut self, warnings: &Warnings) -> Outcome {
        for text in &warnings.sentences {
            self.complain(text)?;
        }
        Ok(i32::from(!warnings.is_empty()))
    }

    /// Says why a request was refused; `what` begins the sentence. The status is 1, and the
    /// command may go on.
    pub fn refused(&mut self, what: &str, error: CallError, noun: Noun) -> Outcome {
        let problem = error.problem()?;
        self.complain(&sentence(what, &problem, noun))?;
        Ok(1)
    }
}

/// The same where the command ends with it.
pub fn refusal(what: &str, error: CallError, noun: Noun) -> Stop {
    match error.problem() {
        Ok(problem) => Stop::Fail(sentence(what, &problem, noun)),
        Err(stop) => stop,
    }
}

/// The exit status of a command, when what stopped it has been said. A command line that makes no
/// sense is answered by `misused`, which says what is wrong with it and gives the status.
pub fn end(io: &mut Io<'_>, outcome: Outcome, misused: impl FnOnce(&mut Io<'_>, &str) -> i32) -> i32 {
    match outcome {
        Ok(status) | Err(Stop::Exit(status)) => status,
        Err(Stop::Fail(text)) => {
            let _ = writeln!(io.err, "{text}");
            1
        }
        Err(Stop::Usage(text)) => misused(io, &text),
        // Whoever read our output has seen enough (head, less).
        Err(Stop::Output(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => 1,
        Err(Stop::Output(error)) => {
            let _ = writeln!(io.err, "cannot write: {}", words(&error));
            1
        }
    }
}

/// What a command of `cistern`'s own does with its arguments, and the daemon that it asks.
pub type RunOwn = fn(&[String], &Client, &mut Io<'_>) -> Result<(), Stop>;

/// As [`end`], for a command of `cistern`'s own.
pub fn end_own(io: &mut Io<'_>, name: &str, usage: &str, done: Result<(), Stop>) -> i32 {
    end(io, done.map(|()| 0), |io, text| {
        let _ = write!(io.err, "cistern {name}: {text}\n{usage}");
        2
    })
}
