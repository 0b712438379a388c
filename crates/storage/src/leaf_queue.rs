//! The queue of one disk: which I/O is next, and who carries it there.
//!
//! **Order.** Every I/O has a class. A class has a guaranteed number of I/Os on the disk (min) and
//! a limit (max). The next I/O comes from the first class, in order of priority, that waits and is
//! below its min; if all are served, from the first below its max. So a flood of background writes
//! leaves room for a reader at once, and readers cannot starve the transaction group
//! (`vdev_queue.c`). While callers wait for writes to be durable, and for a moment after,
//! write-behind keeps to its min: a flood of it on the disk is what their writes would wait for,
//! and their flushes. Within a class the disk is swept in one direction; neighbours of the same
//! kind are joined up to [`AGGREGATE`] bytes.
//!
//! **Who.** Disks take batches and answer them whole, so overlap comes from several carriers: any
//! thread may take a *burst* (up to half of its class's limit), submit it without holding the lock,
//! and hand out the answers. Carriers are
//! - the caller itself: a read that finds its disk idle is on the disk without a change of thread;
//! - the disk's [`WORKERS`], woken for what the caller does not carry: the other sides of a mirror,
//!   and write-behind, where the caller goes on computing.
//!
//! A caller carries only its own class, and waits for the rest. Whoever takes a burst and leaves
//! work behind wakes a worker, so nothing waits without a carrier. In a simulation there is one
//! thread and there are no workers: nobody else can be on the disk, so a caller that waits has
//! carried all of its own before, and a step never has to wait.
//!
//! Two I/Os that overlap must not be in the queue together; allocation sees to that.

mod burst;
pub mod shared_flush;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use env::{AlignedBuf, Clock, Disk, DiskError, Env, IoClass, Nanos, Next, Worker, WorkerHandle, lock};
use std::sync::atomic::Ordering::Relaxed;
use stdx::trail;

use crate::Payload;
use crate::counters::Counters;
use crate::counters::tally::KINDS;
use burst::Burst;

/// Threads a disk.
pub const WORKERS: usize = 2;
/// Most bytes of an I/O made of neighbours.
pub const AGGREGATE: usize = 1 << 20;
/// Neighbours are joined below this size; larger ones go side by side in one burst. What is read
/// has to be copied to its readers, which does not pay above; written together, from where they
/// lie, larger ones were no quicker.
const JOINED_BELOW: usize = 64 << 10;

/// How long after the last synchronous write write-behind keeps to its min: longer than such a
/// writer thinks.
const CALM: Nanos = Nanos::from_millis(5);

/// (min, max) on the disk, by class in order of priority: sync read and write, async read and
/// write, scrub, trim.
const LIMITS: [(usize, usize); CLASSES] = [(10, 32), (10, 32), (1, 8), (4, 32), (1, 4), (1, 2)];
const CLASSES: usize = KINDS;
const CLASS_NAMES: [&str; CLASSES] =
    ["synchronous read", "synchronous write", "read", "write", "scrub", "trim"];

/// Where a class is in [`crate::counters::tally`].
pub(crate) const fn index(class: IoClass) -> usize {
    match class {
        IoClass::SyncRead => 0,
        IoClass::SyncWrite => 1,
        IoClass::AsyncRead => 2,
        IoClass::AsyncWrite => 3,
        IoClass::Scrub => 4,
        IoClass::Trim => 5,
    }
}

/// What to transfer.
pub enum Transfer {
    /// Fill so many bytes.
    Read(usize),
    Write(Payload),
}

impl Transfer {
    pub(crate) fn len(&self) -> usize {
        match self {
            Transfer::Read(len) => *len,
            Transfer::Write(payload) => payload.len(),
        }
    }

    pub(crate) fn is_write(&self) -> bool {
        matches!(self, Transfer::Write(_))
    }

