//! Between the engine's plain data and the wire's, field by field.

use api_types as wire;
use engine_api as engine;

pub fn props(list: &[wire::PropSet]) -> Vec<engine::PropertyChange> {
    list.iter()
        .map(|prop| engine::PropertyChange { name: prop.name.clone(), value: prop.value.clone() })
        .collect()
}

pub fn volume_plan(plan: engine::VolumePlan) -> wire::VolumePlan {
    let engine::VolumePlan { size, block, limit, reserved } = plan;
    wire::VolumePlan { size, block, limit, reserved }
}

pub fn vdev_spec(spec: &wire::VdevSpec) -> engine::VdevSpec {
    match spec {
        wire::VdevSpec::Leaf(path) => engine::VdevSpec::Leaf(path.clone()),
        wire::VdevSpec::Mirror(sides) => engine::VdevSpec::Mirror(sides.iter().map(vdev_spec).collect()),
        wire::VdevSpec::Raidz { parity, children } => {
            engine::VdevSpec::Raidz { parity: *parity, children: children.iter().map(vdev_spec).collect() }
        }
    }
}

pub fn pool_spec(create: &wire::PoolCreate) -> engine::PoolSpec {
    engine::PoolSpec {
        name: create.name.clone(),
        temporary_name: create.temporary_name.clone(),
        vdevs: create.vdevs.iter().map(vdev_spec).collect(),
        logs: create.logs.iter().map(vdev_spec).collect(),
        special: create.special.iter().map(vdev_spec).collect(),
        dedup: create.dedup.iter().map(vdev_spec).collect(),
        cache: create.cache.clone(),
        spares: create.spares.clone(),
        props: props(&create.props),
        fs_props: props(&create.fs_props),
        no_features: create.no_features,
        force: create.force,
        mountpoint: create.mountpoint.clone(),
        altroot: create.altroot.clone(),
        history: create.history.clone(),
    }
}

pub fn new_vdevs(add: &wire::PoolAdd) -> engine::NewVdevs {
    engine::NewVdevs {
        data: add.vdevs.iter().map(vdev_spec).collect(),
        logs: add.logs.iter().map(vdev_spec).collect(),
        special: add.special.iter().map(vdev_spec).collect(),
        dedup: add.dedup.iter().map(vdev_spec).collect(),
        cache: add.cache.clone(),
        spares: add.spares.clone(),
        ashift: add.ashift,
    }
}

pub fn new_device(from: &wire::PoolAttach) -> engine::NewDevice {
    engine::NewDevice {
        path: from.path.clone(),
        force: from.force,
        ashift: from.ashift,
        sequential: from.sequential,
    }
}

pub fn cachefile_search(search: &wire::CacheFileSearch) -> engine::CacheFileSearch {
    engine::CacheFileSearch { path: search.path.clone(), scan: search.scan }
}

pub fn import_options(import: &wire::PoolImport) -> engine::ImportOptions {
    engine::ImportOptions {
        search: import.search.clone(),
        cachefile: import.cachefile.as_ref().map(cachefile_search),
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
        props: props(&import.props),
        history: import.history.clone(),
    }
}

fn health(health: engine::Health) -> wire::Health {
    match health {
        engine::Health::Online => wire::Health::Online,
        engine::Health::Degraded => wire::Health::Degraded,
        engine::Health::Faulted => wire::Health::Faulted,
        engine::Health::Offline => wire::Health::Offline,
        engine::Health::Unavail => wire::Health::Unavail,
        engine::Health::Removed => wire::Health::Removed,
        engine::Health::Suspended => wire::Health::Suspended,
    }
}

fn io(io: &engine::IoCounters) -> wire::IoCounters {
    wire::IoCounters {
        read_ops: io.read_ops,
        write_ops: io.write_ops,
        read_bytes: io.read_bytes,
        write_bytes: io.write_bytes,
        read_nanos: io.read_nanos,
        write_nanos: io.write_nanos,
    }
}

