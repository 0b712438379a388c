//! Commands on logical blocks.
//!
//! Source: SBC-3 5.

use engine_api::{Seek, Stable};

use crate::bytes::{cut, u16_at, u32_at, u64_at};
use crate::codes::{self, service_in};
use crate::command::{Command, Data, Done};
use crate::limits::{
    BLOCK, MAX_ATOMIC, MAX_COMPARE, MAX_SAME, MAX_STATUS, MAX_TRANSFER, MAX_UNMAP, MAX_UNMAP_RANGES,
};
use crate::report;
use crate::sense::{
    INVALID_FIELD, INVALID_OPCODE, INVALID_PARAMETER, OUT_OF_RANGE, PARAMETER_LIST_LENGTH, Refusal, Sense,
};
use crate::unit::LogicalUnit;

/// Bytes that one step of a longer command writes.
const STEP: u64 = 1 << 20;

/// Blocks that a command is about.
#[derive(Clone, Copy)]
struct Extent {
    lba: u64,
    blocks: u64,
}

impl Extent {
    /// From a CDB of 6, 10, 12 or 16 bytes, by its operation code.
    fn of(cdb: &[u8]) -> Extent {
        let (lba, blocks) = match cdb[0] >> 5 {
            0 => (
                u64::from(u32_at(cdb, 0) & 0x1f_ffff),
                // None means 256.
                if cdb[4] == 0 { 256 } else { cdb[4].into() },
            ),
            1 | 2 => (u32_at(cdb, 2).into(), u16_at(cdb, 7).into()),
            5 => (u32_at(cdb, 2).into(), u32_at(cdb, 6).into()),
            _ => (u64_at(cdb, 2), u32_at(cdb, 10).into()),
        };
        Extent { lba, blocks }
    }

    /// All of it exists.
    fn within(self, unit: &LogicalUnit) -> Result<Extent, Refusal> {
        let end = self.lba.checked_add(self.blocks);
        let blocks = unit.blocks()?;
        if end.is_some_and(|end| end <= blocks) && (self.lba < blocks || self.blocks == 0) {
            Ok(self)
        } else {
            Err(OUT_OF_RANGE.into())
        }
    }

    fn at_most(self, blocks: u64) -> Result<Extent, Refusal> {
        if self.blocks <= blocks { Ok(self) } else { Err(INVALID_FIELD.into()) }
    }

    fn offset(self) -> u64 {
        self.lba * BLOCK
    }

    fn len(self) -> u64 {
        self.blocks * BLOCK
    }
}

/// How stable a command with such flags leaves what it writes.
fn stability(cdb: &[u8]) -> Stable {
    let fua = cdb[0] >> 5 != 0 && cdb[1] & 0x08 != 0;
    if fua { Stable::DataSync } else { Stable::Unstable }
}

/// Protection information is not kept.
fn unprotected(cdb: &[u8]) -> Result<(), Refusal> {
    if cdb[0] >> 5 != 0 && cdb[1] & 0xe0 != 0 { Err(INVALID_FIELD.into()) } else { Ok(()) }
}

