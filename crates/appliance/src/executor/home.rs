//! Policies of services in pools: what datasets keep, read and changed.
//!
//! Invariants: a dataset is changed only where it still is the one that was read, by its guid. What
//! cannot be read is never written over. Only who holds [`super::Services::changing`] changes
//! something, so no change is lost between the reading and the writing.

use std::sync::Arc;

use api_types::{PropertyChange, ServiceSpec};
use engine_api::{Change, DatasetFilter, DatasetInfo, DatasetKind, Engine, Error, Pool, Result, Source};
use services::instance::Home;
use services::property::{self, PROPERTY, Policies, Policy};
use stdx::behalf::{Actor, Way, on_behalf_of};
use stdx::patience::hurried;
use stdx::premise::{Premise, relying_on};

use super::facts::{filter, is_in};
use crate::NotServed;

/// Homes of a pool that are read. Whoever may set properties could make any number.
const MOST_HOMES: usize = 1_024;
/// What may be a home.
const HEADS: [DatasetKind; 2] = [DatasetKind::Filesystem, DatasetKind::Volume];

/// A dataset that keeps policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    pub dataset: String,
    pub guid: u64,
    /// The value that was set here.
    pub own: Option<String>,
    /// The value that a stream brought: it sleeps, whether there is one of its own or not.
    pub received: Option<String>,
}

/// A dataset that is to keep a policy.
#[derive(Clone)]
pub struct Place {
    pub pool: Arc<dyn Pool>,
    pub dataset: String,
    pub guid: u64,
}

impl Place {
    pub fn home(&self) -> Home {
        Home { pool: self.pool.guid(), dataset: self.guid }
    }
}

/// Without waiting for an operator.
fn listed(pool: &dyn Pool, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
    hurried(|| pool.datasets(filter))
}

fn found(info: DatasetInfo) -> Option<Found> {
    let DatasetInfo { name, guid, props, .. } = info;
    let prop = props.into_iter().find(|prop| prop.name == PROPERTY)?;
    let (own, received) = match prop.source {
        Source::Local => (Some(prop.value), prop.received),
        Source::Received => (None, Some(prop.value)),
        // What is above keeps its own.
        _ => (None, prop.received),
    };
    (own.is_some() || received.is_some()).then_some(Found { dataset: name, guid, own, received })
}

/// What the datasets of a pool keep.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kept {
    /// In the order of names.
    pub found: Vec<Found>,
    /// There is no more of it.
    pub is_whole: bool,
    /// How many datasets were looked at.
    pub datasets: usize,
}

pub fn read(pool: &dyn Pool) -> Result<Kept> {
    let all = listed(pool, &filter(&pool.name(), None, &HEADS, &[PROPERTY]))?;
    let datasets = all.len();
    let mut found: Vec<Found> = all.into_iter().filter_map(found).collect();
    let is_whole = found.len() <= MOST_HOMES;
    if !is_whole {
        tracing::warn!(pool = pool.name(), homes = found.len(), "more datasets keep services than are read");
        found.truncate(MOST_HOMES);
    }
    Ok(Kept { found, is_whole, datasets })
}

