//! A test double of the engine: pools and datasets as tables of properties, no bytes stored. It can
//! start as the mirrored pool whose listings a real OpenZFS made, so that ours can be compared with
//! them letter by letter.

use api_types::PropertyDef;
use engine_api::refusal::{Action, Dependents, Reason, Refused, ScanFault};
use engine_api::*;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

pub const GET: &str = include_str!("captures/zfs-get.txt");
pub const POOL_GET: &str = include_str!("captures/zpool-get.txt");

#[derive(Clone)]
struct Row {
    kind: DatasetKind,
    guid: u64,
    createtxg: u64,
    props: Vec<PropValue>,
}

struct Tables {
    props: Vec<PropValue>,
    datasets: BTreeMap<String, Row>,
    history: Vec<HistoryRecord>,
    txg: u64,
}

pub struct FakePool {
    name: String,
    pub status: Mutex<PoolStatus>,
    pub tallies: Mutex<Vec<VdevTallies>>,
    tables: Mutex<Tables>,
}

#[derive(Default)]
pub struct FakeEngine {
    pools: Mutex<BTreeMap<String, Arc<FakePool>>>,
    exported: Mutex<BTreeMap<String, Arc<FakePool>>>,
    pub cache_counts: Mutex<Counts>,
    pub activity: Mutex<(Breakdown<FileSystemCounts>, Breakdown<VolumeCounts>)>,
    destroyed: Mutex<BTreeMap<String, Arc<FakePool>>>,
    /// What `import` is to be refused with.
    pub refusal: Mutex<Option<Error>>,
    /// How long an export takes.
    pub delay: Mutex<std::time::Duration>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no test panics while it holds a lock")
}

fn of_dataset(name: &str) -> Option<&'static PropertyDef> {
    DatasetProperty::named(name).map(DatasetProperty::row)
}

fn of_pool(name: &str) -> Option<&'static PropertyDef> {
    PoolProperty::named(name).map(PoolProperty::row)
}

/// A line of `get -Hp`: name, property, value, source.
fn parse_line(line: &str, def: fn(&str) -> Option<&'static PropertyDef>) -> (String, PropValue) {
    let fields: Vec<&str> = line.split('\t').collect();
    let [subject, name, value, source] = fields[..] else { panic!("four fields: {line}") };
    let source = match source {
        "-" => Source::None,
        "default" => Source::Default,
        "local" => Source::Local,
        other => Source::Inherited(other.strip_prefix("inherited from ").expect(line).to_owned()),
    };
    let value = if value == "-" { "" } else { value };
    let kind = def(name).map_or(PropKind::Text, |def| def.reads.kind());
    let prop = PropValue { name: name.into(), value: value.into(), kind, source, received: None };
    (subject.to_owned(), prop)
}

fn text(name: &str, value: &str, source: Source) -> PropValue {
    PropValue { name: name.into(), value: value.into(), kind: PropKind::Text, source, received: None }
}

fn number(name: &str, value: u64, kind: PropKind) -> PropValue {
    PropValue { name: name.into(), value: value.to_string(), kind, source: Source::None, received: None }
}

fn vdev(name: &str, kind: &str, size: u64, children: Vec<VdevStatus>) -> VdevStatus {
    VdevStatus {
        name: name.into(),
        kind: kind.into(),
        is_log: false,
        class: None,
        path: (kind == "disk").then(|| format!("/dev/{name}")),
        guid: name.bytes().fold(7, |sum, byte| sum * 31 + u64::from(byte)),
        health: Health::Online,
        note: None,
        ashift: 12,
        read_errors: 0,
        write_errors: 0,
        checksum_errors: 0,
        allocated: 0,
        size: if children.is_empty() { 0 } else { size },
        physical: if children.is_empty() { size } else { 0 },
        fragmentation: None,
        rebuild: None,
        trim: Default::default(),
        initialize: Default::default(),
        expandable: 0,
        checkpoint: 0,
        used_by: None,
        io: IoCounters::default(),
        children,
    }
}

