//! The file system of a pool that has the versions, and the files in it.
//!
//! Its name and properties keep it to itself: it is mounted and shared nowhere, whatever is set
//! above it. Nobody but an administrator reaches it by the management API (`engine`'s `rights`).
//! Its root and files are root's alone. A version is a file whose name tells its number and time.
//!
//! Invariants: a file of such a name was durable under another one before. What is found may have
//! been put there by anybody: of names and bytes so many are looked at and no more.

use std::io::{self, Read, Write};
use std::sync::Arc;

use api_types::MACHINE_DATASET;
use engine_api::refusal::{Reason, Refused, StateFault};
use engine_api::{
    Attr, Change, CreateMode, Cred, DatasetFilter, DatasetKind, DirLimit, Error, FileSystem, NodeId,
    NodeKind, Pool, PropertyChange, RenameMode, Result, SetAttr, Source, Stable,
};
use machine::version::{self, Flaw, Head};

use super::retention::{self, Held};

/// What the file system is made with. The limit is for what it refers to: snapshots that somebody
/// takes of the whole pool do not keep versions from being written.
const PROPERTIES: &[(&str, &str)] = &[
    ("canmount", "off"),
    ("mountpoint", "none"),
    ("sharenfs", "off"),
    ("sharesmb", "off"),
    ("readonly", "off"),
    ("sync", "standard"),
    ("compression", "lz4"),
    ("dedup", "off"),
    ("atime", "off"),
    ("exec", "off"),
    ("setuid", "off"),
    ("devices", "off"),
    ("snapdir", "hidden"),
    ("refquota", "1073741824"),
];
const FOR_ROOT: u32 = 0o600;
const FOLDER_FOR_ROOT: u32 = 0o700;
/// A version until it is whole.
const PART: &[u8] = b"version.part";
const ENDING: &str = ".state";
/// Digits of a number and of a time.
const NUMBER: usize = 10;
const TIME: usize = 12;
const LAST_NUMBER: u64 = 9_999_999_999;
/// Entries that are looked at, a page at a time: far more than there may be of ours.
const MOST_ENTRIES: usize = 4_096;
const PAGE: DirLimit = DirLimit { entries: 256, name_bytes: 64 << 10, with_attr: true };
/// Bytes that are read and written at a time, and that are read first.
const CHUNK: usize = 1 << 20;
const HEAD: usize = 4 << 10;
const ROOT: Cred = Cred::root();

/// See the module.
pub struct Vault {
    fs: Arc<dyn FileSystem>,
}

/// A file that may be a version.
#[derive(Clone, Debug)]
pub struct Entry {
    pub number: u64,
    /// As the name has it.
    pub time: i64,
    pub size: u64,
    node: NodeId,
}

/// Its file system.
pub fn dataset(pool: &str) -> String {
    format!("{pool}/{MACHINE_DATASET}")
}

impl Vault {
    /// Makes the file system where there is none, and gives it the properties that it has to have.
    pub fn make(pool: &dyn Pool, history: &str) -> Result<Vault> {
        let name = dataset(&pool.name());
        let filter = DatasetFilter {
            roots: vec![name.clone()],
            depth: Some(0),
            alone: false,
            kinds: vec![DatasetKind::Filesystem, DatasetKind::Volume],
            props: PROPERTIES.iter().map(|(name, _)| (*name).to_owned()).collect(),
        };
        let found = match pool.datasets(&filter) {
            Ok(found) => found.into_iter().next(),
            Err(Error::NotFound) => None,
            Err(error) => return Err(error),
        };
        let is_set = |(name, value): &&(&str, &str)| {
            let known = found.iter().flat_map(|info| &info.props).find(|prop| prop.name == *name);
            known.is_some_and(|prop| prop.source == Source::Local && prop.value == *value)
        };
        let missing = PROPERTIES.iter().filter(|prop| !is_set(prop));
        let change =
            |(name, value): &(&str, &str)| PropertyChange { name: (*name).into(), value: (*value).into() };
        let props: Vec<PropertyChange> = missing.map(change).collect();
        let change = match found {
            Some(_) => Change::SetProperties { name, props },
            None => Change::CreateFilesystem { name, parents: false, props },
        };
        if !matches!(&change, Change::SetProperties { props, .. } if props.is_empty()) {
            pool.commit(&change, history)?;
        }
        let vault = Vault::open(pool)?;
        let root = vault.fs.root();
        if vault.fs.getattr(root)?.mode != FOLDER_FOR_ROOT {
            let mode = SetAttr { mode: Some(FOLDER_FOR_ROOT), ..SetAttr::default() };
            vault.fs.setattr(&ROOT, root, &mode)?;
        }
        Ok(vault)
    }

