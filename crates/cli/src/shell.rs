//! `cistern shell`: verbs and nouns for all that an appliance can do, with questions for what was
//! left out, recordings, and groups of appliances.
//!
//! The appliance's own description of its interface says what there is ([`document`]); [`nouns`]
//! gives it names, [`fill`] makes a request of a line, [`appliance`] carries it out. A line that
//! begins with `zpool`, `zfs` or a command of `cistern` runs that command in this process.
//!
//! The shell of the console is the same in a process that has no files ([`confined`]): it talks to
//! one appliance, by connections that the daemon hands to it, and records nothing.
//!
//! Invariants: no line comes to the shell of the operating system; no secret is written down; a
//! command that destroys something asks before, unless it was told not to.

mod appliance;
mod confined;
mod document;
mod fill;
mod help;
mod interrupt;
mod keys;
mod nouns;
mod recording;
mod show;
mod target;
mod terminal;
mod value;
mod words;

pub use confined::confine;

use appliance::Appliance;
use fill::{Filled, Nobody, Question, Somebody, fill};
use interrupt::{Cut, Interrupt};
use keys::Places;
use nouns::{Command, VERBS, find};
use recording::Recording;
use target::{Target, groups, places};
use terminal::{Terminal, Wizard};
use words::{ASKED, Typed};

use std::os::fd::OwnedFd;

use crate::client::Client;
use crate::command::{Io, end};
use crate::fail::{Outcome, Stop, fail, usage};
use crate::{Program, ask, hosts, own_of_user, program, run_own};

/// Recordings that run recordings.
const DEEPEST: usize = 8;

/// Runs it and gives the status of its last line.
pub fn run(args: &[String], host: Option<&str>, io: &mut Io<'_>) -> i32 {
    let outcome = match args {
        [] => start(host, io),
        [word] if matches!(word.as_str(), "help" | "--help" | "-h") => {
            write!(io.out, "{}", help::SHELL).map(|()| 0).map_err(Stop::from)
        }
        _ => usage("it takes no arguments"),
    };
    end(io, outcome, |io, text| {
        let _ = write!(io.err, "cistern shell: {text}\n{}", help::SHELL);
        2
    })
}

fn start(host: Option<&str>, io: &mut Io<'_>) -> Outcome {
    let interrupt = Interrupt::new();
    let target = Target::one(hosts::client(host)?, &interrupt);
    let terminal = Terminal::new(target.first().clone(), places())?;
    if terminal.is_there_somebody() {
        interrupt.listen()?;
    }
    Shell::new(terminal, target, interrupt, true).talk(io)
}

/// Runs that of the console, whose appliance is at the other end of the line, and gives the status
/// of its last line.
pub fn run_confined(line: OwnedFd, io: &mut Io<'_>) -> i32 {
    let outcome = start_confined(line, io);
    end(io, outcome, misused)
}

fn start_confined(line: OwnedFd, io: &mut Io<'_>) -> Outcome {
    let interrupt = Interrupt::new();
    let target = Target::one(Client::given(line), &interrupt);
    let terminal = Terminal::new(target.first().clone(), Places::default())?;
    interrupt.listen()?;
    writeln!(io.out, "{}", help::CONFINED)?;
    io.out.flush()?;
    Shell::new(terminal, target, interrupt, false).talk(io)
}

struct Shell {
    terminal: Terminal,
    target: Target,
    recording: Option<Recording>,
    /// Of the recording that runs: its lines ask nothing before they destroy something.
    yes: bool,
    /// Of the recording that runs: its lines are shown, and do nothing.
    dry: bool,
    /// Recordings that run.
    depth: usize,
    has_ended: bool,
    /// Of the last line that was carried out.
    status: i32,
    interrupt: Interrupt,
    /// Files, other appliances and logins: the console's has none.
    has_machine: bool,
}

/// How a line ended.
struct Ended {
    status: i32,
    /// What is written down of it; `None`: nothing.
    text: Option<String>,
    has_secrets: bool,
}

impl Ended {
    fn plainly(status: i32) -> Ended {
        Ended { status, text: None, has_secrets: false }
    }
}

impl Shell {
    fn new(terminal: Terminal, target: Target, interrupt: Interrupt, has_machine: bool) -> Shell {
        let (recording, yes, dry, depth, has_ended, status) = (None, false, false, 0, false, 0);
        Shell { terminal, target, recording, yes, dry, depth, has_ended, status, interrupt, has_machine }
    }

