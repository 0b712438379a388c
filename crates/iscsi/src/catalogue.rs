//! What is served: targets, their units, and who may see these; as the volumes say themselves, and as long as they do.
//!
//! A logical unit lives as long as its volume is served, whatever becomes of sessions. What is learnt is kept until the
//! engine says that it may have changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine_api::{Engine, VolumeId};
use scsi::{Identity, LogicalUnit, Target};

use crate::share::{Credentials, PROPERTY, Share, parse};

/// See the module.
pub struct Catalogue {
    engine: Arc<dyn Engine>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    generation: Option<u64>,
    targets: BTreeMap<String, Vec<Entry>>,
    units: BTreeMap<(u64, u64), Arc<LogicalUnit>>,
}

/// A unit of a target.
#[derive(Clone)]
struct Entry {
    share: Share,
    unit: Arc<LogicalUnit>,
}

fn key(id: VolumeId) -> (u64, u64) {
    (id.pool_guid, id.dataset_guid)
}

fn identity(id: VolumeId, dataset: &str) -> Identity {
    Identity {
        id: u128::from(id.pool_guid) << 64 | u128::from(id.dataset_guid),
        serial: format!("{:016x}", id.dataset_guid),
        name: dataset.to_owned(),
    }
}

impl Catalogue {
    pub fn new(engine: Arc<dyn Engine>) -> Catalogue {
        Catalogue { engine, state: Mutex::default() }
    }

    /// Grows when the answers may be others.
    pub fn generation(&self) -> u64 {
        self.engine.served_generation()
    }

    fn fresh(&self) -> MutexGuard<'_, State> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
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
        for served in self.engine.served_volumes(PROPERTY) {
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
            let known = state.units.get(&key(id)).cloned();
            let unit = known.unwrap_or_else(|| LogicalUnit::new(served.volume, identity(id, &dataset)));
            units.insert(key(id), unit.clone());
            let entries = targets.entry(share.target_of(&dataset)).or_default();
            if entries.iter().any(|entry| entry.share.lun == share.lun) {
                tracing::warn!(dataset, lun = share.lun, "is not served: another volume has its number");
                continue;
            }
            entries.push(Entry { share, unit });
        }
        let numbers = |targets: &BTreeMap<String, Vec<Entry>>, name: &String| -> Vec<u16> {
            targets.get(name).into_iter().flatten().map(|entry| entry.share.lun).collect()
        };
        let before = std::mem::replace(&mut state.targets, targets);
        for (name, entries) in &state.targets {
            if before.contains_key(name) && numbers(&before, name) != numbers(&state.targets, name) {
                entries.iter().for_each(|entry| entry.unit.luns_changed());
            }
        }
        state.units = units;
    }

    /// Targets in which an initiator may see something.
    pub fn targets(&self, initiator: &str) -> Vec<String> {
        let state = self.fresh();
        let visible = |entries: &Vec<Entry>| entries.iter().any(|entry| entry.share.names(initiator));
        state.targets.iter().filter(|(_, entries)| visible(entries)).map(|(name, _)| name.clone()).collect()
    }

    /// Who may log in to a target from an initiator; empty: nobody has to prove anything. `None`: it sees no such target.
    pub fn credentials(&self, target: &str, initiator: &str) -> Option<Vec<Credentials>> {
        let state = self.fresh();
        let entries = state.targets.get(target)?.iter();
        let named: Vec<&Entry> = entries.filter(|entry| entry.share.names(initiator)).collect();
        let known = named.iter().filter_map(|entry| entry.share.credentials.clone()).collect();
        (!named.is_empty()).then_some(known)
    }

    /// What a session sees: nothing where its target is no more.
    pub fn view(&self, target: &str, initiator: &str, user: Option<&str>) -> Target {
        let state = self.fresh();
        let entries = state.targets.get(target).into_iter().flatten();
        let admitted = entries.filter(|entry| entry.share.admits(initiator, user));
        Target::new(admitted.map(|entry| (entry.share.lun, entry.unit.clone())).collect())
    }
}
