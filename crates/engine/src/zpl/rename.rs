//! rename(2), whose checks are most of it.
//!
//! Source: `zfs_rename` in module/os/linux/zfs/zfs_vnops_os.c.

use std::sync::Arc;

use dmu::{Holds, Tx};
use engine_api::{Changed, Cred, DirChange, Error, NodeId, RenameMode, Result};
use ondisk::znode::{Dirent, attr, flags};
use stdx::posix;

use super::Zpl;
use super::attrs::{Attrs, Change};
use super::create::LINK_MAX;
use super::dir::{Found, gone, is_dir};
use super::node::{Node, lock_all};
use super::perm::{allowed, check, check_mutable, check_removable, rules, who};
use super::unlinked::Fate;

/// Blocks that a rename may dirty: two directories and three nodes.
const META_BLOCKS: u64 = 24;

/// One end of a rename.
struct End<'a> {
    dir: Arc<Node>,
    name: &'a [u8],
    found: Option<Found>,
}

/// Both, with the nodes behind the names.
pub struct Plan<'a> {
    from: End<'a>,
    to: End<'a>,
    source: Arc<Node>,
    target: Option<Arc<Node>>,
}

impl Plan<'_> {
    /// All nodes whose `ops` locks the rename needs.
    pub fn involved(&self) -> Vec<&Arc<Node>> {
        [&self.from.dir, &self.to.dir].into_iter().chain(self.nodes()).collect()
    }

    /// The nodes behind the names.
    fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        std::iter::once(&self.source).chain(&self.target)
    }

    pub fn target(&self) -> Option<&Arc<Node>> {
        self.target.as_ref()
    }

    pub fn source_dir(&self) -> &Arc<Node> {
        &self.from.dir
    }
}

impl Zpl {
    /// The rename of a name, without asking who wants it.
    pub(super) fn plan_rename<'a>(
        &self,
        from: (Arc<Node>, &'a [u8]),
        to: (Arc<Node>, &'a [u8]),
    ) -> Result<Plan<'a>> {
        let end = |(dir, name): (Arc<Node>, &'a [u8])| -> Result<End<'a>> {
            let found = self.find_entry(&dir, name)?;
            Ok(End { dir, name, found })
        };
        let (from, to) = (end(from)?, end(to)?);
        let source = from.found.as_ref().ok_or(Error::NotFound)?;
        let source = self.node_by_number(source.entry.object)?;
        let target = to.found.as_ref().map(|found| self.node_by_number(found.entry.object));
        Ok(Plan { from, to, source, target: target.transpose()? })
    }

    pub(super) fn rename_node(
        &self,
        cred: &Cred,
        from: (NodeId, &[u8]),
        to: (NodeId, &[u8]),
        mode: RenameMode,
    ) -> Result<(DirChange, DirChange)> {
        self.names.check_entry(from.1)?;
        self.names.check_entry(to.1)?;
        // Two renames across directories could each make the other's move a loop.
        let _renaming = (from.0 != to.0).then(|| env::lock(&self.renaming));
        loop {
            let plan = self.look(cred, from, to)?;
            let ops = lock_all(&plan.involved());
            if !self.still_true(&plan)? {
                continue;
            }
            let moves = self.check_rename(cred, &plan, mode)?;
            let before = (self.show_now(&plan.from.dir)?, self.show_now(&plan.to.dir)?);
            let range = plan.target.as_ref().map(|target| target.ranges().whole(&self.env));
            let mut fate = Fate::Lives;
            if moves {
                let tx = self.begin(Holds::new(0, META_BLOCKS))?;
                let exchange = mode == RenameMode::Exchange;
                fate = if exchange { self.exchange(&plan, &tx)? } else { self.move_name(&plan, &tx)? };
                self.log_plan(&plan, exchange, &fate, &tx);
            }
            let after = (self.show_now(&plan.from.dir)?, self.show_now(&plan.to.dir)?);
            drop((range, ops));
            for node in plan.nodes() {
                self.tell(cred, node.id(), Changed::NAMES);
            }
            for end in [&plan.from, &plan.to] {
                self.tell(cred, end.dir.id(), Changed::ATTRIBUTES);
            }
            self.finish(fate)?;
            let change = |before, after| DirChange { before, after };
            return Ok((change(before.0, after.0), change(before.1, after.1)));
        }
    }

    fn look<'a>(&self, cred: &Cred, from: (NodeId, &'a [u8]), to: (NodeId, &'a [u8])) -> Result<Plan<'a>> {
        let end = |(dir, name)| -> Result<End<'a>> {
            let dir = self.dir_node(dir)?;
            Ok(End { dir, name, found: None })
        };
        let (mut from, mut to) = (end(from)?, end(to)?);
        for end in [&mut from, &mut to] {
            check(cred, &self.attrs(&end.dir)?, posix::EXEC)?;
            end.found = self.find_entry(&end.dir, end.name)?;
        }
        let source = from.found.as_ref().ok_or(Error::NotFound)?;
        let source = self.node_by_number(source.entry.object).map_err(gone)?;
        let target = to.found.as_ref().map(|found| self.node_by_number(found.entry.object).map_err(gone));
        Ok(Plan { from, to, source, target: target.transpose()? })
    }

