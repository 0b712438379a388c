//! Memory that peers make a server hold, in bytes: requests that arrive, replies that wait to be
//! taken.
//!
//! Whoever holds bytes for a peer has a [`Lease`] for them, and a lease counts thrice: with the
//! peer, with the place that it comes from ([`crate::place`]) and with all of them together. Where
//! one of the three is full, who asks for more waits, in order of arrival; so a peer that is slow
//! slows down itself, and its place.
//!
//! ```text
//!   request arrives ──▶ lease grows with it ──▶ work ──▶ lease is as long as the reply ──▶ shrinks as that is taken
//! ```
//! A stranger, who has not moved much yet, may hold less, all strangers together half of all, and
//! who is known goes before them: so many strangers do not keep those waiting that are being
//! served.
//!
//! Who waits presses: of those that we wait for ourselves, because they take nothing of what lies
//! ready for them or stopped in the middle of what they send, those go first that have let us wait
//! longest. Nobody is cut while there is room.
//!
//! Invariants:
//! - What a peer sends and asks for is held only with a lease, but for a little that each
//!   connection may always hold ([`FLOOR`]): so small requests of those that behave are served
//!   whatever others do.
//! - A request that is larger than half a limit is let in when no more than half of that is held:
//!   nothing waits for ever.
//! - Who holds a part of a request and waits for room for the rest gets it in the end, though there
//!   is none ([`OVERDRAW`]): else many parts could wait for each other.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

use crate::drain::Drain;
use crate::lock::lock;
use crate::place;

/// What a connection may hold whatever all others do.
pub const FLOOR: usize = 16 << 10;
/// The largest request that a server may take: 1 MiB of data, and what goes before it.
pub const LARGEST: usize = (1 << 20) + (4 << 10);
/// A peer holds this much at the most until it has shown that it moves data, and how much that
/// takes: more than systems take for programs that never read. It is enough for one request that
/// arrives and another that is worked on: with less, the rest of a large request would wait for
/// room that its own first part holds, until [`OVERDRAW`].
const AT_FIRST: usize = 2 * LARGEST;
const TRUSTED: usize = 16 << 20;
/// What may wait for a peer that is slow to take it, before more is done for it.
const SLOW: usize = 256 << 10;
/// How long we wait for a peer to take, or to send, anything before others that wait for room may
/// press it.
const PRESSED_TAKING: u64 = 250;
const PRESSED_SENDING: u64 = 1_000;
/// How often who waits looks for somebody to press.
const TICK: Duration = Duration::from_millis(50);
/// After this long the rest of a request is let in though there is no room, one in each tick.
const OVERDRAW: Duration = Duration::from_millis(500);

/// How many bytes may be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub all: usize,
    /// For all peers of one place.
    pub place: usize,
    pub peer: usize,
}

impl Limits {
    /// Of a program that has promised to keep to so many bytes: a quarter of them, which its cache
    /// gives way for, and 32 MiB at the least, for there is no working with less.
    pub fn within(promised: usize) -> Limits {
        let all = (promised / 4).clamp(32 << 20, 1 << 30);
        Limits { all, place: all / 2, peer: (all / 8).min(32 << 20) }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::within(256 << 20)
    }
}

/// One of the three counts: bytes, and who waits for room, in order.
#[derive(Debug, Default)]
struct Level {
    held: AtomicUsize,
    waiting: AtomicUsize,
    queue: Mutex<VecDeque<Arc<Waiter>>>,
    /// When it was looked last who could be pressed.
    pressed: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiter {
    called: Condvar,
    bytes: usize,
    limit: usize,
    is_known: bool,
}

impl Level {
    fn has_room(&self, bytes: usize, limit: usize) -> bool {
        self.held.load(SeqCst) <= limit.saturating_sub(bytes).max(limit / 2)
    }

    fn add(&self, bytes: usize) {
        self.held.fetch_add(bytes, SeqCst);
    }

    /// Adds what there is room for, unless others wait for that: of those who are known, others who
    /// are.
    fn try_enter(&self, bytes: usize, limit: usize, is_known: bool) -> bool {
        let room = limit.saturating_sub(bytes).max(limit / 2);
        let fits = |held: usize| (held <= room).then_some(held + bytes);
        let is_turn = || {
            self.waiting.load(SeqCst) == 0
                || (is_known && !lock(&self.queue).front().is_some_and(|first| first.is_known))
        };
        is_turn() && self.held.fetch_update(SeqCst, SeqCst, fits).is_ok()
    }

