//! The cooperative driver: all workers on one thread, in seeded order.
//!
//! A worker is stepped only inside [`Driver::wait_step`], which some blocked caller calls until
//! what it waits for has happened. Each step takes a moment of virtual time, so that deadlines pass
//! even while there is always work. When nothing can run, the clock jumps to the next moment
//! anybody waits for; when there is none, it is a deadlock, and that is a panic: the seed shows who
//! waits for whom. So is a machine that has been on for longer than any ever has to: who waits
//! looks again and again, and a worker that only looks at the clock would let that go on for ever.
//!
//! A step that itself waits for something that has not happened is a bug in the worker, for another
//! worker would have to run inside it: also a panic. But where it waits for the operator of a
//! suspended pool, the others do run inside it.
//!
//! Of several callers, a [`Crew`], one runs; where it waits, another one may go on before any
//! worker does.

use std::sync::{Arc, Mutex, Weak};

use env::worker::WorkerControl;
use env::{Driver, Nanos, Next, Worker, WorkerHandle, lock};
use stdx::prng::Prng;

use crate::crew::{Caller, Crew};
use crate::time::Time;
use crate::trace::Trace;

/// What a step costs.
const STEP: Nanos = Nanos::from_micros(5);
/// More steps than this in one run without the clock moving on by itself mean that the workers keep
/// each other busy.
const BUSY_MAX: u64 = 10_000_000;
/// No machine has to be on for so long.
const LIFE_MAX: Nanos = Nanos::from_secs(30 * 86_400);
/// How often each of several callers has to look in vain, where no worker ever runs by itself,
/// until that is a deadlock.
const LOOKS_MAX: usize = 100;

/// See the module.
pub struct SimDriver {
    time: Time,
    /// When the machine was switched on.
    begun: Nanos,
    trace: Trace,
    state: Mutex<State>,
    me: Weak<SimDriver>,
}

struct State {
    prng: Prng,
    slots: Vec<Slot>,
    next_id: u64,
    /// The worker being stepped.
    stepping: Option<u64>,
    busy: u64,
    crew: Option<Arc<Crew>>,
    /// How often callers found nothing to do, one after the other, since a worker ran.
    looks: usize,
}

struct Slot {
    id: u64,
    /// Absent while it is stepped, and while its step waits for an operator.
    worker: Option<Box<dyn Worker>>,
    next: Next,
    woken: bool,
    stopping: bool,
}

impl Slot {
    fn is_runnable(&self, now: Nanos) -> bool {
        if self.worker.is_none() {
            return false;
        }
        self.woken
            || match self.next {
                Next::Again => true,
                Next::WaitUntil(moment) => moment <= now,
                Next::WaitForWork | Next::Stop => false,
            }
    }

    fn moment(&self) -> Option<Nanos> {
        match self.next {
            Next::WaitUntil(moment) => Some(moment).filter(|_| self.worker.is_some()),
            Next::Again | Next::WaitForWork | Next::Stop => None,
        }
    }
}

impl SimDriver {
    pub fn new(time: Time, trace: Trace, prng: Prng) -> Arc<SimDriver> {
        let state =
            State { prng, slots: Vec::new(), next_id: 0, stepping: None, busy: 0, crew: None, looks: 0 };
        let begun = time.now();
        Arc::new_cyclic(|me| SimDriver { time, begun, trace, state: Mutex::new(state), me: me.clone() })
    }

    /// Lets the workers run until none has anything to do now. Time passes, but does not jump.
    pub fn settle(&self) {
        while self.step_one() {}
    }

    /// Drops all workers, as when the power goes.
    pub fn shut_down(&self) {
        let slots = std::mem::take(&mut lock(&self.state).slots);
        drop(slots);
    }

    /// Lets several callers run to their ends. A panic of one of them continues here.
    pub fn run_callers(&self, callers: Vec<Caller<'_>>) {
        let crew = Arc::new(Crew::new(callers.len()));
        self.set_crew(Some(crew.clone()));
        let ended = crew.run(callers);
        self.set_crew(None);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    }

    /// From now on there are several callers, or no more.
    fn set_crew(&self, crew: Option<Arc<Crew>>) {
        lock(&self.state).crew = crew;
    }

    /// Another caller goes on, if there are some and the draw has it so; returns when it is this
    /// one's turn again.
    fn pass_at_will(&self) -> bool {
        let (crew, to) = {
            let mut state = lock(&self.state);
            let Some(crew) = state.crew.clone().filter(|_| state.stepping.is_none()) else { return false };
            let others = crew.others();
            if others.is_empty() || state.prng.chance(1, 2) {
                return false;
            }
            let to = *state.prng.pick(&others).expect("some");
            (crew, to)
        };
        crew.pass(to);
        true
    }

