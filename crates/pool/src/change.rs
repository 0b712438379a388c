//! Administrative changes: each is a value with a check and an effect.
//!
//! [`Dsl::commit`] makes a change and waits until its transaction group is durable. `dsl/task.rs`
//! says how a change gets into a group, and what a refusal and a failure mean.

mod allow;
mod bookmark;
mod clone;
mod create;
mod destroy;
mod hold;
mod inherit;
mod pool_props;
mod rename;
mod rollback;
mod set;
mod snapshot;
mod volume;

use std::sync::Arc;

use api_types::{DatasetInfo, Grant, VolumePlan};
use ondisk::nvlist::{NvList, NvValue};
use refusal::{Action, Reason, Refused};

use crate::dsl::Dsl;
use crate::dsl::task::{SyncCx, Task};
use crate::error::if_there;
use crate::{PoolError, Result, recv};

/// See `engine_api::Change`: the same, for this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// `parents` makes missing ancestors, and an existing dataset is then no error.
    CreateFilesystem {
        name: String,
        parents: bool,
        props: Vec<(String, String)>,
    },
    /// Of `volsize` bytes, rounded up to whole blocks; `sparse`: it may lack space when it is
    /// written to.
    CreateVolume {
        name: String,
        parents: bool,
        sparse: bool,
        props: Vec<(String, String)>,
    },
    /// Datasets, snapshots and bookmarks, all of them or none; what depends on another before it.
    /// Who serves them has closed them before. `defer`: snapshots that something keeps go with the
    /// last that does.
    Destroy {
        names: Vec<String>,
        defer: bool,
    },
    /// All of them or none, at one moment; with `recursive`, of everything below, too.
    Snapshot {
        names: Vec<String>,
        recursive: bool,
        props: Vec<(String, String)>,
    },
    /// Makes a dataset its last snapshot again, which this one is. Who serves it has closed it
    /// before.
    Rollback {
        snapshot: String,
    },
    Clone {
        snapshot: String,
        name: String,
        parents: bool,
        props: Vec<(String, String)>,
    },
    /// Makes the snapshots that a clone shares with its origin the clone's.
    Promote {
        name: String,
    },
    /// Of a snapshot or a bookmark.
    Bookmark {
        source: String,
        name: String,
    },
    /// Puts a tag on snapshots; with `recursive`, on those of the same name below, too.
    Hold {
        snapshots: Vec<String>,
        tag: String,
        recursive: bool,
    },
    Release {
        snapshots: Vec<String>,
        tag: String,
        recursive: bool,
    },
    /// A snapshot that goes when its tag is taken off, or at the latest when the pool is opened the
    /// next time.
    TemporarySnapshot {
        name: String,
        tag: String,
    },
    /// Takes off the tags of all of these.
    ReleaseTemporary,
    SetProperties {
        name: String,
        props: Vec<(String, String)>,
    },
    /// Back to the parent's value or the default; with `received`, to a received one.
    Inherit {
        name: String,
        property: String,
        received: bool,
    },
    /// `parents` makes missing ancestors of the new name. With `recursive`, which is for
    /// snapshots, those of the same name below get the new one, too.
    Rename {
        from: String,
        to: String,
        parents: bool,
        recursive: bool,
    },
    /// Delegates permissions of a dataset.
    Allow {
        name: String,
        grants: Vec<Grant>,
    },
    /// Takes delegated permissions back; with `recursive`, below, too.
    Unallow {
        name: String,
        grants: Vec<Grant>,
        recursive: bool,
    },
    SetPoolProperties {
        props: Vec<(String, String)>,
    },
    /// A step of a receive: see [`Dsl::receive`].
    Receive(Box<recv::Step>),
}

/// Names and values of properties, as somebody gave them.
type Props = [(String, String)];

/// Bytes that a new dataset is taken for: `DST_AVG_BLKSHIFT` is 14.
const NEW_DATASET: u64 = 5 << 14;

