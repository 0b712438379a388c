//! INQUIRY: what a unit is, and how it is reached.
//!
//! Sources: SPC-4 6.6, 7.8 (7.8.15 for the ports); SBC-3 6.6.

use crate::bytes::{cut, padded, u16_at};
use crate::codes::code_set::{BINARY, UTF_8};
use crate::codes::designator::{RELATIVE_TARGET_PORT, SCSI_NAME, TARGET_PORT_GROUP};
use crate::codes::vpd;
use crate::command::{Command, Done};
use crate::copy;
use crate::identity::{Name, VENDOR};
use crate::limits::{BLOCK, MAX_ATOMIC, MAX_COMPARE, MAX_SAME, MAX_TRANSFER, MAX_UNMAP, MAX_UNMAP_RANGES};
use crate::room::SET_SHIFT;
use crate::sense::{INVALID_FIELD, Refusal};
use crate::target::{Target, TargetPort};
use crate::unit::LogicalUnit;

const PRODUCT: &str = "VOLUME";
const REVISION: &str = "0001";
/// SAM-5, iSCSI, SPC-4, SBC-3, as version descriptors have them.
const VERSIONS: [u16; 4] = [0x00a0, 0x0960, 0x0460, 0x04c0];
const PAGES: [u8; 9] = [
    vpd::SUPPORTED_PAGES,
    vpd::UNIT_SERIAL_NUMBER,
    vpd::DEVICE_IDENTIFICATION,
    vpd::EXTENDED_INQUIRY_DATA,
    vpd::SCSI_PORTS,
    vpd::THIRD_PARTY_COPY,
    vpd::BLOCK_LIMITS,
    vpd::BLOCK_DEVICE_CHARACTERISTICS,
    vpd::LOGICAL_BLOCK_PROVISIONING,
];
/// Of the one group in which all ports are.
pub const GROUP: u8 = 1;
/// What designators name: a port of a target, a target; and that what follows says by which
/// protocol.
const OF_PORT: u8 = 0x90;
const OF_TARGET: u8 = 0xa0;
/// iSCSI, as designators say it.
const PROTOCOL: u8 = 0x50;

pub fn inquiry(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    let (vital, page, room) = (cdb[1] & 1 != 0, cdb[2], u16_at(cdb, 3).into());
    if cdb[1] & 0xfe != 0 || (!vital && page != 0) {
        return Err(INVALID_FIELD.into());
    }
    if !vital {
        return Ok(Done::bytes(cut(standard(0x00, command.target), room)));
    }
    let body = match page {
        vpd::SUPPORTED_PAGES => PAGES.to_vec(),
        vpd::UNIT_SERIAL_NUMBER => unit.identity.serial.clone().into_bytes(),
        vpd::DEVICE_IDENTIFICATION => identification(unit, command),
        vpd::EXTENDED_INQUIRY_DATA => extended(),
        vpd::SCSI_PORTS => ports(command.target),
        vpd::THIRD_PARTY_COPY => copy::third_party(),
        vpd::BLOCK_LIMITS => limits(unit)?,
        vpd::BLOCK_DEVICE_CHARACTERISTICS => characteristics(),
        vpd::LOGICAL_BLOCK_PROVISIONING => provisioning(unit)?,
        _ => return Err(INVALID_FIELD.into()),
    };
    let mut bytes = vec![0, page];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend(body);
    Ok(Done::bytes(cut(bytes, room)))
}

/// Of what there is at this qualifier and type: 0x7f where there is no unit.
pub fn standard(peripheral: u8, target: &Target) -> Vec<u8> {
    let mut bytes = vec![0; 96];
    bytes[0] = peripheral;
    bytes[2] = 0x06;
    bytes[3] = 0x12;
    bytes[4] = 91;
    // Implicit asymmetric access, third-party copies.
    bytes[5] = 0x18;
    bytes[6] = if target.ports.len() > 1 { 0x10 } else { 0 };
    bytes[7] = 0x02;
    bytes[8..16].copy_from_slice(&padded(VENDOR, 8));
    bytes[16..32].copy_from_slice(&padded(PRODUCT, 16));
    bytes[32..36].copy_from_slice(&padded(REVISION, 4));
    for (at, version) in VERSIONS.iter().enumerate() {
        bytes[58 + 2 * at..60 + 2 * at].copy_from_slice(&version.to_be_bytes());
    }
    bytes
}

