//! The threaded driver: a named thread for each worker, and a pool of processor threads for
//! fork/join.
//!
//! A worker's thread sleeps on its mailbox: a wake is a flag under a mutex, so one that comes while
//! the worker runs is not lost. [`Driver::par_map`] publishes a job to the pool and works on it
//! itself; indexes are claimed one by one from an atomic counter. The caller never waits for an
//! index nobody has claimed, so nested and concurrent calls cannot deadlock even when every pool
//! thread is busy.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clock::{Clock, Nanos, RealClock};
use crate::lock;
use crate::worker::{Driver, Next, Worker, WorkerControl, WorkerHandle};

/// The driver of production. Dropping it ends the processor threads; workers are stopped by their
/// handles.
pub struct Threads {
    clock: Arc<dyn Clock>,
    pool: Arc<CpuPool>,
    cpus: Vec<JoinHandle<()>>,
}

impl Threads {
    /// One processor thread fewer than the machine has: the caller of `par_map` is the last one.
    pub fn new() -> Threads {
        Threads::with_parallelism(thread::available_parallelism().map_or(1, std::num::NonZero::get))
    }

    /// As if the machine had `parallelism` processors.
    pub fn with_parallelism(parallelism: usize) -> Threads {
        Threads::with_clock(parallelism, Arc::new(RealClock::new()))
    }

    /// As [`Threads::with_parallelism`]; steps and `Next::WaitUntil` are in the time of `clock`,
    /// which should be the one of the same `Env`.
    pub fn with_clock(parallelism: usize, clock: Arc<dyn Clock>) -> Threads {
        let pool = Arc::new(CpuPool::default());
        let cpus = (1..parallelism.max(1)).map(|n| {
            let pool = pool.clone();
            spawn_named(&format!("cpu-{n}"), move || pool.serve())
        });
        Threads { clock, cpus: cpus.collect(), pool: pool.clone() }
    }
}

impl Default for Threads {
    fn default() -> Threads {
        Threads::new()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        lock(&self.pool.state).closed = true;
        self.pool.posted.notify_all();
        for cpu in self.cpus.drain(..) {
            cpu.join().expect("processor threads catch the panics of their jobs");
        }
    }
}

fn spawn_named(name: &str, f: impl FnOnce() + Send + 'static) -> JoinHandle<()> {
    thread::Builder::new().name(name.to_owned()).spawn(f).expect("the system has no room for a thread")
}

impl Driver for Threads {
    fn spawn(&self, worker: Box<dyn Worker>) -> WorkerHandle {
        let mailbox = Arc::new(Mailbox::default());
        let thread = {
            let (mailbox, clock) = (mailbox.clone(), self.clock.clone());
            spawn_named(worker.name(), move || mailbox.run(worker, &*clock))
        };
        WorkerHandle::new(Arc::new(Thread { mailbox, thread: Mutex::new(Some(thread)) }))
    }

    fn par_map(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        if n <= 1 || self.cpus.is_empty() {
            (0..n).for_each(f);
        } else {
            self.pool.run(n, f, &mut || {});
        }
    }

    fn par_map_beside(&self, n: usize, f: &(dyn Fn(usize) + Sync), own: &mut dyn FnMut()) {
        if n == 0 || self.cpus.is_empty() {
            own();
            (0..n).for_each(f);
        } else {
            self.pool.run(n, f, own);
        }
    }

    fn parallelism(&self) -> usize {
        self.cpus.len() + 1
    }
}

/// What others tell a worker's thread.
#[derive(Default)]
struct Mailbox {
    state: Mutex<Mail>,
    changed: Condvar,
}

#[derive(Default)]
struct Mail {
    woken: bool,
    stop: bool,
}

impl Mailbox {
    fn run(&self, mut worker: Box<dyn Worker>, clock: &dyn Clock) {
        loop {
            {
                let mut mail = lock(&self.state);
                if mail.stop {
                    return;
                }
                // Taken before the step: a wake during the step is for the next one.
                mail.woken = false;
            }
            match worker.step(clock.now()) {
                Next::Again => {}
                Next::Stop => return,
                Next::WaitForWork => self.sleep(clock, None),
                Next::WaitUntil(time) => self.sleep(clock, Some(time)),
            }
        }
    }

