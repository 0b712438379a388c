//! Finding pools: reading the labels of whatever may be a device, and putting together what belongs
//! together.
//!
//! Nothing here writes. A device that cannot be read, or holds garbage, is passed over: a search
//! must survive any folder. A crash in the middle of a group may leave labels that are younger than
//! any uberblock, some with another guid of the pool, on some devices: they tell of a group that
//! never was, and older ones are believed. Source: lib/libzutil/zutil_import.c (`get_configs`),
//! module/zfs/vdev_label.c (`vdev_label_read_config`).

use std::collections::BTreeMap;

use env::{Disks, Env, OpenMode};
use ondisk::label::config::{PoolState, key};
use ondisk::nvlist::NvList;
use ondisk::uberblock::Uberblock;
use storage::labels::Device;
use storage::{VdevConfig, VdevKind};

use super::config::PoolConfig;

/// A device that belongs to a pool.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub path: String,
    /// Guid of the leaf it is.
    pub guid: u64,
    /// Guids that any of its labels gives it: a crash may leave labels of a group that never was.
    pub guids: Vec<u64>,
    /// Of its newest label of a group that is durable.
    pub config: PoolConfig,
    /// Newest first.
    pub uberblocks: Vec<Uberblock>,
    /// Bytes of the device.
    pub size: u64,
}

impl Candidate {
    /// Of a disk and copies of it, the one that is it has most of this: used last, then found where
    /// it was before.
    fn claim(&self) -> (u64, bool) {
        let mut at_home = false;
        self.config.tree.visit(&mut |vdev| {
            at_home |= vdev.guid == self.guid && vdev.path.as_deref() == Some(&self.path);
        });
        (self.uberblocks.first().map_or(0, |uberblock| uberblock.txg), at_home)
    }
}

/// A device whose label says that it is a spare or a cache device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    pub path: String,
    pub guid: u64,
    /// [`PoolState::Spare`] or [`PoolState::L2cache`].
    pub state: PoolState,
    /// Bytes of the device.
    pub size: u64,
}

impl Extra {
    /// What a label without a pool's name tells.
    pub(super) fn of(path: &str, device: &Device, label: &NvList) -> Option<Extra> {
        let state = label.u64(key::POOL_STATE).and_then(PoolState::from_raw)?;
        let extra = matches!(state, PoolState::Spare | PoolState::L2cache);
        let guid = label.u64(key::GUID)?;
        extra.then(|| Extra { path: path.to_owned(), guid, state, size: device.size })
    }
}

/// All devices found of one pool.
#[derive(Clone, Debug)]
pub struct FoundPool {
    pub guid: u64,
    /// The newest configuration found: name, host and state are its.
    pub config: PoolConfig,
    pub devices: Vec<Candidate>,
    /// Every spare and cache device found in the same places: their labels don't say of which pool.
    pub extras: Vec<Extra>,
}

impl FoundPool {
    /// The tree as far as the labels tell it: top-level vdevs in order, a missing one where none of
    /// its devices was found.
    pub fn tree(&self) -> VdevConfig {
        let mut tops: BTreeMap<u64, (u64, VdevConfig)> = BTreeMap::new();
        for device in &self.devices {
            let top = &device.config.tree;
            let newer = tops.get(&top.id).is_none_or(|(txg, _)| *txg < device.config.txg);
            if newer {
                tops.insert(top.id, (device.config.txg, top.clone()));
            }
        }
        let mut root = VdevConfig::new(VdevKind::Root, 0, self.guid);
        let count = self.config.vdev_children.max(tops.keys().last().map_or(0, |id| id + 1)).min(1 << 16);
        let holes = self.config.pairs.u64_array(key::HOLE_ARRAY).unwrap_or_default();
        for id in 0..count {
            let kind = if holes.contains(&id) { VdevKind::Hole } else { VdevKind::Missing };
            // What was in the place of a hole before is a stale device's opinion.
            let known = tops.remove(&id).map(|(_, top)| top).filter(|_| kind != VdevKind::Hole);
            root.children.push(known.unwrap_or_else(|| VdevConfig::new(kind, id, 0)));
        }
        self.fix_paths(&mut root);
        root
    }

    /// Says where the leaves were found, wherever the tree thinks they are.
    pub fn fix_paths(&self, tree: &mut VdevConfig) {
        tree.visit_mut(&mut |vdev| {
            if vdev.kind.is_leaf()
                && let Some(device) = self.device(vdev.guid)
            {
                vdev.path = Some(device.path.clone());
            }
        });
    }

    /// The device that is this leaf: by its newest label, else by any.
    pub fn device(&self, leaf: u64) -> Option<&Candidate> {
        let newest = self.devices.iter().find(|device| device.guid == leaf);
        newest.or_else(|| self.devices.iter().find(|device| device.guids.contains(&leaf)))
    }

    /// Leaves that had no part in either of the last two groups that any device has. Until the
    /// dirty time logs can be read, which lie in the pool itself, nothing else tells who lacks
    /// something. One group alone tells nothing: the power may have gone before all had its
    /// uberblock.
    pub fn stragglers(&self) -> Vec<u64> {
        let mut groups: Vec<u64> = self.uberblocks().iter().map(|uberblock| uberblock.txg).collect();
        groups.dedup();
        let Some(&last_but_one) = groups.get(1) else { return Vec::new() };
        let newest = |device: &Candidate| device.uberblocks.first().map_or(0, |uberblock| uberblock.txg);
        let old = self.devices.iter().filter(|device| newest(device) < last_but_one);
        old.map(|device| device.guid).collect()
    }

