//! A pool at a glance: what it is, what it is made of, which features it uses.

use std::io::{self, Write};

use ::pool::feature::judge;
use ::pool::spa::labels::FoundPool;
use ::pool::spa::status::{VdevReport, found_state};
use ondisk::feature::{self, Feature};
use storage::VdevConfig;

use super::human::Table;
use super::labels::{state_name, uberblock};
use super::open::Opened;
use super::options::Options;
use super::{human, text};

/// The head of the report.
pub fn show(opened: &Opened, out: &mut dyn Write) -> io::Result<()> {
    let pool = &opened.pool;
    let config = pool.config();
    let space = opened.storage().space();
    writeln!(out, "pool {}", text::printable(pool.name().as_bytes()))?;
    text::field(2, "guid", pool.guid(), out)?;
    text::field(2, "state", state_name(opened.state), out)?;
    text::field(2, "version", config.version, out)?;
    text::field(2, "txg", opened.txg(), out)?;
    let percent = space.allocated.saturating_mul(100).checked_div(space.capacity).unwrap_or(0);
    let (used, all) = (human::bytes(space.allocated), human::bytes(space.capacity));
    text::field(2, "allocated", format!("{used} of {all} ({percent}%)"), out)?;
    if let Some(comment) = &config.comment {
        text::field(2, "comment", text::printable(comment.as_bytes()), out)?;
    }
    writeln!(out, "\nconfiguration")?;
    let mut table = Table::new(&["NAME", "STATE", ">ASHIFT", ">SIZE", ">ALLOC", "GUID"]);
    add_vdev(&pool.report().root, 0, &mut table);
    table.write(2, out)?;
    features(opened, out)?;
    writeln!(out)
}

fn add_vdev(vdev: &VdevReport, depth: usize, table: &mut Table) {
    let size = |bytes: u64| if bytes == 0 { "-".to_owned() } else { human::bytes(bytes) };
    let name =
        if depth == 0 { vdev.name.clone() } else { vdev.stat.path.clone().unwrap_or(vdev.name.clone()) };
    table.row(vec![
        format!("{:1$}{2}", "", depth * 2, text::printable(name.as_bytes())),
        vdev.stat.state.name().to_owned(),
        if vdev.ashift == 0 { "-".into() } else { vdev.ashift.to_string() },
        size(vdev.size.max(vdev.stat.size)),
        size(vdev.allocated),
        vdev.stat.guid.to_string(),
    ]);
    vdev.children.iter().for_each(|child| add_vdev(child, depth + 1, table));
}

fn features(opened: &Opened, out: &mut dyn Write) -> io::Result<()> {
    let all = opened.pool.core().features.all();
    if all.is_empty() {
        return writeln!(out, "\nfeatures: none, the pool is older than feature flags");
    }
    writeln!(out, "\nfeatures")?;
    let mut table = Table::new(&["FEATURE", "STATE", ">USES", "SUPPORT"]);
    for (guid, count) in all {
        let known: Option<&Feature> = feature::by_guid(&guid);
        let read_only = known.is_some_and(|known| known.is(feature::READONLY_COMPAT));
        let verdict = judge(std::iter::once((guid.as_str(), read_only)));
        let support = match (verdict.unreadable.is_empty(), verdict.unwritable.is_empty()) {
            (true, true) => "yes",
            (true, false) => "reading",
            (false, _) => "no",
        };
        table.row(vec![
            known.map_or_else(|| text::printable(guid.as_bytes()), |known| known.name.to_owned()),
            if count > 0 { "active" } else { "enabled" }.into(),
            count.to_string(),
            support.into(),
        ]);
    }
    table.write(2, out)
}

/// What the labels tell of a pool that cannot be opened.
pub fn show_unopened(found: &FoundPool, options: &Options, why: &str, out: &mut dyn Write) -> io::Result<()> {
    let config = &found.config;
    let tree = found.tree();
    let state = found_state(found, &tree);
    writeln!(out, "pool {} (by its labels only)", text::printable(config.name.as_bytes()))?;
    text::field(2, "guid", found.guid, out)?;
    text::field(2, "state", format!("{}, {}", state_name(config.state), state.name()), out)?;
    text::field(2, "version", config.version, out)?;
    text::field(2, "not opened", text::printable(why.replace(['\n', '\t'], " ").as_bytes()), out)?;
    if !config.features_for_read.is_empty() {
        let guids = text::printable(config.features_for_read.join(" ").as_bytes());
        text::field(2, "features needed", guids, out)?;
    }
    if options.is_overview() || options.config {
        writeln!(out, "\nconfiguration")?;
        let mut table = Table::new(&["NAME", "TYPE", ">ASHIFT", ">SIZE", "GUID"]);
        tree.children.iter().for_each(|top| add_config(found, top, 0, &mut table));
        table.write(2, out)?;
    }
    if let Some(newest) = found.uberblocks().first().filter(|_| options.is_overview()) {
        writeln!(out, "\nnewest uberblock")?;
        uberblock(newest, out)?;
    }
    writeln!(out)
}

fn add_config(found: &FoundPool, vdev: &VdevConfig, depth: usize, table: &mut Table) {
    let here = found.devices.iter().any(|device| device.guid == vdev.guid);
    let lost = if vdev.kind.is_leaf() && !here { " (not found)" } else { "" };
    let name = vdev.path.clone().unwrap_or_else(|| format!("{}-{}", vdev.kind.name(), vdev.id));
    table.row(vec![
        format!("{:1$}{2}{lost}", "", depth * 2, text::printable(name.as_bytes())),
        text::printable(vdev.kind.name().as_bytes()),
        vdev.ashift.map_or("-".into(), |ashift| ashift.to_string()),
        vdev.asize.map_or("-".into(), human::bytes),
        vdev.guid.to_string(),
    ]);
    vdev.children.iter().for_each(|child| add_config(found, child, depth + 1, table));
}