fn vdev(from: &engine::VdevStatus) -> wire::Vdev {
    wire::Vdev {
        name: from.name.clone(),
        kind: from.kind.clone(),
        is_log: from.is_log,
        class: from.class.clone(),
        path: from.path.clone(),
        guid: from.guid,
        health: health(from.health),
        note: from.note.clone(),
        ashift: from.ashift,
        read_errors: from.read_errors,
        write_errors: from.write_errors,
        checksum_errors: from.checksum_errors,
        allocated: from.allocated,
        size: from.size,
        physical: from.physical,
        fragmentation: from.fragmentation,
        rebuild: from.rebuild.as_ref().map(rebuild),
        trim: sweep(&from.trim),
        initialize: sweep(&from.initialize),
        expandable: from.expandable,
        checkpoint: from.checkpoint,
        used_by: from.used_by.clone(),
        io: io(&from.io),
        children: from.children.iter().map(vdev).collect(),
    }
}

fn rebuild(from: &engine::RebuildStatus) -> wire::RebuildStatus {
    wire::RebuildStatus {
        state: match from.state {
            engine::RebuildState::Running => wire::RebuildState::Running,
            engine::RebuildState::Canceled => wire::RebuildState::Canceled,
            engine::RebuildState::Finished => wire::RebuildState::Finished,
        },
        start: from.start,
        end: from.end,
        took: from.took,
        to_scan: from.to_scan,
        scanned: from.scanned,
        issued: from.issued,
        rebuilt: from.rebuilt,
        errors: from.errors,
        pass_took: from.pass_took,
        pass_scanned: from.pass_scanned,
        pass_issued: from.pass_issued,
    }
}

fn sweep(from: &engine::SweepStatus) -> wire::SweepStatus {
    let state = match from.state {
        engine::SweepState::Never => wire::SweepState::Never,
        engine::SweepState::Running => wire::SweepState::Running,
        engine::SweepState::Suspended => wire::SweepState::Suspended,
        engine::SweepState::Canceled => wire::SweepState::Canceled,
        engine::SweepState::Complete => wire::SweepState::Complete,
    };
    wire::SweepStatus { state, percent: from.percent, time: from.time, supported: from.supported }
}

pub fn trim_change(from: &wire::PoolTrim) -> engine::Change {
    let command = match from.command {
        wire::TrimCommand::Start => engine::TrimCommand::Start { rate: from.rate },
        wire::TrimCommand::Suspend => engine::TrimCommand::Suspend,
        wire::TrimCommand::Cancel => engine::TrimCommand::Cancel,
    };
    engine::Change::TrimVdevs { guids: from.guids.clone(), command }
}

pub fn initialize_change(from: &wire::PoolInitialize) -> engine::Change {
    let command = match from.command {
        wire::InitializeCommand::Start => engine::InitializeCommand::Start { value: from.value },
        wire::InitializeCommand::Suspend => engine::InitializeCommand::Suspend,
        wire::InitializeCommand::Cancel => engine::InitializeCommand::Cancel,
        wire::InitializeCommand::Forget => engine::InitializeCommand::Forget,
    };
    engine::Change::InitializeVdevs { guids: from.guids.clone(), command }
}

pub fn rewound(from: engine::Rewound) -> wire::Rewound {
    wire::Rewound { time: from.time, lost: from.lost, data_errors: from.data_errors }
}

fn checkpoint(from: engine::Checkpoint) -> wire::Checkpoint {
    wire::Checkpoint { discarding: from.discarding, time: from.time, space: from.space }
}

fn removal(from: &engine::Removal) -> wire::Removal {
    wire::Removal {
        state: match from.state {
            engine::RemovalState::Running => wire::RemovalState::Running,
            engine::RemovalState::Finished => wire::RemovalState::Finished,
            engine::RemovalState::Canceled => wire::RemovalState::Canceled,
        },
        vdev: from.vdev,
        name: from.name.clone(),
        start: from.start,
        end: from.end,
        to_copy: from.to_copy,
        copied: from.copied,
        mapping: from.mapping,
    }
}

