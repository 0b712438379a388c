//! Headers, byte for byte as the standard has them.

use scsi::{Sense, Status};
use stdx::prng::Prng;

use super::initiator::{
    Command, DataOut, LoginRequest, LogoutReason, LogoutRequest, NopOut, Opcode, Stage, TaskFunction,
    TaskRequest, TextRequest, turn_of,
};
use super::target::{
    DataIn, Event, Failure, FromTarget, LoginResponse, LogoutOutcome, LogoutResponse, NopIn, Numbers, R2t,
    RejectReason, Residual, Response, TaskOutcome, TaskResponse, TextResponse,
};
use super::{HEADER, Header, NONE};

/// A header of these parts, each from a place on; zeroes else.
fn header(parts: &[(usize, &[u8])]) -> Header {
    let mut header = [0; HEADER];
    for (at, bytes) in parts {
        header[*at..at + bytes.len()].copy_from_slice(bytes);
    }
    header
}

const LUN: (usize, &[u8]) = (8, &[0, 3, 0, 0, 0, 0, 0, 4]);
const TAG: (usize, &[u8]) = (16, &[1, 2, 3, 4]);

#[test]
fn commands_and_their_data_are_read_as_the_standard_has_them() {
    let cdb: [u8; 16] = std::array::from_fn(|byte| 0x28 + byte as u8);
    let number = (24, &[0, 0, 1, 9][..]);
    let command = header(&[(0, &[0x41, 0xe2]), LUN, TAG, (20, &[0, 1, 0, 0]), number, (32, &cdb)]);
    let read = Command::decode(&command);
    let expected = Command {
        is_immediate: true,
        is_final: true,
        reads: true,
        writes: true,
        is_ordered: true,
        lun: 3 << 48 | 4,
        tag: 0x0102_0304,
        expected_len: 65536,
        cdb,
    };
    assert_eq!(read, expected);
    assert_eq!((Opcode::of(&command), turn_of(&command)), (Some(Opcode::Command), None));
    let mut command = command;
    (command[0], command[1]) = (0x01, 0x23);
    let read = Command::decode(&command);
    assert_eq!((read.is_immediate, read.is_final, read.reads, read.writes), (false, false, false, true));
    assert_eq!((read.is_ordered, turn_of(&command)), (true, Some(0x0109)));
    assert_eq!((read.read_len(), read.write_len(), read.moved_len()), (0, 65536, 65536));
    command[1] = 0x81;
    let read = Command::decode(&command);
    assert_eq!((read.is_ordered, read.read_len(), read.write_len(), read.moved_len()), (false, 0, 0, 0));

    let transfer = (20, &[0, 0, 0, 7][..]);
    let part = header(&[(0, &[0x05, 0x80]), TAG, transfer, (36, &[0, 0, 0, 2]), (40, &[0, 0, 2, 0])]);
    let expected = DataOut { is_final: true, tag: 0x0102_0304, transfer_tag: 7, number: 2, offset: 512 };
    assert_eq!((DataOut::decode(&part), turn_of(&part)), (expected, None));
}

