use super::*;
use env::{Env, MemDisks, OsEntropy, Quirks};
use std::sync::Condvar;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::clock::SimClock;

struct Count {
    steps: Arc<AtomicU64>,
    next: Next,
}

impl Worker for Count {
    fn name(&self) -> &'static str {
        "count"
    }

    fn step(&mut self, _now: Nanos) -> Next {
        self.steps.fetch_add(1, Relaxed);
        self.next
    }
}

fn world(seed: u64) -> (Env, Arc<SimDriver>, Trace) {
    let (time, trace) = (Time::default(), Trace::default());
    let driver = SimDriver::new(time.clone(), trace.clone(), Prng::new(seed));
    let env = Env {
        disks: Arc::new(MemDisks::new()),
        clock: Arc::new(SimClock::new(time, driver.clone())),
        entropy: Arc::new(OsEntropy),
        driver: driver.clone(),
        keepsake: None,
        quirks: Quirks::default(),
        tunables: Default::default(),
    };
    (env, driver, trace)
}

fn spawn(driver: &SimDriver, next: Next) -> (WorkerHandle, Arc<AtomicU64>) {
    let steps = Arc::new(AtomicU64::new(0));
    (driver.spawn(Box::new(Count { steps: steps.clone(), next })), steps)
}

#[test]
fn a_waiting_caller_lets_the_workers_run() {
    let (env, driver, _) = world(1);
    let (handle, steps) = spawn(&driver, Next::WaitForWork);
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    assert_eq!(steps.load(Relaxed), 0, "nobody waits, nobody runs");
    drop(env.wait(&mutex, lock(&mutex), &changed, &mut |()| steps.load(Relaxed) == 1));
    handle.wake();
    drop(env.wait(&mutex, lock(&mutex), &changed, &mut |()| steps.load(Relaxed) == 2));
}

#[test]
fn time_jumps_to_the_next_moment_when_nobody_can_run() {
    let (env, driver, _) = world(1);
    let (_handle, steps) = spawn(&driver, Next::WaitUntil(Nanos::from_secs(30)));
    env.clock.sleep(Nanos::from_secs(10));
    assert_eq!((steps.load(Relaxed), env.clock.now().0 / 1_000_000_000), (1, 10));
    env.clock.sleep(Nanos::from_secs(60));
    assert!(env.clock.now() >= Nanos::from_secs(70));
    assert!(steps.load(Relaxed) > 1, "its moment came");
}

#[test]
#[should_panic(expected = "deadlock: nothing runnable")]
fn waiting_for_what_nobody_does_is_a_deadlock() {
    let (env, driver, _) = world(1);
    let _idle = spawn(&driver, Next::WaitForWork);
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    drop(env.wait(&mutex, lock(&mutex), &changed, &mut |()| false));
}

#[test]
#[should_panic(expected = "what is waited for never comes")]
fn waiting_for_ever_is_noticed_though_a_worker_looks_at_the_clock() {
    struct Looks;
    impl Worker for Looks {
        fn name(&self) -> &'static str {
            "looks"
        }
        fn step(&mut self, now: Nanos) -> Next {
            Next::WaitUntil(now + Nanos::from_secs(10))
        }
    }
    let (env, driver, _) = world(1);
    driver.spawn(Box::new(Looks));
    let (mutex, changed) = (Mutex::new(()), Condvar::new());
    drop(env.wait(&mutex, lock(&mutex), &changed, &mut |()| false));
}

#[test]
#[should_panic(expected = "a worker's step waits for another worker")]
fn a_step_must_not_wait() {
    struct Waits(Env);
    impl Worker for Waits {
        fn name(&self) -> &'static str {
            "waits"
        }
        fn step(&mut self, _now: Nanos) -> Next {
            self.0.clock.sleep(Nanos::from_secs(1));
            Next::Stop
        }
    }
    let (env, driver, _) = world(1);
    driver.spawn(Box::new(Waits(env)));
    driver.settle();
}

#[test]
fn a_stopped_worker_is_dropped_and_runs_no_more() {
    let (_env, driver, _) = world(1);
    let (handle, steps) = spawn(&driver, Next::WaitForWork);
    driver.settle();
    handle.stop_and_join();
    handle.stop_and_join();
    handle.wake();
    driver.settle();
    assert_eq!(steps.load(Relaxed), 1);
    assert_eq!(Arc::strong_count(&steps), 1, "the worker is gone");
}

#[test]
fn the_order_is_a_function_of_the_seed() {
    let order = |seed: u64| {
        let (env, driver, trace) = world(seed);
        let _workers: Vec<_> =
            (0..5).map(|n| spawn(&driver, Next::WaitUntil(Nanos::from_millis(n)))).collect();
        env.clock.sleep(Nanos::from_millis(1));
        trace.hash()
    };
    assert_eq!(order(7), order(7));
    assert_ne!(order(7), order(8));
}

#[test]
fn par_map_calls_every_index_once() {
    let (_env, driver, _) = world(3);
    let calls: Vec<AtomicU64> = (0..9).map(|_| AtomicU64::new(0)).collect();
    driver.par_map(9, &|n| {
        calls[n].fetch_add(1, Relaxed);
    });
    assert!(calls.iter().all(|count| count.load(Relaxed) == 1));
}
