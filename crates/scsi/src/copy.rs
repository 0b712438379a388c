//! EXTENDED COPY (LID1) and RECEIVE COPY RESULTS: copies within a volume, and between the volumes
//! that an initiator sees at one target. The engine copies; no data is on the wire.
//!
//! A command is judged whole before anything is copied: its lists, the units it names, what others
//! have reserved there, where each segment begins and ends. So one that is refused has done
//! nothing. What one that began has done can be asked for by its list identifier: while it works,
//! and where the initiator wants that, once afterwards.
//!
//! Only block to block, of units of the same target: what an initiator cannot see there it cannot
//! copy.
//!
//! Sources: SPC-4 r37, EXTENDED COPY (LID1), RECEIVE COPY STATUS (LID1), RECEIVE COPY OPERATING
//! PARAMETERS, and the Third-party Copy VPD page.

use std::sync::Arc;

use crate::bytes::{cut, u8_at, u16_at, u32_at, u64_at};
use crate::codes::{self, third_party_copy};
use crate::command::{Command, Done};
use crate::copies::{DONE, FAILED, Results};
use crate::limits::{BLOCK, MAX_COPIES, MAX_COPY_BLOCKS, MAX_COPY_SEGMENTS, MAX_COPY_UNITS};
use crate::nexus::Nexus;
use crate::opcodes::Access;
use crate::reservation;
use crate::sense::{
    COPY_ABORTED, COPY_UNREACHABLE, COPY_WRONG_TYPE, INLINE_DATA, INVALID_FIELD, INVALID_PARAMETER,
    PARAMETER_LIST_LENGTH, Refusal, TOO_MANY_SEGMENTS, TOO_MANY_UNITS, UNSUPPORTED_SEGMENT, UNSUPPORTED_UNIT,
};
use crate::unit::LogicalUnit;

const HEADER: usize = 16;
/// Descriptor of a unit by its name, and its length.
const BY_NAME: u8 = 0xe4;
const UNIT_LEN: usize = 32;
/// Descriptor of a segment from blocks to blocks, and its length.
const BLOCKS: u8 = 0x02;
const SEGMENT_LEN: usize = 28;
/// Bytes of all descriptors of a command.
const MAX_LIST: usize = MAX_COPY_UNITS * UNIT_LEN + MAX_COPY_SEGMENTS * SEGMENT_LEN;

/// A range of blocks that goes from a unit to a unit.
struct Segment {
    from: Arc<LogicalUnit>,
    to: Arc<LogicalUnit>,
    /// In bytes.
    source: u64,
    target: u64,
    len: u64,
}

/// A parameter list, judged.
struct Request {
    /// `None`: nobody will ask how far it is.
    list: Option<u8>,
    /// The results are kept until somebody has asked.
    held: bool,
    segments: Vec<Segment>,
}

pub fn extended_copy(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let len = u32_at(command.cdb, 10) as usize;
    if len == 0 {
        return Ok(Done::nothing());
    }
    let request = parse(command, &command.out[..command.out.len().min(len)])?;
    if let Some(list) = request.list {
        unit.state().copies.begin(command.nexus, list)?;
    }
    let copied = copy(unit, command.nexus, &request);
    if let Some(list) = request.list {
        let copies = &mut unit.state().copies;
        copies.update(command.nexus, list, |results| {
            results.state = if copied.is_ok() { DONE } else { FAILED }
        });
        if !request.held {
            copies.take(command.nexus, list);
        }
    }
    copied.map(|()| Done::taking(len))
}

fn copy(unit: &LogicalUnit, nexus: &Nexus, request: &Request) -> Result<(), Refusal> {
    for segment in &request.segments {
        let (from, to) = (&segment.from.volume, &segment.to.volume);
        to.copy_from(&**from, segment.source, segment.target, segment.len)?;
        if let Some(list) = request.list {
            unit.state().copies.update(nexus, list, |results| {
                results.segments += 1;
                results.bytes += segment.len;
            });
        }
    }
    Ok(())
}

