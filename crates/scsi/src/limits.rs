//! Every limit in one place.

/// Bytes of a logical block: what every initiator can work with.
pub const BLOCK: u64 = 512;
/// Blocks that a command moves at the most: 8 MiB.
pub const MAX_TRANSFER: u64 = 16 << 10;
/// Blocks that COMPARE AND WRITE takes at the most: as many as volumes change whole or not at all,
/// whatever happens to the power.
pub const MAX_COMPARE: u64 = 8;
/// Blocks that WRITE ATOMIC takes at the most, from wherever: 1 MiB.
pub const MAX_ATOMIC: u64 = 2 << 10;
/// Blocks that one WRITE SAME writes at the most: 16 MiB.
pub const MAX_SAME: u64 = 32 << 10;
/// Block descriptors of one UNMAP.
pub const MAX_UNMAP_RANGES: usize = 256;
/// Blocks that one UNMAP frees at the most, all descriptors together: 2 TiB less one.
pub const MAX_UNMAP: u64 = u32::MAX as u64;
/// Units and segments that one EXTENDED COPY names at the most.
pub const MAX_COPY_UNITS: usize = 8;
pub const MAX_COPY_SEGMENTS: usize = 16;
/// Blocks that a segment of it has at the most: as many as its field can say.
pub const MAX_COPY_BLOCKS: u64 = u16::MAX as u64;
/// Copies of a unit that are under way, or of which the results wait for somebody who asks.
pub const MAX_COPIES: usize = 64;
/// Descriptors that GET LBA STATUS gives at the most.
pub const MAX_STATUS: usize = 256;
/// Ports of initiators that can be registered with a logical unit.
pub const MAX_REGISTRATIONS: usize = 1024;
/// Bytes of a volume's property that says what is reserved: what does not fit cannot outlive the
/// loss of power.
pub const MAX_KEPT: usize = 8000;
/// Unit attentions that wait for one port.
pub const MAX_ATTENTIONS: usize = 16;