pub fn run(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    match cdb[0] {
        codes::READ_6 | codes::READ_10 | codes::READ_12 | codes::READ_16 => read(unit, cdb),
        codes::WRITE_6 | codes::WRITE_10 | codes::WRITE_12 | codes::WRITE_16 => write(unit, command),
        codes::READ_CAPACITY_10 => report::capacity_10(unit, cdb),
        codes::WRITE_AND_VERIFY_10 | codes::WRITE_AND_VERIFY_12 | codes::WRITE_AND_VERIFY_16 => {
            write_and_verify(unit, command)
        }
        codes::VERIFY_10 | codes::VERIFY_12 | codes::VERIFY_16 => verify(unit, command),
        codes::PREFETCH_10 | codes::PREFETCH_16 => prefetch(unit, cdb),
        codes::SYNCHRONIZE_CACHE_10 | codes::SYNCHRONIZE_CACHE_16 => synchronize(unit, cdb),
        codes::WRITE_SAME_10 | codes::WRITE_SAME_16 => write_same(unit, command),
        codes::UNMAP => unmap(unit, command),
        codes::COMPARE_AND_WRITE => compare_and_write(unit, command),
        codes::OR_WRITE_16 => or_write(unit, command),
        codes::WRITE_ATOMIC_16 => write_atomic(unit, command),
        codes::SERVICE_ACTION_IN_16 => match codes::service_action(cdb) {
            service_in::READ_CAPACITY_16 => report::capacity_16(unit, cdb),
            service_in::GET_LBA_STATUS => block_status(unit, cdb),
            _ => Err(INVALID_FIELD.into()),
        },
        _ => Err(INVALID_OPCODE.into()),
    }
}

fn read(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    unprotected(cdb)?;
    let extent = Extent::of(cdb).within(unit)?.at_most(MAX_TRANSFER)?;
    if extent.blocks == 0 {
        return Ok(Done::nothing());
    }
    if stability(cdb) > Stable::Unstable {
        unit.volume.flush()?;
    }
    let read = unit.volume.read(extent.offset(), extent.len() as usize)?;
    Ok(Done::giving(Data::Read(read)))
}

/// The whole blocks that came of those that the command is about, and their bytes: an initiator may
/// send fewer.
fn sent(extent: Extent, out: &[u8]) -> &[u8] {
    let len = out.len().min(extent.len() as usize);
    &out[..len - len % BLOCK as usize]
}

fn write(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    unprotected(command.cdb)?;
    let extent = Extent::of(command.cdb).within(unit)?.at_most(MAX_TRANSFER)?;
    unit.check_writable()?;
    let data = sent(extent, command.out);
    let mut done = Done::taking(extent.len() as usize);
    if data.is_empty() {
        return Ok(done);
    }
    if stability(command.cdb) > Stable::Unstable {
        done.promise = Some(unit.volume.write_promised(extent.offset(), data)?);
    } else {
        unit.volume.write(extent.offset(), data, Stable::Unstable)?;
    }
    Ok(done)
}

/// All of it or nothing, whatever happens; nothing where the initiator sends less.
fn write_atomic(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    unprotected(cdb)?;
    let extent = Extent { lba: u64_at(cdb, 2), blocks: u16_at(cdb, 12).into() }.within(unit)?;
    let boundary = u16_at(cdb, 10);
    if boundary != 0 || extent.blocks > MAX_ATOMIC || command.out.len() < extent.len() as usize {
        return Err(INVALID_FIELD.into());
    }
    unit.check_writable()?;
    let len = extent.len() as usize;
    if len > 0 {
        unit.volume.write_whole(extent.offset(), &command.out[..len], stability(cdb))?;
    }
    Ok(Done::taking(len))
}

/// Where two runs of bytes differ first.
fn difference(ours: impl Iterator<Item = u8>, theirs: &[u8]) -> Option<usize> {
    ours.zip(theirs).position(|(our, their)| our != *their)
}

fn compare(unit: &LogicalUnit, extent: Extent, theirs: &[u8]) -> Result<(), Refusal> {
    let read = unit.volume.read(extent.offset(), theirs.len())?;
    if read.parts.iter().try_fold(theirs, |left, part| left.strip_prefix(part.bytes())).is_some() {
        return Ok(());
    }
    let ours = read.parts.iter().flat_map(engine_api::Slice::bytes).copied();
    Err(Sense::miscompare(difference(ours, theirs).unwrap_or(0) as u32).into())
}

/// BYTCHK of a command that verifies: nothing is compared, or all of it, or each block with the one
/// that came.
fn check_mode(cdb: &[u8]) -> Result<u8, Refusal> {
    unprotected(cdb)?;
    match cdb[1] >> 1 & 3 {
        2 => Err(INVALID_FIELD.into()),
        mode => Ok(mode),
    }
}

