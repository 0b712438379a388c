//! Long-lived activities as steps, and who runs them.
//!
//! A [`Worker`] is a named `step()` function: it does one bounded piece of work and says when it
//! wants to be called next. A [`Driver`] decides where steps run. There are two kinds:
//!
//! - **threaded** ([`crate::Threads`]): each worker has a named thread, blocked callers sleep on
//!   condition variables;
//! - **cooperative** (the simulator's): there is one thread. A worker is stepped only while some
//!   caller is inside [`crate::Env::wait`] or sleeps on the simulated clock. The driver picks the
//!   next runnable worker by its seed, so one seed is one history.
//!
//! How waiting meets a cooperative driver: `Env::wait` tests its predicate under the lock; if it
//! does not hold, it unlocks and calls [`Driver::wait_step`], which must make *some* progress: run
//! one step of one runnable worker, or, if none is runnable, move the virtual clock to the nearest
//! of all `WaitUntil` times and the caller's deadline. If there is nothing to run and no time to
//! move to, it panics "deadlock: nothing runnable". Then the lock is taken again and the predicate
//! tested. Because every step happens inside some call of `wait_step`, and the pick is the only
//! choice made, the schedule is a function of the seed.
//!
//! Rules for steps (asserted by the simulator): a step may do disk I/O and [`Driver::par_map`], but
//! never waits for another worker (for an operator it may: [`crate::Env::wait_outside`]); a caller
//! of `Env::wait` holds no lock. A wake that arrives while the worker is running is remembered: the
//! worker is stepped once more before it sleeps.

use std::sync::Arc;

use crate::Nanos;

/// What a worker wants after a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// There is more to do now.
    Again,
    /// Nothing before this moment, unless woken.
    WaitUntil(Nanos),
    /// Nothing until woken.
    WaitForWork,
    /// Never again; the worker is dropped.
    Stop,
}

/// A long-lived activity. Dropped, on the thread that stepped it, once it stops.
pub trait Worker: Send {
    /// Short name, at most 15 bytes so that it fits a thread name: "txg-sync".
    fn name(&self) -> &'static str;
    /// Does one bounded piece of work.
    fn step(&mut self, now: Nanos) -> Next;
}

/// What a driver gives back for a spawned worker; [`WorkerHandle`] wraps it.
pub trait WorkerControl: Send + Sync {
    /// Makes a sleeping worker run; remembered if it is running.
    fn wake(&self);
    /// Steps the worker no more and returns when it has been dropped. A panic of the worker
    /// continues here. Calling it a second time returns at once.
    fn stop_and_join(&self);
}

/// A running worker. Cloning shares it; dropping the handle neither stops nor joins the worker.
#[derive(Clone)]
pub struct WorkerHandle(Arc<dyn WorkerControl>);

impl WorkerHandle {
    /// Called by drivers.
    pub fn new(control: Arc<dyn WorkerControl>) -> WorkerHandle {
        WorkerHandle(control)
    }

    /// Makes a worker in `WaitForWork` or `WaitUntil` run now.
    pub fn wake(&self) {
        self.0.wake();
    }

    /// Lets the current step end, steps no more, waits until the worker is dropped. Not from the
    /// worker itself.
    pub fn stop_and_join(&self) {
        self.0.stop_and_join();
    }
}

/// Runs workers and fork/join work; decides what blocking means. See the module text.
pub trait Driver: Send + Sync {
    /// Starts a worker; its first step comes without a wake.
    fn spawn(&self, worker: Box<dyn Worker>) -> WorkerHandle;

    /// Calls `f(0)` … `f(n - 1)`, each once, in any order, perhaps on several threads; the caller
    /// takes part and returns when all are done. A panic of `f` continues in the caller.
    fn par_map(&self, n: usize, f: &(dyn Fn(usize) + Sync));

    /// The same, beside what only the caller can do: it does that first, while others have begun
    /// with `f`.
    fn par_map_beside(&self, n: usize, f: &(dyn Fn(usize) + Sync), own: &mut dyn FnMut()) {
        own();
        self.par_map(n, f);
    }

    /// Number of processors `par_map` uses, at least 1.
    fn parallelism(&self) -> usize;

    /// True if blocked callers must call [`Driver::wait_step`] instead of sleeping.
    fn is_cooperative(&self) -> bool {
        false
    }

    /// Makes one unit of progress on behalf of a blocked caller that holds no lock; see the module
    /// text. Only called when [`Driver::is_cooperative`].
    fn wait_step(&self, deadline: Option<Nanos>) {
        unreachable!("a threaded driver is never asked to step (deadline {deadline:?})");
    }

    /// As [`Driver::wait_step`], also from inside a worker's step: it waits for what is no worker's
    /// business, so the others run inside it.
    fn wait_outside(&self) {
        self.wait_step(None);
    }
}
