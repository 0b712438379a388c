//! The threads that serve all mounts.
//!
//! ```text
//!             epoll: it has a request                  nobody came for a while
//!   waiting ───────────────────────────▶ attending ───────────────────────────▶ waiting
//!   at the epoll for all mounts          one mount: read(2), serve, read(2), …
//! ```
//! Where nobody does anything, one epoll tells of the first request. From then on threads attend to
//! the mount: they block in read(2), where the kernel wakes one for each request, and nothing but
//! that and the answer is a system call. Whoever reads a request and leaves few behind who read the
//! next has the epoll tell of that: so other threads come where there is work, and a request that
//! waits (an fsync, a pool that is suspended) holds a thread and nothing else. Who has read nothing
//! for a while is called back by a signal ([`recall`]), and goes back to the epoll.
//!
//! One client alone keeps [`AT_HAND`] readers, not one: the kernel wakes them in turn, and wakes
//! one that has slept for some time beside the client, on the client's processor. With few it wakes
//! another processor for each request, which takes as long as all the rest.
//!
//! Of a mount with rings ([`crate::rings`]) only what the kernel forgets comes through its device:
//! one thread reads that now and then, while there is some.
//!
//! What is short, nearly all, is copied out of its buffer, and the buffer goes back before the
//! request is served: only writes keep theirs.
//!
//! Bounds: [`THREADS`] threads, of which about [`READERS`] read at a time, with a buffer each; of
//! these one mount has at most [`IN_HAND`] requests being served, and [`LARGE`] writes with a
//! buffer: a mount whose pool is stuck leaves the rest to the others. What comes beyond waits in
//! the kernel. A mount where nobody does anything holds none of them.
//!
//! Invariant: of a mount that is served, somebody reads, or the epoll is told, or it has its share
//! in hand.

use crate::buffers::{Buffer, Buffers};
use crate::channel::Channel;
use crate::device::{Device, Received};
use crate::lock::lock;
use crate::notifier::Crowd;
use crate::recall::{self, Thread};
use crate::rings::{self, Attended, Rings};
use crate::room::{Limits, Room};
use crate::stats::Requests;
use analytics::Observer;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

pub const THREADS: usize = 512;
pub const READERS: usize = 32;
pub const AT_HAND: usize = 16;
pub const IN_HAND: usize = 256;
pub const LARGE: usize = 8;

/// Requests up to this are copied, bytes: names, attributes, small writes.
const SHORT: usize = 8192;
/// How long a thread waits for work before it goes, a mount is not used before nobody reads there,
/// and how many threads stay.
const IDLE: Duration = Duration::from_secs(1);
const STAY: usize = 2;
/// How long it is left alone what does not come through rings.
const COLLECT: Duration = Duration::from_millis(10);
/// How often the threads of a mount that is gone are called back, and how long it takes between.
const CALLS: u32 = 50;
const BETWEEN: Duration = Duration::from_millis(1);

/// What is behind a mount. Dropped when it is unmounted and nothing is being served any more.
pub trait Serve: Send + Sync + 'static {
    fn device(&self) -> &Device;

    /// Serve one request and answer it; false where the kernel says good-bye.
    fn serve(&self, to: &dyn Channel, request: &[u8]) -> bool;
}

/// Who is told of each mount that has ended.
pub type Told = Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>;

/// See the module. Cheap to clone; its threads go when nothing is mounted.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    epoll: Epoll,
    next: AtomicU64,
    mounts: Mutex<HashMap<u64, Arc<Served>>>,
    threads: AtomicUsize,
    /// At the epoll.
    waiting: AtomicUsize,
    /// In read(2), of all mounts.
    readers: AtomicUsize,
    buffers: Buffers,
    room: Arc<Room>,
    crowd: Arc<Crowd>,
    rings: rings::Budget,
    requests: Arc<Requests>,
    observer: Arc<Observer>,
    told: Told,
    /// When it was last looked who has too many readers.
    looked: Mutex<Instant>,
}

struct Served {
    number: u64,
    what: Box<dyn Serve>,
    load: Mutex<Load>,
    rings: Option<Arc<Rings>>,
}

/// A mount whose requests come through rings; what does not comes through its device.
struct Ringed {
    pool: Arc<Inner>,
    mount: Arc<Served>,
}

impl Attended for Ringed {
    fn device(&self) -> &Device {
        self.mount.what.device()
    }

    fn serve(&self, to: &dyn Channel, request: &[u8]) {
        self.pool.serve(&self.mount, to, request);
    }

    fn gone(&self) {
        self.pool.remove(self.mount.number);
    }
}