/// A scrub that ended then and found nothing.
fn scrubbed(end: u64, seconds: u64) -> ScanStatus {
    ScanStatus {
        kind: ScanKind::Scrub,
        state: ScanState::Finished,
        start: end - seconds,
        end,
        to_examine: 29796864,
        examined: 29796864,
        skipped: 0,
        issued: 29796864,
        processed: 0,
        errors: 0,
        pass_start: end - seconds,
        pass_examined: 29796864,
        pass_issued: 29796864,
        paused: 0,
        spent_paused: 0,
    }
}

/// The real pool: a mirror of two disks of 118M.
pub fn captured() -> FakePool {
    let mut datasets: BTreeMap<String, Row> = BTreeMap::new();
    for line in GET.lines() {
        let (name, prop) = parse_line(line, of_dataset);
        let kind = match name.as_str() {
            name if name.contains('@') => DatasetKind::Snapshot,
            "g_mirror2/vol" => DatasetKind::Volume,
            _ => DatasetKind::Filesystem,
        };
        let row = datasets.entry(name).or_insert(Row { kind, guid: 0, createtxg: 0, props: Vec::new() });
        match prop.name.as_str() {
            "guid" => row.guid = prop.value.parse().expect("a number"),
            "createtxg" => row.createtxg = prop.value.parse().expect("a number"),
            // An engine knows nothing of local mounts; the API puts it in.
            "mounted" => continue,
            _ => {}
        }
        row.props.push(prop);
    }
    let props = POOL_GET.lines().map(|line| parse_line(line, of_pool).1).collect();
    let (vda, vdb) = (vdev("vda", "disk", 118 << 20, vec![]), vdev("vdb", "disk", 118 << 20, vec![]));
    let mut mirror = vdev("mirror-0", "mirror", 117440512, vec![vda, vdb]);
    (mirror.allocated, mirror.fragmentation) = (29796864, Some(11));
    let mut root = vdev("g_mirror2", "root", 117440512, vec![mirror]);
    root.allocated = 29796864;
    root.io = IoCounters {
        read_ops: 10,
        write_ops: 2048,
        read_bytes: 4096,
        write_bytes: 3 << 20,
        ..Default::default()
    };
    let status = PoolStatus {
        name: "g_mirror2".into(),
        guid: 8688522676606861654,
        health: Health::Online,
        txg: 100,
        root,
        cache: Vec::new(),
        spares: Vec::new(),
        condition: None,
        scan: Some(scrubbed(1795238705, 3)),
        error_scrub: None,
        removal: None,
        checkpoint: None,
        dedup: Default::default(),
        rewound: None,
        data_errors: 0,
        readonly: false,
    };
    let tables = Tables { props, datasets, history: Vec::new(), txg: 100 };
    FakePool {
        name: "g_mirror2".into(),
        status: Mutex::new(status),
        tallies: Mutex::default(),
        tables: Mutex::new(tables),
    }
}

/// Another real pool: two mirrors, a log device, a cache device and a spare, all of 86M.
pub fn with_extras() -> FakePool {
    const MIB: u64 = 1 << 20;
    let disk = |name: &str| vdev(name, "disk", 86 * MIB, vec![]);
    let mirror = |name: &str, sides: [&str; 2], allocated: u64| {
        let mirror = vdev(name, "mirror", 80 * MIB, sides.map(disk).to_vec());
        VdevStatus { allocated, fragmentation: Some(5), ..mirror }
    };
    let (first, second) =
        (mirror("mirror-0", ["vda", "vdb"], 12_930_048), mirror("mirror-1", ["vdc", "vdd"], 12_402_688));
    let log = VdevStatus {
        is_log: true,
        size: 80 * MIB,
        allocated: 136 << 10,
        fragmentation: Some(1),
        ..disk("vde")
    };
    let cache = VdevStatus {
        size: 85_458_944,
        allocated: 24_851_251,
        fragmentation: Some(0),
        io: IoCounters { read_ops: 3, ..Default::default() },
        ..disk("vdf")
    };
    let pool = captured();
    let mut status = lock(&pool.status).clone();
    let allocated = first.allocated + second.allocated;
    status.name = "g_som".into();
    status.guid = 6517247186261587292;
    status.root = vdev("g_som", "root", 160 * MIB, vec![first, log, second]);
    status.root.allocated = allocated;
    status.cache = vec![cache];
    status.spares = vec![disk("vdg")];
    status.scan = Some(scrubbed(1795239244, 1));
    let mut props = lock(&pool.tables).props.clone();
    for (name, value) in [
        ("size", 160 * MIB),
        ("allocated", allocated),
        ("free", 160 * MIB - allocated),
        ("fragmentation", 5),
        ("capacity", 15),
    ] {
        props.iter_mut().find(|prop| prop.name == name).expect(name).value = value.to_string();
    }
    let tables = Tables { props, datasets: BTreeMap::new(), history: Vec::new(), txg: 100 };
    FakePool {
        name: "g_som".into(),
        status: Mutex::new(status),
        tallies: Mutex::default(),
        tables: Mutex::new(tables),
    }
}