#[test]
fn other_requests_are_read_as_the_standard_has_them() {
    let tag = 0x0102_0304;
    let number = (24, &[0, 0, 1, 9][..]);
    let nop = header(&[(0, &[0x40, 0x80]), LUN, TAG, (20, &[0xff; 4])]);
    assert_eq!(NopOut::decode(&nop), NopOut { lun: 3 << 48 | 4, tag });

    let task = header(&[(0, &[0x42, 0x85]), LUN, TAG, (20, &[0, 0, 0, 8]), number]);
    let expected = TaskRequest {
        is_immediate: true,
        function: TaskFunction::LogicalUnitReset,
        lun: 3 << 48 | 4,
        tag,
        referenced_tag: 8,
        command_number: 0x0109,
    };
    assert_eq!(TaskRequest::decode(&task), expected);

    let text = header(&[(0, &[0x04, 0x40]), TAG, (20, &[0xff; 4]), number]);
    assert_eq!(TextRequest::decode(&text), TextRequest { goes_on: true, tag, transfer_tag: NONE });
    assert_eq!(turn_of(&text), Some(0x0109));

    let isid = [0x80, 1, 2, 3, 4, 5];
    let connection = (20, &[0, 6][..]);
    let login = [(0, &[0x43, 0x87, 1, 0][..]), (8, &isid), (14, &[0, 9]), TAG, connection, number];
    let expected = LoginRequest {
        stage: Stage::Operational,
        next: Some(Stage::FullFeature),
        goes_on: false,
        version_min: 0,
        isid,
        handle: 9,
        tag,
        connection: 6,
        command_number: 0x0109,
    };
    assert_eq!(LoginRequest::decode(&header(&login)), expected);
    let part = LoginRequest::decode(&header(&[(0, &[0x43, 0x48, 1, 1])]));
    assert_eq!((part.stage, part.next), (Stage::Reserved, None));
    assert_eq!((part.goes_on, part.version_min), (true, 1));

    let logout = header(&[(0, &[0x06, 0x81]), TAG, connection, number]);
    let reason = LogoutReason::ClosesConnection;
    assert_eq!(LogoutRequest::decode(&logout), LogoutRequest { reason, tag, connection: 6 });

    let snack = header(&[(0, &[0x10, 0x80]), TAG, number]);
    assert_eq!((Opcode::of(&snack), turn_of(&snack)), (Some(Opcode::Snack), None));
    let nothing = header(&[(0, &[0x1c, 0x80]), TAG, number]);
    assert_eq!((Opcode::of(&nothing), turn_of(&nothing)), (None, Some(0x0109)));
}

#[test]
fn every_header_can_be_read_as_any_kind() {
    let mut rng = Prng::new(11);
    for _ in 0..2000 {
        let mut header = [0; HEADER];
        rng.fill(&mut header);
        let command = Command::decode(&header);
        assert!(command.moved_len() <= command.expected_len as usize);
        let (nop, task, data) =
            (NopOut::decode(&header), TaskRequest::decode(&header), DataOut::decode(&header));
        let (text, logout, login) =
            (TextRequest::decode(&header), LogoutRequest::decode(&header), LoginRequest::decode(&header));
        let tags = [nop.tag, task.tag, data.tag, text.tag, logout.tag, login.tag];
        assert_eq!(tags, [command.tag; 6]);
        assert_eq!((login.stage as u8, login.next.is_some()), (header[1] >> 2 & 3, header[1] & 0x80 != 0));
    }
}

const NUMBERS: Numbers = Numbers { status: 0x11, expected: 0x22, most: 0x33 };
const AS_BYTES: [(usize, &[u8]); 3] =
    [(24, &[0, 0, 0, 0x11]), (28, &[0, 0, 0, 0x22]), (32, &[0, 0, 0, 0x33])];

/// What is written is the numbers and these parts, and nothing else.
fn is_written_as(pdu: &impl FromTarget, parts: &[(usize, &[u8])], is_counted: bool) {
    let written = pdu.encode(&NUMBERS);
    assert_eq!(written.header, header(&[&AS_BYTES, parts].concat()));
    assert_eq!((written.data, pdu.is_counted()), (Vec::new(), is_counted));
}