/// A dataset by its name, and which pool it is in. `None`: there is none.
pub fn place(engine: &dyn Engine, name: &str) -> Result<Option<Place>> {
    let own = |pool: &Arc<dyn Pool>| is_in(name, &pool.name());
    let Some(pool) = engine.pools().into_iter().find(own) else { return Ok(None) };
    match listed(&*pool, &filter(name, Some(0), &HEADS, &["type"])) {
        Ok(found) => {
            let info = found.into_iter().find(|info| info.name == name);
            Ok(info.map(|info| Place { pool, dataset: info.name, guid: info.guid }))
        }
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

/// A dataset by its guid, in the pool that it was in.
pub fn place_of(engine: &dyn Engine, home: Home) -> Result<Option<Place>> {
    let Some(pool) = engine.pools().into_iter().find(|pool| pool.guid() == home.pool) else {
        return Ok(None);
    };
    let all = listed(&*pool, &filter(&pool.name(), None, &HEADS, &["type"]))?;
    let info = all.into_iter().find(|info| info.guid == home.dataset);
    Ok(info.map(|info| Place { pool, dataset: info.name, guid: info.guid }))
}

/// Has targets by the names that their datasets have now, with their guids, where these are known.
pub fn resolve(engine: &dyn Engine, spec: &mut ServiceSpec) -> Result<()> {
    let ServiceSpec::AutoSnap(policy) = spec else { return Ok(()) };
    let mut all: Option<Vec<DatasetInfo>> = None;
    for target in &mut policy.targets {
        let named = place(engine, &target.dataset)?;
        match (target.guid, named) {
            (None, Some(place)) => target.guid = Some(place.guid),
            (None, None) => {}
            (Some(guid), Some(place)) if guid == place.guid => {}
            (Some(guid), named) => {
                if all.is_none() {
                    let mut found = Vec::new();
                    for pool in engine.pools() {
                        found.extend(listed(&*pool, &filter(&pool.name(), None, &HEADS, &["type"]))?);
                    }
                    all = Some(found);
                }
                let elsewhere = all.iter().flatten().find(|info| info.guid == guid);
                match (elsewhere, named) {
                    (Some(info), _) => target.dataset.clone_from(&info.name),
                    (None, Some(place)) => target.guid = Some(place.guid),
                    (None, None) => {}
                }
            }
        }
    }
    Ok(())
}

/// Changes what a dataset keeps of its own, and gives what it keeps now. `change` says what is in
/// the way.
pub fn change(
    place: &Place,
    history: &str,
    change: impl FnOnce(&mut Policies, Option<&Found>) -> std::result::Result<(), NotServed>,
) -> Result<std::result::Result<(), NotServed>> {
    let senseless = |fault| Ok(Err(NotServed::Policy { dataset: place.dataset.clone(), fault }));
    let Place { pool, dataset, guid } = place;
    let there = listed(&**pool, &filter(dataset, Some(0), &HEADS, &[PROPERTY]))?;
    let info = there.into_iter().find(|info| info.guid == *guid).ok_or(Error::Stale)?;
    let known = found(info);
    let mut policies = match known.as_ref().and_then(|known| known.own.as_deref()) {
        Some(value) => match property::parse(value) {
            Ok(policies) => policies,
            Err(fault) => return senseless(fault),
        },
        None => Policies::new(),
    };
    let before = policies.clone();
    if let Err(why) = change(&mut policies, known.as_ref()) {
        return Ok(Err(why));
    }
    if policies == before {
        return Ok(Ok(()));
    }
    let value = match property::write(&policies) {
        Ok(value) => value,
        Err(fault) => return senseless(fault),
    };
    let is_gone = policies.is_empty() && known.is_none_or(|known| known.received.is_none());
    let name = dataset.clone();
    let change = match is_gone {
        true => Change::Inherit { name, property: PROPERTY.to_owned(), received: false },
        // Without a value of its own the one that a stream brought would be there again.
        false => {
            Change::SetProperties { name, props: vec![PropertyChange { name: PROPERTY.to_owned(), value }] }
        }
    };
    let premise = Premise::Same { things: vec![(dataset.clone(), *guid)] };
    // Whoever asked was let in by the route.
    let actor = Arc::new(Actor { way: Way::Service, ..Actor::itself() });
    on_behalf_of(actor, || hurried(|| relying_on(Some(premise), || pool.commit(&change, history))))?;
    Ok(Ok(()))
}

/// What a home keeps of a service; `None`: something in it is not below that home.
pub fn policy(spec: &ServiceSpec, disabled: bool, place: &Place) -> Option<Policy> {
    Some(Policy { disabled, spec: property::at_home(spec, &place.dataset)? })
}