pub fn pool(from: &engine::PoolStatus) -> wire::Pool {
    wire::Pool {
        name: from.name.clone(),
        guid: from.guid,
        health: health(from.health),
        txg: from.txg,
        root: vdev(&from.root),
        cache: from.cache.iter().map(vdev).collect(),
        spares: from.spares.iter().map(vdev).collect(),
        status: from.status.clone(),
        action: from.action.clone(),
        msgid: from.msgid.clone(),
        scan: from.scan.as_ref().map(scan),
        error_scrub: from.error_scrub.as_ref().map(error_scrub),
        removal: from.removal.as_ref().map(removal),
        checkpoint: from.checkpoint.map(checkpoint),
        dedup: dedup_tables(&from.dedup),
        data_errors: from.data_errors,
        readonly: from.readonly,
    }
}

fn scan_state(from: engine::ScanState) -> wire::ScanState {
    match from {
        engine::ScanState::Running => wire::ScanState::Running,
        engine::ScanState::Paused => wire::ScanState::Paused,
        engine::ScanState::Finished => wire::ScanState::Finished,
        engine::ScanState::Canceled => wire::ScanState::Canceled,
    }
}

fn error_scrub(from: &engine::ErrorScrubStatus) -> wire::ErrorScrubStatus {
    wire::ErrorScrubStatus {
        state: scan_state(from.state),
        start: from.start,
        end: from.end,
        to_examine: from.to_examine,
        examined: from.examined,
        paused: from.paused,
    }
}

fn dedup_tables(from: &engine::DedupTables) -> wire::DedupTables {
    wire::DedupTables {
        entries: from.entries,
        on_disk: from.on_disk,
        in_core: from.in_core,
        buckets: from.buckets.iter().map(dedup_bucket).collect(),
    }
}

pub fn dedup_estimate(from: &engine::DedupEstimate) -> wire::DedupEstimate {
    wire::DedupEstimate {
        buckets: from.buckets.iter().map(dedup_bucket).collect(),
        sampled: from.sampled,
        unknown: from.unknown,
        entries: from.entries,
        table: from.table,
        saved: from.saved,
        cache: from.cache,
        would_pay: from.would_pay,
        verdict: from.verdict.clone(),
    }
}

fn dedup_bucket(from: &engine::DedupBucket) -> wire::DedupBucket {
    wire::DedupBucket {
        references: from.references,
        blocks: from.blocks,
        lsize: from.lsize,
        psize: from.psize,
        dsize: from.dsize,
        ref_blocks: from.ref_blocks,
        ref_lsize: from.ref_lsize,
        ref_psize: from.ref_psize,
        ref_dsize: from.ref_dsize,
    }
}

fn scan(from: &engine::ScanStatus) -> wire::ScanStatus {
    wire::ScanStatus {
        kind: match from.kind {
            engine::ScanKind::Scrub => wire::ScanKind::Scrub,
            engine::ScanKind::Resilver => wire::ScanKind::Resilver,
        },
        state: scan_state(from.state),
        start: from.start,
        end: from.end,
        to_examine: from.to_examine,
        examined: from.examined,
        skipped: from.skipped,
        issued: from.issued,
        processed: from.processed,
        errors: from.errors,
        pass_start: from.pass_start,
        pass_examined: from.pass_examined,
        pass_issued: from.pass_issued,
        paused: from.paused,
        spent_paused: from.spent_paused,
    }
}

pub fn scan_command(command: wire::ScanCommand) -> engine::ScanCommand {
    match command {
        wire::ScanCommand::Scrub => engine::ScanCommand::Scrub,
        wire::ScanCommand::ScrubErrors => engine::ScanCommand::ScrubErrors,
        wire::ScanCommand::Pause => engine::ScanCommand::Pause,
        wire::ScanCommand::Stop => engine::ScanCommand::Stop,
        wire::ScanCommand::Resilver => engine::ScanCommand::Resilver,
    }
}

