//! A set-up standing ready: modelled devices, a pool on them, its server.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

use engine::{LocalEngine, Options};
use engine_api::{Change, Engine, Pool, PoolSpec, PropertyChange, VdevSpec};
use env::{Clock, DeviceModel, Env, MemDisks, ModelDisks, SectorSize};
use load::{Fail, Share};
use nfs::{Server, ServerConfig};

const POOL: &str = "bench";
/// Bytes of each device; memory is taken as it is written.
const DEVICE_SIZE: u64 = 4 << 30;

/// What a pool is made of.
pub struct SetUp {
    pub name: &'static str,
    /// More than one are a mirror.
    pub disks: usize,
    pub disk: DeviceModel,
    pub cache: Option<DeviceModel>,
    pub log: Option<DeviceModel>,
}

impl SetUp {
    /// So many spinning disks and nothing else.
    pub const fn of_disks(name: &'static str, disks: usize) -> SetUp {
        SetUp { name, disks, disk: DeviceModel::sata_disk(), cache: None, log: None }
    }
}

/// In the order in which they are measured.
pub const SET_UPS: &[SetUp] = &[
    SetUp::of_disks("one disk", 1),
    SetUp::of_disks("mirror", 2),
    SetUp { cache: Some(DeviceModel::consumer_ssd()), ..SetUp::of_disks("disk + cache SSD", 1) },
    SetUp { log: Some(DeviceModel::consumer_ssd()), ..SetUp::of_disks("disk + log SSD", 1) },
    SetUp { log: Some(DeviceModel::ram_log()), ..SetUp::of_disks("disk + RAM log", 1) },
];

/// What was used up to a moment.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    /// Of the processors, by this process, client included.
    pub cpu: Duration,
    /// By the first disk.
    pub disk_reads: u64,
    /// Time in which it was at work.
    pub disk_busy: Duration,
    pub disk_flushes: u64,
    pub log_flushes: u64,
    pub log_writes: u64,
}

impl Usage {
    pub fn since(&self, before: &Usage) -> Usage {
        Usage {
            cpu: self.cpu.saturating_sub(before.cpu),
            disk_reads: self.disk_reads - before.disk_reads,
            disk_busy: self.disk_busy.saturating_sub(before.disk_busy),
            disk_flushes: self.disk_flushes - before.disk_flushes,
            log_flushes: self.log_flushes - before.log_flushes,
            log_writes: self.log_writes - before.log_writes,
        }
    }
}

pub struct Rig {
    devices: ModelDisks,
    engine: Arc<LocalEngine>,
    server: Server,
    /// File systems made so far.
    shares: Cell<u32>,
}

const LOG: &str = "/model/log";
const CACHE: &str = "/model/cache";

fn disk(i: usize) -> String {
    format!("/model/disk{i}")
}

fn prop(name: &str, value: &str) -> PropertyChange {
    PropertyChange { name: name.into(), value: value.into() }
}

impl Rig {
    pub fn build(set_up: &SetUp) -> Result<Rig, Fail> {
        Rig::with_options(set_up, Options::default())
    }

    /// With these of the engine's options that do not say where disks are.
    pub fn with_options(set_up: &SetUp, options: Options) -> Result<Rig, Fail> {
        let env = Env::real();
        let memory = MemDisks::new();
        let devices = ModelDisks::new(Arc::new(memory.clone()), env.clock.clone() as Arc<dyn Clock>);
        let add = |path: &str, model: DeviceModel| {
            memory.add_with(path, DEVICE_SIZE, SectorSize { logical: 512, physical: 4096 }, false);
            devices.set(path, model);
        };
        let disks: Vec<String> = (0..set_up.disks).map(disk).collect();
        disks.iter().for_each(|path| add(path, set_up.disk));
        set_up.log.inspect(|&model| add(LOG, model));
        set_up.cache.inspect(|&model| add(CACHE, model));
        let env = Env { disks: Arc::new(devices.clone()), ..env };
        let engine = LocalEngine::new(env, Options { search: Vec::new(), ..options });
        let leaves: Vec<VdevSpec> = disks.into_iter().map(VdevSpec::Leaf).collect();
        let spec = PoolSpec {
            name: POOL.into(),
            vdevs: if leaves.len() > 1 { vec![VdevSpec::Mirror(leaves)] } else { leaves },
            logs: set_up.log.iter().map(|_| VdevSpec::Leaf(LOG.into())).collect(),
            cache: set_up.cache.iter().map(|_| CACHE.into()).collect(),
            fs_props: vec![prop("compression", "lz4"), prop("sharenfs", "rw,no_root_squash,insecure")],
            ..PoolSpec::default()
        };
        engine.create(&spec)?;
        let server = Server::start(ServerConfig::new(([127, 0, 0, 1], 0).into()), engine.clone())?;
        Ok(Rig { devices, engine, server, shares: Cell::new(0) })
    }

    /// A new file system with this value of `sync`, on a pool at rest.
    pub fn share(&self, sync: &str) -> Result<Share, Fail> {
        self.share_with(&[("sync", sync)])
    }

    /// Likewise, with these properties.
    pub fn share_with(&self, props: &[(&str, &str)]) -> Result<Share, Fail> {
        self.shares.set(self.shares.get() + 1);
        let name = format!("{POOL}/fs{}", self.shares.get());
        let props = props.iter().map(|(name, value)| prop(name, value)).collect();
        let change = Change::CreateFilesystem { name: name.clone(), parents: false, props };
        self.engine.pool(POOL)?.commit(&change, "")?;
        self.settle()?;
        Ok(Share::new(self.server.addr(), &format!("/{name}")))
    }

    /// Waits until everything is on the disks.
    pub fn settle(&self) -> Result<(), Fail> {
        self.engine.pool(POOL)?.sync()?;
        Ok(())
    }

    pub fn pool(&self) -> Result<Arc<dyn Pool>, Fail> {
        Ok(self.engine.pool(POOL)?)
    }

    pub fn has_cache_device(&self) -> Result<bool, Fail> {
        Ok(!self.pool()?.status().cache.is_empty())
    }

    pub fn usage(&self) -> Usage {
        let (disk, log) = (self.devices.counts(&disk(0)), self.devices.counts(LOG));
        Usage {
            cpu: load::process_time("self"),
            disk_reads: disk.reads,
            disk_busy: Duration::from_nanos(disk.busy.0),
            disk_flushes: disk.flushes,
            log_flushes: log.flushes,
            log_writes: log.writes,
        }
    }

    pub fn take_down(self) -> Result<(), Fail> {
        self.server.stop();
        Ok(self.engine.export_all()?)
    }
}
