//! From a command line to a command: which program, which subcommand, usage, exit status.

use crate::client::Client;
use crate::fail::{Outcome, Stop};
use crate::{usage, zfs, zpool};
use std::io::Write;
use std::path::Path;
use stdx::os_error::words;

/// Where a command writes.
pub struct Io<'a> {
    pub out: &'a mut dyn Write,
    pub err: &'a mut dyn Write,
    /// `out` is a terminal that takes colours.
    pub colour: bool,
    /// `err` is a terminal that takes progress.
    pub progress: bool,
    /// What this process is called from now on, in lists of processes.
    pub title: fn(&str),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Zpool,
    Zfs,
}

impl Program {
    pub fn name(self) -> &'static str {
        match self {
            Program::Zpool => "zpool",
            Program::Zfs => "zfs",
        }
    }
    pub fn commands(self) -> &'static [Command] {
        match self {
            Program::Zpool => zpool::COMMANDS,
            Program::Zfs => zfs::COMMANDS,
        }
    }
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
    pub fn warn(&mut self, warnings: &[String]) -> Outcome {
        for text in warnings {
            self.complain(text)?;
        }
        Ok(i32::from(!warnings.is_empty()))
    }
}

/// Runs one command line (without the program's name) and gives its exit status.
pub fn run<'a>(program: Program, args: &[String], socket: &Path, io: &'a mut Io<'a>) -> i32 {
    let Some(first) = args.first() else {
        return misuse(io, program, None, "missing command");
    };
    if matches!(first.as_str(), "-?" | "-h" | "--help") || first == "help" && args.len() == 1 {
        return tell(io, &usage::program(program));
    }
    let (name, rest) = match first.as_str() {
        "-V" | "--version" => ("version", &args[1..]),
        "help" => (args[1].as_str(), &[][..]),
        name => (name, &args[1..]),
    };
    // "zpool prop=value pool" has always meant "zpool set".
    let (name, rest) = if name.contains('=') { ("set", args) } else { (name, rest) };
    let Some(command) = find(program, name) else {
        return misuse(io, program, None, &format!("unrecognized command '{name}'"));
    };
    if first == "help" {
        return tell(io, &usage::command(program, command));
    }
    // OpenZFS takes a command line that asks for the usage as one that makes no sense.
    if rest.first().is_some_and(|arg| matches!(arg.as_str(), "--help" | "-?")) {
        return misuse(io, program, Some(command), "");
    }
    let Some(run) = command.run else {
        let text =
            format!("{} {}: not supported by this version of Cistern yet", program.name(), command.name);
        // Programs find out what there is by asking for nothing.
        if rest.is_empty() {
            return misuse(io, program, Some(command), &text);
        }
        let _ = writeln!(io.err, "{text}");
        return 1;
    };
    let mut cx = Cx {
        io,
        client: Client::new(socket),
        command: format!("{} {}", program.name(), command.name),
        history: format!("{} {}", program.name(), args.join(" ")),
    };
    let outcome = run(&mut cx, rest);
    let flushed = cx.io.out.flush();
    let outcome = outcome.and_then(|status| flushed.map(|()| status).map_err(Stop::from));
    end(cx.io, outcome, |io, text| misuse(io, program, Some(command), text))
}

fn find(program: Program, name: &str) -> Option<&'static Command> {
    let name = match (program, name) {
        (Program::Zfs, "umount") => "unmount",
        (Program::Zfs, "recv") => "receive",
        (Program::Zfs, "snap") => "snapshot",
        (_, name) => name,
    };
    program.commands().iter().find(|command| command.name == name && !name.is_empty())
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

/// The same for a command of `cistern`'s own.
pub fn end_own(io: &mut Io<'_>, name: &str, usage: &str, done: Result<(), Stop>) -> i32 {
    end(io, done.map(|()| 0), |io, text| {
        let _ = write!(io.err, "cistern {name}: {text}\n{usage}");
        2
    })
}

fn tell(io: &mut Io<'_>, text: &str) -> i32 {
    let written = io.out.write_all(text.as_bytes()).and_then(|()| io.out.flush());
    i32::from(written.is_err())
}

fn misuse(io: &mut Io<'_>, program: Program, command: Option<&Command>, text: &str) -> i32 {
    let help = command.map_or_else(|| usage::program(program), |command| usage::command(program, command));
    // There is nowhere left to say that this failed.
    let _ = if text.is_empty() { write!(io.err, "{help}") } else { write!(io.err, "{text}\n{help}") };
    2
}
