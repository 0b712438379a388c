//! Doing again what the intent log says was done: each record in a transaction of its own.
//!
//! A record says what became of an operation, not who asked for it: there are no permissions here,
//! and nodes get the numbers, generations and owners they had. The transaction that applies a
//! record notes that it did (`IntentLog::replayed`), so a crash in the middle of replay goes on
//! behind the last one whose group was synced; what takes several transactions notes it in the
//! last, and the ones before may happen twice.
//!
//! A record that cannot be applied is tried once more after the groups so far are synced (a number
//! is free again only then), and is an error after that: the log stays, and the caller opens the
//! file system read-only. Records of files that later records removed are passed over.
//!
//! Source: `zil_replay_log_record` in module/zfs/zil.c, module/zfs/zfs_replay.c.

mod acl;
mod names;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use dmu::{Holds, Tx};
use engine_api::{Error, Result};
use ondisk::nvlist::NvValue;
use ondisk::zil::RecordHead;
use ondisk::zil::record::attrs::xat;
use ondisk::zil::record::{
    LrSetAttr, LrSetSaXattr, LrTruncate, LrWrite, Record, Written, Xvattr, attr as mask,
};
use ondisk::znode::{attr, flags};
use ondisk::{Endian, Malformed};

use super::Zpl;
use super::attrs::{Change, modified, time};
use super::error::api_error;
use super::file::MAX_FILE_SIZE;
use super::node::{Node, lock_all};
use super::project::Owner;
use super::size::{grow_block, write_holds};

/// Blocks of metadata that a record may dirty.
const META_BLOCKS: u64 = 24;

/// Bits that an [`Xvattr`] sets in a node's flags.
const FLAGS: [(u32, u64); 14] = [
    (xat::READONLY, flags::READONLY),
    (xat::HIDDEN, flags::HIDDEN),
    (xat::SYSTEM, flags::SYSTEM),
    (xat::ARCHIVE, flags::ARCHIVE),
    (xat::IMMUTABLE, flags::IMMUTABLE),
    (xat::NOUNLINK, flags::NOUNLINK),
    (xat::APPENDONLY, flags::APPENDONLY),
    (xat::NODUMP, flags::NODUMP),
    (xat::OPAQUE, flags::OPAQUE),
    (xat::AV_QUARANTINED, flags::AV_QUARANTINED),
    (xat::AV_MODIFIED, flags::AV_MODIFIED),
    (xat::REPARSE, flags::REPARSE),
    (xat::OFFLINE, flags::OFFLINE),
    (xat::PROJINHERIT, flags::PROJINHERIT),
];

/// What the operation itself was admitted with. Promises are kept even where the quota is full.
const fn again(holds: Holds) -> Holds {
    Holds { meta_blocks: META_BLOCKS, netfree: true, ..holds }
}

fn malformed(_: Malformed) -> Error {
    Error::Corrupt { object: 0, block: 0 }
}

impl Zpl {
    /// Runs a replay, during which the file system can be written even under `readonly=on`. Nobody
    /// else uses it yet.
    pub fn while_replaying<T>(&self, replay: impl FnOnce() -> T) -> T {
        self.replaying.store(true, Ordering::SeqCst);
        let answer = replay();
        self.replaying.store(false, Ordering::SeqCst);
        answer
    }

    /// Applies one record. `block`: what the block holds that a write record leads to, where it is
    /// not a hole.
    pub fn replay_record(
        &self,
        head: &RecordHead,
        bytes: &[u8],
        endian: Endian,
        block: Option<&[u8]>,
    ) -> Result<()> {
        let record = Record::decode(head, bytes, endian).map_err(malformed)?;
        self.apply(&record, block).or_else(|_| {
            self.wait_synced(self.newest_change())?;
            self.apply(&record, block)
        })
    }

