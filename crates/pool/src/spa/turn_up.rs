//! Disks that turn up: one that had vanished is there again, or another lies in its place.
//!
//! What udev and zed do for OpenZFS: while a disk of a pool has vanished, its path is looked at
//! from time to time ([`Pool::look_for_disks`]). If it is the disk, it is brought online. If it is
//! one that nobody uses and the property `autoreplace` is on, it takes the place of the one that
//! has gone. A disk that an operator took out of use or that has erred too often, and a pool that
//! is suspended, are left to operators. A log's disk that has vanished while it was in use comes
//! back too, though the configuration calls it faulted: the log is emptied first. But nothing
//! replaces it by itself, nor does one come back that was missing at import: what it holds may be
//! nowhere else.
//!
//! When an operator brings a disk online it may be under another path by now: the folder of its
//! last one is searched.
//!
//! Source: cmd/zed/agents/zfs_mod.c (`zfs_process_add`).

use api_types::NewDevice;
use env::{OpenMode, lock};
use storage::labels::Device;
use storage::{VdevConfig, VdevState};

use super::{Core, Pool};
use crate::{PoolError, Result};

impl Pool {
    /// Takes disks out of use that are there no more, and those into use that have turned up.
    pub fn look_for_disks(&self) {
        let core = &*self.core;
        if core.readonly || core.storage.is_suspended() {
            return;
        }
        core.storage.notice_absent();
        core.hold_spares();
        for (lost, is_log) in core.vanished() {
            let path = lost.path.as_deref().unwrap_or_default();
            let Some(found) = core.look(path) else { continue };
            let done = if core.is_said_by(&found, lost.guid) {
                tracing::info!(path, "a disk is back");
                match is_log {
                    true => self.revive_one(lost.guid).and_then(|()| self.list_vdevs("")),
                    false => self.online_vdev(lost.guid, false, ""),
                }
            } else if !is_log && found.read_labels().config().is_none() && core.is_set("autoreplace") {
                tracing::info!(path, "a disk lies where one has vanished, and replaces it");
                self.replace_vdev(lost.guid, &NewDevice::default(), "")
            } else {
                continue;
            };
            if let Err(error) = done {
                tracing::info!(path, %error, "a disk that turned up is not used yet");
            }
        }
    }

    /// Looks at all disks anew (`zpool reopen`): one whose labels say that it is another's is used
    /// no more, one that had vanished and is back is.
    pub fn reopen(&self, history: &str) -> Result<u64> {
        if self.core.readonly {
            return Err(PoolError::ReadOnly);
        }
        self.core.give_up_foreign();
        self.look_for_disks();
        self.list_vdevs(history)
    }
}

impl Core {
    /// Takes disks out of use that have been written over, or lie no more where they did, as far as
    /// the pool can do without them (module/zfs/vdev.c, `vdev_validate`). One that cannot be read
    /// is judged by its errors instead.
    pub(crate) fn give_up_foreign(&self) {
        let tree = lock(&self.config).tree.clone();
        tree.visit(&mut |vdev| {
            let usable = vdev.kind.is_leaf() && self.storage.is_usable(vdev.guid);
            let Some(path) = vdev.path.as_deref().filter(|_| usable) else { return };
            if self.is_foreign(path, vdev.guid) && self.storage.set_leaf_state(vdev.guid, VdevState::Unavail)
            {
                tracing::warn!(path, "a disk has no label of its pool any more, and is not used");
            }
        });
    }

    /// Disks that have vanished, and whose lack nobody has decided on; of logs those that have done
    /// so while in use. And whether they are logs'.
    fn vanished(&self) -> Vec<(VdevConfig, bool)> {
        let tree = lock(&self.config).tree.clone();
        let mut found = Vec::new();
        for top in &tree.children {
            top.visit(&mut |vdev| {
                let in_use = self.storage.leaf_state(vdev.guid) == Some(VdevState::Faulted);
                let is_wanted = !vdev.offline && if top.is_log { in_use } else { !vdev.faulted };
                if vdev.kind.is_leaf() && is_wanted && self.storage.has_vanished(vdev.guid) {
                    found.push((vdev.clone(), top.is_log));
                }
            });
        }
        found
    }

    fn look(&self, path: &str) -> Option<Device> {
        Device::locate(self.env.disks.open(path, OpenMode::ReadOnly).ok()?).ok()
    }

    /// Whether the disk of a leaf is at a path.
    pub(super) fn is_at(&self, path: &str, guid: u64) -> bool {
        self.look(path).is_some_and(|found| self.is_said_by(&found, guid))
    }

    /// Whether what is at the path of a leaf has labels that do not say so, or none.
    pub(super) fn is_foreign(&self, path: &str, guid: u64) -> bool {
        let found = self.look(path).filter(Device::can_read_labels);
        found.is_some_and(|found| !self.is_said_by(&found, guid))
    }

    /// Where the disk of a leaf is: at its path, or in the same folder.
    pub(super) fn where_is(&self, leaf: &VdevConfig) -> Option<String> {
        let path = leaf.path.as_ref()?;
        let is_there = |path: &String| self.is_at(path, leaf.guid);
        if is_there(path) {
            return Some(path.clone());
        }
        let mut known = Vec::new();
        lock(&self.config).tree.visit(&mut |vdev| known.extend(vdev.path.clone()));
        let (folder, _) = path.rsplit_once('/')?;
        let inside = self.env.disks.list(folder).ok()?;
        inside.into_iter().filter(|path| !known.contains(path)).find(is_there)
    }
}