/// The names of the unit, of the port that was asked, and of its target.
fn identification(unit: &LogicalUnit, command: &Command<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Name { code_set, kind, name } in unit.identity.names() {
        bytes.extend(designator(code_set, kind, &name));
    }
    let id = command.nexus.port;
    bytes.extend(designator(PROTOCOL | BINARY, OF_PORT | RELATIVE_TARGET_PORT, &u32::from(id).to_be_bytes()));
    bytes.extend(designator(PROTOCOL | BINARY, OF_PORT | TARGET_PORT_GROUP, &u32::from(GROUP).to_be_bytes()));
    if let Some(port) = command.target.ports.iter().find(|port| port.id == id) {
        bytes.extend(port_name(port));
    }
    bytes.extend(designator(PROTOCOL | UTF_8, OF_TARGET | SCSI_NAME, &text(&command.target.name)));
    bytes
}

/// 88, all ports of the target.
fn ports(target: &Target) -> Vec<u8> {
    let mut bytes = Vec::new();
    for port in &target.ports {
        let name = port_name(port);
        bytes.extend(u32::from(port.id).to_be_bytes());
        bytes.extend([0; 6]);
        bytes.extend((name.len() as u16).to_be_bytes());
        bytes.extend(name);
    }
    bytes
}

fn port_name(port: &TargetPort) -> Vec<u8> {
    designator(PROTOCOL | UTF_8, OF_PORT | SCSI_NAME, &text(&port.name))
}

fn designator(code_set: u8, kind: u8, name: &[u8]) -> Vec<u8> {
    let mut bytes = vec![code_set, kind, 0, name.len() as u8];
    bytes.extend(name);
    bytes
}

/// Ended by a zero, in whole words; 252 bytes at the most.
fn text(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().get(..251).unwrap_or(name.as_bytes()).to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(4), 0);
    bytes
}

fn extended() -> Vec<u8> {
    let mut bytes = vec![0; 60];
    // Head of queue, ordered and simple tasks; a cache that is volatile.
    bytes[1] = 0x07;
    bytes[2] = 0x01;
    bytes
}

/// B0, block limits.
fn limits(unit: &LogicalUnit) -> Result<Vec<u8>, Refusal> {
    let granularity = (u64::from(unit.geometry()?.block) / BLOCK) as u32;
    let mut bytes = vec![0; 60];
    bytes[0] = 1;
    bytes[1] = MAX_COMPARE as u8;
    bytes[2..4].copy_from_slice(&(granularity.min(0xffff) as u16).to_be_bytes());
    bytes[4..8].copy_from_slice(&(MAX_TRANSFER as u32).to_be_bytes());
    bytes[8..12].copy_from_slice(&granularity.max(128).to_be_bytes());
    bytes[16..20].copy_from_slice(&(MAX_UNMAP as u32).to_be_bytes());
    bytes[20..24].copy_from_slice(&(MAX_UNMAP_RANGES as u32).to_be_bytes());
    bytes[24..28].copy_from_slice(&granularity.to_be_bytes());
    // Units of it begin at block 0.
    bytes[28] = 0x80;
    bytes[32..40].copy_from_slice(&MAX_SAME.to_be_bytes());
    // Atomic writes of any place and length up to this, without boundaries within.
    bytes[40..44].copy_from_slice(&(MAX_ATOMIC as u32).to_be_bytes());
    Ok(bytes)
}

/// B1: like a solid-state disk, whatever is below.
fn characteristics() -> Vec<u8> {
    let mut bytes = vec![0; 60];
    bytes[1] = 1;
    bytes
}

/// B2: thin, with thresholds; UNMAP and both forms of WRITE SAME, zeroes where nothing is.
fn provisioning(unit: &LogicalUnit) -> Result<Vec<u8>, Refusal> {
    unit.geometry()?;
    Ok(vec![SET_SHIFT, 0xe4, 2, 0])
}
