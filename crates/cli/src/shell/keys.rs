//! What the key Tab offers: verbs, nouns, names, actions, arguments and their values.
//!
//! It never fails, asks nobody twice for one key, and waits for an appliance no longer than a
//! prompt does.

use super::appliance::Appliance;
use super::document::Shape;
use super::nouns::{Command, VERBS, find, nouns};
use super::words;
use crate::{complete, find_own};

/// More candidates help nobody.
const MOST: usize = 1000;
const BUILT_IN: [&str; 3] = ["exit", "help", "cistern"];
/// What takes files of the machine, and other ones.
const OF_MACHINE: [&str; 3] = ["record", "run", "switch"];

/// What the shell knows without an appliance.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// Whether the shell may use its machine.
    pub has_machine: bool,
    pub hosts: Vec<String>,
    pub groups: Vec<String>,
}

/// Where the word begins that the cursor stands behind, and what could stand there.
pub fn candidates(line: &str, appliance: &Appliance, places: &Places) -> (usize, Vec<String>) {
    let start = line.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    // A quote that is open is a word that the shell does not complete.
    let Ok(mut typed) = words::split(&line[..start]) else { return (start, Vec::new()) };
    let current = &line[start..];
    if typed.first().is_some_and(|word| word == "cistern") {
        typed.remove(0);
    }
    let mut found = of_words(&typed, current, appliance, places);
    found.retain(|word| word.starts_with(current) && is_harmless(word));
    found.sort_unstable();
    found.dedup();
    found.truncate(MOST);
    // Behind a verb and a noun there is more to come; a name may go on.
    if let ([one], 0..2) = (&mut found[..], typed.len()) {
        one.push(' ');
    }
    (start, found)
}

/// Whether a word that others have chosen can be typed as it is.
pub fn is_harmless(word: &str) -> bool {
    words::split(word).is_ok_and(|words| words == [word])
}

/// Whether a line may begin with this command of the program.
pub fn is_program(name: &str) -> bool {
    matches!(name, "zpool" | "zfs" | "login" | "logout") || find_own(name).is_some()
}

fn of_words(typed: &[String], current: &str, appliance: &Appliance, places: &Places) -> Vec<String> {
    let owned = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let of_program = || {
        let all = [&owned(&["cistern"]), typed, &[current.to_owned()]].concat();
        complete::words(&all, &appliance.soon())
    };
    let Some((verb, rest)) = typed.split_first() else {
        let verbs = VERBS.iter().map(|(verb, _)| (*verb).to_owned());
        let programs = of_program().into_iter().filter(|name| is_program(name));
        let of_machine = owned(&OF_MACHINE).into_iter().filter(|_| places.has_machine);
        return verbs.chain(owned(&BUILT_IN)).chain(of_machine).chain(programs).collect();
    };
    match (verb.as_str(), rest) {
        ("switch", []) => places.hosts.iter().cloned().chain(owned(&["local", "group"])).collect(),
        ("switch", [group]) if group == "group" => places.groups.clone(),
        ("create", [noun, _, ..]) if noun == "group" => places.hosts.clone(),
        ("destroy", [noun]) if noun == "group" => places.groups.clone(),
        ("record", []) => owned(&["start", "stop"]),
        ("help", []) => VERBS.iter().map(|(verb, _)| (*verb).to_owned()).collect(),
        ("run" | "record" | "exit" | "help", _) => Vec::new(),
        (verb, rest) if VERBS.iter().any(|(known, _)| *known == verb) => {
            of_verb(verb, rest, current, appliance)
        }
        _ => of_program(),
    }
}

fn of_verb(verb: &str, rest: &[String], current: &str, appliance: &Appliance) -> Vec<String> {
    let all = appliance.commands_soon();
    let Some((noun, rest)) = rest.split_first() else { return nouns(all, verb) };
    let commands = find(all, verb, noun);
    let bare: Vec<&String> = rest.iter().filter(|word| words::pair(word).is_none()).collect();
    let is_at = |command: &&&Command| match command.action.as_str() {
        "" => true,
        action => bare.get(command.params.len()).is_some_and(|word| *word == action),
    };
    if let Some((name, begin)) = words::pair(current) {
        let values =
            commands.iter().filter(is_at).flat_map(|command| values(command, name, begin, appliance));
        return values.map(|value| format!("{name}={value}")).collect();
    }
    let at = bare.len();
    let mut found = match commands.iter().find(|command| at < command.params.len()) {
        Some(command) => appliance.names(&command.noun, current),
        None => Vec::new(),
    };
    for command in commands.iter().filter(|command| at >= command.params.len()) {
        if at == command.params.len() && !command.action.is_empty() {
            found.push(command.action.clone());
        }
        if is_at(&command) {
            found.extend(arguments(command, at, current, appliance));
        }
    }
    found
}

/// The next argument without a name, and the names of all.
fn arguments(command: &Command, at: usize, current: &str, appliance: &Appliance) -> Vec<String> {
    let before = command.params.len() + usize::from(!command.action.is_empty());
    let next = at.checked_sub(before).and_then(|at| command.takes.get(at));
    let mut found = next.map_or_else(Vec::new, |next| values(command, &next.name, current, appliance));
    let members = command.members.iter().filter(|member| !command.params.contains(&member.name));
    found.extend(members.filter(|member| member.name != "history").map(|member| format!("{}=", member.name)));
    if command.properties().is_some() {
        found.extend(appliance.properties(&command.noun).into_iter().map(|(name, _)| format!("{name}=")));
    }
    found
}

/// Values of an argument or a property.
fn values(command: &Command, name: &str, begin: &str, appliance: &Appliance) -> Vec<String> {
    match command.member(name).map(|member| &member.shape) {
        Some(Shape::Text | Shape::List(_)) if OF_DATASETS.contains(&name) => {
            appliance.names("dataset", begin)
        }
        Some(Shape::List(part)) => of_shape(part),
        Some(shape) => of_shape(shape),
        None => {
            let found = appliance.properties(&command.noun).into_iter().find(|(known, _)| known == name);
            let values = found.map(|(_, values)| values).unwrap_or_default();
            // What is no word of its own says what else there may be, such as `<size>`.
            let is_value = |word: &&str| {
                let mut bytes = word.bytes();
                !word.is_empty()
                    && bytes.all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'-')
            };
            values.split(['|', ' ', ',']).filter(is_value).map(str::to_owned).collect()
        }
    }
}

fn of_shape(shape: &Shape) -> Vec<String> {
    match shape {
        Shape::Choice(words) => words.clone(),
        Shape::Flag => ["yes", "no"].map(str::to_owned).to_vec(),
        Shape::Either(forms) => forms.iter().map(|(name, _)| format!("{name}:")).collect(),
        _ => Vec::new(),
    }
}

/// Arguments that are names of datasets and snapshots.
const OF_DATASETS: [&str; 8] =
    ["roots", "names", "snapshot", "snapshots", "source", "dataset", "target", "name"];