pub fn importable(from: &engine::Importable) -> wire::Importable {
    wire::Importable {
        name: from.name.clone(),
        guid: from.guid,
        health: health(from.health),
        vdevs: vdev(&from.vdevs),
        status: from.status.clone(),
        action: from.action.clone(),
        exported: from.exported,
        destroyed: from.destroyed,
        hostid: from.host.as_ref().map(|(id, _)| *id),
        hostname: from.host.as_ref().map(|(_, name)| name.clone()),
    }
}

pub fn feature(from: engine::FeatureInfo) -> wire::Feature {
    let engine::FeatureInfo { name, description, readonly_compatible } = from;
    wire::Feature { name, description, readonly_compatible }
}

pub fn upgradable(from: engine::Upgradable) -> wire::Upgradable {
    let engine::Upgradable { version, disabled, requested, stays_legacy } = from;
    wire::Upgradable { version, disabled, requested, stays_legacy }
}

pub fn prop(from: &engine::PropValue) -> wire::PropValue {
    wire::PropValue {
        name: from.name.clone(),
        value: from.value.clone(),
        kind: match from.kind {
            engine::PropKind::Size => wire::PropKind::Size,
            engine::PropKind::Count => wire::PropKind::Count,
            engine::PropKind::Ratio => wire::PropKind::Ratio,
            engine::PropKind::Percent => wire::PropKind::Percent,
            engine::PropKind::Time => wire::PropKind::Time,
            engine::PropKind::Text => wire::PropKind::Text,
        },
        source: match &from.source {
            engine::Source::None => wire::Source::None,
            engine::Source::Default => wire::Source::Default,
            engine::Source::Local => wire::Source::Local,
            engine::Source::Inherited(from) => wire::Source::Inherited(from.clone()),
            engine::Source::Received => wire::Source::Received,
            engine::Source::Temporary => wire::Source::Temporary,
        },
        received: from.received.clone(),
    }
}

pub fn kind(from: engine::DatasetKind) -> wire::DatasetKind {
    match from {
        engine::DatasetKind::Filesystem => wire::DatasetKind::Filesystem,
        engine::DatasetKind::Volume => wire::DatasetKind::Volume,
        engine::DatasetKind::Snapshot => wire::DatasetKind::Snapshot,
        engine::DatasetKind::Bookmark => wire::DatasetKind::Bookmark,
    }
}

/// The kind of that name, as the query of a list has it.
pub fn kind_named(name: &str) -> Option<engine::DatasetKind> {
    match name {
        "filesystem" => Some(engine::DatasetKind::Filesystem),
        "volume" => Some(engine::DatasetKind::Volume),
        "snapshot" => Some(engine::DatasetKind::Snapshot),
        "bookmark" => Some(engine::DatasetKind::Bookmark),
        _ => None,
    }
}

pub fn dataset(from: &engine::DatasetInfo) -> wire::Dataset {
    wire::Dataset {
        name: from.name.clone(),
        kind: kind(from.kind),
        guid: from.guid,
        createtxg: from.createtxg,
        props: from.props.iter().map(prop).collect(),
    }
}

pub fn history(from: engine::HistoryRecord) -> wire::HistoryRecord {
    wire::HistoryRecord {
        time: from.time,
        text: from.text,
        txg: from.txg,
        internal: from.internal,
        user: from.user,
        host: from.host,
    }
}

pub fn counts(from: engine::Counts) -> wire::Counts {
    from.into_iter().map(|(name, count)| (name.to_owned(), count)).collect()
}

pub fn tallies(from: engine::VdevTallies) -> wire::VdevTallies {
    let tallies = from.tallies.into_iter().map(|(name, counts)| (name.to_owned(), counts));
    wire::VdevTallies { guid: from.guid, tallies: tallies.collect() }
}

