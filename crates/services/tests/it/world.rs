//! Pools as they are, whatever anybody believes of them.

use std::collections::{BTreeMap, BTreeSet};

use services::autosnap::coverage::Named;
use services::autosnap::stamp::Stamp;
use services::autosnap::view::{Dataset, Snapshot, View};
use services::time::Time;
use stdx::prng::Prng;

/// The id of the service that is simulated.
pub const SERVICE: &str = "auto-1";

/// What the simulation knows of a snapshot and a planner does not.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The service made it.
    pub ours: bool,
    /// By a clock that is never wrong.
    pub made: Time,
    /// How far believed time had been moved ahead by then, in all.
    pub moved: i64,
}

/// A dataset with what its snapshots hold.
#[derive(Clone, Debug)]
pub struct Data {
    pub view: View,
    /// Bytes that snapshots hold: of transaction groups from the first to the last.
    held: Vec<(u64, u64, u64)>,
    /// Bytes that were destroyed and are not free yet.
    pending: u64,
}

pub struct World {
    pub data: BTreeMap<u64, Data>,
    pub truth: BTreeMap<u64, Truth>,
    /// The time that passes.
    pub time: Time,
    /// How far the wall clock is ahead of it.
    pub ahead: i64,
    pub boot: u64,
    pub booted: Time,
    pub txg: u64,
    guids: u64,
}

impl World {
    pub fn new(time: Time) -> World {
        let mut world = World {
            data: BTreeMap::new(),
            truth: BTreeMap::new(),
            time,
            ahead: 0,
            boot: 1,
            booted: time - 100,
            txg: 10,
            guids: 100,
        };
        for name in ["tank", "tank/home", "tank/home/ann", "tank/home/scratch", "dozer", "dozer/vm"] {
            world.add(name);
        }
        world
    }

    pub fn wall(&self) -> Time {
        self.time + self.ahead
    }

    pub fn guid(&mut self) -> u64 {
        self.guids += 1;
        self.guids
    }

    pub fn named(&self) -> Vec<Named> {
        let name = |data: &Data| Named { name: data.view.dataset.name.clone(), guid: data.view.dataset.guid };
        self.data.values().map(name).collect()
    }

    pub fn by_name(&self, name: &str) -> Option<u64> {
        self.data.values().map(|data| &data.view.dataset).find(|it| it.name == name).map(|it| it.guid)
    }

    /// A new dataset, unless there is one of that name, or nothing that it could be in.
    pub fn add(&mut self, name: &str) {
        let parent = name.rsplit_once('/').map(|(parent, _)| parent);
        if self.by_name(name).is_some() || parent.is_some_and(|parent| self.by_name(parent).is_none()) {
            return;
        }
        let guid = self.guid();
        let dataset = Dataset {
            name: name.to_owned(),
            guid,
            created: self.wall(),
            written: 4_096,
            used: 1 << 30,
            available: 1 << 34,
            used_by_snapshots: 0,
            freeing: false,
            receiving: false,
            replica: false,
            writable: true,
        };
        let view = View { dataset, snapshots: Vec::new() };
        self.data.insert(guid, Data { view, held: Vec::new(), pending: 0 });
    }

    /// Destroys a dataset with all that it has and that is below it.
    pub fn drop(&mut self, name: &str) {
        let below = format!("{name}/");
        let is_gone =
            |data: &Data| data.view.dataset.name == name || data.view.dataset.name.starts_with(&below);
        let gone: Vec<u64> =
            self.data.iter().filter(|(_, data)| is_gone(data)).map(|(guid, _)| *guid).collect();
        for data in gone.into_iter().filter_map(|guid| self.data.remove(&guid)) {
            for snapshot in data.view.snapshots {
                self.truth.remove(&snapshot.guid);
            }
        }
    }

    /// Makes a snapshot; `stamped`: with this user property of its own.
    pub fn snapshot(&mut self, dataset: u64, name: &str, stamped: Option<&str>, truth: Truth) -> bool {
        let (guid, wall) = (self.guid(), self.wall());
        let Some(data) = self.data.get_mut(&dataset) else { return false };
        if data.view.snapshots.iter().any(|it| it.name == name) {
            return false;
        }
        let written = std::mem::take(&mut data.view.dataset.written);
        data.view.snapshots.push(Snapshot {
            name: name.to_owned(),
            guid,
            createtxg: self.txg,
            created: wall,
            written,
            unique: 0,
            holds: 0,
            clones: 0,
            needed_by: None,
            stamp: stamped.and_then(Stamp::parse),
        });
        self.truth.insert(guid, truth);
        true
    }

