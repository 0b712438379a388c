//! `cistern complete -- WORDS…`: what could stand in the place of the last word, a line each.
//! Shells ask it (packaging/completion); the first word is the program, the last may be empty.
//!
//! What there is to say is kept nowhere else: commands and options of zpool and zfs are read from
//! their synopses, those of `cistern` from its help texts, properties and their values from the
//! tables. Names come from the daemon.
//!
//! - A candidate begins with the word that is there.
//! - It never fails and never asks: whoever presses a key wants no message. A daemon that does not
//!   answer in time has no names.
//! - No candidate, and the shell offers files.

mod texts;

use std::path::Path;
use std::process::{Command as Process, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use api_types::{DatasetInfo, DatasetProperty, Edit, PoolProperty, PropType, PropertyDef, routes};

use crate::client::Client;
use crate::command::{Command, Io};
use crate::program::{Program, find};
use crate::{OWN, files, run_own};

/// How long the daemon may take.
const PATIENCE: Duration = Duration::from_millis(300);
/// More candidates help nobody.
const MOST: usize = 1000;

/// Whom the words come from.
struct Sources<'a> {
    /// `cistern`'s help text, or that of one of its commands.
    help: &'a dyn Fn(&[&str]) -> String,
    /// The names that the daemon lists for a path of its interface.
    names: &'a dyn Fn(String) -> Vec<String>,
}

/// Runs it and gives its exit status.
pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> i32 {
    let words = match args {
        [dashes, words @ ..] if dashes == "--" => words,
        words => words,
    };
    for word in self::words(words, client) {
        if writeln!(io.out, "{word}").is_err() {
            return 1;
        }
    }
    0
}

/// What could stand in the place of the last of these words.
pub fn words(words: &[String], client: &Client) -> Vec<String> {
    candidates(words, &Sources { help: &|words| own_help(words, client), names: &|path| ask(client, path) })
}

/// What this program says of itself.
fn own_help(words: &[&str], client: &Client) -> String {
    if files::are_absent() {
        return told_here(words, client);
    }
    let Ok(program) = std::env::current_exe() else { return String::new() };
    let told = Process::new(program).args(words).arg("--help").stdin(Stdio::null()).output();
    // Usage of a command goes to either.
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    told.map(|told| text(&told.stdout) + &text(&told.stderr)).unwrap_or_default()
}

/// The same of its commands that ask a daemon, where no program can be run.
fn told_here(words: &[&str], client: &Client) -> String {
    let [name] = words else {
        let names = ["zpool", "zfs"].into_iter().chain(OWN.iter().map(|(name, _)| *name));
        return names.map(|name| format!("  cistern {name}\n")).collect();
    };
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let (colour, progress, asks) = (false, false, false);
    let mut io = Io { out: &mut out, err: &mut err, colour, progress, asks, title: |_| () };
    run_own(name, &["--help".to_owned()], client, &mut io);
    String::from_utf8_lossy(&[out, err].concat()).into_owned()
}

fn ask(client: &Client, path: String) -> Vec<String> {
    let client = client.clone();
    let (tell, told) = mpsc::sync_channel(1);
    let work = move || {
        // No answer is no names.
        let found: Vec<DatasetInfo> = client.get(&path).unwrap_or_default();
        // Whoever asked may have gone.
        let _ = tell.send(found.into_iter().map(|dataset| dataset.name).collect());
    };
    match thread::Builder::new().name("complete".into()).spawn(work) {
        Ok(_) => told.recv_timeout(PATIENCE).unwrap_or_default(),
        Err(_) => Vec::new(),
    }
}

fn candidates(words: &[String], sources: &Sources<'_>) -> Vec<String> {
    let Some((current, [program, before @ ..])) = words.split_last() else { return Vec::new() };
    let name = Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut found = match name {
        "zpool" => of_program(Program::Zpool, before, current, sources),
        "zfs" => of_program(Program::Zfs, before, current, sources),
        _ => of_cistern(before, current, sources),
    };
    // A line feed would make two of one.
    found.retain(|word| word.starts_with(current.as_str()) && !word.contains(char::is_control));
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST);
    found
}

fn of_cistern(before: &[String], current: &str, sources: &Sources<'_>) -> Vec<String> {
    let Some((name, rest)) = before.split_first() else { return texts::commands(&(sources.help)(&[])) };
    match name.as_str() {
        "zpool" => return of_program(Program::Zpool, rest, current, sources),
        "zfs" => return of_program(Program::Zfs, rest, current, sources),
        name if !texts::commands(&(sources.help)(&[])).iter().any(|known| known == name) => {
            return Vec::new();
        }
        _ => {}
    }
    let text = (sources.help)(&[name.as_str()]);
    if current.starts_with('-') {
        return texts::options(&text);
    }
    let commands = texts::subcommands(&text, name);
    if rest.is_empty() && !commands.is_empty() {
        return commands;
    }
    let usage = texts::usage(&text);
    match ["DATASET", "VOLUME"].iter().any(|noun| usage.contains(noun)) {
        true => datasets(current, sources),
        false if usage.contains("POOL") => pools(sources),
        false => Vec::new(),
    }
}