    fn payload(&self) -> Option<&[u8]> {
        match self {
            Transfer::Read(_) => None,
            Transfer::Write(payload) => Some(payload.bytes()),
        }
    }

    fn joins(&self, other: &Transfer) -> bool {
        self.is_write() == other.is_write() && self.len().max(other.len()) < JOINED_BELOW
    }
}

/// What comes back: the bytes of a read.
pub type Answer = Result<Option<AlignedBuf>, DiskError>;

/// The answers to a set of I/Os, perhaps on several disks, that one caller waits for together.
pub struct Completion {
    state: Mutex<Answers>,
    changed: Condvar,
}

struct Answers {
    left: usize,
    /// Which was answered last.
    last: usize,
    /// Somebody panicked who carried one of them.
    is_broken: bool,
    slots: Vec<Option<Answer>>,
}

impl Completion {
    /// For `count` I/Os.
    pub fn new(count: usize) -> Arc<Completion> {
        let slots = (0..count).map(|_| None).collect();
        Arc::new(Completion {
            state: Mutex::new(Answers { left: count, last: 0, is_broken: false, slots }),
            changed: Condvar::new(),
        })
    }

    /// Gives the answer to the `slot`-th.
    pub fn finish(&self, slot: usize, answer: Answer) {
        let mut state = lock(&self.state);
        assert!(state.slots[slot].replace(answer).is_none(), "an I/O is answered once");
        state.left -= 1;
        state.last = slot;
        if state.left == 0 {
            self.changed.notify_all();
        }
    }

    /// One of them will have no answer: who carried it panicked, and so does whoever waits.
    fn break_off(&self) {
        let mut state = lock(&self.state);
        state.is_broken = true;
        state.left -= 1;
        if state.left == 0 {
            self.changed.notify_all();
        }
    }

    fn is_done(&self) -> bool {
        lock(&self.state).left == 0
    }

    /// As [`Completion::wait`]. Where somebody looks at what this thread does, it is noted that it
    /// waited for the leaf vdev that answered last, of which `guid` says the guid.
    pub fn wait_for_leaves(
        &self,
        env: &Env,
        queues: &[Arc<LeafQueue>],
        class: IoClass,
        guid: impl Fn(usize) -> Option<u64>,
    ) -> Vec<Answer> {
        if !trail::is_followed() {
            return self.wait(env, queues, class);
        }
        let begun = env.clock.now();
        let answers = self.wait(env, queues, class);
        let last = lock(&self.state).last;
        if let Some(guid) = guid(last) {
            trail::waited_for(guid, env.clock.now().since(begun).0);
        }
        answers
    }

    /// Waits for the last answer. Carries what waits in `queues` for `class` meanwhile.
    pub fn wait(&self, env: &Env, queues: &[Arc<LeafQueue>], class: IoClass) -> Vec<Answer> {
        for queue in queues {
            while !self.is_done() && queue.carry(Some(class)) {}
        }
        let state = lock(&self.state);
        let mut state = env.wait(&self.state, state, &self.changed, &mut |state| state.left == 0);
        if state.is_broken {
            drop(state);
            panic!("who carried an I/O to its disk has panicked");
        }
        std::mem::take(&mut state.slots).into_iter().map(|slot| slot.expect("all are answered")).collect()
    }
}

/// One I/O in the queue.
pub struct Request {
    /// On the device.
    pub offset: u64,
    pub transfer: Transfer,
    pub class: IoClass,
    pub completion: Arc<Completion>,
    /// Which of the completion's answers it gives.
    pub slot: usize,
    /// When it came; the queue notes it.
    pub since: Nanos,
}

/// See the module.
pub struct LeafQueue {
    disk: Arc<dyn Disk>,
    clock: Arc<dyn Clock>,
    counters: Arc<Counters>,
    state: Mutex<Lanes>,
    workers: OnceLock<Vec<WorkerHandle>>,
}

