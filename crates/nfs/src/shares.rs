//! What is shared now: the engine's file systems with their parsed `sharenfs`.
//!
//! A [`Table`] is immutable; [`Shares`] replaces it when the engine's generation moved. Every
//! request looks at the table anew, so `zfs set sharenfs=off` or a destroyed dataset takes effect
//! with the next call, whatever handles clients hold.
//!
//! A share that has taken the place of another is known by that one's id: handles with it are what
//! it gives, those with its own lead to it as well. Each is sealed with a key of its own, so who
//! claims the id of another without having the key gets none of its clients' calls.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use engine_api::{Cred, FileSystem, FsId, HandleKey, NodeId, Serving};
use sockets::lock;

use crate::export::{ExportOptions, Names, parse};
use crate::handle::{Handle, Sealed};
use crate::status::Status;

/// First port that is not reserved to privileged programs.
const UNRESERVED: u16 = 1024;

/// Snapshots whose share is remembered.
const SNAPSHOTS_MAX: usize = 4096;

/// One shared file system.
pub struct Share {
    /// What clients know it by.
    pub id: FsId,
    /// Its own id, and what seals handles with that.
    own: (FsId, Option<HandleKey>),
    /// Without a slash at the end, but for `/` itself.
    pub mountpoint: String,
    pub options: Arc<ExportOptions>,
    pub readonly: bool,
    pub fs: Arc<dyn FileSystem>,
    key: Option<HandleKey>,
    /// File systems mounted somewhere below: their place, as names from this one's root, and which
    /// they are.
    children: Vec<(Vec<Vec<u8>>, FsId)>,
}

/// Everything that is shared at one moment.
#[derive(Default)]
pub struct Table {
    generation: Option<u64>,
    by_id: HashMap<FsId, Arc<Share>>,
    /// By pool: what seals handles of what is not in `by_id`.
    keys: HashMap<u64, HandleKey>,
    /// Snapshots that handles led to, and the shares they are of. Who holds a file system would
    /// keep it from being destroyed.
    snapshots: Mutex<HashMap<FsId, FsId>>,
}

/// The current table, and what is needed to judge clients.
pub struct Shares {
    engine: Arc<dyn Serving>,
    table: RwLock<Arc<Table>>,
    /// Held by whoever builds the next table: it takes a look at every dataset, and many requests
    /// come meanwhile.
    building: Mutex<()>,
    names: Names,
    /// Handles of servers before this version are good.
    pub old_handles: bool,
}

impl Shares {
    pub fn new(engine: Arc<dyn Serving>, old_handles: bool) -> Shares {
        let (table, building) = (RwLock::default(), Mutex::default());
        Shares { engine, table, building, names: Names::default(), old_handles }
    }

    /// The table as it is now.
    pub fn table(&self) -> Arc<Table> {
        if let Ok(current) = self.current() {
            return current;
        }
        let _turn = lock(&self.building);
        let generation = match self.current() {
            Ok(current) => return current,
            Err(generation) => generation,
        };
        // The generation was read first: a change during the next lines is seen by the next call.
        let fresh = Arc::new(Table::build(generation, &*self.engine));
        self.names.clear();
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = fresh.clone();
        fresh
    }

    /// The last table, if it is that of the engine's generation; else that.
    fn current(&self) -> Result<Arc<Table>, u64> {
        let generation = self.engine.served_generation();
        let last = self.table.read().unwrap_or_else(PoisonError::into_inner).clone();
        if last.generation == Some(generation) { Ok(last) } else { Err(generation) }
    }

    /// Whether what `table` does not have may be there all the same: in a pool that is still to
    /// come, or in one that has come since. `pool`: its guid, where that is known.
    pub fn may_come(&self, table: &Table, pool: Option<u64>) -> bool {
        self.engine.is_to_come(pool) || table.generation != Some(self.engine.served_generation())
    }