    fn talk(&mut self, io: &mut Io<'_>) -> Outcome {
        while !self.has_ended {
            self.interrupt.forget();
            let prompt = match self.terminal.is_there_somebody() {
                true => format!("cistern {}> ", self.target.state()),
                false => String::new(),
            };
            // A Ctrl-C that cut the prompt short does not end the line.
            self.interrupt.forget();
            let Some(line) = self.terminal.line(&prompt)? else { break };
            if line.trim().is_empty() {
                continue;
            }
            let ended = self.line(&line, io);
            if !ended.has_secrets {
                self.terminal.remember(line.trim_end());
            }
        }
        Ok(self.status)
    }

    /// Carries out a line, says what is wrong with it, and records it.
    fn line(&mut self, line: &str, io: &mut Io<'_>) -> Ended {
        let interrupt = self.interrupt.clone();
        let mut cut = Cut { to: &mut *io.out, interrupt: &interrupt, left: usize::MAX };
        let mut own = Io { out: &mut cut, err: &mut *io.err, ..*io };
        let mut ended = Ended { status: 0, text: None, has_secrets: true };
        let outcome = words::split(line).and_then(|words| self.words(&words, &mut ended, &mut own));
        let outcome = outcome.and_then(|status| Ok(own.out.flush().map(|()| status)?));
        ended.status = end(&mut own, outcome, misused);
        self.status = ended.status;
        if let (Some(recording), Some(text)) = (&mut self.recording, &ended.text)
            && let Err(Stop::Fail(why)) = recording.add(text, ended.status == 0)
        {
            let _ = writeln!(io.err, "{why}; the recording ends");
            self.recording = None;
        }
        ended
    }

    fn words(&mut self, words: &[String], ended: &mut Ended, io: &mut Io<'_>) -> Outcome {
        let words = words.strip_prefix(&["cistern".to_owned()][..]).unwrap_or(words);
        let Some((first, rest)) = words.split_first() else {
            *ended = Ended::plainly(0);
            return Ok(self.status);
        };
        let hidden = words::hidden(words);
        let is_verb = VERBS.iter().any(|(verb, _)| verb == first);
        if !is_verb {
            *ended = Ended { has_secrets: hidden != words, ..Ended::plainly(0) };
        }
        let is_own = matches!(first.as_str(), "switch" | "record" | "exit" | "quit");
        if self.dry && (is_own || is_verb && rest.first().is_some_and(|noun| noun == "group")) {
            writeln!(io.out, "{}", words::joined(&hidden))?;
            return Ok(0);
        }
        self.check_machine(first, rest)?;
        match (first.as_str(), rest) {
            ("exit" | "quit", []) => {
                self.has_ended = true;
                Ok(self.status)
            }
            ("help" | "?", rest) => help::tell(io, rest, self.own_help(), || self.target.commands()),
            ("record", rest) => self.record(rest, io),
            ("run", rest) => self.replay(rest, io),
            (verb, rest) if is_verb && help::asks(rest) => {
                *ended = Ended::plainly(0);
                let words = [&[verb.to_owned()], rest].concat();
                help::tell(io, &words, "", || self.target.commands())
            }
            ("switch", rest) => {
                ended.text = Some(words::joined(&hidden));
                self.switch(rest, io)
            }
            ("show" | "create" | "destroy", [noun, rest @ ..]) if noun == "group" => {
                *ended = Ended { text: Some(words::joined(words)), ..Ended::plainly(0) };
                let status = groups(first, rest, io)?;
                self.look_around();
                Ok(status)
            }
            _ if is_verb => self.verb(&Typed::of(words)?, ended, io),
            _ => {
                ended.text = Some(words::joined(&hidden)).filter(|_| !self.dry);
                self.program(words, io)
            }
        }
    }

