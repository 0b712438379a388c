//! Faults that an operator asks for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which I/O of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultIo {
    Read,
    Write,
    Flush,
    Trim,
    #[default]
    All,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FaultEffect {
    /// EIO.
    Io,
    /// ENXIO.
    #[default]
    Missing,
    /// Wrong bytes.
    Corrupt,
    /// Answered as done, and not done.
    Ignore,
    /// Nanoseconds that it takes longer.
    Delay(u64),
}

/// A device that misbehaves.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DeviceFault {
    pub pool: String,
    /// Of the leaf.
    pub guid: u64,
    pub io: FaultIo,
    pub effect: FaultEffect,
    /// Of a million I/Os so many are hit.
    pub rate: u32,
}

/// What blocks belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockKind {
    /// An object, by number.
    #[default]
    Object,
    /// The block of the meta dnode that an object's dnode is in.
    Dnode,
    /// All of the meta object set, or its objects of a type.
    Mos,
    MosDir,
    Metaslab,
    Config,
    Bpobj,
    SpaceMap,
    ErrorLog,
}

/// Of blocks at one level: the first and the last, by number or by the bytes they hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockRange {
    #[default]
    All,
    Blocks(u64, u64),
    Bytes(u64, u64),
}

/// How blocks cannot be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BlockError {
    /// EIO.
    #[default]
    Io,
    /// Wrong bytes.
    Checksum,
}

/// Blocks that cannot be read: those that are on disk when this is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BlockFault {
    pub pool: String,
    pub kind: BlockKind,
    /// The dataset by name, or else by number; 0 is the meta object set.
    pub dataset: Option<String>,
    pub objset: u64,
    pub object: u64,
    pub level: u8,
    pub range: BlockRange,
    /// Which copies of each block, a bit each; 0: all.
    pub copies: u8,
    pub error: BlockError,
    /// Of a million reads so many are hit.
    pub rate: u32,
}

/// `POST /v1/faults`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    Device(DeviceFault),
    Blocks(BlockFault),
}

impl Default for Fault {
    fn default() -> Fault {
        Fault::Device(DeviceFault::default())
    }
}

/// `GET /v1/faults`: one in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ActiveFault {
    pub id: u64,
    /// Of blocks with the number of the dataset, and the numbers of blocks.
    pub fault: Fault,
    /// I/Os that it looked at, and those that it hit.
    pub matched: u64,
    pub injected: u64,
}

/// `POST /v1/faults/cancel`: that the fault is in force no more. Answers as `GET /v1/faults`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FaultCancel {
    pub id: u64,
}

/// `POST /v1/pools/{name}/condemn`: a device is thought of as if it had erred too often. Answers
/// with nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Condemn {
    /// Of the leaf.
    pub guid: u64,
    /// Faulted; else degraded.
    pub fault: bool,
}
