//! Making, linking and removing names.

use crate::LINK_MAX;
use crate::content::Content;
use crate::node::{Body, Directory};
use crate::state::{State, check_data, check_entry_name, check_name, refused, who};
use engine_api::{
    Attr, CreateMode, Created, Cred, DirChange, Error, NewNode, NodeId, NodeKind, Result, SetAttr, SetTime,
    Time,
};
use stdx::posix;

impl State {
    pub fn lookup(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<Attr> {
        check_name(name)?;
        let (node, entries) = self.dir(dir)?;
        posix::check(&who(cred), &node.rules(), posix::EXEC).map_err(refused)?;
        let object = match name {
            b"." => dir.object,
            b".." if self.nodes.contains_key(&entries.parent) => entries.parent,
            b".." => return Err(Error::NotFound),
            _ => entries.get(name).ok_or(Error::NotFound)?,
        };
        Ok(self.object(object).attr())
    }

    pub fn create(
        &mut self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        check_entry_name(name)?;
        if attr.size.is_some_and(|size| size > crate::MAX_FILE_SIZE) {
            return Err(Error::FileTooLarge);
        }
        let (node, entries) = self.dir(dir)?;
        posix::check(&who(cred), &node.rules(), posix::EXEC).map_err(refused)?;
        if let Some(object) = entries.get(name) {
            return self.create_over(cred, dir, object, mode, attr);
        }
        let mut attr = attr.clone();
        if let CreateMode::Exclusive { verifier } = mode {
            let (atime, mtime) = verifier_times(verifier);
            (attr.atime, attr.mtime) = (Some(SetTime::To(atime)), Some(SetTime::To(mtime)));
        }
        let mut content = Content::default();
        content.resize(attr.size.unwrap_or(0));
        self.add(cred, dir, name, Body::File(content), &attr)
    }

    /// The name exists: it is the answer, or in the way.
    fn create_over(
        &mut self,
        cred: &Cred,
        dir: NodeId,
        object: u64,
        mode: CreateMode,
        attr: &SetAttr,
    ) -> Result<Created> {
        let node = self.object(object);
        let id = node.id;
        match mode {
            CreateMode::Unchecked if node.kind() == NodeKind::File => {
                if attr.size == Some(0) {
                    check_data(cred, node, posix::WRITE)?;
                    let truncate = SetAttr { size: Some(0), ..SetAttr::default() };
                    self.setattr(cred, id, &truncate)?;
                }
            }
            CreateMode::Exclusive { verifier }
                if node.kind() == NodeKind::File && (node.atime, node.mtime) == verifier_times(verifier) => {}
            CreateMode::Unchecked | CreateMode::Guarded | CreateMode::Exclusive { .. } => {
                return Err(Error::Exists);
            }
        }
        let parent = self.get(dir)?.attr();
        let attr = self.get(id)?.attr();
        Ok(Created { attr, dir: DirChange { before: parent, after: parent }, new: false })
    }

    pub fn make(
        &mut self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        what: &NewNode,
        attr: &SetAttr,
    ) -> Result<Created> {
        let body = match what {
            NewNode::File => return self.create(cred, dir, name, CreateMode::Guarded, attr),
            NewNode::Dir => Body::Dir(Directory::new(dir.object)),
            NewNode::Symlink { target } => Body::Symlink(check_target(target)?),
            NewNode::Fifo => Body::Fifo,
            NewNode::Socket => Body::Socket,
            NewNode::CharDev { major, minor } => Body::CharDev(*major, *minor),
            NewNode::BlockDev { major, minor } => Body::BlockDev(*major, *minor),
        };
        check_entry_name(name)?;
        let (node, entries) = self.dir(dir)?;
        posix::check(&who(cred), &node.rules(), posix::EXEC).map_err(refused)?;
        if entries.get(name).is_some() {
            return Err(Error::Exists);
        }
        if matches!(what, NewNode::CharDev { .. } | NewNode::BlockDev { .. }) && !who(cred).is_privileged() {
            return Err(Error::NotPermitted);
        }
        self.add(cred, dir, name, body, attr)
    }

    /// The one place where a node comes to be. The name is free.
    fn add(&mut self, cred: &Cred, dir: NodeId, name: &[u8], body: Body, attr: &SetAttr) -> Result<Created> {
        let parent = self.get(dir)?;
        if parent.nlink == 0 {
            return Err(Error::NotFound);
        }
        let (caller, rules) = (who(cred), parent.rules());
        posix::check_add(&caller, &rules).map_err(refused)?;
        let is_dir = matches!(body, Body::Dir(_));
        if is_dir && parent.nlink >= LINK_MAX {
            return Err(Error::TooManyLinks);
        }
        let inherited = posix::new_gid(&caller, &rules);
        posix::check_new_owner(&caller, inherited, attr.uid, attr.gid).map_err(refused)?;
        let kind = if is_dir { posix::Kind::Dir } else { posix::Kind::File };
        let mode = match body {
            Body::Symlink(_) => 0o777,
            _ => posix::new_mode(&caller, &rules, kind, attr.mode.unwrap_or(0)) & !(cred.umask & 0o777),
        };
        let before = parent.attr();
        let uid = attr.uid.unwrap_or(cred.uid);
        let id = self.insert(body, mode, uid, attr.gid.unwrap_or(inherited));
        let now = self.now();
        let node = self.object_mut(id.object);
        node.atime = attr.atime.map_or(node.atime, |time| at(time, now));
        node.mtime = attr.mtime.map_or(node.mtime, |time| at(time, now));
        self.entries_mut(dir.object).insert(name, id.object);
        let parent = self.object_mut(dir.object);
        parent.nlink += u64::from(is_dir);
        parent.touch_mtime(now);
        let dir = DirChange { before, after: parent.attr() };
        Ok(Created { attr: self.object(id.object).attr(), dir, new: true })
    }

    pub fn link(&mut self, cred: &Cred, id: NodeId, dir: NodeId, name: &[u8]) -> Result<(Attr, DirChange)> {
        check_entry_name(name)?;
        let node = self.get(id)?;
        let (parent, entries) = self.dir(dir)?;
        posix::check(&who(cred), &parent.rules(), posix::EXEC).map_err(refused)?;
        if entries.get(name).is_some() {
            return Err(Error::Exists);
        }
        posix::check_add(&who(cred), &parent.rules()).map_err(refused)?;
        if node.is_dir() {
            return Err(Error::NotPermitted);
        }
        // A file that lost its last name while open does not come back, nor does anything appear in
        // a removed directory.
        if node.nlink == 0 || parent.nlink == 0 {
            return Err(Error::NotFound);
        }
        if node.nlink >= LINK_MAX {
            return Err(Error::TooManyLinks);
        }
        let before = parent.attr();
        let now = self.now();
        self.entries_mut(dir.object).insert(name, id.object);
        let node = self.object_mut(id.object);
        node.nlink += 1;
        node.touch_ctime(now);
        let attr = node.attr();
        let parent = self.object_mut(dir.object);
        parent.touch_mtime(now);
        Ok((attr, DirChange { before, after: parent.attr() }))
    }

    pub fn remove(&mut self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        let object = self.victim(cred, dir, name)?;
        if self.object(object).is_dir() {
            return Err(Error::IsDir);
        }
        Ok(self.unlink(dir.object, name, object))
    }

    pub fn rmdir(&mut self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<DirChange> {
        let object = self.victim(cred, dir, name)?;
        match &self.object(object).body {
            Body::Dir(entries) if entries.is_empty() => Ok(self.unlink(dir.object, name, object)),
            Body::Dir(_) => Err(Error::NotEmpty),
            _ => Err(Error::NotDir),
        }
    }

    /// The object behind a name that the caller may remove.
    fn victim(&self, cred: &Cred, dir: NodeId, name: &[u8]) -> Result<u64> {
        check_entry_name(name)?;
        let (parent, entries) = self.dir(dir)?;
        posix::check(&who(cred), &parent.rules(), posix::EXEC).map_err(refused)?;
        let object = entries.get(name).ok_or(Error::NotFound)?;
        posix::check_delete(&who(cred), &parent.rules(), &self.object(object).rules()).map_err(refused)?;
        Ok(object)
    }

    fn unlink(&mut self, dir: u64, name: &[u8], object: u64) -> DirChange {
        let before = self.object(dir).attr();
        let now = self.now();
        self.entries_mut(dir).remove(name);
        let was_dir = self.drop_name(object, now);
        let parent = self.object_mut(dir);
        parent.nlink -= u64::from(was_dir);
        parent.touch_mtime(now);
        DirChange { before, after: parent.attr() }
    }

    /// A node lost one name; gone when it was the last and nobody has it open. Says whether it is a
    /// directory.
    pub fn drop_name(&mut self, object: u64, now: Time) -> bool {
        let node = self.object_mut(object);
        let is_dir = node.is_dir();
        node.nlink = if is_dir { 0 } else { node.nlink - 1 };
        node.touch_ctime(now);
        self.forget_if_unused(object);
        is_dir
    }
}

pub fn at(time: SetTime, now: Time) -> Time {
    match time {
        SetTime::Now => now,
        SetTime::To(time) => time,
    }
}

/// Where an exclusive create keeps its verifier: atime and mtime.
fn verifier_times(verifier: u64) -> (Time, Time) {
    let time = |half: u64| Time { secs: half as u32 as i64, nanos: 0 };
    (time(verifier >> 32), time(verifier))
}

fn check_target(target: &[u8]) -> Result<Vec<u8>> {
    const PATH_MAX: usize = 4096;
    if target.is_empty() || target.contains(&0) {
        return Err(Error::Invalid("a symbolic link needs a target without NUL".into()));
    }
    if target.len() >= PATH_MAX {
        return Err(Error::NameTooLong);
    }
    Ok(target.to_vec())
}
