//! How a command ended: status, and sense data where there is more to say.
//!
//! Source: SPC-4 4.5 (fixed format, field pointers), annex of additional sense codes.

use engine_api::Error;

use crate::codes::{asc, sense_key};

/// SAM-5 5.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    Good = 0x00,
    CheckCondition = 0x02,
    Busy = 0x08,
    ReservationConflict = 0x18,
    TaskSetFull = 0x28,
    TaskAborted = 0x40,
}

/// Sense data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sense {
    pub key: u8,
    /// Additional sense code and its qualifier.
    pub code: u16,
    /// What INFORMATION says.
    pub info: Option<u32>,
    /// Where in the CDB the field is that is wrong: its byte, and its highest bit there.
    pub field: Option<(u16, u8)>,
}

pub const NO_SENSE: Sense = Sense::new(sense_key::NO_SENSE, asc::NO_ADDITIONAL_SENSE_INFORMATION);
pub const UNREADABLE: Sense = Sense::new(sense_key::MEDIUM_ERROR, asc::UNRECOVERED_READ_ERROR);
pub const NOT_READY: Sense = Sense::new(sense_key::NOT_READY, asc::MANUAL_INTERVENTION_REQUIRED);
/// Who sees it asks again.
pub const BECOMING_READY: Sense = Sense::new(sense_key::NOT_READY, asc::BECOMING_READY);
pub const INTERNAL_FAILURE: Sense = Sense::new(sense_key::HARDWARE_ERROR, asc::INTERNAL_TARGET_FAILURE);
pub const COPY_IN_PROGRESS: Sense = Sense::illegal(asc::OPERATION_IN_PROGRESS);
pub const PARAMETER_LIST_LENGTH: Sense = Sense::illegal(asc::PARAMETER_LIST_LENGTH_ERROR);
pub const INVALID_OPCODE: Sense = Sense::illegal(asc::INVALID_COMMAND_OPERATION_CODE);
pub const OUT_OF_RANGE: Sense = Sense::illegal(asc::LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE);
pub const INVALID_FIELD: Sense = Sense::illegal(asc::INVALID_FIELD_IN_CDB);
pub const NO_SUCH_UNIT: Sense = Sense::illegal(asc::LOGICAL_UNIT_NOT_SUPPORTED);
pub const INVALID_PARAMETER: Sense = Sense::illegal(asc::INVALID_FIELD_IN_PARAMETER_LIST);
pub const INVALID_RELEASE: Sense = Sense::illegal(asc::INVALID_RELEASE_OF_PERSISTENT_RESERVATION);
pub const TOO_MANY_UNITS: Sense = Sense::illegal(asc::TOO_MANY_TARGET_DESCRIPTORS);
pub const UNSUPPORTED_UNIT: Sense = Sense::illegal(asc::UNSUPPORTED_TARGET_DESCRIPTOR_TYPE);
pub const TOO_MANY_SEGMENTS: Sense = Sense::illegal(asc::TOO_MANY_SEGMENT_DESCRIPTORS);
pub const UNSUPPORTED_SEGMENT: Sense = Sense::illegal(asc::UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE);
pub const INLINE_DATA: Sense = Sense::illegal(asc::INLINE_DATA_LENGTH_EXCEEDED);
pub const NO_SAVING: Sense = Sense::illegal(asc::SAVING_NOT_SUPPORTED);
pub const NO_REGISTRATION_RESOURCES: Sense = Sense::illegal(asc::INSUFFICIENT_REGISTRATION_RESOURCES);
pub const WRITE_PROTECTED: Sense = Sense::new(sense_key::DATA_PROTECT, asc::WRITE_PROTECTED);
pub const NO_SPACE: Sense = Sense::new(sense_key::DATA_PROTECT, asc::SPACE_ALLOCATION_FAILED);
pub const COPY_ABORTED: Sense = Sense::new(sense_key::COPY_ABORTED, asc::NO_ADDITIONAL_SENSE_INFORMATION);
pub const COPY_UNREACHABLE: Sense = Sense::new(sense_key::COPY_ABORTED, asc::UNREACHABLE_COPY_TARGET);
pub const COPY_WRONG_TYPE: Sense =
    Sense::new(sense_key::COPY_ABORTED, asc::INCORRECT_COPY_TARGET_DEVICE_TYPE);

impl Sense {
    pub const fn new(key: u8, code: u16) -> Sense {
        Sense { key, code, info: None, field: None }
    }

    const fn illegal(code: u16) -> Sense {
        Sense::new(sense_key::ILLEGAL_REQUEST, code)
    }

    /// What was to be equal is not, from this byte on.
    pub const fn miscompare(at: u32) -> Sense {
        Sense { info: Some(at), ..Sense::new(sense_key::MISCOMPARE, asc::MISCOMPARE_DURING_VERIFY) }
    }

    /// A field of the CDB makes no sense. Of commands that share an operation code this says that
    /// there is such a command: initiators take a refusal that names no field for none.
    pub const fn invalid_field(byte: u16, bit: u8) -> Sense {
        Sense { field: Some((byte, bit)), ..INVALID_FIELD }
    }

    pub const fn attention(code: u16) -> Sense {
        Sense::new(sense_key::UNIT_ATTENTION, code)
    }

    /// Fixed format, 18 bytes.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![0; 18];
        bytes[0] = if self.info.is_some() { 0xf0 } else { 0x70 };
        bytes[2] = self.key;
        bytes[3..7].copy_from_slice(&self.info.unwrap_or(0).to_be_bytes());
        bytes[7] = 10;
        bytes[12..14].copy_from_slice(&self.code.to_be_bytes());
        if let Some((byte, bit)) = self.field {
            // Such data are there, are about the CDB, and name a bit.
            bytes[15] = 0xc8 | bit;
            bytes[16..].copy_from_slice(&byte.to_be_bytes());
        }
        bytes
    }
}

/// Why a command is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    Sense(Sense),
    Busy,
    Conflict,
}

impl From<Sense> for Refusal {
    fn from(sense: Sense) -> Refusal {
        Refusal::Sense(sense)
    }
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Sense(match error {
            Error::NoSpace | Error::Quota => NO_SPACE,
            Error::ReadOnly => WRITE_PROTECTED,
            Error::Invalid(_) | Error::FileTooLarge => OUT_OF_RANGE,
            Error::Stale | Error::NotFound => NO_SUCH_UNIT,
            Error::Corrupt { .. } => UNREADABLE,
            Error::KeyNotLoaded => NOT_READY,
            // Devices are lost, and an operator may bring them back: the initiator is to try again.
            Error::Suspended | Error::Busy => return Refusal::Busy,
            _ => INTERNAL_FAILURE,
        })
    }
}