    pub fn destroy(&mut self, dataset: u64, guid: u64) {
        let Some(data) = self.data.get_mut(&dataset) else { return };
        data.view.snapshots.retain(|it| it.guid != guid);
        data.settle();
        self.truth.remove(&guid);
    }

    /// Somebody writes over what was there.
    pub fn write(&mut self, dataset: u64, bytes: u64, random: &mut Prng) {
        let Some(data) = self.data.get_mut(&dataset) else { return };
        data.view.dataset.written += bytes;
        let last = data.view.snapshots.iter().map(|it| it.createtxg).max();
        let first = data.view.snapshots.iter().map(|it| it.createtxg).min();
        if let (Some(first), Some(last)) = (first, last) {
            data.held.push((if random.chance(1, 2) { first } else { last }, last, bytes));
            data.settle();
        }
    }

    /// What was destroyed comes free, of some datasets.
    pub fn free(&mut self, random: &mut Prng) {
        for data in self.data.values_mut().filter(|data| data.pending > 0) {
            if random.chance(1, 2) {
                data.pending = 0;
                data.settle();
            }
        }
    }

    /// A dataset takes over the snapshots of another up to a transaction group.
    pub fn promote(&mut self, from: u64, to: u64, txg: u64) {
        let Some(source) = self.data.get_mut(&from) else { return };
        let (moved, stay) = source.view.snapshots.drain(..).partition(|it| it.createtxg <= txg);
        source.view.snapshots = stay;
        let (held, rest) = source.held.drain(..).partition(|it: &(u64, u64, u64)| it.1 <= txg);
        source.held = rest;
        source.settle();
        let (moved, held): (Vec<Snapshot>, Vec<(u64, u64, u64)>) = (moved, held);
        let Some(target) = self.data.get_mut(&to) else { return };
        let names: BTreeSet<String> = target.view.snapshots.iter().map(|it| it.name.clone()).collect();
        for snapshot in moved {
            if names.contains(&snapshot.name) {
                self.truth.remove(&snapshot.guid);
            } else {
                target.view.snapshots.push(snapshot);
            }
        }
        target.held.extend(held);
        target.settle();
    }

    /// Renames a dataset and all below it.
    pub fn rename(&mut self, from: &str, to: &str) {
        for data in self.data.values_mut() {
            let name = &mut data.view.dataset.name;
            if let Some(rest) =
                name.strip_prefix(from).filter(|rest| rest.is_empty() || rest.starts_with('/'))
            {
                *name = format!("{to}{rest}");
            }
        }
    }
}

impl Data {
    /// Counts anew what snapshots hold.
    fn settle(&mut self) {
        let mut txgs: Vec<u64> = self.view.snapshots.iter().map(|it| it.createtxg).collect();
        txgs.sort_unstable();
        let mut merged: BTreeMap<(u64, u64), u64> = BTreeMap::new();
        for (first, last, bytes) in self.held.drain(..) {
            let (low, high) =
                (txgs.partition_point(|txg| *txg < first), txgs.partition_point(|txg| *txg <= last));
            if low < high {
                *merged.entry((txgs[low], txgs[high - 1])).or_default() += bytes;
            } else {
                self.pending += bytes;
            }
        }
        self.held = merged.into_iter().map(|((first, last), bytes)| (first, last, bytes)).collect();
        let mut alone: BTreeMap<u64, u64> = BTreeMap::new();
        for (first, last, bytes) in &self.held {
            if first == last && txgs.iter().filter(|txg| *txg == first).count() == 1 {
                *alone.entry(*first).or_default() += bytes;
            }
        }
        for snapshot in &mut self.view.snapshots {
            snapshot.unique = alone.get(&snapshot.createtxg).copied().unwrap_or(0);
        }
        let held: u64 = self.held.iter().map(|(.., bytes)| bytes).sum();
        self.view.dataset.used_by_snapshots = held + self.pending;
        self.view.dataset.freeing = self.pending > 0;
    }
}
