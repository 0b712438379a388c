//! The threads and buffers that serve all mounts.
//!
//! A thread waits at one epoll for all mounts. When a mount has a request, one thread is told, and reads it; then the
//! mount is armed again, for the next thread, and the first serves what it read. So a request that waits (an fsync, a
//! pool that is suspended) holds a thread and nothing else.
//!
//! Threads come when all are busy and go when they idle. A buffer holds the longest request there is; what is short,
//! nearly all, is copied out of it, and the buffer goes back before the request is served: only writes keep theirs.
//!
//! Bounds: [`THREADS`] threads and [`BUFFERS`] buffers of [`BUFFER`] bytes in all; of these one mount has at most
//! [`IN_HAND`] requests being served, and [`LARGE`] writes with a buffer: a mount whose pool is stuck leaves the rest to
//! the others. What comes beyond waits in the kernel. A mount where nobody does anything holds none of them.

use crate::abi;
use crate::device::{Device, Received};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

/// Bytes of the largest read and write.
pub const MAX_IO: usize = 1 << 20;
/// Bytes of a buffer: a write and what goes before it.
pub const BUFFER: usize = MAX_IO + abi::MIN_READ_BUFFER;
pub const BUFFERS: usize = 64;
pub const THREADS: usize = 512;
pub const IN_HAND: usize = 256;
pub const LARGE: usize = 8;

/// Requests up to this are copied, bytes: names, attributes, small writes.
const SHORT: usize = 8192;
/// How long a thread waits for work before it goes, and how many stay.
const IDLE: Duration = Duration::from_secs(2);
const STAY: usize = 2;

/// What is behind a mount. Dropped when it is unmounted and nothing is being served any more.
pub trait Serve: Send + Sync + 'static {
    fn device(&self) -> &Device;

    /// Serve one request and answer it; false where the kernel says good-bye.
    fn serve(&self, request: &[u8]) -> bool;
}

/// See the module. Cheap to clone; its threads go when nothing is mounted.
#[derive(Clone)]
pub struct Pool(Arc<Inner>);

struct Inner {
    epoll: Epoll,
    next: AtomicU64,
    mounts: Mutex<HashMap<u64, Arc<Served>>>,
    threads: AtomicUsize,
    waiting: AtomicUsize,
    buffers: Mutex<Buffers>,
    returned: Condvar,
}

#[derive(Default)]
struct Buffers {
    free: Vec<Vec<u8>>,
    /// Free and in use.
    made: usize,
}

struct Served {
    number: u64,
    what: Box<dyn Serve>,
    load: Mutex<Load>,
}

#[derive(Default)]
struct Load {
    in_hand: usize,
    large: usize,
    /// Not armed, because it has its share.
    parked: bool,
}

impl Load {
    fn is_full(&self) -> bool {
        self.in_hand >= IN_HAND || self.large >= LARGE
    }
}

/// One request being served.
struct Share<'a> {
    pool: &'a Inner,
    mount: &'a Served,
    large: bool,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool").field("threads", &self.0.threads.load(Ordering::Relaxed)).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("nothing panics under this lock")
}

impl Pool {
    /// # Errors
    /// The operating system's, where it has no more descriptors.
    pub fn new() -> io::Result<Pool> {
        let inner = Inner {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            next: AtomicU64::new(1),
            mounts: Mutex::default(),
            threads: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            buffers: Mutex::default(),
            returned: Condvar::new(),
        };
        Ok(Pool(Arc::new(inner)))
    }

    /// Serve until it is unmounted or [`Pool::remove`]d. Gives its number.
    ///
    /// # Errors
    /// The operating system's, where there can be no thread.
    pub fn add(&self, what: Box<dyn Serve>) -> io::Result<u64> {
        let number = self.0.next.fetch_add(1, Ordering::Relaxed);
        let served = Arc::new(Served { number, what, load: Mutex::default() });
        lock(&self.0.mounts).insert(number, served.clone());
        let event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLONESHOT, number);
        let begun = match self.0.epoll.add(served.what.device().as_fd(), event) {
            Ok(()) => self.0.clone().have_one_waiting(),
            Err(error) => Err(error.into()),
        };
        begun.inspect_err(|_| self.remove(number))?;
        Ok(number)
    }

    /// Serve no more. Where nothing is being served, the connection ends with this.
    pub fn remove(&self, number: u64) {
        self.0.remove(number);
    }
}

impl Inner {
    fn remove(&self, number: u64) {
        let removed = lock(&self.mounts).remove(&number);
        if let Some(mount) = removed {
            let _ = self.epoll.delete(mount.what.device().as_fd());
        }
    }