    /// The file system of a pool that has one.
    pub fn open(pool: &dyn Pool) -> Result<Vault> {
        let name = dataset(&pool.name());
        match pool.open_fs(&name) {
            Ok(fs) => Ok(Vault { fs }),
            Err(Error::NotFound) => Err(Refused::because(StateFault::NoFileSystem { dataset: name }).into()),
            Err(error) => Err(error),
        }
    }

    /// In the order of their numbers.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        let (root, mut found) = (self.fs.root(), Vec::new());
        let (mut cookie, mut seen) = (0, 0);
        while seen < MOST_ENTRIES {
            let page = self.fs.readdir(&ROOT, root, cookie, PAGE)?;
            seen += page.entries.len();
            for entry in &page.entries {
                cookie = entry.cookie;
                let Some((number, time)) = parse(&entry.name) else { continue };
                let is_one = |attr: &Attr| attr.kind == NodeKind::File && attr.size <= version::LONGEST;
                if let Some(attr) = entry.attr.filter(is_one) {
                    found.push(Entry { number, time, size: attr.size, node: entry.node });
                }
            }
            if page.eof || page.entries.is_empty() {
                break;
            }
        }
        found.sort_unstable_by_key(|entry| (entry.number, entry.time));
        Ok(found)
    }

    /// What a version says of itself, or what is wrong with that.
    pub fn head(&self, entry: &Entry) -> Result<std::result::Result<Head, Flaw>> {
        self.read(entry, |from| version::read_head(from, entry.size))
    }

    /// Reads a version; `work` is given its bytes. Gives what is wrong with them apart from what is
    /// wrong with the pool.
    pub fn read<T>(
        &self,
        entry: &Entry,
        work: impl FnOnce(&mut dyn Read) -> std::result::Result<T, Flaw>,
    ) -> Result<std::result::Result<T, Flaw>> {
        let mut from =
            Reading { fs: &*self.fs, node: entry.node, at: 0, ahead: Vec::new(), used: 0, failed: None };
        let read = work(&mut from);
        match from.failed {
            // Blocks that are damaged for good are of this file alone.
            None | Some(Error::Corrupt { .. }) => Ok(read),
            // Of the pool: what came of it says nothing.
            Some(error) => Err(error),
        }
    }

    /// Writes a version, whose head names its number and its time, and takes away what is too much.
    /// Once this returns it is durable.
    pub fn write(&self, head: &Head, pieces: &mut [&mut dyn Read]) -> Result<()> {
        let entries = self.entries()?;
        let held = |entry: &Entry| Held { number: entry.number, time: entry.time, size: entry.size };
        let held: Vec<Held> = entries.iter().map(held).collect();
        let surplus = retention::surplus(&held, head.size());
        for entry in entries.iter().filter(|entry| surplus.contains(&entry.number)) {
            self.remove(name(entry.number, entry.time).as_bytes())?;
        }
        let written = self.write_whole(head, pieces);
        if written.is_err() {
            // What is left of it is replaced by the next one.
            drop(self.remove(PART));
        }
        written
    }

    fn write_whole(&self, head: &Head, pieces: &mut [&mut dyn Read]) -> Result<()> {
        let root = self.fs.root();
        self.remove(PART)?;
        let mode = SetAttr { mode: Some(FOR_ROOT), ..SetAttr::default() };
        let made = self.fs.create(&ROOT, root, PART, CreateMode::Guarded, &mode)?;
        let node = made.attr.node;
        let mut to = Sink { fs: &*self.fs, node, at: 0, gathered: Vec::with_capacity(CHUNK), failed: None };
        if let Err(error) = version::write(head, pieces, &mut to) {
            let failed = || Refused::because(Reason::Os { message: error.to_string() }).into();
            return Err(to.failed.unwrap_or_else(failed));
        }
        self.fs.commit(node)?;
        let name = name(head.number, head.time);
        self.fs.rename(&ROOT, (root, PART), (root, name.as_bytes()), RenameMode::NoReplace)?;
        self.fs.sync()
    }

    /// That nothing is there is as good.
    fn remove(&self, name: &[u8]) -> Result<()> {
        match self.fs.remove(&ROOT, self.fs.root(), name) {
            Ok(_) | Err(Error::NotFound) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// The number of the version after these.
pub fn next_number(entries: &[Entry]) -> Result<u64> {
    let next = entries.last().map_or(1, |last| last.number + 1);
    if next <= LAST_NUMBER { Ok(next) } else { Err(Refused::because(StateFault::NoNumber).into()) }
}

fn name(number: u64, time: i64) -> String {
    format!("{number:0NUMBER$}-{:0TIME$}{ENDING}", time.max(0))
}

/// Number and time; `None` for what nobody here has named so.
fn parse(name: &[u8]) -> Option<(u64, i64)> {
    let stem = std::str::from_utf8(name).ok()?.strip_suffix(ENDING)?;
    let (number, time) = stem.split_once('-')?;
    let digits = |text: &str, count| text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit());
    match digits(number, NUMBER) && digits(time, TIME) {
        true => Some((number.parse().ok()?, time.parse().ok()?)),
        false => None,
    }
}

/// Reads a file from front to back.
struct Reading<'a> {
    fs: &'a dyn FileSystem,
    node: NodeId,
    at: u64,
    /// What was read and not given yet begins at `used`.
    ahead: Vec<u8>,
    used: usize,
    failed: Option<Error>,
}