    /// Waits for room. `tick` is called now and then, with how long that takes already; it says
    /// whether to go on.
    fn enter(&self, (bytes, limit, is_known): Entry, mut tick: impl FnMut(Duration) -> Tick) -> bool {
        let begun = Instant::now();
        let waiter = Arc::new(Waiter { bytes, limit, is_known, ..Waiter::default() });
        let mut queue = lock(&self.queue);
        self.waiting.fetch_add(1, SeqCst);
        let behind = if is_known { queue.iter().filter(|one| one.is_known).count() } else { queue.len() };
        queue.insert(behind, waiter.clone());
        let entered = loop {
            let is_first = queue.front().is_some_and(|first| Arc::ptr_eq(first, &waiter));
            if is_first && self.has_room(bytes, limit) {
                break true;
            }
            let waited = waiter.called.wait_timeout(queue, TICK).unwrap_or_else(PoisonError::into_inner);
            queue = waited.0;
            if waited.1.timed_out() {
                drop(queue);
                let tick = tick(begun.elapsed());
                queue = lock(&self.queue);
                match tick {
                    Tick::Wait => {}
                    Tick::GoAhead => break true,
                    Tick::GiveUp => break false,
                }
            }
        };
        if entered {
            self.add(bytes);
        }
        queue.retain(|other| !Arc::ptr_eq(other, &waiter));
        self.waiting.fetch_sub(1, SeqCst);
        self.call(&queue);
        entered
    }

    fn leave(&self, bytes: usize) {
        self.held.fetch_sub(bytes, SeqCst);
        if self.waiting.load(SeqCst) > 0 {
            self.call(&lock(&self.queue));
        }
    }

    /// Calls who is next, if there is room.
    fn call(&self, queue: &VecDeque<Arc<Waiter>>) {
        if let Some(first) = queue.front()
            && self.has_room(first.bytes, first.limit)
        {
            first.called.notify_one();
        }
    }
}

/// Bytes, their limit, and whether they are for somebody who is known.
type Entry = (usize, usize, bool);

enum Tick {
    Wait,
    GoAhead,
    GiveUp,
}

/// Which of the counts is full.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Full {
    Peer,
    Place,
    All,
}

/// The memory of all peers, of all servers of a program. See the module.
pub struct Budget {
    limits: Limits,
    all: Level,
    /// Shared with whoever gives way for what is held.
    shown: Arc<AtomicUsize>,
    /// What the system may hold beyond a little of what is written: of what is shown.
    unsent: AtomicUsize,
    places: Mutex<HashMap<IpAddr, Weak<Level>>>,
    peers: Mutex<BTreeMap<u64, Weak<Peer>>>,
    next: AtomicU64,
    start: Instant,
    /// When somebody was let in last though there was no room.
    overdrawn: AtomicU64,
    drain: OnceLock<Arc<Drain>>,
}

impl std::fmt::Debug for Budget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Budget")
            .field("limits", &self.limits)
            .field("held", &self.shown)
            .finish_non_exhaustive()
    }
}

impl Default for Budget {
    fn default() -> Budget {
        Budget::new(Limits::default())
    }
}

impl Budget {
    pub fn new(limits: Limits) -> Budget {
        Budget {
            limits,
            all: Level::default(),
            shown: Arc::default(),
            unsent: AtomicUsize::new(0),
            places: Mutex::default(),
            peers: Mutex::default(),
            next: AtomicU64::new(0),
            start: Instant::now(),
            overdrawn: AtomicU64::new(0),
            drain: OnceLock::new(),
        }
    }

    /// Bytes that are held for all peers, here and by the system, for others to look at whenever
    /// they want.
    pub fn held(&self) -> Arc<AtomicUsize> {
        self.shown.clone()
    }

    /// Counts what the system may hold for somebody, as far as all of it comes to no more than an
    /// eighth of what peers may hold beside it. False: it does not fit.
    pub(crate) fn try_hold_unsent(&self, bytes: usize) -> bool {
        let most = self.limits.all / 8;
        let fits = |held: usize| (held + bytes <= most).then_some(held + bytes);
        let is_room = self.unsent.fetch_update(SeqCst, SeqCst, fits).is_ok();
        if is_room {
            self.shown.fetch_add(bytes, Relaxed);
        }
        is_room
    }

