//! The objects of one object set, and one object in full.

use std::io::{self, Write};
use std::sync::Arc;

use dmu::objset::META_OBJECT;
use dmu::{Dnode, Objset};
use ondisk::dnode::{DnodePhys, SLOTS_PER_BLOCK};
use ondisk::object_type::ObjectType;
use ondisk::objset::{GROUPUSED_OBJECT, PROJECTUSED_OBJECT, USERUSED_OBJECT};
use ondisk::{ChecksumKind, CompressKind};

use super::catalog::{MOS, kind_name};
use super::human::Table;
use super::open::Opened;
use super::options::Wanted;
use super::{CLEAN, PROBLEMS, Shown, blocks, bonus, content, human, text};

const HEADS: [&str; 9] =
    [">OBJECT", ">LVL", ">IBLK", ">DBLK", ">DSIZE", ">DNSIZE", ">LSIZE", ">%FULL", "TYPE"];
/// Rows that are aligned with each other, and kept in memory.
const PAGE: usize = 4096;

/// The list of objects, or one of them.
pub fn show(
    opened: &Opened,
    wanted: &Wanted,
    with_blocks: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<i32> {
    let objset = match open_objset(opened, &wanted.dataset) {
        Ok(objset) => objset,
        Err(why) => {
            writeln!(err, "cistern inspect: {}: {why}", wanted.dataset)?;
            return Ok(PROBLEMS);
        }
    };
    let Some(object) = wanted.object else { return list(&objset, &wanted.dataset, out, err) };
    let shown = match special(&objset, object) {
        Some(phys) => one_special(opened, object, &phys, with_blocks, out),
        None => match objset.hold(object) {
            Ok(dnode) => one(opened, &objset, &dnode, with_blocks, out),
            Err(error) => Ok(Err(error)),
        },
    };
    match shown? {
        Ok(()) => Ok(CLEAN),
        Err(error) => {
            out.flush()?;
            writeln!(err, "cistern inspect: {}, object {object}: {error}", wanted.dataset)?;
            Ok(PROBLEMS)
        }
    }
}

fn open_objset(opened: &Opened, name: &str) -> Result<Arc<Objset>, String> {
    if name == MOS {
        return Ok(opened.mos().clone());
    }
    let dsl = &opened.pool.dsl;
    let dataset = match name.parse() {
        Ok(number) => dsl.open_by_object(number),
        Err(_) => dsl.open_dataset(name),
    };
    dataset.map(|dataset| dataset.objset().clone()).map_err(|error| error.to_string())
}

/// The objects that have no number of their own: they are in the object set's block.
fn special(objset: &Objset, object: u64) -> Option<DnodePhys> {
    let phys = objset.phys();
    match object {
        META_OBJECT => Some(phys.meta_dnode),
        USERUSED_OBJECT => phys.userused_dnode,
        GROUPUSED_OBJECT => phys.groupused_dnode,
        PROJECTUSED_OBJECT => phys.projectused_dnode,
        _ => None,
    }
}

fn list(objset: &Arc<Objset>, name: &str, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let phys = objset.phys();
    let kind = kind_name(Some(phys.objset_type));
    writeln!(
        out,
        "Dataset {} [{kind}], {} objects",
        text::printable(name.as_bytes()),
        objset.object_count()
    )?;
    if !phys.zil_header.log.is_hole() {
        let claimed = phys.zil_header.claim_txg;
        writeln!(out, "intent log, claimed in txg {claimed}: {}", text::blkptr(&phys.zil_header.log))?;
    }
    let mut table = Table::new(&HEADS);
    for object in [META_OBJECT, USERUSED_OBJECT, GROUPUSED_OBJECT, PROJECTUSED_OBJECT] {
        if let Some(phys) = special(objset, object) {
            table.row(row(object, &phys));
        }
    }
    let mut status = CLEAN;
    let (mut after, mut rows) = (0, 0);
    loop {
        match objset.next_object(after, 0) {
            Ok(Some(object)) => after = object,
            Ok(None) => break,
            Err(error) => {
                writeln!(err, "cistern inspect: objects of {name} after {after}: {error}")?;
                status = PROBLEMS;
                break;
            }
        }
        match objset.hold(after) {
            Ok(dnode) => table.row(row(after, &dnode.phys())),
            Err(error) => {
                writeln!(err, "cistern inspect: {name}, object {after}: {error}")?;
                status = PROBLEMS;
            }
        }
        rows += 1;
        if rows % PAGE == 0 {
            std::mem::replace(&mut table, Table::new(&HEADS)).write(0, out)?;
        }
    }
    table.write(0, out)?;
    Ok(status)
}

/// Special objects have negative numbers, as `zdb` shows them.
fn number(object: u64) -> String {
    (object as i64).to_string()
}

fn row(object: u64, phys: &DnodePhys) -> Vec<String> {
    let logical = phys.maxblkid.saturating_add(1).saturating_mul(phys.data_block_size());
    let fill: u64 = phys.blkptrs.iter().fold(0, |sum, bp| sum.wrapping_add(bp.fill()));
    // Of the object of dnodes, what is counted is dnodes.
    let per_block = if object == META_OBJECT { SLOTS_PER_BLOCK as f64 } else { 1.0 };
    let full = 100.0 * fill as f64 * phys.data_block_size() as f64 / per_block / logical.max(1) as f64;
    vec![
        number(object),
        phys.nlevels.to_string(),
        human::bytes(phys.indirect_block_size()),
        human::bytes(phys.data_block_size()),
        human::bytes(phys.used_bytes()),
        phys.size().to_string(),
        human::bytes(logical),
        format!("{full:.2}"),
        kinds(phys),
    ]
}

/// Type, bonus, and what differs from the data set's own settings.
fn kinds(phys: &DnodePhys) -> String {
    let mut text = phys.object_type.name().to_owned();
    if phys.bonus_type != ObjectType::NONE {
        text += &format!(", {} bytes {}", phys.bonus.len(), phys.bonus_type.name());
    }
    if phys.checksum != ChecksumKind::Inherit as u8 {
        let name = ChecksumKind::from_raw(phys.checksum).map_or("?", ChecksumKind::name);
        text += &format!(" (K={name})");
    }
    if phys.compress != CompressKind::Inherit as u8 {
        let name = CompressKind::from_raw(phys.compress).map_or("?", CompressKind::name);
        text += &format!(" (Z={name})");
    }
    text
}

fn head(object: u64, phys: &DnodePhys, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&HEADS);
    table.row(row(object, phys));
    table.write(0, out)?;
    text::field(2, "dnode flags", format!("{:#x}", phys.flags), out)?;
    text::field(2, "dnode maxblkid", phys.maxblkid, out)?;
    text::field(2, "used", format!("{} bytes", phys.used_bytes()), out)
}

fn one(
    opened: &Opened,
    objset: &Arc<Objset>,
    dnode: &Arc<Dnode>,
    with_blocks: bool,
    out: &mut dyn Write,
) -> Shown {
    let phys = dnode.phys();
    head(dnode.object(), &phys, out)?;
    let decoded = bonus::show(objset, dnode, out)?;
    let read = content::show(objset, dnode, out)?;
    let walked = if with_blocks { blocks::show(opened, dnode.object(), &phys, out)? } else { Ok(()) };
    Ok(decoded.and(read).and(walked))
}

fn one_special(
    opened: &Opened,
    object: u64,
    phys: &DnodePhys,
    with_blocks: bool,
    out: &mut dyn Write,
) -> Shown {
    head(object, phys, out)?;
    if with_blocks { blocks::show(opened, object, phys, out) } else { Ok(Ok(())) }
}