impl FakeEngine {
    pub fn with(pools: Vec<FakePool>) -> FakeEngine {
        let engine = FakeEngine::default();
        for pool in pools {
            lock(&engine.pools).insert(pool.name.clone(), Arc::new(pool));
        }
        engine
    }
    pub fn named(&self, name: &str) -> Arc<FakePool> {
        Arc::clone(lock(&self.pools).get(name).expect(name))
    }

    pub fn exported(&self, name: &str) -> Arc<FakePool> {
        Arc::clone(lock(&self.exported).get(name).expect(name))
    }
}

fn leaves(spec: &VdevSpec, mirrors: &mut usize) -> VdevStatus {
    match spec {
        VdevSpec::Leaf(path) => {
            let mut leaf = vdev(path.rsplit('/').next().unwrap_or(path), "file", 64 << 20, vec![]);
            leaf.path = Some(path.clone());
            leaf
        }
        VdevSpec::Mirror(children) | VdevSpec::Raidz { children, .. } => {
            let (prefix, kind) = match spec {
                VdevSpec::Raidz { parity, .. } => (format!("raidz{parity}"), "raidz"),
                _ => ("mirror".to_owned(), "mirror"),
            };
            let name = format!("{prefix}-{mirrors}");
            *mirrors += 1;
            vdev(&name, kind, 60 << 20, children.iter().map(|child| leaves(child, &mut 0)).collect())
        }
    }
}

impl FakePool {
    fn new(spec: &PoolSpec) -> FakePool {
        let mut mirrors = 0;
        let tops = spec.vdevs.iter().map(|top| leaves(top, &mut mirrors)).collect();
        let status = PoolStatus {
            name: spec.name.clone(),
            guid: 4242,
            health: Health::Online,
            txg: 4,
            root: vdev(&spec.name, "root", 60 << 20, tops),
            cache: Vec::new(),
            spares: Vec::new(),
            condition: None,
            scan: None,
            error_scrub: None,
            removal: None,
            checkpoint: None,
            dedup: Default::default(),
            rewound: None,
            data_errors: 0,
            readonly: false,
        };
        let mut props =
            vec![number("size", 60 << 20, PropKind::Size), text("health", "ONLINE", Source::None)];
        props.extend(spec.props.iter().map(|prop| text(&prop.name, &prop.value, Source::Local)));
        let tables = Tables { props, datasets: BTreeMap::new(), history: Vec::new(), txg: 4 };
        let pool = FakePool {
            name: spec.name.clone(),
            status: Mutex::new(status),
            tallies: Mutex::default(),
            tables: Mutex::new(tables),
        };
        pool.add(&spec.name, &spec.fs_props);
        if let Some(mountpoint) = &spec.mountpoint {
            pool.put(&spec.name, "mountpoint", mountpoint);
        }
        pool.record(&spec.history);
        pool
    }

    fn record(&self, history: &str) {
        if !history.is_empty() {
            let (user, host) = (Some("root".into()), Some("box:linux".into()));
            let record = HistoryRecord {
                time: 1_795_238_663,
                text: history.into(),
                txg: None,
                internal: false,
                user,
                host,
            };
            lock(&self.tables).history.push(record);
        }
    }

