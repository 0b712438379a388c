//! The threads of FUSE over io_uring: one for each entry ([`crate::ring`]) that a mount has with
//! the kernel.
//!
//! A mount begins with one thread for each processor, to which the kernel gives what clients there
//! ask. The thread stays on that processor: waking another one takes longer than serving most
//! requests. Whoever takes the last free entry of a processor first has one more made; so there is
//! one more than requests were ever served at a time.
//!
//! Bounds: [`Budget::most`] threads in all, [`QUEUE`] for a mount and processor, with
//! [`ring::MAX_IO`] bytes each, which are given back when nothing is asked for a while. Half of the
//! threads are for mounts to begin with, the rest for what is asked at a time. A mount that comes
//! when its half is taken is served by the device alone.
//!
//! Invariant: a thread goes when the connection does, and not before, since its entry cannot be
//! taken back.

use crate::channel::Channel;
use crate::device::{Device, Received};
use crate::lock::lock;
use crate::recall::Thread;
use crate::ring::{self, Entry};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

/// Threads of a mount and processor.
pub const QUEUE: usize = 32;

const IDLE: Duration = Duration::from_secs(1);
const POSSIBLE: &str = "/sys/devices/system/cpu/possible";

/// A mount whose requests come through rings.
pub trait Attended: Send + Sync + 'static {
    fn device(&self) -> &Device;

    /// Serve one request and answer it.
    fn serve(&self, to: &dyn Channel, request: &[u8]);

    /// The connection is over.
    fn gone(&self);
}

/// How many threads there are, of all mounts.
#[derive(Clone)]
pub struct Budget {
    threads: Arc<AtomicUsize>,
    processors: usize,
}

/// The right to a thread.
struct Share(Arc<AtomicUsize>);

impl Budget {
    pub fn new() -> Budget {
        let processors = std::fs::read_to_string(POSSIBLE).ok().and_then(|list| processors(&list));
        Budget { threads: Arc::default(), processors: processors.unwrap_or(0) }
    }

    /// As many as there may be.
    fn most(&self) -> usize {
        96 + 16 * self.processors
    }

    /// `None` where there are `most` already.
    fn take(&self, most: usize) -> Option<Share> {
        let one_more = |threads: usize| (threads < most).then_some(threads + 1);
        let taken = self.threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more);
        taken.is_ok().then(|| Share(self.threads.clone()))
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Those of one mount.
pub struct Rings {
    budget: Budget,
    queues: Vec<Queue>,
    all: Mutex<All>,
}

#[derive(Default)]
struct Queue {
    threads: AtomicUsize,
    /// Those that serve nothing.
    free: AtomicUsize,
}

#[derive(Default)]
struct All {
    /// As long as a thread stands here it does not end.
    threads: Vec<Thread>,
    is_removed: bool,
    /// For those that every mount begins with.
    shares: Vec<Share>,
}

impl Rings {
    /// What a mount begins with; `None` where threads or this kernel do not suffice.
    pub fn reserve(budget: &Budget) -> Option<Rings> {
        let processors = budget.processors;
        let shares: Vec<Share> = (0..processors).map_while(|_| budget.take(budget.most() / 2)).collect();
        if processors == 0 || shares.len() < processors || !ring::is_allowed() {
            return None;
        }
        let queues = (0..processors).map(|_| Queue::default()).collect();
        Some(Rings { budget: budget.clone(), queues, all: Mutex::new(All { shares, ..All::default() }) })
    }

    /// From now on requests come this way. Afterwards the mount cannot be served in another.
    ///
    /// # Errors
    /// The operating system's, where there can be no thread or ring. The mount is good for nothing
    /// then.
    pub fn start(self: &Arc<Rings>, mount: &Arc<dyn Attended>) -> io::Result<()> {
        let shares = std::mem::take(&mut lock(&self.all).shares);
        for (queue, share) in shares.into_iter().enumerate() {
            let (begun, result) = mpsc::channel();
            self.queues[queue].threads.fetch_add(1, Ordering::Relaxed);
            self.spawn(queue, mount, share, move |result| drop(begun.send(result)))?;
            result.recv().unwrap_or_else(|_| Err(io::ErrorKind::BrokenPipe.into()))?;
        }
        Ok(())
    }

    /// Calls all threads back, which end with the connection or without it. Whether none is left;
    /// one may not have heard.
    pub fn recall(&self) -> bool {
        let mut all = lock(&self.all);
        all.is_removed = true;
        // SAFETY: they have not ended, as they stand here.
        all.threads.iter().for_each(|thread| unsafe { thread.recall() });
        all.threads.is_empty()
    }

