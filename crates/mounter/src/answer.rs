//! What comes of a request that was carried out.

use std::fs::File;
use std::path::PathBuf;

use crate::device_id::DeviceId;

#[derive(Debug)]
pub enum Answer {
    Done,
    Is(bool),
    Path(PathBuf),
    Mounted(Mounted),
}

/// A FUSE mount that waits for the answer to INIT.
#[derive(Debug)]
pub struct Mounted {
    /// Of /dev/fuse. When its last copy is closed, the kernel ends the connection.
    pub device: File,
    /// Where it is, without symbolic links.
    pub at: PathBuf,
    /// `None` where the kernel did not tell.
    pub id: Option<DeviceId>,
}
