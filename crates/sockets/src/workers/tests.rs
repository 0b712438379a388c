use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Whose threads do not end because they are idle.
fn config(threads: usize) -> Config {
    let idle_age = Duration::from_secs(600);
    Config { name: |number| format!("worker-{number}"), threads, stack: 512 << 10, idle_age }
}

fn pool(threads: usize) -> Workers {
    Workers::new(config(threads))
}

/// Starts jobs that wait for the sender and returns when all of them wait.
fn hold(workers: &Workers, jobs: usize) -> Sender<()> {
    let (release, released): (Sender<()>, Receiver<()>) = channel();
    let released = Arc::new(Mutex::new(released));
    let (tell, told) = channel();
    for _ in 0..jobs {
        let (tell, released) = (tell.clone(), released.clone());
        workers.submit(move || {
            tell.send(()).unwrap();
            // An error is the release, too.
            let _ = lock(&released).recv();
        });
    }
    told.iter().take(jobs).for_each(drop);
    release
}

fn threads(workers: &Workers) -> usize {
    lock(&workers.0.state).threads
}

fn idle(workers: &Workers) -> usize {
    lock(&workers.0.state).idle.len()
}

fn wait_for_idle(workers: &Workers, threads: usize) {
    while idle(workers) < threads {
        thread::yield_now();
    }
}

/// Counts one that is about to be started, as who submits does.
fn count_in(workers: &Workers) {
    let mut state = lock(&workers.0.state);
    state.coming += 1;
    state.threads += 1;
}

fn submit_counted(workers: &Workers, done: &Arc<AtomicUsize>) {
    let done = done.clone();
    workers.submit(move || {
        done.fetch_add(1, SeqCst);
    });
}

#[test]
fn as_many_jobs_wait_at_a_time_as_there_may_be_threads() {
    let workers = pool(200);
    let release = hold(&workers, 200);
    assert_eq!(threads(&workers), 200);
    drop(release);
    workers.stop();
    assert_eq!(threads(&workers), 0);
}

#[test]
fn a_job_beyond_the_last_thread_is_done_when_one_is_free() {
    let workers = pool(2);
    let release = hold(&workers, 2);
    let (tell, told) = channel();
    workers.submit(move || tell.send(()).unwrap());
    assert!(told.try_recv().is_err());
    drop(release);
    assert_eq!(told.recv(), Ok(()));
    assert_eq!(threads(&workers), 2);
    workers.stop();
}

#[test]
fn idle_threads_end() {
    let workers = Workers::new(Config { idle_age: Duration::from_millis(1), ..config(50) });
    drop(hold(&workers, 50));
    let mut state = lock(&workers.0.state);
    while state.threads > 0 {
        state = workers.0.ended.wait(state).unwrap();
    }
    assert!(state.idle.is_empty());
}

#[test]
fn one_job_after_the_other_needs_one_thread() {
    let workers = pool(50);
    for _ in 0..20 {
        let (tell, told) = channel();
        workers.submit(move || tell.send(()).unwrap());
        told.recv().unwrap();
        // The answer comes out of the job: its thread is idle a moment later.
        wait_for_idle(&workers, 1);
    }
    assert_eq!(threads(&workers), 1);
    workers.stop();
}

#[test]
fn a_job_goes_to_the_thread_that_became_idle_last() {
    for last in 0..2 {
        let workers = pool(2);
        let mut held = [hold(&workers, 1), hold(&workers, 1)].map(Some);
        for (count, place) in [1 - last, last].into_iter().enumerate() {
            drop(held[place].take());
            wait_for_idle(&workers, count + 1);
        }
        let (tell, told) = channel();
        workers.submit(move || tell.send(thread::current().name().map(str::to_owned)).unwrap());
        assert_eq!(told.recv().unwrap(), Some(format!("worker-{}", last + 1)));
        workers.stop();
    }
}

#[test]
fn a_job_wakes_one_thread_at_the_most() {
    let workers = pool(3);
    drop(hold(&workers, 3));
    wait_for_idle(&workers, 3);
    for _ in 0..100 {
        let release = hold(&workers, 1);
        assert_eq!(idle(&workers), 2);
        drop(release);
        wait_for_idle(&workers, 3);
    }
    let release = hold(&workers, 1);
    // As if one were on its way whose job a busy one has taken.
    lock(&workers.0.state).coming += 1;
    workers.submit(|| {});
    assert_eq!(idle(&workers), 2);
    lock(&workers.0.state).coming -= 1;
    drop(release);
    workers.stop();
    assert_eq!(threads(&workers), 0);
}

#[test]
fn what_is_queued_is_done_before_the_end() {
    let workers = pool(1);
    let release = hold(&workers, 1);
    let done = Arc::new(AtomicUsize::new(0));
    (0..10).for_each(|_| submit_counted(&workers, &done));
    drop(release);
    workers.stop();
    assert_eq!(done.load(SeqCst), 10);
}

/// Whoever looks at the queue without the lock sees what waits in it.
#[test]
fn there_is_room_until_so_many_wait() {
    let workers = pool(1);
    assert!(workers.has_room(1) && !pool(0).has_room(1));
    let release = hold(&workers, 1);
    assert!(workers.has_room(1), "it is being done");
    workers.submit(|| {});
    assert!(!workers.has_room(1) && workers.has_room(2));
    drop(release);
    workers.stop();
    assert!(workers.has_room(1));
}

