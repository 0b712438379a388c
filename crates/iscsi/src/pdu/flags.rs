//! Bits of a header's second byte.
//!
//! Source: RFC 7143 11.3 to 11.14.

/// It is the last of its kind.
pub const FINAL: u8 = 0x80;
/// Of text: more of it follows.
pub const CONTINUE: u8 = 0x40;
/// Of commands.
pub const READS: u8 = 0x40;
pub const WRITES: u8 = 0x20;
/// Which bits say how a command is to be ordered.
pub const ATTRIBUTE: u8 = 0x07;
pub const ORDERED: u8 = 0x02;
pub const HEAD_OF_QUEUE: u8 = 0x03;
/// Of how a command ended.
pub const OVERFLOW: u8 = 0x04;
pub const UNDERFLOW: u8 = 0x02;
/// Of data: it says how its command ended.
pub const STATUS: u8 = 0x01;
/// Of a login: the next stage is to begin.
pub const TRANSIT: u8 = 0x80;
/// Of a login: how far the number of the current stage is shifted. That of the next is not shifted.
pub const STAGE_SHIFT: u32 = 2;
/// Bits of the number of one stage, after the shift.
pub const STAGE: u8 = 0x03;
/// What is not [`FINAL`], where that is a number: a task management function, why a connection is
/// to end.
pub const FUNCTION: u8 = 0x7f;