    /// Whether the client may come to the share, and if so whether it may write.
    pub fn grant(&self, share: &Share, client: SocketAddr) -> Option<bool> {
        if share.options.secure && client.port() >= UNRESERVED {
            return None;
        }
        let writable = share.options.grant(client.ip(), &self.names)?;
        Some(writable && !share.readonly)
    }
}

impl Table {
    fn build(generation: u64, engine: &dyn Serving) -> Table {
        let mut shares = Vec::new();
        for served in engine.served() {
            let Some(mountpoint) = served.mountpoint else { continue };
            let options = parse(&served.sharenfs).unwrap_or_else(|why| {
                tracing::warn!(dataset = served.dataset, why, "not shared: bad sharenfs");
                ExportOptions::off()
            });
            if !options.enabled {
                continue;
            }
            let mountpoint = match mountpoint.trim_end_matches('/') {
                "" => "/".to_owned(),
                path => path.to_owned(),
            };
            let own = (served.id, served.key);
            let (id, key) = served.identity.map_or(own, |it| {
                let id = FsId { pool_guid: it.pool_guid, dataset_guid: it.dataset_guid };
                (id, it.key)
            });
            let (readonly, fs, options) = (served.readonly, served.fs, Arc::new(options));
            shares.push(Share { id, own, mountpoint, options, readonly, fs, key, children: Vec::new() });
        }
        let places: Vec<(Vec<Vec<u8>>, FsId)> =
            shares.iter().map(|share| (components(&share.mountpoint), share.id)).collect();
        for share in shares.iter_mut().filter(|share| share.options.crossmnt) {
            let own = components(&share.mountpoint);
            let below = |(path, id): &(Vec<Vec<u8>>, FsId)| {
                let rest = path.strip_prefix(&own[..]).filter(|rest| !rest.is_empty())?;
                Some((rest.to_vec(), *id))
            };
            share.children = places.iter().filter_map(below).collect();
        }
        let mut table = Table { generation: Some(generation), ..Table::default() };
        let shares: Vec<Arc<Share>> = shares.into_iter().map(Arc::new).collect();
        // A pool that is here has the last word about its own.
        for share in &shares {
            table.by_id.insert(share.own.0, share.clone());
            table.keys.extend(share.own.1.map(|key| (share.own.0.pool_guid, key)));
        }
        for share in shares {
            if let Some(key) = share.key {
                table.keys.entry(share.id.pool_guid).or_insert(key);
            }
            table.by_id.insert(share.id, share);
        }
        table
    }

    /// A snapshot of a share, by the id in a handle: offered to whom its share is, for reading.
    pub fn snapshot(&self, id: FsId) -> Option<Arc<Share>> {
        let known = lock(&self.snapshots).get(&id).copied();
        let (share, fs) = match known.and_then(|of| self.by_id.get(&of)) {
            Some(share) => (share, self.open_snapshot(share, id)?),
            None => self.each().find_map(|share| Some((share, self.open_snapshot(share, id)?)))?,
        };
        let mut known = lock(&self.snapshots);
        if known.len() >= SNAPSHOTS_MAX {
            known.clear();
        }
        known.insert(id, share.id);
        drop(known);
        let (mountpoint, options) = (format!("{}/.zfs/snapshot", share.mountpoint), share.options.clone());
        let key = self.keys.get(&id.pool_guid).copied();
        let own = (fs.id(), share.own.1);
        Some(Arc::new(Share { id, own, mountpoint, options, readonly: true, fs, key, children: Vec::new() }))
    }

    /// A snapshot of this share, if it is one, by an id of the pool that it is known in or lies in.
    fn open_snapshot(&self, share: &Share, id: FsId) -> Option<Arc<dyn FileSystem>> {
        let (own, pool) = (share.own.0.pool_guid, id.pool_guid);
        let is_proved = pool == share.id.pool_guid && self.keys.get(&pool) == share.key.as_ref();
        if pool != own && !is_proved {
            return None;
        }
        share.fs.snapshot(FsId { pool_guid: own, ..id }).ok().flatten()
    }

