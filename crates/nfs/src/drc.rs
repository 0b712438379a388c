//! The duplicate request cache: a client that lost its connection sends its calls again, and a REMOVE that was done
//! must not fail the second time.
//!
//! A call is known by the client's address (not its port, which a new connection changes), transaction id, procedure
//! and a sum over the beginning of its arguments, since clients that restart reuse ids. The first one runs; the same
//! one again gets the same reply; and while the first still runs the second is dropped: the client will ask again.
//! Bounded in number and age; the oldest reply goes first, a running call never.

use std::collections::{HashMap, VecDeque};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sunrpc::msg::Call;

use crate::limits::{DRC_MAX_REPLY, DRC_PER_SHARD, DRC_SECONDS, DRC_SHARDS};

/// As much of the arguments as tells calls apart; the payload of a WRITE is not summed whole.
const SUMMED: usize = 256;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    addr: IpAddr,
    xid: u32,
    procedure: u32,
    sum: u64,
}

impl Key {
    pub fn new(addr: IpAddr, call: &Call<'_>) -> Key {
        let mut hasher = DefaultHasher::new();
        call.args.len().hash(&mut hasher);
        call.args[..call.args.len().min(SUMMED)].hash(&mut hasher);
        Key { addr, xid: call.xid, procedure: call.procedure, sum: hasher.finish() }
    }
}

enum Entry {
    Running,
    Done { reply: Arc<[u8]>, at: u64 },
}

#[derive(Default)]
struct Shard {
    entries: HashMap<Key, Entry>,
    /// Keys by age, oldest first; each key once.
    ages: VecDeque<Key>,
}

/// What to do with a call.
pub enum Verdict {
    /// Run it, then give the reply to the ticket.
    Run(Ticket),
    /// The same call runs right now.
    Drop,
    Replay(Arc<[u8]>),
}

/// The obligation to say how a call ended; dropped without an answer it is as if the call never came.
pub struct Ticket {
    cache: Arc<Cache>,
    key: Key,
    now: u64,
    answered: bool,
}

#[derive(Default)]
pub struct Cache {
    shards: [Mutex<Shard>; DRC_SHARDS],
}

impl Cache {
    fn shard(&self, key: &Key) -> MutexGuard<'_, Shard> {
        let index = (key.sum ^ u64::from(key.xid)) as usize % DRC_SHARDS;
        self.shards[index].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// `now` in seconds of any clock that only goes forward.
    pub fn begin(self: &Arc<Cache>, key: Key, now: u64) -> Verdict {
        let mut shard = self.shard(&key);
        match shard.entries.get(&key) {
            Some(Entry::Running) => return Verdict::Drop,
            Some(Entry::Done { reply, at }) if now.saturating_sub(*at) <= DRC_SECONDS => {
                return Verdict::Replay(reply.clone());
            }
            Some(Entry::Done { .. }) => shard.ages.retain(|other| *other != key),
            None => {}
        }
        shard.make_room();
        shard.entries.insert(key, Entry::Running);
        shard.ages.push_back(key);
        drop(shard);
        Verdict::Run(Ticket { cache: self.clone(), key, now, answered: false })
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().expect("not poisoned").entries.len()).sum()
    }
}

impl Shard {
    /// Running calls are bounded by what connections may have in flight, fewer than a shard holds, so this ends.
    fn make_room(&mut self) {
        for _ in 0..self.ages.len() {
            if self.ages.len() < DRC_PER_SHARD {
                return;
            }
            let Some(oldest) = self.ages.pop_front() else { return };
            if matches!(self.entries.get(&oldest), Some(Entry::Running)) {
                self.ages.push_back(oldest);
            } else {
                self.entries.remove(&oldest);
            }
        }
    }
}

impl Ticket {
    pub fn done(mut self, reply: &[u8]) {
        if reply.len() <= DRC_MAX_REPLY {
            self.answered = true;
            let done = Entry::Done { reply: reply.into(), at: self.now };
            self.cache.shard(&self.key).entries.insert(self.key, done);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.answered {
            let mut shard = self.cache.shard(&self.key);
            shard.entries.remove(&self.key);
            shard.ages.retain(|other| *other != self.key);
        }
    }
}

#[cfg(test)]
mod tests;