    fn add(&self, name: &str, props: &[PropertyChange]) {
        let mut tables = lock(&self.tables);
        let (txg, count) = (tables.txg, tables.datasets.len() as u64);
        let mut row =
            Row { kind: DatasetKind::Filesystem, guid: 1000 + count, createtxg: txg, props: Vec::new() };
        row.props = vec![
            text("type", "filesystem", Source::None),
            number("creation", 1_795_238_662, PropKind::Time),
            number("used", 24576, PropKind::Size),
            number("available", 48 << 20, PropKind::Size),
            number("referenced", 24576, PropKind::Size),
            text("mountpoint", &format!("/{name}"), Source::Default),
            text("compression", "on", Source::Default),
            text("canmount", "on", Source::Default),
            text("overlay", "on", Source::Default),
            text("sharenfs", "off", Source::Default),
        ];
        tables.datasets.insert(name.to_owned(), row);
        drop(tables);
        for prop in props {
            self.put(name, &prop.name, &prop.value);
        }
    }

    fn put(&self, name: &str, property: &str, value: &str) {
        let mut tables = lock(&self.tables);
        let row = tables.datasets.get_mut(name).expect(name);
        match row.props.iter_mut().find(|prop| prop.name == property) {
            Some(prop) => (prop.value, prop.source) = (value.to_owned(), Source::Local),
            None => row.props.push(text(property, value, Source::Local)),
        }
    }

    fn has(&self, name: &str) -> bool {
        lock(&self.tables).datasets.contains_key(name)
    }

    fn create_fs(&self, name: &str, parents: bool, props: &[PropertyChange]) -> Result<()> {
        if self.has(name) {
            return if parents { Ok(()) } else { Err(Error::Exists) };
        }
        let parent = name.rsplit_once('/').map_or(name, |(parent, _)| parent);
        if !self.has(parent) {
            if !parents {
                return Err(Error::NotFound);
            }
            self.create_fs(parent, true, &[])?;
        }
        if let Some(bad) = props.iter().find(|prop| prop.name == "compression" && prop.value == "brotli") {
            return Err(Error::Invalid(format!(
                "'compression' must be one of 'on | off | lzjb': {}",
                bad.value
            )));
        }
        self.add(name, props);
        Ok(())
    }

    /// As far as commands tell the states apart.
    fn scan(&self, command: ScanCommand) -> Result<()> {
        let mut status = lock(&self.status);
        let scan = status.scan.as_mut().expect("one that has ended");
        let running = matches!(scan.state, ScanState::Running | ScanState::Paused);
        scan.state = match command {
            ScanCommand::Scrub if scan.state == ScanState::Running => {
                let scrub = Action::Scrub { pool: self.name.clone() };
                return Err(Refused::new(scrub, ScanFault::Scrubbing).into());
            }
            ScanCommand::Scrub => {
                (scan.issued, scan.pass_issued, scan.pass_examined) = (0, 0, 0);
                ScanState::Running
            }
            ScanCommand::Pause if running => ScanState::Paused,
            ScanCommand::Stop if running => ScanState::Canceled,
            other => return Err(Error::Unsupported(format!("{other:?}"))),
        };
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let parent = to.rsplit_once('/').map_or(to, |(parent, _)| parent);
        match (self.has(from), self.has(to), self.has(parent)) {
            (false, _, _) | (_, _, false) => return Err(Error::NotFound),
            (_, true, _) => return Err(Error::Exists),
            _ => {}
        }
        let mut tables = lock(&self.tables);
        let inside = |name: &String| name == from || name.starts_with(&format!("{from}/"));
        let moved: Vec<String> = tables.datasets.keys().filter(|name| inside(name)).cloned().collect();
        for name in moved {
            let mut row = tables.datasets.remove(&name).expect("just listed");
            let new = format!("{to}{}", &name[from.len()..]);
            for prop in row
                .props
                .iter_mut()
                .filter(|prop| prop.name == "mountpoint" && prop.source == Source::Default)
            {
                prop.value = format!("/{new}");
            }
            tables.datasets.insert(new, row);
        }
        Ok(())
    }

