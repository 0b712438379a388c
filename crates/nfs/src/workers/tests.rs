use std::sync::mpsc::{Receiver, Sender, channel};

use super::*;

/// Starts jobs that wait for the sender and returns when all of them wait.
fn hold(workers: &Workers, jobs: usize) -> Sender<()> {
    let (release, released): (Sender<()>, Receiver<()>) = channel();
    let released = Arc::new(Mutex::new(released));
    let (tell, told) = channel();
    for _ in 0..jobs {
        let (tell, released) = (tell.clone(), released.clone());
        workers.submit(Box::new(move || {
            tell.send(()).unwrap();
            // An error is the release, too.
            let _ = lock(&released).recv();
        }));
    }
    told.iter().take(jobs).for_each(drop);
    release
}

fn threads(workers: &Workers) -> usize {
    lock(&workers.shared.state).threads
}

#[test]
fn as_many_jobs_wait_at_a_time_as_there_may_be_threads() {
    let workers = Workers::new(200);
    let release = hold(&workers, 200);
    assert_eq!(threads(&workers), 200);
    drop(release);
    workers.stop();
    assert_eq!(threads(&workers), 0);
}

#[test]
fn a_job_beyond_the_last_thread_is_done_when_one_is_free() {
    let workers = Workers::new(2);
    let release = hold(&workers, 2);
    let (tell, told) = channel();
    workers.submit(Box::new(move || tell.send(()).unwrap()));
    assert!(told.try_recv().is_err());
    drop(release);
    assert_eq!(told.recv(), Ok(()));
    assert_eq!(threads(&workers), 2);
    workers.stop();
}

#[test]
fn idle_threads_end() {
    let workers = Workers::with_idle_age(50, Duration::from_millis(1));
    drop(hold(&workers, 50));
    let mut state = lock(&workers.shared.state);
    while state.threads > 0 {
        state = workers.shared.ended.wait(state).unwrap();
    }
    assert!(state.idle.is_empty());
}

#[test]
fn one_job_after_the_other_needs_one_thread() {
    let workers = Workers::new(50);
    for _ in 0..20 {
        let (tell, told) = channel();
        workers.submit(Box::new(move || tell.send(()).unwrap()));
        told.recv().unwrap();
        // The answer comes out of the job: its thread is idle a moment later.
        while lock(&workers.shared.state).idle.is_empty() {
            std::thread::yield_now();
        }
    }
    assert_eq!(threads(&workers), 1);
    workers.stop();
}

#[test]
fn what_is_queued_is_done_before_the_end() {
    let workers = Workers::new(1);
    let release = hold(&workers, 1);
    let done = Arc::new(AtomicUsize::new(0));
    for _ in 0..10 {
        let done = done.clone();
        workers.submit(Box::new(move || {
            done.fetch_add(1, Ordering::SeqCst);
        }));
    }
    drop(release);
    workers.stop();
    assert_eq!(done.load(Ordering::SeqCst), 10);
}

#[test]
fn busy_connections_share_the_pool() {
    let workers = Workers::new(512);
    assert_eq!(workers.share(), 512);
    workers.busy().store(4, Ordering::Relaxed);
    assert_eq!(workers.share(), 128);
    workers.busy().store(1000, Ordering::Relaxed);
    assert_eq!(workers.share(), LEAST_SHARE);
}
