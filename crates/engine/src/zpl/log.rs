//! What each operation leaves in the intent log, so that it can be done again after a crash.
//!
//! An operation makes its record inside its transaction and under its locks: so records that depend
//! on one another are in the log in the order in which things happened. Changes of names are
//! *ordered*: all of them go out with any commit. Changes of one file's contents or attributes
//! belong to that file and go out when it is committed. A change that has no record says so
//! ([`IntentLog::unlogged`]), and commits then wait for its transaction group.
//!
//! Invariants:
//! - Nobody commits while holding a lock or a transaction: see [`Zpl::make_durable`].
//! - A node without a name leaves nothing in the log: it would not be there after a crash.
//! - Records of files in a hidden directory of extended attributes are ordered: they are committed
//!   with their owner.
//!
//! Source: module/zfs/zfs_log.c, and its callers in zfs_vnops.c, zfs_vnops_os.c and zfs_sa.c.

use dmu::{DmuError, Dnode, Tx};
use engine_api::{Error, NodeFlags, Project, Promise, Result, Time};
use ondisk::zil::record::attrs::xat;
use ondisk::zil::record::{
    Created, LoggedNode, LrCreate, LrLink, LrRemove, LrRename, LrSetAttr, LrSetSaXattr, LrTruncate, LrWrite,
    Record, RenameKind, Xvattr, attr,
};
use ondisk::znode::kind;

use ::pool::zil::{IMMEDIATE_SIZE, LoggedWrite};

use super::Zpl;
use super::attrs::{Attrs, time_words};
use super::error::api_error;
use super::node::Node;

/// The intent log of one file system, as the file system sees it. Records are whole, as
/// `Record::encode` makes them.
pub trait IntentLog: Send + Sync {
    /// Takes its place among all ordered records.
    fn log(&self, tx: &Tx, record: Vec<u8>);
    /// Belongs to one object, and goes out when that is committed.
    fn log_of(&self, tx: &Tx, object: u64, record: Vec<u8>);
    /// A write whose bytes are not given is asked for them when it is committed
    /// ([`Zpl::logged_data`]).
    fn log_write(&self, tx: &Tx, write: &LoggedWrite<'_>);
    /// What was logged for the object joins the ordered records now.
    fn order(&self, object: u64);
    /// The object is gone: what was logged for it need not go out.
    fn forget(&self, object: u64);
    /// A change without a record.
    fn unlogged(&self, tx: &Tx);
    /// The transaction has applied the record that is being replayed.
    fn replayed(&self, tx: &Tx);
    /// Until all ordered records, and those of the object (or of all), are on stable storage.
    fn commit(&self, object: Option<u64>) -> std::result::Result<(), DmuError>;
    /// As `commit`; the waiting is left to the caller.
    fn promise(&self, object: Option<u64>) -> Box<dyn FnOnce() -> std::result::Result<(), DmuError> + Send> {
        let done = self.commit(object);
        Box::new(move || done)
    }
    /// Property `sync=always`: every operation commits before it answers.
    fn is_always(&self) -> bool;
    /// Whether extended attributes among the system attributes have records (feature `zilsaxattr`).
    fn takes_system_xattrs(&self) -> bool;
}

/// Attributes that a record sets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Type and permissions.
    pub mode: Option<u64>,
    pub uid: Option<u64>,
    pub gid: Option<u64>,
    pub size: Option<u64>,
    pub atime: Option<Time>,
    pub mtime: Option<Time>,
    pub project: Option<Project>,
    /// Never together with a project.
    pub node_flags: Option<NodeFlags>,
}

impl Settled {
    fn record(&self, object: u64) -> LrSetAttr<'static> {
        let mask = [
            (attr::MODE, self.mode.is_some()),
            (attr::UID, self.uid.is_some()),
            (attr::GID, self.gid.is_some()),
            (attr::SIZE, self.size.is_some()),
            (attr::ATIME, self.atime.is_some()),
            (attr::MTIME, self.mtime.is_some()),
            (attr::XVATTR, self.project.is_some() || self.node_flags.is_some()),
        ];
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        let time = |time: Option<Time>| time.map_or([0; 2], time_words);
        LrSetAttr {
            object,
            mask: mask.iter().filter(|(_, set)| *set).map(|(bit, _)| bit).sum(),
            mode: self.mode.unwrap_or(0),
            uid: self.uid.unwrap_or(0),
            gid: self.gid.unwrap_or(0),
            size: self.size.unwrap_or(0),
            atime: time(self.atime),
            mtime: time(self.mtime),
            xvattr: match (self.project, self.node_flags) {
                (Some(project), _) => Some(Xvattr::of_project(project.id.into(), project.inherit)),
                (None, Some(flags)) => Some(Xvattr::of_flags(
                    xat::IMMUTABLE | xat::APPENDONLY | xat::NODUMP,
                    bit(flags.immutable, xat::IMMUTABLE)
                        | bit(flags.append_only, xat::APPENDONLY)
                        | bit(flags.no_dump, xat::NODUMP),
                )),
                (None, None) => None,
            },
            ..LrSetAttr::default()
        }
    }
}