    fn destroy(&self, names: &[String]) -> Result<()> {
        for name in names {
            if !self.has(name) {
                return Err(Error::NotFound);
            }
            let child = format!("{name}/");
            let mut tables = lock(&self.tables);
            if tables.datasets.keys().any(|known| known.starts_with(&child) && !names.contains(known)) {
                return Err(Error::NotEmpty);
            }
            tables.datasets.remove(name);
        }
        Ok(())
    }
}

impl Pool for FakePool {
    fn name(&self) -> String {
        self.name.clone()
    }
    fn guid(&self) -> u64 {
        lock(&self.status).guid
    }
    fn status(&self) -> PoolStatus {
        lock(&self.status).clone()
    }
    fn properties(&self, names: &[String]) -> Result<Vec<PropValue>> {
        let tables = lock(&self.tables);
        Ok(tables
            .props
            .iter()
            .filter(|prop| names.is_empty() || names.contains(&prop.name))
            .cloned()
            .collect())
    }
    fn identity(&self, _: &str) -> Result<Identity> {
        Err(Error::NotFound)
    }
    fn upgradable(&self) -> Result<Upgradable> {
        let tables = lock(&self.tables);
        let value =
            |name: &str| tables.props.iter().rev().find(|prop| prop.name == name).map(|prop| &*prop.value);
        let disabled = |name: &&str| value(&format!("feature@{name}")) == Some("disabled");
        let disabled: Vec<String> =
            ["async_destroy", "lz4_compress"].into_iter().filter(disabled).map(str::to_owned).collect();
        Ok(Upgradable {
            version: value("version").and_then(|version| version.parse().ok()).unwrap_or(5000),
            requested: disabled.clone(),
            disabled,
            stays_legacy: value("compatibility") == Some("legacy"),
        })
    }
    fn datasets_page(
        &self,
        filter: &DatasetFilter,
        _: Secrets,
        after: Option<&DatasetPlace>,
        limit: usize,
    ) -> Result<DatasetPage> {
        let tables = lock(&self.tables);
        let roots = if filter.roots.is_empty() { vec![self.name.clone()] } else { filter.roots.clone() };
        if !roots.iter().all(|root| tables.datasets.contains_key(root)) {
            return Err(Error::NotFound);
        }
        let default = [DatasetKind::Filesystem, DatasetKind::Volume];
        let kinds = if filter.kinds.is_empty() { &default[..] } else { &filter.kinds };
        let depth_below = |name: &str, root: &str| {
            let rest = name.strip_prefix(root)?;
            (rest.is_empty() || rest.starts_with(['/', '@'])).then(|| rest.matches(['/', '@']).count() as u32)
        };
        let wanted = |name: &str, row: &Row| {
            let depth = roots.iter().filter_map(|root| depth_below(name, root)).min();
            depth.is_some_and(|depth| filter.depth.is_none_or(|most| depth <= most))
                && kinds.contains(&row.kind)
        };
        let info = |(name, row): (&String, &Row)| DatasetInfo {
            name: name.clone(),
            kind: row.kind,
            guid: row.guid,
            createtxg: row.createtxg,
            props: row
                .props
                .iter()
                .filter(|prop| filter.props.is_empty() || filter.props.contains(&prop.name))
                .cloned()
                .collect(),
        };
        let is_behind = |name: &str| after.is_none_or(|place| name > place.name.as_str());
        let listed = tables.datasets.iter().filter(|(name, row)| is_behind(name) && wanted(name, row));
        let mut datasets: Vec<DatasetInfo> = listed.map(info).collect();
        let is_cut = datasets.len() > limit;
        datasets.truncate(limit);
        let last = datasets.last().filter(|_| is_cut);
        let next = last.map(|last| DatasetPlace { name: last.name.clone(), createtxg: last.createtxg });
        Ok(DatasetPage { datasets, next })
    }
    fn settings(&self, dataset: &str) -> Result<DatasetInfo> {
        let filter =
            DatasetFilter { roots: vec![dataset.into()], depth: Some(0), ..DatasetFilter::default() };
        self.datasets(&filter)?.pop().ok_or(Error::NotFound)
    }
    fn commit(&self, change: &Change, history: &str) -> Result<Committed> {
        match change {
            Change::CreateFilesystem { name, parents, props } => self.create_fs(name, *parents, props)?,
            Change::Destroy { names, .. } => self.destroy(names)?,
            Change::SetProperties { name, props } => {
                if !self.has(name) {
                    return Err(Error::NotFound);
                }
                props.iter().for_each(|prop| self.put(name, &prop.name, &prop.value));
            }
            Change::Inherit { name, property, .. } => {
                let mut tables = lock(&self.tables);
                let row = tables.datasets.get_mut(name).ok_or(Error::NotFound)?;
                if let Some(prop) = row.props.iter_mut().find(|prop| prop.name == *property) {
                    (prop.value, prop.source) = ("on".into(), Source::Default);
                }
            }
            Change::Rename { from, to, .. } => self.rename(from, to)?,
            Change::SetPoolProperties { props } => {
                let mut tables = lock(&self.tables);
                for change in props {
                    tables.props.retain(|prop| prop.name != change.name);
                    tables.props.push(text(&change.name, &change.value, Source::Local));
                }
            }
            Change::Scan(command) => self.scan(*command)?,
            other => return Err(Error::Unsupported(format!("{other:?}"))),
        }
        self.record(history);
        let mut tables = lock(&self.tables);
        tables.txg += 1;
        Ok(Committed { txg: tables.txg })
    }
    fn permits(&self, _: &Change) -> Result<()> {
        Ok(())
    }
    fn plan_create(&self, _change: &Change) -> Result<Option<VolumePlan>> {
        Ok(None)
    }
    fn plan_destroy(&self, query: &DestroyQuery) -> Result<DestroyPlan> {
        let name = &query.name;
        if !self.has(name) {
            return Err(Error::NotFound);
        }
        let inside = |known: &&String| *known == name || known.starts_with(&format!("{name}/"));
        let names: Vec<String> = lock(&self.tables).datasets.keys().filter(inside).rev().cloned().collect();
        if !query.recursive && names.len() > 1 {
            let (of, names) = ("filesystem".to_owned(), names[..names.len() - 1].to_vec());
            let why = Reason::Depend(Dependents { of, are_clones: false, names });
            return Err(Refused::new(Action::Destroy { name: name.clone() }, why).into());
        }
        let bytes = 24576 * names.len() as u64;
        Ok(DestroyPlan { names, bytes })
    }
    fn send(
        &self,
        _request: &engine_api::SendRequest,
        _stream: &mut dyn std::io::Write,
        _tell: &mut dyn FnMut(engine_api::SendEvent),
    ) -> Result<()> {
        Err(Error::Unsupported("send".into()))
    }
    fn receive(
        &self,
        _request: &engine_api::ReceiveRequest,
        _stream: &mut dyn std::io::Read,
        _tell: &mut dyn FnMut(engine_api::ReceiveEvent),
    ) -> Result<engine_api::Received> {
        Err(Error::Unsupported("receive".into()))
    }
    fn space_use(&self, _dataset: &str, _of: Spender) -> Result<Vec<SpaceUse>> {
        Ok(Vec::new())
    }
    fn explain_space(&self, _dataset: &str) -> Result<SpaceExplained> {
        Err(Error::NotFound)
    }
    fn diff(&self, _from: &str, _to: &str, _tell: &mut dyn FnMut(DiffEntry)) -> Result<()> {
        Ok(())
    }
    fn deleted_files(&self, _dataset: &str) -> Result<u64> {
        Ok(0)
    }
    fn holds(&self, _snapshot: &str) -> Result<Vec<(String, u64)>> {
        Ok(Vec::new())
    }
    fn delegations(&self, dataset: &str) -> Result<Vec<engine_api::Delegation>> {
        if self.has(dataset) { Ok(Vec::new()) } else { Err(Error::NotFound) }
    }
    fn history(&self, internal: bool) -> Result<Vec<HistoryRecord>> {
        let mut records = lock(&self.tables).history.clone();
        if internal {
            let text = "set feature@lz4_compress=enabled".into();
            let host = Some("box".into());
            records.push(HistoryRecord {
                time: 1_795_238_664,
                text,
                txg: Some(4),
                internal,
                user: None,
                host,
            });
        }
        Ok(records)
    }
    fn open_fs(&self, dataset: &str) -> Result<Arc<dyn FileSystem>> {
        Err(Error::Unsupported(dataset.into()))
    }
    fn open_volume(&self, dataset: &str) -> Result<Arc<dyn Volume>> {
        Err(Error::Unsupported(dataset.into()))
    }
    fn give_up(&self) {}
    fn sync_empty(&self) -> Result<u64> {
        self.sync()
    }
    fn sync(&self) -> Result<u64> {
        Ok(lock(&self.tables).txg)
    }
    fn prefetch_dedup_tables(&self) -> Result<()> {
        Ok(())
    }
    fn errors(&self) -> Result<Vec<String>> {
        Ok(vec!["g_mirror2/fs:/some file".into(), "<0x36>:<0x2>".into()])
    }
    fn log_counts(&self) -> Counts {
        vec![("zil_commit_count", 1500), ("zil_itx_count", 12), ("zil_itx_copied_bytes", 2048)]
    }
    fn vdev_tallies(&self) -> Vec<VdevTallies> {
        lock(&self.tallies).clone()
    }
    fn estimate_dedup(&self, dataset: &str) -> Result<DedupEstimate> {
        Ok(DedupEstimate {
            buckets: vec![bucket(1, 1000), bucket(4, 3)],
            sampled: 4,
            verdict: format!("Deduplication of '{dataset}' would not pay."),
            ..DedupEstimate::default()
        })
    }
    fn advise(&self, question: &AdviceQuestion) -> Result<Advice> {
        let latency = question.log_latency.unwrap_or(0) as f64;
        let text = "A log device would not help.".to_owned();
        Ok(Advice { findings: vec![Finding::new("log", text, [("log_latency_nanos", latency)])] })
    }
}

