//! What is in an object's bonus: the structure its owner keeps there.

use std::io::{self, Write};
use std::sync::Arc;

use dmu::sa::Sa;
use dmu::{Bonus, DmuError, Dnode, Objset, Zap};
use ondisk::Malformed;
use ondisk::bpobj::BpobjPhys;
use ondisk::dsl_dataset::DslDatasetPhys;
use ondisk::dsl_dir::DslDirPhys;
use ondisk::malformed::u64_at;
use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;
use ondisk::spacemap::SpaceMapPhys;
use ondisk::znode::{self, attr, master};

use super::{Shown, human, text};

/// Bytes of an unknown bonus that are printed.
const HEX_MAX: usize = 64;
/// Width of names.
const INDENT: usize = 4;

/// Decodes and prints; the inner error is the pool's, the outer the terminal's.
pub fn show(objset: &Arc<Objset>, dnode: &Arc<Dnode>, out: &mut dyn Write) -> Shown {
    let bonus = dnode.bonus();
    if bonus.bonus_type == ObjectType::NONE {
        return Ok(Ok(()));
    }
    writeln!(out, "  bonus: {}, {} bytes", bonus.bonus_type.name(), bonus.bytes.len())?;
    let corrupt = |_: Malformed| DmuError::Corrupt { object: dnode.object(), block: 0 };
    match bonus.bonus_type {
        ObjectType::DSL_DATASET => dataset(&bonus, out).map(|decoded| decoded.map_err(corrupt)),
        ObjectType::DSL_DIR => structure(DslDirPhys::decode(&bonus.bytes), out, corrupt),
        ObjectType::SPACE_MAP_HEADER => structure(SpaceMapPhys::decode(&bonus.bytes), out, corrupt),
        ObjectType::BPOBJ_HDR => structure(BpobjPhys::decode(&bonus.bytes), out, corrupt),
        ObjectType::PACKED_NVLIST_SIZE => {
            match u64_at(&bonus.bytes, 0, ondisk::Endian::Little, "packed nvlist size") {
                Ok(size) => text::field(INDENT, "bytes", size, out).map(Ok),
                Err(error) => Ok(Err(corrupt(error))),
            }
        }
        ObjectType::SA | ObjectType::ZNODE if objset.kind() == ObjsetType::Zfs => {
            attributes(objset, dnode, out)
        }
        _ => {
            let shown = &bonus.bytes[..bonus.bytes.len().min(HEX_MAX)];
            text::field(INDENT, "bytes", text::hex(shown), out).map(Ok)
        }
    }
}

/// The fields of a structure of numbers, by their names on disk.
fn structure<T: std::fmt::Debug>(
    decoded: Result<T, Malformed>,
    out: &mut dyn Write,
    corrupt: impl Fn(Malformed) -> DmuError,
) -> Shown {
    match decoded {
        Ok(fields) => fields_of(&fields, out).map(Ok),
        Err(error) => Ok(Err(corrupt(error))),
    }
}

fn fields_of(fields: &impl std::fmt::Debug, out: &mut dyn Write) -> io::Result<()> {
    let debug = format!("{fields:#?}");
    for line in debug.lines() {
        // The first and last lines are the structure's name and its end.
        if let Some((name, value)) = line.strip_prefix("    ").and_then(|line| line.split_once(": ")) {
            text::field(INDENT, name, value.trim_end_matches(','), out)?;
        }
    }
    Ok(())
}

fn dataset(bonus: &Bonus, out: &mut dyn Write) -> io::Result<Result<(), Malformed>> {
    let phys = match DslDatasetPhys::decode(&bonus.bytes) {
        Ok(phys) => phys,
        Err(error) => return Ok(Err(error)),
    };
    let numbers = [
        ("dir_obj", phys.dir_obj),
        ("prev_snap_obj", phys.prev_snap_obj),
        ("prev_snap_txg", phys.prev_snap_txg),
        ("next_snap_obj", phys.next_snap_obj),
        ("snapnames_zapobj", phys.snapnames_zapobj),
        ("num_children", phys.num_children),
        ("userrefs_obj", phys.userrefs_obj),
        ("creation_txg", phys.creation_txg),
        ("deadlist_obj", phys.deadlist_obj),
        ("used_bytes", phys.referenced_bytes),
        ("compressed_bytes", phys.compressed_bytes),
        ("uncompressed_bytes", phys.uncompressed_bytes),
        ("unique", phys.unique_bytes),
        ("fsid_guid", phys.fsid_guid),
        ("guid", phys.guid),
        ("next_clones_obj", phys.next_clones_obj),
        ("props_obj", phys.props_obj),
    ];
    text::field(INDENT, "creation_time", format!("{} UTC", human::time(phys.creation_time)), out)?;
    for (name, number) in numbers {
        text::field(INDENT, name, number, out)?;
    }
    text::field(INDENT, "flags", format!("{:#x}", phys.flags), out)?;
    text::field(INDENT, "bp", text::blkptr(&phys.bp), out)?;
    Ok(Ok(()))
}

/// The attributes of a file: in the bonus and, if there is one, the spill block.
fn attributes(objset: &Arc<Objset>, dnode: &Dnode, out: &mut dyn Write) -> Shown {
    let read = Zap::open(objset, znode::MASTER_NODE).and_then(|master| {
        // Old file systems have no attribute tables; the layout of their bonus is fixed.
        let sa = Sa::open(objset, master.find_u64(master::SA_ATTRS)?.unwrap_or(0))?;
        let view = sa.read_all(dnode)?;
        Ok((sa, view))
    });
    let (sa, view) = match read {
        Ok(read) => read,
        Err(error) => return Ok(Err(error)),
    };
    for attr in attr::ALL {
        let (Some(value), name) = (sa.get(&view, &attr), attr.name.trim_start_matches("ZPL_").to_lowercase())
        else {
            continue;
        };
        let word = sa.word(&view, &attr).unwrap_or(0);
        let shown = match attr.name {
            "ZPL_MODE" => format!("{word:o}"),
            "ZPL_FLAGS" => format!("{word:#x}"),
            "ZPL_ATIME" | "ZPL_MTIME" | "ZPL_CTIME" | "ZPL_CRTIME" => {
                let [secs, nanos] = sa.pair(&view, &attr).unwrap_or_default();
                format!("{}.{nanos:09} UTC", human::time(secs))
            }
            "ZPL_SYMLINK" => text::printable(&value),
            "ZPL_RDEV" => {
                let (major, minor) = znode::decode_rdev(word);
                format!("{major}, {minor}")
            }
            _ if value.len() == 8 => word.to_string(),
            _ => format!("{} bytes {}", value.len(), text::hex(&value[..value.len().min(HEX_MAX)])),
        };
        text::field(INDENT, &name, shown, out)?;
    }
    Ok(Ok(()))
}
