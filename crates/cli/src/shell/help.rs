//! Usage of the shell and of its commands, with examples.

use super::fill::{Filled, fill_nothing};
use super::nouns::{Command, VERBS, find, nouns};
use super::show;
use crate::command::Io;
use crate::fail::{Outcome, Stop, usage};

pub const SHELL: &str = "\
usage: cistern [--host HOST] shell

A shell for one appliance or a group of them. Without a terminal it reads lines from standard input, asks nothing, and ends
with the status of the last. 'help' in it says what there is.

examples:
  cistern
  cistern --host nas.example shell
  echo 'run -y setup.cistern' | cistern shell
";

/// What the console's says first.
pub const CONFINED: &str = "\
The shell of this appliance. 'help' says what there is, Tab completes, 'exit' ends it. It has no files: what reads or writes
one is for 'cistern' on a machine of yours.";

/// What a shell has that may use its machine.
pub const OF_MACHINE: &str = "\
\x20 switch HOST | local        lines are for that appliance from now on
  switch group NAME          … for all of a group at the same time (create group NAME HOST …)
  record start FILE | stop   writes lines down; a line that failed as a comment, a secret as '?'
  run [-n] [-y] [--keep-going] FILE
                             types them again; with -n it only shows what would be done
";

const OVERVIEW: &str = "\
\x20 zpool …, zfs …, user …     and every other command of cistern
  exit

What is left out is asked for. VERB ? and VERB NOUN ? tell more; Tab completes. -y agrees to what is destroyed, -n shows what
would be sent, --json shows the answer as it is.

examples:
  show pool
  create filesystem tank/home compression=lz4
  share filesystem tank/home
  create snapshot tank/home@monday
  setup pool tank scan scrub
  destroy snapshot tank/home@monday
";

/// Whether the words behind a verb ask how it is used.
pub fn asks(words: &[String]) -> bool {
    words.last().is_some_and(|word| matches!(word.as_str(), "?" | "-h" | "--help"))
}

/// How the shell, a verb or a verb with a noun is used. `more` is what the shell has beside verbs
/// and programs.
pub fn tell<'a>(
    io: &mut Io<'_>,
    words: &[String],
    more: &str,
    commands: impl FnOnce() -> Result<&'a [Command], Stop>,
) -> Outcome {
    let words: Vec<&str> =
        words.iter().map(String::as_str).filter(|word| !word.starts_with(['?', '-'])).collect();
    match words[..] {
        [] => {
            for (verb, about) in VERBS {
                writeln!(io.out, "  {:<26} {about}", format!("{verb} NOUN …"))?;
            }
            write!(io.out, "{more}{OVERVIEW}")?;
        }
        [verb] if VERBS.iter().any(|(known, _)| *known == verb) => {
            let all = commands()?;
            let of_noun = |noun: &String| {
                let own = find(all, verb, noun).into_iter().filter(|command| command.noun == *noun);
                own.map(|command| vec![command.synopsis(noun), command.operation.summary.clone()])
                    .collect::<Vec<_>>()
            };
            show::aligned(io, &nouns(all, verb).iter().flat_map(of_noun).collect::<Vec<_>>())?;
        }
        [verb, noun, ref rest @ ..] => {
            let all = commands()?;
            let found = find(all, verb, noun);
            let is_meant = |command: &&&Command| rest.is_empty() || rest.contains(&command.action.as_str());
            let meant: Vec<&&Command> = found.iter().filter(is_meant).collect();
            let meant = if meant.is_empty() { found.iter().collect() } else { meant };
            if meant.is_empty() {
                return usage(format!("there is no '{verb} {noun}' at this appliance"));
            }
            // Where there are many, each has a line.
            if meant.len() > 4 {
                let row = |it: &&&Command| vec![it.synopsis(noun), it.operation.summary.clone()];
                show::aligned(io, &meant.iter().map(row).collect::<Vec<_>>())?;
            } else {
                meant.iter().try_for_each(|command| one(io, command, noun))?;
            }
        }
        _ => return usage(format!("there is no help about '{}'", words.join(" "))),
    }
    Ok(0)
}

fn one(io: &mut Io<'_>, command: &Command, noun: &str) -> Result<(), Stop> {
    writeln!(io.out, "usage: {} [NAME=VALUE …]", command.synopsis(noun))?;
    writeln!(io.out, "  {}", command.operation.summary)?;
    let filled: Filled = fill_nothing(command, noun);
    let of = |name: &str| {
        let asked = filled.question(name);
        let default = asked.default.map(|text| format!(" (default {text})")).unwrap_or_default();
        vec![format!("  {}", asked.name), format!("{}{default}", asked.kind), asked.help]
    };
    let others = command.members.iter().filter(|member| {
        !command.takes.iter().any(|taken| taken.name == member.name)
            && !command.params.contains(&member.name)
            && !command.given.iter().any(|(name, _)| *name == member.name)
            && member.name != "history"
    });
    let names = command.params.iter().chain(command.takes.iter().map(|taken| &taken.name));
    let names = names.map(String::as_str).chain(others.map(|member| member.name.as_str()));
    show::aligned(io, &names.map(of).collect::<Vec<_>>())?;
    if command.properties().is_some() {
        writeln!(io.out, "  every property by its own name, such as compression=lz4")?;
    }
    writeln!(io.out, "example:\n  {}\n", filled.example_line())?;
    Ok(())
}
