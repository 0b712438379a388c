//! rename(2), whose checks are most of it.

use crate::node::Body;
use crate::state::{State, check_entry_name, refused, who};
use engine_api::{Cred, DirChange, Error, NodeId, RenameMode, Result};
use stdx::posix;

/// What both names stand for, after every check.
struct Plan {
    source: u64,
    target: Option<u64>,
}

impl State {
    pub fn rename(
        &mut self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)> {
        let plan = self.plan_rename(cred, from, to, mode)?;
        let before = (self.get(from.0)?.attr(), self.get(to.0)?.attr());
        // Two names of one node: POSIX says that nothing happens.
        if plan.target != Some(plan.source) {
            match mode {
                RenameMode::Exchange => self.exchange(from, to, &plan),
                RenameMode::Replace | RenameMode::NoReplace => self.move_name(from, to, &plan),
            }
        }
        let after = (self.get(from.0)?.attr(), self.get(to.0)?.attr());
        Ok((DirChange { before: before.0, after: after.0 }, DirChange { before: before.1, after: after.1 }))
    }

    fn plan_rename(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<Plan> {
        check_entry_name(from.1)?;
        check_entry_name(to.1)?;
        let (caller, exchange) = (who(cred), mode == RenameMode::Exchange);
        let (from_dir, from_entries) = self.dir(from.0)?;
        let (to_dir, to_entries) = self.dir(to.0)?;
        posix::check(&caller, &from_dir.rules(), posix::EXEC).map_err(refused)?;
        posix::check(&caller, &to_dir.rules(), posix::EXEC).map_err(refused)?;
        let source = from_entries.get(from.1).ok_or(Error::NotFound)?;
        let target = to_entries.get(to.1);
        match (mode, target) {
            (RenameMode::NoReplace, Some(_)) => return Err(Error::Exists),
            (RenameMode::Exchange, None) => return Err(Error::NotFound),
            _ => {}
        }
        if self.is_ancestor(source, to.0.object) {
            return Err(Error::Invalid("a directory cannot move into itself".into()));
        }
        if target.is_some_and(|target| self.is_ancestor(target, from.0.object)) {
            let loops = Error::Invalid("a directory cannot move into itself".into());
            return Err(if exchange { loops } else { Error::NotEmpty });
        }
        if target == Some(source) {
            return Ok(Plan { source, target });
        }
        let moved = self.object(source);
        posix::check_delete(&caller, &from_dir.rules(), &moved.rules()).map_err(refused)?;
        let reparents = from.0 != to.0;
        match target.map(|target| self.object(target)) {
            None => {
                posix::check_add(&caller, &to_dir.rules()).map_err(refused)?;
                if to_dir.nlink == 0 {
                    return Err(Error::NotFound);
                }
            }
            Some(there) => {
                posix::check_delete(&caller, &to_dir.rules(), &there.rules()).map_err(refused)?;
                match (moved.is_dir(), &there.body) {
                    _ if exchange => {}
                    (true, Body::Dir(entries)) if !entries.is_empty() => return Err(Error::NotEmpty),
                    (true, Body::Dir(_)) => {}
                    (true, _) => return Err(Error::NotDir),
                    (false, Body::Dir(_)) => return Err(Error::IsDir),
                    (false, _) => {}
                }
                if reparents && exchange {
                    posix::check_reparent(&caller, &there.rules()).map_err(refused)?;
                }
            }
        }
        if reparents {
            posix::check_reparent(&caller, &moved.rules()).map_err(refused)?;
        }
        Ok(Plan { source, target })
    }

    fn move_name(&mut self, from: (NodeId, &[u8]), to: (NodeId, &[u8]), plan: &Plan) {
        let now = self.now();
        let (from_dir, to_dir) = (from.0.object, to.0.object);
        if let Some(target) = plan.target {
            self.entries_mut(to_dir).remove(to.1);
            let was_dir = self.drop_name(target, now);
            self.object_mut(to_dir).nlink -= u64::from(was_dir);
        }
        self.entries_mut(from_dir).remove(from.1);
        self.entries_mut(to_dir).insert(to.1, plan.source);
        self.reparent(plan.source, from_dir, to_dir);
        for object in [plan.source, from_dir, to_dir] {
            self.touch_renamed(object, object != plan.source);
        }
    }

    fn exchange(&mut self, from: (NodeId, &[u8]), to: (NodeId, &[u8]), plan: &Plan) {
        let target = plan.target.expect("an exchange has two names");
        let (from_dir, to_dir) = (from.0.object, to.0.object);
        self.entries_mut(from_dir).replace(from.1, target);
        self.entries_mut(to_dir).replace(to.1, plan.source);
        self.reparent(plan.source, from_dir, to_dir);
        self.reparent(target, to_dir, from_dir);
        for object in [plan.source, target] {
            self.touch_renamed(object, false);
        }
        for object in [from_dir, to_dir] {
            self.touch_renamed(object, true);
        }
    }

    /// A directory's `..` follows it, and the parents' link counts with it.
    fn reparent(&mut self, object: u64, from_dir: u64, to_dir: u64) {
        if !self.object(object).is_dir() || from_dir == to_dir {
            return;
        }
        self.object_mut(from_dir).nlink -= 1;
        self.object_mut(to_dir).nlink += 1;
        self.entries_mut(object).parent = to_dir;
    }

    fn touch_renamed(&mut self, object: u64, contents: bool) {
        let now = self.now();
        let node = self.object_mut(object);
        if contents { node.touch_mtime(now) } else { node.touch_ctime(now) }
    }
}
