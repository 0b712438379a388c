//! Numbers by the names that the standards give them, long ones shortened: operation codes and, a
//! module a kind, service actions, sense keys, additional sense codes, pages and designators. This
//! module names numbers and decides nothing.
//!
//! Sources: SPC-4 table of operation codes and 6.16, 6.35; 4.5 (sense keys) and annex of additional
//! sense codes; 7.3, 7.5 and 7.8 (pages); SBC-3 table 16, 6.4 to 6.6 (pages). RESERVE and RELEASE
//! of six bytes are of SPC-2.

pub const TEST_UNIT_READY: u8 = 0x00;
pub const REQUEST_SENSE: u8 = 0x03;
pub const READ_6: u8 = 0x08;
pub const WRITE_6: u8 = 0x0a;
pub const INQUIRY: u8 = 0x12;
pub const MODE_SELECT_6: u8 = 0x15;
pub const RESERVE_6: u8 = 0x16;
pub const RELEASE_6: u8 = 0x17;
pub const MODE_SENSE_6: u8 = 0x1a;
pub const START_STOP_UNIT: u8 = 0x1b;
pub const SEND_DIAGNOSTIC: u8 = 0x1d;
pub const READ_CAPACITY_10: u8 = 0x25;
pub const READ_10: u8 = 0x28;
pub const WRITE_10: u8 = 0x2a;
pub const WRITE_AND_VERIFY_10: u8 = 0x2e;
pub const VERIFY_10: u8 = 0x2f;
pub const PREFETCH_10: u8 = 0x34;
pub const SYNCHRONIZE_CACHE_10: u8 = 0x35;
pub const READ_DEFECT_DATA_10: u8 = 0x37;
pub const WRITE_SAME_10: u8 = 0x41;
pub const UNMAP: u8 = 0x42;
pub const LOG_SENSE: u8 = 0x4d;
pub const MODE_SELECT_10: u8 = 0x55;
pub const MODE_SENSE_10: u8 = 0x5a;
pub const PERSISTENT_RESERVE_IN: u8 = 0x5e;
pub const PERSISTENT_RESERVE_OUT: u8 = 0x5f;
pub const EXTENDED_COPY: u8 = 0x83;
pub const RECEIVE_COPY_RESULTS: u8 = 0x84;
pub const READ_16: u8 = 0x88;
pub const COMPARE_AND_WRITE: u8 = 0x89;
pub const WRITE_16: u8 = 0x8a;
pub const OR_WRITE_16: u8 = 0x8b;
pub const WRITE_AND_VERIFY_16: u8 = 0x8e;
pub const VERIFY_16: u8 = 0x8f;
pub const PREFETCH_16: u8 = 0x90;
pub const SYNCHRONIZE_CACHE_16: u8 = 0x91;
pub const WRITE_SAME_16: u8 = 0x93;
pub const WRITE_ATOMIC_16: u8 = 0x9c;
pub const SERVICE_ACTION_IN_16: u8 = 0x9e;
pub const REPORT_LUNS: u8 = 0xa0;
pub const MAINTENANCE_IN: u8 = 0xa3;
pub const READ_12: u8 = 0xa8;
pub const WRITE_12: u8 = 0xaa;
pub const WRITE_AND_VERIFY_12: u8 = 0xae;
pub const VERIFY_12: u8 = 0xaf;
pub const READ_DEFECT_DATA_12: u8 = 0xb7;

/// Service actions of PERSISTENT RESERVE IN.
pub mod reserve_in {
    pub const READ_KEYS: u8 = 0x00;
    pub const READ_RESERVATION: u8 = 0x01;
    pub const REPORT_CAPABILITIES: u8 = 0x02;
    pub const READ_FULL_STATUS: u8 = 0x03;
}