#[derive(Default)]
struct Lanes {
    lanes: [Lane; CLASSES],
    /// Bursts on the disk, by number.
    carried: BTreeMap<u64, Carried>,
    last: u64,
    /// When a synchronous write was here last.
    urgent: Option<Nanos>,
}

/// A burst on the disk.
struct Carried {
    class: usize,
    since: Nanos,
    is_told: bool,
}

/// The waiting I/Os of one class by offset; a number makes equal offsets distinct.
#[derive(Default)]
struct Lane {
    waiting: BTreeMap<(u64, u64), Request>,
    next: u64,
    active: usize,
    /// Where the sweep is.
    at: u64,
}

impl LeafQueue {
    pub fn new(disk: Arc<dyn Disk>, clock: Arc<dyn Clock>, counters: Arc<Counters>) -> LeafQueue {
        LeafQueue { disk, clock, counters, state: Mutex::default(), workers: OnceLock::new() }
    }

    /// Adds I/Os; nobody carries them yet: see [`LeafQueue::wake`] and [`LeafQueue::carry`].
    pub fn push(&self, requests: Vec<Request>) {
        self.counters.pending.fetch_add(requests.len() as u64, Relaxed);
        let now = self.clock.now();
        let mut state = lock(&self.state);
        for request in requests {
            let request = Request { since: now, ..request };
            if request.class == IoClass::SyncWrite {
                state.urgent = Some(now);
            }
            let lane = &mut state.lanes[index(request.class)];
            lane.next += 1;
            lane.waiting.insert((request.offset, lane.next), request);
        }
    }

    /// I/Os that wait, and I/Os on the disk, by class.
    pub fn depths(&self) -> ([u64; CLASSES], [u64; CLASSES]) {
        let state = lock(&self.state);
        let lanes = state.lanes.each_ref();
        (lanes.map(|lane| lane.waiting.len() as u64), lanes.map(|lane| lane.active as u64))
    }

    /// What has been on the disk for `limit` or longer and was not told before, and since when.
    pub fn overdue(&self, now: Nanos, limit: Nanos) -> Option<(&'static str, Nanos)> {
        let mut state = lock(&self.state);
        let mut late = state.carried.values_mut().filter(|it| !it.is_told && now.since(it.since) >= limit);
        let first = late.next()?;
        first.is_told = true;
        Some((CLASS_NAMES[first.class], first.since))
    }

    /// Whether a reader or writer, not only background work, has something here.
    pub fn is_wanted(&self) -> bool {
        let wanted = |lane: &Lane| !lane.waiting.is_empty() || lane.active > 0;
        lock(&self.state).lanes[..index(IoClass::AsyncWrite)].iter().any(wanted)
    }

    /// Lets the workers carry.
    pub fn wake(&self) {
        for worker in self.workers.get().into_iter().flatten() {
            worker.wake();
        }
    }

    /// Takes one burst to the disk, of `only` this class if given. False if there is none to take.
    pub fn carry(&self, only: Option<IoClass>) -> bool {
        let (number, mut burst, more) = {
            let now = self.clock.now();
            let mut state = lock(&self.state);
            let Some(class) = state.choose(only.map(index), now) else { return false };
            let burst = state.take_burst(class, now);
            (state.set_out(class, now), burst, state.choose(None, now).is_some())
        };
        if more && only.is_some() {
            self.wake();
        }
        let submitted = catch_unwind(AssertUnwindSafe(|| {
            burst.submit(&*self.disk, &*self.clock, &self.counters);
        }));
        let left = {
            let mut state = lock(&self.state);
            state.carried.remove(&number);
            state.lanes[burst.class].active -= burst.len();
            state.lanes.iter().any(|lane| !lane.waiting.is_empty())
        };
        self.counters.pending.fetch_sub(burst.requests() as u64, Relaxed);
        if let Err(panic) = submitted {
            burst.break_off();
            resume_unwind(panic);
        }
        burst.answer();
        if left && only.is_some() {
            self.wake();
        }
        true
    }
}

