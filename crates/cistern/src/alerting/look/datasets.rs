//! Datasets and their snapshots, in pages.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use alerts::judge::datasets::{self, Dataset, FRESHNESS, PoolDatasets};
use alerts::kinds;
use api_types::{AlertCheckName as Check, DatasetFilter, DatasetInfo, DatasetKind, is_of_machine};
use engine_api::{Engine, Pool, Result, Secrets};
use stdx::patience::hurried;

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};

/// Datasets and snapshots of a page.
const PAGE: usize = 1_000;

pub struct Datasets(pub Arc<Sights>);

impl Look for Datasets {
    fn check(&self) -> Check {
        Check::Datasets
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let engine = &self.0.engine;
        let mut unknown: BTreeSet<String> = engine.to_come().into_iter().collect();
        let now = desk.now().wall;
        let limits = self.0.services.stale_limits();
        let (mut seen, mut failure) = (Vec::new(), None);
        for pool in engine.pools() {
            match hurried(|| of_pool(&*pool, &limits, now, &|| desk.is_ending())) {
                Ok(Some(found)) => seen.push(found),
                // The program ends.
                Ok(None) => {
                    unknown.insert(pool.name());
                }
                Err(error) => {
                    unknown.insert(pool.name());
                    // Of a pool that is suspended, that is told.
                    if !matches!(error, engine_api::Error::Suspended) {
                        failure = Some(format!("datasets of pool {}: {error}", pool.name()));
                    }
                }
            }
        }
        let (findings, nonsense) = datasets::findings(&seen, &desk.settings(), now);
        let cause = |what: &_| match kinds::pool(what) {
            Some(pool) if unknown.contains(pool) => None,
            _ => Some(datasets::cause(&seen, what)),
        };
        let looked = Looked { findings, cause: &cause, failure: failure.or(nonsense), off: None };
        desk.looked(Check::Datasets, looked, begun.elapsed());
    }

    fn most(&self) -> u64 {
        600
    }
}

/// What is seen of a pool; `None`: it was not looked to the end.
fn of_pool(
    pool: &dyn Pool,
    limits: &BTreeMap<u64, (u64, String)>,
    now: i64,
    is_over: &dyn Fn() -> bool,
) -> Result<Option<PoolDatasets>> {
    let mut found = PoolDatasets { pool: pool.name(), ..PoolDatasets::default() };
    let mut all: BTreeMap<String, Dataset> = BTreeMap::new();
    let props = ["available", "creation", "refreservation", "referenced", "volsize", "written", FRESHNESS];
    let heads = filter(&[DatasetKind::Filesystem, DatasetKind::Volume], &props);
    let whole = pages(pool, &heads, is_over, &mut |info| {
        if info.name == found.pool {
            found.room = info.number("available");
        }
        let volsize = info.number("volsize");
        let has = info.number("referenced").max(info.number("refreservation"));
        let dataset = Dataset {
            name: info.name.clone(),
            promised: volsize.saturating_sub(has),
            freshness: info.value(FRESHNESS).map(str::to_owned),
            stale_after: limits.get(&info.guid).cloned(),
            unchanged: info.number("written") == 0,
            created: i64::try_from(info.number("creation")).unwrap_or(0),
            snapshots: 0,
            newest: None,
        };
        all.insert(info.name, dataset);
    })?;
    let snapshots = filter(&[DatasetKind::Snapshot], &["creation"]);
    let whole = whole
        && pages(pool, &snapshots, is_over, &mut |info| {
            let head = info.name.split('@').next().unwrap_or_default();
            if let Some(dataset) = all.get_mut(head) {
                dataset.saw(i64::try_from(info.number("creation")).unwrap_or(0), now);
            }
        })?;
    found.datasets = all.into_values().filter(|dataset| !is_of_machine(&dataset.name)).collect();
    Ok(whole.then_some(found))
}

fn filter(kinds: &[DatasetKind], props: &[&str]) -> DatasetFilter {
    let props = props.iter().map(|name| (*name).to_owned()).collect();
    DatasetFilter { roots: Vec::new(), depth: None, alone: false, kinds: kinds.to_vec(), props }
}

/// Takes each dataset. Whether it was all.
fn pages(
    pool: &dyn Pool,
    filter: &DatasetFilter,
    is_over: &dyn Fn() -> bool,
    take: &mut dyn FnMut(DatasetInfo),
) -> Result<bool> {
    let mut after = None;
    loop {
        if is_over() {
            return Ok(false);
        }
        let page = pool.datasets_page(filter, Secrets::Hidden, after.as_ref(), PAGE)?;
        page.datasets.into_iter().for_each(&mut *take);
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(true),
        }
    }
}
