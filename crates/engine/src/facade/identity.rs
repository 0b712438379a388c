//! Which datasets have taken the place of others: what clients of those know them by.
//!
//! A dataset that was promoted claims the identity of its original (`pool/standing.rs`).
//! Invariants:
//! - An identity is live at one dataset at most: of several that claim it, at the one that has it
//!   already, else at that with the lowest guids.
//! - Nothing in a pool is believed. A dataset that is here, and no replica, gives its place only to
//!   one that has what seals its handles. So an original that comes back after its replica was
//!   promoted takes nobody's clients, and a pool of a stranger takes none either.
//! - A dataset whose own identity is live elsewhere on this machine is served to nobody: its
//!   clients are the other one's.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use engine_api::{Identity, Served, ServedVolume, VolumeId};

use super::activity::Guids;
use super::pool::{LocalPool, Standing};

/// Who has whose identity.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Places {
    /// The guids of a dataset → what clients know it by.
    live: HashMap<Guids, Identity>,
    /// Guids of datasets whose own identity another has.
    taken: HashSet<Guids>,
}

impl Places {
    /// `holders`: who had which identity before, and has it from now on.
    fn of(pools: &BTreeMap<u64, Arc<Standing>>, holders: &mut BTreeMap<Guids, Guids>) -> Places {
        let mut claims: BTreeMap<Guids, BTreeSet<Guids>> = BTreeMap::new();
        for (pool, standing) in pools {
            for (dataset, identity) in &standing.claims {
                let original = pools.get(&identity.pool_guid);
                let original = original.filter(|it| it.heads.contains(&identity.dataset_guid));
                if original.is_none_or(|it| it.key.is_some() && it.key == identity.key) {
                    claims.entry(identity.guids()).or_default().insert((*pool, *dataset));
                }
            }
        }
        holders.retain(|identity, holder| claims.get(identity).is_some_and(|all| all.contains(holder)));
        let mut places = Places::default();
        for (identity, claimants) in claims {
            let Some(holder) = holders.get(&identity).or(claimants.first()).copied() else { continue };
            holders.insert(identity, holder);
            let claim = pools.get(&holder.0).and_then(|standing| standing.claims.get(&holder.1));
            places.live.extend(claim.map(|claim| (holder, claim.clone())));
            places.taken.insert(identity);
        }
        places
    }

    /// Gives file systems what clients know them by.
    pub fn name(&self, served: &mut Vec<Served>) {
        if self.live.is_empty() {
            return;
        }
        served.retain(|one| !self.taken.contains(&(one.id.pool_guid, one.id.dataset_guid)));
        for one in served {
            one.identity = self.live.get(&(one.id.pool_guid, one.id.dataset_guid)).cloned();
        }
    }

    /// The same for volumes.
    pub fn name_volumes(&self, served: &mut Vec<ServedVolume>) {
        if self.live.is_empty() {
            return;
        }
        let guids = |one: &ServedVolume| {
            let VolumeId { pool_guid, dataset_guid } = one.volume.id();
            (pool_guid, dataset_guid)
        };
        served.retain(|one| !self.taken.contains(&guids(one)));
        for one in served {
            if let Some(identity) = self.live.get(&guids(one)) {
                let (pool_guid, dataset_guid) = identity.guids();
                one.known_as = VolumeId { pool_guid, dataset_guid };
            }
        }
    }
}

/// See the module. `pools`: those that are here.
pub(super) fn places(pools: &[Arc<LocalPool>], holders: &mut BTreeMap<Guids, Guids>) -> Places {
    let standings = pools.iter().map(|pool| (pool.inner().guid(), pool.standing()));
    Places::of(&standings.collect(), holders)
}

#[cfg(test)]
mod tests;