    /// What seals the handles with this id.
    pub fn key(&self, id: FsId) -> Option<&HandleKey> {
        match self.by_id.get(&id) {
            Some(share) if share.id == id => share.key.as_ref(),
            Some(share) => share.own.1.as_ref(),
            None => self.keys.get(&id.pool_guid),
        }
    }

    pub fn get(&self, id: FsId) -> Option<&Arc<Share>> {
        self.by_id.get(&id)
    }

    /// Each once.
    fn each(&self) -> impl Iterator<Item = &Arc<Share>> {
        self.by_id.iter().filter(|(id, share)| **id == share.id).map(|(_, share)| share)
    }

    /// In mountpoint order.
    pub fn all(&self) -> Vec<&Arc<Share>> {
        let mut all: Vec<&Arc<Share>> = self.each().collect();
        all.sort_by(|a, b| a.mountpoint.cmp(&b.mountpoint));
        all
    }

    /// The share with the longest mountpoint that is, or leads to, `path`, and the names that
    /// remain.
    pub fn find(&self, path: &[Vec<u8>]) -> Option<(&Arc<Share>, Vec<Vec<u8>>)> {
        let candidates = self.each().filter_map(|share| {
            let own = components(&share.mountpoint);
            let rest = path.strip_prefix(&own[..])?.to_vec();
            Some((own.len(), share, rest))
        });
        candidates.max_by_key(|(depth, ..)| *depth).map(|(_, share, rest)| (share, rest))
    }

    /// The file system mounted on `name` in `dir`, if there is one.
    pub fn crossing(&self, share: &Share, dir: NodeId, name: &[u8]) -> Option<&Arc<Share>> {
        let (_, id) = share.children.iter().find(|(path, _)| {
            let Some((last, parents)) = path.split_last() else { return false };
            last == name && walk(&*share.fs, parents).is_ok_and(|found| found == dir)
        })?;
        self.by_id.get(id)
    }
}

impl Share {
    pub fn handle(&self, node: NodeId) -> Sealed {
        self.handle_in(self.id, node)
    }

    /// Of another file system of the same pool: a snapshot of this one.
    pub fn handle_in(&self, fs: FsId, node: NodeId) -> Sealed {
        Handle { fs, node }.seal(self.key.as_ref())
    }

    /// What clients know this file system, or a snapshot of it, by.
    pub fn known_as(&self, fs: FsId) -> FsId {
        if fs == self.own.0 { self.id } else { FsId { pool_guid: self.id.pool_guid, ..fs } }
    }
}

/// The names of an absolute path; `.` and doubled slashes mean nothing.
pub fn components(path: &str) -> Vec<Vec<u8>> {
    path.split('/')
        .filter(|part| !part.is_empty() && *part != ".")
        .map(|part| part.as_bytes().to_vec())
        .collect()
}

/// Follows names from the root, as the server itself, within one file system.
pub fn walk(fs: &dyn FileSystem, names: &[Vec<u8>]) -> Result<NodeId, Status> {
    names.iter().try_fold(fs.root(), |dir, name| Ok(fs.lookup(&Cred::root(), dir, name)?.node))
}

/// Follows names as the caller, into snapshots too; gives the file system that the last name is in.
pub fn walk_across(
    fs: &Arc<dyn FileSystem>,
    cred: &Cred,
    names: &[Vec<u8>],
) -> Result<(Arc<dyn FileSystem>, NodeId), Status> {
    let (mut fs, mut node) = (fs.clone(), fs.root());
    for name in names {
        node = fs.lookup(cred, node, name)?.node;
        if let Some(snapshot) = fs.crossing(node)? {
            (node, fs) = (snapshot.root(), snapshot);
        }
    }
    Ok((fs, node))
}

#[cfg(test)]
mod tests;
