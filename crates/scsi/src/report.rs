//! What a unit says of its size, of its commands, of what is wrong with it, and of the way to it;
//! which units a target has.
//!
//! Sources: SBC-3 5.15 to 5.18; SPC-4 6.33, 6.35 to 6.37.

use crate::bytes::{cut, u8_at, u16_at, u32_at, u64_at};
use crate::codes::{self, maintenance_in};
use crate::command::{Command, Done};
use crate::inquiry;
use crate::limits::BLOCK;
use crate::opcodes::{self, OPCODES, Opcode};
use crate::sense::{INVALID_FIELD, Refusal, Sense};
use crate::target::{self, Target};
use crate::unit::LogicalUnit;

pub fn capacity_10(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    if cdb[8] & 1 == 0 && u32_at(cdb, 2) != 0 {
        return Err(INVALID_FIELD.into());
    }
    let last = unit.blocks()?.saturating_sub(1);
    let mut bytes = u32::try_from(last).unwrap_or(u32::MAX).to_be_bytes().to_vec();
    bytes.extend((BLOCK as u32).to_be_bytes());
    Ok(Done::bytes(bytes))
}

pub fn capacity_16(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    if cdb[14] & 1 == 0 && u64_at(cdb, 2) != 0 {
        return Err(INVALID_FIELD.into());
    }
    let geometry = unit.geometry()?;
    let mut bytes = vec![0; 32];
    bytes[..8].copy_from_slice(&unit.blocks()?.saturating_sub(1).to_be_bytes());
    bytes[8..12].copy_from_slice(&(BLOCK as u32).to_be_bytes());
    bytes[13] = (u64::from(geometry.block) / BLOCK).max(1).ilog2() as u8;
    // Thin, and zeroes where nothing is.
    bytes[14] = 0xc0;
    Ok(Done::bytes(cut(bytes, u32_at(cdb, 10) as usize)))
}

/// REPORT LUNS.
pub fn luns(target: &Target, cdb: &[u8]) -> Result<Done, Refusal> {
    let (which, room) = (u8_at(cdb, 2), u32_at(cdb, 6) as usize);
    if room < 16 || !matches!(which, 0..=2) {
        return Err(INVALID_FIELD.into());
    }
    // There are no well-known units.
    let listed = target.inventory().filter(|_| which != 1).flat_map(|(number, _)| target::written(number));
    let list: Vec<u8> = listed.collect();
    let mut bytes = (list.len() as u32).to_be_bytes().to_vec();
    bytes.extend([0; 4]);
    bytes.extend(list);
    Ok(Done::bytes(cut(bytes, room)))
}

/// READ DEFECT DATA: a volume has none, in whatever format.
pub fn defects(cdb: &[u8]) -> Done {
    let (asked, room, mut bytes) = match cdb[0] {
        codes::READ_DEFECT_DATA_10 => (cdb[2], u16_at(cdb, 7).into(), vec![0; 4]),
        _ => (cdb[1], u32_at(cdb, 6) as usize, vec![0; 8]),
    };
    bytes[1] = asked & 0x1f;
    Done::bytes(cut(bytes, room))
}

/// MAINTENANCE IN.
pub fn maintenance_in(command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    let room = u32_at(cdb, 6) as usize;
    let bytes = match codes::service_action(cdb) {
        maintenance_in::REPORT_TARGET_PORT_GROUPS => port_groups(command.target, cdb)?,
        maintenance_in::REPORT_SUPPORTED_OPERATION_CODES => supported(cdb)?,
        maintenance_in::REPORT_SUPPORTED_TASK_MANAGEMENT_FUNCTIONS => task_functions(cdb),
        _ => return Err(INVALID_FIELD.into()),
    };
    Ok(Done::bytes(cut(bytes, room)))
}

/// One group of all ports, for each is as good as any: active, optimized, and in no other state
/// ever.
fn port_groups(target: &Target, cdb: &[u8]) -> Result<Vec<u8>, Refusal> {
    let extended = match cdb[1] >> 5 {
        0 => false,
        1 => true,
        _ => return Err(INVALID_FIELD.into()),
    };
    let ports = target.ports.get(..255).unwrap_or(&target.ports);
    let mut group = vec![0x00, 0x01, 0x00, inquiry::GROUP, 0x00, 0x00, 0x00, ports.len() as u8];
    ports.iter().for_each(|port| group.extend(u32::from(port.id).to_be_bytes()));
    let head: &[u8] = if extended { &[0x10, 0, 0, 0] } else { &[] };
    let mut bytes = ((head.len() + group.len()) as u32).to_be_bytes().to_vec();
    bytes.extend(head);
    bytes.extend(group);
    Ok(bytes)
}

/// Times are not told: the descriptor says so.
const TIMEOUTS: [u8; 12] = [0, 10, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];

/// REPORTING OPTIONS of REPORT SUPPORTED OPERATION CODES.
const WRONG_OPTIONS: Sense = Sense::invalid_field(2, 2);

fn supported(cdb: &[u8]) -> Result<Vec<u8>, Refusal> {
    let (with_timeouts, how, code, action) = (cdb[2] & 0x80 != 0, cdb[2] & 7, cdb[3], u16_at(cdb, 4));
    let found = match how {
        0 => {
            let list: Vec<u8> = OPCODES.iter().flat_map(|opcode| descriptor(opcode, with_timeouts)).collect();
            let mut bytes = (list.len() as u32).to_be_bytes().to_vec();
            bytes.extend(list);
            return Ok(bytes);
        }
        // Without a service action; a command that has one is asked for wrongly, and the other way
        // round.
        1 | 2 => {
            let has_actions =
                OPCODES.iter().find(|opcode| opcode.code == code).map(|opcode| opcode.action.is_some());
            if has_actions.is_some_and(|has| has != (how == 2)) {
                return Err(WRONG_OPTIONS.into());
            }
            opcodes::find(code, action)
        }
        3 => opcodes::find(code, action),
        _ => return Err(WRONG_OPTIONS.into()),
    };
    let timed = if with_timeouts && found.is_some() { 0x80 } else { 0 };
    let mut bytes = vec![0, timed | if found.is_some() { 3 } else { 1 }];
    let usage = found.map_or(&[][..], |opcode| opcode.usage);
    bytes.extend((usage.len() as u16).to_be_bytes());
    bytes.extend(usage);
    if timed != 0 {
        bytes.extend(TIMEOUTS);
    }
    Ok(bytes)
}

fn descriptor(opcode: &Opcode, with_timeouts: bool) -> Vec<u8> {
    let flags = u8::from(opcode.action.is_some()) | if with_timeouts { 2 } else { 0 };
    let mut bytes = vec![opcode.code, 0];
    bytes.extend(opcode.action.unwrap_or(0).to_be_bytes());
    bytes.extend([0, flags]);
    bytes.extend((opcode.usage.len() as u16).to_be_bytes());
    if with_timeouts {
        bytes.extend(TIMEOUTS);
    }
    bytes
}

/// ABORT TASK, ABORT TASK SET, CLEAR TASK SET, LOGICAL UNIT RESET, and TARGET RESET.
fn task_functions(cdb: &[u8]) -> Vec<u8> {
    let mut bytes = vec![0xda, 0, 0, 0];
    if cdb[2] & 0x80 != 0 {
        bytes[3] = 12;
        bytes.extend([0; 12]);
    }
    bytes
}
