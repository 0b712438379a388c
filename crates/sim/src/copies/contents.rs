//! What snapshots hold, by guid: a copy has the guid of what it is a copy of.

use std::collections::BTreeMap;

use engine_api::{DatasetFilter, DatasetKind, Error, Pool};
use model::{Compare, Tree, dump};

use crate::workload::{Done, failed};

/// Of a file system or a volume.
pub enum Content {
    Files(Tree),
    Volume(Vec<u8>),
}

impl Content {
    pub fn read(api: &dyn Pool, name: &str) -> Result<Content, String> {
        match api.open_fs(name) {
            Ok(fs) => Ok(Content::Files(dump(&*fs).map_err(failed(name))?)),
            Err(Error::Invalid(_)) => {
                let volume = api.open_volume(name).map_err(failed(name))?;
                let size = volume.geometry().map_err(failed(name))?.size;
                Ok(Content::Volume(volume.read(0, size as usize).map_err(failed(name))?.to_vec()))
            }
            Err(error) => Err(failed(name)(error)),
        }
    }

    pub fn differences(&self, found: &Content) -> Vec<String> {
        match (self, found) {
            (Content::Files(wanted), Content::Files(found)) => {
                wanted.differences(found, Compare { times: true })
            }
            (Content::Volume(wanted), Content::Volume(found)) if wanted == found => Vec::new(),
            (Content::Volume(wanted), Content::Volume(found)) => {
                let at = wanted.iter().zip(found).position(|(a, b)| a != b);
                vec![format!("{} bytes, not {}; another at {at:?}", found.len(), wanted.len())]
            }
            _ => vec!["it is something else".to_owned()],
        }
    }
}

/// A dataset or snapshot as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub name: String,
    pub kind: DatasetKind,
    pub guid: u64,
    pub createtxg: u64,
    pub origin: String,
    pub is_inconsistent: bool,
}

/// A dataset, what is below it, and snapshots; nothing if it is not there.
pub fn see(api: &dyn Pool, root: &str) -> Result<Vec<Seen>, String> {
    let filter = DatasetFilter {
        roots: vec![root.to_owned()],
        depth: None,
        alone: false,
        kinds: vec![DatasetKind::Filesystem, DatasetKind::Volume, DatasetKind::Snapshot],
        props: vec!["origin".to_owned(), "inconsistent".to_owned()],
    };
    let listed = match api.datasets(&filter) {
        Err(Error::NotFound) => return Ok(Vec::new()),
        listed => listed.map_err(failed("listing datasets"))?,
    };
    let seen = listed.into_iter().map(|info| {
        let value = |name: &str| info.props.iter().find(|prop| prop.name == name);
        let value = |name: &str| value(name).map_or(String::new(), |prop| prop.value.clone());
        let (origin, is_inconsistent) = (value("origin"), value("inconsistent") == "1");
        Seen {
            name: info.name,
            kind: info.kind,
            guid: info.guid,
            createtxg: info.createtxg,
            origin,
            is_inconsistent,
        }
    });
    Ok(seen.collect())
}

/// Snapshots of a dataset that are newer than the one of this name, oldest first: their short names
/// and guids.
pub fn later_than(api: &dyn Pool, dataset: &str, base: Option<&str>) -> Result<Vec<(String, u64)>, String> {
    let of_it = |one: Seen| {
        let (_, name) = one.name.split_once('@').filter(|(of, _)| *of == dataset)?;
        Some((one.createtxg, name.to_owned(), one.guid))
    };
    let mut snapshots: Vec<_> = see(api, dataset)?.into_iter().filter_map(of_it).collect();
    snapshots.sort_unstable();
    let base = snapshots.iter().find(|(_, name, _)| Some(&**name) == base).map_or(0, |(txg, ..)| *txg);
    Ok(snapshots.into_iter().filter(|(txg, ..)| *txg > base).map(|(_, name, guid)| (name, guid)).collect())
}

/// Bookmarks of a dataset by their short names, and the guids of what they are of.
pub type Marks = BTreeMap<String, u64>;

/// Those that there are; none where there is no such dataset.
pub fn marks(api: &dyn Pool, dataset: &str) -> Result<Marks, String> {
    let filter = DatasetFilter {
        roots: vec![dataset.to_owned()],
        depth: Some(1),
        alone: false,
        kinds: vec![DatasetKind::Bookmark],
        props: vec!["type".to_owned()],
    };
    let listed = match api.datasets(&filter) {
        Err(Error::NotFound) => return Ok(Marks::new()),
        listed => listed.map_err(failed("listing bookmarks"))?,
    };
    let of_it =
        |name: &str| name.split_once('#').filter(|(of, _)| *of == dataset).map(|(_, mark)| mark.to_owned());
    Ok(listed.into_iter().filter_map(|info| Some((of_it(&info.name)?, info.guid))).collect())
}

/// The newest snapshot of each file system and volume, by guid.
pub type Heads = BTreeMap<u64, u64>;

/// Those of `seen` that have a snapshot.
pub fn heads(seen: &[Seen]) -> Heads {
    let heads = seen.iter().filter(|one| one.kind != DatasetKind::Snapshot);
    heads.filter_map(|head| Some((head.guid, newest(seen, head)?.guid))).collect()
}

fn newest<'a>(seen: &'a [Seen], head: &Seen) -> Option<&'a Seen> {
    let of_it = |other: &&Seen| other.name.split_once('@').is_some_and(|(of, _)| of == head.name);
    seen.iter().filter(of_it).max_by_key(|snapshot| snapshot.createtxg)
}

/// See the module.
#[derive(Default)]
pub struct Contents(BTreeMap<u64, Content>);

impl Contents {
    /// Looks at the snapshots that are not known yet.
    pub fn learn(&mut self, api: &dyn Pool, root: &str) -> Done {
        for seen in see(api, root)?.into_iter().filter(|seen| seen.kind == DatasetKind::Snapshot) {
            if let std::collections::btree_map::Entry::Vacant(place) = self.0.entry(seen.guid) {
                place.insert(Content::read(api, &seen.name)?);
            }
        }
        Ok(())
    }

    /// Everything of a copy is what was sent, and each head what its newest snapshot is.
    pub fn check(&self, api: &dyn Pool, root: &str) -> Done {
        self.check_with_leavers(api, root, &Heads::new())
    }

    /// As [`Contents::check`], while a tree is changed: snapshots go before the head that they are
    /// of, which has a name for the time being if it cannot go at once, and is what the newest of
    /// them was.
    pub fn check_with_leavers(&self, api: &dyn Pool, root: &str, leavers: &Heads) -> Done {
        let seen = see(api, root)?;
        for one in &seen {
            match one.kind {
                DatasetKind::Snapshot => self.check_one(api, &one.name, one.guid)?,
                _ if one.is_inconsistent => return Err(format!("{} is not whole", one.name)),
                _ => {
                    let guid = leavers.get(&one.guid).copied();
                    let guid = guid.or_else(|| newest(&seen, one).map(|snapshot| snapshot.guid));
                    let guid = guid.ok_or_else(|| format!("{} has no snapshot", one.name))?;
                    self.check_one(api, &one.name, guid)?;
                }
            }
        }
        Ok(())
    }

    fn check_one(&self, api: &dyn Pool, name: &str, guid: u64) -> Done {
        let wanted = self.0.get(&guid).ok_or_else(|| format!("{name} was never sent"))?;
        let wrong = wanted.differences(&Content::read(api, name)?);
        match wrong.is_empty() {
            true => Ok(()),
            false => Err(format!("{name} is not what was sent: {:#?}", &wrong[..wrong.len().min(8)])),
        }
    }
}
