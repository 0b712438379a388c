//! What is served: targets, their units, and who may see these; as the volumes say themselves, and
//! as long as they do.
//!
//! A logical unit lives as long as its volume is served, whatever becomes of sessions. What is
//! learnt is kept until the engine says that it may have changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use engine_api::{Serving, VolumeId};
use scsi::{Identity, LogicalUnit, Target, TargetPort};
use sockets::lock;

use crate::share::{Credentials, PROPERTY, Share, parse};

/// See the module.
pub struct Catalogue {
    engine: Arc<dyn Serving>,
    /// Groups of portals that there are, in order.
    groups: Vec<u16>,
    state: Mutex<State>,
    /// How often volumes that could not be opened were tried once more.
    retries: AtomicU64,
}

#[derive(Default)]
struct State {
    generation: Option<u64>,
    targets: BTreeMap<String, Vec<Entry>>,
    units: BTreeMap<(u64, u64), Arc<LogicalUnit>>,
    /// When to try those once more that could not be opened.
    retry_at: Option<Instant>,
}

/// A volume that could not be opened is tried once more after that.
const RETRY: Duration = Duration::from_secs(10);

/// A unit of a target.
#[derive(Clone)]
struct Entry {
    share: Share,
    unit: Arc<LogicalUnit>,
}

fn key(id: VolumeId) -> (u64, u64) {
    (id.pool_guid, id.dataset_guid)
}

fn unit_id(id: VolumeId) -> u128 {
    u128::from(id.pool_guid) << 64 | u128::from(id.dataset_guid)
}

fn identity(id: VolumeId, dataset: &str) -> Identity {
    Identity { id: unit_id(id), serial: format!("{:016x}", id.dataset_guid), name: dataset.to_owned() }
}

impl Catalogue {
    pub fn new(engine: Arc<dyn Serving>, mut groups: Vec<u16>) -> Catalogue {
        groups.sort_unstable();
        groups.dedup();
        Catalogue { engine, groups, state: Mutex::default(), retries: AtomicU64::new(0) }
    }

    /// Grows when the answers may be others.
    pub fn generation(&self) -> u64 {
        self.engine.served_generation() + self.retries.load(Relaxed)
    }

    /// Has volumes that could not be opened tried once more, when it is time for that.
    pub fn retry(&self) {
        let mut state = lock(&self.state);
        if state.retry_at.is_some_and(|at| at <= Instant::now()) {
            state.retry_at = None;
            self.retries.fetch_add(1, Relaxed);
        }
    }

    fn fresh(&self) -> MutexGuard<'_, State> {
        let mut state = lock(&self.state);
        let generation = self.generation();
        if state.generation != Some(generation) {
            self.refresh(&mut state);
            state.generation = Some(generation);
        }
        state
    }

    fn refresh(&self, state: &mut State) {
        let mut targets: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        let mut units = BTreeMap::new();
        let mut served = self.engine.served_volumes(PROPERTY);
        // A replica says of itself what its original says: who has a number keeps it, or hands it
        // to whom clients know by the same id; else who was there first gets it.
        let placed: BTreeSet<u128> =
            state.targets.values().flatten().map(|entry| entry.unit.identity.id).collect();
        served.sort_by_key(|one| (!placed.contains(&unit_id(one.known_as)), one.created));
        for served in served {
            let dataset = served.dataset;
            let share = match parse(&served.share) {
                Ok(Some(share)) => share,
                Ok(None) => continue,
                Err(why) => {
                    tracing::warn!(dataset, why, "is not served: its share makes no sense");
                    continue;
                }
            };
            let id = served.volume.id();
            let identity = identity(served.known_as, &dataset);
            // A pool that was exported and is back has other handles: the old ones lead nowhere.
            let is_same = |unit: &&Arc<LogicalUnit>| {
                Arc::ptr_eq(&unit.volume, &served.volume) && unit.identity.id == identity.id
            };
            let known = state.units.get(&key(id)).filter(is_same).cloned();
            let opened = known.map_or_else(|| LogicalUnit::open(served.volume.clone(), identity), Ok);
            let unit = match opened {
                Ok(unit) => unit,
                Err(error) => {
                    tracing::error!(dataset, %error, "is not served: what is reserved of it is not known");
                    state.retry_at = Some(Instant::now() + RETRY);
                    continue;
                }
            };
            units.insert(key(id), unit.clone());
            let entries = targets.entry(share.target_of(&dataset)).or_default();
            if entries.iter().any(|entry| entry.share.lun == share.lun) {
                tracing::warn!(dataset, lun = share.lun, "is not served: another volume has its number");
                continue;
            }
            if entries.first().is_some_and(|first| first.share.groups != share.groups) {
                tracing::warn!(dataset, "is not served: others of its target are reached by other portals");
                continue;
            }
            entries.push(Entry { share, unit });
        }
        state.targets = targets;
        state.units = units;
    }

    /// Whether volumes may be missing because their pools are still to come.
    pub fn is_incomplete(&self) -> bool {
        self.engine.is_to_come(None)
    }

    /// Targets in which an initiator may see something, each with the groups of portals that it is
    /// reached by: none stands for all.
    pub fn targets(&self, initiator: &str) -> Vec<(String, Vec<u16>)> {
        let state = self.fresh();
        let seen = |entries: &Vec<Entry>| {
            let seen = entries.iter().find(|entry| entry.share.names(initiator));
            seen.map(|entry| entry.share.groups.clone())
        };
        state.targets.iter().filter_map(|(name, entries)| Some((name.clone(), seen(entries)?))).collect()
    }

    /// Who may log in to a target from an initiator, by a group of portals; empty: nobody has to
    /// prove anything. `None`: it sees no such target there.
    pub fn credentials(&self, target: &str, initiator: &str, group: u16) -> Option<Vec<Credentials>> {
        let state = self.fresh();
        let entries = state.targets.get(target)?.iter().filter(|entry| entry.share.is_reached_by(group));
        let named: Vec<&Entry> = entries.filter(|entry| entry.share.names(initiator)).collect();
        let known = named.iter().filter_map(|entry| entry.share.credentials.clone()).collect();
        (!named.is_empty()).then_some(known)
    }

    /// What a session sees that came by a group of portals: nothing where its target is no more.
    pub fn view(&self, target: &str, initiator: &str, user: Option<&str>, group: u16) -> Target {
        // Asked first: what comes in between is found.
        let is_incomplete = self.is_incomplete();
        let state = self.fresh();
        let entries = state.targets.get(target).map_or(&[][..], |entries| entries);
        let reached = entries.iter().filter(|entry| entry.share.is_reached_by(group));
        let admitted = reached.filter(|entry| entry.share.admits(initiator, user));
        let units = admitted.map(|entry| (entry.share.lun, entry.unit.clone())).collect();
        let is_way = |group: &&u16| entries.first().is_some_and(|first| first.share.is_reached_by(**group));
        let port = |group: &u16| TargetPort { id: *group, name: format!("{target},t,0x{group:04x}") };
        let ports = self.groups.iter().filter(is_way).map(port).collect();
        let mut target = Target::new(target.to_owned(), ports, units);
        target.is_incomplete = is_incomplete;
        target
    }
}