fn write_and_verify(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let mode = check_mode(command.cdb)?;
    let extent = Extent::of(command.cdb).within(unit)?.at_most(MAX_TRANSFER)?;
    if mode == 3 {
        return Err(INVALID_FIELD.into());
    }
    unit.check_writable()?;
    let data = sent(extent, command.out);
    if !data.is_empty() {
        unit.volume.write(extent.offset(), data, Stable::DataSync)?;
        match mode {
            // That it can be read is enough: others may write there meanwhile.
            0 => drop(unit.volume.read(extent.offset(), data.len())?),
            _ => compare(unit, extent, data)?,
        }
    }
    Ok(Done::taking(extent.len() as usize))
}

fn verify(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let mode = check_mode(command.cdb)?;
    let extent = Extent::of(command.cdb).within(unit)?.at_most(MAX_TRANSFER)?;
    if extent.blocks == 0 {
        return Ok(Done::nothing());
    }
    match mode {
        0 => {
            unit.volume.read(extent.offset(), extent.len() as usize)?;
            Ok(Done::nothing())
        }
        1 => {
            compare(unit, extent, sent(extent, command.out))?;
            Ok(Done::taking(extent.len() as usize))
        }
        _ => {
            let one = sent(Extent { blocks: 1, ..extent }, command.out);
            if !one.is_empty() {
                compare(unit, extent, &one.repeat(extent.blocks as usize))?;
            }
            Ok(Done::taking(BLOCK as usize))
        }
    }
}

/// Reading is soon enough: what is asked for need only exist.
fn prefetch(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    Extent::of(cdb).within(unit).map(|_| Done::nothing())
}

fn synchronize(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    Extent::of(cdb).within(unit)?;
    unit.volume.flush()?;
    Ok(Done::nothing())
}

fn write_same(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    unprotected(cdb)?;
    let (anchor, obsolete) = (cdb[1] & 0x10 != 0, cdb[1] & 0x06 != 0);
    let no_data = cdb[0] == codes::WRITE_SAME_16 && cdb[1] & 1 != 0;
    if anchor || obsolete {
        return Err(INVALID_FIELD.into());
    }
    let extent = Extent::of(cdb).within(unit)?;
    // WSNZ: no blocks do not mean all of them.
    if extent.blocks == 0 || extent.blocks > MAX_SAME {
        return Err(INVALID_FIELD.into());
    }
    unit.check_writable()?;
    if no_data {
        unit.volume.write_zeroes(extent.offset(), extent.len(), Stable::Unstable)?;
        return Ok(Done::nothing());
    }
    let block = command.out;
    if block.len() != BLOCK as usize {
        return Err(INVALID_FIELD.into());
    }
    // What reads as zeroes can as well be free, whether that was asked for or not.
    if block.iter().all(|byte| *byte == 0) {
        unit.volume.write_zeroes(extent.offset(), extent.len(), Stable::Unstable)?;
    } else {
        let pattern = block.repeat((extent.len().min(STEP) / BLOCK) as usize);
        for at in (0..extent.len()).step_by(STEP as usize) {
            let len = (extent.len() - at).min(STEP) as usize;
            unit.volume.write(extent.offset() + at, &pattern[..len], Stable::Unstable)?;
        }
    }
    Ok(Done::taking(BLOCK as usize))
}