impl Engine for FakeEngine {
    fn create(&self, spec: &PoolSpec) -> Result<Arc<dyn Pool>> {
        if lock(&self.pools).contains_key(&spec.name) {
            return Err(Error::Exists);
        }
        let pool = Arc::new(FakePool::new(spec));
        lock(&self.pools).insert(spec.name.clone(), Arc::clone(&pool));
        Ok(pool)
    }
    fn features(&self) -> Vec<FeatureInfo> {
        let feature = |(name, description, readonly_compatible): (&str, &str, bool)| FeatureInfo {
            name: name.into(),
            description: description.into(),
            readonly_compatible,
        };
        [
            ("async_destroy", "Destroy filesystems asynchronously.", true),
            ("lz4_compress", "LZ4 compression algorithm support.", false),
        ]
        .map(feature)
        .to_vec()
    }
    fn importable(&self, _: &[String], _: Option<&CacheFileSearch>) -> Result<Vec<Importable>> {
        let importable = |pool: &Arc<FakePool>, destroyed: bool| {
            let status = pool.status();
            Importable {
                name: status.name,
                guid: status.guid,
                health: status.health,
                vdevs: status.root,
                condition: ImportCondition::Ready,
                exported: !destroyed,
                destroyed,
                hostid: None,
                hostname: None,
            }
        };
        let mut all: Vec<_> = lock(&self.exported).values().map(|pool| importable(pool, false)).collect();
        all.extend(lock(&self.destroyed).values().map(|pool| importable(pool, true)));
        Ok(all)
    }
    fn import(&self, which: &str, options: &ImportOptions) -> Result<Arc<dyn Pool>> {
        if let Some(error) = lock(&self.refusal).clone() {
            return Err(error);
        }
        if lock(&self.pools).contains_key(which) {
            return Err(Error::Exists);
        }
        let mut exported = lock(if options.destroyed { &self.destroyed } else { &self.exported });
        let named = |pool: &&Arc<FakePool>| pool.name == which || pool.guid().to_string() == which;
        let pool = exported.values().find(named).cloned().ok_or(Error::NotFound)?;
        if !options.dry_run {
            exported.remove(&pool.name);
            lock(&self.pools).insert(pool.name.clone(), Arc::clone(&pool));
        }
        Ok(pool)
    }
    fn export(&self, name: &str, _force: bool) -> Result<()> {
        let pool = lock(&self.pools).remove(name).ok_or(Error::NotFound)?;
        std::thread::sleep(*lock(&self.delay));
        lock(&self.exported).insert(name.to_owned(), pool);
        Ok(())
    }
    fn destroy(&self, name: &str, _force: bool) -> Result<()> {
        let pool = lock(&self.pools).remove(name).ok_or(Error::NotFound)?;
        lock(&self.destroyed).insert(name.to_owned(), pool);
        Ok(())
    }
    fn pool(&self, name: &str) -> Result<Arc<dyn Pool>> {
        lock(&self.pools).get(name).cloned().map(|pool| pool as Arc<dyn Pool>).ok_or(Error::NotFound)
    }
    fn pools(&self) -> Vec<Arc<dyn Pool>> {
        lock(&self.pools).values().cloned().map(|pool| pool as Arc<dyn Pool>).collect()
    }
    fn read_token(&self, _token: &str) -> Result<engine_api::TokenContents> {
        Ok(engine_api::TokenContents::default())
    }
    fn label_clear(&self, path: &str, force: bool) -> Result<()> {
        match force {
            true => Ok(()),
            false => {
                let (path, state, pool) = (path.to_owned(), "exported".to_owned(), "tank".to_owned());
                Err(Refused::because(Reason::NotClearable { path, state, pool, can_force: true }).into())
            }
        }
    }
    fn diagnostics(&self) -> &dyn Diagnostics {
        self
    }
    fn cache_counts(&self) -> Counts {
        lock(&self.cache_counts).clone()
    }
    fn activity(&self) -> (Breakdown<FileSystemCounts>, Breakdown<VolumeCounts>) {
        lock(&self.activity).clone()
    }
    fn names_of(&self, places: &[Place]) -> Vec<PlaceName> {
        vec![PlaceName::default(); places.len()]
    }
}

