//! What initiators send: the headers of their PDUs, read.
//!
//! Any header can be read as any kind: a number that the standard has no name for is reserved, and
//! bits that it reserves are passed over. Only those fields are here that the target looks at. The
//! target refuses a SNACK without reading its fields.
//!
//! Source: RFC 7143 11.3, 11.5, 11.7, 11.10, 11.12, 11.14, 11.16, 11.18.

use super::{Header, IMMEDIATE, OPCODE, at, flags, part, u32_at};

/// RFC 7143 11.2.1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opcode {
    NopOut,
    Command,
    Task,
    Login,
    Text,
    DataOut,
    Logout,
    /// It asks for what a connection has lost, which error recovery level 0 has no use for.
    Snack,
}

impl Opcode {
    /// `None`: no initiator sends that.
    pub fn of(header: &Header) -> Option<Opcode> {
        Some(match header[0] & OPCODE {
            0x00 => Opcode::NopOut,
            0x01 => Opcode::Command,
            0x02 => Opcode::Task,
            0x03 => Opcode::Login,
            0x04 => Opcode::Text,
            0x05 => Opcode::DataOut,
            0x06 => Opcode::Logout,
            0x10 => Opcode::Snack,
            _ => return None,
        })
    }
}

fn is_immediate(header: &Header) -> bool {
    header[0] & IMMEDIATE != 0
}

fn has(header: &Header, flag: u8) -> bool {
    header[1] & flag != 0
}

fn lun(header: &Header) -> u64 {
    u64::from_be_bytes(part(header, at::LUN))
}

/// The number of a request that has a turn among those of its session. Immediate ones, data and
/// SNACK have none (RFC 7143 4.2.2.1).
pub fn turn_of(header: &Header) -> Option<u32> {
    let has_none = matches!(Opcode::of(header), Some(Opcode::DataOut | Opcode::Snack));
    (!is_immediate(header) && !has_none).then(|| u32_at(header, at::COMMAND_NUMBER))
}

/// Whether the target lives (RFC 7143 11.18).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NopOut {
    pub lun: u64,
    /// [`super::NONE`]: nobody waits for an answer.
    pub tag: u32,
}

impl NopOut {
    pub fn decode(header: &Header) -> NopOut {
        NopOut { lun: lun(header), tag: u32_at(header, at::TASK_TAG) }
    }
}

/// A SCSI command (RFC 7143 11.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub is_immediate: bool,
    /// No data follows that was not asked for.
    pub is_final: bool,
    pub reads: bool,
    pub writes: bool,
    /// It is to be done alone: it is ordered, or goes to the head of the queue (RFC 7143 11.3.1).
    pub is_ordered: bool,
    pub lun: u64,
    pub tag: u32,
    /// Bytes that its initiator expects it to move. This counts only if it reads or writes.
    pub expected_len: u32,
    pub cdb: [u8; 16],
}

impl Command {
    pub fn decode(header: &Header) -> Command {
        Command {
            is_immediate: is_immediate(header),
            is_final: has(header, flags::FINAL),
            reads: has(header, flags::READS),
            writes: has(header, flags::WRITES),
            is_ordered: matches!(header[1] & flags::ATTRIBUTE, flags::ORDERED | flags::HEAD_OF_QUEUE),
            lun: lun(header),
            tag: u32_at(header, at::TASK_TAG),
            expected_len: u32_at(header, at::EXPECTED_LEN),
            cdb: part(header, at::CDB),
        }
    }

    /// Bytes that it is expected to read.
    pub fn read_len(&self) -> usize {
        if self.reads { self.expected_len as usize } else { 0 }
    }

    /// Bytes that it is expected to write.
    pub fn write_len(&self) -> usize {
        if self.writes { self.expected_len as usize } else { 0 }
    }

    /// Bytes that it is expected to move, in either direction.
    pub fn moved_len(&self) -> usize {
        self.read_len().max(self.write_len())
    }
}

/// The end of tasks (RFC 7143 11.5).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRequest {
    pub is_immediate: bool,
    pub function: TaskFunction,
    pub lun: u64,
    pub tag: u32,
    /// Of the task that is to end.
    pub referenced_tag: u32,
    pub command_number: u32,
}

/// RFC 7143 11.5.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaskFunction {
    AbortTask,
    AbortTaskSet,
    ClearAca,
    ClearTaskSet,
    LogicalUnitReset,
    TargetWarmReset,
    TargetColdReset,
    TaskReassign,
    Reserved,
}

