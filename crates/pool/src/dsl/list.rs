//! Listing datasets: by name in order, parents first, a dataset's snapshots right after it by age.
//!
//! What a listing reads grows with the number of datasets listed, never with their data. Property
//! ZAPs are read once a directory and handed down.
//!
//! A list can be had in pages. Where a page ends is a place in the order, not a number of entries:
//! what comes and goes between two pages neither repeats nor hides what stays. A page costs what it
//! has and what is passed over for it ([`LOOKS`]), however long the list is, for the order of long
//! lists is kept (`mos::order`).

use std::ops::ControlFlow::{self, Break, Continue};
use std::sync::Arc;

use api_types::{DatasetFilter, DatasetInfo, DatasetKind, DatasetPage, DatasetPlace, PropValue};

use super::Dsl;
use super::bookmark::{self, Bookmark};
use super::dir::Dir;
use super::names::Found;
use super::prop::{Chain, Own};
use super::stats::{Subject, describe_bookmark};
use crate::mos::order::behind;
use crate::namecheck::is_hidden;
use crate::{PoolError, Result};

/// Directories that are looked at for one page beyond those that it has, so that a page of rare
/// things ends in time.
const LOOKS: usize = 1_000;

/// What of a dataset and all below it a walk has passed already, in its order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Passed<'a> {
    Nothing,
    Itself,
    /// With those before it: when it was taken, and its name.
    Snapshot(u64, &'a str),
    Bookmark(u64, &'a str),
    /// All of it, and of what is below all up to something.
    Way(&'a [&'a str], &'a Passed<'a>),
}

/// The parts of a place's name.
struct Parsed<'a> {
    /// Of the directories below the root.
    way: Vec<&'a str>,
    last: Passed<'a>,
}

impl Parsed<'_> {
    fn passed(&self) -> Passed<'_> {
        match self.way.as_slice() {
            [] => self.last,
            way => Passed::Way(way, &self.last),
        }
    }
}

/// A place in the list of what is below `root`.
fn parsed<'a>(place: &'a DatasetPlace, root: &str) -> Result<Parsed<'a>> {
    let (head, last) = match place.name.split_once(['@', '#']) {
        None => (place.name.as_str(), Passed::Itself),
        Some((head, name)) => match place.name[head.len()..].starts_with('@') {
            true => (head, Passed::Snapshot(place.createtxg, name)),
            false => (head, Passed::Bookmark(place.createtxg, name)),
        },
    };
    let below = head.strip_prefix(root).map(|below| below.strip_prefix('/').ok_or(below));
    match below {
        Some(Err("")) => Ok(Parsed { way: Vec::new(), last }),
        Some(Ok(below)) => Ok(Parsed { way: below.split('/').collect(), last }),
        Some(Err(_)) | None => {
            Err(PoolError::Invalid(format!("'{}' is no place in the list of '{root}'", place.name)))
        }
    }
}

struct Walk<'a> {
    dsl: &'a Dsl,
    filter: &'a DatasetFilter,
    /// How many the page has at most.
    limit: usize,
    looks: usize,
    out: Vec<DatasetInfo>,
    /// Behind all that was given or passed over.
    at: Option<DatasetPlace>,
}

/// `Break`: the page ends where the walk is.
type Flow = ControlFlow<()>;

impl Dsl {
    /// See the module; properties in `get all`'s order, or as asked for. `NotFound` when a root
    /// does not exist.
    pub fn list(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
        Ok(self.page(filter, None, usize::MAX)?.datasets)
    }

    /// As [`Dsl::list`], so many at most of those behind a place, which is one of the first root's.
    /// There may be fewer though more follow.
    pub fn page(
        &self,
        filter: &DatasetFilter,
        after: Option<&DatasetPlace>,
        limit: usize,
    ) -> Result<DatasetPage> {
        let _config = self.reading();
        let (looks, at) = (limit.saturating_add(LOOKS), after.cloned());
        let mut walk = Walk { dsl: self, filter, limit, looks, out: Vec::new(), at };
        let flow = walk.roots(after)?;
        let next = if flow.is_break() { walk.at } else { None };
        Ok(DatasetPage { datasets: walk.out, next })
    }

    /// What can be set of a dataset, snapshot or bookmark; `NotFound` where it is not there.
    pub fn settings(&self, name: &str) -> Result<DatasetInfo> {
        let _config = self.reading();
        self.settings_of(name)
    }

