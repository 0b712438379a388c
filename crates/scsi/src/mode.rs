//! MODE SENSE and MODE SELECT. Of all pages, initiators can change two bits: software write
//! protection, and whether they are told by a status that others have ended their commands.
//!
//! Sources: SPC-4 6.9 to 6.12, 7.5; SBC-3 6.5.

use crate::bytes::{cut, u16_at};
use crate::codes;
use crate::codes::mode_page::{
    ALL_PAGES, ALL_SUBPAGES, CACHING, CONTROL, INFORMATIONAL_EXCEPTIONS, LOGICAL_BLOCK_PROVISIONING,
};
use crate::command::{Command, Done};
use crate::limits::BLOCK;
use crate::room;
use crate::sense::{INVALID_FIELD, INVALID_PARAMETER, NO_SAVING, PARAMETER_LIST_LENGTH, Refusal};
use crate::unit::{Control, LogicalUnit};

const PAGES: [u8; 3] = [CACHING, CONTROL, INFORMATIONAL_EXCEPTIONS];
/// In the control page: byte and bit.
const SWP: (usize, u8) = (4, 0x08);
const TAS: (usize, u8) = (5, 0x40);

/// Its header included. `changeable`: which bits can be changed, instead of what they are.
fn page(unit: &LogicalUnit, code: u8, changeable: bool) -> Vec<u8> {
    let (len, values): (usize, &[(usize, u8)]) = match code {
        // The cache is volatile: what is to be stable says so.
        CACHING => (20, &[(2, 0x04)]),
        // Unrestricted reordering; nobody is in the queue for ever.
        CONTROL => (12, &[(3, 0x10), (8, 0xff), (9, 0xff)]),
        _ => (12, &[]),
    };
    let mut bytes = vec![0; len];
    bytes[0] = code;
    bytes[1] = len as u8 - 2;
    if !changeable {
        values.iter().for_each(|(at, value)| bytes[*at] = *value);
    }
    if code == CONTROL {
        let control = unit.control();
        for ((at, bit), is_set) in [(SWP, control.protected), (TAS, control.tells_aborted)] {
            bytes[at] |= if changeable || is_set { bit } else { 0 };
        }
    }
    bytes
}

pub fn sense(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    let is_long = cdb[0] == codes::MODE_SENSE_10;
    let (control, code, subpage) = (cdb[2] >> 6, cdb[2] & 0x3f, cdb[3]);
    if control == 3 {
        return Err(NO_SAVING.into());
    }
    let is_room = (code, subpage) == LOGICAL_BLOCK_PROVISIONING;
    if !is_room && (!matches!(subpage, 0 | ALL_SUBPAGES) || (code != ALL_PAGES && !PAGES.contains(&code))) {
        return Err(INVALID_FIELD.into());
    }
    if subpage == ALL_SUBPAGES && code != ALL_PAGES {
        return Err(INVALID_FIELD.into());
    }
    let wanted = PAGES.iter().filter(|known| !is_room && (code == ALL_PAGES || code == **known));
    let mut pages: Vec<u8> = wanted.flat_map(|code| page(unit, *code, control == 1)).collect();
    if is_room || subpage == ALL_SUBPAGES {
        pages.extend(room::mode_page(unit, control == 1)?);
    }
    let geometry = unit.geometry()?;
    let protected = if geometry.readonly || unit.is_protected() { 0x80 } else { 0 };
    // DPO and FUA are understood.
    let flags = protected | 0x10;
    let long_addresses = is_long && cdb[1] & 0x10 != 0;
    let descriptor = if cdb[1] & 8 != 0 { Vec::new() } else { descriptor(unit, long_addresses)? };
    let (rest, room) =
        (descriptor.len() + pages.len(), if is_long { u16_at(cdb, 7).into() } else { cdb[4].into() });
    let mut bytes = if is_long {
        let len = (6 + rest) as u16;
        let mut head = len.to_be_bytes().to_vec();
        head.extend([0, flags, u8::from(long_addresses), 0]);
        head.extend((descriptor.len() as u16).to_be_bytes());
        head
    } else {
        vec![(3 + rest) as u8, 0, flags, descriptor.len() as u8]
    };
    bytes.extend(descriptor);
    bytes.extend(pages);
    Ok(Done::bytes(cut(bytes, room)))
}

fn descriptor(unit: &LogicalUnit, long: bool) -> Result<Vec<u8>, Refusal> {
    let blocks = unit.blocks()?;
    let mut bytes = Vec::new();
    if long {
        bytes.extend(blocks.to_be_bytes());
        bytes.extend([0; 4]);
    } else {
        bytes.extend(u32::try_from(blocks).unwrap_or(u32::MAX).to_be_bytes());
    }
    bytes.extend((BLOCK as u32).to_be_bytes());
    Ok(bytes)
}

pub fn select(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    let is_long = cdb[0] == codes::MODE_SELECT_10;
    // Pages in the standard's format; nothing is saved.
    if cdb[1] & 0x11 != 0x10 {
        return Err(INVALID_FIELD.into());
    }
    let len = if is_long { u16_at(cdb, 7).into() } else { usize::from(cdb[4]) };
    if len == 0 {
        return Ok(Done::nothing());
    }
    let list = &command.out[..command.out.len().min(len)];
    let head = if is_long { 8 } else { 4 };
    if list.len() < head {
        return Err(PARAMETER_LIST_LENGTH.into());
    }
    let descriptor = if is_long { u16_at(list, 6).into() } else { usize::from(list[3]) };
    let mut pages = list.get(head + descriptor..).ok_or(PARAMETER_LIST_LENGTH)?;
    let mut control = unit.control();
    while let [code, page_len, ..] = *pages {
        let whole = pages.get(..usize::from(page_len) + 2).ok_or(PARAMETER_LIST_LENGTH)?;
        if !PAGES.contains(&(code & 0x3f)) || code & 0x40 != 0 {
            return Err(INVALID_PARAMETER.into());
        }
        let (now, mask) = (page(unit, code & 0x3f, false), page(unit, code & 0x3f, true));
        let kept = |at: usize| whole[at] & !mask[at] == now[at] & !mask[at];
        if whole.len() != now.len() || !(2..whole.len()).all(kept) {
            return Err(INVALID_PARAMETER.into());
        }
        if code & 0x3f == CONTROL {
            let is_set = |(at, bit): (usize, u8)| whole[at] & bit != 0;
            control = Control { protected: is_set(SWP), tells_aborted: is_set(TAS) };
        }
        pages = &pages[whole.len()..];
    }
    if !pages.is_empty() {
        return Err(PARAMETER_LIST_LENGTH.into());
    }
    unit.set_control(control, command.nexus);
    Ok(Done::taking(len))
}