    fn own_help(&self) -> &'static str {
        if self.has_machine { help::OF_MACHINE } else { "" }
    }

    /// Refuses what needs files, or other appliances, where there are none.
    fn check_machine(&self, first: &str, rest: &[String]) -> Result<(), Stop> {
        let is_of_machine = match first {
            "switch" | "record" | "run" | "login" | "logout" => true,
            "show" | "create" | "destroy" => rest.first().is_some_and(|noun| noun == "group"),
            _ => false,
        };
        match is_of_machine && !self.has_machine {
            true => fail(format!(
                "'{first}' is not in this shell: it has no files, and talks to this appliance alone. \
                 'cistern shell' on a machine of yours has it."
            )),
            false => Ok(()),
        }
    }

    /// `zpool`, `zfs` or a command of `cistern`.
    fn program(&mut self, words: &[String], io: &mut Io<'_>) -> Outcome {
        let name = words.first().map_or("", String::as_str);
        let run = match name {
            "zpool" => Some(Program::Zpool),
            "zfs" => Some(Program::Zfs),
            "login" | "logout" => None,
            name if keys::is_program(name) => None,
            name => return usage(format!("unrecognized command '{name}'; 'help' says what there is")),
        };
        if self.dry {
            writeln!(io.out, "{}", words::joined(&words::hidden(words)))?;
            return Ok(0);
        }
        let args = (1..words.len()).map(|at| self.told(words, at, io)).collect::<Result<Vec<_>, _>>()?;
        if let Some(status) = own_of_user(name, &args, io) {
            self.look_around();
            return Ok(status);
        }
        self.target.each(io, &|appliance, io| {
            let mut own = Io { out: &mut *io.out, err: &mut *io.err, ..*io };
            match run {
                Some(which) => program::run(which, &args, &appliance.client, &mut own),
                None => run_own(name, &args, &appliance.client, &mut own).unwrap_or(2),
            }
        })
    }

    /// A word, with a secret that is asked for where `?` stands for one.
    fn told(&self, words: &[String], at: usize, io: &mut Io<'_>) -> Result<String, Stop> {
        let Some(before) = words::before_asked(words, at) else { return Ok(words[at].clone()) };
        let name = before.strip_suffix('=').unwrap_or("secret");
        match self.terminal.is_there_somebody() {
            true => Ok(format!("{before}{}", ask::secret(io, &format!("{name}: "))?)),
            false => fail(format!("{name} is a secret, and nobody is there to tell it")),
        }
    }

    fn verb(&mut self, typed: &Typed, ended: &mut Ended, io: &mut Io<'_>) -> Outcome {
        let commands = self.target.commands()?;
        ended.has_secrets = may_have_secrets(commands, typed);
        let (yes, dry) = (typed.yes || self.yes, typed.dry || self.dry);
        let filled = match (dry, self.terminal.is_there_somebody()) {
            (true, _) => fill(commands, typed.clone(), &mut Dry)?,
            (false, true) => {
                let mut wizard = Wizard { terminal: &mut self.terminal, io: &mut *io };
                fill(commands, typed.clone(), &mut wizard)?
            }
            (false, false) => fill(commands, typed.clone(), &mut Nobody)?,
        };
        let text = Some(filled.text()).filter(|_| !dry);
        *ended = Ended { status: 0, text, has_secrets: filled.has_secrets() };
        if dry {
            writeln!(io.out, "{}", filled.shown())?;
            return Ok(0);
        }
        let (typed, json) = (filled.typed(), typed.json);
        // Another one of the group may be of another version.
        let at = |appliance: &Appliance| fill(appliance.commands()?, typed.clone(), &mut Nobody);
        if filled.command.destroys && !yes {
            self.agree(&filled, &at, io)?;
        }
        self.target.each(io, &|appliance, io| {
            let done = at(appliance).and_then(|filled| appliance.perform(&filled, json, io));
            end(io, done.map(|()| 0), misused)
        })
    }

    /// Goes on only if somebody has seen what will be lost, and wants it.
    fn agree(
        &mut self,
        filled: &Filled,
        at: &dyn Fn(&Appliance) -> Result<Filled, Stop>,
        io: &mut Io<'_>,
    ) -> Result<(), Stop> {
        writeln!(io.out, "{} would destroy", filled.text())?;
        for appliance in &self.target.all {
            writeln!(io.out, "  at {}: {}", appliance.name, appliance.lost(&at(appliance)?)?)?;
        }
        io.out.flush()?;
        if !self.terminal.is_there_somebody() {
            return fail("nobody is there to agree: -y does");
        }
        match self.terminal.agrees("Destroy it?")? {
            true => Ok(()),
            false => fail("nothing was done"),
        }
    }

    fn switch(&mut self, rest: &[String], io: &mut Io<'_>) -> Outcome {
        if rest.is_empty() {
            writeln!(io.out, "{}", self.target.name())?;
            return Ok(0);
        }
        self.target = Target::of(rest, &self.interrupt)?;
        self.look_around();
        Ok(0)
    }

    /// Has Tab know whom lines are for, and what can be switched to.
    fn look_around(&mut self) {
        let places = if self.has_machine { places() } else { Places::default() };
        self.terminal.set_sources(self.target.first().clone(), places);
    }

    fn record(&mut self, rest: &[String], io: &mut Io<'_>) -> Outcome {
        match (rest, &self.recording) {
            ([], None) => writeln!(io.out, "nothing is recorded")?,
            ([], Some(recording)) => writeln!(io.out, "recording into {}", recording.path.display())?,
            ([start, path], None) if start == "start" => {
                self.recording = Some(Recording::start(path, &self.target.name())?);
            }
            ([start, _], Some(recording)) if start == "start" => {
                return fail(format!("recording into {} already", recording.path.display()));
            }
            ([stop], Some(_)) if stop == "stop" => self.recording = None,
            ([stop], None) if stop == "stop" => return fail("nothing is recorded"),
            _ => return usage("usage: record start FILE | record stop"),
        }
        Ok(0)
    }

    /// Types the lines of a recording.
    fn replay(&mut self, rest: &[String], io: &mut Io<'_>) -> Outcome {
        let has = |option: &str| rest.iter().any(|word| word == option);
        let paths: Vec<&String> = rest.iter().filter(|word| !word.starts_with('-')).collect();
        let is_known = |word: &&String| ["-n", "-y", "--keep-going"].contains(&word.as_str());
        let ([path], true) =
            (&paths[..], rest.iter().filter(|word| word.starts_with('-')).all(|word| is_known(&word)))
        else {
            return usage("usage: run [-n] [-y] [--keep-going] FILE");
        };
        if self.depth == DEEPEST {
            return fail(format!("{path}: recordings run recordings too deep"));
        }
        let lines = recording::lines(path)?;
        let before = (self.yes, self.dry);
        (self.yes, self.dry) = (self.yes || has("-y"), self.dry || has("-n"));
        self.depth += 1;
        let status = self.type_all(&lines, path, has("--keep-going"), io);
        self.depth -= 1;
        (self.yes, self.dry) = before;
        status
    }

    fn type_all(&mut self, lines: &[String], path: &str, keeps_going: bool, io: &mut Io<'_>) -> Outcome {
        let mut status = 0;
        for (number, line) in lines.iter().enumerate() {
            let is_empty = words::split(line).is_ok_and(|words| words.is_empty());
            if is_empty || self.has_ended {
                continue;
            }
            // No recording has a secret; a file that was written by hand may have one.
            let shown = words::split(line).map(|words| words::joined(&words::hidden(&words)));
            writeln!(io.out, "> {}", shown.unwrap_or_default())?;
            io.out.flush()?;
            let own = self.line(line, io).status;
            status = if status == 0 { own } else { status };
            if own != 0 {
                writeln!(io.err, "{path}, line {}: status {own}", number + 1)?;
            }
            if own != 0 && !keeps_going || self.interrupt.is_told() {
                return Ok(own.max(1));
            }
        }
        Ok(status)
    }
}

/// Says what is wrong with a line, and gives its status.
fn misused(io: &mut Io<'_>, text: &str) -> i32 {
    // There is nowhere left to say that this failed.
    let _ = writeln!(io.err, "{text}");
    2
}

/// Whether a line that made no sense may have something that is nobody else's business.
fn may_have_secrets(all: &[Command], typed: &Typed) -> bool {
    let names = typed.pairs.iter().any(|(name, value)| words::has_secret(name, value));
    let noun = typed.bare.first().map_or("", String::as_str);
    let takes = |command: &&Command| command.members.iter().any(|member| member.is_secret);
    names || find(all, &typed.verb, noun).iter().any(takes)
}

/// Nobody is asked: a secret is a question mark, all else has to be there.
struct Dry;

impl Somebody for Dry {
    fn ask(&mut self, question: &Question) -> Result<String, Stop> {
        if question.is_secret { Ok(ASKED.to_owned()) } else { Nobody.ask(question) }
    }

    fn object(&mut self, why: &str) -> Result<(), Stop> {
        Nobody.object(why)
    }
}

#[cfg(test)]
mod tests;
