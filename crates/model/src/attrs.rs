//! setattr and access.

use crate::MAX_FILE_SIZE;
use crate::names::at;
use crate::node::{Body, Node};
use crate::state::{State, check_data, refused, who};
use engine_api::{Access, Attr, Cred, Error, NodeId, Result, SetAttr, SetTime};
use stdx::posix;

impl State {
    /// Checks everything, then changes everything.
    pub fn setattr(&mut self, cred: &Cred, id: NodeId, set: &SetAttr) -> Result<(Attr, Attr)> {
        let node = self.get(id)?;
        let before = node.attr();
        if set.guard_ctime.is_some_and(|ctime| ctime != node.ctime) {
            return Err(Error::Busy);
        }
        check_setattr(cred, node, set)?;
        let mode = new_mode(cred, node, set)?;
        let unchanged = SetAttr { guard_ctime: set.guard_ctime, ..SetAttr::default() };
        if *set == unchanged {
            return Ok((before, before));
        }
        let now = self.now();
        let node = self.get_mut(id)?;
        node.mode = mode;
        node.uid = set.uid.unwrap_or(node.uid);
        node.gid = set.gid.unwrap_or(node.gid);
        if let (Some(size), Body::File(content)) = (set.size, &mut node.body) {
            content.resize(size);
            node.mtime = now;
        }
        node.atime = set.atime.map_or(node.atime, |time| at(time, now));
        node.mtime = set.mtime.map_or(node.mtime, |time| at(time, now));
        node.touch_ctime(now);
        Ok((before, node.attr()))
    }
}

fn check_setattr(cred: &Cred, node: &Node, set: &SetAttr) -> Result<()> {
    let (caller, rules) = (who(cred), node.rules());
    if set.mode.is_some() && node.kind() == engine_api::NodeKind::Symlink {
        return Err(Error::Unsupported("the mode of a symbolic link".into()));
    }
    posix::check_chown(&caller, &rules, set.uid, set.gid).map_err(refused)?;
    if let Some(size) = set.size {
        match node.body {
            Body::File(_) => check_data(cred, node, posix::WRITE)?,
            Body::Dir(_) => return Err(Error::IsDir),
            _ => return Err(Error::Invalid("only regular files have a size to set".into())),
        }
        if size > MAX_FILE_SIZE {
            return Err(Error::FileTooLarge);
        }
    }
    if set.atime.is_some() || set.mtime.is_some() {
        let explicit = [set.atime, set.mtime].iter().flatten().any(|time| matches!(time, SetTime::To(_)));
        // A truncation sets mtime to now, and was allowed above.
        if explicit || set.size.is_none() {
            posix::check_utimes(&caller, &rules, explicit).map_err(refused)?;
        }
    }
    Ok(())
}

/// The mode afterwards: chmod's, less what a change of owner or size takes away.
fn new_mode(cred: &Cred, node: &Node, set: &SetAttr) -> Result<u32> {
    let caller = who(cred);
    let mut rules = node.rules();
    if let Some(mode) = set.mode {
        rules.mode = posix::chmod(&caller, &rules, set.gid.unwrap_or(node.gid), mode).map_err(refused)?;
    }
    if set.uid.is_some() || set.gid.is_some() {
        rules.mode = posix::mode_after_chown(&caller, &rules);
    }
    if set.size.is_some() {
        rules.mode = posix::mode_after_write(&caller, &rules);
    }
    Ok(rules.mode)
}

/// What the caller may do, by mode bits; the owner's override is for data, not for answers.
pub fn access(cred: &Cred, node: &Node) -> Access {
    let bits = posix::permitted(&who(cred), &node.rules());
    let (read, write, exec) = (bits & posix::READ != 0, bits & posix::WRITE != 0, bits & posix::EXEC != 0);
    if node.is_dir() {
        let change = write && exec;
        Access { read, modify: change, extend: change, delete: change, lookup: exec, execute: false }
    } else {
        Access { read, modify: write, extend: write, delete: false, lookup: false, execute: exec }
    }
}