fn of_program(program: Program, before: &[String], current: &str, sources: &Sources<'_>) -> Vec<String> {
    let names = || {
        let built = program.commands().iter().filter(|command| command.run.is_some());
        built.map(|command| command.name.to_owned())
    };
    let (name, args) = match before {
        [] => return names().chain(["help".to_owned()]).collect(),
        [help] if help == "help" => return names().collect(),
        [name, args @ ..] => (name, args),
    };
    let Some(command) = find(program, name) else { return Vec::new() };
    if let Some(letter) = args.last().and_then(|word| option_for_value(command, word)) {
        return behind(program, command.name, letter, current);
    }
    if current.starts_with('-') {
        return texts::options(command.usage);
    }
    let properties = || Vec::from_iter(rows(program).iter().map(|row| row.name));
    let is_first = operands(command, args) == 0;
    match command.name {
        "get" if is_first => joined(current, properties().into_iter().chain(["all"])),
        "inherit" if is_first => joined(current, properties()),
        "set" if is_first || current.contains('=') => pairs(rows(program), current, false),
        _ => objects(program, command, current, sources),
    }
}

/// The option whose value is to come, where this word ends with one.
fn option_for_value(command: &Command, word: &str) -> Option<char> {
    let letters = word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))?;
    letters.chars().next_back().filter(|letter| texts::takes_value(command.usage, *letter))
}

/// How many operands there are so far.
fn operands(command: &Command, args: &[String]) -> usize {
    let mut words = args.iter();
    let mut count = 0;
    while let Some(word) = words.next() {
        if option_for_value(command, word).is_some() {
            words.next();
        } else if !word.starts_with('-') {
            count += 1;
        }
    }
    count
}

/// The values of an option.
fn behind(program: Program, command: &str, letter: char, current: &str) -> Vec<String> {
    let own = rows(program);
    let names = || own.iter().map(|row| row.name);
    match (program, command, letter) {
        (Program::Zpool, "create", 'O') => pairs(rows(Program::Zfs), current, true),
        (Program::Zpool, "list", 'o') => joined(current, names().chain(["name"])),
        (Program::Zfs, "list", 'o' | 's' | 'S') => joined(current, names().chain(["name"])),
        (Program::Zfs, "receive", 'x') => names().map(str::to_owned).collect(),
        (_, "get", 'o') => joined(current, ["all", "name", "property", "value", "received", "source"]),
        (Program::Zfs, "get", 's') => {
            joined(current, ["local", "default", "inherited", "temporary", "received", "none"])
        }
        (Program::Zfs, "get" | "list", 't') => {
            joined(current, ["filesystem", "volume", "snapshot", "bookmark", "all"])
        }
        (_, "create" | "clone" | "receive" | "import" | "add" | "attach" | "replace", 'o') => {
            pairs(own, current, true)
        }
        _ => Vec::new(),
    }
}

fn rows(program: Program) -> Vec<&'static PropertyDef> {
    match program {
        Program::Zpool => PoolProperty::listed(),
        Program::Zfs => DatasetProperty::listed(),
    }
}

/// `property=`, and then its values.
fn pairs(rows: Vec<&'static PropertyDef>, current: &str, is_new: bool) -> Vec<String> {
    let may_be_set =
        |row: &&&PropertyDef| row.edit() == Edit::Always || is_new && row.edit() == Edit::AtCreation;
    let Some((name, _)) = current.split_once('=') else {
        return rows.iter().filter(may_be_set).map(|row| format!("{}=", row.name)).collect();
    };
    let values: Vec<&str> = match rows.iter().find(|row| row.name == name).map(|row| row.kind) {
        Some(PropType::Choice(_, words)) => words.iter().map(|(word, _)| *word).collect(),
        Some(PropType::Limit(_)) => vec!["none"],
        Some(PropType::Number(_) | PropType::Text(_)) | None => Vec::new(),
    };
    values.into_iter().map(|value| format!("{name}={value}")).collect()
}

/// One more of a list with commas.
fn joined<'a>(current: &str, words: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let head = current.rfind(',').map_or("", |comma| &current[..=comma]);
    words.into_iter().map(|word| format!("{head}{word}")).collect()
}

/// What a command works on, by the nouns of its synopsis.
fn objects(program: Program, command: &Command, current: &str, sources: &Sources<'_>) -> Vec<String> {
    let has = |nouns: &[&str]| nouns.iter().any(|noun| command.usage.contains(noun));
    match program {
        Program::Zpool if has(&["pool"]) => pools(sources),
        Program::Zfs if has(&["filesystem", "volume", "snapshot", "dataset"]) => datasets(current, sources),
        Program::Zpool | Program::Zfs => Vec::new(),
    }
}

fn pools(sources: &Sources<'_>) -> Vec<String> {
    (sources.names)(listing(None, "filesystem", 0))
}

/// Those at the level of the tree that the word has come to, or the snapshots or bookmarks of one.
fn datasets(current: &str, sources: &Sources<'_>) -> Vec<String> {
    let path = match (current.find(['@', '#']), current.rfind('/')) {
        (Some(0), _) | (None, Some(0)) => return Vec::new(),
        (Some(at), _) if current[at..].starts_with('@') => listing(Some(&current[..at]), "snapshot", 1),
        (Some(at), _) => listing(Some(&current[..at]), "bookmark", 1),
        (None, Some(slash)) => listing(Some(&current[..slash]), "filesystem,volume", 1),
        (None, None) => listing(None, "filesystem", 0),
    };
    (sources.names)(path)
}

fn listing(root: Option<&str>, kinds: &str, depth: u32) -> String {
    let root = root.map(|root| format!("roots={}&", routes::segment(root))).unwrap_or_default();
    format!("{}?{root}depth={depth}&kinds={kinds}&props=type", routes::DATASETS)
}

#[cfg(test)]
mod tests;
