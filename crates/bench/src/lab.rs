//! A pool on disks in memory that can be made to take the time of a known device.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::facade::{LocalEngine, Options};
use engine_api::{
    Change, Engine, ImportOptions, NewDevice, Pool, PoolSpec, RebuildState, RebuildStatus, ScanCommand,
    ScanState, ScanStatus, VdevSpec, VdevStatus,
};
use env::{Clock, DeviceModel, DiskIo, Disks, Env, IoClass, MemDisks, ModelDisks, OpenMode, SectorSize};
use load::Fail;

use crate::pool_file::PoolFile;

const POOL: &str = "lab";
const FILE_SYSTEM: &str = "lab/fs";
/// Of the disks.
const FOLDER: &str = "/lab";
/// Memory is taken as a disk is written.
const DISK_SIZE: u64 = 3 << 30;
const CACHE: usize = 256 << 20;
/// How often a scan is asked whether it is done.
const A_MOMENT: Duration = Duration::from_millis(5);

/// The top-level vdev.
#[derive(Clone, Copy)]
pub enum Shape {
    Mirror(usize),
    Raidz { parity: u64, width: usize },
}

pub struct Lab {
    memory: MemDisks,
    devices: ModelDisks,
    shape: Shape,
    engine: Arc<LocalEngine>,
    pool: Arc<dyn Pool>,
    pub file: PoolFile,
}

impl Shape {
    fn width(self) -> usize {
        match self {
            Shape::Mirror(width) | Shape::Raidz { width, .. } => width,
        }
    }

    /// Disks that each of its bytes of space is spread over.
    fn spread(self) -> u64 {
        match self {
            Shape::Mirror(_) => 1,
            Shape::Raidz { width, .. } => width as u64,
        }
    }
}

fn path(disk: usize) -> String {
    format!("{FOLDER}/disk{disk}")
}

impl Lab {
    /// With an empty file; on disks as fast as memory.
    pub fn new(shape: Shape, props: &[(&str, &str)]) -> Result<Lab, Fail> {
        let (memory, clock) = (MemDisks::new(), Env::real().clock as Arc<dyn Clock>);
        let devices = ModelDisks::new(Arc::new(memory.clone()), clock);
        (0..shape.width()).for_each(|disk| add(&memory, disk));
        let leaves = (0..shape.width()).map(|disk| VdevSpec::Leaf(path(disk))).collect();
        let vdev = match shape {
            Shape::Mirror(_) => VdevSpec::Mirror(leaves),
            Shape::Raidz { parity, .. } => VdevSpec::Raidz { parity, children: leaves },
        };
        let engine = start(&devices);
        let spec = PoolSpec { name: POOL.into(), vdevs: vec![vdev], ..PoolSpec::default() };
        let pool = engine.create(&spec)?;
        let file = PoolFile::make(&*pool, FILE_SYSTEM, props)?;
        Ok(Lab { memory, devices, shape, engine, pool, file })
    }

    /// Opens the pool anew, with nothing of it in memory; on devices of this model from now on, if
    /// given.
    pub fn reopen(&mut self, model: Option<DeviceModel>) -> Result<(), Fail> {
        self.engine.export(POOL, false)?;
        if let Some(model) = model {
            (0..=self.shape.width()).for_each(|disk| self.devices.set(&path(disk), model));
        }
        self.engine = start(&self.devices);
        let options = ImportOptions { search: vec![FOLDER.into()], force: true, ..ImportOptions::default() };
        self.pool = self.engine.import(POOL, &options)?;
        self.file = PoolFile::find(&*self.pool, FILE_SYSTEM)?;
        Ok(())
    }

