//! Directories: looking up, listing, adding and removing entries.
//!
//! A directory is a ZAP from names to object numbers with the node's type in the top bits. A place
//! in a listing is the ZAP's cursor, which stays good whatever is added or removed; it is never 3
//! or less, as OpenZFS has it. Source: `zfs_readdir`, `zfs_match_find` in module/os/linux/zfs.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dmu::zap::Cursor;
use dmu::{Tx, Zap};
use engine_api::{Attr, Cred, DirEntry, DirLimit, DirPage, Error, NodeId, Result};
use ondisk::znode::{Dirent, MASTER_NODE, attr, flags, kind, master};
use stdx::posix;

use super::Zpl;
use super::attrs::{Attrs, Change, api_kind, modified};
use super::error::api_error;
use super::node::Node;
use super::perm::check;

/// Cookies up to this mean the beginning: OpenZFS has `.`, `..` and `.zfs` there.
const LAST_SPECIAL_COOKIE: u64 = 3;
/// Entries read from the ZAP at a time.
const PAGE: usize = 256;

/// An entry: what it stands for, and its name as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub entry: Dirent,
    pub name: Vec<u8>,
}

impl Zpl {
    /// A node that must be a directory.
    pub(super) fn dir_node(&self, id: NodeId) -> Result<Arc<Node>> {
        let node = self.node(id)?;
        node.unless_dead(if is_dir(&node) { Ok(()) } else { Err(Error::NotDir) })?;
        Ok(node)
    }

    /// The directory of shares, which no other leads to; file systems that were never shared over
    /// SMB may lack it.
    pub fn shares(&self) -> Result<Option<NodeId>> {
        let names = Zap::open(&self.objset, MASTER_NODE).map_err(api_error)?;
        let found = names.find_u64(master::SHARES_DIR).map_err(api_error)?;
        found.map(|object| Ok(self.node_by_number(object)?.id())).transpose()
    }

    pub(super) fn entries(&self, dir: &Node) -> Result<Zap> {
        let zap = dir.unless_dead(Zap::of(dir.dnode().clone()).map_err(api_error))?;
        Ok(if self.names.normflags == 0 { zap } else { zap.with_normalize(self.names.normalize.clone()) })
    }

    pub(super) fn find_entry(&self, dir: &Node, name: &[u8]) -> Result<Option<Found>> {
        match self.entries(dir)?.lookup_match(name, self.names.matching()) {
            Ok(found) => Ok(Some(Found { entry: Dirent::decode(found.value.first()), name: found.name })),
            Err(dmu::DmuError::NotFound) => Ok(None),
            Err(error) => dir.unless_dead(Err(api_error(error))),
        }
    }

    /// The node behind a name, looked up with nothing locked.
    pub(super) fn find_node(&self, dir: &Node, name: &[u8]) -> Result<Option<(Found, Arc<Node>)>> {
        self.follow(|| self.find_entry(dir, name), |found| found.entry.object)
    }

    /// What `look` finds, and the node whose number that has. Nothing is locked, so what was found
    /// may be gone by the time its node is looked for, and the number mean another node: one made
    /// since, which its generation tells.
    fn follow<T: PartialEq>(
        &self,
        look: impl Fn() -> Result<Option<T>>,
        number: impl Fn(&T) -> u64,
    ) -> Result<Option<(T, Arc<Node>)>> {
        loop {
            let newest = self.changed.load(Ordering::SeqCst);
            let Some(found) = look()? else { return Ok(None) };
            let node = self.node_by_number(number(&found));
            let certain = node.as_ref().is_ok_and(|node| node.generation() <= newest);
            if certain || look()?.as_ref() == Some(&found) {
                let node = node?;
                if node.check_alive().is_ok() {
                    return Ok(Some((found, node)));
                }
            }
        }
    }

    pub(super) fn add_entry(&self, dir: &Node, name: &[u8], entry: Dirent, tx: &Tx) -> Result<()> {
        self.entries(dir)?.add(name, self.as_stored(entry).encode(), tx).map_err(api_error)
    }

    /// `name` as it is stored.
    pub(super) fn remove_entry(&self, dir: &Node, name: &[u8], tx: &Tx) -> Result<()> {
        self.entries(dir)?.remove(name, tx).map_err(api_error)
    }

    /// A directory's own attributes after its entries changed: by how much size and link count
    /// grew.
    pub(super) fn touch_dir(&self, dir: &Node, size: i64, links: i64, tx: &Tx) -> Result<()> {
        self.update(dir, tx, |old, now| {
            Change::default()
                .word(&attr::SIZE, old.size.saturating_add_signed(size))
                .word(&attr::LINKS, old.links.saturating_add_signed(links))
                .word(&attr::FLAGS, modified(old.flags))
                .time(&attr::MTIME, now)
        })
        .map(drop)
    }

