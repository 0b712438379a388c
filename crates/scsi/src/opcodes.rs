//! The commands that there are: one table for what is refused, what reservations let through, and
//! what REPORT SUPPORTED OPERATION CODES says.
//!
//! Sources: SPC-4 6.35, table of operation codes; SBC-3 table 16; what persistent reservations let
//! through: SPC-4 table 66, SBC-3 table 17.

use crate::codes::*;

/// What reservations of others make of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Goes through always.
    Free,
    Read,
    Write,
    /// Decides itself.
    Own,
}

/// One command.
pub struct Opcode {
    pub code: u8,
    /// Of those that share an operation code.
    pub action: Option<u16>,
    pub access: Access,
    /// CDB usage map: which bits are looked at.
    pub usage: &'static [u8],
}

const fn op(code: u8, access: Access, usage: &'static [u8]) -> Opcode {
    Opcode { code, action: None, access, usage }
}

const fn sub(code: u8, action: u8, access: Access, usage: &'static [u8]) -> Opcode {
    Opcode { code, action: Some(action as u16), access, usage }
}

use Access::{Free, Own, Read, Write};

const CDB6: &[u8] = &[0x00, 0x00, 0x00, 0x00, 0x00, 0x04];

/// Of 16 bytes, with an address and a length.
const fn long(code: u8, flags: u8) -> [u8; 16] {
    let mut usage = [0xff; 16];
    (usage[0], usage[1]) = (code, flags);
    (usage[14], usage[15]) = (0x00, 0x04);
    usage
}

/// Of 16 bytes, with an address and a length of one byte.
const fn compare(code: u8, flags: u8) -> [u8; 16] {
    let mut usage = long(code, flags);
    (usage[10], usage[11], usage[12]) = (0x00, 0x00, 0x00);
    usage
}

const fn medium(code: u8, flags: u8) -> [u8; 12] {
    [code, flags, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04]
}

const fn short(code: u8, flags: u8) -> [u8; 10] {
    [code, flags, 0xff, 0xff, 0xff, 0xff, 0x00, 0xff, 0xff, 0x04]
}

const fn maintenance(code: u8, action: u8, options: u8) -> [u8; 12] {
    [code, action, options, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04]
}

const fn persistent(code: u8, action: u8, scope: u8) -> [u8; 10] {
    let list = if code == PERSISTENT_RESERVE_OUT { 0xff } else { 0x00 };
    [code, action, scope, 0x00, 0x00, list, list, 0xff, 0xff, 0x04]
}

/// EXTENDED COPY and RECEIVE COPY RESULTS.
const fn copy(code: u8, action: u8, list: u8) -> [u8; 16] {
    let mut usage = [0; 16];
    (usage[0], usage[1], usage[2]) = (code, action, list);
    (usage[10], usage[11], usage[12], usage[13]) = (0xff, 0xff, 0xff, 0xff);
    usage[15] = 0x04;
    usage
}

/// A command that shares its operation code: its usage map begins with that and the service action.
macro_rules! shared {
    ($code:ident, $action:path, $access:ident, $map:ident $(, $third:literal)?) => {
        sub($code, $action, $access, &$map($code, $action $(, $third)?))
    };
}