impl Zpl {
    fn journal(&self) -> Option<&dyn IntentLog> {
        self.host.log()
    }

    fn log_ordered(&self, record: &Record<'_>, tx: &Tx) {
        if let Some(log) = self.journal() {
            log.log(tx, record.encode());
        }
    }

    /// A node was made under a name in the directory.
    pub(super) fn log_create(
        &self,
        dir: u64,
        dnode: &Dnode,
        attrs: &Attrs,
        name: &[u8],
        target: Option<&[u8]>,
        tx: &Tx,
    ) {
        let what = match attrs.kind() {
            kind::DIR => Created::Dir,
            kind::SYMLINK => Created::Symlink,
            _ => Created::File,
        };
        let create = created(what, dir, dnode, attrs);
        let create = LrCreate { name, target: target.unwrap_or_default(), ..create };
        self.log_ordered(&Record::Create(create), tx);
    }

    /// A node got its hidden directory.
    pub(super) fn log_xattr_dir(&self, owner: u64, dnode: &Dnode, attrs: &Attrs, tx: &Tx) {
        self.log_ordered(&Record::Create(created(Created::XattrDir, owner, dnode, attrs)), tx);
    }

    /// What a new node has beyond what its creation says: a size, and times that were asked for.
    pub(super) fn log_new_attrs(&self, object: u64, set: Settled, tx: &Tx) {
        if set != Settled::default() {
            self.log_ordered(&Record::SetAttr(set.record(object)), tx);
        }
    }

    /// A name was removed; `gone`: that was the last.
    pub(super) fn log_remove(&self, dir: u64, name: &[u8], node: u64, is_dir: bool, gone: bool, tx: &Tx) {
        let Some(log) = self.journal() else { return };
        if gone {
            log.forget(node);
        }
        log.log(tx, Record::Remove(LrRemove { is_dir, dir, name }).encode());
    }

    pub(super) fn log_link(&self, dir: u64, object: u64, name: &[u8], tx: &Tx) {
        let Some(log) = self.journal() else { return };
        log.order(object);
        log.log(tx, Record::Link(LrLink { dir, object, name }).encode());
    }

    /// `ends`: directory and name of both; `lost`: an object that lost its last name thereby.
    pub(super) fn log_rename(
        &self,
        ends: [(u64, &[u8]); 2],
        exchange: bool,
        object: u64,
        lost: Option<u64>,
        tx: &Tx,
    ) {
        let Some(log) = self.journal() else { return };
        log.order(object);
        if let Some(lost) = lost {
            log.forget(lost);
        }
        let [(from_dir, from), (to_dir, to)] = ends;
        let kind = if exchange { RenameKind::Exchange } else { RenameKind::Replace };
        log.log(tx, Record::Rename(LrRename { kind, from_dir, to_dir, from, to }).encode());
    }

    /// Bytes were written. `soon`: the caller is about to commit them.
    pub(super) fn log_write(&self, node: &Node, offset: u64, data: &[u8], soon: bool, tx: &Tx) {
        let Some(log) = self.journal() else { return };
        let soon = soon || log.is_always();
        log.log_write(
            tx,
            &LoggedWrite {
                object: node.object(),
                generation: node.generation(),
                offset,
                len: data.len() as u64,
                block_size: node.dnode().block_size().into(),
                is_large: data.len() as u64 >= IMMEDIATE_SIZE,
                data: soon.then_some(data),
            },
        );
    }

    /// Bytes were set free.
    pub(super) fn log_punch(&self, object: u64, offset: u64, length: u64, tx: &Tx) {
        if let Some(log) = self.journal() {
            log.log_of(tx, object, Record::Truncate(LrTruncate { object, offset, length }).encode());
        }
    }