impl Lanes {
    /// A burst goes to the disk; its number.
    fn set_out(&mut self, class: usize, now: Nanos) -> u64 {
        self.last += 1;
        self.carried.insert(self.last, Carried { class, since: now, is_told: false });
        self.last
    }

    /// The class to serve next; see the module.
    fn choose(&self, only: Option<usize>, now: Nanos) -> Option<usize> {
        let below = |limit: &dyn Fn(usize) -> usize| {
            let ready = |&class: &usize| {
                !self.lanes[class].waiting.is_empty() && self.lanes[class].active < limit(class)
            };
            match only {
                Some(class) => Some(class).filter(ready),
                None => (0..CLASSES).find(ready),
            }
        };
        below(&|class| LIMITS[class].0).or_else(|| below(&|class| self.most(class, now)))
    }

    /// I/Os of a class that may be on the disk now.
    fn most(&self, class: usize, now: Nanos) -> usize {
        let (min, max) = LIMITS[class];
        let is_calm = self.urgent.is_none_or(|urgent| now.since(urgent) > CALM);
        if class == index(IoClass::AsyncWrite) && !is_calm { min } else { max }
    }

    /// Takes up to half of what the class may have, so that a second carrier keeps the disk busy
    /// meanwhile.
    fn take_burst(&mut self, class: usize, now: Nanos) -> Burst {
        let most = self.most(class, now);
        let lane = &mut self.lanes[class];
        let room = most.saturating_sub(lane.active).min((most / 2).max(1));
        let mut burst = Burst::new(class);
        while burst.len() < room {
            let Some(group) = lane.take_group() else { break };
            burst.push(group);
        }
        lane.active += burst.len();
        burst
    }
}

impl Lane {
    /// The next I/O of the sweep and the neighbours that can go with it.
    fn take_group(&mut self) -> Option<Vec<Request>> {
        let key = self.waiting.range((self.at, 0)..).next().or_else(|| self.waiting.iter().next());
        let mut key = *key?.0;
        let mut group: Vec<Request> = Vec::new();
        let mut bytes = 0;
        while let Some(request) = self.waiting.remove(&key) {
            bytes += request.transfer.len();
            self.at = request.offset + request.transfer.len() as u64;
            group.push(request);
            let first = &group[0].transfer;
            let next = self.waiting.range((self.at, 0)..).next();
            match next {
                Some((&next, request))
                    if next.0 == self.at
                        && first.joins(&request.transfer)
                        && bytes + request.transfer.len() <= AGGREGATE =>
                {
                    key = next;
                }
                _ => break,
            }
        }
        Some(group)
    }
}

/// A disk's threads. Stops them on drop.
pub struct Workers(Arc<LeafQueue>);

impl Workers {
    pub fn spawn(env: &Env, queue: &Arc<LeafQueue>) -> Workers {
        let spawn = |_| env.driver.spawn(Box::new(Carrier(queue.clone())));
        let count = if env.driver.is_cooperative() { 0 } else { WORKERS };
        let handles = (0..count).map(spawn).collect();
        assert!(queue.workers.set(handles).is_ok(), "a queue gets its workers once");
        Workers(queue.clone())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        for worker in self.0.workers.get().into_iter().flatten() {
            worker.stop_and_join();
        }
    }
}

struct Carrier(Arc<LeafQueue>);

impl Worker for Carrier {
    fn name(&self) -> &'static str {
        "leaf"
    }

    fn step(&mut self, _now: Nanos) -> Next {
        // What it carried is broken off then, and whoever waits for it knows: the disk is not the
        // one to suffer.
        let carried = catch_unwind(AssertUnwindSafe(|| self.0.carry(None))).unwrap_or(true);
        if carried { Next::Again } else { Next::WaitForWork }
    }
}

#[cfg(test)]
mod tests;
