//! What an appliance of the simulation has around it: clocks, a drawer for its services, which is
//! in no pool, and no mounts.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use api_types::{LastRun, PeerRead, RsyncEnd, ScriptEnd, ScriptPolicy, ServiceLog, SnapTarget, SshHost};
use appliance::replication::{Elsewhere, Fault, Peer};
use appliance::{
    Broken, Errand, Kept, Line, LocalMount, LocalMounts, LocalShare, Memory, MountSpec, Shelf, ShelfFault,
    Spoilt, World,
};
use engine_api::{Cancel, Result};
use env::lock;
use jiff::tz::TimeZone;
use services::autotier::command::Said;
use services::clock::{Clock, Reading};
use stdx::prng::Prng;

use super::line::Net;
use super::pull::Sources;
use crate::disk::SimDisks;
use crate::time::Time;

/// What services of a place see.
pub struct Outside {
    pub net: Arc<Net>,
    pub me: usize,
    /// Number and moment of the last start.
    pub boot: (u64, u64),
    pub time: Time,
    pub seed: u64,
}

impl World for Outside {
    fn reading(&self) -> Reading {
        let (boot, begun) = self.boot;
        let now = self.time.now().0 / 1_000_000_000;
        Reading { boot, monotonic: now - begun, wall: self.time.wall().secs }
    }

    fn passed(&self) -> Duration {
        Duration::from_nanos(self.time.now().0)
    }

    fn zone(&self, _: Option<&str>) -> Option<TimeZone> {
        Some(TimeZone::UTC)
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn run(&self, _: &ScriptPolicy, _: &Cancel) -> (ScriptEnd, String) {
        (ScriptEnd::NotStarted { message: "there are no programs".to_owned() }, String::new())
    }

    fn original(&self, _: &str, service: &str, guid: u64) -> std::result::Result<bool, Fault> {
        self.net.original(self.me, service, guid)
    }

    fn readers(&self) -> std::result::Result<Vec<(String, Vec<PeerRead>)>, String> {
        Ok(self.net.readers(self.me))
    }

    fn source(&self, _: &str, service: &str, source: &SnapTarget) -> Box<dyn Elsewhere> {
        Box::new(Sources::new(&self.net, self.me, service, source))
    }

    fn peer(&self, _: &str, service: &str, sources: BTreeMap<String, u64>) -> Box<dyn Peer> {
        Box::new(Net::remote(&self.net, self.me, service, sources))
    }

    fn connect(&self, _: &SshHost, _: &Cancel) -> std::result::Result<Box<dyn Line>, Broken> {
        Err(Broken::NotStarted { why: "there is no ssh".to_owned() })
    }

    fn keys(&self) -> (String, String) {
        Default::default()
    }

    fn mounts(&self) -> Vec<(String, String)> {
        Vec::new()
    }

    fn folder(&self, _: &str) -> Option<String> {
        None
    }

    fn flush(&self, _: &str) -> std::result::Result<(), String> {
        Ok(())
    }

    fn rsync(&self, _: &Errand<'_>, _: &mut dyn FnMut(Said)) -> (RsyncEnd, String) {
        (RsyncEnd::NotStarted { message: "there are no programs".to_owned() }, String::new())
    }
}

/// Keeps the services of a place over its restarts. Nothing is written while the power is off.
pub struct Drawer {
    disks: SimDisks,
    inside: Mutex<Inside>,
}

#[derive(Default)]
struct Inside {
    kept: BTreeMap<String, Kept>,
    /// As some backup of the system disk has it.
    old: BTreeMap<String, Memory>,
    clock: Option<Clock>,
}

impl Drawer {
    pub fn new(disks: &SimDisks) -> Arc<Drawer> {
        Arc::new(Drawer { disks: disks.clone(), inside: Mutex::default() })
    }

    fn write(&self, change: impl FnOnce(&mut Inside)) -> std::result::Result<(), ShelfFault> {
        if !self.disks.is_on() {
            return Err(ShelfFault::Failed("the power is off".to_owned()));
        }
        change(&mut lock(&self.inside));
        Ok(())
    }

    /// What a service remembers.
    pub fn memory(&self, id: &str) -> Memory {
        lock(&self.inside).kept.get(id).map(|kept| kept.memory.clone()).unwrap_or_default()
    }

    /// What services remember is gone, or what they remembered some time ago.
    pub fn lose(&self, prng: &mut Prng) {
        let mut inside = lock(&self.inside);
        let Inside { kept, old, .. } = &mut *inside;
        let is_new = prng.chance(1, 2);
        for (id, kept) in kept {
            let before = old.get(id).filter(|_| is_new).cloned().unwrap_or_default();
            old.insert(id.clone(), std::mem::replace(&mut kept.memory, before));
        }
    }

    fn put(inside: &mut Inside, kept: &Kept) {
        inside.kept.insert(kept.instance.id.clone(), kept.clone());
    }
}

impl Shelf for Drawer {
    fn services(&self) -> std::result::Result<Vec<std::result::Result<Kept, Spoilt>>, ShelfFault> {
        Ok(lock(&self.inside).kept.values().cloned().map(Ok).collect())
    }

    fn set(&self, kept: &Kept, _: &[ServiceLog]) -> std::result::Result<(), ShelfFault> {
        self.write(|inside| Drawer::put(inside, kept))
    }

    fn note(&self, kept: &Kept, _: &[ServiceLog]) -> std::result::Result<(), ShelfFault> {
        self.write(|inside| Drawer::put(inside, kept))
    }

    fn record(&self, _: &str, _: &LastRun) -> std::result::Result<(), ShelfFault> {
        Ok(())
    }

    fn remove(&self, id: &str) -> std::result::Result<(), ShelfFault> {
        self.write(|inside| drop(inside.kept.remove(id)))
    }

    fn log(&self, _: &str) -> std::result::Result<Vec<ServiceLog>, ShelfFault> {
        Ok(Vec::new())
    }

    fn clock(&self) -> std::result::Result<Option<Clock>, ShelfFault> {
        Ok(lock(&self.inside).clock.clone())
    }

    fn note_clock(&self, clock: &Clock) -> std::result::Result<(), ShelfFault> {
        self.write(|inside| inside.clock = Some(clock.clone()))
    }
}

/// A machine on which nothing is mounted.
pub struct NoMounts;

impl LocalMounts for NoMounts {
    fn is_free(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn mount(&self, _: &MountSpec) -> Result<()> {
        Ok(())
    }

    fn remount(&self, _: &str, _: &[String]) -> Result<()> {
        Ok(())
    }

    fn renamed(&self, _: &str, _: &str) {}

    fn unmount(&self, _: &str, _: bool) -> Result<()> {
        Ok(())
    }

    fn settled(&self, _: &dyn Fn(&str) -> bool) -> Result<()> {
        Ok(())
    }

    fn leave(&self, _: Vec<String>) {}

    fn refresh(&self, _: &str) -> bool {
        true
    }

    fn mounted(&self) -> Vec<LocalMount> {
        Vec::new()
    }

    fn mounted_at(&self, _: &str) -> Result<Option<String>> {
        Ok(None)
    }

    fn share(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn unshare(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn withdrawn(&self) -> Vec<String> {
        Vec::new()
    }

    fn shared(&self) -> Vec<LocalShare> {
        Vec::new()
    }
}