impl Read for Reading<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.ahead.len() {
            // Who wants a head needs no more.
            let wanted = if self.at == 0 { HEAD } else { CHUNK };
            match self.fs.read(&ROOT, self.node, self.at, wanted) {
                Ok(read) => (self.ahead, self.used) = (read.to_vec(), 0),
                Err(error) => return Err(fail(&mut self.failed, error)),
            }
            self.at += self.ahead.len() as u64;
        }
        let given = into.len().min(self.ahead.len() - self.used);
        into[..given].copy_from_slice(&self.ahead[self.used..][..given]);
        self.used += given;
        Ok(given)
    }
}

/// Writes a file from front to back.
struct Sink<'a> {
    fs: &'a dyn FileSystem,
    node: NodeId,
    at: u64,
    /// Not written yet.
    gathered: Vec<u8>,
    failed: Option<Error>,
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(CHUNK - self.gathered.len());
        self.gathered.extend_from_slice(&bytes[..taken]);
        if self.gathered.len() == CHUNK {
            self.flush()?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        let written = self.fs.write(&ROOT, self.node, self.at, &self.gathered, Stable::Unstable);
        written.map_err(|error| fail(&mut self.failed, error))?;
        self.at += self.gathered.len() as u64;
        self.gathered.clear();
        Ok(())
    }
}

/// Keeps an error of the pool for whoever knows what to do about it.
fn fail(failed: &mut Option<Error>, error: Error) -> io::Error {
    let told = io::Error::other(error.to_string());
    *failed = Some(error);
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_tells_number_and_time_and_no_other_name_does() {
        assert_eq!(name(12, 1_795_000_000), "0000000012-001795000000.state");
        assert_eq!(parse(name(LAST_NUMBER, 0).as_bytes()), Some((LAST_NUMBER, 0)));
        assert_eq!(parse(name(1, -7).as_bytes()), Some((1, 0)));
        for wrong in [
            &b""[..],
            b"version.part",
            b"0000000012-001795000000",
            b"000000012-001795000000.state",
            b"00000000012-01795000000.state",
            b"+000000012-001795000000.state",
            b"0000000012-00179500000\xff.state",
            b"0000000012-001795000000.state.state",
        ] {
            assert_eq!(parse(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn numbers_end_and_do_not_begin_anew() {
        let entry = |number| Entry { number, time: 0, size: 0, node: NodeId { object: 1, generation: 1 } };
        assert_eq!(next_number(&[]), Ok(1));
        assert_eq!(next_number(&[entry(3), entry(9)]), Ok(10));
        let why = Refused::because(StateFault::NoNumber);
        assert_eq!(next_number(&[entry(LAST_NUMBER)]), Err(why.into()));
    }
}