    /// Attributes were set, the size among them.
    pub(super) fn log_setattr(&self, object: u64, set: Settled, tx: &Tx) {
        if let Some(log) = self.journal().filter(|_| set != Settled::default()) {
            log.log_of(tx, object, Record::SetAttr(set.record(object)).encode());
        }
    }

    /// What was logged for the object goes with what was done to names and extended attributes.
    pub(super) fn log_in_order(&self, object: u64) {
        if let Some(log) = self.journal() {
            log.order(object);
        }
    }

    /// The contents of an extended attribute's file were replaced.
    pub(super) fn log_xattr_file(&self, object: u64, is_new: bool, value: &[u8], tx: &Tx) {
        let Some(log) = self.journal() else { return };
        if !is_new {
            log.log(tx, Record::Truncate(LrTruncate { object, offset: 0, length: 0 }).encode());
        }
        if !value.is_empty() {
            let write = LrWrite { object, offset: 0, length: value.len() as u64 };
            log.log(tx, write.encode_with(value));
        }
    }

    /// An extended attribute among the system attributes was set, or removed.
    pub(super) fn log_system_xattr(&self, object: u64, name: &[u8], value: Option<&[u8]>, tx: &Tx) {
        let Some(log) = self.journal() else { return };
        // An empty value would mean that it was removed.
        if !log.takes_system_xattrs() || value.is_some_and(<[u8]>::is_empty) {
            return log.unlogged(tx);
        }
        let set = LrSetSaXattr { object, name, value: value.unwrap_or_default() };
        log.log(tx, Record::SetSaXattr(set).encode());
    }

    /// Until what was done to the node, and to any name, is on stable storage; without one, all
    /// that was done. Nothing may be locked.
    pub(super) fn make_durable(&self, node: Option<&Node>) -> Result<()> {
        match self.journal() {
            Some(log) => log.commit(node.map(Node::object)).map_err(api_error),
            None => self.wait_synced(node.map_or_else(|| self.newest_change(), Node::changed)),
        }
    }

    /// As [`Zpl::make_durable`] of one node; the waiting is left to the caller.
    pub(super) fn promise_durable(&self, node: &Node) -> Result<Promise> {
        let Some(log) = self.journal() else {
            self.wait_synced(node.changed())?;
            return Ok(Box::new(|| Ok(())));
        };
        let promise = log.promise(Some(node.object()));
        Ok(Box::new(move || promise().map_err(api_error)))
    }

    /// Property `sync=always`.
    pub(super) fn commits_always(&self) -> bool {
        self.journal().is_some_and(IntentLog::is_always)
    }

    /// The answer of an operation that is done, once it may be given: under `sync=always` when it
    /// is durable.
    pub(super) fn settled<T>(&self, answer: Result<T>) -> Result<T> {
        let answer = answer?;
        if self.commits_always() {
            self.make_durable(None)?;
        }
        Ok(answer)
    }

    /// The bytes of a logged write, for its record: `None` where the file is gone, or ends before
    /// them. Waits for the file's range.
    pub fn logged_data(
        &self,
        object: u64,
        generation: u64,
        offset: u64,
        len: u64,
    ) -> Result<Option<Vec<u8>>> {
        let node = match self.node_by_number(object) {
            Err(Error::NotFound | Error::Stale) => return Ok(None),
            node => node?,
        };
        if node.generation() != generation {
            return Ok(None);
        }
        let _range = node.ranges().shared(&self.env, offset, len);
        if node.check_alive().is_err() || self.stored_attrs(node.dnode())?.size <= offset {
            return Ok(None);
        }
        let len = usize::try_from(len).map_err(|_| Error::FileTooLarge)?;
        node.dnode().read_bytes(offset, len).map(Some).map_err(api_error)
    }
}

/// What all creations have.
fn created(what: Created, dir: u64, dnode: &Dnode, attrs: &Attrs) -> LrCreate<'static> {
    let node = LoggedNode {
        object: dnode.object(),
        slots: dnode.slots().into(),
        mode: attrs.mode,
        uid: attrs.uid,
        gid: attrs.gid,
        generation: attrs.generation,
        crtime: time_words(attrs.crtime),
        rdev: attrs.rdev,
    };
    LrCreate { what, dir, node, ..LrCreate::default() }
}

#[cfg(test)]
mod tests;