    /// As long as not all callers have looked, the next one does.
    fn pass_in_turn(&self, is_hopeless: bool) -> bool {
        let (crew, to) = {
            let mut state = lock(&self.state);
            let Some(crew) = state.crew.clone() else { return false };
            let others = crew.others();
            let looks = (others.len() + 1) * if is_hopeless { LOOKS_MAX } else { 1 };
            let Some(&to) = others.first().filter(|_| state.looks < looks) else { return false };
            state.looks += 1;
            (crew, to)
        };
        crew.pass(to);
        true
    }

    /// Steps one runnable worker. False if there is none.
    fn step_one(&self) -> bool {
        let now = self.time.now();
        // Asserted without the lock, which the unwinding step needs.
        let nested = lock(&self.state).stepping.is_some();
        assert!(!nested, "a worker's step waits for another worker");
        let (id, mut worker) = {
            let mut state = lock(&self.state);
            let runnable: Vec<usize> =
                (0..state.slots.len()).filter(|&n| state.slots[n].is_runnable(now)).collect();
            let Some(&chosen) = state.prng.pick(&runnable) else { return false };
            state.busy += 1;
            state.looks = 0;
            assert!(state.busy < BUSY_MAX, "the workers keep each other busy for ever");
            let slot = &mut state.slots[chosen];
            slot.woken = false;
            let (id, worker) = (slot.id, slot.worker.take().expect("nobody else steps it"));
            state.stepping = Some(id);
            (id, worker)
        };
        self.trace.note(id);
        self.time.advance(STEP);
        let mut stepping = Stepping { driver: self, id, worker: None, next: Next::Stop };
        stepping.next = worker.step(now);
        stepping.worker = Some(worker);
        true
    }
}

/// Puts a worker back after its step, also after one that panicked: then it is gone.
struct Stepping<'a> {
    driver: &'a SimDriver,
    id: u64,
    worker: Option<Box<dyn Worker>>,
    next: Next,
}

impl Drop for Stepping<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.driver.state);
        state.stepping = None;
        let Some(at) = state.slots.iter().position(|slot| slot.id == self.id) else { return };
        if self.next == Next::Stop || state.slots[at].stopping {
            state.slots.remove(at);
        } else {
            state.slots[at].worker = self.worker.take();
            state.slots[at].next = self.next;
        }
        // Whatever the worker owns is dropped with this, when the state is free again.
        drop(state);
    }
}

impl Driver for SimDriver {
    fn spawn(&self, worker: Box<dyn Worker>) -> WorkerHandle {
        let mut state = lock(&self.state);
        state.next_id += 1;
        let id = state.next_id;
        state.slots.push(Slot { id, worker: Some(worker), next: Next::Again, woken: false, stopping: false });
        WorkerHandle::new(Arc::new(Control { driver: self.me.clone(), id }))
    }

    /// One after the other, beginning anywhere: nothing may depend on the order.
    fn par_map(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        if n == 0 {
            return;
        }
        let first = lock(&self.state).prng.below(n as u64) as usize;
        (first..n).chain(0..first).for_each(f);
    }

    fn parallelism(&self) -> usize {
        2
    }

    fn is_cooperative(&self) -> bool {
        true
    }

    fn wait_step(&self, deadline: Option<Nanos>) {
        if self.pass_at_will() || self.step_one() {
            return;
        }
        let moment = lock(&self.state).slots.iter().filter_map(Slot::moment).chain(deadline).min();
        if self.pass_in_turn(moment.is_none()) {
            return;
        }
        let mut state = lock(&self.state);
        (state.busy, state.looks) = (0, 0);
        drop(state);
        match moment {
            Some(moment) => {
                self.trace.note(moment.0);
                self.time.advance_to(moment);
                assert!(moment.since(self.begun) < LIFE_MAX, "what is waited for never comes");
            }
            None => panic!("deadlock: nothing runnable"),
        }
    }

    fn wait_outside(&self) {
        let waiting = lock(&self.state).stepping.take();
        self.wait_step(None);
        lock(&self.state).stepping = waiting;
    }
}

struct Control {
    driver: Weak<SimDriver>,
    id: u64,
}

impl WorkerControl for Control {
    fn wake(&self) {
        let Some(driver) = self.driver.upgrade() else { return };
        let mut state = lock(&driver.state);
        if let Some(slot) = state.slots.iter_mut().find(|slot| slot.id == self.id) {
            slot.woken = true;
        }
    }

    fn stop_and_join(&self) {
        let Some(driver) = self.driver.upgrade() else { return };
        let worker = {
            let mut state = lock(&driver.state);
            let Some(at) = state.slots.iter().position(|slot| slot.id == self.id) else { return };
            assert_ne!(state.stepping, Some(self.id), "a worker cannot join itself");
            state.slots.remove(at)
        };
        drop(worker);
    }
}

#[cfg(test)]
mod tests;
