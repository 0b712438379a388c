use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Reports each step, then does what it is told.
struct Echo {
    stepped: Sender<()>,
    next: Receiver<Next>,
}

impl Worker for Echo {
    fn name(&self) -> &'static str {
        "echo"
    }

    fn step(&mut self, _now: Nanos) -> Next {
        self.stepped.send(()).expect("the test outlives its worker");
        self.next.recv().unwrap_or(Next::Stop)
    }
}

fn echo(threads: &Threads) -> (WorkerHandle, Receiver<()>, Sender<Next>) {
    let (stepped, steps) = channel();
    let (tell, next) = channel();
    (threads.spawn(Box::new(Echo { stepped, next })), steps, tell)
}

const SOON: Duration = Duration::from_secs(5);
const NEVER: Duration = Duration::from_millis(30);

#[test]
fn worker_sleeps_until_woken() {
    let threads = Threads::with_parallelism(1);
    let (handle, steps, tell) = echo(&threads);
    steps.recv_timeout(SOON).unwrap();
    tell.send(Next::WaitForWork).unwrap();
    steps.recv_timeout(NEVER).unwrap_err();
    handle.wake();
    steps.recv_timeout(SOON).unwrap();
    tell.send(Next::Again).unwrap();
    steps.recv_timeout(SOON).unwrap();
    tell.send(Next::WaitForWork).unwrap();
    handle.stop_and_join();
    handle.stop_and_join();
}

#[test]
fn wake_during_a_step_is_remembered() {
    let threads = Threads::with_parallelism(1);
    let (handle, steps, tell) = echo(&threads);
    steps.recv_timeout(SOON).unwrap();
    handle.wake();
    tell.send(Next::WaitForWork).unwrap();
    steps.recv_timeout(SOON).unwrap();
    tell.send(Next::Stop).unwrap();
    handle.stop_and_join();
}

#[test]
fn wait_until_ends_by_itself() {
    let clock = Arc::new(RealClock::new());
    let threads = Threads::with_clock(1, clock.clone());
    let (handle, steps, tell) = echo(&threads);
    steps.recv_timeout(SOON).unwrap();
    let time = clock.now() + Nanos::from_millis(20);
    tell.send(Next::WaitUntil(time)).unwrap();
    steps.recv_timeout(SOON).unwrap();
    assert!(clock.now() >= time);
    drop(tell);
    handle.stop_and_join();
}

struct Bad(Sender<()>);
impl Worker for Bad {
    fn name(&self) -> &'static str {
        "bad"
    }
    fn step(&mut self, _now: Nanos) -> Next {
        self.0.send(()).expect("the test listens");
        panic!("on purpose")
    }
}

#[test]
#[should_panic(expected = "on purpose")]
fn panic_of_a_worker_reaches_who_joins() {
    let (stepped, steps) = channel();
    let handle = Threads::with_parallelism(1).spawn(Box::new(Bad(stepped)));
    steps.recv_timeout(SOON).unwrap();
    handle.stop_and_join();
}

#[test]
fn par_map_calls_each_index_once() {
    let threads = Threads::with_parallelism(4);
    for n in [0, 1, 2, 7, 1000] {
        let seen: Vec<AtomicUsize> = (0..n).map(|_| AtomicUsize::new(0)).collect();
        threads.par_map(n, &|i| {
            seen[i].fetch_add(1, Ordering::Relaxed);
        });
        assert!(seen.iter().all(|count| count.load(Ordering::Relaxed) == 1), "n = {n}");
    }
}

#[test]
fn par_map_nests_and_runs_concurrently() {
    let threads = Threads::with_parallelism(3);
    let sum = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                threads.par_map(20, &|_| {
                    threads.par_map(10, &|i| {
                        sum.fetch_add(i, Ordering::Relaxed);
                    });
                });
            });
        }
    });
    assert_eq!(sum.load(Ordering::Relaxed), 4 * 20 * 45);
}

#[test]
#[should_panic(expected = "index 3")]
fn par_map_passes_a_panic_on() {
    Threads::with_parallelism(2).par_map(8, &|i| assert!(i != 3, "index {i}"));
}

#[test]
fn the_caller_does_its_own_beside() {
    for parallelism in [1, 3] {
        let threads = Threads::with_parallelism(parallelism);
        let (calls, mut owned) = (AtomicUsize::new(0), None);
        let count = |_| {
            calls.fetch_add(1, Ordering::Relaxed);
        };
        threads.par_map_beside(20, &count, &mut || owned = Some(thread::current().id()));
        threads.par_map_beside(0, &count, &mut || assert_eq!(owned, Some(thread::current().id())));
        assert_eq!(calls.load(Ordering::Relaxed), 20);
        // One that fails does not leave the others behind.
        let failed = catch_unwind(AssertUnwindSafe(|| {
            threads.par_map_beside(20, &count, &mut || panic!("on purpose"));
        }));
        assert!(failed.is_err());
        let finished = if parallelism > 1 { 40 } else { 20 };
        assert_eq!(calls.load(Ordering::Relaxed), finished);
    }
}