impl Task for Change {
    fn check(&self, dsl: &Dsl, group: Option<u64>) -> Result<()> {
        match self {
            Change::CreateFilesystem { name, parents, props } => create::check(dsl, name, *parents, props),
            Change::CreateVolume { name, parents, sparse, props } => {
                volume::check(dsl, name, *parents, *sparse, props)
            }
            Change::Destroy { names, defer, .. } => destroy::check(dsl, names, *defer),
            Change::Snapshot { names, recursive, props } => {
                snapshot::check(dsl, names, *recursive, props, group)
            }
            Change::Rollback { snapshot } => rollback::check(dsl, snapshot, group),
            Change::Clone { snapshot, name, parents, props } => {
                clone::check(dsl, snapshot, name, *parents, props)
            }
            Change::Promote { name } => clone::check_promote(dsl, name),
            Change::Bookmark { source, name } => bookmark::check(dsl, source, name),
            Change::Hold { snapshots, tag, recursive } => hold::check(dsl, snapshots, tag, *recursive),
            Change::Release { snapshots, tag, recursive } => {
                hold::check_release(dsl, snapshots, tag, *recursive)
            }
            Change::TemporarySnapshot { name, .. } => hold::check_temporary(dsl, name, group),
            Change::ReleaseTemporary => Ok(()),
            Change::SetProperties { name, props } => set::check(dsl, name, props),
            Change::Inherit { name, property, .. } => inherit::check(dsl, name, property),
            Change::Rename { from, to, recursive, .. } if from.contains('@') => {
                rename::check_snapshot(dsl, from, to, *recursive)
            }
            Change::Rename { from, to, parents, .. } => rename::check(dsl, from, to, *parents),
            Change::Allow { name, grants } | Change::Unallow { name, grants, .. } => {
                allow::check(dsl, name, grants)
            }
            Change::SetPoolProperties { props } => pool_props::check(dsl, props),
            Change::Receive(step) => step.check(dsl, group),
        }
    }

    /// What is new takes blocks of its own, and what comes after wants to write: where the pool has
    /// no room for those of a dataset (five, `dsl_sync_task_sync` in module/zfs/dsl_synctask.c), it
    /// is not made at all.
    fn check_room(&self, dsl: &Dsl) -> Result<()> {
        if let Change::Receive(step) = self {
            return step.check_room(dsl);
        }
        let (Change::CreateFilesystem { name, .. }
        | Change::CreateVolume { name, .. }
        | Change::Clone { name, .. }) = self
        else {
            return Ok(());
        };
        if dsl.has_room(NEW_DATASET) {
            return Ok(());
        }
        Err(create::refuse(name, Reason::NoSpace))
    }

    fn sync(&self, cx: &SyncCx<'_>) -> Result<()> {
        match self {
            Change::CreateFilesystem { name, parents, props } => create::sync(cx, name, *parents, props),
            Change::CreateVolume { name, parents, sparse, props } => {
                volume::sync(cx, name, *parents, *sparse, props)
            }
            Change::Destroy { names, defer, .. } => destroy::sync(cx, names, *defer),
            Change::Snapshot { names, recursive, props } => snapshot::sync(cx, names, *recursive, props),
            Change::Rollback { snapshot } => rollback::sync(cx, snapshot),
            Change::Clone { snapshot, name, parents, props } => {
                clone::sync(cx, snapshot, name, *parents, props)
            }
            Change::Promote { name } => clone::sync_promote(cx, name),
            Change::Bookmark { source, name } => bookmark::sync(cx, source, name),
            Change::Hold { snapshots, tag, recursive } => hold::sync(cx, snapshots, tag, *recursive),
            Change::Release { snapshots, tag, recursive } => {
                hold::sync_release(cx, snapshots, tag, *recursive)
            }
            Change::TemporarySnapshot { name, tag } => hold::sync_temporary(cx, name, tag),
            Change::ReleaseTemporary => hold::sync_release_temporary(cx),
            Change::SetProperties { name, props } => set::sync(cx, name, props),
            Change::Inherit { name, property, received } => inherit::sync(cx, name, property, *received),
            Change::Rename { from, to, recursive, .. } if from.contains('@') => {
                rename::sync_snapshot(cx, from, to, *recursive)
            }
            Change::Rename { from, to, parents, .. } => rename::sync(cx, from, to, *parents),
            Change::Allow { name, grants } => allow::sync(cx, name, grants),
            Change::Unallow { name, grants, recursive } => allow::sync_unallow(cx, name, grants, *recursive),
            Change::SetPoolProperties { props } => pool_props::sync(cx, props),
            Change::Receive(step) => step.sync(cx),
        }
    }

    fn asked(&self, dsl: &Dsl) -> Result<Option<(&'static str, NvList)>> {
        Ok(match self {
            Change::Receive(step) => step.asked(dsl)?,
            Change::Snapshot { names, recursive, props } => {
                let targets = snapshot::targets(dsl, names, *recursive)?;
                let names = targets.iter().map(|(head, name)| format!("{}@{name}", head.dir.name()));
                let snaps = names.fold(NvList::new(), |list, name| list.with(name.as_str(), NvValue::Flag));
                let input = NvList::new().with("snaps", snaps);
                if props.is_empty() {
                    return Ok(Some(("snapshot", input)));
                }
                let set =
                    |list: NvList, (name, value): &(String, String)| list.with(name.as_str(), value.as_str());
                Some(("snapshot", input.with("props", props.iter().fold(NvList::new(), set))))
            }
            Change::Hold { snapshots, tag, recursive } => {
                let hold = |list: NvList, name: String| list.with(name.as_str(), tag.as_str());
                let holds = hold::named(dsl, snapshots, *recursive)?.into_iter().fold(NvList::new(), hold);
                Some(("hold", NvList::new().with("holds", holds)))
            }
            Change::Release { snapshots, tag, recursive } => {
                let release = |list: NvList, name: String| {
                    list.with(name.as_str(), NvList::new().with(tag.as_str(), NvValue::Flag))
                };
                let names = hold::named(dsl, snapshots, *recursive)?;
                Some(("release", names.into_iter().fold(NvList::new(), release)))
            }
            _ => None,
        })
    }

