//! What targets send: the headers of their PDUs, written.
//!
//! A field that a struct here does not name is zero. Every PDU has the numbers of its connection
//! and its session ([`Numbers`]).
//!
//! Source: RFC 7143 11.4, 11.6 to 11.9, 11.11, 11.13, 11.15, 11.17, 11.19.

use scsi::{Sense, Status};

use super::initiator::Stage;
use super::{NONE, Pdu, at, flags};

/// RFC 7143 11.2.1.2.
#[derive(Clone, Copy)]
#[repr(u8)]
enum Opcode {
    NopIn = 0x20,
    Response = 0x21,
    Task = 0x22,
    Login = 0x23,
    Text = 0x24,
    DataIn = 0x25,
    Logout = 0x26,
    R2t = 0x31,
    Async = 0x32,
    Reject = 0x3f,
}

/// A PDU of one kind.
pub trait FromTarget {
    /// Whether the next one has another status number.
    fn is_counted(&self) -> bool {
        true
    }

    /// Without data.
    fn encode(&self, numbers: &Numbers) -> Pdu;
}

/// The numbers that every PDU has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbers {
    /// Of the connection's answers.
    pub status: u32,
    /// The command that is expected next, and the last that may come.
    pub expected: u32,
    pub most: u32,
}

impl Numbers {
    /// A PDU with them, and the tag of its task.
    fn begin(&self, opcode: Opcode, flags: u8, tag: u32) -> Pdu {
        Pdu::new(opcode as u8, flags)
            .put_u32(at::TASK_TAG, tag)
            .put_u32(at::STATUS_NUMBER, self.status)
            .put_u32(at::EXPECTED_COMMAND, self.expected)
            .put_u32(at::MAX_COMMAND, self.most)
    }
}

/// Says that the target lives, or asks whether the initiator does (RFC 7143 11.19).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NopIn {
    pub lun: u64,
    /// Of what it answers; [`NONE`]: it asks.
    pub tag: u32,
    /// [`NONE`]: nobody waits for an answer.
    pub transfer_tag: u32,
}

impl FromTarget for NopIn {
    fn is_counted(&self) -> bool {
        self.tag != NONE
    }

    fn encode(&self, numbers: &Numbers) -> Pdu {
        numbers
            .begin(Opcode::NopIn, flags::FINAL, self.tag)
            .put(at::LUN, &self.lun.to_be_bytes())
            .put_u32(at::TRANSFER_TAG, self.transfer_tag)
    }
}

/// What a command moved beside what was expected, bytes (RFC 7143 11.4.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Residual {
    None,
    /// So many were not moved, for nobody expected them.
    Overflow(u32),
    /// So many were expected and not moved.
    Underflow(u32),
}

impl Residual {
    fn flags(self) -> u8 {
        match self {
            Residual::None => 0,
            Residual::Overflow(_) => flags::OVERFLOW,
            Residual::Underflow(_) => flags::UNDERFLOW,
        }
    }

    fn count(self) -> u32 {
        match self {
            Residual::None => 0,
            Residual::Overflow(count) | Residual::Underflow(count) => count,
        }
    }
}

/// How a command ended (RFC 7143 11.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub status: Status,
    pub tag: u32,
    pub residual: Residual,
}

impl Response {
    /// The data that goes with it (RFC 7143 11.4.7.2).
    pub fn sense_data(sense: Sense) -> Vec<u8> {
        let sense = sense.encode();
        let mut data = (sense.len() as u16).to_be_bytes().to_vec();
        data.extend(sense);
        data
    }
}

impl FromTarget for Response {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        numbers
            .begin(Opcode::Response, flags::FINAL | self.residual.flags(), self.tag)
            .put(at::STATUS, &[self.status as u8])
            .put_u32(at::RESIDUAL, self.residual.count())
    }
}

/// Data of a command (RFC 7143 11.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataIn {
    /// The last of a sequence.
    pub is_final: bool,
    /// It says as well that the command ended with GOOD: there is no [`Response`].
    pub has_status: bool,
    /// Always written; the initiator looks at it only where there is a status.
    pub residual: Residual,
    pub tag: u32,
    pub number: u32,
    /// From the beginning of all that the command reads, bytes.
    pub offset: u32,
}

impl FromTarget for DataIn {
    fn is_counted(&self) -> bool {
        self.has_status
    }

    fn encode(&self, numbers: &Numbers) -> Pdu {
        let last = if self.is_final { flags::FINAL } else { 0 };
        let (end, status) =
            if self.has_status { (flags::STATUS | self.residual.flags(), numbers.status) } else { (0, 0) };
        Numbers { status, ..*numbers }
            .begin(Opcode::DataIn, last | end, self.tag)
            .put_u32(at::TRANSFER_TAG, NONE)
            .put_u32(at::DATA_NUMBER, self.number)
            .put_u32(at::BUFFER_OFFSET, self.offset)
            .put_u32(at::RESIDUAL, self.residual.count())
    }
}

