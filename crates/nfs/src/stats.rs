//! Counters, kept by relaxed additions where the work is done.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use sockets::lock;

use crate::limits::COUNTED_CLIENTS;

/// Procedures of NFSv3.
pub const PROCEDURES: usize = 22;

/// What one client did since the server started.
#[derive(Debug, Default)]
pub struct Counters {
    pub(crate) calls: [AtomicU64; PROCEDURES],
    pub(crate) mount_calls: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) replays: AtomicU64,
    pub(crate) bytes_read: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
}

/// A copy of one client's counters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientStats {
    /// `None` for all clients beyond those that are counted one by one.
    pub client: Option<IpAddr>,
    /// Calls by procedure number.
    pub calls: [u64; PROCEDURES],
    pub mount_calls: u64,
    /// Calls that were no proper RPC, unknown, or undecodable.
    pub refused: u64,
    /// Replies repeated from the duplicate request cache.
    pub replays: u64,
    pub bytes_read: u64,
    pub bytes_written: u64,
}

pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

impl Counters {
    fn copy(&self, client: Option<IpAddr>) -> ClientStats {
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        ClientStats {
            client,
            calls: std::array::from_fn(|i| get(&self.calls[i])),
            mount_calls: get(&self.mount_calls),
            refused: get(&self.refused),
            replays: get(&self.replays),
            bytes_read: get(&self.bytes_read),
            bytes_written: get(&self.bytes_written),
        }
    }
}

/// The counters of all clients.
#[derive(Debug, Default)]
pub(crate) struct Stats {
    clients: Mutex<HashMap<IpAddr, Arc<Counters>>>,
    others: Arc<Counters>,
}

impl Stats {
    pub fn of(&self, client: IpAddr) -> Arc<Counters> {
        let mut clients = lock(&self.clients);
        if clients.len() >= COUNTED_CLIENTS && !clients.contains_key(&client) {
            return self.others.clone();
        }
        clients.entry(client).or_default().clone()
    }

    /// By address, the rest at the end.
    pub fn copy(&self) -> Vec<ClientStats> {
        let clients = lock(&self.clients);
        let mut all: Vec<ClientStats> =
            clients.iter().map(|(&addr, counters)| counters.copy(Some(addr))).collect();
        all.sort_by_key(|stats| stats.client);
        let others = self.others.copy(None);
        if others.calls.iter().sum::<u64>() + others.mount_calls + others.refused > 0 {
            all.push(others);
        }
        all
    }
}
