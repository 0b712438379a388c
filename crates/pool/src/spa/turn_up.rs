//! Disks that turn up: one that had vanished is there again, or another lies in its place.
//!
//! What udev and zed do for OpenZFS: while a disk of a pool has vanished, its path is looked at from time to time
//! ([`Pool::look_for_disks`]). If it is the disk, it is brought online. If it is one that nobody uses and the property
//! `autoreplace` is on, it takes the place of the one that has gone. A disk that an operator took out of use or that
//! has erred too often, and a pool that is suspended, are left to operators. So are logs: what they hold is not the same
//! on any other disk.
//!
//! When an operator brings a disk online it may be under another path by now: the folder of its last one is searched.
//!
//! Source: cmd/zed/agents/zfs_mod.c (`zfs_process_add`).

use env::{OpenMode, lock};
use storage::VdevConfig;
use storage::labels::Device;

use super::members::NewDisk;
use super::{Core, Pool};

impl Pool {
    /// Takes disks into use that have turned up.
    pub fn look_for_disks(&self) {
        let core = &*self.core;
        if core.readonly || core.storage.is_suspended() {
            return;
        }
        for lost in core.vanished() {
            let path = lost.path.as_deref().unwrap_or_default();
            let Some(found) = core.look(path) else { continue };
            let done = if core.is_said_by(&found, lost.guid) {
                tracing::info!(path, "a disk is back");
                self.online_vdev(lost.guid, false, "")
            } else if found.read_labels().config().is_none() && core.is_set("autoreplace") {
                tracing::info!(path, "a disk lies where one has vanished, and replaces it");
                self.replace_vdev(lost.guid, &NewDisk::default(), "")
            } else {
                continue;
            };
            if let Err(error) = done {
                tracing::info!(path, %error, "a disk that turned up is not used yet");
            }
        }
    }
}

impl Core {
    /// Disks with data that have vanished, and whose lack nobody has decided on.
    fn vanished(&self) -> Vec<VdevConfig> {
        let tree = lock(&self.config).tree.clone();
        let mut found = Vec::new();
        for top in tree.children.iter().filter(|top| !top.is_log) {
            top.visit(&mut |vdev| {
                let is_left_alone = vdev.offline || vdev.faulted || !vdev.kind.is_leaf();
                if !is_left_alone && self.storage.has_vanished(vdev.guid) {
                    found.push(vdev.clone());
                }
            });
        }
        found
    }

    fn look(&self, path: &str) -> Option<Device> {
        Device::locate(self.env.disks.open(path, OpenMode::ReadOnly).ok()?).ok()
    }

    /// Where the disk of a leaf is: at its path, or in the same folder.
    pub(super) fn where_is(&self, leaf: &VdevConfig) -> Option<String> {
        let path = leaf.path.as_ref()?;
        let is_there =
            |path: &String| self.look(path).is_some_and(|found| self.is_said_by(&found, leaf.guid));
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
