//! What the metrics are made of, gathered at one moment.

use std::cell::OnceCell;
use std::time::Instant;

use api_types::{
    Breakdown, Counted, Counts, DatasetInfo, FileSystemCounts, IscsiCounts, Latency, NfsCounts, OTHERS,
    PoolStatus, Statistics, VdevStatus, VolumeCounts,
};
use engine_api::{DatasetFilter, Pool, Secrets};

use super::{BUSIEST, DATASETS};
use crate::app::App;
use crate::{convert, statistics};

/// See the module.
#[derive(Default)]
pub struct Seen {
    pub version: String,
    pub statistics: Statistics,
    pub pools: Vec<PoolStatus>,
    pub disks: Vec<DiskTimes>,
    /// Of each pool's intent logs.
    pub logs: Vec<(String, Counts)>,
    pub cache: Counts,
    /// Of browsers, about the console.
    pub reports: u64,
    pub datasets: Vec<DatasetInfo>,
    /// Datasets that are not among those.
    pub datasets_left_out: u64,
    /// How long it took to find all this: nanoseconds.
    pub took: u64,
    /// Summed when it is first asked for.
    all_clients: OnceCell<NfsCounts>,
}

/// How long I/Os of a disk took.
pub struct DiskTimes {
    pub pool: String,
    pub disk: String,
    pub read: Latency,
    pub write: Latency,
}

/// Properties that are told of datasets.
pub const PROPERTIES: [&str; 4] = ["used", "available", "referenced", "quota"];

impl Seen {
    pub fn gather(app: &App) -> Seen {
        let begun = Instant::now();
        let pools = statistics::pools(app);
        let mut statistics = statistics::of(app, &pools);
        busiest(&mut statistics.file_systems);
        busiest(&mut statistics.volumes);
        busiest(&mut statistics.program.nfs.clients);
        busiest(&mut statistics.program.iscsi.initiators);
        let engine = app.engine();
        let mut seen = Seen {
            version: app.version.clone(),
            statistics,
            cache: convert::counts(engine.cache_counts()),
            reports: app.tally.reports(),
            ..Seen::default()
        };
        for pool in engine.pools() {
            seen.logs.push((pool.name(), convert::counts(pool.log_counts())));
            seen.add_disks(&*pool, &pools);
            seen.add_datasets(&*pool);
        }
        seen.pools = pools;
        seen.took = begun.elapsed().as_nanos() as u64;
        seen
    }

    fn add_disks(&mut self, pool: &dyn Pool, pools: &[PoolStatus]) {
        let name = pool.name();
        let Some(status) = pools.iter().find(|status| status.name == name) else { return };
        let tallies = pool.vdev_tallies();
        let roots = status.root.children.iter().chain(&status.cache);
        let mut left: Vec<&VdevStatus> = roots.collect();
        while let Some(vdev) = left.pop() {
            left.extend(&vdev.children);
            let Some(tally) = tallies.iter().find(|tally| tally.guid == vdev.guid) else { continue };
            if !vdev.children.is_empty() {
                continue;
            }
            let latency = |name: &str, time| {
                let buckets = tally.tallies.get(name).cloned().unwrap_or_default();
                Latency { time, buckets }
            };
            self.disks.push(DiskTimes {
                pool: name.clone(),
                disk: vdev.path.clone().unwrap_or_else(|| vdev.name.clone()),
                read: latency("vdev_disk_r_lat_histo", vdev.io.read_nanos),
                write: latency("vdev_disk_w_lat_histo", vdev.io.write_nanos),
            });
        }
    }

    /// Of a pool that cannot be read now there are none.
    fn add_datasets(&mut self, pool: &dyn Pool) {
        let props = |names: &[&str]| DatasetFilter {
            props: names.iter().map(|name| (*name).to_owned()).collect(),
            ..DatasetFilter::default()
        };
        let mut after = None;
        loop {
            let room = DATASETS - self.datasets.len();
            let (filter, limit) = match room {
                0 => (props(&["name"]), DATASETS),
                room => (props(&PROPERTIES), room),
            };
            let page = match pool.datasets_page(&filter, Secrets::Hidden, after.as_ref(), limit) {
                Ok(page) => page,
                Err(error) => {
                    tracing::debug!(pool = pool.name(), %error, "no metrics of its datasets");
                    return;
                }
            };
            match room {
                0 => self.datasets_left_out += page.datasets.len() as u64,
                _ => self.datasets.extend(page.datasets),
            }
            if page.next.is_none() {
                return;
            }
            after = page.next;
        }
    }

    pub fn file_systems(&self) -> impl Iterator<Item = (&str, &FileSystemCounts)> {
        self.statistics.file_systems.rows()
    }

    pub fn volumes(&self) -> impl Iterator<Item = (&str, &VolumeCounts)> {
        self.statistics.volumes.rows()
    }

    pub fn clients(&self) -> impl Iterator<Item = (&str, &NfsCounts)> {
        self.statistics.program.nfs.clients.rows()
    }

    /// Of all clients together.
    pub fn all_clients(&self) -> &NfsCounts {
        self.all_clients.get_or_init(|| self.statistics.program.nfs.clients.total())
    }

    pub fn initiators(&self) -> impl Iterator<Item = (&str, &IscsiCounts)> {
        self.statistics.program.iscsi.initiators.rows()
    }
}

/// Leaves the busiest, and puts all else to the others.
pub fn busiest<T: Counted>(breakdown: &mut Breakdown<T>) {
    let mut top = std::mem::take(breakdown).top(BUSIEST);
    // Initiators call themselves as they like.
    for one in top.each.extract_if(.., |one| one.name == OTHERS) {
        top.others = top.others.plus(&one.counts);
    }
    *breakdown = top;
}