    pub(crate) fn release_unsent(&self, bytes: usize) {
        self.unsent.fetch_sub(bytes, SeqCst);
        self.shown.fetch_sub(bytes, Relaxed);
    }

    /// Another connection. `from`: where from, if it is not of this machine; `shut` ends it, from
    /// any thread.
    pub fn peer(
        self: &Arc<Budget>,
        from: Option<IpAddr>,
        shut: impl Fn() + Send + Sync + 'static,
    ) -> Arc<Peer> {
        let from = from.map(place);
        let place = from.map(|from| {
            let mut places = lock(&self.places);
            places.get(&from).and_then(Weak::upgrade).unwrap_or_else(|| {
                places.retain(|_, level| level.strong_count() > 0);
                let level = Arc::new(Level::default());
                places.insert(from, Arc::downgrade(&level));
                level
            })
        });
        let id = self.next.fetch_add(1, Relaxed);
        let peer = Arc::new(Peer {
            id,
            from,
            place,
            budget: self.clone(),
            own: Level::default(),
            shut: Box::new(shut),
            moved: AtomicUsize::new(0),
            is_slow: AtomicBool::new(false),
            takes: AtomicU64::new(0),
            sends: AtomicU64::new(0),
            heard: AtomicU64::new(self.now()),
            proven: AtomicBool::new(false),
            cut: AtomicBool::new(false),
        });
        lock(&self.peers).insert(id, Arc::downgrade(&peer));
        peer
    }

    /// Milliseconds since some moment, never 0.
    pub(crate) fn now(&self) -> u64 {
        self.start.elapsed().as_millis() as u64 + 1
    }

    pub(crate) fn drain(&self) -> &Arc<Drain> {
        self.drain.get_or_init(Drain::start)
    }

    /// True once in each tick.
    fn is_time(&self, last: &AtomicU64) -> bool {
        let (now, tick) = (self.now(), TICK.as_millis() as u64);
        let due = |last: u64| (now >= last + tick).then_some(now);
        last.fetch_update(SeqCst, SeqCst, due).is_ok()
    }

    /// Cuts who lets us wait, longest first, until so many bytes come back, or a quarter of all:
    /// anybody where all is full, those of a place where that is. A peer that holds too much itself
    /// waits for itself.
    fn press(&self, by: &Peer, (level, full): (&Level, Full), wanted: usize) {
        if full == Full::Peer || !self.is_time(&level.pressed) {
            return;
        }
        let peers: Vec<Arc<Peer>> = lock(&self.peers).values().filter_map(Weak::upgrade).collect();
        let is_near = |peer: &Arc<Peer>| full == Full::All || peer.from == by.from;
        let holds = |peer: &Arc<Peer>| peer.held() > 0 && !peer.is_cut() && is_near(peer);
        let late = |peer: Arc<Peer>| peer.late(self.now()).map(|late| (late, peer));
        let mut late: Vec<(u64, Arc<Peer>)> = peers.into_iter().filter(holds).filter_map(late).collect();
        late.sort_by_key(|(late, _)| std::cmp::Reverse(*late));
        // As many will want more.
        let (wanted, mut freed) = (wanted.max(self.limits.all / 4), 0);
        for (late, peer) in late {
            if freed >= wanted {
                break;
            }
            freed += peer.held();
            tracing::info!(from = ?peer.from, held = peer.held(), late, "cut off: others wait for its memory");
            peer.cut();
        }
    }
}

/// One connection, as its server sees it.
pub struct Peer {
    id: u64,
    from: Option<IpAddr>,
    place: Option<Arc<Level>>,
    budget: Arc<Budget>,
    own: Level,
    shut: Box<dyn Fn() + Send + Sync>,
    /// Bytes that it took, and sent.
    moved: AtomicUsize,
    /// It does not take what lies ready as fast as that is made.
    is_slow: AtomicBool,
    /// Since when we wait for it to take, and to send, anything; 0: we do not.
    takes: AtomicU64,
    sends: AtomicU64,
    heard: AtomicU64,
    /// It has said something that makes sense.
    proven: AtomicBool,
    cut: AtomicBool,
}

