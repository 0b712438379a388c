//! Snapshots: the one pool of several, rollback and clone with their mounts.

use std::sync::Arc;

use api_types::{CloneCreate, Rollback};
use engine_api::{Change, Committed, DatasetFilter, DatasetKind, DestroyQuery, Pool};

use crate::{Appliance, Failure, Result, Warning};

impl Appliance {
    /// The one pool of all these snapshots.
    pub fn pool_of_all(&self, names: &[String]) -> Result<Arc<dyn Pool>> {
        let pool = self.pool_of(names.first().ok_or(Failure::NoSnapshots)?)?;
        let own = pool.name();
        match names.iter().all(|name| name.split(['/', '@', '#']).next() == Some(own.as_str())) {
            true => Ok(pool),
            false => Err(Failure::SeveralPools),
        }
    }

    /// Rolls a dataset back to a snapshot. What is younger, and clones of it, is destroyed where it
    /// may be. The mount stays, and shows what is there now.
    pub fn rollback(&self, snapshot: &str, asked: &Rollback) -> Result<(Committed, Vec<Warning>)> {
        let pool = self.pool_of(snapshot)?;
        let head = snapshot.split('@').next().unwrap_or_default();
        let change = Change::Rollback { snapshot: snapshot.to_owned() };
        // Before anything is taken from anybody.
        pool.permits(&change)?;
        let younger = younger(&*pool, snapshot, head)?;
        if !younger.is_empty() && !asked.recursive && !asked.clones {
            return Err(Failure::YoungerExist { snapshot: snapshot.to_owned(), younger });
        }
        let names = younger_and_clones(&*pool, (snapshot, head), &younger, asked.clones)?;
        let clones: Vec<String> = names.iter().filter(|name| !younger.contains(name)).cloned().collect();
        self.unmount_each(&clones)?;
        if !names.is_empty() {
            pool.commit(&Change::Destroy { names, defer: false }, "")?;
        }
        let committed = pool.commit(&change, &asked.history)?;
        Ok((committed, self.refresh(head).into_iter().collect()))
    }

    /// Clones a snapshot, and mounts the clone unless told otherwise.
    pub fn clone_snapshot(&self, asked: CloneCreate) -> Result<(Committed, Vec<Warning>)> {
        let CloneCreate { snapshot, name, parents, no_mount, props, history } = asked;
        let pool = self.pool_of(&snapshot)?;
        let change = Change::Clone { snapshot, name: name.clone(), parents, props };
        let committed = pool.commit(&change, &history)?;
        let warnings = match self.auto_mount && !no_mount {
            true => self.mount_made(&name),
            false => Vec::new(),
        };
        Ok((committed, warnings))
    }
}

/// The snapshots and bookmarks of `head` that are younger than its snapshot.
fn younger(pool: &dyn Pool, snapshot: &str, head: &str) -> Result<Vec<String>> {
    let filter = DatasetFilter {
        roots: vec![head.to_owned()],
        depth: Some(1),
        alone: false,
        kinds: vec![DatasetKind::Snapshot, DatasetKind::Bookmark],
        props: vec!["type".into()],
    };
    let mut points = pool.datasets(&filter)?;
    points.retain(|point| point.name.split(['@', '#']).next() == Some(head));
    let target = points.iter().find(|point| point.name == snapshot);
    let target = target.ok_or_else(|| Failure::NoSuchDataset { dataset: snapshot.to_owned() })?;
    let txg = target.createtxg;
    Ok(points.into_iter().filter(|point| point.createtxg > txg).map(|point| point.name).collect())
}

/// What is younger, in the order in which it can go, with its clones.
fn younger_and_clones(
    pool: &dyn Pool,
    (snapshot, head): (&str, &str),
    younger: &[String],
    clones: bool,
) -> Result<Vec<String>> {
    let (snapshots, bookmarks): (Vec<&String>, Vec<&String>) =
        younger.iter().partition(|name| name.contains('@'));
    let mut names = Vec::new();
    if !snapshots.is_empty() {
        let short = snapshots.iter().filter_map(|name| Some(name.split_once('@')?.1));
        let name = format!("{head}@{}", short.collect::<Vec<_>>().join(","));
        let query = DestroyQuery { name, recursive: false, clones: true, defer: false };
        names = pool.plan_destroy(&query)?.names;
    }
    let others: Vec<String> = names.iter().filter(|name| !younger.contains(name)).cloned().collect();
    if !others.is_empty() && !clones {
        return Err(Failure::ClonesExist { snapshot: snapshot.to_owned(), clones: others });
    }
    names.extend(bookmarks.into_iter().cloned());
    Ok(names)
}
