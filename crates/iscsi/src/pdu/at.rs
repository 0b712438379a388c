//! Where fields begin, in the headers that have them. Numbers have four bytes where nothing else is
//! said.
//!
//! Source: RFC 7143 11.2 to 11.19.

/// Of what ends a task or a connection, and why something is rejected: one byte.
pub const RESPONSE: usize = 2;
/// The oldest version that an initiator can do with: one byte.
pub const VERSION_MIN: usize = 3;
/// Of a SCSI command that is done: one byte.
pub const STATUS: usize = 3;
/// One byte.
pub const EXTRA_HEADERS: usize = 4;
/// Three bytes.
pub const DATA_LEN: usize = 5;
/// Eight bytes.
pub const LUN: usize = 8;
/// The initiator's part of a session's name: six bytes.
pub const ISID: usize = 8;
/// The target's part, the handle: two bytes.
pub const TSIH: usize = 14;
pub const TASK_TAG: usize = 16;
/// What an initiator expects a command to move, bytes.
pub const EXPECTED_LEN: usize = 20;
pub const TRANSFER_TAG: usize = 20;
/// Of the task that is to end.
pub const REFERENCED_TAG: usize = 20;
/// The connection's number, two bytes.
pub const CONNECTION: usize = 20;
/// Of initiators.
pub const COMMAND_NUMBER: usize = 24;
/// Of targets, with the commands that they expect and take.
pub const STATUS_NUMBER: usize = 24;
pub const EXPECTED_COMMAND: usize = 28;
pub const MAX_COMMAND: usize = 32;
/// A SCSI command, sixteen bytes.
pub const CDB: usize = 32;
/// Of data, and of what asks for it.
pub const DATA_NUMBER: usize = 36;
pub const BUFFER_OFFSET: usize = 40;
pub const WANTED_LEN: usize = 44;
pub const RESIDUAL: usize = 44;
/// Of a login: class and detail, two bytes.
pub const LOGIN_STATUS: usize = 36;
/// Of what a target tells by itself: the event in one byte, and three numbers of two bytes that
/// belong to it.
pub const EVENT: usize = 36;
pub const EVENT_PARAMETERS: [usize; 3] = [38, 40, 42];