fn unmap(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    if command.cdb[1] & 1 != 0 {
        return Err(INVALID_FIELD.into());
    }
    let len = u16_at(command.cdb, 7) as usize;
    if len == 0 {
        return Ok(Done::nothing());
    }
    let list = &command.out[..command.out.len().min(len)];
    if list.len() < 8 {
        return Err(PARAMETER_LIST_LENGTH.into());
    }
    let described = (u16_at(list, 2) as usize).min(list.len() - 8) / 16;
    if described > MAX_UNMAP_RANGES {
        return Err(INVALID_PARAMETER.into());
    }
    let descriptors = list[8..].chunks_exact(16).take(described);
    let extents: Vec<Extent> =
        descriptors.map(|one| Extent { lba: u64_at(one, 0), blocks: u32_at(one, 8).into() }).collect();
    if extents.iter().map(|extent| extent.blocks).sum::<u64>() > MAX_UNMAP {
        return Err(INVALID_PARAMETER.into());
    }
    extents.iter().try_for_each(|extent| extent.within(unit).map(drop))?;
    unit.check_writable()?;
    for extent in extents.iter().filter(|extent| extent.blocks > 0) {
        // What is unmapped reads as zeroes, also where it is less than a block of the volume.
        unit.volume.write_zeroes(extent.offset(), extent.len(), Stable::Unstable)?;
    }
    Ok(Done::taking(len))
}

fn compare_and_write(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    let cdb = command.cdb;
    unprotected(cdb)?;
    let extent = Extent { lba: u64_at(cdb, 2), blocks: cdb[13].into() };
    let extent = extent.at_most(MAX_COMPARE)?.within(unit)?;
    unit.check_writable()?;
    let len = extent.len() as usize;
    if command.out.len() != 2 * len {
        return Err(INVALID_FIELD.into());
    }
    if extent.blocks == 0 {
        return Ok(Done::nothing());
    }
    let (expected, new) = command.out.split_at(len);
    let mut differs = None;
    unit.volume.modify(extent.offset(), len, stability(cdb), &mut |bytes| {
        differs = difference(bytes.iter().copied(), expected);
        if differs.is_none() {
            bytes.copy_from_slice(new);
        }
        differs.is_none()
    })?;
    match differs {
        Some(at) => Err(Sense::miscompare(at as u32).into()),
        None => Ok(Done::taking(2 * len)),
    }
}

fn or_write(unit: &LogicalUnit, command: &Command<'_>) -> Result<Done, Refusal> {
    unprotected(command.cdb)?;
    let extent = Extent::of(command.cdb).within(unit)?.at_most(MAX_TRANSFER)?;
    unit.check_writable()?;
    let data = sent(extent, command.out);
    if !data.is_empty() {
        unit.volume.modify(extent.offset(), data.len(), stability(command.cdb), &mut |bytes| {
            bytes.iter_mut().zip(data).for_each(|(byte, bits)| *byte |= bits);
            true
        })?;
    }
    Ok(Done::taking(extent.len() as usize))
}

/// GET LBA STATUS: which blocks are mapped, as far as there is room to say it.
fn block_status(unit: &LogicalUnit, cdb: &[u8]) -> Result<Done, Refusal> {
    let (lba, room) = (u64_at(cdb, 2), u32_at(cdb, 10) as usize);
    Extent { lba, blocks: 1 }.within(unit)?;
    let size = unit.geometry()?.size;
    let mut bytes = vec![0; 8];
    let mut at = lba * BLOCK;
    for _ in 0..MAX_STATUS.min(room.saturating_sub(8).div_ceil(16).max(1)) {
        if at >= size {
            break;
        }
        let is_data = unit.volume.seek(at, Seek::Data)? == at;
        let end = unit.volume.seek(at, if is_data { Seek::Hole } else { Seek::Data })?.min(size);
        let blocks = ((end - at) / BLOCK).min(u64::from(u32::MAX));
        if blocks == 0 {
            break;
        }
        bytes.extend((at / BLOCK).to_be_bytes());
        bytes.extend((blocks as u32).to_be_bytes());
        bytes.extend([u8::from(!is_data), 0, 0, 0]);
        at += blocks * BLOCK;
    }
    let len = bytes.len() as u32 - 4;
    bytes[..4].copy_from_slice(&len.to_be_bytes());
    Ok(Done::bytes(cut(bytes, room)))
}
