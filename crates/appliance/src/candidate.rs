//! A file system as its properties say that it is mounted.

use engine_api::{DatasetFilter, DatasetInfo, DatasetKind, Source};
use stdx::behalf;

use crate::{Appliance, Failure, NotMountable, Result, Verb};

/// A file system and where it belongs.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub dataset: String,
    /// `none`, `legacy`, or a path.
    pub mountpoint: String,
    /// `on`, `off` or `noauto`.
    pub canmount: String,
    /// It may be mounted over a directory that has entries.
    pub overlay: bool,
    /// The mount point follows from the name, and was not set for this file system.
    pub is_by_name: bool,
    /// A stream for it was received in part: it cannot be mounted.
    pub is_partly_received: bool,
    pub sharenfs: String,
}

/// Names of the properties that a [`Candidate`] is made of.
const PROPERTIES: [&str; 5] = ["mountpoint", "canmount", "overlay", "inconsistent", "sharenfs"];

impl Candidate {
    fn of(info: &DatasetInfo) -> Candidate {
        Candidate {
            dataset: info.name.clone(),
            mountpoint: info.value("mountpoint").unwrap_or("none").to_owned(),
            canmount: info.value("canmount").unwrap_or("on").to_owned(),
            overlay: info.value("overlay") == Some("on"),
            is_by_name: info.props.iter().any(|prop| {
                prop.name == "mountpoint" && matches!(prop.source, Source::Default | Source::Inherited(_))
            }),
            is_partly_received: info.value("inconsistent") == Some("1"),
            sharenfs: info.value("sharenfs").unwrap_or("off").to_owned(),
        }
    }

    /// Mounted and unmounted only when asked for by name: `unmount -a` leaves it.
    pub fn is_mounted_by_hand(&self) -> bool {
        self.canmount == "noauto" || self.mountpoint == "legacy"
    }

    pub fn has_place(&self) -> bool {
        self.mountpoint.starts_with('/')
    }

    /// Its mount point where that follows from its name: the directory was made for it, and goes
    /// with it (`remove_mountpoint` in lib/libzfs/libzfs_mount.c). `None` where somebody else than
    /// an administrator asks: he may have had a mount point set to any directory, and the daemon is
    /// root.
    pub fn own_directory(&self) -> Option<&str> {
        let is_own = self.is_by_name && self.canmount != "off" && self.has_place();
        (is_own && behalf::actor().is_administrator()).then_some(&self.mountpoint)
    }

    /// # Errors
    /// [`Failure::NotMountable`], as its properties stand.
    pub fn check(&self, verb: Verb) -> Result<()> {
        let why = match (self.mountpoint.as_str(), self.canmount.as_str()) {
            ("legacy", _) => NotMountable::LegacyMountpoint,
            ("none", _) => NotMountable::NoMountpoint,
            (_, "off") => NotMountable::CanmountOff,
            _ => return Ok(()),
        };
        Err(Failure::NotMountable { dataset: self.dataset.clone(), verb, why })
    }
}

impl Appliance {
    /// The file systems at and below a dataset, at most `depth` levels of them, that can be
    /// mounted: what was not received whole cannot.
    pub(crate) fn candidates(&self, root: &str, depth: Option<u32>) -> Result<Vec<Candidate>> {
        let mut found = self.look_up(root, depth)?;
        found.retain(|one| !one.is_partly_received);
        Ok(found)
    }

    /// The file system of that name.
    ///
    /// # Errors
    /// [`Failure::NoSuchDataset`], also where it is none.
    pub(crate) fn file_system(&self, name: &str) -> Result<Candidate> {
        let found = self.look_up(name, Some(0))?.into_iter().find(|one| one.dataset == name);
        found.ok_or_else(|| Failure::NoSuchDataset { dataset: name.to_owned() })
    }

    fn look_up(&self, root: &str, depth: Option<u32>) -> Result<Vec<Candidate>> {
        let filter = DatasetFilter {
            roots: vec![root.to_owned()],
            depth,
            alone: false,
            kinds: vec![DatasetKind::Filesystem],
            props: PROPERTIES.map(str::to_owned).to_vec(),
        };
        Ok(self.pool_of(root)?.datasets(&filter)?.iter().map(Candidate::of).collect())
    }
}