#[test]
fn answers_to_commands_are_written_as_the_standard_has_them() {
    let tag = 0x0102_0304;
    let response = |status, residual| Response { status, tag, residual };
    is_written_as(&response(Status::Good, Residual::None), &[(0, &[0x21, 0x80]), TAG], true);
    let under = response(Status::CheckCondition, Residual::Underflow(512));
    is_written_as(&under, &[(0, &[0x21, 0x82, 0, 2]), TAG, (44, &[0, 0, 2, 0])], true);
    let over = response(Status::TaskSetFull, Residual::Overflow(1));
    is_written_as(&over, &[(0, &[0x21, 0x84, 0, 0x28]), TAG, (44, &[0, 0, 0, 1])], true);
    let data = Response::sense_data(Sense::new(0xb, 0x4b00));
    assert_eq!((&data[..2], data.len(), data[4], &data[14..16]), (&[0, 18][..], 20, 0xb, &[0x4b, 0][..]));

    let place = [(20, &[0xff; 4][..]), (36, &[0, 0, 0, 2]), (40, &[0, 0, 4, 0])];
    let part =
        DataIn { is_final: false, has_status: false, residual: Residual::None, tag, number: 2, offset: 1024 };
    let no_status = (24, &[0; 4][..]);
    is_written_as(&part, &[&[(0, &[0x25, 0][..]), TAG, no_status], &place[..]].concat(), false);
    let count = (44, &[0, 0, 0, 9][..]);
    let last = DataIn { is_final: true, residual: Residual::Underflow(9), ..part };
    is_written_as(&last, &[&[(0, &[0x25, 0x80][..]), TAG, no_status, count], &place[..]].concat(), false);
    let end = DataIn { has_status: true, ..last };
    is_written_as(&end, &[&[(0, &[0x25, 0x83][..]), TAG, count], &place[..]].concat(), true);

    let request = R2t { tag, transfer_tag: 7, number: 2, offset: 1024, len: 512 };
    let wanted = [(20, &[0, 0, 0, 7][..]), (36, &[0, 0, 0, 2]), (40, &[0, 0, 4, 0]), (44, &[0, 0, 2, 0])];
    is_written_as(&request, &[&[(0, &[0x31, 0x80][..]), TAG], &wanted[..]].concat(), false);
}

#[test]
fn all_else_is_written_as_the_standard_has_it() {
    let tag = 0x0102_0304;
    let none = (16, &[0xff; 4][..]);
    let pong = NopIn { lun: 3 << 48 | 4, tag, transfer_tag: NONE };
    is_written_as(&pong, &[(0, &[0x20, 0x80]), LUN, TAG, (20, &[0xff; 4])], true);
    let ping = NopIn { lun: 0, tag: NONE, transfer_tag: 1 };
    is_written_as(&ping, &[(0, &[0x20, 0x80]), none, (20, &[0, 0, 0, 1])], false);
    let task = TaskResponse { response: TaskOutcome::NotSupported, tag };
    is_written_as(&task, &[(0, &[0x22, 0x80, 5]), TAG], true);
    let text = TextResponse { goes_on: true, tag, transfer_tag: 1 };
    is_written_as(&text, &[(0, &[0x24, 0x40]), TAG, (20, &[0, 0, 0, 1])], true);
    let text = TextResponse { goes_on: false, tag, transfer_tag: NONE };
    is_written_as(&text, &[(0, &[0x24, 0x80]), TAG, (20, &[0xff; 4])], true);
    let logout = LogoutResponse { response: LogoutOutcome::NoRecovery, tag };
    is_written_as(&logout, &[(0, &[0x26, 0x80, 2]), TAG], true);
    is_written_as(&Event::LogOut(3), &[(0, &[0x32, 0x80]), none, (36, &[1, 0, 0, 0, 0, 0, 0, 3])], true);
    is_written_as(&Event::Ends(2), &[(0, &[0x32, 0x80]), none, (36, &[3, 0, 0, 0, 0, 2, 0, 0])], true);
    is_written_as(&RejectReason::InvalidField, &[(0, &[0x3f, 0x80, 9]), none], true);

    let isid = [0x80, 1, 2, 3, 4, 5];
    let outcome = Ok(Some(Stage::FullFeature));
    let login = LoginResponse { stage: Stage::Operational, outcome, isid, handle: 9, tag };
    is_written_as(&login, &[(0, &[0x23, 0x87]), (8, &isid), (14, &[0, 9]), TAG], true);
    let stays = LoginResponse { outcome: Ok(None), ..login.clone() };
    is_written_as(&stays, &[(0, &[0x23, 0x04]), (8, &isid), (14, &[0, 9]), TAG], true);
    let fails = LoginResponse { outcome: Err(Failure::NoSession), ..login };
    let status = (36, &[2, 0x0a][..]);
    is_written_as(&fails, &[(0, &[0x23, 0]), (8, &isid), (14, &[0, 9]), TAG, status], true);
}
