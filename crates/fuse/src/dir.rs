//! Listing directories.
//!
//! Offsets are the engine's cookies; `.` and `..` have 1 and 2, which the engine keeps free. A
//! reply takes as many entries as the kernel's buffer holds, which only shows when one does not
//! fit: what is left of the page stays with the handle for the next call.

use crate::convert::type_bits;
use crate::handles::Handle;
use crate::inodes::Mark;
use crate::lock::lock;
use crate::page::Page;
use crate::reply::Entries;
use crate::request::Read;
use crate::server::Server;
use crate::trust::Trust;
use engine_api::{Attr, DirEntry, DirLimit, NodeId, NodeKind, Result};
use std::time::Duration;

const DOT: u64 = 1;
const DOT_DOT: u64 = 2;
/// Entries asked for at a time: about what 32 KiB hold, the size of glibc's buffer.
const PAGE_ENTRIES: usize = 256;

/// Nodes that the kernel is given, by what was there after the mark; the directory, whose listing
/// it may keep, is one of them.
pub struct Given {
    pub mark: Mark,
    pub nodes: Vec<u64>,
}

impl Server {
    /// Names and numbers. With `plus`, attributes too: then the kernel gets a reference to each but
    /// `.` and `..`.
    pub fn list(&self, read: &Read, plus: bool, to: &mut Entries) -> (Given, Result<()>) {
        let mut given = Given { mark: self.inodes.mark(), nodes: Vec::new() };
        let filled = self.fill_from(read, plus, to, &mut given);
        (given, filled)
    }

    /// False where there is no room for it.
    fn put_dot(&self, dir: NodeId, offset: u64, name: &[u8], plus: bool, to: &mut Entries) -> Result<bool> {
        let ino = self.inodes.number(dir);
        if !plus {
            return Ok(to.add(ino, offset, libc::S_IFDIR, name));
        }
        let attr = self.fs.getattr(dir)?;
        // The kernel passes it by.
        let trust = Trust { name: Duration::ZERO, attr: Duration::ZERO };
        Ok(to.add_plus(ino, &attr, trust, offset, name))
    }

    /// The same; with `plus`, what is taken goes into `given`.
    fn put(
        &self,
        entry: &DirEntry,
        dir: NodeId,
        plus: bool,
        to: &mut Entries,
        given: &mut Given,
    ) -> Result<bool> {
        if !plus {
            let ino = self.inodes.number(entry.node);
            return Ok(to.add(ino, entry.cookie, type_bits(entry.kind), &entry.name));
        }
        let attr: Attr = match entry.attr {
            Some(attr) => attr,
            None => self.fs.getattr(entry.node)?,
        };
        let ino = self.inodes.remember(entry.node, attr.kind == NodeKind::Dir)?;
        let trust = self.trust_by_name(ino, &attr, self.inodes.number(dir), &entry.name);
        let taken = to.add_plus(ino, &attr, trust, entry.cookie, &entry.name);
        if taken {
            given.nodes.push(ino);
        } else {
            self.inodes.forget(ino, 1);
        }
        Ok(taken)
    }

    fn fill_from(&self, read: &Read, plus: bool, to: &mut Entries, given: &mut Given) -> Result<()> {
        let handle = self.handles.get(read.fh)?;
        let (dir, offset, flags) = (handle.node, read.offset, read.flags);
        given.nodes.push(self.inodes.number(dir));
        if offset < DOT && !self.put_dot(dir, DOT, b".", plus, to)? {
            return Ok(());
        }
        if offset < DOT_DOT {
            let parent = self.fs.lookup(&self.root(), dir, b"..").map_or(dir, |attr| attr.node);
            if !self.put_dot(parent, DOT_DOT, b"..", plus, to)? {
                return Ok(());
            }
        }
        let cookie = if offset <= DOT_DOT { 0 } else { offset };
        let mut page = self.page(&handle, cookie, plus, flags)?;
        given.mark = given.mark.min(page.mark);
        let mut sent = false;
        loop {
            while let Some(entry) = page.entries.front() {
                match self.put(entry, dir, plus, to, given) {
                    Ok(true) => {}
                    // An error behind entries that are taken already waits for the next call.
                    Ok(false) => return keep(&handle, page),
                    Err(_) if sent => return keep(&handle, page),
                    // It went away between the listing and the look at it.
                    Err(engine_api::Error::Stale | engine_api::Error::NotFound) => {}
                    Err(error) => return Err(error),
                }
                sent = true;
                page.from = entry.cookie;
                page.entries.pop_front();
            }
            if page.eof {
                return Ok(());
            }
            page = self.read_page(dir, page.from, plus, flags)?;
        }
    }

    /// What the last call left over where this one goes on there; a page just read otherwise.
    fn page(&self, handle: &Handle, cookie: u64, plus: bool, flags: i32) -> Result<Page> {
        let left = lock(&handle.page).take();
        match left {
            Some(page) if page.from == cookie && page.with_attr == plus && cookie != 0 => Ok(page),
            _ => self.read_page(handle.node, cookie, plus, flags),
        }
    }

    fn read_page(&self, dir: NodeId, cookie: u64, with_attr: bool, flags: i32) -> Result<Page> {
        let limit = DirLimit { entries: PAGE_ENTRIES, name_bytes: usize::MAX, with_attr };
        let mark = self.inodes.mark();
        // The kernel checked at opendir; what was allowed then stays allowed.
        let page = self.fs.readdir(&self.reader(flags), dir, cookie, limit)?;
        Ok(Page { mark, from: cookie, with_attr, entries: page.entries.into(), eof: page.eof })
    }
}

/// What is left goes with the next call.
fn keep(handle: &Handle, page: Page) -> Result<()> {
    *lock(&handle.page) = Some(page);
    Ok(())
}