fn parse(command: &Command<'_>, list: &[u8]) -> Result<Request, Refusal> {
    let (units, segments) = (u16_at(list, 2) as usize, u32_at(list, 8) as usize);
    let inline = u32_at(list, 12) as usize;
    let whole = HEADER.saturating_add(units).saturating_add(segments).saturating_add(inline);
    if list.len() < whole || units + segments > MAX_LIST {
        return Err(PARAMETER_LIST_LENGTH.into());
    }
    if inline > 0 {
        return Err(INLINE_DATA.into());
    }
    let (units, segments) = list[HEADER..whole].split_at(units);
    if units.len() > MAX_COPY_UNITS * UNIT_LEN {
        return Err(TOO_MANY_UNITS.into());
    }
    let units: Vec<&[u8]> = units.chunks(UNIT_LEN).collect();
    units.iter().try_for_each(|unit| check_unit(unit))?;
    let segments = split(segments)?;
    let (held, list_id) = match (list[1] >> 3 & 3, list[0]) {
        (0, id) => (true, Some(id)),
        (2, id) => (false, Some(id)),
        (3, 0) => (false, None),
        _ => return Err(INVALID_PARAMETER.into()),
    };
    let segments =
        segments.into_iter().map(|segment| resolve(command, &units, segment)).collect::<Result<_, _>>();
    Ok(Request { list: list_id, held, segments: segments? })
}

/// Whether a descriptor of a unit makes sense, be the unit there or not.
fn check_unit(unit: &[u8]) -> Result<(), Refusal> {
    if unit[0] != BY_NAME {
        return Err(UNSUPPORTED_UNIT.into());
    }
    let block = u64::from(u32_at(unit, 28) & 0xff_ffff);
    if unit.len() == UNIT_LEN && (block == 0 || block == BLOCK) {
        Ok(())
    } else {
        Err(INVALID_PARAMETER.into())
    }
}

fn split(mut list: &[u8]) -> Result<Vec<&[u8]>, Refusal> {
    let mut segments = Vec::new();
    while let Some(&kind) = list.first() {
        if kind != BLOCKS {
            return Err(UNSUPPORTED_SEGMENT.into());
        }
        if segments.len() == MAX_COPY_SEGMENTS {
            return Err(TOO_MANY_SEGMENTS.into());
        }
        if u16_at(list, 2) as usize != SEGMENT_LEN - 4 || list.len() < SEGMENT_LEN {
            return Err(INVALID_PARAMETER.into());
        }
        let (segment, rest) = list.split_at(SEGMENT_LEN);
        segments.push(segment);
        list = rest;
    }
    Ok(segments)
}

/// The units and places that a segment names; all of it can be copied as far as can be told before.
fn resolve(command: &Command<'_>, units: &[&[u8]], segment: &[u8]) -> Result<Segment, Refusal> {
    let find = |index: u16| units.get(usize::from(index)).ok_or(COPY_UNREACHABLE);
    let from = unit_of(command, find(u16_at(segment, 4))?, Access::Read)?;
    let to = unit_of(command, find(u16_at(segment, 6))?, Access::Write)?;
    let blocks = u64::from(u16_at(segment, 10));
    let place = |unit: &LogicalUnit, lba: u64| {
        let end = lba.checked_add(blocks).filter(|end| unit.blocks().is_ok_and(|blocks| *end <= blocks));
        end.map(|_| lba * BLOCK).ok_or(Refusal::from(COPY_ABORTED))
    };
    let (source, target) = (place(&from, u64_at(segment, 12))?, place(&to, u64_at(segment, 20))?);
    to.check_writable()?;
    Ok(Segment { from, to, source, target, len: blocks * BLOCK })
}

/// The unit that a descriptor names, if the initiator may do this with it.
fn unit_of(command: &Command<'_>, descriptor: &[u8], access: Access) -> Result<Arc<LogicalUnit>, Refusal> {
    let is_null = descriptor[1] & 0x20 != 0;
    let is_disk = descriptor[1] & 0x1f == 0;
    if !is_null && !is_disk {
        return Err(COPY_WRONG_TYPE.into());
    }
    let len = usize::from(descriptor[7]);
    let name = descriptor.get(8..8 + len).unwrap_or(&[]);
    let (code_set, kind) = (descriptor[4] & 0xf, descriptor[5] & 0x3f);
    let is_named = |unit: &&Arc<LogicalUnit>| {
        unit.identity
            .names()
            .iter()
            .any(|own| (own.code_set, own.kind, &own.name[..]) == (code_set, kind, name))
    };
    let unit = command.target.units().find(is_named).filter(|_| !is_null);
    let may = |unit: &&Arc<LogicalUnit>| reservation::passes(&unit.state(), command.nexus, access);
    unit.filter(may).cloned().ok_or(COPY_UNREACHABLE.into())
}

