//! Faults of blocks: by bookmark (`-b`), or by the object that they belong to (`-t`).
//!
//! Facts: OpenZFS's cmd/zinject/zinject.c, translate.c.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, fail, usage};
use crate::getopt::Parsed;
use api_types::{BlockError, BlockFault, BlockKind, BlockRange, Fault, Mount, routes};
use std::os::unix::fs::MetadataExt;
use stdx::names::is_at_or_below;
use stdx::number;
use stdx::os_error::words;

use super::{ALWAYS, pool, rate, register};

/// Types of objects of the meta object set.
const OF_POOL: [(&str, BlockKind); 7] = [
    ("mos", BlockKind::Mos),
    ("mosdir", BlockKind::MosDir),
    ("metaslab", BlockKind::Metaslab),
    ("config", BlockKind::Config),
    ("bpobj", BlockKind::Bpobj),
    ("spacemap", BlockKind::SpaceMap),
    ("errlog", BlockKind::ErrorLog),
];

/// `-b objset:object:level:blkid`
pub fn raw(options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    if ["t", "r", "l", "C", "f"].iter().any(|option| options.has(option)) {
        return usage("raw (-b) format with any other options");
    }
    let [name] = options.operands.as_slice() else {
        return usage("raw (-b) format expects a single pool name");
    };
    let text = options.value("b").unwrap_or_default();
    let numbers: Vec<u64> = text
        .split(':')
        .map_while(|part| u64::from_str_radix(part.trim_start_matches("0x"), 16).ok())
        .collect();
    let (&[objset, object, level, blkid], 4) = (numbers.as_slice(), text.split(':').count()) else {
        return fail(format!("bookmark '{text}' must be of the form 'objset:object:level:blkid'"));
    };
    pool(client, name)?;
    let fault = BlockFault {
        pool: name.clone(),
        objset,
        object,
        level: u8::try_from(level).unwrap_or(u8::MAX),
        range: BlockRange::Blocks(blkid, blkid),
        error: error(options)?,
        rate: ALWAYS,
        ..BlockFault::default()
    };
    register(Fault::Blocks(fault), options, client, io)
}

/// `-t type`
pub fn of_type(options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<i32, Stop> {
    let word = options.value("t").unwrap_or_default();
    let [object] = options.operands.as_slice() else {
        return usage(if options.operands.is_empty() { "missing object" } else { "too many arguments" });
    };
    let copies = copies(options)?;
    let level = |text: &str| text.parse::<u8>().or_else(|_| usage(format!("invalid level '{text}'")));
    let level = options.value("l").map_or(Ok(0), level)?;
    let range = options.value("r").map_or(Ok(BlockRange::All), range)?;
    let plain =
        BlockFault { level, copies, error: error(options)?, rate: rate(options)?, ..BlockFault::default() };
    let fault = match (word, OF_POOL.iter().find(|(name, _)| *name == word)) {
        (_, Some((_, kind))) => {
            pool(client, object)?;
            BlockFault { pool: object.clone(), kind: *kind, range, ..plain }
        }
        ("data", _) => BlockFault { kind: BlockKind::Object, range, ..file(object, plain, client)? },
        ("dnode", _) if range != BlockRange::All => {
            return fail("range cannot be specified when type is 'dnode'");
        }
        ("dnode", _) => BlockFault { kind: BlockKind::Dnode, ..file(object, plain, client)? },
        _ => return usage(format!("invalid type '{word}'")),
    };
    register(Fault::Blocks(fault), options, client, io)
}

/// A file below a local mount: its number is its object's.
fn file(path: &str, fault: BlockFault, client: &Client) -> Result<BlockFault, Stop> {
    if !path.starts_with('/') {
        return fail(format!("invalid object '{path}': must be absolute path"));
    }
    client.must_be_here(path)?;
    let found = std::fs::symlink_metadata(path);
    let object = match &found {
        Ok(found) => found.ino(),
        Err(error) => return fail(format!("cannot open '{path}': {}", words(error))),
    };
    let mounts: Vec<Mount> = client.get(routes::MOUNTS)?;
    let is_below = |mount: &&Mount| is_at_or_below(path, mount.mountpoint.trim_end_matches('/'));
    let Some(mount) = mounts.iter().filter(is_below).max_by_key(|mount| mount.mountpoint.len()) else {
        return fail(format!("'{path}' is not in a ZFS filesystem"));
    };
    let pool = mount.dataset.split('/').next().unwrap_or_default().to_owned();
    Ok(BlockFault { pool, dataset: Some(mount.dataset.clone()), object, ..fault })
}

fn error(options: &Parsed) -> Result<BlockError, Stop> {
    match options.value("e").map(str::to_ascii_lowercase).as_deref() {
        None | Some("io") => Ok(BlockError::Io),
        Some("checksum") => Ok(BlockError::Checksum),
        Some(_) => fail("data error type must be 'checksum' or 'io'"),
    }
}

/// `-C`: numbers of copies.
fn copies(options: &Parsed) -> Result<u8, Stop> {
    let Some(text) = options.value("C") else { return Ok(0) };
    let mut copies = 0;
    for part in text.split(',') {
        match part.parse::<u8>() {
            Ok(copy @ 0..=2) => copies |= 1 << copy,
            _ => return usage(format!("invalid DVA list '{text}', must be of form '0,1,2'")),
        }
    }
    Ok(copies)
}

/// `-r start[,end]`: the end is not of the range; none is the end of everything.
fn range(text: &str) -> Result<BlockRange, Stop> {
    let (first, end) = match text.split_once(',') {
        Some((first, end)) => (number::parse(first), number::parse(end)),
        None => (number::parse(text), Ok(u64::MAX)),
    };
    match (first, end) {
        (Ok(first), Ok(end)) if first < end => Ok(BlockRange::Bytes(first, end - 1)),
        _ => fail(format!("invalid range '{text}': must be in the form 'start[,end]'")),
    }
}

pub fn describe(fault: &BlockFault, io: &mut Io<'_>) -> Result<(), Stop> {
    writeln!(io.out, "  pool: {}", fault.pool)?;
    writeln!(io.out, "objset: {}", fault.objset)?;
    writeln!(io.out, "object: {}", fault.object)?;
    writeln!(io.out, "  type: {}", type_name(fault.kind))?;
    writeln!(io.out, " level: {}", fault.level)?;
    writeln!(io.out, " range: {}", range_words(fault.range))?;
    Ok(writeln!(io.out, "  dvas: {:#x}", fault.copies)?)
}

pub fn type_name(kind: BlockKind) -> &'static str {
    match kind {
        BlockKind::Object => "data",
        BlockKind::Dnode => "dnode",
        kind => OF_POOL.iter().find(|(_, of_pool)| *of_pool == kind).map_or("-", |(name, _)| name),
    }
}

pub fn range_words(range: BlockRange) -> String {
    match range {
        BlockRange::All => "all".to_owned(),
        BlockRange::Blocks(first, last) | BlockRange::Bytes(first, last) => format!("[{first}, {last}]"),
    }
}
