//! The number of a mounted file system.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// Which file system a mount shows, as `st_dev` does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceId {
    pub major: u32,
    pub minor: u32,
}

impl Display for DeviceId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.major, self.minor)
    }
}

impl FromStr for DeviceId {
    type Err = ();

    fn from_str(text: &str) -> Result<DeviceId, ()> {
        let number = |text: &str| text.parse().map_err(drop);
        let (major, minor) = text.split_once(':').ok_or(())?;
        Ok(DeviceId { major: number(major)?, minor: number(minor)? })
    }
}