    /// Sleeps until woken, stopped, or the time has come.
    fn sleep(&self, clock: &dyn Clock, until: Option<Nanos>) {
        let mut mail = lock(&self.state);
        while !mail.woken && !mail.stop {
            mail = match until {
                None => self.changed.wait(mail).expect("mail is never left half written"),
                Some(time) => {
                    let left = time.since(clock.now());
                    if left == Nanos(0) {
                        return;
                    }
                    let left = Duration::from_nanos(left.0);
                    self.changed.wait_timeout(mail, left).expect("mail is never left half written").0
                }
            }
        }
    }
}

struct Thread {
    mailbox: Arc<Mailbox>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl WorkerControl for Thread {
    fn wake(&self) {
        lock(&self.mailbox.state).woken = true;
        self.mailbox.changed.notify_one();
    }

    fn stop_and_join(&self) {
        lock(&self.mailbox.state).stop = true;
        self.mailbox.changed.notify_one();
        let Some(thread) = lock(&self.thread).take() else { return };
        assert_ne!(thread.thread().id(), thread::current().id(), "a worker cannot join itself");
        if let Err(panic) = thread.join() {
            resume_unwind(panic);
        }
    }
}

/// The function of a job, with its lifetime forgotten: see the safety argument in [`CpuPool::run`].
#[derive(Clone, Copy)]
struct JobFn(*const (dyn Fn(usize) + Sync + 'static));

// SAFETY: the pointee is Sync, and is only called while `CpuPool::run` keeps it alive.
unsafe impl Send for JobFn {}
// SAFETY: as above.
unsafe impl Sync for JobFn {}

/// One `par_map` call.
struct Job {
    f: JobFn,
    n: usize,
    /// The next index to claim; at or beyond `n` there is none.
    next: AtomicUsize,
    /// Indexes not finished yet.
    left: Mutex<usize>,
    done: Condvar,
    panicked: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

impl Job {
    /// Works until every index has been claimed by someone.
    fn work(&self) {
        loop {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            if index >= self.n {
                return;
            }
            if !self.panicked.load(Ordering::Relaxed) {
                // SAFETY: an index has been claimed and is not finished, so `CpuPool::run` has not
                // returned.
                let f = unsafe { &*self.f.0 };
                if let Err(panic) = catch_unwind(AssertUnwindSafe(|| f(index))) {
                    self.panicked.store(true, Ordering::Relaxed);
                    lock(&self.panic).get_or_insert(panic);
                }
            }
            let mut left = lock(&self.left);
            *left -= 1;
            if *left == 0 {
                self.done.notify_all();
            }
        }
    }
}

#[derive(Default)]
struct CpuPool {
    state: Mutex<PoolState>,
    posted: Condvar,
}

#[derive(Default)]
struct PoolState {
    jobs: VecDeque<Arc<Job>>,
    closed: bool,
}

impl CpuPool {
    /// A processor thread's life: help with the oldest job that still has unclaimed indexes.
    fn serve(&self) {
        let mut state = lock(&self.state);
        loop {
            if let Some(job) = state.jobs.front().cloned() {
                drop(state);
                job.work();
                state = lock(&self.state);
                state.jobs.retain(|other| !Arc::ptr_eq(other, &job));
            } else if state.closed {
                return;
            } else {
                state = self.posted.wait(state).expect("jobs are never left half queued");
            }
        }
    }

    /// Calls `own` here and `f` everywhere.
    fn run(&self, n: usize, f: &(dyn Fn(usize) + Sync), own: &mut dyn FnMut()) {
        // SAFETY: only the lifetime changes. `f` is called by `Job::work` for claimed indexes
        // alone, and this function returns or unwinds only after all `n` of them are finished;
        // later claims are ≥ n and call nothing.
        let f = JobFn(unsafe {
            std::mem::transmute::<*const (dyn Fn(usize) + Sync + '_), *const (dyn Fn(usize) + Sync + 'static)>(
                f,
            )
        });
        let job = Arc::new(Job {
            f,
            n,
            next: AtomicUsize::new(0),
            left: Mutex::new(n),
            done: Condvar::new(),
            panicked: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        lock(&self.state).jobs.push_back(job.clone());
        if n > 2 {
            self.posted.notify_all();
        } else {
            self.posted.notify_one();
        }
        let owned = catch_unwind(AssertUnwindSafe(own));
        job.work();
        lock(&self.state).jobs.retain(|other| !Arc::ptr_eq(other, &job));
        let left = lock(&job.left);
        drop(job.done.wait_while(left, |left| *left > 0).expect("counting does not panic"));
        if let Some(panic) = owned.err().or_else(|| lock(&job.panic).take()) {
            resume_unwind(panic);
        }
    }
}

#[cfg(test)]
mod tests;
