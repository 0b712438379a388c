//! What datasets and nodes are called now, for those who know them by numbers: who looks at
//! requests.
//!
//! Names are looked up when somebody wants to see them and not when a request is worked on, in the
//! file systems that are open. So a file has the name that it has now, after a rename and after a
//! restart too. One without a name, because it was removed, has none.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use engine_api::{Place, PlaceName};
use stdx::patience::hurried;

use super::pool::LocalPool;
use crate::zpl::path::Paths;

type Guids = (u64, u64);

fn guids(place: &Place) -> Guids {
    (place.pool_guid, place.dataset_guid)
}

/// See [`engine_api::Engine::names_of`].
pub fn names_of(pools: &[Arc<LocalPool>], places: &[Place]) -> Vec<PlaceName> {
    let wanted: HashSet<Guids> = places.iter().map(guids).collect();
    let mut objects: BTreeMap<Guids, BTreeSet<u64>> = BTreeMap::new();
    for place in places {
        objects.entry(guids(place)).or_default().extend(place.object);
    }
    let (mut datasets, mut paths) = (HashMap::new(), HashMap::new());
    for pool in pools {
        // One that a panic has left with poisoned locks is passed over.
        let of_pool = || hurried(|| (pool.names_of_open(&wanted), paths_in(pool, &objects)));
        if let Ok((names, found)) = catch_unwind(AssertUnwindSafe(of_pool)) {
            datasets.extend(names);
            paths.extend(found);
        }
    }
    let name = |place: &Place| PlaceName {
        dataset: datasets.get(&guids(place)).cloned(),
        path: place.object.and_then(|object| paths.get(&(guids(place), object)).cloned()),
    };
    places.iter().map(name).collect()
}

/// Paths of nodes of a pool's file systems.
fn paths_in(pool: &LocalPool, objects: &BTreeMap<Guids, BTreeSet<u64>>) -> HashMap<(Guids, u64), Vec<u8>> {
    let own = pool.inner().guid();
    let mut found = HashMap::new();
    for (guids, objects) in objects.iter().filter(|((pool, _), objects)| *pool == own && !objects.is_empty())
    {
        let Some(Ok(mut paths)) = pool.open_objset(guids.1).map(|objset| Paths::open(&objset)) else {
            continue;
        };
        for object in objects {
            // What has no name is shown by its number.
            if let Ok(path) = paths.path(*object) {
                found.insert((*guids, *object), path);
            }
        }
    }
    found
}
