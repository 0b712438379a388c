//! Files of snapshots: what a directory has, what a file was in each snapshot, and copying one
//! back.
//!
//! All of it goes by the engine's own file systems, not through a mount, and as root: whom it is
//! for is decided at the door of the management API. Names are bytes. A path is walked by name from
//! the root of its file system: a symbolic link is shown and never followed, and neither `.` nor
//! `..` is a name, so nothing leads out of the file system that was asked for.
//!
//! A call does a bounded part: a page of a directory, or some snapshots of many. Where it goes on
//! is in its answer.

mod restore;

use api_types::refusal::FileFault;
use api_types::{
    FILES_MAX, FileKind, FileNode, FilePage, FileVersion, FileVersions, VERSIONS_MAX, escape_path,
    unescape_path,
};
use engine_api::{
    Attr, Cred, DatasetFilter, DatasetInfo, DatasetKind, DatasetPlace, DirLimit, Error, FileSystem, NAME_MAX,
    NodeId, NodeKind, Secrets, Slice,
};
use std::sync::Arc;

use crate::{Appliance, Failure, Result};

/// Bytes of names in one page.
const NAME_BYTES: usize = 512 << 10;
/// Bytes of a path, before it is walked.
const PATH_MAX: usize = 64 << 10;
/// Bytes that are read at a time.
const PIECE: usize = 256 << 10;
/// The directory that leads to snapshots, in the root of a file system.
const CONTROL: &[u8] = b".zfs";

/// A regular file of a snapshot, open for reading. It does not change.
pub struct OpenFile {
    fs: Arc<dyn FileSystem>,
    node: NodeId,
    pub size: u64,
    /// As bytes.
    pub name: Vec<u8>,
}

impl OpenFile {
    /// What begins at an offset, in parts of at most some 100 KiB together; none at the end.
    pub fn read(&self, offset: u64) -> Result<Vec<Slice>> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(PIECE);
        Ok(self.fs.read(&cred(), self.node, offset, left.min(PIECE))?.parts)
    }
}

impl Appliance {
    /// A part of a directory of a file system or snapshot.
    pub fn files(&self, dataset: &str, path: &str, after: &str, limit: Option<u32>) -> Result<FilePage> {
        let why = |why| Failure::File { name: place(dataset, path), why };
        let cookie = match after {
            "" => 0,
            after => after.parse().map_err(|_| why(FileFault::Name))?,
        };
        let fs = self.pool_of(dataset)?.open_fs(dataset)?;
        let names = names_of(path).map_err(why)?;
        let directory = walk(&*fs, &names)?.map_err(why)?;
        if directory.kind != NodeKind::Dir {
            return Err(why(FileFault::NotDirectory { at: shown(&names) }));
        }
        let entries = limit.unwrap_or(FILES_MAX).clamp(1, FILES_MAX) as usize;
        let limit = DirLimit { entries, name_bytes: NAME_BYTES, with_attr: true };
        let page = fs.readdir(&cred(), directory.node, cookie, limit)?;
        let next = page.entries.last().filter(|_| !page.eof).map(|last| last.cookie.to_string());
        // One that went meanwhile is not there.
        let entries = page.entries.iter().filter_map(|entry| Some((&entry.name, entry.attr.as_ref()?)));
        let entries = entries.map(|(name, attr)| node(&*fs, name, attr)).collect();
        let own = names.last().map_or(&[][..], |name| name);
        Ok(FilePage { directory: node(&*fs, own, &directory), entries, next })
    }

    /// A regular file of a snapshot.
    pub fn open_file(&self, snapshot: &str, path: &str) -> Result<OpenFile> {
        let why = |why| Failure::File { name: place(snapshot, path), why };
        if !snapshot.contains('@') {
            return Err(why(FileFault::NotSnapshot));
        }
        let fs = self.pool_of(snapshot)?.open_fs(snapshot)?;
        let names = names_of(path).map_err(why)?;
        let found = walk(&*fs, &names)?.map_err(why)?;
        if found.kind != NodeKind::File {
            return Err(why(FileFault::NotFile { at: shown(&names) }));
        }
        let name = names.last().cloned().unwrap_or_default();
        Ok(OpenFile { fs, node: found.node, size: found.size, name })
    }

    /// What a path is in each snapshot of a file system, of some snapshots from a place on.
    pub fn file_versions(
        &self,
        dataset: &str,
        path: &str,
        after: &str,
        limit: Option<u32>,
    ) -> Result<FileVersions> {
        let why = |why| Failure::File { name: place(dataset, path), why };
        let pool = self.pool_of(dataset)?;
        let names = names_of(path).map_err(why)?;
        let cursor = match after {
            "" => None,
            after => Some(Cursor::parse(dataset, after).ok_or_else(|| why(FileFault::Name))?),
        };
        let filter = DatasetFilter {
            roots: vec![dataset.to_owned()],
            depth: Some(1),
            alone: false,
            kinds: vec![DatasetKind::Snapshot],
            props: vec!["creation".to_owned()],
        };
        let limit = limit.unwrap_or(VERSIONS_MAX).clamp(1, VERSIONS_MAX) as usize;
        let place = cursor.as_ref().map(|cursor| &cursor.place);
        let page = pool.datasets_page(&filter, Secrets::Hidden, place, limit)?;
        let mut known = cursor.as_ref().map(|cursor| cursor.version.clone());
        let mut versions = Vec::new();
        for snapshot in page.datasets {
            let file = match pool.open_fs(&snapshot.name) {
                Ok(fs) => there(&*fs, &names)?,
                // It went meanwhile.
                Err(Error::NotFound) => continue,
                Err(error) => return Err(error.into()),
            };
            let version = version_of(file.as_ref());
            let differs = known.as_ref() != Some(&version);
            known = Some(version);
            versions.push(FileVersion { taken: taken(&snapshot), snapshot: snapshot.name, file, differs });
        }
        let next = page.next.map(|place| Cursor { place, version: known.unwrap_or_default() }.text());
        let now = there(&*pool.open_fs(dataset)?, &names)?;
        Ok(FileVersions { now, versions, next })
    }
}