    fn closes(&self) -> Vec<&str> {
        match self {
            Change::Destroy { names, .. } => {
                names.iter().map(String::as_str).filter(|name| !name.contains(['@', '#'])).collect()
            }
            Change::Rollback { snapshot } => snapshot.split('@').take(1).collect(),
            Change::Receive(step) => step.closes(),
            _ => Vec::new(),
        }
    }
}

/// What has to be so when a change is made.
#[derive(Clone)]
pub enum Premise {
    Settings {
        dataset: String,
        /// Asked with what can be set of the dataset.
        holds: Arc<dyn Fn(DatasetInfo) -> bool + Send + Sync>,
    },
    /// Datasets and snapshots by their names have these guids, and none of them has this property
    /// of its own.
    Same { things: Vec<(String, u64)>, without: Option<String> },
}

impl Premise {
    fn holds(&self, dsl: &Dsl) -> Result<bool> {
        match self {
            Premise::Settings { dataset, holds } => {
                Ok(if_there(dsl.settings_of(dataset))?.is_some_and(|now| holds(now)))
            }
            Premise::Same { things, without } => {
                for (name, guid) in things {
                    let Some(found) = if_there(dsl.find(name))?.filter(|it| it.phys.guid == *guid) else {
                        return Ok(false);
                    };
                    if let Some(property) = without
                        && dsl.mos.find_value(found.dir.phys().props_zapobj, property)?.is_some()
                    {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }
}

/// A change that is made only on a premise.
struct OnPremise {
    premise: Premise,
    change: Change,
}

impl Task for OnPremise {
    fn check(&self, dsl: &Dsl, group: Option<u64>) -> Result<()> {
        match self.premise.holds(dsl)? {
            true => self.change.check(dsl, group),
            false => Err(Refused::because(Reason::Outdated).into()),
        }
    }

    fn check_room(&self, dsl: &Dsl) -> Result<()> {
        self.change.check_room(dsl)
    }

    fn asked(&self, dsl: &Dsl) -> Result<Option<(&'static str, NvList)>> {
        self.change.asked(dsl)
    }

    fn sync(&self, cx: &SyncCx<'_>) -> Result<()> {
        self.change.sync(cx)
    }

    fn closes(&self) -> Vec<&str> {
        self.change.closes()
    }
}

impl Dsl {
    /// Makes a change and waits until it is durable; gives its transaction group. `history` is the
    /// command line to record, empty for none. The caller is in no transaction. With a premise, it
    /// is asked in one step with the change: where it does not hold, nothing is changed.
    pub fn commit_on(&self, premise: Option<Premise>, change: Change, history: &str) -> Result<u64> {
        match premise {
            Some(premise) => self.commit_task(Arc::new(OnPremise { premise, change }), history),
            None => self.commit_task(Arc::new(change), history),
        }
    }

    /// As [`Dsl::commit_on`], without a premise.
    pub fn commit(&self, change: Change, history: &str) -> Result<u64> {
        self.commit_on(None, change, history)
    }

    /// Judges the properties of a dataset that a change would make, and nothing else of it; what
    /// comes of them, if that is a volume.
    pub fn plan_create(&self, change: &Change) -> Result<Option<VolumePlan>> {
        match change {
            Change::CreateFilesystem { name, props, .. } => {
                create::raw_props(self, name, props).map(|_| None)
            }
            Change::CreateVolume { name, sparse, props, .. } => {
                volume::plan(self, name, *sparse, props).map(|(plan, _)| Some(plan))
            }
            _ => Ok(None),
        }
    }
}

/// Why an operation on one dataset is refused (lib/libzfs/libzfs_util.c, `zfs_standard_error`);
/// other failures pass.
fn reason(error: PoolError) -> Result<Reason> {
    Ok(match error {
        PoolError::Busy => Reason::DatasetBusy,
        PoolError::NoSpace | PoolError::Quota => Reason::NoSpace,
        PoolError::NameTooLong => Reason::NameTooLong,
        other => return Err(other),
    })
}

fn open(name: &str) -> Action {
    Action::Open { name: name.to_owned() }
}

/// What a failed name lookup is to the operator.
fn missing(action: Action) -> impl FnOnce(PoolError) -> PoolError {
    move |error| match error {
        PoolError::NotFound => Refused::new(action, Reason::NoDataset).into(),
        other => other,
    }
}
