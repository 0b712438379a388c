//! A volume as a disk.

use crate::{ReadBuf, Result, Stable};

/// Size and block sizes of a volume, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeGeometry {
    pub size: u64,
    pub logical_block: u32,
    pub volblocksize: u32,
}

/// A volume. Offsets and lengths in bytes; past the end is `Error::Invalid`.
pub trait BlockDevice: Send + Sync {
    fn geometry(&self) -> VolumeGeometry;
    fn read(&self, offset: u64, len: usize) -> Result<ReadBuf>;
    fn write(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()>;
    fn unmap(&self, offset: u64, len: u64) -> Result<()>;
    fn flush(&self) -> Result<()>;
}
