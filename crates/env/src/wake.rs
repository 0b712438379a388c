//! What it costs to wake a thread, by how long its processor has rested.
//!
//! A processor without work sleeps, the deeper the longer there is none; one of a virtual machine is given away to others
//! until somebody sends it an interrupt. So a load that waits long for its disks pays, at every change of threads, for
//! processors that have to be woken, and one that waits little does not. Nothing that is counted while it waits long
//! tells how much that is. It is measured: one thread sleeps, and wakes another one, on another processor, that has slept
//! as long.

use std::sync::{Condvar, Mutex};
use std::thread;

use crate::clock::processor_time;
use crate::{Clock, Nanos, lock};

/// How long to rest, and how often.
const TRIALS: [(Nanos, usize); POINTS] = [
    (Nanos(0), 64),
    (Nanos::from_micros(100), 64),
    (Nanos::from_micros(400), 64),
    (Nanos::from_micros(1_600), 32),
    (Nanos::from_micros(6_400), 16),
];
pub const POINTS: usize = 5;
/// So often is all that measured; the median counts.
const TIMES: usize = 3;

/// What one change of threads costs.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct WakeCost {
    /// Nanoseconds from the call that wakes a thread until it runs.
    pub latency: f64,
    /// Nanoseconds of processor time, of both threads: to wake, to go on, to go to sleep again.
    pub work: f64,
}

/// The same by how long the processors have rested before.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct WakeCosts([(Nanos, WakeCost); POINTS]);

impl WakeCosts {
    /// With the least rest first.
    pub fn new(points: [(Nanos, WakeCost); POINTS]) -> WakeCosts {
        WakeCosts(points)
    }

    /// By nanoseconds of rest, on the straight line between two that were measured.
    pub fn after(&self, rest: f64) -> WakeCost {
        let rest = rest.max(0.0);
        let (at, costs) = (self.0.map(|(rest, _)| rest.0 as f64), self.0.map(|(_, cost)| cost));
        let Some(above) = at.iter().position(|&measured| measured > rest) else { return costs[POINTS - 1] };
        let share = (rest - at[above - 1]) / (at[above] - at[above - 1]);
        let between = |low: f64, high: f64| low + share * (high - low);
        let (low, high) = (costs[above - 1], costs[above]);
        WakeCost { latency: between(low.latency, high.latency), work: between(low.work, high.work) }
    }
}

/// One thread's message to the other.
#[derive(Default)]
struct Bed {
    state: Mutex<Sleeper>,
    woken: Condvar,
}

#[derive(Default)]
struct Sleeper {
    /// It waits.
    sleeps: bool,
    /// When it was called.
    called: Option<Nanos>,
    is_over: bool,
}

/// Measures, in the time of `clock`.
pub fn measure(clock: &dyn Clock) -> WakeCosts {
    let processors = processors();
    let times: [_; TIMES] =
        std::array::from_fn(|_| TRIALS.map(|(rest, rounds)| trial(clock, rest, rounds, &processors)));
    let median = |point: usize, of: fn(&WakeCost) -> f64| {
        let mut all = times.each_ref().map(|costs| of(&costs[point]));
        all.sort_by(f64::total_cmp);
        all[TIMES / 2]
    };
    WakeCosts(std::array::from_fn(|point| {
        let cost =
            WakeCost { latency: median(point, |cost| cost.latency), work: median(point, |cost| cost.work) };
        (TRIALS[point].0, cost)
    }))
}

fn trial(clock: &dyn Clock, rest: Nanos, rounds: usize, processors: &[usize]) -> WakeCost {
    let bed = Bed::default();
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            stay_on(processors.last());
            sleep_and_wake(clock, &bed)
        });
        let caller = scope.spawn(|| {
            stay_on(processors.first());
            call(clock, &bed, rest, rounds)
        });
        let calling = caller.join().expect("it does not panic");
        let (mut latencies, waking) = sleeper.join().expect("it does not panic");
        latencies.sort_unstable();
        WakeCost {
            latency: latencies.get(latencies.len() / 2).map_or(0.0, |latency| latency.0 as f64),
            work: (calling + waking).0 as f64 / rounds as f64,
        }
    })
}

/// Gives how long each waking took, and the processor time of all.
fn sleep_and_wake(clock: &dyn Clock, bed: &Bed) -> (Vec<Nanos>, Nanos) {
    let (begun, mut latencies) = (processor_time(libc::CLOCK_THREAD_CPUTIME_ID), Vec::new());
    let mut state = lock(&bed.state);
    while !state.is_over {
        state.sleeps = true;
        state = bed.woken.wait(state).expect("nobody panics with this lock");
        if let Some(called) = state.called.take() {
            latencies.push(clock.now().since(called));
        }
    }
    (latencies, processor_time(libc::CLOCK_THREAD_CPUTIME_ID).since(begun))
}

/// Gives the processor time of the calls alone.
fn call(clock: &dyn Clock, bed: &Bed, rest: Nanos, rounds: usize) -> Nanos {
    let mut work = Nanos(0);
    for round in 0..=rounds {
        while !lock(&bed.state).sleeps {
            thread::yield_now();
        }
        clock.sleep(rest);
        let begun = processor_time(libc::CLOCK_THREAD_CPUTIME_ID);
        let mut state = lock(&bed.state);
        state.is_over = round == rounds;
        state.sleeps = false;
        state.called = (round < rounds).then(|| clock.now());
        drop(state);
        bed.woken.notify_one();
        work += processor_time(libc::CLOCK_THREAD_CPUTIME_ID).since(begun);
    }
    work
}

/// Those that this process may use.
fn processors() -> Vec<usize> {
    // SAFETY: all zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the call fills a set of this size.
    let status = unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) };
    // SAFETY: a set has so many members.
    let has = |&n: &usize| unsafe { libc::CPU_ISSET(n, &set) };
    if status == 0 { (0..libc::CPU_SETSIZE as usize).filter(has).collect() } else { Vec::new() }
}

/// Keeps this thread on a processor; where that cannot be it may go where it likes.
fn stay_on(processor: Option<&usize>) {
    let Some(&processor) = processor else { return };
    // SAFETY: all zeros are the empty set; the number is that of a member of such a set.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        set
    };
    // SAFETY: the call reads a set of this size.
    unsafe { libc::sched_setaffinity(0, size_of_val(&set), &set) };
}

#[cfg(test)]
mod tests;
