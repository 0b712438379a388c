//! LOG SENSE: which pages there are, and how much of the volume is used.
//!
//! Sources: SPC-4 6.8, 7.3; SBC-3 6.4.4 (Logical Block Provisioning).

use engine_api::Seek;

use crate::bytes::{cut, u16_at};
use crate::codes::log_page::{LOGICAL_BLOCK_PROVISIONING, SUPPORTED_PAGES};
use crate::command::Done;
use crate::limits::BLOCK;
use crate::room::{self, SET_SHIFT};
use crate::sense::{INVALID_FIELD, Refusal};
use crate::unit::LogicalUnit;

/// Stretches of data that are counted, at the most: a volume in more pieces is said to use what
/// these and all behind them take.
const STRETCHES: usize = 4096;

pub fn sense(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    let (page, subpage, room) = (cdb[2] & 0x3f, cdb[3], u16_at(cdb, 7).into());
    if cdb[1] & 1 != 0 || subpage != 0 {
        return Err(INVALID_FIELD.into());
    }
    let body = match page {
        SUPPORTED_PAGES => vec![SUPPORTED_PAGES, LOGICAL_BLOCK_PROVISIONING],
        LOGICAL_BLOCK_PROVISIONING => provisioning(unit)?,
        _ => return Err(INVALID_FIELD.into()),
    };
    let mut bytes = vec![page, 0];
    bytes.extend((body.len() as u16).to_be_bytes());
    bytes.extend(body);
    Ok(Done::bytes(cut(bytes, room)))
}

/// Parameter 1, what is left, and 2: used resources, of this unit alone.
fn provisioning(unit: &LogicalUnit) -> Result<Vec<u8>, Refusal> {
    let used = u32::try_from(used(unit)?.div_ceil(BLOCK << SET_SHIFT)).unwrap_or(u32::MAX);
    Ok([parameter(1, room::sets_left(unit)?, 2), parameter(2, used, 1)].concat())
}

/// `scope`: 1 of this unit alone, 2 shared with others.
fn parameter(code: u8, sets: u32, scope: u8) -> Vec<u8> {
    [&[0x00, code, 0x03, 8][..], &sets.to_be_bytes(), &[scope, 0, 0, 0]].concat()
}

fn used(unit: &LogicalUnit) -> Result<u64, Refusal> {
    let size = unit.geometry()?.size;
    let (mut at, mut used) = (0, 0);
    for _ in 0..STRETCHES {
        if at >= size {
            return Ok(used);
        }
        let data = unit.volume.seek(at, Seek::Data)?;
        if data >= size {
            return Ok(used);
        }
        at = unit.volume.seek(data, Seek::Hole)?;
        used += at.saturating_sub(data);
    }
    Ok(used + size.saturating_sub(at))
}