impl Peer {
    /// Later ones have larger numbers.
    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    /// Where it comes from, if not from this machine.
    pub fn from(&self) -> Option<IpAddr> {
        self.from
    }

    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Bytes that are held for it.
    pub fn held(&self) -> usize {
        self.own.held.load(Relaxed)
    }

    /// Ends the connection.
    pub fn cut(&self) {
        self.cut.store(true, SeqCst);
        (self.shut)();
    }

    pub fn is_cut(&self) -> bool {
        self.cut.load(SeqCst)
    }

    /// Something was heard of it.
    pub fn note_heard(&self) {
        self.heard.store(self.budget.now(), Relaxed);
    }

    /// What was heard makes sense: it is not silent, and not a stranger any more.
    pub fn prove(&self) {
        if !self.proven.load(Relaxed) {
            self.proven.store(true, Relaxed);
        }
    }

    pub fn is_proven(&self) -> bool {
        self.proven.load(Relaxed)
    }

    /// How long nothing was heard of it.
    pub fn silence(&self) -> Duration {
        Duration::from_millis(self.budget.now().saturating_sub(self.heard.load(Relaxed)))
    }

    /// We wait for the rest of what it sends: from now on, or, again, from now on; or not any more.
    pub fn note_sending(&self, is: bool) {
        self.sends.store(if is { self.budget.now() } else { 0 }, Relaxed);
    }

    /// As [`Peer::note_sending`], for what it is to take.
    pub(crate) fn note_taking(&self, is: bool) {
        self.is_slow.store(is, Relaxed);
        self.takes.store(if is { self.budget.now() } else { 0 }, Relaxed);
    }

    /// It took so much, or sent it to the end.
    pub fn note_moved(&self, bytes: usize) {
        if self.moved.load(Relaxed) < TRUSTED {
            self.moved.fetch_add(bytes, Relaxed);
        }
    }

    /// How long it lets us wait, in milliseconds, if that is too long while others wait.
    fn late(&self, now: u64) -> Option<u64> {
        let since = |at: &AtomicU64, limit: u64| {
            let at = at.load(Relaxed);
            let age = now.saturating_sub(at);
            (at > 0 && age >= limit).then_some(age)
        };
        since(&self.takes, PRESSED_TAKING).max(since(&self.sends, PRESSED_SENDING))
    }

    fn limit(&self) -> usize {
        match (self.is_slow.load(Relaxed), self.is_known()) {
            (true, _) => SLOW,
            (false, false) => AT_FIRST.min(self.budget.limits.peer),
            (false, true) => self.budget.limits.peer,
        }
    }

    /// It has moved so much that it is no stranger.
    pub(crate) fn is_known(&self) -> bool {
        self.moved.load(Relaxed) >= TRUSTED
    }

    /// With each count, its limit, and which it is: in the order in which they are entered.
    fn levels(&self) -> impl Iterator<Item = (&Level, usize, Full)> {
        let limits = &self.budget.limits;
        let place = self.place.iter().map(|place| (&**place, limits.place, Full::Place));
        let own = std::iter::once((&self.own, self.limit(), Full::Peer));
        let all = if self.is_known() { limits.all } else { limits.all / 2 };
        own.chain(place).chain(std::iter::once((&self.budget.all, all, Full::All)))
    }

    fn add(&self, bytes: usize) {
        self.levels().for_each(|(level, ..)| level.add(bytes));
        self.budget.shown.fetch_add(bytes, Relaxed);
    }

    fn leave(&self, bytes: usize) {
        self.levels().for_each(|(level, ..)| level.leave(bytes));
        self.budget.shown.fetch_sub(bytes, Relaxed);
    }

    fn try_enter(&self, bytes: usize) -> bool {
        if self.held() + bytes <= FLOOR {
            self.add(bytes);
            return true;
        }
        for (place, (level, limit, _)) in self.levels().enumerate() {
            if !level.try_enter(bytes, limit, self.is_known()) {
                self.levels().take(place).for_each(|(level, ..)| level.leave(bytes));
                return false;
            }
        }
        self.budget.shown.fetch_add(bytes, Relaxed);
        true
    }

