//! What the API needs of the machine that it runs on: local mounts, shares and who uses them. The binary implements it with
//! the crates that mount and serve.

use api_types::IscsiSession;
use engine_api::Result;

/// One local mount to make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MountSpec {
    pub dataset: String,
    /// Absolute; made where it is missing.
    pub mountpoint: String,
    /// In zfs(8)'s words: `ro`, `noatime`, …
    pub options: Vec<String>,
    /// Mount over a directory that is not empty.
    pub overlay: bool,
}

/// One that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalMount {
    pub dataset: String,
    pub mountpoint: String,
    pub options: String,
}

/// A file system that NFS clients see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalShare {
    pub dataset: String,
    pub path: String,
    pub options: String,
}

/// Mounting and sharing, by name of file system. Every call blocks until it is done.
pub trait LocalMounts: Send + Sync {
    /// Whether something can be mounted there without hiding anything: nothing is there, or an empty directory. Else
    /// `NotEmpty`, or `Refused` with the system's reason.
    fn is_free(&self, at: &str) -> Result<()>;
    /// `Busy` where it is mounted already, `NotEmpty` where the directory has entries and `overlay` isn't set.
    fn mount(&self, spec: &MountSpec) -> Result<()>;
    /// `NotFound` where it isn't mounted; `Busy` where it is in use and `force` isn't set.
    fn unmount(&self, dataset: &str, force: bool) -> Result<()>;
    fn mounted(&self) -> Vec<LocalMount>;
    /// Offer again what `unshare` withdrew. What the `sharenfs` property asks for is offered without being told.
    fn share(&self, dataset: &str) -> Result<()>;
    /// Withdraw until `share`, until a property says anew how it is shared, or until the next start.
    fn unshare(&self, dataset: &str) -> Result<()>;
    /// What is withdrawn, by name; some may not be there any more.
    fn withdrawn(&self) -> Vec<String>;
    fn shared(&self) -> Vec<LocalShare>;
    /// What the daemon logs, which is `wanted` from now on where that is given. `Invalid` says what makes no sense.
    fn log_filter(&self, wanted: Option<&str>) -> Result<String>;
    /// Sessions of iSCSI initiators; none where no iSCSI is served.
    fn iscsi_sessions(&self) -> Vec<IscsiSession> {
        Vec::new()
    }
}
