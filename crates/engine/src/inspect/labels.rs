//! What one device says of itself: its labels, its ring of uberblocks.

use std::io::{self, Write};

use ondisk::label;
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;

use super::open::Device;
use super::options::Options;
use super::{human, text};

const LINE: &str = "------------------------------------";

/// The summary, and with `-l` and `-u` the whole.
pub fn show(device: &Device, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let part = match device.base {
        0 => String::new(),
        base => format!(", ZFS partition of {} at {}", human::bytes(device.part), human::bytes(base)),
    };
    writeln!(out, "{}: {}{part}", text::printable(device.path.as_bytes()), human::bytes(device.size))?;
    summary(device, out)?;
    if options.labels {
        configurations(device, out)?;
    }
    if options.labels || options.uberblocks {
        uberblocks(device, out)?;
    }
    writeln!(out)
}

fn summary(device: &Device, out: &mut dyn Write) -> io::Result<()> {
    let labels = &device.labels;
    let good: Vec<String> =
        (0..label::COUNT).filter(|&n| labels.configs[n].is_some()).map(|n| n.to_string()).collect();
    let Some(config) = labels.config() else {
        return match labels.uberblocks.len() {
            0 => writeln!(out, "  no pool label"),
            count => writeln!(out, "  no label can be read, but {count} uberblocks can"),
        };
    };
    let all = if good.len() == label::COUNT { "all good" } else { "the others are damaged" };
    text::field(2, "labels", format!("{} ({all})", good.join(" ")), out)?;
    let word = |name: &str| config.u64(name).unwrap_or(0);
    let name = text::printable(config.string(key::POOL_NAME).unwrap_or("?").as_bytes());
    let state = config.u64(key::POOL_STATE).and_then(PoolState::from_raw).map_or("unknown", state_name);
    let line = format!("{name}, guid {}, {state}, version {}", word(key::POOL_GUID), word(key::VERSION));
    text::field(2, "pool", line, out)?;
    if let Some(tree) = config.nvlist(key::VDEV_TREE) {
        let kind = text::printable(tree.string(key::TYPE).unwrap_or("?").as_bytes());
        let (id, ashift) = (tree.u64(key::ID).unwrap_or(0), tree.u64(key::ASHIFT).unwrap_or(0));
        let place = format!("guid {} in top-level vdev {id} ({kind}), ashift {ashift}", word(key::GUID));
        text::field(2, "device", place, out)?;
    }
    if word(key::HOSTID) != 0 {
        let host = text::printable(config.string(key::HOSTNAME).unwrap_or("?").as_bytes());
        text::field(2, "last used by", format!("{host} (hostid {:08x})", word(key::HOSTID)), out)?;
    }
    if let (Some(newest), Some(oldest)) = (labels.uberblocks.first(), labels.uberblocks.last()) {
        let count = labels.uberblocks.len();
        let when = human::time(newest.timestamp);
        let range = format!("txg {} of {when} UTC; {count} back to txg {}", newest.txg, oldest.txg);
        text::field(2, "uberblocks", range, out)?;
    }
    Ok(())
}

pub fn state_name(state: PoolState) -> &'static str {
    match state {
        PoolState::Active => "in use",
        PoolState::Exported => "exported",
        PoolState::Destroyed => "destroyed",
        PoolState::Spare => "spare",
        PoolState::L2cache => "cache device",
    }
}

/// Each different configuration once, with the labels that have it.
fn configurations(device: &Device, out: &mut dyn Write) -> io::Result<()> {
    let configs = &device.labels.configs;
    let same = |a: usize, b: usize| configs[a].is_some() && configs[a] == configs[b];
    for (n, config) in configs.iter().enumerate() {
        writeln!(out, "{LINE}\nLABEL {n}\n{LINE}")?;
        let config: &NvList = match config {
            None => {
                writeln!(out, "failed to read label {n}")?;
                continue;
            }
            Some(config) => config,
        };
        if let Some(first) = (0..n).find(|&first| same(first, n)) {
            writeln!(out, "    as label {first}")?;
            continue;
        }
        text::nvlist(config, 4, out)?;
        let holders: Vec<String> = (n..label::COUNT).filter(|&m| same(n, m)).map(|m| m.to_string()).collect();
        writeln!(out, "    labels = {} ", holders.join(" "))?;
    }
    Ok(())
}

fn uberblocks(device: &Device, out: &mut dyn Write) -> io::Result<()> {
    let tree = device.labels.config().and_then(|config| config.nvlist(key::VDEV_TREE));
    let ashift = tree.and_then(|tree| tree.u64(key::ASHIFT)).unwrap_or(0).min(64) as u32;
    for uberblock in device.labels.uberblocks.iter().rev() {
        writeln!(out, "    Uberblock[{}]", uberblock.txg % label::slot_count(ashift))?;
        self::uberblock(uberblock, out)?;
    }
    Ok(())
}

/// The fields of one, as `zdb -u` has them.
pub fn uberblock(uberblock: &Uberblock, out: &mut dyn Write) -> io::Result<()> {
    let when = human::time(uberblock.timestamp);
    writeln!(out, "\tversion = {}", uberblock.version)?;
    writeln!(out, "\ttxg = {}", uberblock.txg)?;
    writeln!(out, "\tguid_sum = {}", uberblock.guid_sum)?;
    writeln!(out, "\ttimestamp = {} ({when} UTC)", uberblock.timestamp)?;
    if let Some(mmp) = uberblock.mmp() {
        writeln!(out, "\tmmp_delay = {}", uberblock.mmp_delay)?;
        let shown = [
            ("mmp_seq", mmp.sequence.map(u32::from)),
            ("mmp_write_interval", mmp.interval_ms),
            ("mmp_fail_intervals", mmp.fail_intervals.map(u32::from)),
        ];
        for (name, value) in shown {
            if let Some(value) = value {
                writeln!(out, "\t{name} = {value}")?;
            }
        }
    }
    if uberblock.checkpoint_txg != 0 {
        writeln!(out, "\tcheckpoint_txg = {}", uberblock.checkpoint_txg)?;
    }
    writeln!(out, "\trootbp = {}", text::blkptr(&uberblock.root_bp))
}