/// In order of their codes.
pub const OPCODES: &[Opcode] = &[
    op(TEST_UNIT_READY, Free, CDB6),
    op(REQUEST_SENSE, Free, &[REQUEST_SENSE, 0x01, 0x00, 0x00, 0xff, 0x04]),
    op(READ_6, Read, &[READ_6, 0x1f, 0xff, 0xff, 0xff, 0x04]),
    op(WRITE_6, Write, &[WRITE_6, 0x1f, 0xff, 0xff, 0xff, 0x04]),
    op(INQUIRY, Free, &[INQUIRY, 0x01, 0xff, 0xff, 0xff, 0x04]),
    op(MODE_SELECT_6, Write, &[MODE_SELECT_6, 0x11, 0x00, 0x00, 0xff, 0x04]),
    op(RESERVE_6, Own, &[RESERVE_6, 0x00, 0x00, 0x00, 0x00, 0x04]),
    op(RELEASE_6, Own, &[RELEASE_6, 0x00, 0x00, 0x00, 0x00, 0x04]),
    op(MODE_SENSE_6, Read, &[MODE_SENSE_6, 0x08, 0xff, 0xff, 0xff, 0x04]),
    op(START_STOP_UNIT, Write, &[START_STOP_UNIT, 0x01, 0x00, 0x0f, 0xf7, 0x04]),
    op(SEND_DIAGNOSTIC, Write, &[SEND_DIAGNOSTIC, 0xe4, 0x00, 0xff, 0xff, 0x04]),
    op(READ_CAPACITY_10, Free, &[READ_CAPACITY_10, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0x01, 0x04]),
    op(READ_10, Read, &short(READ_10, 0xf8)),
    op(WRITE_10, Write, &short(WRITE_10, 0xf8)),
    op(WRITE_AND_VERIFY_10, Write, &short(WRITE_AND_VERIFY_10, 0xf6)),
    op(VERIFY_10, Read, &short(VERIFY_10, 0xf6)),
    op(PREFETCH_10, Read, &short(PREFETCH_10, 0x02)),
    op(SYNCHRONIZE_CACHE_10, Write, &short(SYNCHRONIZE_CACHE_10, 0x02)),
    op(
        READ_DEFECT_DATA_10,
        Read,
        &[READ_DEFECT_DATA_10, 0x00, 0x1f, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x04],
    ),
    op(WRITE_SAME_10, Write, &short(WRITE_SAME_10, 0xf8)),
    op(UNMAP, Write, &[UNMAP, 0x01, 0x00, 0x00, 0x00, 0x00, 0x1f, 0xff, 0xff, 0x04]),
    op(LOG_SENSE, Read, &[LOG_SENSE, 0x01, 0xff, 0xff, 0x00, 0xff, 0xff, 0xff, 0xff, 0x04]),
    op(MODE_SELECT_10, Write, &[MODE_SELECT_10, 0x11, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, 0x04]),
    op(MODE_SENSE_10, Read, &[MODE_SENSE_10, 0x18, 0xff, 0xff, 0x00, 0x00, 0x00, 0xff, 0xff, 0x04]),
    shared!(PERSISTENT_RESERVE_IN, reserve_in::READ_KEYS, Free, persistent, 0x00),
    shared!(PERSISTENT_RESERVE_IN, reserve_in::READ_RESERVATION, Free, persistent, 0x00),
    shared!(PERSISTENT_RESERVE_IN, reserve_in::REPORT_CAPABILITIES, Free, persistent, 0x00),
    shared!(PERSISTENT_RESERVE_IN, reserve_in::READ_FULL_STATUS, Free, persistent, 0x00),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::REGISTER, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::RESERVE, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::RELEASE, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::CLEAR, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::PREEMPT, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::PREEMPT_AND_ABORT, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::REGISTER_AND_IGNORE_EXISTING_KEY, Own, persistent, 0xff),
    shared!(PERSISTENT_RESERVE_OUT, reserve_out::REGISTER_AND_MOVE, Own, persistent, 0x00),
    shared!(EXTENDED_COPY, copy::EXTENDED_COPY, Write, copy, 0x00),
    shared!(RECEIVE_COPY_RESULTS, copy::COPY_STATUS, Write, copy, 0xff),
    shared!(RECEIVE_COPY_RESULTS, copy::OPERATING_PARAMETERS, Write, copy, 0x00),
    op(READ_16, Read, &long(READ_16, 0xf8)),
    op(COMPARE_AND_WRITE, Write, &compare(COMPARE_AND_WRITE, 0xf8)),
    op(WRITE_16, Write, &long(WRITE_16, 0xf8)),
    op(OR_WRITE_16, Write, &long(OR_WRITE_16, 0xf8)),
    op(WRITE_AND_VERIFY_16, Write, &long(WRITE_AND_VERIFY_16, 0xf6)),
    op(VERIFY_16, Read, &long(VERIFY_16, 0xf6)),
    op(PREFETCH_16, Read, &long(PREFETCH_16, 0x02)),
    op(SYNCHRONIZE_CACHE_16, Write, &long(SYNCHRONIZE_CACHE_16, 0x02)),
    op(WRITE_SAME_16, Write, &long(WRITE_SAME_16, 0xf9)),
    op(WRITE_ATOMIC_16, Write, &long(WRITE_ATOMIC_16, 0xf8)),
    shared!(SERVICE_ACTION_IN_16, service_in::READ_CAPACITY_16, Free, long),
    shared!(SERVICE_ACTION_IN_16, service_in::GET_LBA_STATUS, Read, long),
    op(REPORT_LUNS, Free, &[REPORT_LUNS, 0x00, 0xff, 0x00, 0x00, 0x00, 0xff, 0xff, 0xff, 0xff, 0x00, 0x04]),
    sub(
        MAINTENANCE_IN,
        maintenance_in::REPORT_TARGET_PORT_GROUPS,
        Free,
        &maintenance(MAINTENANCE_IN, 0xe0 | maintenance_in::REPORT_TARGET_PORT_GROUPS, 0x00),
    ),
    shared!(MAINTENANCE_IN, maintenance_in::REPORT_SUPPORTED_OPERATION_CODES, Free, maintenance, 0x87),
    shared!(
        MAINTENANCE_IN,
        maintenance_in::REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS,
        Free,
        maintenance,
        0x80
    ),
    op(READ_12, Read, &medium(READ_12, 0xf8)),
    op(WRITE_12, Write, &medium(WRITE_12, 0xf8)),
    op(WRITE_AND_VERIFY_12, Write, &medium(WRITE_AND_VERIFY_12, 0xf6)),
    op(VERIFY_12, Read, &medium(VERIFY_12, 0xf6)),
    op(READ_DEFECT_DATA_12, Read, &medium(READ_DEFECT_DATA_12, 0x1f)),
];

/// Whether any command has this operation code.
pub fn is_known(code: u8) -> bool {
    OPCODES.iter().any(|op| op.code == code)
}

/// The command that begins with these bytes.
pub fn find(code: u8, action: u16) -> Option<&'static Opcode> {
    OPCODES.iter().find(|op| op.code == code && op.action.is_none_or(|own| own == action))
}