impl TaskRequest {
    pub fn decode(header: &Header) -> TaskRequest {
        TaskRequest {
            is_immediate: is_immediate(header),
            function: match header[1] & flags::FUNCTION {
                1 => TaskFunction::AbortTask,
                2 => TaskFunction::AbortTaskSet,
                3 => TaskFunction::ClearAca,
                4 => TaskFunction::ClearTaskSet,
                5 => TaskFunction::LogicalUnitReset,
                6 => TaskFunction::TargetWarmReset,
                7 => TaskFunction::TargetColdReset,
                8 => TaskFunction::TaskReassign,
                _ => TaskFunction::Reserved,
            },
            lun: lun(header),
            tag: u32_at(header, at::TASK_TAG),
            referenced_tag: u32_at(header, at::REFERENCED_TAG),
            command_number: u32_at(header, at::COMMAND_NUMBER),
        }
    }
}

/// Data of a command (RFC 7143 11.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataOut {
    /// The last of what was asked for, or of what was not.
    pub is_final: bool,
    pub tag: u32,
    /// [`super::NONE`]: nobody asked for it.
    pub transfer_tag: u32,
    pub number: u32,
    /// From the beginning of all that the command writes, bytes.
    pub offset: u32,
}

impl DataOut {
    pub fn decode(header: &Header) -> DataOut {
        DataOut {
            is_final: has(header, flags::FINAL),
            tag: u32_at(header, at::TASK_TAG),
            transfer_tag: u32_at(header, at::TRANSFER_TAG),
            number: u32_at(header, at::DATA_NUMBER),
            offset: u32_at(header, at::BUFFER_OFFSET),
        }
    }
}

/// Keys of a negotiation (RFC 7143 11.10).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextRequest {
    /// More of the text follows.
    pub goes_on: bool,
    pub tag: u32,
    /// [`super::NONE`]: it begins; else it asks for the rest of an answer.
    pub transfer_tag: u32,
}

impl TextRequest {
    pub fn decode(header: &Header) -> TextRequest {
        TextRequest {
            goes_on: has(header, flags::CONTINUE),
            tag: u32_at(header, at::TASK_TAG),
            transfer_tag: u32_at(header, at::TRANSFER_TAG),
        }
    }
}

/// A part of a login (RFC 7143 11.12).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginRequest {
    pub stage: Stage,
    /// The stage that is to begin now.
    pub next: Option<Stage>,
    /// More of the text follows.
    pub goes_on: bool,
    /// The oldest version that its initiator can do with.
    pub version_min: u8,
    /// The initiator's part of the session's name.
    pub isid: [u8; 6],
    /// The target's, the session's handle; 0: a new session.
    pub handle: u16,
    pub tag: u32,
    /// As its initiator calls it.
    pub connection: u16,
    pub command_number: u32,
}

/// Of a login, in their order (RFC 7143 11.12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Stage {
    Security = 0,
    Operational = 1,
    Reserved = 2,
    FullFeature = 3,
}

impl Stage {
    /// Of the two lowest bits.
    fn of(bits: u8) -> Stage {
        const ALL: [Stage; 4] = [Stage::Security, Stage::Operational, Stage::Reserved, Stage::FullFeature];
        ALL[usize::from(bits & flags::STAGE)]
    }
}

impl LoginRequest {
    pub fn decode(header: &Header) -> LoginRequest {
        LoginRequest {
            stage: Stage::of(header[1] >> flags::STAGE_SHIFT),
            next: has(header, flags::TRANSIT).then(|| Stage::of(header[1])),
            goes_on: has(header, flags::CONTINUE),
            version_min: header[at::VERSION_MIN],
            isid: part(header, at::ISID),
            handle: u16::from_be_bytes(part(header, at::TSIH)),
            tag: u32_at(header, at::TASK_TAG),
            connection: u16::from_be_bytes(part(header, at::CONNECTION)),
            command_number: u32_at(header, at::COMMAND_NUMBER),
        }
    }
}

/// The end of a connection, or of the session (RFC 7143 11.14).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutRequest {
    pub reason: LogoutReason,
    pub tag: u32,
    pub connection: u16,
}

/// RFC 7143 11.14.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogoutReason {
    ClosesSession,
    ClosesConnection,
    Recovers,
    Reserved,
}

impl LogoutRequest {
    pub fn decode(header: &Header) -> LogoutRequest {
        LogoutRequest {
            reason: match header[1] & flags::FUNCTION {
                0 => LogoutReason::ClosesSession,
                1 => LogoutReason::ClosesConnection,
                2 => LogoutReason::Recovers,
                _ => LogoutReason::Reserved,
            },
            tag: u32_at(header, at::TASK_TAG),
            connection: u16::from_be_bytes(part(header, at::CONNECTION)),
        }
    }
}