/// RECEIVE COPY RESULTS.
pub fn results(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let (list, room) = (u8_at(command.cdb, 2), u32_at(command.cdb, 10) as usize);
    let bytes = match codes::service_action(command.cdb) {
        codes::copy::COPY_STATUS => {
            let results = unit.state().copies.take(command.nexus, list);
            status(results.ok_or(INVALID_FIELD)?)
        }
        codes::copy::OPERATING_PARAMETERS => parameters(),
        _ => return Err(INVALID_FIELD.into()),
    };
    Ok(Done::bytes(cut(bytes, room)))
}

fn status(results: Results) -> Vec<u8> {
    let mut bytes = 8_u32.to_be_bytes().to_vec();
    bytes.push(results.state);
    bytes.extend(results.segments.to_be_bytes());
    // Counted in KiB where bytes do not fit.
    let (unit, count) = match u32::try_from(results.bytes) {
        Ok(bytes) => (0, bytes),
        Err(_) => (1, u32::try_from(results.bytes >> 10).unwrap_or(u32::MAX)),
    };
    bytes.push(unit);
    bytes.extend(count.to_be_bytes());
    bytes
}

/// log2 of the bytes of a block: what segments are measured in.
const GRANULARITY: u8 = BLOCK.trailing_zeros() as u8;
const MAX_SEGMENT: u32 = (MAX_COPY_BLOCKS * BLOCK) as u32;

fn parameters() -> Vec<u8> {
    let mut bytes = vec![0; 46];
    bytes[..4].copy_from_slice(&42_u32.to_be_bytes());
    // A command without list identifier is fine.
    bytes[4] = 1;
    bytes[8..10].copy_from_slice(&(MAX_COPY_UNITS as u16).to_be_bytes());
    bytes[10..12].copy_from_slice(&(MAX_COPY_SEGMENTS as u16).to_be_bytes());
    bytes[12..16].copy_from_slice(&(MAX_LIST as u32).to_be_bytes());
    bytes[16..20].copy_from_slice(&MAX_SEGMENT.to_be_bytes());
    bytes[34..36].copy_from_slice(&(MAX_COPIES as u16).to_be_bytes());
    bytes[36] = MAX_COPIES as u8;
    bytes[37] = GRANULARITY;
    bytes[43] = 2;
    bytes[44..].copy_from_slice(&[BLOCKS, BY_NAME]);
    bytes
}

/// The body of page 8F: commands, limits, descriptors.
pub fn third_party() -> Vec<u8> {
    let described = |kind: u16, body: &[u8]| {
        let len = body.len().next_multiple_of(4);
        let mut bytes = kind.to_be_bytes().to_vec();
        bytes.extend((len as u16).to_be_bytes());
        bytes.extend(body);
        bytes.resize(4 + len, 0);
        bytes
    };
    // EXTENDED COPY (LID1); RECEIVE COPY RESULTS: status and parameters.
    let copy = [codes::EXTENDED_COPY, 1, codes::copy::EXTENDED_COPY];
    let (status, parameters) = (codes::copy::COPY_STATUS, codes::copy::OPERATING_PARAMETERS);
    let commands = [&[7][..], &copy, &[codes::RECEIVE_COPY_RESULTS, 2, status, parameters]].concat();
    let mut limits = vec![0; 28];
    limits[4..6].copy_from_slice(&(MAX_COPY_UNITS as u16).to_be_bytes());
    limits[6..8].copy_from_slice(&(MAX_COPY_SEGMENTS as u16).to_be_bytes());
    limits[8..12].copy_from_slice(&(MAX_LIST as u32).to_be_bytes());
    let mut general = vec![0; 32];
    general[0..4].copy_from_slice(&(MAX_COPIES as u32).to_be_bytes());
    general[4..8].copy_from_slice(&(MAX_COPIES as u32).to_be_bytes());
    general[8..12].copy_from_slice(&MAX_SEGMENT.to_be_bytes());
    general[12] = GRANULARITY;
    [
        described(third_party_copy::SUPPORTED_COMMANDS, &commands),
        described(third_party_copy::PARAMETER_DATA, &limits),
        described(third_party_copy::SUPPORTED_DESCRIPTORS, &[2, BLOCKS, BY_NAME]),
        // No identifiers beyond the descriptors of a command.
        described(third_party_copy::SUPPORTED_IDENTIFIERS, &[0, 0]),
        described(third_party_copy::GENERAL_COPY_OPERATIONS, &general),
    ]
    .concat()
}

#[cfg(test)]
mod tests;