#[test]
fn busy_connections_share_the_pool() {
    let workers = pool(512);
    let busy = |count: usize| -> Vec<Arc<Jobs>> { (0..count).map(|_| workers.jobs()).collect() };
    let [few, many] = [busy(4), busy(996)];
    assert_eq!(workers.share(16), 512);
    let of_few: Vec<Flight> = few.iter().map(Jobs::take_off).collect();
    let second = few[0].take_off();
    assert_eq!((workers.share(16), few[0].in_flight()), (128, 2));
    let of_many: Vec<Flight> = many.iter().map(Jobs::take_off).collect();
    assert_eq!(workers.share(16), 16);
    drop((of_few, of_many));
    assert_eq!((workers.share(16), few[0].in_flight()), (512, 1));
    drop(second);
    assert_eq!((workers.share(16), workers.0.busy.load(SeqCst)), (512, 0));
}

#[test]
fn who_waits_for_jobs_waits_until_the_last_has_landed() {
    let workers = pool(1);
    let jobs = workers.jobs();
    let (first, last) = (jobs.take_off(), jobs.take_off());
    let (has_landed, (begin, begun)) = (AtomicBool::new(false), channel());
    thread::scope(|scope| {
        let waits = scope.spawn(|| {
            begin.send(()).unwrap();
            jobs.wait();
            assert!(has_landed.load(SeqCst));
        });
        begun.recv().unwrap();
        drop(first);
        thread::sleep(Duration::from_millis(20));
        assert!(!waits.is_finished());
        has_landed.store(true, SeqCst);
        drop(last);
        waits.join().unwrap();
    });
}

#[test]
fn a_job_that_panics_lands() {
    let workers = pool(1);
    let jobs = workers.jobs();
    let flight = jobs.take_off();
    workers.submit(move || {
        let _flight = flight;
        panic!("as this test wants it");
    });
    jobs.wait();
    assert_eq!(jobs.in_flight(), 0);
    workers.stop();
}

#[test]
fn a_pool_that_is_dropped_keeps_no_idle_threads() {
    let workers = pool(10);
    drop(hold(&workers, 10));
    wait_for_idle(&workers, 10);
    let shared = workers.0.clone();
    drop(workers);
    let some = |state: &mut State| state.threads > 0;
    let waited = shared.ended.wait_timeout_while(lock(&shared.state), Duration::from_secs(60), some);
    assert!(!waited.unwrap().1.timed_out());
}

#[test]
fn a_job_that_panics_ends_no_thread() {
    let workers = pool(1);
    workers.submit(|| panic!("as this test wants it"));
    let (tell, told) = channel();
    workers.submit(move || tell.send(thread::current().name().map(str::to_owned)).unwrap());
    assert_eq!(told.recv().unwrap().as_deref(), Some("worker-1"));
    workers.stop();
}

/// No system has room for such a stack.
#[test]
fn where_no_thread_can_be_made_whoever_submits_works() {
    let workers = Workers::new(Config { stack: 1 << 60, ..config(2) });
    let done = Arc::new(AtomicUsize::new(0));
    for count in 1..=3 {
        submit_counted(&workers, &done);
        assert_eq!(done.load(SeqCst), count);
    }
    assert_eq!((threads(&workers), lock(&workers.0.state).coming), (0, 0));
    workers.stop();
}

/// Two wait for a thread that cannot be made: who wanted it does one, and the other only where
/// nobody else would.
#[test]
fn who_stands_in_for_a_thread_does_one_job_or_all_where_there_is_no_thread() {
    for busy in 0..2 {
        let workers = Workers::new(Config { stack: 1 << 60, ..config(busy + 1) });
        let mut held = Vec::new();
        for _ in 0..busy {
            // This one can be made.
            count_in(&workers);
            let shared = workers.0.clone();
            thread::spawn(move || shared.work());
            held.push(hold(&workers, 1));
        }
        count_in(&workers);
        let done = Arc::new(AtomicUsize::new(0));
        (0..2).for_each(|_| submit_counted(&workers, &done));
        assert_eq!(done.load(SeqCst), 0);
        workers.start(2);
        assert_eq!((done.load(SeqCst), threads(&workers)), (2 - busy, busy));
        drop(held);
        workers.stop();
        assert_eq!((done.load(SeqCst), threads(&workers)), (2, 0));
    }
}

/// Threads that give up waiting as they are called.
#[test]
fn no_job_is_left_while_threads_come_and_go() {
    let workers = Workers::new(Config { idle_age: Duration::from_micros(50), ..config(3) });
    let done = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..500 {
                    let (done, (tell, told)) = (done.clone(), channel());
                    workers.submit(move || {
                        done.fetch_add(1, SeqCst);
                        tell.send(()).unwrap();
                    });
                    told.recv_timeout(Duration::from_secs(60)).unwrap();
                }
            });
        }
    });
    workers.stop();
    let state = lock(&workers.0.state);
    assert_eq!((done.load(SeqCst), state.threads, state.coming, state.jobs.len()), (2000, 0, 0, 0));
}
