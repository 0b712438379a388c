//! From a command line to a command: which program, which subcommand, usage, exit status.

mod usage;

use crate::client::Client;
use crate::command::{Command, Cx, Io, end};
use crate::fail::Stop;
use crate::{zfs, zpool};

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

/// Runs one command line (without the program's name) and gives its exit status.
pub fn run<'a>(program: Program, args: &[String], client: &Client, io: &'a mut Io<'a>) -> i32 {
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
        client: client.clone(),
        command: format!("{} {}", program.name(), command.name),
        history: format!("{} {}", program.name(), args.join(" ")),
    };
    let outcome = run(&mut cx, rest);
    let flushed = cx.io.out.flush();
    let outcome = outcome.and_then(|status| flushed.map(|()| status).map_err(Stop::from));
    end(cx.io, outcome, |io, text| misuse(io, program, Some(command), text))
}

/// The command of that name, or of its short form.
pub fn find(program: Program, name: &str) -> Option<&'static Command> {
    let name = match (program, name) {
        (Program::Zfs, "umount") => "unmount",
        (Program::Zfs, "recv") => "receive",
        (Program::Zfs, "snap") => "snapshot",
        (_, name) => name,
    };
    program.commands().iter().find(|command| command.name == name && !name.is_empty())
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