/// Asks for data of a command (RFC 7143 11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct R2t {
    pub tag: u32,
    /// Which the data has to have.
    pub transfer_tag: u32,
    pub number: u32,
    /// From the beginning of all that the command writes, bytes.
    pub offset: u32,
    pub len: u32,
}

impl FromTarget for R2t {
    fn is_counted(&self) -> bool {
        false
    }

    fn encode(&self, numbers: &Numbers) -> Pdu {
        numbers
            .begin(Opcode::R2t, flags::FINAL, self.tag)
            .put_u32(at::TRANSFER_TAG, self.transfer_tag)
            .put_u32(at::DATA_NUMBER, self.number)
            .put_u32(at::BUFFER_OFFSET, self.offset)
            .put_u32(at::WANTED_LEN, self.len)
    }
}

/// What came of a task management function (RFC 7143 11.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskResponse {
    pub response: TaskOutcome,
    pub tag: u32,
}

/// RFC 7143 11.6.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TaskOutcome {
    Complete = 0,
    NoTask = 1,
    NoUnit = 2,
    NoReassignment = 4,
    NotSupported = 5,
}

impl FromTarget for TaskResponse {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        numbers.begin(Opcode::Task, flags::FINAL, self.tag).put(at::RESPONSE, &[self.response as u8])
    }
}

/// What the target says in a negotiation (RFC 7143 11.11).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextResponse {
    /// More of the text is there for who asks for it.
    pub goes_on: bool,
    pub tag: u32,
    /// [`NONE`] where it does not go on.
    pub transfer_tag: u32,
}

impl FromTarget for TextResponse {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        let end = if self.goes_on { flags::CONTINUE } else { flags::FINAL };
        numbers.begin(Opcode::Text, end, self.tag).put_u32(at::TRANSFER_TAG, self.transfer_tag)
    }
}

/// What comes of a part of a login (RFC 7143 11.13). Version 0 is the newest that there is, and the
/// one that is spoken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginResponse {
    /// Where it is. Of no account where it fails.
    pub stage: Stage,
    /// The stage that begins now, if one does.
    pub outcome: Result<Option<Stage>, Failure>,
    pub isid: [u8; 6],
    pub handle: u16,
    pub tag: u32,
}

/// Why a login fails: class and detail of its status (RFC 7143 11.13.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum Failure {
    InitiatorError = 0x0200,
    NotAuthenticated = 0x0201,
    NotFound = 0x0203,
    Version = 0x0205,
    TooManyConnections = 0x0206,
    Missing = 0x0207,
    SessionType = 0x0209,
    NoSession = 0x020a,
    /// The target does not look at it now.
    Unavailable = 0x0301,
}

/// The status of a part of a login that succeeds.
const SUCCESS: u16 = 0;

impl Failure {
    pub fn code(self) -> u16 {
        self as u16
    }
}

impl FromTarget for LoginResponse {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        let (stages, status) = match self.outcome {
            Ok(next) => {
                let next = next.map_or(0, |next| flags::TRANSIT | next as u8);
                ((self.stage as u8) << flags::STAGE_SHIFT | next, SUCCESS)
            }
            Err(failure) => (0, failure.code()),
        };
        numbers
            .begin(Opcode::Login, stages, self.tag)
            .put(at::ISID, &self.isid)
            .put(at::TSIH, &self.handle.to_be_bytes())
            .put(at::LOGIN_STATUS, &status.to_be_bytes())
    }
}

/// What came of a logout (RFC 7143 11.15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogoutResponse {
    pub response: LogoutOutcome,
    pub tag: u32,
}

/// RFC 7143 11.15.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum LogoutOutcome {
    Closed = 0,
    NoConnection = 1,
    NoRecovery = 2,
}

impl FromTarget for LogoutResponse {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        numbers.begin(Opcode::Logout, flags::FINAL, self.tag).put(at::RESPONSE, &[self.response as u8])
    }
}

/// What nobody asked for (RFC 7143 11.9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The initiator is to log out, in so many seconds.
    LogOut(u16),
    /// All connections of the session end; it may try again after so many seconds.
    Ends(u16),
}

impl FromTarget for Event {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        let (code, parameters) = match *self {
            Event::LogOut(within) => (1, [0, 0, within]),
            Event::Ends(wait) => (3, [0, wait, 0]),
        };
        let pdu = numbers.begin(Opcode::Async, flags::FINAL, NONE).put(at::EVENT, &[code]);
        let put = |pdu: Pdu, (place, parameter): (usize, u16)| pdu.put(place, &parameter.to_be_bytes());
        at::EVENT_PARAMETERS.into_iter().zip(parameters).fold(pdu, put)
    }
}

/// Why a PDU cannot be followed; the data that goes with it is that one's header (RFC 7143 11.17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum RejectReason {
    DataDigest = 0x02,
    Protocol = 0x04,
    NotSupported = 0x05,
    TooManyImmediate = 0x06,
    InvalidField = 0x09,
}

impl FromTarget for RejectReason {
    fn encode(&self, numbers: &Numbers) -> Pdu {
        numbers.begin(Opcode::Reject, flags::FINAL, NONE).put(at::RESPONSE, &[*self as u8])
    }
}