    /// Bytes a second that the first disk gives to one who reads it from front to back, a few
    /// requests ahead.
    pub fn disk_rate(&self) -> Result<f64, Fail> {
        let disk = self.devices.open(&path(0), OpenMode::ReadOnly)?;
        let mut memory = vec![0; 4 << 20];
        let (begun, mut at) = (Instant::now(), 0);
        while begun.elapsed() < Duration::from_secs(1) {
            let parts = memory.chunks_mut(1 << 20).enumerate();
            let mut batch: Vec<DiskIo<'_>> = parts
                .map(|(n, part)| DiskIo::read(at + ((n as u64) << 20), part, IoClass::SyncRead))
                .collect();
            disk.submit(&mut batch);
            batch.iter().try_for_each(|io| io.result)?;
            at += memory.len() as u64;
        }
        Ok(at as f64 / begun.elapsed().as_secs_f64())
    }

    /// Bytes on each disk that are in use.
    pub fn used(&self) -> u64 {
        self.top().allocated / self.shape.spread()
    }

    /// Reads everything; how long that takes.
    pub fn scrub(&self) -> Result<Duration, Fail> {
        let begun = Instant::now();
        self.pool.commit(&Change::Scan(ScanCommand::Scrub), "")?;
        self.wait_for_scan(begun)
    }

    /// Puts a new disk in the place of the last; how long it takes until that has everything.
    pub fn replace(&self) -> Result<Duration, Fail> {
        let begun = self.begin_replacing(false)?;
        let took = self.wait_for_scan(begun)?;
        while self.top().children.iter().any(|child| !child.children.is_empty()) {
            std::thread::sleep(A_MOMENT); // The old disk is let go.
        }
        Ok(took)
    }

    /// The same sequentially, of a mirror. A scrub goes on after that.
    pub fn rebuild(&self) -> Result<Duration, Fail> {
        let begun = self.begin_replacing(true)?;
        let ended = |rebuild: &RebuildStatus| rebuild.state == RebuildState::Finished;
        while !self.top().rebuild.as_ref().is_some_and(ended) {
            std::thread::sleep(A_MOMENT);
        }
        Ok(begun.elapsed())
    }

    fn begin_replacing(&self, sequential: bool) -> Result<Instant, Fail> {
        let new = self.shape.width();
        add(&self.memory, new);
        let old = self.leaf(new - 1);
        let device = NewDevice { path: Some(path(new)), force: true, ashift: None, sequential };
        let begun = Instant::now();
        self.pool.commit(&Change::ReplaceVdev { guid: old, new: device }, "")?;
        Ok(begun)
    }

    /// Takes a disk away.
    pub fn take_offline(&self, disk: usize) -> Result<(), Fail> {
        self.pool.commit(&Change::OfflineVdev { guid: self.leaf(disk), temporary: true }, "")?;
        Ok(())
    }

    fn top(&self) -> VdevStatus {
        self.pool.status().root.children.remove(0)
    }

    fn leaf(&self, disk: usize) -> u64 {
        self.top().children[disk].guid
    }

    /// Until the scan that was begun a moment ago has ended.
    fn wait_for_scan(&self, begun: Instant) -> Result<Duration, Fail> {
        let ended = |scan: &ScanStatus| scan.state == ScanState::Finished;
        while !self.pool.status().scan.as_ref().is_some_and(ended) {
            std::thread::sleep(A_MOMENT);
        }
        match self.pool.status().data_errors {
            0 => Ok(begun.elapsed()),
            errors => Err(format!("{errors} blocks are hurt").into()),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // It goes with its disks; a failure to end it well shows in nothing measured.
        drop(self.engine.destroy(POOL, true));
    }
}

fn add(memory: &MemDisks, disk: usize) {
    memory.add_with(&path(disk), DISK_SIZE, SectorSize { logical: 512, physical: 4096 }, false);
}

fn start(devices: &ModelDisks) -> Arc<LocalEngine> {
    let env = Env { disks: Arc::new(devices.clone()), ..Env::real() };
    LocalEngine::new(env, Options { search: Vec::new(), cache: CACHE, ..Options::default() })
}
