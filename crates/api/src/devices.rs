//! Leaf vdevs by their numbers and by their names: those that requests waited for.
//!
//! A leaf vdev is called as in `zpool status`, behind its pool and a colon: `tank:sda`. Where two
//! of a pool are called the same, each is called by its path. So a name that is shown can be asked
//! for, and is of one vdev alone.

use std::collections::HashMap;

use api_types::{PoolStatus, VdevStatus, kind};

use crate::app::App;
use crate::problem::{Refusal, refuse};
use crate::statistics;

/// The guids of a pool and of a leaf vdev of it.
pub type Device = (u64, u64);

/// What all leaf vdevs are called now, those of cache devices included.
pub fn names(app: &App) -> HashMap<Device, String> {
    let pools = statistics::pools(app);
    pools
        .iter()
        .flat_map(|pool| named(pool).into_iter().map(|(guid, name)| ((pool.guid, guid), name)))
        .collect()
}

/// The leaf vdev of this name, path or guid.
pub fn find(app: &App, text: &str) -> Result<Device, Refusal> {
    let pools = statistics::pools(app);
    let mut found: Vec<Device> = pools.iter().flat_map(|pool| called(pool, text)).collect();
    found.sort_unstable();
    found.dedup();
    match found[..] {
        [device] => Ok(device),
        [] => Err(refuse(
            kind::NOT_FOUND,
            format!("there is no leaf vdev '{text}': it is named as POOL:NAME, as zpool status shows it"),
        )),
        _ => Err(refuse(
            kind::BAD_REQUEST,
            format!("'{text}' is more than one leaf vdev: name it by its path"),
        )),
    }
}

/// What is known of one.
#[derive(Clone, Copy)]
struct Leaf<'a> {
    guid: u64,
    name: &'a str,
    path: Option<&'a str>,
}

fn called(pool: &PoolStatus, text: &str) -> Vec<Device> {
    let name = text.strip_prefix(&pool.name).and_then(|rest| rest.strip_prefix(':'));
    let is = |leaf: &Leaf<'_>| name.is_some_and(|name| leaf.is_called(name));
    leaves(pool).into_iter().filter(is).map(|leaf| (pool.guid, leaf.guid)).collect()
}

impl Leaf<'_> {
    fn is_called(&self, name: &str) -> bool {
        self.name == name || self.path == Some(name) || self.guid.to_string() == name
    }

    /// Its path where another of these has its name.
    fn name_among(&self, all: &[Leaf<'_>]) -> &str {
        let is_twice = all.iter().any(|other| other.guid != self.guid && other.name == self.name);
        self.path.filter(|_| is_twice).unwrap_or(self.name)
    }
}

/// With their guids.
fn named(pool: &PoolStatus) -> Vec<(u64, String)> {
    let leaves = leaves(pool);
    leaves.iter().map(|leaf| (leaf.guid, format!("{}:{}", pool.name, leaf.name_among(&leaves)))).collect()
}

fn leaves(pool: &PoolStatus) -> Vec<Leaf<'_>> {
    let mut found = Vec::new();
    pool.root.children.iter().chain(&pool.cache).for_each(|vdev| below(vdev, &mut found));
    found
}

fn below<'a>(vdev: &'a VdevStatus, found: &mut Vec<Leaf<'a>>) {
    match vdev.children.is_empty() {
        true => found.push(Leaf { guid: vdev.guid, name: &vdev.name, path: vdev.path.as_deref() }),
        false => vdev.children.iter().for_each(|child| below(child, found)),
    }
}

#[cfg(test)]
mod tests;
