//! The duplicate request cache: a client that lost its connection sends its calls again, and a
//! REMOVE that was done must not fail the second time.
//!
//! A call is known by the client's address (not its port, which a new connection changes), its
//! credential, transaction id, program, procedure, and a sum over all of its arguments, since
//! clients that restart reuse ids. The first one runs; the same one again gets the same reply; and
//! while the first still runs the second is dropped: the client will ask again.
//!
//! Invariants:
//! - Nobody gets the reply to another one's call: credentials are compared, not summed.
//! - Memory is bounded twice: what one client keeps, and what all keep. A client at its bound
//!   forgets its own oldest reply; at the bound of all, the client that keeps most does. So no
//!   number of calls costs others their replies.
//! - A running call is never forgotten, and does not count: connections bound how many there are.
//!
//! What this keeps dies with the program. The engine keeps the answers to calls that have changed
//! something for the next one ([`id`]), and knows there which of the changes are in the pool.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::hash::{BuildHasher, Hash, Hasher};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use foldhash::quality::FixedState;
use sockets::lock;
use stdx::call::CallId;
use sunrpc::msg::{Call, Credential};

use crate::limits::{DRC_BYTES, DRC_BYTES_CLIENT, DRC_MAX_REPLY, DRC_SECONDS};

/// Memory of an entry besides its reply: its key, twice, and what tables and allocations take
/// besides.
const ENTRY_BYTES: usize = 2 * size_of::<Key>() + size_of::<Entry>() + 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key {
    /// The client as it is counted.
    client: IpAddr,
    addr: IpAddr,
    credential: Credential,
    xid: u32,
    program: u32,
    version: u32,
    procedure: u32,
    len: usize,
    sum: u64,
}

impl Key {
    pub fn new(addr: IpAddr, call: &Call<'_>) -> Key {
        Key {
            client: sockets::place(addr),
            addr,
            credential: call.credential,
            xid: call.xid,
            program: call.program,
            version: call.version,
            procedure: call.procedure,
            len: call.args.len(),
            sum: sum(call.args),
        }
    }
}

/// The call for the next program: nobody can make another one with the same digest.
pub fn id(addr: IpAddr, call: &Call<'_>) -> CallId {
    let mut all = blake3::Hasher::new();
    let mut word = |word: u32| {
        all.update(&word.to_be_bytes());
    };
    [call.xid, call.program, call.version, call.procedure].into_iter().for_each(&mut word);
    match &call.credential {
        Credential::None => word(0),
        Credential::Sys(sys) => {
            [1, sys.uid, sys.gid, sys.gids().len() as u32].into_iter().for_each(&mut word);
            sys.gids().iter().copied().for_each(&mut word);
        }
    }
    match addr {
        IpAddr::V4(addr) => all.update(&[4]).update(&addr.octets()),
        IpAddr::V6(addr) => all.update(&[6]).update(&addr.octets()),
    };
    all.update(call.args);
    let place = FixedState::default().hash_one(sockets::place(addr));
    CallId { place, digest: *all.finalize().as_bytes() }
}

/// Who sends arguments of one sum twice, with all else alike, cheats nobody but himself.
fn sum(args: &[u8]) -> u64 {
    let mut hasher = FixedState::default().build_hasher();
    hasher.write(args);
    hasher.finish()
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u32(self.xid);
        state.write_u64(self.sum);
    }
}

enum Entry {
    Running,
    Done { reply: Arc<[u8]>, at: u64 },
}

/// What is remembered for one client.
#[derive(Default)]
struct Client {
    entries: HashMap<Key, Entry>,
    /// Keys of what is done, oldest first; each key once.
    done: VecDeque<Key>,
    /// Of what is done.
    bytes: usize,
}

#[derive(Default)]
struct State {
    clients: HashMap<IpAddr, Client>,
    /// All clients by their bytes.
    by_bytes: BTreeSet<(usize, IpAddr)>,
    /// Of all clients.
    bytes: usize,
}

/// What to do with a call.
pub enum Verdict {
    /// Run it, then give the reply to the ticket.
    Run(Ticket),
    /// The same call runs right now.
    Drop,
    Replay(Arc<[u8]>),
}

/// The obligation to say how a call ended; dropped without an answer it is as if the call never
/// came.
pub struct Ticket {
    cache: Arc<Cache>,
    key: Box<Key>,
    now: u64,
    answered: bool,
}

#[derive(Default)]
pub struct Cache {
    state: Mutex<State>,
}

impl Cache {
    /// `now` in seconds of any clock that only goes forward.
    pub fn begin(self: &Arc<Cache>, key: Key, now: u64) -> Verdict {
        let mut state = lock(&self.state);
        let verdict = state.with(key.client, |client| {
            match client.entries.get(&key) {
                Some(Entry::Running) => return Some(Verdict::Drop),
                Some(Entry::Done { reply, at }) if now.saturating_sub(*at) <= DRC_SECONDS => {
                    return Some(Verdict::Replay(reply.clone()));
                }
                Some(Entry::Done { .. }) => client.forget(&key),
                None => {}
            }
            client.entries.insert(key, Entry::Running);
            None
        });
        drop(state);
        verdict.unwrap_or_else(|| {
            Verdict::Run(Ticket { cache: self.clone(), key: Box::new(key), now, answered: false })
        })
    }

    #[cfg(test)]
    fn bytes(&self) -> usize {
        lock(&self.state).bytes
    }
}

fn bytes(reply: &[u8]) -> usize {
    ENTRY_BYTES + reply.len()
}

impl Client {
    fn remember(&mut self, key: Key, reply: Arc<[u8]>, at: u64) {
        self.bytes += bytes(&reply);
        self.entries.insert(key, Entry::Done { reply, at });
        self.done.push_back(key);
        while self.bytes > DRC_BYTES_CLIENT {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(key) = self.done.pop_front() {
            self.take(&key);
        }
    }

    fn forget(&mut self, key: &Key) {
        self.done.retain(|other| other != key);
        self.take(key);
    }

    fn take(&mut self, key: &Key) {
        if let Some(Entry::Done { reply, .. }) = self.entries.remove(key) {
            self.bytes -= bytes(&reply);
        }
    }
}

impl State {
    /// Works on one client, and counts it anew.
    fn with<T>(&mut self, name: IpAddr, work: impl FnOnce(&mut Client) -> T) -> T {
        let client = self.clients.entry(name).or_default();
        let before = client.bytes;
        let result = work(client);
        let (now, empty) = (client.bytes, client.entries.is_empty());
        if empty {
            self.clients.remove(&name);
        }
        if now != before {
            self.by_bytes.remove(&(before, name));
            if now > 0 {
                self.by_bytes.insert((now, name));
            }
            self.bytes = self.bytes + now - before;
        }
        result
    }

    fn make_room(&mut self) {
        while self.bytes > DRC_BYTES {
            let Some(&(_, fattest)) = self.by_bytes.last() else { return };
            self.with(fattest, Client::forget_oldest);
        }
    }
}

impl Ticket {
    pub fn done(mut self, reply: &[u8]) {
        if reply.len() <= DRC_MAX_REPLY {
            self.answered = true;
            let mut state = lock(&self.cache.state);
            state.with(self.key.client, |client| client.remember(*self.key, reply.into(), self.now));
            state.make_room();
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.answered {
            let forget = |client: &mut Client| client.entries.remove(&self.key);
            lock(&self.cache.state).with(self.key.client, forget);
        }
    }
}

#[cfg(test)]
mod tests;
