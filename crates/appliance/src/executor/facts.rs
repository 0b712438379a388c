//! What is read of pools for auto-snap services.
//!
//! Names are read of what some service covers, and of all datasets only where a target is not where
//! it was. Snapshots are read of the datasets that are due, one dataset after the other, so that no
//! list of a pool is held for long.

use std::collections::BTreeMap;
use std::sync::Arc;

use api_types::SnapTarget;
use engine_api::{DatasetFilter, DatasetInfo, DatasetKind, Error, Health, Pool, Result, Source};
use services::autosnap::coverage::Named;
use services::autosnap::stamp::{PROPERTY, Stamp};
use services::autosnap::view::{Dataset, Snapshot, View};
use services::autosync::stamp::REPLICA;

/// Properties that a plan takes: of a dataset and of a snapshot, of a dataset alone, and of a
/// snapshot alone. They are read at once: finding the dataset costs as much as they do.
const OF_BOTH: [&str; 11] = [
    "creation",
    "written",
    "used",
    "available",
    "usedbysnapshots",
    "inconsistent",
    "receive_resume_token",
    REPLICA,
    "userrefs",
    "numclones",
    PROPERTY,
];

/// Datasets at or below one, as deep as that, of these kinds; with these properties.
pub fn filter(root: &str, depth: Option<u32>, kinds: &[DatasetKind], props: &[&str]) -> DatasetFilter {
    DatasetFilter {
        roots: vec![root.to_owned()],
        depth,
        alone: false,
        kinds: kinds.to_vec(),
        props: props.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn time(info: &DatasetInfo) -> i64 {
    i64::try_from(info.number("creation")).unwrap_or(i64::MAX)
}

/// The datasets of a pool that these targets may cover. Where one of them is not there any more
/// under its name: all of the pool, so that it is found by its guid.
pub fn names(pool: &dyn Pool, targets: &[SnapTarget]) -> Result<Vec<Named>> {
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for target in targets {
        let depth = if target.recursive { None } else { Some(0) };
        let listed = match is_in(&target.dataset, &pool.name()) {
            true => pool.datasets(&filter(&target.dataset, depth, &[], &["type"])),
            false => Err(Error::NotFound),
        };
        let is_it = |listed: &[DatasetInfo]| {
            let root = listed.iter().find(|info| info.name == target.dataset);
            root.is_some_and(|info| target.guid.is_none_or(|guid| guid == info.guid))
        };
        match listed {
            Ok(listed) if is_it(&listed) => {
                found.extend(listed.into_iter().map(|info| (info.name, info.guid)));
            }
            Ok(_) | Err(Error::NotFound) => {
                let all = pool.datasets(&filter(&pool.name(), None, &[], &["type"]))?;
                let all = all.into_iter().map(|info| Named { name: info.name, guid: info.guid });
                return Ok(all.collect());
            }
            Err(error) => return Err(error),
        }
    }
    Ok(found.into_iter().map(|(name, guid)| Named { name, guid }).collect())
}

/// The targets that may be in a pool of these: by their names, or of a pool that is not here, which
/// may be this one under another name.
pub fn targets_in(pool: &dyn Pool, pools: &[Arc<dyn Pool>], targets: &[SnapTarget]) -> Vec<SnapTarget> {
    let (own, names): (String, Vec<String>) = (pool.name(), pools.iter().map(|it| it.name()).collect());
    let may_be_here = |target: &&SnapTarget| {
        let dataset = &target.dataset;
        is_in(dataset, &own) || (target.guid.is_some() && !names.iter().any(|name| is_in(dataset, name)))
    };
    targets.iter().filter(may_be_here).cloned().collect()
}

/// Whether a dataset's name is one of this pool's.
pub fn is_in(dataset: &str, pool: &str) -> bool {
    dataset.split('/').next() == Some(pool)
}

/// What is the same for all datasets of a pool.
struct OfPool {
    writable: bool,
    freeing: bool,
}

/// What was read, and what of it is not there any more.
#[derive(Default)]
pub struct Read {
    pub views: Vec<View>,
    /// guids.
    pub gone: Vec<u64>,
    /// guids of those that were not read: what was read before has as many snapshots as may be.
    pub left: Vec<u64>,
}

/// Reads datasets of a pool, by guid and name, until they have so many snapshots together. At least
/// one is read. `is_promoted`: none is a replica any more, whatever its snapshots say.
pub fn views(pool: &dyn Pool, datasets: &[(u64, String)], is_promoted: bool, most: usize) -> Result<Read> {
    let status = pool.status();
    if status.health == Health::Suspended {
        return Err(Error::Suspended);
    }
    let freeing = pool.properties(&["freeing".to_owned()])?;
    let freeing = freeing.iter().any(|prop| prop.value.parse::<u64>().is_ok_and(|bytes| bytes > 0));
    let of_pool = OfPool { writable: !status.readonly, freeing };
    let (mut read, mut snapshots) = (Read::default(), 0);
    for (guid, name) in datasets {
        if snapshots >= most {
            read.left.push(*guid);
            continue;
        }
        match view(pool, &of_pool, *guid, name) {
            Ok(Some(mut view)) => {
                view.dataset.replica &= !is_promoted;
                snapshots += view.snapshots.len();
                read.views.push(view);
            }
            Ok(None) | Err(Error::NotFound) => read.gone.push(*guid),
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

/// One dataset with its snapshots; `None`: another one has its name now.
fn view(pool: &dyn Pool, of_pool: &OfPool, guid: u64, name: &str) -> Result<Option<View>> {
    let kinds = [DatasetKind::Filesystem, DatasetKind::Volume, DatasetKind::Snapshot];
    let all = DatasetFilter { alone: true, ..filter(name, None, &kinds, &OF_BOTH) };
    let mut listed = pool.datasets(&all)?.into_iter();
    // A dataset comes before its snapshots.
    let Some(head) = listed.next().filter(|head| head.guid == guid) else { return Ok(None) };
    let listed = listed.as_slice();
    let came_along = |newest: &DatasetInfo| {
        newest.props.iter().any(|prop| prop.name == PROPERTY && prop.source == Source::Received)
    };
    // A replica, or a copy of what another machine's service looks after.
    let replica = head.own(REPLICA).is_some() || listed.last().is_some_and(came_along);
    let token = head.value("receive_resume_token").unwrap_or_default();
    let dataset = Dataset {
        guid,
        created: time(&head),
        written: head.number("written"),
        used: head.number("used"),
        available: head.number("available"),
        used_by_snapshots: head.number("usedbysnapshots"),
        freeing: of_pool.freeing,
        receiving: head.number("inconsistent") == 1 || !matches!(token, "" | "-"),
        replica,
        writable: of_pool.writable,
        name: head.name,
    };
    Ok(Some(View { dataset, snapshots: listed.iter().map(snapshot).collect() }))
}

fn snapshot(info: &DatasetInfo) -> Snapshot {
    let count = |name| u32::try_from(info.number(name)).unwrap_or(u32::MAX);
    Snapshot {
        name: info.name.split_once('@').map_or("", |(_, name)| name).to_owned(),
        guid: info.guid,
        createtxg: info.createtxg,
        created: time(info),
        written: info.number("written"),
        unique: info.number("used"),
        holds: count("userrefs"),
        // The snapshot's own dataset is not counted there.
        clones: count("numclones"),
        needed_by: None,
        stamp: info.own(PROPERTY).and_then(Stamp::parse),
    }
}
