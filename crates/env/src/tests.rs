use std::thread;

use super::*;

fn env() -> Env {
    Env { disks: Arc::new(MemDisks::new()), ..Env::real() }
}

#[test]
fn wait_sees_what_another_thread_does() {
    let env = env();
    let (state, changed) = (Mutex::new(0), Condvar::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..3 {
                *lock(&state) += 1;
                changed.notify_all();
            }
        });
        let guard = env.wait(&state, lock(&state), &changed, &mut |n| *n == 3);
        assert_eq!(*guard, 3);
    });
}

#[test]
fn wait_until_gives_up_at_its_deadline() {
    let env = env();
    let (state, changed) = (Mutex::new(()), Condvar::new());
    let deadline = env.clock.now() + Nanos::from_millis(10);
    let (guard, ready) = env.wait_until(&state, lock(&state), &changed, deadline, &mut |()| false);
    assert!(!ready && env.clock.now() >= deadline);
    drop(guard);
    let (_guard, ready) = env.wait_until(&state, lock(&state), &changed, deadline, &mut |()| true);
    assert!(ready, "a predicate that holds beats a deadline that has passed");
}

/// The smallest cooperative driver: each unit of progress is one call of a closure.
struct Stepper(Box<dyn Fn(Option<Nanos>) + Send + Sync>);

impl Driver for Stepper {
    fn spawn(&self, _worker: Box<dyn Worker>) -> WorkerHandle {
        unreachable!("this driver has one fixed step")
    }
    fn par_map(&self, n: usize, f: &(dyn Fn(usize) + Sync)) {
        (0..n).for_each(f);
    }
    fn parallelism(&self) -> usize {
        1
    }
    fn is_cooperative(&self) -> bool {
        true
    }
    fn wait_step(&self, deadline: Option<Nanos>) {
        (self.0)(deadline);
    }
}

#[test]
fn cooperative_wait_unlocks_and_steps() {
    let state = Arc::new(Mutex::new(0));
    let inner = state.clone();
    let step = move |deadline| {
        assert_eq!(deadline, None);
        *inner.try_lock().expect("wait must have unlocked") += 1;
    };
    let env = Env { driver: Arc::new(Stepper(Box::new(step))), ..env() };
    let guard = env.wait(&state, lock(&state), &Condvar::new(), &mut |n| *n == 5);
    assert_eq!(*guard, 5);
}
