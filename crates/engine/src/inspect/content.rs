//! What is in an object, where that is a structure and not somebody's data.

use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use dmu::zap::{Entry, Value};
use dmu::{Bpobj, DmuError, Dnode, Objset, Zap};
use ondisk::Malformed;
use ondisk::malformed::{Endian, u64_at};
use ondisk::nvlist::NvList;
use ondisk::object_type::ObjectType;
use ondisk::spacemap::{self, Entries, MapType, SpaceMapPhys};
use ondisk::znode::{self, Dirent};

use super::{Shown, text};

/// Longest packed list believed.
const PACKED_MAX: u64 = 16 << 20;
/// Bytes of an array that are shown.
const ARRAY_MAX: u64 = 1 << 20;
/// Items of a value that are shown.
const ITEMS_MAX: usize = 64;

/// Prints it; the inner error is the pool's, the outer the terminal's.
pub fn show(objset: &Arc<Objset>, dnode: &Arc<Dnode>, out: &mut dyn Write) -> Shown {
    match dnode.object_type() {
        kind if kind.is_zap() => zap(dnode, out),
        ObjectType::PACKED_NVLIST => packed(dnode, out),
        ObjectType::SPACE_MAP => space_map(dnode, out),
        ObjectType::BPOBJ => pointers(objset, dnode, out),
        ObjectType::OBJECT_ARRAY => array(dnode, out),
        _ => Ok(Ok(())),
    }
}

/// Goes on with what was read, or hands the error up.
macro_rules! read {
    ($result:expr) => {
        match $result {
            Ok(read) => read,
            Err(error) => return Ok(Err(error)),
        }
    };
}

fn zap(dnode: &Arc<Dnode>, out: &mut dyn Write) -> Shown {
    let zap = read!(Zap::of(dnode.clone()));
    let info = read!(zap.info());
    let form = format!("{:?}", info.form).to_lowercase();
    writeln!(
        out,
        "  {form} ZAP: {} entries, salt {:x}, normalization {:#x}",
        info.entries, info.salt, info.normflags
    )?;
    if info.leafs > 0 {
        writeln!(out, "    {} leafs, {} blocks", info.leafs, info.blocks)?;
    }
    for entry in zap.iter() {
        let entry = read!(entry);
        writeln!(out, "    {} = {}", key(&entry), value(&entry, dnode.object_type()))?;
    }
    Ok(Ok(()))
}

fn key(entry: &Entry) -> String {
    if entry.words.is_empty() {
        return text::printable(&entry.name);
    }
    let words: Vec<String> = entry.words.iter().map(|word| format!("{word:#x}")).collect();
    words.join(":")
}

fn value(entry: &Entry, kind: ObjectType) -> String {
    let join = |items: Vec<String>| {
        let more = if items.len() > ITEMS_MAX { " …" } else { "" };
        items.into_iter().take(ITEMS_MAX).collect::<Vec<_>>().join(" ") + more
    };
    match &entry.value {
        Value::U64(words) if kind == ObjectType::DIRECTORY_CONTENTS && words.len() == 1 => {
            let dirent = Dirent::decode(words[0]);
            format!("{} ({})", dirent.object, file_kind(dirent.kind))
        }
        Value::U8(bytes) => match bytes.split_last() {
            Some((0, string)) if !string.contains(&0) => format!("'{}'", text::printable(string)),
            _ => text::hex(&bytes[..bytes.len().min(ITEMS_MAX)]),
        },
        Value::U16(words) => join(words.iter().map(u16::to_string).collect()),
        Value::U32(words) => join(words.iter().map(u32::to_string).collect()),
        Value::U64(words) => join(words.iter().map(u64::to_string).collect()),
    }
}

fn file_kind(kind: u8) -> &'static str {
    match kind {
        znode::kind::FIFO => "FIFO",
        znode::kind::CHAR => "character device",
        znode::kind::DIR => "directory",
        znode::kind::BLOCK => "block device",
        znode::kind::FILE => "file",
        znode::kind::SYMLINK => "symbolic link",
        znode::kind::SOCKET => "socket",
        _ => "type not given",
    }
}

fn packed(dnode: &Dnode, out: &mut dyn Write) -> Shown {
    let corrupt = |_: Malformed| DmuError::Corrupt { object: dnode.object(), block: 0 };
    let bonus = dnode.bonus();
    let size = read!(u64_at(&bonus.bytes, 0, Endian::Little, "packed nvlist size").map_err(corrupt));
    if size > PACKED_MAX {
        return Ok(Err(DmuError::TooBig));
    }
    let bytes = read!(dnode.read_bytes(0, size as usize));
    let list = read!(NvList::decode(&bytes).map_err(corrupt));
    text::nvlist(&list, 4, out)?;
    Ok(Ok(()))
}

fn space_map(dnode: &Dnode, out: &mut dyn Write) -> Shown {
    let corrupt = |_: Malformed| DmuError::Corrupt { object: dnode.object(), block: 0 };
    let bonus = dnode.bonus();
    let phys = read!(SpaceMapPhys::decode(&bonus.bytes).map_err(corrupt));
    writeln!(out, "  entries, in sectors of the vdev:")?;
    let block_size = u64::from(dnode.block_size());
    let mut at = 0;
    while at < phys.length {
        let Some(block) = read!(dnode.block(at / block_size)) else {
            return Ok(Err(DmuError::Corrupt { object: dnode.object(), block: at / block_size }));
        };
        let counted = (phys.length - at).min(block_size) as usize;
        for entry in Entries::new(block.get(..counted).unwrap_or(&block)) {
            match read!(entry.map_err(corrupt)) {
                spacemap::Entry::Debug { txg: 0, .. } => {}
                spacemap::Entry::Debug { sync_pass, txg, .. } => {
                    writeln!(out, "    in txg {txg}, pass {sync_pass}")?;
                }
                spacemap::Entry::Segment { kind, offset, run, vdev } => {
                    let what = if kind == MapType::Alloc { "ALLOC" } else { "FREE " };
                    let vdev = vdev.map_or(String::new(), |vdev| format!(" vdev {vdev}"));
                    writeln!(out, "    {what} {offset:x} + {run:x}{vdev}")?;
                }
            }
        }
        at += block_size;
    }
    Ok(Ok(()))
}

fn pointers(objset: &Arc<Objset>, dnode: &Dnode, out: &mut dyn Write) -> Shown {
    let list = read!(Bpobj::open(objset, dnode.object()));
    let mut written = Ok(());
    let shown: Result<ControlFlow<()>, DmuError> = list.iterate(|bp, freed| {
        let mark = if freed { "freed " } else { "" };
        written = writeln!(out, "    {mark}{}", text::blkptr(bp));
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    written?;
    Ok(shown.map(|_| ()))
}

fn array(dnode: &Dnode, out: &mut dyn Write) -> Shown {
    let length = (dnode.max_blkid().saturating_add(1)).saturating_mul(u64::from(dnode.block_size()));
    let bytes = read!(dnode.read_bytes(0, length.min(ARRAY_MAX) as usize));
    for index in 0..bytes.len() / 8 {
        let word = u64_at(&bytes, index * 8, Endian::Little, "object array").unwrap_or(0);
        if word != 0 {
            writeln!(out, "    [{index}] = {word}")?;
        }
    }
    Ok(Ok(()))
}
