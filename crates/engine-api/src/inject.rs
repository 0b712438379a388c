//! Faults that an operator asks for, as zinject(8) does: to see what a pool makes of them.

/// Which I/O of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultIo {
    Read,
    Write,
    Flush,
    Trim,
    All,
}

/// What becomes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultEffect {
    /// EIO.
    Io,
    /// ENXIO: as if the device were not there; nor can it be opened anew where `FaultIo::All` is
    /// asked for.
    Missing,
    /// Wrong bytes.
    Corrupt,
    /// Answered as done, and not done: a cache that does not keep what it says.
    Ignore,
    /// Nanoseconds that it takes longer.
    Delay(u64),
}

/// A fault of one device of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// An object, by number.
    Object,
    /// The dnode of an object: the block of the meta dnode that it is in.
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

/// Of blocks at one level, the numbers of the first and the last; or the first and the last byte of
/// what they hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockRange {
    All,
    Blocks(u64, u64),
    Bytes(u64, u64),
}

/// How blocks cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockError {
    /// EIO.
    Io,
    /// Wrong bytes.
    Checksum,
}

/// Blocks of a pool that cannot be read. They are looked up once, when this is asked for: it is
/// their places on disk that fail, and what is written anew lies elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
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

/// A fault to be had on demand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    Device(DeviceFault),
    Blocks(BlockFault),
}

/// A fault in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveFault {
    pub id: u64,
    /// Of blocks with the number of the dataset, and the numbers of blocks.
    pub fault: Fault,
    /// I/Os that it looked at, and those that it hit.
    pub matched: u64,
    pub injected: u64,
}

/// What is to be thought of a device, whatever it does (`zinject -A`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condemn {
    Degrade,
    Fault,
}
