use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use env::{Clock, Env, MemDisks, Threads, WallTime, lock};

use super::*;
use crate::arc::Cache;
use crate::{Cause, FailMode};

/// A clock that is set by hand.
#[derive(Default)]
struct Hand(AtomicU64);

impl Clock for Hand {
    fn now(&self) -> Nanos {
        Nanos(self.0.load(SeqCst))
    }

    fn wall(&self) -> WallTime {
        WallTime { secs: 0, nanos: 0 }
    }

    fn sleep(&self, _duration: Nanos) {
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn storage(clock: Arc<Hand>) -> Arc<Storage> {
    let driver = Arc::new(Threads::with_clock(2, clock.clone()));
    let env = Env { clock, driver, disks: Arc::new(MemDisks::new()), ..Env::real() };
    Storage::new(env, Cache::new(1 << 20), 7)
}

fn soon(is_so: &dyn Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it does not come");
        std::thread::sleep(Duration::from_millis(1));
    }
}

struct Panics;

impl Worker for Panics {
    fn name(&self) -> &'static str {
        "clumsy"
    }

    fn step(&mut self, _now: Nanos) -> Next {
        panic!("it fell over");
    }
}

#[test]
fn a_worker_that_panics_ends_its_pool_and_no_other() {
    let (one, other) = (storage(Arc::default()), storage(Arc::default()));
    for storage in [&one, &other] {
        storage.suspension().set_mode(FailMode::Wait);
        storage.suspension().be_patient();
    }
    let heard = Arc::new(Mutex::new(Vec::new()));
    let listener = heard.clone();
    one.suspension().listen(Box::new(move |cause| lock(&listener).push(cause)));
    let worker = one.spawn(Box::new(Panics));
    soon(&|| one.is_suspended());
    // Joining it is no panic for whoever ends the pool.
    worker.stop_and_join();
    assert_eq!(one.suspension().cause(), Some(Cause::Fault));
    assert_eq!(one.suspension().fault_text().as_deref(), Some("clumsy: it fell over"));
    assert_eq!(*lock(&heard), [Some(Cause::Fault)]);
    assert!(one.suspension().admit().is_err(), "nobody waits for what does not come back");
    assert!(!one.suspension().resume() && one.is_suspended());
    one.suspension().suspend(Cause::Io);
    assert_eq!(one.suspension().cause(), Some(Cause::Fault));
    assert!(!other.is_suspended() && other.suspension().admit().is_ok());
}

/// Stays in its step until it may go.
struct Stays(Arc<Mutex<bool>>);

impl Worker for Stays {
    fn name(&self) -> &'static str {
        "sleepy"
    }

    fn step(&mut self, _now: Nanos) -> Next {
        while !*lock(&self.0) {
            std::thread::sleep(Duration::from_millis(1));
        }
        Next::WaitForWork
    }
}

#[test]
fn a_worker_that_is_stuck_is_named() {
    let clock = Arc::new(Hand::default());
    let storage = storage(clock.clone());
    clock.0.store(Nanos::from_secs(5).0, SeqCst);
    let may_go = Arc::new(Mutex::new(false));
    let worker = storage.spawn(Box::new(Stays(may_go.clone())));
    // It is not late before its time, and named once when it is.
    let late = Nanos(Nanos::from_secs(5).0 + STEP_LIMIT.0);
    let mut named = Vec::new();
    let begun = Instant::now();
    while named.is_empty() && begun.elapsed() < Duration::from_secs(30) {
        assert_eq!(storage.stuck(Nanos(late.0 - 1)), []);
        named = storage.stuck(late);
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(named, [Stuck { what: "sleepy".into(), since: Nanos::from_secs(5), vdev: None }]);
    assert_eq!(storage.stuck(Nanos(late.0 * 2)), []);
    *lock(&may_go) = true;
    worker.stop_and_join();
}
