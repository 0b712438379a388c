//! Through a file system, for what goes elsewhere.
//!
//! Invariants: no symbolic link is followed. What is held is a page of each folder on the way, and
//! a way is no longer than a path that rsync takes.

use std::vec::IntoIter;

use engine_api::{Attr, Cred, DirEntry, DirLimit, Error, FileSystem, NodeId, NodeKind, Result};
use services::autotier::choose::{Choice, File};
use services::time::Time;

/// Bytes of a path: what a kernel takes is 4,096, with the way to the snapshot before it.
const LONGEST: usize = 3_072;
/// What is read of a folder at once.
const PAGE: DirLimit = DirLimit { entries: 64, name_bytes: 16 << 10, with_attr: true };
/// Snapshots of the file system, in its root.
const CONTROL: &[u8] = b".zfs";

/// What goes.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// From the folder on.
    pub path: Vec<u8>,
    /// As it is in the file system that was walked through.
    pub attr: Attr,
}

/// See the module.
pub struct Walk<'a> {
    fs: &'a dyn FileSystem,
    choice: &'a Choice,
    now: Time,
    /// The folders on the way, the one that is looked at last.
    way: Vec<Folder>,
    /// Entries so far.
    pub looked_at: u64,
    /// Of them, files and folders that cannot be named to rsync, or whose attributes cannot be
    /// read.
    pub left_out: u64,
}

struct Folder {
    node: NodeId,
    path: Vec<u8>,
    page: IntoIter<DirEntry>,
    /// Where to read on; `None`: that was all.
    cookie: Option<u64>,
}

/// A folder by the names on the way to it. `None`: there is none.
pub fn folder<'n>(fs: &dyn FileSystem, names: impl IntoIterator<Item = &'n [u8]>) -> Result<Option<NodeId>> {
    let mut node = fs.root();
    for name in names {
        match fs.lookup(&Cred::root(), node, name) {
            Ok(attr) if attr.kind == NodeKind::Dir => node = attr.node,
            Ok(_) | Err(Error::NotFound | Error::NotDir) => return Ok(None),
            Err(error) => return Err(error),
        }
    }
    Ok(Some(node))
}

impl<'a> Walk<'a> {
    pub fn new(fs: &'a dyn FileSystem, root: NodeId, choice: &'a Choice, now: Time) -> Walk<'a> {
        let root = Folder::new(root, Vec::new());
        Walk { fs, choice, now, way: vec![root], looked_at: 0, left_out: 0 }
    }

    /// The next file or symbolic link that goes.
    pub fn next(&mut self) -> Result<Option<Chosen>> {
        while let Some(folder) = self.way.last_mut() {
            let Some(entry) = folder.page.next() else {
                let Some(cookie) = folder.cookie else {
                    self.way.pop();
                    continue;
                };
                let page = self.fs.readdir(&Cred::root(), folder.node, cookie, PAGE)?;
                let last = page.entries.last().map(|entry| entry.cookie);
                folder.cookie = last.filter(|_| !page.eof);
                folder.page = page.entries.into_iter();
                continue;
            };
            let path = joined(&folder.path, &entry.name);
            let is_control = folder.path.is_empty() && entry.name == CONTROL;
            self.looked_at += 1;
            let is_of_kind = matches!(entry.kind, NodeKind::Dir | NodeKind::File | NodeKind::Symlink);
            if is_control || !is_of_kind {
                continue;
            }
            if path.len() > LONGEST {
                self.left_out += 1;
                continue;
            }
            if entry.kind == NodeKind::Dir {
                if self.choice.enters(&path) {
                    self.way.push(Folder::new(entry.node, path));
                }
                continue;
            }
            let Some(attr) = entry.attr else {
                self.left_out += 1;
                continue;
            };
            let file = File { path: &path, size: attr.size, modified: attr.mtime.secs };
            if self.choice.takes(file, self.now) {
                return Ok(Some(Chosen { path, attr }));
            }
        }
        Ok(None)
    }
}

impl Folder {
    fn new(node: NodeId, path: Vec<u8>) -> Folder {
        Folder { node, path, page: Vec::new().into_iter(), cookie: Some(0) }
    }
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    let mut path = Vec::with_capacity(folder.len() + 1 + name.len());
    path.extend_from_slice(folder);
    if !folder.is_empty() {
        path.push(b'/');
    }
    path.extend_from_slice(name);
    path
}