impl Serving for FakeEngine {
    fn served(&self) -> Vec<Served> {
        Vec::new()
    }
    fn served_volumes(&self, _property: &str) -> Vec<ServedVolume> {
        Vec::new()
    }
    fn served_generation(&self) -> u64 {
        0
    }
}

fn no_faults<T>() -> Result<T> {
    Err(Error::Unsupported("faults on demand".into()))
}

/// It has no troubles: nothing is told, and nothing can be made.
impl Diagnostics for FakeEngine {
    fn zevents(&self, _eid: u64, patience: u64) -> Vec<Zevent> {
        std::thread::sleep(std::time::Duration::from_nanos(patience));
        Vec::new()
    }
    fn clear_zevents(&self) -> u64 {
        0
    }
    fn inject(&self, _fault: &Fault) -> Result<ActiveFault> {
        no_faults()
    }
    fn injected(&self) -> Vec<ActiveFault> {
        Vec::new()
    }
    fn cancel_fault(&self, _id: u64) -> bool {
        false
    }
    fn condemn(&self, _pool: &str, _guid: u64, _how: Condemn) -> Result<()> {
        no_faults()
    }
    fn drop_cache(&self) {}
    fn tunables(&self) -> Vec<Tunable> {
        Vec::new()
    }
    fn set_tunable(&self, _name: &str, _value: u64) -> Result<()> {
        Err(Error::NotFound)
    }
}

/// Blocks of 128 KiB that take half of it, and so many references to each.
pub fn bucket(references: u64, blocks: u64) -> DedupBucket {
    DedupBucket {
        references,
        blocks,
        lsize: blocks << 17,
        psize: blocks << 16,
        dsize: blocks << 16,
        ref_blocks: blocks * references,
        ref_lsize: (blocks << 17) * references,
        ref_psize: (blocks << 16) * references,
        ref_dsize: (blocks << 16) * references,
    }
}