    fn arm(&self, mount: &Served) {
        let mut event = EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLONESHOT, mount.number);
        if let Err(error) = self.epoll.modify(mount.what.device().as_fd(), &mut event) {
            // It has been removed.
            tracing::debug!(%error, "a mount is not served any more");
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
        loop {
            match self.next_mount() {
                Some(mount) => {
                    self.waiting.fetch_sub(1, Ordering::SeqCst);
                    self.clone().take_one(&mount);
                    drop(mount);
                    self.waiting.fetch_add(1, Ordering::SeqCst);
                }
                None if self.may_go() => return,
                None => {}
            }
        }
    }

    /// The mount that has a request, for this thread alone; `None` where nothing came for a while.
    fn next_mount(&self) -> Option<Arc<Served>> {
        let mut events = [EpollEvent::empty()];
        let bound = EpollTimeout::try_from(IDLE).expect("two seconds are a bound");
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

    /// An idle thread gives buffers back to the system, and goes where enough others wait. It is counted out under the
    /// lock that a new mount is counted in under, so that none is left without a thread.
    fn may_go(&self) -> bool {
        let mut buffers = lock(&self.buffers);
        buffers.made -= buffers.free.len();
        buffers.free = Vec::new();
        drop(buffers);
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

    /// Reads one request of a mount and serves it.
    fn take_one(self: Arc<Inner>, mount: &Served) {
        let Some(mut share) = self.share(mount) else { return };
        let mut buffer = self.buffer();
        let received = mount.what.device().receive(&mut buffer);
        let large = buffer.len() > SHORT;
        share.large = large;
        if large {
            lock(&mount.load).large += 1;
        }
        let is_request = matches!(received, Ok(Received::Request));
        match received {
            Ok(Received::Request) => self.next_or_park(mount),
            Ok(Received::Nothing) => self.arm(mount),
            Ok(Received::Gone) => self.remove(mount.number),
            Err(error) => {
                tracing::error!(%error, "a local mount ends");
                self.remove(mount.number);
            }
        }
        let short: [u8; SHORT];
        let mut held = None;
        let request: &[u8] = if large {
            held.insert(buffer)
        } else {
            let len = buffer.len();
            short = copied(&buffer);
            self.give_back(buffer);
            &short[..len]
        };
        if is_request {
            if let Err(error) = self.clone().have_one_waiting() {
                tracing::warn!(%error, "local mounts have no more threads");
            }
            self.serve(mount, request);
        }
        if let Some(buffer) = held {
            self.give_back(buffer);
        }
    }

    fn serve(&self, mount: &Served, request: &[u8]) {
        match catch_unwind(AssertUnwindSafe(|| mount.what.serve(request))) {
            Ok(true) => {}
            Ok(false) => self.remove(mount.number),
            // The answer was EIO: a panic has dropped it.
            Err(_) => tracing::error!("a request of a local mount ended in a panic"),
        }
    }

    /// One more request for the mount, if it has not its share already; else it is armed when one of them ends.
    fn share<'a>(&'a self, mount: &'a Served) -> Option<Share<'a>> {
        let mut load = lock(&mount.load);
        if load.is_full() {
            load.parked = true;
            return None;
        }
        load.in_hand += 1;
        Some(Share { pool: self, mount, large: false })
    }

    fn next_or_park(&self, mount: &Served) {
        let mut load = lock(&mount.load);
        load.parked = load.is_full();
        if !load.parked {
            self.arm(mount);
        }
    }

    /// Waits while all are in use.
    fn buffer(&self) -> Vec<u8> {
        let mut buffers = lock(&self.buffers);
        loop {
            if let Some(buffer) = buffers.free.pop() {
                return buffer;
            }
            if buffers.made < BUFFERS {
                buffers.made += 1;
                return Vec::with_capacity(BUFFER);
            }
            buffers = self.returned.wait(buffers).expect("nothing panics under this lock");
        }
    }

    fn give_back(&self, buffer: Vec<u8>) {
        lock(&self.buffers).free.push(buffer);
        self.returned.notify_one();
    }
}

fn copied(bytes: &[u8]) -> [u8; SHORT] {
    let mut copy = [0; SHORT];
    copy[..bytes.len()].copy_from_slice(bytes);
    copy
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        let mut load = lock(&self.mount.load);
        load.in_hand -= 1;
        load.large -= usize::from(self.large);
        if load.parked && !load.is_full() {
            load.parked = false;
            self.pool.arm(self.mount);
        }
    }
}