    fn apply(&self, record: &Record<'_>, block: Option<&[u8]>) -> Result<()> {
        match record {
            Record::Create(create) => self.replay_create(create),
            Record::Remove(remove) => self.replay_remove(remove),
            Record::Link(link) => self.replay_link(link),
            Record::Rename(rename) => self.replay_rename(rename),
            Record::Write(write, written) => self.replay_write(write, written, block),
            Record::Truncate(truncate) => self.replay_truncate(truncate),
            Record::SetAttr(set) => self.replay_setattr(set),
            Record::SetSaXattr(set) => self.replay_system_xattr(set),
            Record::Acl(acl) => self.replay_acl(acl),
            Record::AclV0(_) => Err(Error::Unsupported("replay of an ACL of version 0".into())),
            Record::CloneRange(_) => Err(Error::Unsupported("replay of cloned blocks".into())),
        }
    }

    /// The transaction has done what the record says.
    pub(super) fn replayed(&self, tx: &Tx) {
        if let Some(log) = self.host.log() {
            log.replayed(tx);
        }
    }

    /// The node of a record that may come after its removal.
    fn replay_node(&self, object: u64) -> Result<Option<Arc<Node>>> {
        match self.node_by_number(object) {
            Err(Error::NotFound | Error::Stale) => Ok(None),
            node => node.map(Some),
        }
    }

    fn replay_write(&self, write: &LrWrite, written: &Written<'_>, block: Option<&[u8]>) -> Result<()> {
        let Some(node) = self.replay_node(write.object)? else { return Ok(()) };
        let end = write.offset.checked_add(write.length).filter(|end| *end <= MAX_FILE_SIZE);
        let end = end.ok_or(Error::FileTooLarge)?;
        let _range = node.ranges().whole(&self.env);
        match (written, block) {
            (Written::Here(data), _) => self.replay_bytes(&node, write.offset, data, end),
            (Written::Elsewhere, _) => self.replay_bytes(&node, write.offset, &[], end),
            (Written::Block { .. }, None) => self.replay_hole(&node, write.offset, end),
            (Written::Block { .. }, Some(block)) => {
                let size = block.len() as u64;
                // All of the block, for a later record may say only that more of it is the file's.
                let at = if write.length < size { write.offset - write.offset % size } else { write.offset };
                self.replay_bytes(&node, at, block, end)
            }
        }
    }

    /// `end`: the file ends there at the earliest.
    fn replay_bytes(&self, node: &Node, at: u64, data: &[u8], end: u64) -> Result<()> {
        let dnode = node.dnode();
        let recordsize = self.settings().recordsize;
        let reach = end.max(at.saturating_add(data.len() as u64));
        let tx = self.begin(again(write_holds(dnode, at..reach, recordsize)))?;
        let size = self.stored_attrs(dnode)?.size;
        grow_block(dnode, size, reach, recordsize, &tx).map_err(api_error)?;
        if !data.is_empty() {
            dnode.write(at, data, &tx).map_err(api_error)?;
        }
        self.replay_content(node, size.max(end), &tx)
    }

    fn replay_hole(&self, node: &Node, at: u64, end: u64) -> Result<()> {
        let tx = self.begin(Holds::freeing_range(node.dnode().block_size().into(), META_BLOCKS))?;
        let size = self.stored_attrs(node.dnode())?.size;
        if at < size {
            node.dnode().free_range(at, end - at, &tx).map_err(api_error)?;
        }
        self.replay_content(node, size.max(end), &tx)
    }

    /// A file's contents have changed, and it is so long now.
    fn replay_content(&self, node: &Node, size: u64, tx: &Tx) -> Result<()> {
        self.update(node, tx, |old, now| {
            Change::default()
                .word(&attr::SIZE, size)
                .word(&attr::FLAGS, modified(old.flags))
                .time(&attr::MTIME, now)
        })?;
        self.replayed(tx);
        Ok(())
    }

    fn replay_truncate(&self, truncate: &LrTruncate) -> Result<()> {
        let Some(node) = self.replay_node(truncate.object)? else { return Ok(()) };
        let end = truncate.offset.checked_add(truncate.length).filter(|end| *end <= MAX_FILE_SIZE);
        let end = end.ok_or(Error::FileTooLarge)?;
        let _range = node.ranges().whole(&self.env);
        let size = self.attrs(&node)?.size;
        if truncate.length > 0 {
            return self.replay_hole(&node, truncate.offset, end);
        }
        if end < size {
            self.free_most(&node, end)?;
        }
        let tx = self.begin(again(self.resize_holds(node.dnode(), size, end)))?;
        self.resize(&node, size, end, &tx)?;
        self.replay_content(&node, end, &tx)
    }