pub fn advice(from: engine::Advice) -> wire::Advice {
    let finding = |found: engine::Finding| wire::Finding {
        about: found.about.to_owned(),
        text: found.text,
        figures: found.figures.into_iter().map(|(name, value)| (name.to_owned(), value)).collect(),
    };
    wire::Advice { findings: from.findings.into_iter().map(finding).collect() }
}

pub fn space_explained(name: String, space: engine::SpaceExplained) -> wire::SpaceExplained {
    use engine::SpaceHolder as From;
    let part = |(holder, bytes): (From, i64)| {
        let (mut names, mut of_clones, mut count) = (Vec::new(), Vec::new(), 0);
        let holder = match holder {
            From::Contents => wire::SpaceHolder::Contents,
            From::Deleted(files) => {
                count = files;
                wire::SpaceHolder::Deleted
            }
            From::Metadata => wire::SpaceHolder::Metadata,
            From::Overhead => wire::SpaceHolder::Overhead,
            From::Snapshots { first, last, clones } => {
                of_clones = clones;
                names = vec![first, last];
                names.dedup();
                wire::SpaceHolder::Snapshots
            }
            From::RefReservation => wire::SpaceHolder::RefReservation,
            From::Child(child) => {
                names = vec![child];
                wire::SpaceHolder::Child
            }
            From::ChildReservation(child) => {
                names = vec![child];
                wire::SpaceHolder::ChildReservation
            }
            From::Receiving => wire::SpaceHolder::Receiving,
            From::Pool => wire::SpaceHolder::Pool,
            From::Freeing => wire::SpaceHolder::Freeing,
            From::Other => wire::SpaceHolder::Other,
        };
        wire::SpacePart { holder, names, clones: of_clones, count, bytes }
    };
    let engine::SpaceExplained { used, unique, raw, parts } = space;
    wire::SpaceExplained { name, used, unique, raw, parts: parts.into_iter().map(part).collect() }
}

pub fn spender(of: wire::Spender) -> engine::Spender {
    match of {
        wire::Spender::User => engine::Spender::User,
        wire::Spender::Group => engine::Spender::Group,
        wire::Spender::Project => engine::Spender::Project,
    }
}

pub fn space_use(space: engine::SpaceUse) -> wire::SpaceUse {
    let engine::SpaceUse { id, used, quota, objects_used, objects_quota } = space;
    wire::SpaceUse { id, used, quota, objects_used, objects_quota }
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

pub fn grant(grant: api_types::Grant) -> engine_api::Grant {
    let api_types::Grant { who, local, descendent, permissions } = grant;
    let who = match who {
        api_types::Grantee::User(number) => engine_api::Grantee::User(number),
        api_types::Grantee::Group(number) => engine_api::Grantee::Group(number),
        api_types::Grantee::Everyone => engine_api::Grantee::Everyone,
        api_types::Grantee::Creator => engine_api::Grantee::Creator,
        api_types::Grantee::Set(name) => engine_api::Grantee::Set(name),
    };
    engine_api::Grant { who, local, descendent, permissions }
}

pub fn delegation(found: engine_api::Delegation) -> api_types::Delegation {
    let grant = |grant: engine_api::Grant| {
        let engine_api::Grant { who, local, descendent, permissions } = grant;
        let who = match who {
            engine_api::Grantee::User(number) => api_types::Grantee::User(number),
            engine_api::Grantee::Group(number) => api_types::Grantee::Group(number),
            engine_api::Grantee::Everyone => api_types::Grantee::Everyone,
            engine_api::Grantee::Creator => api_types::Grantee::Creator,
            engine_api::Grantee::Set(name) => api_types::Grantee::Set(name),
        };
        api_types::Grant { who, local, descendent, permissions }
    };
    api_types::Delegation { dataset: found.dataset, grants: found.grants.into_iter().map(grant).collect() }
}