#[derive(Default)]
struct Load {
    /// Who is in read(2), or on the way there; as long as a thread stands here it does not end.
    readers: Vec<Thread>,
    /// So many of them are to leave.
    recalled: usize,
    in_hand: usize,
    large: usize,
    /// The epoll tells of the next request.
    armed: bool,
    /// It is served no more.
    removed: bool,
    /// Since the last look: whether something was asked, and how many readers were left over at all
    /// times.
    used: bool,
    spare: usize,
}

impl Load {
    fn is_full(&self) -> bool {
        self.in_hand >= IN_HAND || self.large >= LARGE
    }

    /// Calls readers back; some may not hear it.
    fn recall(&mut self, how_many: usize) {
        self.recalled = how_many;
        if how_many > 0 {
            // SAFETY: they have not ended, as they stand here.
            self.readers.iter().for_each(|thread| unsafe { thread.recall() });
        }
    }
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.0.threads.load(Ordering::Relaxed)).finish()
    }
}

impl Pool {
    /// `observer` shows what programs ask of mounts.
    ///
    /// # Errors
    /// The operating system's, where it has no more descriptors.
    pub fn new(limits: Limits, observer: Arc<Observer>) -> io::Result<Pool> {
        recall::prepare()?;
        let room = Room::new(limits);
        let inner = Inner {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            next: AtomicU64::new(1),
            mounts: Mutex::default(),
            threads: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            readers: AtomicUsize::new(0),
            buffers: Buffers::new(room.clone()),
            crowd: Arc::default(),
            room,
            rings: rings::Budget::new(),
            requests: Arc::default(),
            observer,
            told: Told::default(),
            looked: Mutex::new(Instant::now()),
        };
        Ok(Pool(Arc::new(inner)))
    }

    /// What all mounts have together.
    pub fn room(&self) -> Arc<Room> {
        self.0.room.clone()
    }

    pub fn crowd(&self) -> Arc<Crowd> {
        self.0.crowd.clone()
    }

    /// Where all mounts count what kernels ask for.
    pub(crate) fn counting(&self) -> Arc<Requests> {
        self.0.requests.clone()
    }

    pub(crate) fn observer(&self) -> Arc<Observer> {
        self.0.observer.clone()
    }

    /// What kernels have asked for, by name.
    pub fn requests(&self) -> Vec<(&'static str, u64)> {
        self.0.requests.seen()
    }

    /// Calls `tell` after the end of each mount, by whomever. It must not wait: the thread serves
    /// other mounts. The first to ask is told.
    pub fn on_end(&self, tell: impl Fn() + Send + Sync + 'static) {
        self.0.told.get_or_init(|| Box::new(tell));
    }

    pub(crate) fn told(&self) -> Told {
        self.0.told.clone()
    }

    /// For a mount's requests to come through; `None` where there are none left.
    pub fn rings(&self) -> Option<Rings> {
        Rings::reserve(&self.0.rings)
    }

    /// Serve until it is unmounted or [`Pool::remove`]d; with `rings`, if the kernel has agreed to
    /// them. Gives its number.
    ///
    /// # Errors
    /// The operating system's, where there can be no thread or ring.
    pub fn add(&self, what: Box<dyn Serve>, rings: Option<Rings>) -> io::Result<u64> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let load = Mutex::new(Load { armed: true, ..Load::default() });
        let served = Arc::new(Served { number, what, load, rings: rings.map(Arc::new) });
        lock(&self.0.mounts).insert(number, served.clone());
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLONESHOT, number);
        let begun = match self.0.epoll.add(served.what.device().as_fd(), event) {
            Ok(()) => self.0.clone().have_one_waiting(),
            Err(error) => Err(error.into()),
        };
        let begun = begun.and_then(|()| self.start_rings(&served));
        begun.inspect_err(|_| self.remove(number))?;
        Ok(number)
    }

    fn start_rings(&self, mount: &Arc<Served>) -> io::Result<()> {
        let Some(rings) = &mount.rings else { return Ok(()) };
        let ringed: Arc<dyn Attended> = Arc::new(Ringed { pool: self.0.clone(), mount: mount.clone() });
        rings.start(&ringed)
    }

    /// Serve no more. Where nothing is being served, the connection ends with this.
    pub fn remove(&self, number: u64) {
        self.0.remove(number);
    }
}

impl Inner {
    fn remove(&self, number: u64) {
        let removed = lock(&self.mounts).remove(&number);
        let Some(mount) = removed else { return };
        let _ = self.epoll.delete(mount.what.device().as_fd());
        lock(&mount.load).removed = true;
        for _ in 0..CALLS {
            let mut load = lock(&mount.load);
            let readers = load.readers.len();
            load.recall(readers);
            drop(load);
            let rings_gone = mount.rings.as_ref().is_none_or(|rings| rings.recall());
            if readers == 0 && rings_gone {
                return;
            }
            std::thread::sleep(BETWEEN);
        }
    }