    fn spawn(
        self: &Arc<Rings>,
        queue: usize,
        mount: &Arc<dyn Attended>,
        share: Share,
        begun: impl FnOnce(io::Result<()>) + Send + 'static,
    ) -> io::Result<()> {
        let (this, mount) = (self.clone(), mount.clone());
        let run = move || {
            this.run(queue, &mount, begun);
            this.queues[queue].threads.fetch_sub(1, Ordering::Relaxed);
            drop(share);
        };
        let spawned = std::thread::Builder::new().name("fuse-ring".into()).spawn(run);
        spawned.map(drop).inspect_err(|_| {
            self.queues[queue].threads.fetch_sub(1, Ordering::Relaxed);
        })
    }

    /// One more for this processor, where there may be.
    fn grow(self: &Arc<Rings>, queue: usize, mount: &Arc<dyn Attended>) {
        let one_more = |threads: usize| (threads < QUEUE).then_some(threads + 1);
        let threads = &self.queues[queue].threads;
        if threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err() {
            return;
        }
        let Some(share) = self.budget.take(self.budget.most()) else {
            threads.fetch_sub(1, Ordering::Relaxed);
            return;
        };
        let begun = |result: io::Result<()>| {
            if let Err(error) = result {
                tracing::debug!(%error, "no more rings for a local mount");
            }
        };
        if let Err(error) = self.spawn(queue, mount, share, begun) {
            tracing::warn!(%error, "local mounts have no more threads");
        }
    }

    fn run(self: &Arc<Rings>, queue: usize, mount: &Arc<dyn Attended>, begun: impl FnOnce(io::Result<()>)) {
        stay_on(queue);
        let number = u16::try_from(queue).expect("the kernel counts processors so");
        let entry = match Entry::register(mount.device(), number) {
            Ok(entry) => entry,
            Err(error) => return begun(Err(error)),
        };
        lock(&self.all).threads.push(Thread::current());
        begun(Ok(()));
        let ended = self.attend(queue, mount, &entry);
        lock(&self.all).threads.retain(|thread| *thread != Thread::current());
        match ended {
            Ok(Received::Gone) => mount.gone(),
            Ok(_) => {}
            Err(error) => {
                tracing::error!(%error, "a local mount ends");
                mount.gone();
            }
        }
    }

    /// Serves one request after the other, until the connection ends or the mount is served no
    /// more.
    fn attend(
        self: &Arc<Rings>,
        queue: usize,
        mount: &Arc<dyn Attended>,
        entry: &Entry,
    ) -> io::Result<Received> {
        let free = &self.queues[queue].free;
        free.fetch_add(1, Ordering::Relaxed);
        loop {
            match entry.next(IDLE)? {
                Received::Request => {
                    if free.fetch_sub(1, Ordering::Relaxed) == 1 {
                        self.grow(queue, mount);
                    }
                    entry.serve(|to, request| mount.serve(to, request));
                    free.fetch_add(1, Ordering::Relaxed);
                }
                Received::Nothing if !lock(&self.all).is_removed => {}
                ended => return Ok(ended),
            }
        }
    }
}

/// This thread runs on that processor alone. Where it may not, it is only slower.
fn stay_on(processor: usize) {
    let mut only = CpuSet::new();
    let stays = only.set(processor).and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
    if let Err(error) = stays {
        tracing::debug!(%error, processor, "a thread runs where it likes");
    }
}

/// How many a list such as `0-3,8` has (Documentation/admin-guide/cputopology.rst of Linux).
fn processors(list: &str) -> Option<usize> {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processors_are_counted_as_the_kernel_lists_them() {
        assert_eq!(processors("0\n"), Some(1));
        assert_eq!(processors("0-1\n"), Some(2));
        assert_eq!(processors("0-3,8,10-11"), Some(7));
        for bad in ["", "a", "3-1", "0-", "0,,1"] {
            assert_eq!(processors(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn half_of_the_threads_are_left_for_what_mounts_ask_at_a_time() {
        let budget = Budget { threads: Arc::default(), processors: 2 };
        let mounts: Vec<Rings> = std::iter::from_fn(|| Rings::reserve(&budget)).collect();
        let some = if ring::is_allowed() { 32 } else { 0 };
        assert_eq!(mounts.len(), some);
        let rest: Vec<Share> = std::iter::from_fn(|| budget.take(budget.most())).collect();
        assert_eq!(rest.len(), 128 - 2 * some);
        drop(mounts);
        assert_eq!(budget.threads.load(Ordering::Relaxed), rest.len());
    }
}
