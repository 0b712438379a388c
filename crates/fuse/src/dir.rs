//! Listing directories.
//!
//! Offsets are the engine's cookies; `.` and `..` have 1 and 2, which the engine keeps free. A reply takes as many
//! entries as the kernel's buffer holds, which only shows when one does not fit: what is left of the page stays with
//! the handle for the next call.

use crate::convert::{file_attr, file_type};
use crate::handles::Handle;
use crate::server::Server;
use engine_api::{Attr, Cred, DirEntry, DirLimit, NodeId, Result};
use fuser::{FileType, Generation, INodeNo, ReplyDirectory, ReplyDirectoryPlus};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

const DOT: u64 = 1;
const DOT_DOT: u64 = 2;
/// Entries asked for at a time: about what 32 KiB hold, the size of glibc's buffer.
const PAGE_ENTRIES: usize = 256;

/// Entries read but not sent yet.
pub struct Page {
    /// The cookie that continues with the first of `entries`.
    from: u64,
    with_attr: bool,
    entries: std::collections::VecDeque<DirEntry>,
    eof: bool,
}

/// Where entries go; false from `put` when the buffer is full and the entry was not taken.
trait Sink {
    const WITH_ATTR: bool;
    fn put_dot(&mut self, server: &Server, dir: NodeId, offset: u64, name: &str) -> Result<bool>;
    fn put(&mut self, server: &Server, entry: &DirEntry) -> Result<bool>;
}

impl Sink for ReplyDirectory {
    const WITH_ATTR: bool = false;
    fn put_dot(&mut self, server: &Server, dir: NodeId, offset: u64, name: &str) -> Result<bool> {
        Ok(!self.add(INodeNo(server.inodes.number(dir)), offset, FileType::Directory, name))
    }
    fn put(&mut self, server: &Server, entry: &DirEntry) -> Result<bool> {
        let ino = INodeNo(server.inodes.number(entry.node));
        Ok(!self.add(ino, entry.cookie, file_type(entry.kind), OsStr::from_bytes(&entry.name)))
    }
}

impl Sink for ReplyDirectoryPlus {
    const WITH_ATTR: bool = true;
    fn put_dot(&mut self, server: &Server, dir: NodeId, offset: u64, name: &str) -> Result<bool> {
        // The kernel takes no reference to these two.
        let attr = server.fs.getattr(dir)?;
        let ino = server.inodes.number(dir);
        let generation = Generation(dir.generation);
        Ok(!self.add(
            INodeNo(ino),
            offset,
            name,
            &server.cache_of(attr.node),
            &file_attr(ino, &attr),
            generation,
        ))
    }
    fn put(&mut self, server: &Server, entry: &DirEntry) -> Result<bool> {
        let attr: Attr = match entry.attr {
            Some(attr) => attr,
            None => server.fs.getattr(entry.node)?,
        };
        let ino = server.inodes.remember(entry.node)?;
        let generation = Generation(entry.node.generation);
        let name = OsStr::from_bytes(&entry.name);
        let full = self.add(
            INodeNo(ino),
            entry.cookie,
            name,
            &server.cache_of(attr.node),
            &file_attr(ino, &attr),
            generation,
        );
        if full {
            server.inodes.forget(ino, 1);
        }
        Ok(!full)
    }
}

impl Server {
    pub fn list(&self, fh: u64, offset: u64, mut reply: ReplyDirectory) {
        match self.fill(fh, offset, &mut reply) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(crate::errno::errno(&error)),
        }
    }

    pub fn list_plus(&self, fh: u64, offset: u64, mut reply: ReplyDirectoryPlus) {
        match self.fill(fh, offset, &mut reply) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(crate::errno::errno(&error)),
        }
    }

    fn fill<S: Sink>(&self, fh: u64, offset: u64, sink: &mut S) -> Result<()> {
        let handle = self.handles.get(fh)?;
        let dir = handle.node;
        if offset < DOT && !sink.put_dot(self, dir, DOT, ".")? {
            return Ok(());
        }
        if offset < DOT_DOT {
            let parent = self.fs.lookup(&Cred::root(), dir, b"..").map_or(dir, |attr| attr.node);
            if !sink.put_dot(self, parent, DOT_DOT, "..")? {
                return Ok(());
            }
        }
        let cookie = if offset <= DOT_DOT { 0 } else { offset };
        let mut page = self.page::<S>(&handle, cookie)?;
        let mut sent = false;
        loop {
            while let Some(entry) = page.entries.front() {
                match sink.put(self, entry) {
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
            page = self.read_page(dir, page.from, S::WITH_ATTR)?;
        }
    }

    /// What the last call left over where this one goes on there; a page just read otherwise.
    fn page<S: Sink>(&self, handle: &Handle, cookie: u64) -> Result<Page> {
        let left = handle.page.lock().expect("nothing panics under this lock").take();
        match left {
            Some(page) if page.from == cookie && page.with_attr == S::WITH_ATTR && cookie != 0 => Ok(page),
            _ => self.read_page(handle.node, cookie, S::WITH_ATTR),
        }
    }

    fn read_page(&self, dir: NodeId, cookie: u64, with_attr: bool) -> Result<Page> {
        let limit = DirLimit { entries: PAGE_ENTRIES, name_bytes: usize::MAX, with_attr };
        // The kernel checked at opendir; what was allowed then stays allowed.
        let page = self.fs.readdir(&Cred::root(), dir, cookie, limit)?;
        Ok(Page { from: cookie, with_attr, entries: page.entries.into(), eof: page.eof })
    }
}

/// What is left goes with the next call.
fn keep(handle: &Handle, page: Page) -> Result<()> {
    *handle.page.lock().expect("nothing panics under this lock") = Some(page);
    Ok(())
}
