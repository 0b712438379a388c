//! A plan of snapshots, carried out.
//!
//! What a plan names is changed only as long as the names are those of the same datasets and
//! snapshots as when it was made: the pool compares guids in one step with the change. What fails
//! is a failure of each dataset that it was about. Between two changes it is looked whether the
//! service is to stop.

use std::collections::BTreeMap;

use api_types::{FailureClass, SnapCreate, SnapDestroy, SnapPlan};
use engine_api::{Cancel, Change, Error, Pool, PropertyChange, Result, lock};
use services::autosnap::stamp::PROPERTY;
use services::autosnap::state::{Failed, Work, to_destroy};
use services::autosync::stamp::REPLICA;
use stdx::premise::{Premise, relying_on};

use super::class;

/// What became of a plan.
#[derive(Default)]
pub struct Carried {
    /// As far as it was tried.
    pub plan: SnapPlan,
    pub failed: Vec<Failed>,
    /// Dataset → why it was not done.
    pub why: BTreeMap<String, (FailureClass, Error)>,
    pub made: u64,
    pub destroyed: u64,
    /// It was stopped in the middle.
    pub stopped: bool,
}

/// Carries out a plan for one pool. `lock`: what is made is locked for so many seconds.
pub fn carry(pool: &dyn Pool, id: &str, plan: SnapPlan, lock: Option<u64>, stop: &Cancel) -> Carried {
    let SnapPlan { at, groups, destroys, kept, skipped, findings } = plan;
    let mut carried = Carried {
        plan: SnapPlan { at, kept, skipped, findings, ..SnapPlan::default() },
        ..Carried::default()
    };
    for group in groups {
        for (stamp, creates) in by_stamp(&group.creates) {
            if stop.is_cancelled() {
                carried.stopped = true;
                return carried;
            }
            carried.make(pool, id, stamp, &creates);
            if let Some(seconds) = lock {
                let until = at.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX));
                carried.lock(pool, id, &creates, until);
            }
        }
        carried.plan.groups.push(group);
    }
    if stop.is_cancelled() {
        carried.stopped = true;
        return carried;
    }
    carried.plan.destroys = destroys;
    let going: Vec<SnapDestroy> = to_destroy(&carried.plan, &carried.failed).cloned().collect();
    carried.destroy(pool, id, &going, stop);
    carried
}

/// What is made with the same stamp: a transaction gives all that it makes the same properties.
fn by_stamp(creates: &[SnapCreate]) -> BTreeMap<&str, Vec<&SnapCreate>> {
    let mut by_stamp: BTreeMap<&str, Vec<&SnapCreate>> = BTreeMap::new();
    for create in creates {
        by_stamp.entry(create.stamp.as_str()).or_default().push(create);
    }
    by_stamp
}

impl Carried {
    fn make(&mut self, pool: &dyn Pool, id: &str, stamp: &str, creates: &[&SnapCreate]) {
        let names = creates.iter().map(|it| format!("{}@{}", it.dataset, it.snapshot)).collect();
        let props = vec![PropertyChange { name: PROPERTY.to_owned(), value: stamp.to_owned() }];
        let change = Change::Snapshot { names, recursive: false, props };
        let things = creates.iter().map(|it| (it.dataset.clone(), it.dataset_guid)).collect();
        match relying_on(Some(no_replicas(things)), || pool.commit(&change, &history(id))) {
            Ok(_) => self.made += creates.len() as u64,
            Err(error) => creates.iter().for_each(|it| {
                self.fail(&it.dataset, it.dataset_guid, Work::Create, &error);
            }),
        }
    }

    /// What was made stays until then.
    fn lock(&mut self, pool: &dyn Pool, id: &str, creates: &[&SnapCreate], until: i64) {
        let made: Vec<_> = creates.iter().filter(|it| !self.why.contains_key(&it.dataset)).collect();
        let snapshots: Vec<String> =
            made.iter().map(|it| format!("{}@{}", it.dataset, it.snapshot)).collect();
        let Some(tag) = lock::tag(until).filter(|_| !made.is_empty()) else { return };
        let change = Change::Hold { snapshots, tag, recursive: false };
        let things = made.iter().map(|it| (it.dataset.clone(), it.dataset_guid)).collect();
        if let Err(error) = commit(pool, id, things, &change) {
            for it in made {
                self.why.insert(it.dataset.clone(), (class::of(&error), error.clone()));
            }
        }
    }

    /// All at once; where that fails, dataset by dataset, so that one is no hindrance to others.
    fn destroy(&mut self, pool: &dyn Pool, id: &str, going: &[SnapDestroy], stop: &Cancel) {
        if going.is_empty() {
            return;
        }
        let error = match destroy(pool, id, going) {
            Ok(()) => {
                self.destroyed += going.len() as u64;
                return;
            }
            Err(error) => error,
        };
        let mut by_dataset: BTreeMap<u64, Vec<SnapDestroy>> = BTreeMap::new();
        for one in going {
            by_dataset.entry(one.dataset_guid).or_default().push(one.clone());
        }
        if by_dataset.len() == 1 {
            self.fail(&going[0].dataset, going[0].dataset_guid, Work::Destroy, &error);
            return;
        }
        for (guid, going) in by_dataset {
            if stop.is_cancelled() {
                self.stopped = true;
                self.plan.destroys.retain(|one| one.dataset_guid < guid);
                return;
            }
            match destroy(pool, id, &going) {
                Ok(()) => self.destroyed += going.len() as u64,
                Err(error) => self.fail(&going[0].dataset, guid, Work::Destroy, &error),
            }
        }
    }

    fn fail(&mut self, name: &str, dataset: u64, work: Work, error: &Error) {
        let class = class::of(error);
        self.failed.push(Failed { dataset, work, class });
        self.why.insert(name.to_owned(), (class, error.clone()));
    }
}

fn destroy(pool: &dyn Pool, id: &str, going: &[SnapDestroy]) -> Result<()> {
    let name = |one: &SnapDestroy| format!("{}@{}", one.dataset, one.snapshot);
    let change = Change::Destroy { names: going.iter().map(name).collect(), defer: false };
    let things = going.iter().map(|one| (name(one), one.guid)).collect();
    commit(pool, id, things, &change)
}

/// Makes a change where these names are still those of the same things. The pool's history says
/// whose it is.
fn commit(pool: &dyn Pool, id: &str, things: Vec<(String, u64)>, change: &Change) -> Result<()> {
    let history = history(id);
    relying_on(Some(Premise::Same { things }), || pool.commit(change, &history)).map(drop)
}

/// Of what somebody makes snapshots: datasets that are the same still, and none of which has become
/// a replica. That one gets the snapshots of its original and no others, or what follows could not
/// be sent to it.
pub fn no_replicas(things: Vec<(String, u64)>) -> Premise {
    Premise::Without { things, property: REPLICA.to_owned() }
}

/// How a pool's history calls what a service does.
pub fn history(id: &str) -> String {
    format!("cistern svc run {id}")
}