/// Who reads and restores, for whoever was let in. No access times come of it.
fn cred() -> Cred {
    Cred { noatime: true, ..Cred::root() }
}

/// How a file is called in a refusal.
fn place(dataset: &str, path: &str) -> String {
    format!("{dataset}:{path}")
}

/// The names that a path is made of. The root has none.
fn names_of(path: &str) -> std::result::Result<Vec<Vec<u8>>, FileFault> {
    if path.len() > PATH_MAX {
        return Err(FileFault::Name);
    }
    // Slashes part names before escapes are undone: none comes out of one.
    let names = path.split('/').filter(|name| !name.is_empty()).map(unescape_path);
    let names: Vec<Vec<u8>> = names.collect();
    match names.iter().all(|name| is_name(name)) {
        true => Ok(names),
        false => Err(FileFault::Name),
    }
}

fn is_name(name: &[u8]) -> bool {
    let is_special = matches!(name, b"" | b"." | b"..");
    !is_special && name.len() <= NAME_MAX && !name.contains(&b'/') && !name.contains(&0)
}

/// A path as it is shown.
fn shown(names: &[Vec<u8>]) -> String {
    names.iter().map(|name| format!("/{}", escape_path(name))).collect()
}

/// What these names lead to from the root, or why they lead to nothing.
fn walk(fs: &dyn FileSystem, names: &[Vec<u8>]) -> Result<std::result::Result<Attr, FileFault>> {
    let mut at = fs.getattr(fs.root())?;
    for (depth, name) in names.iter().enumerate() {
        let before = || shown(&names[..depth]);
        match at.kind {
            NodeKind::Dir => {}
            NodeKind::Symlink => return Ok(Err(FileFault::Link { at: before() })),
            _ => return Ok(Err(FileFault::NotDirectory { at: before() })),
        }
        let missing = || Ok(Err(FileFault::Missing { at: shown(&names[..=depth]) }));
        if depth == 0 && name == CONTROL {
            return missing();
        }
        at = match fs.lookup(&cred(), at.node, name) {
            Ok(found) => found,
            Err(Error::NotFound | Error::Stale) => return missing(),
            Err(error) => return Err(error.into()),
        };
    }
    Ok(Ok(at))
}

/// What a path is there, if it is anything.
fn there(fs: &dyn FileSystem, names: &[Vec<u8>]) -> Result<Option<FileNode>> {
    let name = names.last().map_or(&[][..], |name| name);
    Ok(walk(fs, names)?.ok().map(|attr| node(fs, name, &attr)))
}

fn node(fs: &dyn FileSystem, name: &[u8], attr: &Attr) -> FileNode {
    let kind = match attr.kind {
        NodeKind::File => FileKind::File,
        NodeKind::Dir => FileKind::Directory,
        NodeKind::Symlink => FileKind::Symlink,
        NodeKind::Fifo => FileKind::Fifo,
        NodeKind::Socket => FileKind::Socket,
        NodeKind::CharDev => FileKind::CharacterDevice,
        NodeKind::BlockDev => FileKind::BlockDevice,
    };
    // Where one cannot be read, that it is a link is told all the same.
    let target = (kind == FileKind::Symlink).then(|| fs.readlink(&cred(), attr.node).ok()).flatten();
    FileNode {
        name: escape_path(name),
        kind,
        object: attr.node.object,
        generation: attr.node.generation,
        size: attr.size,
        used: attr.used,
        mode: attr.mode,
        uid: attr.uid,
        gid: attr.gid,
        links: attr.nlink,
        modified: attr.mtime.secs,
        modified_nanos: attr.mtime.nanos,
        changed: attr.ctime.secs,
        changed_nanos: attr.ctime.nanos,
        created: attr.crtime.secs,
        target: target.map(|target| escape_path(&target)),
    }
}

/// Two of the same text are the same: each change of a node gives it another time of its last
/// change, which nobody can set.
fn version_of(file: Option<&FileNode>) -> String {
    file.map_or_else(String::new, |file| {
        let FileNode { object, generation, changed, changed_nanos, .. } = file;
        format!("{object:x}-{generation:x}-{changed}-{changed_nanos}")
    })
}

fn taken(snapshot: &DatasetInfo) -> u64 {
    let creation = snapshot.props.iter().find(|prop| prop.name == "creation");
    creation.and_then(|prop| prop.value.parse().ok()).unwrap_or_default()
}

/// Behind which snapshot it goes on, and what the path was there.
#[derive(Debug, PartialEq, Eq)]
struct Cursor {
    place: DatasetPlace,
    version: String,
}

impl Cursor {
    fn text(&self) -> String {
        let snapshot = self.place.name.split_once('@').map_or("", |(_, snapshot)| snapshot);
        format!("{}.{}.{snapshot}", self.place.createtxg, self.version)
    }

    fn parse(dataset: &str, text: &str) -> Option<Cursor> {
        let mut parts = text.splitn(3, '.');
        let createtxg = parts.next()?.parse().ok()?;
        let (version, snapshot) = (parts.next()?.to_owned(), parts.next()?);
        let name = if snapshot.is_empty() { dataset.to_owned() } else { format!("{dataset}@{snapshot}") };
        Some(Cursor { place: DatasetPlace { name, createtxg }, version })
    }
}

#[cfg(test)]
mod tests;
