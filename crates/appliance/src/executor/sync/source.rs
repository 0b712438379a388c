//! The source of a replica: what is read of it, and what is changed there.

use std::sync::Arc;

use api_types::SyncStep;
use engine_api::{Change, DatasetInfo, DatasetKind, DestroyQuery, Error, Pool, PropertyChange, Result};
use services::autosync::stamp;
use services::autosync::view::{Bookmark, Snapshot, Source};
use services::time::Time;
use stdx::premise::{Premise, relying_on};

use super::super::carry::history;
use super::super::facts::filter;

/// A dataset, with its pool.
pub struct Here {
    pub pool: Arc<dyn Pool>,
    pub name: String,
    pub guid: u64,
}

/// The tag that a service's holds have.
pub fn tag(id: &str) -> String {
    format!("org.cistern:{id}")
}

/// A snapshot, as a plan has it. `held`: by this service, of so many tags.
pub fn snapshot(info: &DatasetInfo, id: &str, held: bool) -> Snapshot {
    let tags = info.number("userrefs") - u64::from(held);
    Snapshot {
        name: short(&info.name).to_owned(),
        guid: info.guid,
        createtxg: info.createtxg,
        stamp: info.own(stamp::SNAPSHOT).and_then(|value| stamp::parse(value, id)),
        held,
        needed: tags > 0 || info.number("numclones") > 0,
    }
}

/// The name of a snapshot or bookmark without its dataset.
fn short(name: &str) -> &str {
    name.split_once(['@', '#']).map_or("", |(_, short)| short)
}

impl Here {
    /// Whether another dataset has its name now, or none.
    pub fn is_gone(&self) -> bool {
        // A pool that does not say it has not said that it is gone.
        self.head(&["type"]).is_err_and(|error| error == Error::NotFound)
    }

    /// It, with these properties.
    ///
    /// # Errors
    /// [`Error::NotFound`]: another dataset has its name, or none.
    pub fn head(&self, props: &[&str]) -> Result<DatasetInfo> {
        let heads = self.pool.datasets(&filter(&self.name, Some(0), &[], props))?;
        heads.into_iter().find(|head| head.guid == self.guid).ok_or(Error::NotFound)
    }

    /// What a plan is made from. `counts`: what its snapshots keep, too.
    pub fn read(&self, id: &str, counts: bool) -> Result<Source> {
        let head = self.head(&["written"])?;
        let of_snapshot = ["userrefs", "numclones", stamp::SNAPSHOT];
        let listed =
            self.pool.datasets(&filter(&self.name, Some(1), &[DatasetKind::Snapshot], &of_snapshot))?;
        let mut snapshots = Vec::new();
        for info in &listed {
            let is_held = info.number("userrefs") > 0
                && self.pool.holds(&info.name)?.iter().any(|(name, _)| *name == tag(id));
            snapshots.push(snapshot(info, id, is_held));
        }
        let listed = self.pool.datasets(&filter(&self.name, Some(1), &[DatasetKind::Bookmark], &["type"]))?;
        let bookmark = |info: &DatasetInfo| Bookmark {
            name: short(&info.name).to_owned(),
            guid: info.guid,
            createtxg: info.createtxg,
        };
        let bookmarks = listed.iter().map(bookmark).collect();
        let kept = if counts { self.kept(&snapshots)? } else { 0 };
        Ok(Source { guid: self.guid, snapshots, bookmarks, written: head.number("written"), kept })
    }

    /// Bytes that would come free if this service's snapshots went.
    fn kept(&self, snapshots: &[Snapshot]) -> Result<u64> {
        let own = snapshots.iter().filter(|it| it.stamp.is_some() && !it.needed);
        let own: Vec<&str> = own.map(|it| it.name.as_str()).collect();
        if own.is_empty() {
            return Ok(0);
        }
        let name = format!("{}@{}", self.name, own.join(","));
        // Deferred: it is only counted, and its own holds are no hindrance.
        let query = DestroyQuery { name, recursive: false, clones: false, defer: true };
        Ok(self.pool.plan_destroy(&query)?.bytes)
    }

    /// Does a step that is about the source alone. `now`: for what is made.
    pub fn change(&self, id: &str, step: &SyncStep, now: Time) -> Result<()> {
        let snap = |name: &str| format!("{}@{name}", self.name);
        let mut things = vec![(self.name.clone(), self.guid)];
        let change = match step {
            SyncStep::Snapshot { snapshot } => snapshots(id, vec![snap(snapshot)], now),
            SyncStep::Hold { snapshot } => {
                Change::Hold { snapshots: vec![snap(snapshot)], tag: tag(id), recursive: false }
            }
            SyncStep::Release { snapshot } => {
                Change::Release { snapshots: vec![snap(snapshot)], tag: tag(id), recursive: false }
            }
            SyncStep::Bookmark { snapshot } => {
                Change::Bookmark { source: snap(snapshot), name: format!("{}#{snapshot}", self.name) }
            }
            SyncStep::Destroy { name, guid, .. } => {
                let is_snapshot = name.starts_with('@');
                let name = format!("{}{name}", self.name);
                // A bookmark is known by its dataset and name.
                if is_snapshot {
                    things = vec![(name.clone(), *guid)];
                }
                Change::Destroy { names: vec![name], defer: false }
            }
            SyncStep::Send { .. } | SyncStep::Resume | SyncStep::Abort | SyncStep::Stamp { .. } => {
                unreachable!("it is about the replica")
            }
        };
        let commit = || self.pool.commit(&change, &history(id));
        relying_on(Some(Premise::Same { things }), commit).map(drop)
    }
}

/// Snapshots that this service makes then.
pub fn snapshots(id: &str, names: Vec<String>, now: Time) -> Change {
    let value = stamp::written(id, now);
    let props = vec![PropertyChange { name: stamp::SNAPSHOT.to_owned(), value }];
    Change::Snapshot { names, recursive: false, props }
}
