//! What was counted at a moment, and what changed from one to the next.

use crate::client::Client;
use crate::fail::Stop;
use api_types::{IoCounters, PoolStatus, VdevStatus, VdevTallies, routes};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// Counters by guid, when they were read.
pub struct Sample {
    at: Instant,
    counters: HashMap<u64, IoCounters>,
    tallies: HashMap<u64, BTreeMap<String, Vec<u64>>>,
}

impl Sample {
    pub fn take(client: &Client, pools: &[PoolStatus], with_tallies: bool) -> Result<Sample, Stop> {
        let mut counters = HashMap::new();
        for pool in pools {
            collect(&pool.root, &mut counters);
            pool.cache.iter().for_each(|cache| collect(cache, &mut counters));
        }
        let mut tallies = HashMap::new();
        for pool in pools.iter().filter(|_| with_tallies) {
            let all: Vec<VdevTallies> = client.get(&routes::at(routes::POOL_IOSTAT, &pool.name))?;
            tallies.extend(all.into_iter().map(|vdev| (vdev.guid, vdev.tallies)));
        }
        Ok(Sample { at: Instant::now(), counters, tallies })
    }
}

fn collect(vdev: &VdevStatus, into: &mut HashMap<u64, IoCounters>) {
    into.insert(vdev.guid, vdev.io);
    vdev.children.iter().for_each(|child| collect(child, into));
}

/// From one sample to the next; without the one before, since import.
pub struct Change<'a> {
    pub before: Option<&'a Sample>,
    pub now: &'a Sample,
}

impl Change<'_> {
    /// What rates are divided by. Since import nobody knows how long it was: totals are shown.
    pub fn seconds(&self) -> f64 {
        self.before.map_or(1.0, |before| self.now.at.duration_since(before.at).as_secs_f64().max(0.001))
    }

    pub fn counters(&self, vdev: &VdevStatus) -> IoCounters {
        let old = self.before.and_then(|sample| sample.counters.get(&vdev.guid)).copied().unwrap_or_default();
        let new = &vdev.io;
        IoCounters {
            read_ops: new.read_ops.saturating_sub(old.read_ops),
            write_ops: new.write_ops.saturating_sub(old.write_ops),
            read_bytes: new.read_bytes.saturating_sub(old.read_bytes),
            write_bytes: new.write_bytes.saturating_sub(old.write_bytes),
            read_nanos: new.read_nanos.saturating_sub(old.read_nanos),
            write_nanos: new.write_nanos.saturating_sub(old.write_nanos),
        }
    }

    pub fn tally_names(&self, vdev: &VdevStatus) -> impl Iterator<Item = &str> {
        self.now.tallies.get(&vdev.guid).into_iter().flat_map(|all| all.keys().map(String::as_str))
    }

    /// As of now; nothing where there is no such tally.
    pub fn now_of(&self, vdev: &VdevStatus, name: &str) -> Vec<u64> {
        let tally = |sample: &Sample| sample.tallies.get(&vdev.guid)?.get(name).cloned();
        tally(self.now).unwrap_or_default()
    }

    /// The change of a histogram.
    pub fn tally(&self, vdev: &VdevStatus, name: &str) -> Vec<u64> {
        let old = self.before.and_then(|sample| sample.tallies.get(&vdev.guid)?.get(name));
        let mut new = self.now_of(vdev, name);
        new.iter_mut().zip(old.into_iter().flatten()).for_each(|(new, old)| *new = new.saturating_sub(*old));
        new
    }
}