    /// As [`Dsl::settings`], of who keeps changes away.
    pub(crate) fn settings_of(&self, name: &str) -> Result<DatasetInfo> {
        if let Some((head, mark)) = name.split_once('#') {
            let found = self.find(head)?;
            let mark = bookmark::find(self, found.object, mark)?.ok_or(PoolError::NotFound)?;
            let (guid, createtxg) = (mark.phys.guid, mark.phys.creation_txg);
            let (name, kind, props) = (name.to_owned(), DatasetKind::Bookmark, Vec::new());
            return Ok(DatasetInfo { name, kind, guid, createtxg, props });
        }
        let found = self.find(name)?;
        let (kind, chain) = (self.kind_of(&found)?, Chain::of(self, &found.dir)?);
        let own = found.is_snapshot().then(|| Own::read(self, found.phys.props_obj)).transpose()?;
        let subject = Subject::new(name, &found, kind, &chain, own);
        let props = self.describe_settings(&subject)?;
        let (guid, createtxg) = (found.phys.guid, found.phys.creation_txg);
        Ok(DatasetInfo { name: name.to_owned(), kind, guid, createtxg, props })
    }

    /// Names of all datasets below a directory, it included, parents first; without snapshots.
    pub(crate) fn names_below(&self, dir: &Arc<Dir>) -> Result<Vec<String>> {
        let mut names = vec![dir.name()];
        for (name, object) in self.children(dir)? {
            names.extend(self.names_below(&self.child_dir(dir, &name, object)?)?);
        }
        Ok(names)
    }

    /// The directory and all below, those that no user named too; but for the pool's own.
    pub(crate) fn dirs_below(&self, dir: &Arc<Dir>) -> Result<Vec<Arc<Dir>>> {
        let mut dirs = vec![dir.clone()];
        for (name, object) in self.mos.sorted(dir.phys().child_dir_zapobj)? {
            if !name.starts_with('$') {
                dirs.extend(self.dirs_below(&self.child_dir(dir, &name, object)?)?);
            }
        }
        Ok(dirs)
    }

    /// A directory's children that are datasets, by name.
    pub(crate) fn children(&self, dir: &Arc<Dir>) -> Result<Vec<(String, u64)>> {
        let mut children = self.mos.sorted(dir.phys().child_dir_zapobj)?;
        children.retain(|(name, _)| !is_hidden(name));
        Ok(children)
    }

    pub(crate) fn has_children(&self, dir: &Arc<Dir>) -> Result<bool> {
        Ok(!self.children(dir)?.is_empty())
    }
}

