//! INQUIRY: what a unit is.
//!
//! Sources: SPC-4 6.6, 7.8; SBC-3 6.6.

use crate::bytes::{cut, padded, u16_at};
use crate::copy;
use crate::limits::{BLOCK, MAX_COMPARE, MAX_SAME, MAX_TRANSFER, MAX_UNMAP, MAX_UNMAP_RANGES};
use crate::room::SET_SHIFT;
use crate::sense::{INVALID_FIELD, Refusal};
use crate::unit::{Done, LogicalUnit};

const VENDOR: &str = "CISTERN";
const PRODUCT: &str = "VOLUME";
const REVISION: &str = "0001";
/// SAM-5, iSCSI, SPC-4, SBC-3, as version descriptors have them.
const VERSIONS: [u16; 4] = [0x00a0, 0x0960, 0x0460, 0x04c0];
const PAGES: [u8; 8] = [0x00, 0x80, 0x83, 0x86, 0x8f, 0xb0, 0xb1, 0xb2];
/// Of the one group of ports, and the one port in it.
const GROUP: [u8; 8] = [0x61, 0x95, 0, 4, 0, 0, 0, 1];
const PORT: [u8; 8] = [0x61, 0x94, 0, 4, 0, 0, 0, 1];

pub fn inquiry(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    let (vital, page, room) = (cdb[1] & 1 != 0, cdb[2], u16_at(cdb, 3).into());
    if cdb[1] & 0xfe != 0 || (!vital && page != 0) {
        return Err(INVALID_FIELD.into());
    }
    if !vital {
        return Ok(Done::bytes(cut(standard(0x00), room)));
    }
    let body = match page {
        0x00 => PAGES.to_vec(),
        0x80 => unit.identity.serial.clone().into_bytes(),
        0x83 => identification(unit),
        0x86 => extended(),
        0x8f => copy::third_party(),
        0xb0 => limits(unit)?,
        0xb1 => characteristics(),
        0xb2 => provisioning(unit)?,
        _ => return Err(INVALID_FIELD.into()),
    };
    let mut bytes = vec![0, page];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend(body);
    Ok(Done::bytes(cut(bytes, room)))
}

/// Of what there is at this qualifier and type: 0x7f where there is no unit.
pub fn standard(peripheral: u8) -> Vec<u8> {
    let mut bytes = vec![0; 96];
    bytes[0] = peripheral;
    bytes[2] = 0x06;
    bytes[3] = 0x12;
    bytes[4] = 91;
    // Implicit asymmetric access, third-party copies.
    bytes[5] = 0x18;
    bytes[7] = 0x02;
    bytes[8..16].copy_from_slice(&padded(VENDOR, 8));
    bytes[16..32].copy_from_slice(&padded(PRODUCT, 16));
    bytes[32..36].copy_from_slice(&padded(REVISION, 4));
    for (at, version) in VERSIONS.iter().enumerate() {
        bytes[58 + 2 * at..60 + 2 * at].copy_from_slice(&version.to_be_bytes());
    }
    bytes
}

/// A name of a unit, as others find it.
pub struct Name {
    pub code_set: u8,
    /// Of designator, and what it names: the unit.
    pub kind: u8,
    pub name: Vec<u8>,
}

/// One NAA name, and one for people.
pub fn names(unit: &LogicalUnit) -> [Name; 2] {
    // NAA 6, registered extended; in place of the number that a vendor would register there is none.
    let own = unit.identity.id & ((1 << 100) - 1);
    let mut text = padded(VENDOR, 8);
    text.extend(unit.identity.serial.bytes());
    [
        Name { code_set: 1, kind: 3, name: (0x6 << 124 | own).to_be_bytes().to_vec() },
        Name { code_set: 2, kind: 1, name: text },
    ]
}

/// The names, and the port.
fn identification(unit: &LogicalUnit) -> Vec<u8> {
    let mut bytes = Vec::new();
    for Name { code_set, kind, name } in names(unit) {
        bytes.extend([code_set, kind, 0, name.len() as u8]);
        bytes.extend(name);
    }
    bytes.extend(PORT);
    bytes.extend(GROUP);
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
