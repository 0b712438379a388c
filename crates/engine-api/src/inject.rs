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
    /// ENXIO: as if the device were not there; nor can it be opened anew where `FaultIo::All` is asked for.
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

/// A fault in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActiveFault {
    pub id: u64,
    pub fault: DeviceFault,
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
