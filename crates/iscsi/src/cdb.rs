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

/// What a command is called, by its first byte, for who looks at commands.
pub fn name_of(code: u8) -> &'static str {
    match code {
        codes::TEST_UNIT_READY => "TEST UNIT READY",
        codes::REQUEST_SENSE => "REQUEST SENSE",
        codes::READ_6 | codes::READ_10 | codes::READ_12 | codes::READ_16 => "READ",
        codes::WRITE_6 | codes::WRITE_10 | codes::WRITE_12 | codes::WRITE_16 => "WRITE",
        codes::WRITE_AND_VERIFY_10 | codes::WRITE_AND_VERIFY_12 | codes::WRITE_AND_VERIFY_16 => {
            "WRITE AND VERIFY"
        }
        codes::WRITE_ATOMIC_16 => "WRITE ATOMIC",
        codes::WRITE_SAME_10 | codes::WRITE_SAME_16 => "WRITE SAME",
        codes::OR_WRITE_16 => "ORWRITE",
        codes::COMPARE_AND_WRITE => "COMPARE AND WRITE",
        codes::VERIFY_10 | codes::VERIFY_12 | codes::VERIFY_16 => "VERIFY",
        codes::UNMAP => "UNMAP",
        codes::SYNCHRONIZE_CACHE_10 | codes::SYNCHRONIZE_CACHE_16 => "SYNCHRONIZE CACHE",
        codes::PREFETCH_10 | codes::PREFETCH_16 => "PRE-FETCH",
        codes::EXTENDED_COPY => "EXTENDED COPY",
        codes::RECEIVE_COPY_RESULTS => "RECEIVE COPY RESULTS",
        codes::INQUIRY => "INQUIRY",
        codes::MODE_SENSE_6 | codes::MODE_SENSE_10 => "MODE SENSE",
        codes::MODE_SELECT_6 | codes::MODE_SELECT_10 => "MODE SELECT",
        codes::LOG_SENSE => "LOG SENSE",
        codes::READ_CAPACITY_10 => "READ CAPACITY",
        codes::SERVICE_ACTION_IN_16 => "SERVICE ACTION IN",
        codes::REPORT_LUNS => "REPORT LUNS",
        codes::MAINTENANCE_IN => "MAINTENANCE IN",
        codes::PERSISTENT_RESERVE_IN => "PERSISTENT RESERVE IN",
        codes::PERSISTENT_RESERVE_OUT => "PERSISTENT RESERVE OUT",
        codes::RESERVE_6 => "RESERVE",
        codes::RELEASE_6 => "RELEASE",
        codes::START_STOP_UNIT => "START STOP UNIT",
        codes::SEND_DIAGNOSTIC => "SEND DIAGNOSTIC",
        codes::READ_DEFECT_DATA_10 | codes::READ_DEFECT_DATA_12 => "READ DEFECT DATA",
        _ => "OTHER",
    }
}
