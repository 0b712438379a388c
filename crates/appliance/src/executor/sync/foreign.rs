//! What is asked of an OpenZFS by its command `zfs`, and what its answers mean.
//!
//! Each command is one of a POSIX shell, every word of it quoted. It prints [`MARK`] before
//! anything else: what a host's login prints before is passed over. The status of a command says
//! whether it was done; why it was not, only its text says, and only this module reads that. A text
//! that it does not know is data for people, and the same is tried again later.
//!
//! All that is asked for is understood by OpenZFS 2.0 and later. Here is what both sides need, and
//! what replicas do; [`source`] has what sources do.

pub mod source;

use std::collections::BTreeMap;

use api_types::FailureClass;
use engine_api::PropertyChange;
use services::autosync::stamp;
use services::autosync::view::Snapshot;

use super::peer::Found;
use crate::RemoteFault;
use FailureClass::{NeedsPerson, Retriable};

/// The line that a command prints first.
pub const MARK: &str = "org.cistern:begin";
/// Bytes that are shown of a text.
const SHOWN: usize = 400;
/// The status of a shell that finds no such command.
const NO_COMMAND: i32 = 127;
/// The status of a command that has found something else under a name.
const ANOTHER: i32 = 99;

/// A word, as a POSIX shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn zfs(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| quoted(word)).collect();
    format!("zfs {}", words.join(" "))
}

/// The whole command. A login that is no administrator's often lacks the folders of `zfs`; 255 is
/// what `ssh` ends with when it fails itself.
fn wrapped(script: &str) -> String {
    format!(
        "LC_ALL=C; PATH=\"$PATH:/usr/local/sbin:/usr/sbin:/sbin\"; export LC_ALL PATH; \
         echo {MARK}; {script}; s=$?; [ $s -ne 255 ] || s=1; exit $s"
    )
}

/// Lists a dataset, or all below it too, for [`listed`].
pub fn list(dataset: &str, is_whole: bool) -> String {
    let properties = format!("readonly,receive_resume_token,{},{}", stamp::SNAPSHOT, stamp::REPLICA);
    let columns = format!("name,guid,createtxg,userrefs,clones,{}", stamp::SNAPSHOT);
    let mut heads = vec!["get", "-Hp", "-t", "filesystem,volume", "-o", "name,property,value,source"];
    heads.extend(is_whole.then_some("-r"));
    heads.extend([properties.as_str(), dataset]);
    let mut snapshots = vec!["list", "-Hp", "-t", "snapshot", "-o", columns.as_str()];
    snapshots.extend(if is_whole { &["-r"][..] } else { &["-d", "1"] });
    snapshots.push(dataset);
    wrapped(&format!("{} && {}", zfs(&heads), zfs(&snapshots)))
}

/// Succeeds if there is such a dataset.
pub fn exists(dataset: &str) -> String {
    wrapped(&zfs(&["list", "-H", "-o", "name", dataset]))
}

/// Takes in a stream, unmounted and never by force. What arrived of one that broke off is kept.
pub fn receive(dataset: &str, props: &[PropertyChange]) -> String {
    let props: Vec<String> = props.iter().map(|prop| format!("{}={}", prop.name, prop.value)).collect();
    let mut words = vec!["receive", "-s", "-u"];
    props.iter().for_each(|prop| words.extend(["-o", prop]));
    words.push(dataset);
    wrapped(&zfs(&words))
}

pub fn abort(dataset: &str) -> String {
    wrapped(&zfs(&["receive", "-A", dataset]))
}

/// Sets a property of a snapshot of this guid.
pub fn set(snapshot: &str, guid: u64, name: &str, value: &str) -> String {
    let set = zfs(&["set", &format!("{name}={value}"), snapshot]);
    wrapped(&if_same(&[(snapshot, guid)], &set))
}