/// Service actions of PERSISTENT RESERVE OUT.
pub mod reserve_out {
    pub const REGISTER: u8 = 0x00;
    pub const RESERVE: u8 = 0x01;
    pub const RELEASE: u8 = 0x02;
    pub const CLEAR: u8 = 0x03;
    pub const PREEMPT: u8 = 0x04;
    pub const PREEMPT_AND_ABORT: u8 = 0x05;
    pub const REGISTER_AND_IGNORE_EXISTING_KEY: u8 = 0x06;
    pub const REGISTER_AND_MOVE: u8 = 0x07;
}

/// Service actions of EXTENDED COPY (LID1) and RECEIVE COPY RESULTS (LID1).
pub mod copy {
    pub const EXTENDED_COPY: u8 = 0x00;
    pub const COPY_STATUS: u8 = 0x00;
    pub const OPERATING_PARAMETERS: u8 = 0x03;
}

/// Service actions of SERVICE ACTION IN(16).
pub mod service_in {
    pub const READ_CAPACITY_16: u8 = 0x10;
    pub const GET_LBA_STATUS: u8 = 0x12;
}

/// Service actions of MAINTENANCE IN.
pub mod maintenance_in {
    pub const REPORT_TARGET_PORT_GROUPS: u8 = 0x0a;
    pub const REPORT_SUPPORTED_OPERATION_CODES: u8 = 0x0c;
    pub const REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS: u8 = 0x0d;
}

/// Sense keys.
pub mod sense_key {
    pub const NO_SENSE: u8 = 0x0;
    pub const NOT_READY: u8 = 0x2;
    pub const MEDIUM_ERROR: u8 = 0x3;
    pub const HARDWARE_ERROR: u8 = 0x4;
    pub const ILLEGAL_REQUEST: u8 = 0x5;
    pub const UNIT_ATTENTION: u8 = 0x6;
    pub const DATA_PROTECT: u8 = 0x7;
    pub const COPY_ABORTED: u8 = 0xa;
    pub const ABORTED_COMMAND: u8 = 0xb;
    pub const MISCOMPARE: u8 = 0xe;
}

/// Additional sense codes, each with its qualifier in the low byte.
pub mod asc {
    pub const NO_ADDITIONAL_SENSE_INFORMATION: u16 = 0x0000;
    pub const OPERATION_IN_PROGRESS: u16 = 0x0016;
    pub const BECOMING_READY: u16 = 0x0401;
    pub const MANUAL_INTERVENTION_REQUIRED: u16 = 0x0403;
    pub const UNREACHABLE_COPY_TARGET: u16 = 0x0804;
    pub const INCORRECT_COPY_TARGET_DEVICE_TYPE: u16 = 0x0d03;
    pub const UNRECOVERED_READ_ERROR: u16 = 0x1100;
    pub const PARAMETER_LIST_LENGTH_ERROR: u16 = 0x1a00;
    pub const MISCOMPARE_DURING_VERIFY: u16 = 0x1d00;
    pub const INVALID_COMMAND_OPERATION_CODE: u16 = 0x2000;
    pub const LOGICAL_BLOCK_ADDRESS_OUT_OF_RANGE: u16 = 0x2100;
    pub const INVALID_FIELD_IN_CDB: u16 = 0x2400;
    pub const LOGICAL_UNIT_NOT_SUPPORTED: u16 = 0x2500;
    pub const INVALID_FIELD_IN_PARAMETER_LIST: u16 = 0x2600;
    pub const INVALID_RELEASE_OF_PERSISTENT_RESERVATION: u16 = 0x2604;
    pub const TOO_MANY_TARGET_DESCRIPTORS: u16 = 0x2606;
    pub const UNSUPPORTED_TARGET_DESCRIPTOR_TYPE: u16 = 0x2607;
    pub const TOO_MANY_SEGMENT_DESCRIPTORS: u16 = 0x2608;
    pub const UNSUPPORTED_SEGMENT_DESCRIPTOR_TYPE: u16 = 0x2609;
    pub const INLINE_DATA_LENGTH_EXCEEDED: u16 = 0x260b;
    pub const WRITE_PROTECTED: u16 = 0x2700;
    pub const SPACE_ALLOCATION_FAILED: u16 = 0x2707;
    pub const POWER_ON: u16 = 0x2900;
    pub const BUS_DEVICE_RESET: u16 = 0x2903;
    pub const MODE_PARAMETERS_CHANGED: u16 = 0x2a01;
    pub const RESERVATIONS_PREEMPTED: u16 = 0x2a03;
    pub const RESERVATIONS_RELEASED: u16 = 0x2a04;
    pub const REGISTRATIONS_PREEMPTED: u16 = 0x2a05;
    pub const CAPACITY_DATA_CHANGED: u16 = 0x2a09;
    pub const COMMANDS_CLEARED: u16 = 0x2f00;
    pub const SOFT_THRESHOLD_REACHED: u16 = 0x3807;
    pub const SAVING_NOT_SUPPORTED: u16 = 0x3900;
    pub const REPORTED_LUNS_CHANGED: u16 = 0x3f0e;
    pub const INTERNAL_TARGET_FAILURE: u16 = 0x4400;
    pub const DATA_PHASE_ERROR: u16 = 0x4b00;
    pub const INSUFFICIENT_REGISTRATION_RESOURCES: u16 = 0x5504;
}

