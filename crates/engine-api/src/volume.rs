//! A volume as a disk: bytes that are written and read by place, and nothing else.
//!
//! Each call happens whole or not at all for whoever calls at the same time: a reader sees none of
//! a write, or all of it. What is not stable may be lost with the machine, until `flush`. Places
//! past the end are [`crate::Error::Invalid`].

use crate::{Promise, ReadBuf, Result, Seek, Stable};

/// Which volume, on whatever machine it is imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct VolumeId {
    pub pool_guid: u64,
    pub dataset_guid: u64,
}

/// Of a volume as it is now, in bytes. The size may change while it is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeGeometry {
    pub size: u64,
    /// What is allocated and freed at a time; a power of two.
    pub block: u32,
    pub readonly: bool,
}

/// What a volume takes of its pool, and may still have of it, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VolumeRoom {
    pub used: u64,
    /// Shared with others, unless it is reserved.
    pub available: u64,
}

/// A volume. Offsets and lengths in bytes.
pub trait Volume: Send + Sync {
    fn id(&self) -> VolumeId;
    fn geometry(&self) -> Result<VolumeGeometry>;
    fn room(&self) -> Result<VolumeRoom>;
    /// As [`crate::FileSystem::is_waiting`].
    fn is_waiting(&self) -> bool {
        false
    }
    /// All of it; holes come as zeroes.
    fn read(&self, offset: u64, len: usize) -> Result<ReadBuf>;
    fn write(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()>;
    /// As `write`, but all of it is there after a crash, or nothing, however long it is.
    fn write_whole(&self, offset: u64, data: &[u8], stable: Stable) -> Result<()>;
    /// As `write` that is to be stable, but the waiting is left to the caller.
    fn write_promised(&self, offset: u64, data: &[u8]) -> Result<Promise>;
    /// Reads, changes and writes with nobody in between. `change` gets the bytes, and says whether
    /// they are to be written. What is changed in up to 32 KiB is there whole or not at all, also
    /// after a crash.
    fn modify(
        &self,
        offset: u64,
        len: usize,
        stable: Stable,
        change: &mut dyn FnMut(&mut [u8]) -> bool,
    ) -> Result<()>;
    /// All of the range reads as zeroes afterwards, and its whole blocks are free.
    fn write_zeroes(&self, offset: u64, len: u64, stable: Stable) -> Result<()>;
    /// Copies `len` bytes at `from` of that volume, which may be this one, to `to` in this one;
    /// holes come as holes. It does so in pieces: each is whole for others, the range is not, and
    /// what is stable of it nobody knows before a `flush`.
    fn copy_from(&self, source: &dyn Volume, from: u64, to: u64, len: u64) -> Result<()>;
    /// The next data or hole at or after `offset`, exact to whole blocks; the end where there is
    /// none.
    fn seek(&self, offset: u64, what: Seek) -> Result<u64>;
    /// Makes everything written so far stable.
    fn flush(&self) -> Result<()>;
    /// What is noted with the volume under a name, that of a user property; empty where nothing is.
    fn note(&self, name: &str) -> Result<String>;
    /// Notes a text with the volume, which goes where the volume goes; none where it is empty.
    /// Durable when this returns.
    fn set_note(&self, name: &str, text: &str) -> Result<()>;
}
