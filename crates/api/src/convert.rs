//! What a request is to the engine, and what the engine's answer is on the wire, where the two are
//! not one.

use api_types as wire;
use engine_api as engine;

pub fn import_options(import: &wire::PoolImport, cancel: engine::Cancel) -> engine::ImportOptions {
    engine::ImportOptions {
        search: import.search.clone(),
        cachefile: import.cachefile.clone(),
        new_name: import.new_name.clone(),
        temporary: import.temporary,
        readonly: import.readonly,
        force: import.force,
        destroyed: import.destroyed,
        rewind: import.rewind,
        extreme: import.extreme,
        rewind_txg: import.rewind_txg,
        to_checkpoint: import.to_checkpoint,
        missing_log: import.missing_log,
        dry_run: import.dry_run,
        no_mount: import.no_mount,
        altroot: import.altroot.clone(),
        props: import.props.clone(),
        history: import.history.clone(),
        cancel,
    }
}

pub fn trim_change(from: &wire::PoolTrim) -> engine::Change {
    engine::Change::TrimVdevs { guids: from.guids.clone(), command: from.command, rate: from.rate }
}

pub fn initialize_change(from: &wire::PoolInitialize) -> engine::Change {
    engine::Change::InitializeVdevs { guids: from.guids.clone(), command: from.command, value: from.value }
}

/// The kind of that name, as the query of a list has it.
pub fn kind_named(name: &str) -> Option<engine::DatasetKind> {
    use engine::DatasetKind::{Bookmark, Filesystem, Snapshot, Volume};
    [Filesystem, Volume, Snapshot, Bookmark].into_iter().find(|kind| kind.name() == name)
}

pub fn counts(from: engine::Counts) -> wire::Counts {
    from.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

pub fn diff_entry(entry: &engine::DiffEntry) -> wire::DiffEntry {
    let (change, links) = match entry.kind {
        engine::DiffKind::Added => ('+', 0),
        engine::DiffKind::Removed => ('-', 0),
        engine::DiffKind::Modified => ('M', 0),
        engine::DiffKind::Renamed => ('R', 0),
        engine::DiffKind::Links(more) => ('M', more),
    };
    let node = match entry.node {
        engine::NodeKind::File => 'F',
        engine::NodeKind::Dir => '/',
        engine::NodeKind::Symlink => '@',
        engine::NodeKind::Fifo => '|',
        engine::NodeKind::Socket => '=',
        engine::NodeKind::CharDev => 'C',
        engine::NodeKind::BlockDev => 'B',
    };
    wire::DiffEntry {
        change,
        node,
        path: wire::escape_path(&entry.path),
        to: entry.to.as_ref().map(|to| wire::escape_path(to)),
        links,
        ctime_secs: entry.ctime.secs,
        ctime_nanos: entry.ctime.nanos,
    }
}