    fn still_true(&self, plan: &Plan<'_>) -> Result<bool> {
        for end in [&plan.from, &plan.to] {
            end.dir.check_alive()?;
            if self.find_entry(&end.dir, end.name)? != end.found {
                return Ok(false);
            }
        }
        // Their numbers may mean other nodes now.
        Ok(plan.nodes().all(|node| node.check_alive().is_ok()))
    }

    /// Whether there is anything to move: two names of one node stay as they are.
    fn check_rename(&self, cred: &Cred, plan: &Plan<'_>, mode: RenameMode) -> Result<bool> {
        let exchange = mode == RenameMode::Exchange;
        let (from_dir, to_dir) = (self.attrs(&plan.from.dir)?, self.attrs(&plan.to.dir)?);
        match (mode, &plan.target) {
            (RenameMode::NoReplace, Some(_)) if !self.is_respelling(plan) => return Err(Error::Exists),
            (RenameMode::Exchange, None) => return Err(Error::NotFound),
            _ => {}
        }
        let loops = Error::Invalid("a directory cannot move into itself".into());
        if is_dir(&plan.source) && self.is_ancestor(plan.source.object(), plan.to.dir.object())? {
            return Err(loops);
        }
        if let Some(target) = &plan.target {
            if is_dir(target) && self.is_ancestor(target.object(), plan.from.dir.object())? {
                return Err(if exchange { loops } else { Error::NotEmpty });
            }
            if target.object() == plan.source.object() {
                return Ok(self.is_respelling(plan));
            }
        }
        let caller = who(cred);
        let moved = self.attrs(&plan.source)?;
        allowed(posix::check_delete(&caller, &rules(&from_dir), &rules(&moved)))?;
        check_removable(&moved)?;
        let reparents = plan.from.dir.object() != plan.to.dir.object();
        match &plan.target {
            None => {
                allowed(posix::check_add(&caller, &rules(&to_dir)))?;
                if to_dir.links == 0 {
                    return Err(Error::NotFound);
                }
            }
            Some(target) => self.check_target(cred, target, &moved, &to_dir, exchange, reparents)?,
        }
        if reparents {
            allowed(posix::check_reparent(&caller, &rules(&moved)))?;
            if moved.is_dir() && to_dir.links >= LINK_MAX {
                return Err(Error::TooManyLinks);
            }
        }
        check_mutable(&from_dir)?;
        check_mutable(&to_dir)?;
        if reparents {
            self.check_same_project((&plan.to.dir, &to_dir), (&plan.source, &moved))?;
        }
        Ok(true)
    }

    fn check_target(
        &self,
        cred: &Cred,
        target: &Arc<Node>,
        moved: &Attrs,
        to_dir: &Attrs,
        exchange: bool,
        reparents: bool,
    ) -> Result<()> {
        let there = self.attrs(target)?;
        allowed(posix::check_delete(&who(cred), &rules(to_dir), &rules(&there)))?;
        check_removable(&there)?;
        if exchange {
            return if reparents {
                allowed(posix::check_reparent(&who(cred), &rules(&there)))
            } else {
                Ok(())
            };
        }
        self.check_displaced(target, there.is_dir(), moved.is_dir())
    }

