//! Giving a node another name, and taking names away.

use std::sync::Arc;

use dmu::{Holds, Tx};
use engine_api::{Attr, Changed, Cred, DirChange, Error, NodeId, Result};
use ondisk::znode::attr;
use stdx::posix;

use super::Zpl;
use super::attrs::{Attrs, Change};
use super::create::LINK_MAX;
use super::dir::{Found, entry_for, gone};
use super::node::{Node, lock_all};
use super::perm::{allowed, check, check_mutable, check_removable, rules, who};
use super::unlinked::Fate;

/// Blocks that adding or removing a name may dirty.
const META_BLOCKS: u64 = 10;

/// What is to lose a name.
#[derive(Clone, Copy)]
pub(super) enum Victim<'a> {
    Dir,
    /// Anything else, as long as it is what was seen.
    File(Option<&'a Attr>),
}

impl Zpl {
    pub(super) fn link_node(
        &self,
        cred: &Cred,
        id: NodeId,
        dir: NodeId,
        name: &[u8],
    ) -> Result<(Attr, DirChange)> {
        self.names.check_entry(name)?;
        let node = self.node(id)?;
        let dir = self.dir_node(dir)?;
        let (answer, unlogged) = self.link_under(cred, &node, &dir, name)?;
        if let Some(txg) = unlogged {
            self.wait_synced(txg)?;
        }
        Ok(answer)
    }

    /// With it the group that is to be waited for: the first name of a file that had none is in no
    /// log, since that does not know the file (`zfs_link`).
    fn link_under(
        &self,
        cred: &Cred,
        node: &Arc<Node>,
        dir: &Arc<Node>,
        name: &[u8],
    ) -> Result<((Attr, DirChange), Option<u64>)> {
        let _ops = lock_all(&[node, dir]);
        node.check_alive()?;
        dir.check_alive()?;
        let (attrs, parent) = (self.attrs(node)?, self.attrs(dir)?);
        check(cred, &parent, posix::EXEC)?;
        if self.find_entry(dir, name)?.is_some() {
            return Err(Error::Exists);
        }
        allowed(posix::check_add(&who(cred), &rules(&parent)))?;
        if attrs.is_dir() {
            return Err(Error::NotPermitted);
        }
        // A file that lost its last name while open does not come back, nor does anything appear in
        // a removed directory.
        let is_first = attrs.links == 0 && node.is_unnamed();
        if attrs.links == 0 && !is_first || parent.links == 0 {
            return Err(Error::NotFound);
        }
        if attrs.links >= LINK_MAX {
            return Err(Error::TooManyLinks);
        }
        check_mutable(&attrs)?;
        check_mutable(&parent)?;
        self.check_same_project((dir, &parent), (node, &attrs))?;
        let before = self.show(dir, &parent);
        let tx = self.begin(Holds::new(0, META_BLOCKS))?;
        self.give_name(dir, name, node, &attrs, &tx)?;
        if is_first {
            self.take_from_set(node.object(), &tx)?;
            node.set_unnamed(false);
        } else {
            self.log_link(dir.object(), node.object(), name, &tx);
        }
        let answer = (self.show_now(node)?, DirChange { before, after: self.show_now(dir)? });
        Ok((answer, is_first.then(|| tx.txg())))
    }

    /// One more name for a node. The caller has checked that it may have it, and holds both `ops`
    /// locks.
    pub(super) fn give_name(
        &self,
        dir: &Node,
        name: &[u8],
        node: &Node,
        attrs: &Attrs,
        tx: &Tx,
    ) -> Result<()> {
        self.add_entry(dir, name, entry_for(node, attrs), tx)?;
        self.update(node, tx, |old, _| {
            Change::default().word(&attr::LINKS, old.links + 1).word(&attr::PARENT, dir.object())
        })?;
        self.touch_dir(dir, 1, 0, tx)
    }

    pub(super) fn remove_name(
        &self,
        cred: &Cred,
        dir: NodeId,
        name: &[u8],
        wanted: Victim<'_>,
    ) -> Result<DirChange> {
        self.names.check_entry(name)?;
        let want_dir = matches!(wanted, Victim::Dir);
        let dir = self.dir_node(dir)?;
        loop {
            check(cred, &self.attrs(&dir)?, posix::EXEC)?;
            let found = self.find_entry(&dir, name)?.ok_or(Error::NotFound)?;
            let victim = self.node_by_number(found.entry.object).map_err(gone)?;
            let ops = lock_all(&[&dir, &victim]);
            // Between the look and the lock others may have been here; the number may even mean
            // another node now.
            if victim.check_alive().is_err() || self.find_entry(&dir, name)?.as_ref() != Some(&found) {
                continue;
            }
            let (parent, attrs) = (self.attrs(&dir)?, self.attrs(&victim)?);
            self.check_remove(cred, &victim, &parent, &attrs, want_dir)?;
            // Whoever reads it now reads to the end first.
            let range = victim.ranges().whole(&self.env);
            if let Victim::File(Some(seen)) = wanted {
                // Nobody writes while the whole range is held.
                self.check_unchanged(&victim, seen)?;
            }
            let before = self.show(&dir, &parent);
            let tx = self.begin(Holds::freeing(META_BLOCKS))?;
            let fate = self.take_name(&dir, &found, &victim, attrs.is_dir(), &tx)?;
            let gone = !matches!(fate, Fate::Lives);
            self.log_remove(dir.object(), &found.name, victim.object(), want_dir, gone, &tx);
            let after = self.show_now(&dir)?;
            drop((tx, range, ops));
            self.tell(cred, victim.id(), Changed::NAMES);
            self.tell(cred, dir.id(), Changed::ATTRIBUTES);
            self.finish(fate)?;
            return Ok(DirChange { before, after });
        }
    }

    fn check_unchanged(&self, victim: &Node, seen: &Attr) -> Result<()> {
        let now = self.show_now(victim)?;
        let is_same = (now.node, now.kind, now.size, now.mtime, now.ctime)
            == (seen.node, seen.kind, seen.size, seen.mtime, seen.ctime);
        if is_same { Ok(()) } else { Err(Error::Stale) }
    }

    /// Takes a name away. The caller holds both `ops` locks and the node's whole range.
    pub(super) fn take_name(
        &self,
        dir: &Node,
        found: &Found,
        victim: &Arc<Node>,
        is_dir: bool,
        tx: &Tx,
    ) -> Result<Fate> {
        self.remove_entry(dir, &found.name, tx)?;
        let fate = self.drop_name(victim, tx)?;
        self.touch_dir(dir, -1, -i64::from(is_dir), tx)?;
        Ok(fate)
    }

    fn check_remove(
        &self,
        cred: &Cred,
        victim: &Arc<Node>,
        parent: &Attrs,
        attrs: &Attrs,
        want_dir: bool,
    ) -> Result<()> {
        allowed(posix::check_delete(&who(cred), &rules(parent), &rules(attrs)))?;
        self.check_displaced(victim, attrs.is_dir(), want_dir)?;
        check_mutable(parent)?;
        check_removable(attrs)
    }

    /// A node lost one name. What becomes of it is for [`Zpl::finish`] to see to after the
    /// transaction. The caller holds its `ops` lock and its whole range.
    pub(super) fn drop_name(&self, victim: &Arc<Node>, tx: &Tx) -> Result<Fate> {
        let mut left = 0;
        self.update(victim, tx, |old, _| {
            left = if old.is_dir() { 0 } else { old.links.saturating_sub(1) };
            Change::default().word(&attr::LINKS, left)
        })?;
        if left > 0 { Ok(Fate::Lives) } else { self.bury(victim, tx) }
    }
}
