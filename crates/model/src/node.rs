//! A node: attributes, and what it holds by kind.

use crate::content::Content;
use engine_api::{Attr, NodeId, NodeKind, Time};
use std::collections::BTreeMap;
use stdx::posix;

/// First cookie given out; smaller ones are the protocols' own.
const FIRST_COOKIE: u64 = 3;
/// `.` and `..` count in a directory's size, as in OpenZFS.
const DOTS: u64 = 2;

#[derive(Clone, Debug)]
pub struct Node {
    pub id: NodeId,
    pub body: Body,
    pub mode: u32,
    pub uid: u32,
    pub gid: u32,
    pub nlink: u64,
    pub atime: Time,
    pub mtime: Time,
    pub ctime: Time,
    pub crtime: Time,
    pub change: u64,
    pub xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// `open` calls that no `close` has answered yet.
    pub opens: u64,
}

#[derive(Clone, Debug)]
pub enum Body {
    File(Content),
    Dir(Directory),
    Symlink(Vec<u8>),
    Fifo,
    Socket,
    CharDev(u32, u32),
    BlockDev(u32, u32),
}

impl Node {
    pub fn kind(&self) -> NodeKind {
        match self.body {
            Body::File(_) => NodeKind::File,
            Body::Dir(_) => NodeKind::Dir,
            Body::Symlink(_) => NodeKind::Symlink,
            Body::Fifo => NodeKind::Fifo,
            Body::Socket => NodeKind::Socket,
            Body::CharDev(..) => NodeKind::CharDev,
            Body::BlockDev(..) => NodeKind::BlockDev,
        }
    }

    pub fn is_dir(&self) -> bool {
        matches!(self.body, Body::Dir(_))
    }

    /// What the access rules look at.
    pub fn rules(&self) -> posix::Node<'_> {
        let kind = match self.body {
            Body::File(_) => posix::Kind::File,
            Body::Dir(_) => posix::Kind::Dir,
            _ => posix::Kind::Other,
        };
        posix::Node { uid: self.uid, gid: self.gid, mode: self.mode, withheld: 0, acl: None, kind }
    }

    pub fn attr(&self) -> Attr {
        let (size, used, rdev) = match &self.body {
            Body::File(content) => (content.size(), content.used(), (0, 0)),
            Body::Dir(dir) => (dir.len() as u64 + DOTS, 512, (0, 0)),
            Body::Symlink(target) => (target.len() as u64, 512, (0, 0)),
            Body::Fifo | Body::Socket => (0, 512, (0, 0)),
            Body::CharDev(major, minor) | Body::BlockDev(major, minor) => (0, 512, (*major, *minor)),
        };
        Attr {
            node: self.id,
            kind: self.kind(),
            mode: self.mode,
            withheld: 0,
            nlink: self.nlink,
            uid: self.uid,
            gid: self.gid,
            size,
            used,
            blksize: 128 << 10,
            rdev,
            atime: self.atime,
            mtime: self.mtime,
            ctime: self.ctime,
            crtime: self.crtime,
            change: self.change,
            settled: true,
        }
    }

    /// Attributes changed.
    pub fn touch_ctime(&mut self, now: Time) {
        self.ctime = now;
        self.change += 1;
    }

    /// Contents changed.
    pub fn touch_mtime(&mut self, now: Time) {
        self.mtime = now;
        self.touch_ctime(now);
    }

    /// Contents were read: relatime, that is, when the last access is older than the last change,
    /// or than a day.
    pub fn touch_atime(&mut self, now: Time) -> bool {
        const DAY_SECS: i64 = 24 * 60 * 60;
        let stale = self.atime <= self.mtime || self.atime <= self.ctime;
        let wants = stale || now.secs.saturating_sub(self.atime.secs) >= DAY_SECS;
        if wants {
            self.atime = now;
        }
        wants
    }
}

/// Names of a directory, in the order they were made.
#[derive(Clone, Debug)]
pub struct Directory {
    /// Object of the parent; of the root, its own.
    pub parent: u64,
    next_cookie: u64,
    by_name: BTreeMap<Vec<u8>, (u64, u64)>,
    by_cookie: BTreeMap<u64, Vec<u8>>,
}

impl Directory {
    pub fn new(parent: u64) -> Directory {
        let (by_name, by_cookie) = (BTreeMap::new(), BTreeMap::new());
        Directory { parent, next_cookie: FIRST_COOKIE, by_name, by_cookie }
    }

    pub fn len(&self) -> usize {
        self.by_name.len()
    }

    pub fn is_empty(&self) -> bool {
        self.by_name.is_empty()
    }

    pub fn get(&self, name: &[u8]) -> Option<u64> {
        self.by_name.get(name).map(|(object, _)| *object)
    }

    /// # Panics
    /// When the name is taken.
    pub fn insert(&mut self, name: &[u8], object: u64) {
        let cookie = self.next_cookie;
        self.next_cookie += 1;
        let old = self.by_name.insert(name.to_vec(), (object, cookie));
        assert!(old.is_none(), "a name is inserted once");
        self.by_cookie.insert(cookie, name.to_vec());
    }

    /// Point an existing name at another object; its cookie stays.
    ///
    /// # Panics
    /// When there is no such name.
    pub fn replace(&mut self, name: &[u8], object: u64) {
        self.by_name.get_mut(name).expect("the name exists").0 = object;
    }

    /// # Panics
    /// When there is no such name.
    pub fn remove(&mut self, name: &[u8]) {
        let (_, cookie) = self.by_name.remove(name).expect("the name exists");
        self.by_cookie.remove(&cookie);
    }

    /// (cookie, name, object) of every entry after `cookie`.
    pub fn after(&self, cookie: u64) -> impl Iterator<Item = (u64, &[u8], u64)> {
        let from = (std::ops::Bound::Excluded(cookie), std::ops::Bound::Unbounded);
        self.by_cookie.range(from).map(|(&cookie, name)| (cookie, &name[..], self.by_name[name].0))
    }
}