/// Pages of vital product data.
pub mod vpd {
    pub const SUPPORTED_PAGES: u8 = 0x00;
    pub const UNIT_SERIAL_NUMBER: u8 = 0x80;
    pub const DEVICE_IDENTIFICATION: u8 = 0x83;
    pub const EXTENDED_INQUIRY_DATA: u8 = 0x86;
    pub const SCSI_PORTS: u8 = 0x88;
    pub const THIRD_PARTY_COPY: u8 = 0x8f;
    pub const BLOCK_LIMITS: u8 = 0xb0;
    pub const BLOCK_DEVICE_CHARACTERISTICS: u8 = 0xb1;
    pub const LOGICAL_BLOCK_PROVISIONING: u8 = 0xb2;
}

/// In designators: of what their name is made.
pub mod code_set {
    pub const BINARY: u8 = 1;
    pub const ASCII: u8 = 2;
    pub const UTF_8: u8 = 3;
}

/// Types of designators.
pub mod designator {
    pub const T10_VENDOR_ID: u8 = 1;
    pub const NAA: u8 = 3;
    pub const RELATIVE_TARGET_PORT: u8 = 4;
    pub const TARGET_PORT_GROUP: u8 = 5;
    pub const SCSI_NAME: u8 = 8;
}

/// Descriptors of the page of third-party copies.
pub mod third_party_copy {
    pub const SUPPORTED_COMMANDS: u16 = 0x0001;
    pub const PARAMETER_DATA: u16 = 0x0004;
    pub const SUPPORTED_DESCRIPTORS: u16 = 0x0008;
    pub const SUPPORTED_IDENTIFIERS: u16 = 0x000c;
    pub const GENERAL_COPY_OPERATIONS: u16 = 0x8001;
}

/// Mode pages.
pub mod mode_page {
    pub const CACHING: u8 = 0x08;
    pub const CONTROL: u8 = 0x0a;
    pub const INFORMATIONAL_EXCEPTIONS: u8 = 0x1c;
    /// Code and subpage.
    pub const LOGICAL_BLOCK_PROVISIONING: (u8, u8) = (0x1c, 0x02);
    pub const ALL_PAGES: u8 = 0x3f;
    pub const ALL_SUBPAGES: u8 = 0xff;
}

/// Log pages.
pub mod log_page {
    pub const SUPPORTED_PAGES: u8 = 0x00;
    pub const LOGICAL_BLOCK_PROVISIONING: u8 = 0x0c;
}

/// Which of the commands that share an operation code a CDB is.
pub const fn service_action(cdb: &[u8]) -> u8 {
    cdb[1] & 0x1f
}