    /// Waits for room. False: it was cut.
    fn enter(&self, bytes: usize, goes_on: bool) -> bool {
        if self.try_enter(bytes) {
            return true;
        }
        for (place, (level, limit, full)) in self.levels().enumerate() {
            let tick = |waited: Duration| {
                if self.is_cut() {
                    return Tick::GiveUp;
                }
                if goes_on && waited >= OVERDRAW && self.budget.is_time(&self.budget.overdrawn) {
                    return Tick::GoAhead;
                }
                self.budget.press(self, (level, full), bytes);
                Tick::Wait
            };
            let is_known = self.is_known();
            if !level.try_enter(bytes, limit, is_known) && !level.enter((bytes, limit, is_known), tick) {
                self.levels().take(place).for_each(|(level, ..)| level.leave(bytes));
                return false;
            }
        }
        self.budget.shown.fetch_add(bytes, Relaxed);
        true
    }

    /// A lease for so many bytes, if there is room at once.
    pub fn try_take(self: &Arc<Peer>, bytes: usize) -> Option<Lease> {
        self.try_enter(bytes).then(|| Lease { peer: self.clone(), bytes })
    }

    /// A lease for so many bytes; waits for room. `None`: the connection was cut.
    pub fn take(self: &Arc<Peer>, bytes: usize) -> Option<Lease> {
        self.enter(bytes, false).then(|| Lease { peer: self.clone(), bytes })
    }

    /// A lease that is there, or a new one, is for so many bytes at the least, if there is room at
    /// once.
    pub fn try_lease(self: &Arc<Peer>, lease: &mut Option<Lease>, bytes: usize) -> bool {
        if let Some(lease) = lease {
            return lease.try_grow(bytes);
        }
        *lease = self.try_take(bytes);
        lease.is_some()
    }

    /// As [`Peer::try_lease`], and waits for room. `goes_on`: it is for a part of what is held
    /// already in parts. False: the connection was cut.
    pub fn lease(self: &Arc<Peer>, lease: &mut Option<Lease>, bytes: usize, goes_on: bool) -> bool {
        lease.get_or_insert_with(|| self.charge(0)).grow_part(bytes, goes_on)
    }

    /// A lease for what is held already: no room is asked for.
    pub fn charge(self: &Arc<Peer>, bytes: usize) -> Lease {
        self.add(bytes);
        Lease { peer: self.clone(), bytes }
    }
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Peer").field("from", &self.from).field("held", &self.held()).finish_non_exhaustive()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        lock(&self.budget.peers).remove(&self.id);
    }
}

/// Bytes that are held for a peer, counted until this is dropped.
pub struct Lease {
    peer: Arc<Peer>,
    bytes: usize,
}

impl std::fmt::Debug for Lease {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Lease({})", self.bytes)
    }
}

impl Lease {
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// As much as that, at the least; waits for room. False: the connection was cut.
    #[must_use]
    pub fn grow(&mut self, bytes: usize) -> bool {
        self.grow_part(bytes, false)
    }

    fn grow_part(&mut self, bytes: usize, goes_on: bool) -> bool {
        let goes_on = goes_on || self.bytes > 0;
        self.grow_by(bytes, |peer, more| peer.enter(more, goes_on))
    }

    /// As [`Lease::grow`], if there is room at once.
    #[must_use]
    pub fn try_grow(&mut self, bytes: usize) -> bool {
        self.grow_by(bytes, Peer::try_enter)
    }

    fn grow_by(&mut self, bytes: usize, enter: impl FnOnce(&Peer, usize) -> bool) -> bool {
        let more = bytes.saturating_sub(self.bytes);
        let is_there = more == 0 || enter(&self.peer, more);
        self.bytes += if is_there { more } else { 0 };
        is_there
    }

    /// Exactly so many, which are what is held now: no room is asked for.
    pub fn resize(&mut self, bytes: usize) {
        match bytes.checked_sub(self.bytes) {
            Some(0) => {}
            Some(more) => self.peer.add(more),
            None => self.peer.leave(self.bytes - bytes),
        }
        self.bytes = bytes;
    }

    /// Both in one. They are the same peer's.
    pub fn absorb(&mut self, mut other: Lease) {
        debug_assert!(Arc::ptr_eq(&self.peer, &other.peer), "leases of two peers");
        self.bytes += std::mem::take(&mut other.bytes);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.peer.leave(self.bytes);
        }
    }
}

#[cfg(test)]
mod tests;
