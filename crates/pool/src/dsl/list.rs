//! Listing datasets: by name in order, parents first, a dataset's snapshots right after it by age.
//!
//! What a listing reads grows with the number of datasets listed, never with their data. Property
//! ZAPs are read once a directory and handed down.

use std::sync::Arc;

use api_types::{DatasetFilter, DatasetInfo, DatasetKind};

use super::Dsl;
use super::bookmark::{self, Bookmark};
use super::dir::Dir;
use super::names::Found;
use super::prop::{Chain, Own};
use super::stats::{Subject, describe_bookmark};
use crate::namecheck::is_hidden;
use crate::{PoolError, Result};

struct Walk<'a> {
    dsl: &'a Dsl,
    filter: &'a DatasetFilter,
    out: Vec<DatasetInfo>,
}

impl Dsl {
    /// See the module; properties in `get all`'s order, or as asked for. `NotFound` when a root
    /// does not exist.
    pub fn list(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
        let _config = self.reading();
        let mut walk = Walk { dsl: self, filter, out: Vec::new() };
        if filter.roots.is_empty() {
            let root = self.root()?;
            let chain = Chain::of(self, &root)?;
            walk.dir(&root, chain, filter.depth)?;
        }
        for name in &filter.roots {
            if let Some((head, mark)) = name.split_once('#') {
                let found = self.find(head)?;
                let mark = bookmark::find(self, found.object, mark)?.ok_or(PoolError::NotFound)?;
                walk.bookmark(&Chain::of(self, &found.dir)?, &mark)?;
                continue;
            }
            let found = self.find(name)?;
            let chain = Chain::of(self, &found.dir)?;
            if found.is_snapshot() {
                walk.one(name, &found, DatasetKind::Snapshot, &chain)?;
            } else {
                walk.dir(&found.dir.clone(), chain, filter.depth)?;
            }
        }
        Ok(walk.out)
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
}

impl Walk<'_> {
    fn wants(&self, kind: DatasetKind) -> bool {
        match self.filter.kinds.as_slice() {
            [] => matches!(kind, DatasetKind::Filesystem | DatasetKind::Volume),
            kinds => kinds.contains(&kind),
        }
    }

    fn dir(&mut self, dir: &Arc<Dir>, chain: Chain, depth: Option<u32>) -> Result<()> {
        if let Some(found) = self.dsl.head_of(dir)? {
            let kind = self.dsl.head_kind(found.object, &found.phys)?;
            if self.wants(kind) {
                let name = chain.dir_name().to_owned();
                self.one(&name, &found, kind, &chain)?;
            }
            if depth != Some(0) && self.wants(DatasetKind::Snapshot) {
                self.snapshots(&found, &chain)?;
            }
            if depth != Some(0) && self.wants(DatasetKind::Bookmark) {
                for bookmark in bookmark::all(self.dsl, found.object)? {
                    self.bookmark(&chain, &bookmark)?;
                }
            }
        }
        if depth == Some(0) {
            return Ok(());
        }
        for (name, object) in self.dsl.children(dir)? {
            let child = self.dsl.child_dir(dir, &name, object)?;
            let full = format!("{}/{name}", chain.dir_name());
            let below = Chain::read(self.dsl, &child, full, Some(chain.clone()))?;
            self.dir(&child, below, depth.map(|depth| depth - 1))?;
        }
        Ok(())
    }

    fn snapshots(&mut self, head: &Found, chain: &Chain) -> Result<()> {
        for snapshot in self.dsl.snapshots(&head.phys)? {
            let found = Found { dir: head.dir.clone(), object: snapshot.object, phys: snapshot.phys };
            let name = format!("{}@{}", chain.dir_name(), snapshot.name);
            self.one(&name, &found, DatasetKind::Snapshot, chain)?;
        }
        Ok(())
    }

    fn bookmark(&mut self, chain: &Chain, bookmark: &Bookmark) -> Result<()> {
        let name = format!("{}#{}", chain.dir_name(), bookmark.name);
        let props = describe_bookmark(&name, &bookmark.phys, &self.filter.props)?;
        let (guid, createtxg) = (bookmark.phys.guid, bookmark.phys.creation_txg);
        self.out.push(DatasetInfo { name, kind: DatasetKind::Bookmark, guid, createtxg, props });
        Ok(())
    }

    fn one(&mut self, name: &str, found: &Found, kind: DatasetKind, chain: &Chain) -> Result<()> {
        let own = found.is_snapshot().then(|| Own::read(self.dsl, found.phys.props_obj)).transpose()?;
        let subject = Subject { name, found, kind, chain, own };
        let props = self.dsl.describe(&subject, &self.filter.props)?;
        let (guid, createtxg) = (found.phys.guid, found.phys.creation_txg);
        self.out.push(DatasetInfo { name: name.to_owned(), kind, guid, createtxg, props });
        Ok(())
    }
}