    /// One more thread where none waits.
    fn have_one_waiting(self: Arc<Inner>) -> io::Result<()> {
        let one_more = |threads: usize| (threads < THREADS).then_some(threads + 1);
        if self.waiting.load(Ordering::SeqCst) > 0
            || self.threads.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more).is_err()
        {
            return Ok(());
        }
        // Counted as waiting from now on, so that not everybody makes one.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let pool = self.clone();
        let made = std::thread::Builder::new().name("fuse".into()).spawn(move || pool.work());
        if let Err(error) = made {
            self.waiting.fetch_sub(1, Ordering::SeqCst);
            let rest = self.threads.fetch_sub(1, Ordering::SeqCst) - 1;
            // Those that there are go on.
            return if rest == 0 { Err(error) } else { Ok(()) };
        }
        Ok(())
    }

    fn work(self: Arc<Inner>) {
        let mut short = Vec::with_capacity(SHORT);
        loop {
            let found = self.next_mount();
            self.look();
            match found {
                Some(mount) => {
                    self.waiting.fetch_sub(1, Ordering::SeqCst);
                    self.clone().attend(&mount, &mut short);
                    drop(mount);
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                }
                None if self.may_go() => return,
                None => {}
            }
        }
    }

    /// The mount that has a request; `None` where nothing came for a while.
    fn next_mount(&self) -> Option<Arc<Served>> {
        let mut events = [EpollEvent::empty()];
        let bound = EpollTimeout::try_from(IDLE).expect("a second is a bound");
        match self.epoll.wait(&mut events, bound) {
            Ok(1) => lock(&self.mounts).get(&events[0].data()).cloned(),
            Ok(_) | Err(nix::errno::Errno::EINTR) => None,
            Err(error) => {
                tracing::error!(%error, "waiting for local mounts");
                std::thread::sleep(IDLE);
                None
            }
        }
    }

    /// Calls back who reads where nothing is asked, and those beyond [`AT_HAND`] that were never
    /// needed. Now and then.
    fn look(&self) {
        let mut looked = lock(&self.looked);
        if looked.elapsed() < IDLE {
            return;
        }
        *looked = Instant::now();
        drop(looked);
        let mounts: Vec<Arc<Served>> = lock(&self.mounts).values().cloned().collect();
        for mount in mounts {
            let mut load = lock(&mount.load);
            let spare = if load.used { load.spare.saturating_sub(AT_HAND) } else { load.readers.len() };
            load.used = false;
            load.spare = load.readers.len();
            load.recall(spare);
        }
    }

    /// An idle thread gives buffers back to the system, and goes where enough others wait. It is
    /// counted out under the lock that a new mount is counted in under, so that none is left
    /// without a thread.
    fn may_go(&self) -> bool {
        self.buffers.shrink();
        let mounts = lock(&self.mounts);
        let stay = if mounts.is_empty() { 0 } else { STAY };
        let leaves = self.waiting.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |waiting| {
            (waiting > stay).then(|| waiting - 1)
        });
        if leaves.is_ok() {
            self.threads.fetch_sub(1, Ordering::SeqCst);
        }
        leaves.is_ok()
    }

    /// Reads and serves a mount's requests, until it is called back or there are enough others.
    fn attend(self: Arc<Inner>, mount: &Served, short: &mut Vec<u8>) {
        if let Err(error) = self.clone().have_one_waiting() {
            tracing::warn!(%error, "local mounts have no more threads");
        }
        if mount.rings.is_some() {
            return self.collect(mount);
        }
        let mut reads = self.begin(mount);
        while reads {
            reads = self.take_one(mount, short);
        }
    }

    /// What does not come through a mount's rings is what the kernel forgets, one by one while
    /// somebody removes files. So it is left alone for a moment, and then read in one.
    fn collect(&self, mount: &Served) {
        loop {
            std::thread::sleep(COLLECT);
            let mut found = false;
            while mount.what.device().wait(Duration::ZERO).is_ok() {
                found = true;
                let Some((buffer, received)) = self.receive(mount) else { continue };
                match received {
                    Ok(Received::Request) => self.serve(mount, mount.what.device(), &buffer),
                    Ok(Received::Nothing) => {}
                    ended => {
                        self.buffers.give_back(buffer);
                        return self.ended(mount, ended);
                    }
                }
                self.buffers.give_back(buffer);
            }
            if !found {
                break;
            }
        }
        let mut load = lock(&mount.load);
        load.armed = false;
        self.arm(mount, &mut load);
    }

    /// Whether this thread, which the epoll told, is to read.
    fn begin(&self, mount: &Served) -> bool {
        let mut load = lock(&mount.load);
        load.armed = false;
        // Who ends what is in hand reads on.
        if load.removed || load.is_full() || !load.readers.is_empty() && self.has_readers() {
            return false;
        }
        self.count_in(&mut load);
        true
    }

    /// Reads one request of a mount and serves it. Whether to go on.
    fn take_one(&self, mount: &Served, short: &mut Vec<u8>) -> bool {
        let Some((buffer, received)) = self.receive(mount) else { return true };
        let large = buffer.len() > SHORT;
        match received {
            Ok(Received::Request) => {}
            Ok(Received::Nothing) => {
                self.buffers.give_back(buffer);
                return !self.is_recalled(mount);
            }
            ended => {
                self.buffers.give_back(buffer);
                self.count_out(&mut lock(&mount.load));
                self.ended(mount, ended);
                return false;
            }
        }
        self.in_hand(mount, large);
        let held = if large {
            Some(buffer)
        } else {
            short.clear();
            short.extend_from_slice(&buffer);
            self.buffers.give_back(buffer);
            None
        };
        self.serve(mount, mount.what.device(), held.as_deref().unwrap_or(short));
        if let Some(buffer) = held {
            self.buffers.give_back(buffer);
        }
        self.done(mount, large)
    }

    /// The next request of a mount; `None` where there is no memory for it, after a while.
    fn receive(&self, mount: &Served) -> Option<(Buffer, io::Result<Received>)> {
        match self.buffers.take() {
            Ok(mut buffer) => {
                let received = mount.what.device().receive(&mut buffer);
                Some((buffer, received))
            }
            Err(error) => {
                tracing::error!(%error, "local mounts have no memory");
                std::thread::sleep(IDLE);
                None
            }
        }
    }

    /// The connection is over, or cannot be read.
    fn ended(&self, mount: &Served, how: io::Result<Received>) {
        if let Err(error) = how {
            tracing::error!(%error, "a local mount ends");
        }
        self.remove(mount.number);
    }

    fn serve(&self, mount: &Served, to: &dyn Channel, request: &[u8]) {
        match catch_unwind(AssertUnwindSafe(|| mount.what.serve(to, request))) {
            Ok(true) => {}
            Ok(false) => self.remove(mount.number),
            // The answer was EIO: a panic has dropped it.
            Err(_) => tracing::error!("a request of a local mount ended in a panic"),
        }
    }

    /// Whether this thread, which reads, is to leave; then it has.
    fn is_recalled(&self, mount: &Served) -> bool {
        let mut load = lock(&mount.load);
        if load.recalled == 0 && !load.removed {
            return false;
        }
        load.recalled = load.recalled.saturating_sub(1);
        self.count_out(&mut load);
        self.arm(mount, &mut load);
        true
    }

    /// This thread has a request, and reads no more.
    fn in_hand(&self, mount: &Served, large: bool) {
        let mut load = lock(&mount.load);
        self.count_out(&mut load);
        load.in_hand += 1;
        load.large += usize::from(large);
        load.used = true;
        load.spare = load.spare.min(load.readers.len());
        self.arm(mount, &mut load);
    }

    /// It has served it. Whether it reads the next.
    fn done(&self, mount: &Served, large: bool) -> bool {
        let mut load = lock(&mount.load);
        load.in_hand -= 1;
        load.large -= usize::from(large);
        if load.removed || self.has_readers() {
            self.arm(mount, &mut load);
            return false;
        }
        self.count_in(&mut load);
        true
    }

    fn has_readers(&self) -> bool {
        self.readers.load(Ordering::Relaxed) >= READERS
    }

    /// This thread reads.
    fn count_in(&self, load: &mut Load) {
        load.readers.push(Thread::current());
        self.readers.fetch_add(1, Ordering::Relaxed);
    }

    fn count_out(&self, load: &mut Load) {
        let this = Thread::current();
        load.readers.retain(|thread| *thread != this);
        self.readers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The epoll tells of the next request where few read.
    fn arm(&self, mount: &Served, load: &mut Load) {
        if load.readers.len() >= AT_HAND || load.armed || load.removed || load.is_full() {
            return;
        }
        load.armed = true;
        let mut event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLONESHOT, mount.number);
        if let Err(error) = self.epoll.modify(mount.what.device().as_fd(), &mut event) {
            // It has been removed.
            tracing::debug!(%error, "a mount is not served any more");
        }
    }
}