impl Walk<'_> {
    fn roots(&mut self, after: Option<&DatasetPlace>) -> Result<Flow> {
        if self.filter.roots.is_empty() {
            let root = self.dsl.root()?;
            let chain = Chain::of(self.dsl, &root)?;
            let place = after.map(|place| parsed(place, chain.dir_name())).transpose()?;
            let passed = place.as_ref().map_or(Passed::Nothing, Parsed::passed);
            return self.dir(&root, chain, self.filter.depth, passed);
        }
        let mut after = after;
        for name in &self.filter.roots {
            if self.root(name, after.take())?.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    fn root(&mut self, name: &str, after: Option<&DatasetPlace>) -> Result<Flow> {
        if let Some((head, mark)) = name.split_once('#') {
            let found = self.dsl.find(head)?;
            let mark = bookmark::find(self.dsl, found.object, mark)?.ok_or(PoolError::NotFound)?;
            // What is behind the only one is nothing.
            if after.is_some() {
                return Ok(Continue(()));
            }
            return self.bookmark(&Chain::of(self.dsl, &found.dir)?, &mark);
        }
        let found = self.dsl.find(name)?;
        let chain = Chain::of(self.dsl, &found.dir)?;
        if found.is_snapshot() {
            return match after {
                Some(_) => Ok(Continue(())),
                None => self.one(name, &found, DatasetKind::Snapshot, &chain),
            };
        }
        let place = after.map(|place| parsed(place, name)).transpose()?;
        let passed = place.as_ref().map_or(Passed::Nothing, Parsed::passed);
        self.dir(&found.dir.clone(), chain, self.filter.depth, passed)
    }

    fn wants(&self, kind: DatasetKind) -> bool {
        match self.filter.kinds.as_slice() {
            [] => matches!(kind, DatasetKind::Filesystem | DatasetKind::Volume),
            kinds => kinds.contains(&kind),
        }
    }

    fn wants_heads(&self) -> bool {
        self.wants(DatasetKind::Filesystem) || self.wants(DatasetKind::Volume)
    }

    fn dir(&mut self, dir: &Arc<Dir>, chain: Chain, depth: Option<u32>, passed: Passed<'_>) -> Result<Flow> {
        if self.looks == 0 {
            return Ok(Break(()));
        }
        self.looks -= 1;
        let below = match passed {
            Passed::Way(way, last) => way.split_first().map(|(first, rest)| (*first, rest, last)),
            _ => None,
        };
        if below.is_none()
            && let Some(found) = self.dsl.head_of(dir)?
            && self.contents(&found, &chain, depth, passed)?.is_break()
        {
            return Ok(Break(()));
        }
        // At the last depth a dataset is listed without its snapshots and bookmarks.
        if depth == Some(0) || (depth == Some(1) && !self.wants_heads()) || self.filter.alone {
            return Ok(Continue(()));
        }
        let children = self.dsl.mos.ordered(dir.phys().child_dir_zapobj, |_| Ok(0))?;
        let from = below.map_or(0, |(first, ..)| children.partition_point(|child| *child.name < *first));
        for child in children[from..].iter().filter(|child| !is_hidden(&child.name)) {
            let passed = match below {
                Some((first, rest, last)) if child.name == first => match rest {
                    [] => *last,
                    rest => Passed::Way(rest, last),
                },
                _ => Passed::Nothing,
            };
            let dir = self.dsl.child_dir(dir, &child.name, child.object)?;
            let full = format!("{}/{}", chain.dir_name(), child.name);
            let below = Chain::read(self.dsl, &dir, full, Some(chain.clone()))?;
            if self.dir(&dir, below, depth.map(|depth| depth - 1), passed)?.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    /// A dataset, its snapshots and its bookmarks.
    fn contents(
        &mut self,
        found: &Found,
        chain: &Chain,
        depth: Option<u32>,
        passed: Passed<'_>,
    ) -> Result<Flow> {
        if passed == Passed::Nothing {
            let name = chain.dir_name().to_owned();
            // Which of the two it is has to be read.
            if self.wants_heads() {
                let kind = self.dsl.head_kind(found.object, &found.phys)?;
                if self.wants(kind) && self.one(&name, found, kind, chain)?.is_break() {
                    return Ok(Break(()));
                }
            }
            self.at = Some(DatasetPlace { name, createtxg: 0 });
        }
        if depth == Some(0) {
            return Ok(Continue(()));
        }
        if self.wants(DatasetKind::Snapshot) && self.snapshots(found, chain, passed)?.is_break() {
            return Ok(Break(()));
        }
        match self.wants(DatasetKind::Bookmark) {
            true => self.bookmarks(found, chain, passed),
            false => Ok(Continue(())),
        }
    }

    fn snapshots(&mut self, head: &Found, chain: &Chain, passed: Passed<'_>) -> Result<Flow> {
        let snapshots = self.dsl.by_age(head)?;
        let from = match passed {
            Passed::Nothing | Passed::Itself => 0,
            Passed::Snapshot(txg, name) => behind(&snapshots, (txg, name)),
            Passed::Bookmark(..) | Passed::Way(..) => snapshots.len(),
        };
        for snapshot in &snapshots[from..] {
            let phys = self.dsl.mos.dataset(snapshot.object)?;
            let found = Found { dir: head.dir.clone(), object: snapshot.object, phys };
            let name = format!("{}@{}", chain.dir_name(), snapshot.name);
            if self.one(&name, &found, DatasetKind::Snapshot, chain)?.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    fn bookmarks(&mut self, head: &Found, chain: &Chain, passed: Passed<'_>) -> Result<Flow> {
        for bookmark in bookmark::all(self.dsl, head.object)? {
            let is_passed = Passed::Bookmark(bookmark.phys.creation_txg, &bookmark.name) <= passed;
            if !is_passed && self.bookmark(chain, &bookmark)?.is_break() {
                return Ok(Break(()));
            }
        }
        Ok(Continue(()))
    }

    fn bookmark(&mut self, chain: &Chain, bookmark: &Bookmark) -> Result<Flow> {
        let name = format!("{}#{}", chain.dir_name(), bookmark.name);
        let (filter, phys) = (self.filter, &bookmark.phys);
        self.give(name, DatasetKind::Bookmark, (phys.guid, phys.creation_txg), |name| {
            describe_bookmark(name, phys, &filter.props)
        })
    }

    fn one(&mut self, name: &str, found: &Found, kind: DatasetKind, chain: &Chain) -> Result<Flow> {
        let (dsl, filter, phys) = (self.dsl, self.filter, &found.phys);
        self.give(name.to_owned(), kind, (phys.guid, phys.creation_txg), |name| {
            let own = found.is_snapshot().then(|| Own::read(dsl, phys.props_obj)).transpose()?;
            let subject = Subject::new(name, found, kind, chain, own);
            dsl.describe(&subject, &filter.props)
        })
    }

    /// Puts one on the page, where that has room.
    fn give(
        &mut self,
        name: String,
        kind: DatasetKind,
        (guid, createtxg): (u64, u64),
        describe: impl FnOnce(&str) -> Result<Vec<PropValue>>,
    ) -> Result<Flow> {
        if self.out.len() == self.limit {
            return Ok(Break(()));
        }
        let props = describe(&name)?;
        self.at = Some(DatasetPlace { name: name.clone(), createtxg });
        self.out.push(DatasetInfo { name, kind, guid, createtxg, props });
        Ok(Continue(()))
    }
}
