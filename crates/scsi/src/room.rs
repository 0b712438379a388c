//! How full it gets: what is left for a unit, as pages tell it, and the warning before writes fail
//! for lack of space.
//!
//! A thin volume shares what is left with others, so it is looked at now and then while it is
//! written. When less than a tenth is left, and not all that the volume could still want, every
//! initiator has a unit attention; once, until there is clearly more again.
//!
//! Source: SBC-3, logical block provisioning: thresholds, its log page, mode page and VPD page.

use std::sync::atomic::Ordering::SeqCst;

use crate::codes::{asc, mode_page};
use crate::limits::BLOCK;
use crate::sense::Refusal;
use crate::unit::LogicalUnit;

/// log2 of the blocks of a threshold set, in which space is told: 1 MiB.
pub const SET_SHIFT: u8 = 11;
const SET: u64 = BLOCK << SET_SHIFT;
/// One in so many parts left is little.
const LITTLE: u64 = 10;
/// Commands that write between two looks.
const LOOK_EVERY: u32 = 64;

/// Bytes: what is left, and with how little initiators are warned.
fn left(unit: &LogicalUnit) -> Result<(u64, u64), Refusal> {
    let room = unit.volume.room()?;
    Ok((room.available, room.used.saturating_add(room.available) / LITTLE))
}

/// After a command that writes.
pub fn look(unit: &LogicalUnit) {
    if !unit.watch.writes.fetch_add(1, SeqCst).is_multiple_of(LOOK_EVERY) {
        return;
    }
    let (Ok(geometry), Ok(room)) = (unit.geometry(), unit.volume.room()) else { return };
    let Ok((left, little)) = left(unit) else { return };
    let wanted = geometry.size.saturating_sub(room.used);
    if left < little && left < wanted {
        if !unit.watch.warned.swap(true, SeqCst) {
            tracing::warn!(
                volume = unit.identity.name,
                left,
                "there is little space left for what is written"
            );
            unit.state().attentions.tell_all(asc::SOFT_THRESHOLD_REACHED);
        }
    } else if left > little + little / 4 {
        unit.watch.warned.store(false, SeqCst);
    }
}

fn sets(bytes: u64) -> u32 {
    u32::try_from(bytes / SET).unwrap_or(u32::MAX)
}

/// What is left, in threshold sets.
pub fn sets_left(unit: &LogicalUnit) -> Result<u32, Refusal> {
    Ok(sets(left(unit)?.0))
}

/// The mode page: one threshold, of what is left, which arms as that decreases. `changeable`: which
/// bits can be changed.
pub fn mode_page(unit: &LogicalUnit, changeable: bool) -> Result<Vec<u8>, Refusal> {
    let mut bytes = vec![0; 24];
    let (code, subpage) = mode_page::LOGICAL_BLOCK_PROVISIONING;
    (bytes[0], bytes[1], bytes[3]) = (0x40 | code, subpage, 20);
    if !changeable {
        (bytes[16], bytes[17]) = (0x80, 0x01);
        bytes[20..24].copy_from_slice(&sets(left(unit)?.1).to_be_bytes());
    }
    Ok(bytes)
}
