//! What the appliance needs of the machine that it runs on: local mounts and shares. The binary
//! implements it with the crates that mount and serve.

use api_types::{DatasetProperty, PropertyDef};
use engine_api::Result;

fn rows() -> impl Iterator<Item = &'static PropertyDef> {
    DatasetProperty::ALL.iter().map(|prop| prop.row())
}

/// Names of the properties that say how a file system is mounted.
pub fn mount_props() -> impl Iterator<Item = &'static str> {
    rows().filter(|row| row.mount.is_some()).map(|row| row.name)
}

/// The property that an option of a mount stands for, and whether it is on then.
pub fn mount_word(word: &str) -> Option<(&'static str, bool)> {
    rows().find_map(|row| {
        let words = row.mount?;
        match (words.on.contains(&word), words.off.contains(&word)) {
            (true, _) => Some((row.name, true)),
            (_, true) => Some((row.name, false)),
            _ => None,
        }
    })
}

/// One local mount to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSpec {
    pub dataset: String,
    /// Absolute; made where it is missing.
    pub mountpoint: String,
    /// In zfs(8)'s words: `ro`, `noatime`, …; they go before the properties while it lasts.
    pub options: Vec<String>,
    /// Mount over a directory that is not empty.
    pub overlay: bool,
}

/// One that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMount {
    pub dataset: String,
    /// As the kernel has it, without symbolic links.
    pub mountpoint: String,
    pub options: String,
}

impl LocalMount {
    /// The options that it was asked for.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        self.options.split(',').filter(|option| !option.is_empty())
    }

    /// How to mount it again where it was, whatever lies there now.
    pub fn again(&self) -> MountSpec {
        MountSpec {
            dataset: self.dataset.clone(),
            mountpoint: self.mountpoint.clone(),
            options: self.words().map(str::to_owned).collect(),
            overlay: true,
        }
    }
}

/// A file system that NFS clients see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalShare {
    pub dataset: String,
    pub path: String,
    pub options: String,
}

/// Mounting and sharing, by name of file system. Every call blocks until it is done, but for a
/// mount that does not come to an end, which is refused.
pub trait LocalMounts: Send + Sync {
    /// Whether something can be mounted there without hiding anything: nothing is there, or an
    /// empty directory. Else `NotEmpty`, or `Refused` with the system's reason.
    fn is_free(&self, at: &str) -> Result<()>;
    /// `Busy` where it is mounted already, `NotEmpty` where the directory has entries and `overlay`
    /// isn't set.
    fn mount(&self, spec: &MountSpec) -> Result<()>;
    /// What is mounted gets these options instead of those it had, and what its properties say now.
    /// `NotFound` where it isn't mounted.
    fn remount(&self, dataset: &str, options: &[String]) -> Result<()>;
    /// A dataset and all below have other names; their mounts stay.
    fn renamed(&self, from: &str, to: &str);
    /// `NotFound` where it isn't mounted; `Busy` where it is in use and `force` isn't set.
    fn unmount(&self, dataset: &str, force: bool) -> Result<()>;
    /// Waits until nobody is mounting or unmounting such a dataset. `Busy` where that takes too
    /// long.
    fn settled(&self, of: &dyn Fn(&str) -> bool) -> Result<()>;
    /// Nothing is mounted there any more: these directories go, one after the other, but for those
    /// with entries, or that others need.
    fn leave(&self, all: Vec<String>);
    /// What the file system holds was replaced: waits until its mount shows that, where it is
    /// mounted. False where that takes too long.
    fn refresh(&self, dataset: &str) -> bool;
    fn mounted(&self) -> Vec<LocalMount>;
    /// The dataset that is mounted at a path, which may lead there by symbolic links. `Refused`
    /// where the path does not answer.
    fn mounted_at(&self, path: &str) -> Result<Option<String>>;
    /// Offer again what `unshare` withdrew. What the `sharenfs` property asks for is offered
    /// without being told.
    fn share(&self, dataset: &str) -> Result<()>;
    /// Withdraw until `share`, until a property says anew how it is shared, or until the next
    /// start.
    fn unshare(&self, dataset: &str) -> Result<()>;
    /// What is withdrawn, by name; some may not be there any more.
    fn withdrawn(&self) -> Vec<String>;
    fn shared(&self) -> Vec<LocalShare>;
}
