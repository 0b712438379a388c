//! A file's bytes: read without copying, written in one transaction a call, sparse.
//!
//! Source: `zfs_read`, `zfs_write`, `zfs_holey` in module/zfs/zfs_vnops.c.

use dmu::Holds;
use engine_api::{Cred, Error, NodeId, Promise, ReadBuf, Result, Seek, Stable, Time, Written};
use ondisk::znode::{attr, flags, kind};
use stdx::posix;

use super::attrs::{Attrs, Change, modified};
use super::error::api_error;
use super::log::Settled;
use super::node::Node;
use super::perm::{check_data, check_mutable, check_read, rules, who};
use super::size::{FREE_META, grow_block, write_holds};
use super::{Settings, Zpl};
use crate::readbuf::slices;

/// Largest file in bytes: 2^63 - 1.
pub const MAX_FILE_SIZE: u64 = i64::MAX as u64;
const DAY_SECS: i64 = 24 * 60 * 60;

impl Zpl {
    pub(super) fn read_file(&self, cred: &Cred, id: NodeId, offset: u64, len: usize) -> Result<ReadBuf> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        check_file(&attrs)?;
        check_read(cred, &attrs)?;
        let range = node.ranges().shared(&self.env, offset, len as u64);
        node.check_alive()?;
        let size = self.stored_attrs(node.dnode())?.size;
        let len = size.saturating_sub(offset).min(len as u64) as usize;
        let parts =
            if len == 0 { Vec::new() } else { slices(node.dnode().read(offset, len).map_err(api_error)?) };
        drop(range);
        self.touch_atime(cred, &node, &attrs);
        Ok(ReadBuf { parts, eof: offset.saturating_add(len as u64) >= size })
    }

    /// At `offset`, or at the end of the file. Gives the offset too.
    pub(super) fn write_at(
        &self,
        cred: &Cred,
        id: NodeId,
        offset: Option<u64>,
        data: &[u8],
        stable: Stable,
    ) -> Result<(u64, Written)> {
        let node = self.node(id)?;
        let soon = stable > Stable::Unstable;
        let (at, written) = self.write_volatile(cred, &node, offset, data, soon)?;
        if soon || self.commits_always() {
            self.make_durable(Some(&node))?;
        }
        Ok((at, written))
    }

    /// As [`Zpl::write_at`] that is to be stable; whoever keeps the promise waits for it.
    pub(super) fn write_promised_at(
        &self,
        cred: &Cred,
        id: NodeId,
        offset: u64,
        data: &[u8],
    ) -> Result<(Written, Promise)> {
        let node = self.node(id)?;
        let (_, written) = self.write_volatile(cred, &node, Some(offset), data, true)?;
        Ok((written, self.promise_durable(&node)?))
    }

    /// The write itself; its log record is there. `soon`: the caller is going to commit it.
    fn write_volatile(
        &self,
        cred: &Cred,
        node: &Node,
        offset: Option<u64>,
        data: &[u8],
        soon: bool,
    ) -> Result<(u64, Written)> {
        let attrs = self.attrs(node)?;
        check_file(&attrs)?;
        check_data(cred, &attrs, posix::WRITE)?;
        check_mutable(&attrs)?;
        let ends_late = |at: u64| at.checked_add(data.len() as u64).is_none_or(|end| end > MAX_FILE_SIZE);
        if offset.is_some_and(ends_late) {
            return Err(Error::FileTooLarge);
        }
        self.check_writable()?;
        // What makes the file longer, or its only block larger, needs all of it for itself.
        let mut range = match offset {
            Some(at) if at + data.len() as u64 <= attrs.size => {
                node.ranges().alone(&self.env, at, data.len() as u64)
            }
            _ => node.ranges().whole(&self.env),
        };
        let mut attrs = self.attrs(node)?;
        if offset.is_some_and(|at| at + data.len() as u64 > attrs.size) {
            drop(range);
            range = node.ranges().whole(&self.env);
            attrs = self.attrs(node)?;
        }
        node.check_alive()?;
        let at = offset.unwrap_or(attrs.size);
        if ends_late(at) {
            return Err(Error::FileTooLarge);
        }
        if attrs.flags & flags::APPENDONLY != 0 && at < attrs.size {
            return Err(Error::NotPermitted);
        }
        let before = self.show(node, &attrs);
        if data.is_empty() {
            let verifier = self.verifier;
            return Ok((at, Written { before, after: before, stable: Stable::FileSync, verifier }));
        }
        self.check_more_bytes(node, &attrs)?;
        self.write_locked(cred, node, at, data, soon)?;
        let after = self.show_now(node)?;
        drop(range);
        let stable = if soon { Stable::FileSync } else { Stable::Unstable };
        Ok((at, Written { before, after, stable, verifier: self.verifier }))
    }

    /// One transaction. The caller holds the range, or all of it where the file grows, and says
    /// whether it will commit.
    fn write_locked(&self, cred: &Cred, node: &Node, at: u64, data: &[u8], soon: bool) -> Result<()> {
        let dnode = node.dnode();
        let end = at + data.len() as u64;
        let recordsize = self.settings().recordsize;
        let tx = self.begin(write_holds(dnode, at..end, recordsize))?;
        let size = self.stored_attrs(dnode)?.size;
        if end > size {
            grow_block(dnode, size, end, recordsize, &tx).map_err(api_error)?;
        }
        dnode.write(at, data, &tx).map_err(api_error)?;
        let change = |old: &Attrs, now| {
            let change = Change::default()
                .time(&attr::MTIME, now)
                .word(&attr::SIZE, old.size.max(end))
                .word(&attr::FLAGS, modified(old.flags));
            drop_setid(change, cred, old)
        };
        self.update_and(node, &tx, change, |old, _| {
            self.log_drop_setid(node, cred, old, &tx);
            self.log_write(node, at, data, soon, &tx);
        })
        .map(drop)
    }

    fn log_drop_setid(&self, node: &Node, cred: &Cred, old: &Attrs, tx: &dmu::Tx) {
        let mode = posix::mode_after_write(&who(cred), &rules(old));
        if mode != old.permissions() {
            let mode = Some(old.mode & !0o7777 | u64::from(mode));
            self.log_setattr(node.object(), Settled { mode, ..Settled::default() }, tx);
        }
    }

    pub(super) fn punch_file(&self, cred: &Cred, id: NodeId, offset: u64, len: u64) -> Result<()> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        check_file(&attrs)?;
        check_data(cred, &attrs, posix::WRITE)?;
        check_mutable(&attrs)?;
        if len == 0 {
            return Err(Error::Invalid("an empty hole".into()));
        }
        self.check_writable()?;
        let _range = node.ranges().whole(&self.env);
        node.check_alive()?;
        let size = self.attrs(&node)?.size;
        let to_end = offset.saturating_add(len) >= size;
        if to_end {
            self.free_most(&node, offset)?;
        }
        let tx = self.begin(Holds::freeing_range(node.dnode().block_size().into(), FREE_META))?;
        if offset < size {
            let len = if to_end { u64::MAX } else { len };
            node.dnode().free_range(offset, len, &tx).map_err(api_error)?;
        }
        let change = |old: &Attrs, now| {
            let change = Change::default().time(&attr::MTIME, now).word(&attr::FLAGS, modified(old.flags));
            drop_setid(change, cred, old)
        };
        self.update_and(&node, &tx, change, |old, _| {
            self.log_drop_setid(&node, cred, old, &tx);
            if offset < size {
                self.log_punch(node.object(), offset, len.min(size - offset), &tx);
            }
        })
        .map(drop)
    }

    pub(super) fn seek_file(&self, cred: &Cred, id: NodeId, offset: u64, what: Seek) -> Result<u64> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        check_file(&attrs)?;
        check_read(cred, &attrs)?;
        let _range = node.ranges().shared(&self.env, 0, u64::MAX);
        node.check_alive()?;
        let size = self.attrs(&node)?.size;
        if offset >= size {
            return Err(Error::NotFound);
        }
        let found = match what {
            Seek::Data => node.dnode().next_offset(offset, dmu::Seek::Data).map_err(api_error)?,
            Seek::Hole => Some(self.next_hole(&node, offset)?.min(size)),
        };
        found.filter(|found| *found < size || what == Seek::Hole).ok_or(Error::NotFound)
    }

    /// Everything past the last block is a hole.
    fn next_hole(&self, node: &Node, offset: u64) -> Result<u64> {
        let dnode = node.dnode();
        let next = |seek| dnode.next_offset(offset, seek).map_err(api_error);
        if next(dmu::Seek::Data)? != Some(offset) {
            return Ok(offset);
        }
        let end = dnode.max_blkid().saturating_add(1).saturating_mul(dnode.block_size().into());
        Ok(next(dmu::Seek::Hole)?.unwrap_or(end))
    }

    /// What is read with this credential may leave an access time here.
    fn keeps_atime(&self, cred: &Cred, settings: &Settings) -> bool {
        !cred.noatime && settings.atime && !settings.readonly && !self.frozen
    }

    /// Contents were read. Reading must not wait for a transaction group, so where none can be had
    /// the time is kept in memory until the next change. Whether it is another one now.
    pub(super) fn touch_atime(&self, cred: &Cred, node: &Node, attrs: &Attrs) -> bool {
        let settings = self.settings();
        if !self.keeps_atime(cred, &settings) {
            return false;
        }
        let now = self.now();
        if !wants_atime(attrs, now, settings.relatime) {
            return false;
        }
        let Ok(tx) = self.objset.try_begin(Holds::new(0, 1)) else {
            node.set_pending_atime(now);
            return true;
        };
        if node.check_alive().is_ok() {
            self.changed.fetch_max(tx.txg(), std::sync::atomic::Ordering::SeqCst);
            self.store_atime(node, now, &tx);
        }
        true
    }

    /// As [`Zpl::touch_atime`] of what is read elsewhere.
    pub(super) fn note_access(&self, cred: &Cred, id: NodeId) -> Result<bool> {
        if !self.keeps_atime(cred, &self.settings()) {
            return Ok(false);
        }
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        Ok(self.touch_atime(cred, &node, &attrs))
    }

    pub(super) fn store_atime(&self, node: &Node, atime: Time, tx: &dmu::Tx) {
        let _attrs = env::lock(node.attrs_lock());
        let _ = node.take_pending_atime();
        if self.store(node, Change::default().time(&attr::ATIME, atime), tx).is_err() {
            // An access time is not worth failing a read for.
            node.set_pending_atime(atime);
        }
    }

    pub(super) fn read_link(&self, cred: &Cred, id: NodeId) -> Result<Vec<u8>> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        if attrs.kind() != kind::SYMLINK {
            return Err(Error::Invalid("not a symbolic link".into()));
        }
        let view = self.whole_view(&node)?;
        let target = match self.sa.get(&view, &attr::SYMLINK) {
            Some(target) => target,
            None => self.old_link(&node, attrs.size)?,
        };
        self.touch_atime(cred, &node, &attrs);
        Ok(target)
    }

    /// The target of a link made before version 5: behind the znode, or the object's contents.
    fn old_link(&self, node: &Node, size: u64) -> Result<Vec<u8>> {
        let bonus = node.dnode().bonus();
        let is_znode = bonus.bonus_type == ondisk::object_type::ObjectType::ZNODE;
        let inline = ondisk::znode::phys::inline_target(&bonus.bytes, size).filter(|_| is_znode);
        if let Some(target) = inline {
            return Ok(target.to_vec());
        }
        let len = usize::try_from(size).ok().filter(|len| *len <= 4096);
        let len = len.ok_or(Error::Corrupt { object: node.object(), block: 0 })?;
        node.dnode().read_bytes(0, len).map_err(api_error)
    }
}

/// Setuid and setgid go when somebody without privilege writes.
pub fn drop_setid(change: Change, cred: &Cred, old: &Attrs) -> Change {
    let mode = posix::mode_after_write(&who(cred), &rules(old));
    if mode == old.permissions() {
        return change;
    }
    let mode = old.mode & !0o7777 | u64::from(mode);
    change.chmod(modified(old.flags), mode, false)
}

fn wants_atime(attrs: &Attrs, now: Time, relatime: bool) -> bool {
    if !relatime {
        return now > attrs.atime;
    }
    let unseen = attrs.atime <= attrs.mtime || attrs.atime <= attrs.ctime;
    unseen || now.secs.saturating_sub(attrs.atime.secs) >= DAY_SECS
}

pub fn check_file(attrs: &Attrs) -> Result<()> {
    match attrs.kind() {
        kind::FILE => Ok(()),
        kind::DIR => Err(Error::IsDir),
        _ => Err(Error::Invalid("only regular files have data".into())),
    }
}