/// Destroys a snapshot of this guid.
pub fn destroy(snapshot: &str, guid: u64) -> String {
    wrapped(&if_same(&[(snapshot, guid)], &zfs(&["destroy", snapshot])))
}

/// Does something where the guids of these are those, in the order of their names. OpenZFS has no
/// command that compares and changes in one step: what happens in the moment between is not seen.
fn if_same(things: &[(&str, u64)], then: &str) -> String {
    let mut words = vec!["get", "-Hp", "-o", "value", "guid"];
    words.extend(things.iter().map(|(name, _)| *name));
    let guids: Vec<String> = things.iter().map(|(_, guid)| guid.to_string()).collect();
    let (guids_of, guids) = (zfs(&words), quoted(&guids.join("\n")));
    format!("g=$({guids_of}) && if [ \"$g\" = {guids} ]; then {then}; else (exit {ANOTHER}); fi")
}

/// What is behind [`MARK`]. `said`: what came as errors.
///
/// # Errors
/// It is not there, or what is there is no text.
pub fn behind_mark<'a>(output: &'a [u8], said: &str) -> Result<&'a str, RemoteFault> {
    let Ok(text) = str::from_utf8(output) else {
        return Err(unintelligible(&String::from_utf8_lossy(output)));
    };
    let mut from = 0;
    for line in text.split_inclusive('\n') {
        from += line.len();
        if line.trim_end() == MARK {
            return Ok(&text[from..]);
        }
    }
    Err(unintelligible(if text.trim().is_empty() { said } else { text }))
}

/// Where what is behind [`MARK`] begins, in an output that goes on; `None`: it has not come.
pub fn end_of_mark(output: &[u8]) -> Option<usize> {
    let mut end = 0;
    for line in output.split_inclusive(|byte| *byte == b'\n') {
        end += line.len();
        if line.ends_with(b"\n") && line.trim_ascii_end() == MARK.as_bytes() {
            return Some(end);
        }
    }
    None
}

fn unintelligible(text: &str) -> RemoteFault {
    RemoteFault::Unintelligible { line: shown(text.lines().next().unwrap_or_default()) }
}

/// The datasets that [`list`] has listed, as a service of this name sees them.
///
/// # Errors
/// [`RemoteFault::Unintelligible`].
pub fn listed(text: &str, service: &str) -> Result<BTreeMap<String, Found>, RemoteFault> {
    let mut all: BTreeMap<String, Found> = BTreeMap::new();
    // What a dataset hands down to its snapshots, under the name of a stamp.
    let mut handed: BTreeMap<&str, &str> = BTreeMap::new();
    for line in text.lines() {
        let bad = || unintelligible(line);
        let (name, rest) = line.split_once('\t').ok_or_else(bad)?;
        if let Some((dataset, short)) = name.split_once('@') {
            let found = all.get_mut(dataset).ok_or_else(bad)?;
            let handed = handed.get(dataset).copied();
            let (snapshot, tags) = snapshot(short, rest, (service, handed)).ok_or_else(bad)?;
            let needed = snapshot.needed || tags > 0;
            found.snapshots.push(Snapshot { needed, ..snapshot });
            continue;
        }
        let (property, rest) = rest.split_once('\t').ok_or_else(bad)?;
        let (value, source) = rest.rsplit_once('\t').ok_or_else(bad)?;
        let found = all.entry(name.to_owned()).or_insert_with(|| Found {
            relation: None,
            keeps: false,
            readonly: false,
            snapshots: Vec::new(),
            token: None,
            known_as: None,
        });
        match property {
            "readonly" => found.readonly = value == "on",
            "receive_resume_token" => {
                found.token = Some(value).filter(|token| !matches!(*token, "" | "-")).map(str::to_owned);
            }
            stamp::SNAPSHOT => drop(handed.insert(name, value)),
            stamp::REPLICA => found.relation = (source == "local").then(|| value.to_owned()),
            _ => return Err(bad()),
        }
    }
    Ok(all)
}