    pub(super) fn lookup_name(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        self.names.check(name)?;
        let dir = self.dir_node(dir)?;
        let attrs = self.attrs(&dir)?;
        check(cred, &attrs, posix::EXEC)?;
        let node = match name {
            b"." => return Ok(self.show(&dir, &attrs)),
            b".." => {
                let parent = || self.attrs(&dir).map(|attrs| Some(attrs.parent));
                self.follow(parent, |parent| *parent).map(|found| found.map(|(_, node)| node))
            }
            _ => self.find_node(&dir, name).map(|found| found.map(|(_, node)| node)),
        };
        // The node may have gone since.
        let node = node.map_err(gone)?.ok_or(Error::NotFound)?;
        self.show_now(&node).map_err(gone)
    }

    pub(super) fn list(&self, cred: &Cred, dir: NodeId, cookie: u64, limit: DirLimit) -> Result<DirPage> {
        let dir = self.dir_node(dir)?;
        let attrs = self.attrs(&dir)?;
        check(cred, &attrs, posix::READ)?;
        let mut page = DirPage { entries: Vec::new(), eof: true };
        if attrs.links == 0 {
            return Ok(page);
        }
        let zap = self.entries(&dir)?;
        let newest = self.changed.load(Ordering::SeqCst);
        let mut at = if cookie <= LAST_SPECIAL_COOKIE { 0 } else { cookie };
        let mut name_bytes = 0;
        'pages: while at != Cursor::END {
            let wanted = limit.entries.saturating_sub(page.entries.len()).saturating_add(1).min(PAGE);
            let found = dir.unless_dead(zap.page(at, wanted).map_err(api_error))?;
            for entry in found.entries {
                name_bytes += entry.name.len();
                let full = page.entries.len() >= limit.entries || name_bytes > limit.name_bytes;
                if full && !page.entries.is_empty() {
                    page.eof = false;
                    break 'pages;
                }
                let dirent = Dirent::decode(entry.value.first());
                let found = Found { entry: dirent, name: entry.name };
                page.entries.push(self.list_one(&dir, found, newest, entry.next, limit.with_attr));
            }
            at = found.next;
        }
        self.touch_atime(cred, &dir, &attrs);
        Ok(page)
    }

    /// An entry whose node cannot be read is listed all the same, so that it can be seen and
    /// removed. `newest` is from before the entry was read, as in [`Zpl::follow`].
    fn list_one(&self, dir: &Node, found: Found, newest: u64, cookie: u64, with_attr: bool) -> DirEntry {
        let Found { entry, name } = &found;
        let still = || matches!(self.find_entry(dir, name), Ok(now) if now.as_ref() == Some(&found));
        let node = self.node_by_number(entry.object).ok();
        let node = node.filter(|node| node.generation() <= newest || still() && node.check_alive().is_ok());
        let attr = match &node {
            Some(node) if with_attr || entry.kind == 0 => self.show_now(node).ok(),
            _ => None,
        };
        let kind = attr.as_ref().filter(|_| entry.kind == 0).map_or(api_kind(entry.kind), |attr| attr.kind);
        let generation = node.map_or(0, |node| node.generation());
        let node = NodeId { object: entry.object, generation };
        DirEntry { name: found.name, node, kind, cookie, attr: attr.filter(|_| with_attr) }
    }

    /// Whether a directory has no entries.
    pub(super) fn is_empty_dir(&self, dir: &Node) -> Result<bool> {
        Ok(self.entries(dir)?.count().map_err(api_error)? == 0)
    }

    /// Whether a node may go, removed or displaced as a directory is (`by_dir`) or as all else is:
    /// it has to be of that kind, and a directory empty.
    pub(super) fn check_displaced(&self, node: &Node, is_dir: bool, by_dir: bool) -> Result<()> {
        match (by_dir, is_dir) {
            (true, false) => Err(Error::NotDir),
            (false, true) => Err(Error::IsDir),
            (true, true) if !self.is_empty_dir(node)? => Err(Error::NotEmpty),
            _ => Ok(()),
        }
    }

    /// Whether `above` is `object` or one of its ancestors. Only of use while no directory can be
    /// moved.
    pub(super) fn is_ancestor(&self, above: u64, mut object: u64) -> Result<bool> {
        // A chain of parents longer than the file system has objects is a loop, and damage.
        for _ in 0..1 << 20 {
            if object == above {
                return Ok(true);
            }
            if object == self.root.object {
                return Ok(false);
            }
            let node = match self.node_by_number(object) {
                // A removed directory that is still open hangs nowhere.
                Err(Error::Stale | Error::NotFound) => return Ok(false),
                node => node?,
            };
            let attrs = self.attrs(&node)?;
            if attrs.parent == object || !attrs.is_dir() && attrs.flags & flags::XATTR == 0 {
                return Ok(false);
            }
            object = attrs.parent;
        }
        Err(Error::Corrupt { object, block: 0 })
    }
}

pub fn is_dir(node: &Node) -> bool {
    node.dnode().object_type() == ondisk::object_type::ObjectType::DIRECTORY_CONTENTS
}

/// The entry for a node.
pub fn entry_for(node: &Node, attrs: &Attrs) -> Dirent {
    Dirent { object: node.object(), kind: if is_dir(node) { kind::DIR } else { attrs.kind() } }
}

/// A node that went while it was being looked up was not there.
pub fn gone(error: Error) -> Error {
    if error == Error::Stale { Error::NotFound } else { error }
}
