//! What the two places have: datasets as they are listed, and what their snapshots hold, by guid.

use std::collections::{BTreeMap, BTreeSet};

use engine_api::{Adopted, DatasetFilter, DatasetInfo, DatasetKind, Error, IDENTITY, Pool, REPLICA};

use crate::copies::contents::Content;
use crate::workload::{Done, failed};

/// A file system or volume.
#[derive(Clone, Debug, Default)]
pub struct Dataset {
    pub name: String,
    pub guid: u64,
    /// What it is marked as the replica of.
    pub relation: Option<String>,
    pub readonly: bool,
    /// What it keeps of what clients know its original by counts.
    pub is_awake: Option<bool>,
    /// Nothing of it is there yet.
    pub is_partial: bool,
    pub snapshots: Vec<Snap>,
    /// guids.
    pub bookmarks: BTreeSet<u64>,
}

#[derive(Clone, Debug)]
pub struct Snap {
    /// Without its dataset.
    pub name: String,
    pub guid: u64,
    /// The mark of a service.
    pub stamp: Option<String>,
}

impl Dataset {
    /// Clients can write to it.
    pub fn is_in_use(&self) -> bool {
        !self.readonly && !self.is_partial
    }

    pub fn newest(&self) -> Option<&Snap> {
        self.snapshots.last()
    }

    pub fn has(&self, guid: u64) -> bool {
        self.snapshots.iter().any(|it| it.guid == guid)
    }
}

fn listed(
    pool: &dyn Pool,
    root: &str,
    kinds: Vec<DatasetKind>,
    props: &[&str],
) -> Result<Vec<DatasetInfo>, String> {
    let props = props.iter().map(|it| (*it).to_owned()).collect();
    let filter = DatasetFilter { roots: vec![root.to_owned()], depth: None, alone: false, kinds, props };
    match pool.datasets(&filter) {
        Err(Error::NotFound) => Ok(Vec::new()),
        listed => listed.map_err(failed("listing datasets")),
    }
}

/// A dataset and those below it.
pub fn datasets(pool: &dyn Pool, root: &str) -> Result<Vec<Dataset>, String> {
    use DatasetKind::{Bookmark, Filesystem, Snapshot, Volume};
    let heads = [REPLICA, IDENTITY, "readonly", "inconsistent"];
    let mut found = Vec::new();
    for info in listed(pool, root, vec![Filesystem, Volume], &heads)? {
        found.push(Dataset {
            guid: info.guid,
            relation: info.own(REPLICA).map(str::to_owned),
            readonly: info.value("readonly") == Some("on"),
            is_awake: info.own(IDENTITY).and_then(Adopted::parse).map(|it| it.is_live),
            is_partial: info.value("inconsistent") == Some("1"),
            name: info.name,
            ..Dataset::default()
        });
    }
    let mut below = listed(pool, root, vec![Snapshot], &[services::autosync::stamp::SNAPSHOT])?;
    below.sort_by_key(|info| info.createtxg);
    for info in below {
        let Some((of, name)) = info.name.split_once('@') else { continue };
        let snap = Snap {
            name: name.to_owned(),
            guid: info.guid,
            stamp: info.own(services::autosync::stamp::SNAPSHOT).map(str::to_owned),
        };
        found.iter_mut().filter(|it| it.name == of).for_each(|it| it.snapshots.push(snap.clone()));
    }
    for info in listed(pool, root, vec![Bookmark], &["type"])? {
        let Some((of, _)) = info.name.split_once('#') else { continue };
        if let Some(of) = found.iter_mut().find(|it| it.name == of) {
            of.bookmarks.insert(info.guid);
        }
    }
    Ok(found)
}

/// What snapshots hold, by guid; and which of each place were held against that since it was
/// switched on.
#[derive(Default)]
pub struct Known {
    contents: BTreeMap<u64, Content>,
    checked: [BTreeSet<u64>; 2],
}

impl Known {
    /// All of a place is to be looked at again.
    pub fn forget(&mut self, me: usize) {
        self.checked[me].clear();
    }

    /// Of what is sent, and of what is in use.
    pub fn learn(&mut self, pool: &dyn Pool, datasets: &[Dataset]) -> Done {
        for of in datasets {
            for snap in &of.snapshots {
                if let std::collections::btree_map::Entry::Vacant(place) = self.contents.entry(snap.guid) {
                    place.insert(Content::read(pool, &format!("{}@{}", of.name, snap.name))?);
                }
            }
        }
        Ok(())
    }

    /// Each snapshot is what its guid stands for. `heads`: and a replica is what the newest of its
    /// snapshots is.
    pub fn check(&mut self, me: usize, pool: &dyn Pool, datasets: &[Dataset], heads: bool) -> Done {
        for of in datasets.iter().filter(|it| !it.is_partial) {
            for snap in &of.snapshots {
                if !self.checked[me].contains(&snap.guid) {
                    self.check_one(pool, &format!("{}@{}", of.name, snap.name), snap.guid)?;
                    self.checked[me].insert(snap.guid);
                }
            }
            if let Some(newest) = of.newest().filter(|_| heads && of.relation.is_some() && of.readonly) {
                self.check_one(pool, &of.name, newest.guid)?;
            }
        }
        Ok(())
    }

    fn check_one(&self, pool: &dyn Pool, name: &str, guid: u64) -> Done {
        let wanted = self.contents.get(&guid).ok_or_else(|| format!("{name} was never sent"))?;
        let wrong = wanted.differences(&Content::read(pool, name)?);
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{name} is not what was sent: {:#?}", &wrong[..wrong.len().min(8)])),
        }
    }
}