/// A snapshot that is needed only if it has clones, and how many holds it has. `rest`: what is
/// behind its name.
fn snapshot(short: &str, rest: &str, (service, handed): (&str, Option<&str>)) -> Option<(Snapshot, u64)> {
    let mut columns = rest.splitn(5, '\t');
    let mut number = || columns.next()?.parse::<u64>().ok();
    let (guid, createtxg, tags) = (number()?, number()?, number()?);
    let (clones, value) = (columns.next()?, columns.next()?);
    let stamp = stamp::parse(value, service).filter(|_| handed != Some(value));
    let needed = !matches!(clones, "" | "-");
    Some((Snapshot { name: short.to_owned(), guid, createtxg, stamp, held: false, needed }, tags))
}

/// Whether a command was done; else why not.
///
/// # Errors
/// What its status and its text say.
pub fn judged(status: i32, said: &str) -> Result<(), (FailureClass, RemoteFault)> {
    match status {
        0 => Ok(()),
        NO_COMMAND => Err((NeedsPerson, RemoteFault::NoCommand { said: shown(said) })),
        _ if has(said, &DENIED) => Err((NeedsPerson, RemoteFault::Denied { said: shown(said) })),
        _ => Err((of_text(said), RemoteFault::Refused { said: shown(said) })),
    }
}

/// Whether [`set`] or [`destroy`] found another snapshot under the name.
pub fn is_another(status: i32) -> bool {
    status == ANOTHER
}

/// Whether a text says that there is no dataset, or pool, of the name that was given.
pub fn is_absent(said: &str) -> bool {
    has(said, &["dataset does not exist", "no such pool"])
}

const DENIED: [&str; 2] = ["permission denied", "Permission denied"];

/// Parts of texts of `zfs`, of what stays so until somebody has changed something.
const STAYS: [&str; 12] = [
    "has been modified",
    "destination exists",
    "must specify -F",
    "contains partially-complete state",
    "must be upgraded",
    "unsupported feature",
    "stream has unsupported",
    "invalid option",
    "invalid property",
    "bad property",
    "larger than",
    "name is too long",
];

fn of_text(said: &str) -> FailureClass {
    if has(said, &STAYS) { NeedsPerson } else { Retriable }
}

fn has(said: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| said.contains(part))
}

/// Why there is no connection, by what OpenSSH's `ssh` said. `key`: the public key that was shown,
/// and the file of keys of hosts.
pub fn not_connected(
    said: &str,
    user: Option<&str>,
    (key, known): (String, String),
) -> (FailureClass, RemoteFault) {
    if has(said, &["Host key verification failed", "REMOTE HOST IDENTIFICATION HAS CHANGED"]) {
        return (NeedsPerson, RemoteFault::HostKey { known, said: line_with(said, "key") });
    }
    if has(said, &["Permission denied", "Too many authentication failures", "No supported authentication"]) {
        return (NeedsPerson, RemoteFault::Login { user: user.map(str::to_owned), key });
    }
    (Retriable, RemoteFault::Unreachable { said: shown(said) })
}

/// The first line that has a word, or the whole.
fn line_with(said: &str, word: &str) -> String {
    shown(said.lines().find(|line| line.contains(word)).unwrap_or(said))
}

/// For people: the end of it, from the beginning of a line, without what a terminal would obey.
pub fn shown(said: &str) -> String {
    let said = said.trim();
    let from = said.len().saturating_sub(SHOWN);
    let from = (from..=said.len()).find(|at| said.is_char_boundary(*at)).unwrap_or(0);
    let end = &said[from..];
    let end = if from == 0 { end } else { end.split_once('\n').map_or(end, |(_, whole)| whole) };
    let plain = |it: char| if it.is_control() { ' ' } else { it };
    end.lines().map(str::trim).collect::<Vec<_>>().join("; ").chars().map(plain).collect()
}

#[cfg(test)]
mod tests;