    fn replay_setattr(&self, set: &LrSetAttr<'_>) -> Result<()> {
        let Some(node) = self.replay_node(set.object)? else { return Ok(()) };
        if !set.domains.is_empty() {
            return Err(Error::Unsupported("replay of an owner of another domain".into()));
        }
        let _ops = lock_all(&[&node]);
        let _range = node.ranges().whole(&self.env);
        let has = |bit| set.mask & bit != 0;
        let size = has(mask::SIZE).then_some(set.size);
        if size.is_some_and(|size| size > MAX_FILE_SIZE) {
            return Err(Error::FileTooLarge);
        }
        let old_size = self.attrs(&node)?.size;
        if let Some(size) = size.filter(|size| *size < old_size) {
            self.free_most(&node, size)?;
        }
        let owner = Owner {
            uid: has(mask::UID).then_some(set.uid),
            gid: has(mask::GID).then_some(set.gid),
            project: set.xvattr.as_ref().and_then(Xvattr::project),
        };
        self.move_xattrs(&node, owner)?;
        let holds = size.map(|size| self.resize_holds(node.dnode(), old_size, size));
        let tx = self.begin(again(holds.unwrap_or(Holds::freeing(META_BLOCKS))))?;
        if let Some(size) = size {
            self.resize(&node, old_size, size, &tx)?;
        }
        // A change of size comes with its time even where the mask does not say so.
        let mtime = (has(mask::MTIME) || size.is_some()).then(|| time(set.mtime));
        self.update(&node, &tx, |old, _| {
            let mut change = Change::default();
            let mut bits = old.flags;
            if let Some(xvattr) = &set.xvattr {
                (change, bits) = set_optional(change, bits, xvattr);
                change = change.word(&attr::FLAGS, bits);
            }
            if has(mask::MODE) {
                let mode = old.mode & !0o7777 | set.mode & 0o7777;
                change = change.chmod(modified(bits), mode, old.is_dir());
            }
            change
                .maybe_word(&attr::UID, has(mask::UID).then_some(set.uid))
                .maybe_word(&attr::GID, has(mask::GID).then_some(set.gid))
                .maybe_word(&attr::SIZE, size)
                .maybe_time(&attr::ATIME, has(mask::ATIME).then(|| time(set.atime)))
                .maybe_time(&attr::MTIME, mtime)
        })?;
        self.replayed(&tx);
        Ok(())
    }

    fn replay_system_xattr(&self, set: &LrSetSaXattr<'_>) -> Result<()> {
        let Some(node) = self.replay_node(set.object)? else { return Ok(()) };
        let name =
            std::str::from_utf8(set.name).map_err(|_| Error::Corrupt { object: set.object, block: 0 })?;
        let _ops = lock_all(&[&node]);
        let mut list = self.system_xattrs(&node)?;
        if set.value.is_empty() {
            list.remove(name);
        } else {
            list.set(name, NvValue::ByteArray(set.value.to_vec()));
        }
        let tx = self.begin(Holds::freeing(META_BLOCKS))?;
        self.store_system_list(&node, &list, &tx)?;
        self.update(&node, &tx, |_, _| Change::default())?;
        self.replayed(&tx);
        Ok(())
    }
}

/// Attributes beyond POSIX: what they change, and the flags after that.
pub(super) fn set_optional(change: Change, mut bits: u64, xvattr: &Xvattr) -> (Change, u64) {
    for (bit, flag) in FLAGS {
        if xvattr.sets(bit) {
            bits = if xvattr.flags & u64::from(bit) != 0 { bits | flag } else { bits & !flag };
        }
    }
    let crtime = xvattr.sets(xat::CREATETIME).then(|| time(xvattr.crtime));
    let project = xvattr.project();
    if project.is_some() {
        bits |= flags::PROJID;
    }
    (change.maybe_time(&attr::CRTIME, crtime).maybe_word(&attr::PROJID, project), bits)
}