    /// `readme` becomes `README` where the two are one name.
    fn is_respelling(&self, plan: &Plan<'_>) -> bool {
        plan.from.dir.object() == plan.to.dir.object()
            && plan.from.found == plan.to.found
            && plan.from.found.as_ref().is_some_and(|found| found.name != plan.to.name)
    }

    fn log_plan(&self, plan: &Plan<'_>, exchange: bool, fate: &Fate, tx: &Tx) {
        let from = plan.from.found.as_ref().map_or(plan.from.name, |found| &found.name);
        let ends = [(plan.from.dir.object(), from), (plan.to.dir.object(), plan.to.name)];
        let lost =
            plan.target.as_ref().filter(|_| !matches!(fate, Fate::Lives)).map(|target| target.object());
        self.log_rename(ends, exchange, plan.source.object(), lost, tx);
    }

    pub(super) fn move_name(&self, plan: &Plan<'_>, tx: &Tx) -> Result<Fate> {
        let Some(source) = &plan.from.found else { return Err(Error::NotFound) };
        let (from, to) = (&plan.from.dir, &plan.to.dir);
        let same_dir = from.object() == to.object();
        let moves_dir = i64::from(is_dir(&plan.source));
        if self.is_respelling(plan) {
            self.remove_entry(from, &source.name, tx)?;
            self.add_entry(to, plan.to.name, source.entry, tx)?;
            self.moved(&plan.source, to, tx)?;
            self.touch_dir(to, 0, 0, tx)?;
            return Ok(Fate::Lives);
        }
        let mut fate = Fate::Lives;
        let mut replaced = 0;
        let mut replaced_dir = 0;
        match (&plan.target, &plan.to.found) {
            (Some(target), Some(found)) => {
                replaced = 1;
                replaced_dir = i64::from(is_dir(target));
                self.entries(to)?.update(&found.name, source.entry.encode(), tx).map_err(super::api_error)?;
                fate = self.drop_name(target, tx)?;
            }
            _ => self.add_entry(to, plan.to.name, source.entry, tx)?,
        }
        self.remove_entry(from, &source.name, tx)?;
        self.moved(&plan.source, to, tx)?;
        if same_dir {
            self.touch_dir(from, -replaced, -replaced_dir, tx)?;
        } else {
            self.touch_dir(from, -1, -moves_dir, tx)?;
            self.touch_dir(to, 1 - replaced, moves_dir - replaced_dir, tx)?;
        }
        Ok(fate)
    }

    pub(super) fn exchange(&self, plan: &Plan<'_>, tx: &Tx) -> Result<Fate> {
        let (Some(one), Some(other), Some(target)) = (&plan.from.found, &plan.to.found, &plan.target) else {
            return Err(Error::NotFound);
        };
        let (from, to) = (&plan.from.dir, &plan.to.dir);
        let point = |dir: &Node, name: &[u8], entry: Dirent| {
            self.entries(dir)?.update(name, entry.encode(), tx).map_err(super::api_error)
        };
        point(from, &one.name, other.entry)?;
        point(to, &other.name, one.entry)?;
        self.moved(&plan.source, to, tx)?;
        self.moved(target, from, tx)?;
        let gained = i64::from(is_dir(&plan.source)) - i64::from(is_dir(target));
        if from.object() == to.object() {
            self.touch_dir(from, 0, 0, tx)?;
            return Ok(Fate::Lives);
        }
        self.touch_dir(from, 0, -gained, tx)?;
        self.touch_dir(to, 0, gained, tx)?;
        Ok(Fate::Lives)
    }

    /// A node has its name in another directory now.
    fn moved(&self, node: &Node, dir: &Node, tx: &Tx) -> Result<()> {
        let inherited = self.attrs(dir)?.flags & flags::PROJINHERIT;
        let change = |old: &Attrs, _| {
            let change = Change::default().word(&attr::PARENT, dir.object());
            let gains = inherited & !old.flags != 0;
            change.maybe_word(&attr::FLAGS, gains.then_some(old.flags | inherited))
        };
        self.update(node, tx, change).map(drop)
    }
}
