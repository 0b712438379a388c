//! setattr and access: checks everything, then changes everything in one transaction.

use dmu::Holds;
use engine_api::{Access, Attr, Cred, Error, NodeId, Result, SetAttr, SetTime, Time};
use ondisk::znode::{attr, flags, kind};
use stdx::posix;
use stdx::posix::acl::STORED_MAX;

use super::Zpl;
use super::attrs::{Attrs, Change, modified};
use super::error::api_error;
use super::file::MAX_FILE_SIZE;
use super::log::Settled;
use super::node::{Node, lock_all};
use super::perm::{allowed, check_data, check_mutable, refused, rules, who};
use super::project::Owner;
use super::size::grow_block;

impl Zpl {
    /// Attributes before and after.
    pub(super) fn set_attributes(&self, cred: &Cred, id: NodeId, set: &SetAttr) -> Result<(Attr, Attr)> {
        let node = self.node(id)?;
        let _ops = lock_all(&[&node]);
        let _range = set.size.map(|_| node.ranges().whole(&self.env));
        node.check_alive()?;
        let attrs = self.attrs(&node)?;
        let before = self.show(&node, &attrs);
        if set.guard_ctime.is_some_and(|ctime| ctime != attrs.ctime) {
            return Err(Error::Busy);
        }
        check_setattr(cred, &attrs, set)?;
        let mode = new_mode(cred, &attrs, set)?;
        let unchanged = SetAttr { guard_ctime: set.guard_ctime, ..SetAttr::default() };
        if *set == unchanged {
            return Ok((before, before));
        }
        check_mutable(&attrs)?;
        if set.size.is_some() && attrs.flags & flags::APPENDONLY != 0 {
            return Err(Error::NotPermitted);
        }
        let gains = |id: Option<u32>, has: u64| id.map(u64::from).filter(|id| *id != has);
        let (uid, gid) = (gains(set.uid, attrs.uid), gains(set.gid, attrs.gid));
        self.check_more_nodes(uid, gid, None)?;
        if let Some(size) = set.size {
            self.check_writable()?;
            if size < attrs.size {
                node.dnode().check_reach(size).map_err(api_error)?;
                self.free_most(&node, size)?;
            }
        }
        self.move_xattrs(&node, Owner { uid, gid, project: None })?;
        let holds = match set.size {
            Some(size) => self.resize_holds(node.dnode(), attrs.size, size),
            None => Holds::new(0, 4),
        };
        let holds = match attrs.posix_acl.is_some() && set.mode.is_some() {
            true => Holds { write: holds.write + 2 * STORED_MAX as u64, ..holds },
            false => holds,
        };
        let tx = self.begin(holds)?;
        let has_acl = set.mode.is_some() && self.posix_acl_follows(cred, &node, &attrs, mode, &tx)?;
        if let Some(size) = set.size {
            self.resize(&node, attrs.size, size, &tx)?;
        }
        let change = |old: &Attrs, now| {
            let new = settled(set, mode, old, now);
            let mut change = Change::default();
            if let Some(mode) = new.mode {
                change = change.chmod(modified(old.flags), mode, old.is_dir());
            }
            change
                .maybe_word(&attr::UID, new.uid)
                .maybe_word(&attr::GID, new.gid)
                .maybe_word(&attr::SIZE, new.size)
                .maybe_time(&attr::ATIME, new.atime)
                .maybe_time(&attr::MTIME, new.mtime)
        };
        self.update_and(&node, &tx, change, |old, now| {
            self.log_setattr(node.object(), settled(set, mode, old, now), &tx);
            if has_acl {
                self.log_in_order(node.object());
            }
        })?;
        let after = self.show_now(&node)?;
        Ok((before, after))
    }

    /// The caller holds the whole range.
    pub(super) fn resize(&self, node: &Node, old: u64, new: u64, tx: &dmu::Tx) -> Result<()> {
        if new < old {
            node.dnode().free_range(new, u64::MAX, tx).map_err(api_error)
        } else {
            grow_block(node.dnode(), old, new, self.settings().recordsize, tx).map_err(api_error)
        }
    }

    /// What the caller may do, by mode bits; the owner's override is for data, not for answers.
    pub(super) fn access_bits(&self, cred: &Cred, id: NodeId) -> Result<Access> {
        let node = self.node(id)?;
        let attrs = self.attrs(&node)?;
        let bits = posix::permitted(&who(cred), &rules(&attrs));
        let has = |bit| bits & bit != 0;
        let (read, write, exec) = (has(posix::READ), has(posix::WRITE), has(posix::EXEC));
        Ok(if attrs.is_dir() {
            let change = write && exec;
            Access { read, modify: change, extend: change, delete: change, lookup: exec, execute: false }
        } else {
            Access { read, modify: write, extend: write, delete: false, lookup: false, execute: exec }
        })
    }
}

/// What the attributes become.
fn settled(set: &SetAttr, mode: u32, old: &Attrs, now: Time) -> Settled {
    let at = |time: SetTime| if let SetTime::To(time) = time { time } else { now };
    let changes_mode = mode != old.permissions() || set.mode.is_some();
    Settled {
        mode: changes_mode.then_some(old.mode & !0o7777 | u64::from(mode)),
        uid: set.uid.map(u64::from),
        gid: set.gid.map(u64::from),
        size: set.size,
        atime: set.atime.map(at),
        mtime: set.mtime.map(at).or(set.size.map(|_| now)),
        project: None,
        node_flags: None,
    }
}

fn check_setattr(cred: &Cred, attrs: &Attrs, set: &SetAttr) -> Result<()> {
    let (caller, rules) = (who(cred), rules(attrs));
    if set.mode.is_some() && attrs.kind() == kind::SYMLINK {
        return Err(Error::Unsupported("the mode of a symbolic link".into()));
    }
    allowed(posix::check_chown(&caller, &rules, set.uid, set.gid))?;
    if let Some(size) = set.size {
        match attrs.kind() {
            kind::FILE => check_data(cred, attrs, posix::WRITE)?,
            kind::DIR => return Err(Error::IsDir),
            _ => return Err(Error::Invalid("only regular files have a size to set".into())),
        }
        if size > MAX_FILE_SIZE {
            return Err(Error::FileTooLarge);
        }
    }
    let times = [set.atime, set.mtime];
    let explicit = times.iter().flatten().any(|time| matches!(time, SetTime::To(_)));
    // A truncation sets mtime to now, and was allowed above.
    if explicit || (times.iter().any(Option::is_some) && set.size.is_none()) {
        allowed(posix::check_utimes(&caller, &rules, explicit))?;
    }
    Ok(())
}

/// The mode afterwards: chmod's, less what a change of owner or size takes away.
fn new_mode(cred: &Cred, attrs: &Attrs, set: &SetAttr) -> Result<u32> {
    let caller = who(cred);
    let mut rules = rules(attrs);
    if let Some(mode) = set.mode {
        let gid = set.gid.unwrap_or(attrs.gid as u32);
        rules.mode = posix::chmod(&caller, &rules, gid, mode).map_err(refused)?;
    }
    if set.uid.is_some() || set.gid.is_some() {
        rules.mode = posix::mode_after_chown(&caller, &rules);
    }
    if set.size.is_some() {
        rules.mode = posix::mode_after_write(&caller, &rules);
    }
    Ok(rules.mode)
}
