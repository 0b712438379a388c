//! What the bytes of a SCSI command say that matters before a unit has it: how much its answer may
//! come to, and of what kind it is.
//!
//! Source: SBC-3.

use scsi::codes;

use crate::limits::{LONG, MOST_READ, SHORT_ANSWER};
use crate::pdu::initiator::Command;

/// Of a command's second byte.
const FORCE_UNIT_ACCESS: u8 = 0x08;

/// Kinds of commands that a reader may do by itself.
pub const CLASSES: usize = 6;

/// Which of them a command is: it reads, writes or compares, much or little. `None`: it always
/// waits, or is rare.
pub fn class_of(command: &Command) -> Option<usize> {
    let kind = match command.cdb[0] {
        // What is to be read from stable storage has to get there first.
        codes::READ_10 | codes::READ_12 | codes::READ_16 if command.cdb[1] & FORCE_UNIT_ACCESS == 0 => 0,
        codes::WRITE_10 | codes::WRITE_12 | codes::WRITE_16 => 1,
        codes::COMPARE_AND_WRITE => 2,
        _ => return None,
    };
    Some(2 * kind + usize::from(command.expected_len as usize > LONG))
}

/// Bytes that a command's answer may come to, as it says itself, and as its initiator expects: the
/// unit reads as the command says, whatever part of that is sent.
pub fn weight(command: &Command) -> usize {
    const BLOCK: usize = 512;
    let cdb = &command.cdb;
    // Where each has the number of its blocks.
    let blocks = match cdb[0] {
        codes::READ_10 => usize::from(u16::from_be_bytes([cdb[7], cdb[8]])),
        codes::READ_12 => u32::from_be_bytes([cdb[6], cdb[7], cdb[8], cdb[9]]) as usize,
        codes::READ_16 => u32::from_be_bytes([cdb[10], cdb[11], cdb[12], cdb[13]]) as usize,
        codes::READ_6 => usize::from(cdb[4].wrapping_sub(1)) + 1,
        _ => 0,
    };
    let read = blocks.saturating_mul(BLOCK);
    SHORT_ANSWER + command.read_len().min(MOST_READ).max(if read > MOST_READ { 0 } else { read })
}
