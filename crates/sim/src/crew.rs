//! Callers whose calls are under way at the same time. Each has a thread, and one of them runs,
//! until it waits for something: there the driver draws who goes on. So a seed is still one
//! history.
//!
//! Nobody else calls the engine meanwhile. Who wants a lock that a caller holds while it waits
//! would never get it: then the program ends, for nothing else could.

use std::any::Any;
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use env::lock;

/// How long one caller may run: far longer than it takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// What one caller does.
pub type Caller<'a> = Box<dyn FnOnce() + Send + 'a>;

/// See the module. The driver has it while they run (`SimDriver::run_callers`).
pub struct Crew {
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// Who runs.
    turn: usize,
    /// Who has not come to an end.
    left: Vec<usize>,
}

impl Crew {
    /// Of so many callers; the first is the first to run.
    pub fn new(callers: usize) -> Crew {
        let left: Vec<usize> = (0..callers).collect();
        Crew { state: Mutex::new(State { turn: 0, left }), changed: Condvar::new() }
    }

    /// Lets all of them run to their ends. `Err`: the panic of one of them.
    pub fn run<'a>(&self, callers: Vec<Caller<'a>>) -> std::thread::Result<()> {
        let mut panic: Option<Box<dyn Any + Send>> = None;
        std::thread::scope(|scope| {
            let begin = |(me, caller): (usize, Caller<'a>)| {
                scope.spawn(move || {
                    let _turn = Turn { crew: self, me };
                    self.wait_for_turn(me);
                    caller();
                })
            };
            let threads: Vec<_> = callers.into_iter().enumerate().map(begin).collect();
            for thread in threads {
                panic = thread.join().err().or(panic.take());
            }
        });
        panic.map_or(Ok(()), Err)
    }

    /// Who could run as well as the one that does, in order, the next one first.
    pub fn others(&self) -> Vec<usize> {
        let state = lock(&self.state);
        let (before, after): (Vec<_>, Vec<_>) =
            state.left.iter().copied().filter(|who| *who != state.turn).partition(|who| *who < state.turn);
        [after, before].concat()
    }

    /// The caller who runs lets another one; returns when it is its own turn again.
    pub fn pass(&self, to: usize) {
        let me = std::mem::replace(&mut lock(&self.state).turn, to);
        self.changed.notify_all();
        self.wait_for_turn(me);
    }

    fn wait_for_turn(&self, me: usize) {
        let not_yet = |state: &mut State| state.turn != me;
        let waited = self.changed.wait_timeout_while(lock(&self.state), PATIENCE, not_yet);
        if waited.is_ok_and(|(_, timeout)| timeout.timed_out()) {
            eprintln!("a caller does not come to where it waits: it wants what one who waits holds");
            std::process::abort();
        }
    }
}

/// The end of it, also by a panic, is the next one's turn.
struct Turn<'a> {
    crew: &'a Crew,
    me: usize,
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let next = self.crew.others().first().copied();
        let mut state = lock(&self.crew.state);
        state.left.retain(|who| *who != self.me);
        state.turn = next.unwrap_or(self.me);
        drop(state);
        self.crew.changed.notify_all();
    }
}