    /// Every uberblock of every device, newest first.
    pub fn uberblocks(&self) -> Vec<Uberblock> {
        let mut all: Vec<Uberblock> =
            self.devices.iter().flat_map(|device| device.uberblocks.clone()).collect();
        all.sort_by(|a, b| b.cmp_age(a));
        all.dedup();
        all
    }
}

/// What a device turns out to be.
enum Probed {
    Member(Member),
    Extra(Extra),
}

/// A device with all that its labels say.
struct Member {
    path: String,
    /// Guids of the leaf and what else they say, without repetitions.
    labels: Vec<(u64, PoolConfig)>,
    uberblocks: Vec<Uberblock>,
    size: u64,
}

impl Member {
    /// By the newest label that is of this group or before it; else by the newest.
    fn candidate(self, durable: u64) -> Option<Candidate> {
        let Member { path, labels, uberblocks, size } = self;
        let guids = labels.iter().map(|(guid, _)| *guid).collect();
        let best = labels.into_iter().max_by_key(|(_, config)| (config.txg <= durable, config.txg));
        best.map(|(guid, config)| Candidate { path, guid, guids, config, uberblocks, size })
    }
}

/// By pool guid, the newest group that is durable, as far as the devices tell that have labels with
/// this guid.
fn durable_groups(members: &[Member]) -> BTreeMap<u64, u64> {
    let mut newest = BTreeMap::new();
    for member in members {
        let txg = member.uberblocks.first().map_or(0, |uberblock| uberblock.txg);
        for (_, config) in &member.labels {
            let known: &mut u64 = newest.entry(config.guid).or_default();
            *known = txg.max(*known);
        }
    }
    newest
}

/// Reads the labels of one device; `None` where there is no pool on it.
pub fn probe(env: &Env, path: &str) -> Option<Candidate> {
    match look(env, path)? {
        Probed::Member(member) => member.candidate(u64::MAX),
        Probed::Extra(_) => None,
    }
}

/// Whether a device is a spare or a cache device, of whatever pool.
pub(super) fn probe_extra(env: &Env, path: &str) -> Option<Extra> {
    let device = Device::locate(env.disks.open(path, OpenMode::ReadOnly).ok()?).ok()?;
    let labels = device.read_labels();
    Extra::of(path, &device, labels.config()?)
}

fn look(env: &Env, path: &str) -> Option<Probed> {
    let disk = env.disks.open(path, OpenMode::ReadOnly).ok()?;
    let device = Device::locate(disk).ok()?;
    let found = device.read_labels();
    let list = found.config()?;
    if let Some(extra) = Extra::of(path, &device, list) {
        return Some(Probed::Extra(extra));
    }
    let mut different: Vec<&NvList> = Vec::new();
    for label in found.configs.iter().flatten() {
        if !different.contains(&label) {
            different.push(label);
        }
    }
    let read = |label: &&NvList| Some((label.u64(key::GUID)?, PoolConfig::from_nvlist(label).ok()?));
    let labels: Vec<(u64, PoolConfig)> = different.iter().filter_map(read).collect();
    let (path, size) = (path.to_owned(), device.size);
    (!labels.is_empty()).then_some(Probed::Member(Member {
        path,
        labels,
        uberblocks: found.uberblocks,
        size,
    }))
}

/// Paths to look at: folders stand for what is in them.
pub fn expand(disks: &dyn Disks, places: &[String]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for place in places {
        match disks.list(place) {
            Ok(inside) => paths.extend(inside),
            Err(_) => paths.push(place.clone()),
        }
    }
    paths.sort();
    paths.dedup();
    paths
}

/// All pools with a device among the places, by guid.
pub fn search(env: &Env, places: &[String]) -> Vec<FoundPool> {
    let paths = expand(&*env.disks, places);
    let slots: Vec<std::sync::Mutex<Option<Probed>>> = paths.iter().map(|_| Default::default()).collect();
    env.driver.par_map(paths.len(), &|n| *env::lock(&slots[n]) = look(env, &paths[n]));
    let (mut members, mut extras): (Vec<Member>, Vec<Extra>) = Default::default();
    for probed in slots.into_iter().filter_map(|slot| slot.into_inner().expect("a panic has been passed on"))
    {
        match probed {
            Probed::Member(member) => members.push(member),
            Probed::Extra(extra) => extras.push(extra),
        }
    }
    let durable = durable_groups(&members);
    let mut pools: BTreeMap<u64, FoundPool> = BTreeMap::new();
    for member in members {
        let newest = member.labels.iter().filter_map(|(_, config)| durable.get(&config.guid)).max().copied();
        let Some(candidate) = member.candidate(newest.unwrap_or(0)) else { continue };
        let pool = pools.entry(candidate.config.guid).or_insert_with(|| FoundPool {
            guid: candidate.config.guid,
            config: candidate.config.clone(),
            devices: Vec::new(),
            extras: Vec::new(),
        });
        if candidate.config.txg > pool.config.txg {
            pool.config = candidate.config.clone();
        }
        // The same disk under two names is one disk.
        match pool.devices.iter_mut().find(|device| device.guid == candidate.guid) {
            Some(known) if known.claim() < candidate.claim() => *known = candidate,
            Some(_) => {}
            None => pool.devices.push(candidate),
        }
    }
    pools.into_values().map(|pool| FoundPool { extras: extras.clone(), ..pool }).collect()
}
