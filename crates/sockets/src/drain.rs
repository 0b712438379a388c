//! The thread that writes to those who are slow to take it.
//!
//! Whoever has a reply writes it, and waits a moment where the peer has no room. What is left then
//! is this thread's, which waits for all such peers at once: a peer that never reads costs its
//! memory and nobody's time. One that takes nothing for [`STALL`] is cut, whether others wait for
//! that memory or not.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use crate::lock::lock;

/// A peer that takes nothing for so long is cut.
pub const STALL: Duration = Duration::from_secs(60);
/// How often that is looked at.
const LOOK: u16 = 1_000;
/// Peers that are looked after in one turn.
const TURN: usize = 64;

/// Something to be written to a peer that is slow.
pub(crate) trait Slow: Send + Sync {
    fn fd(&self) -> BorrowedFd<'_>;
    /// Writes what can be written at once; false: that was all, and [`Slow::done`] is to be called.
    fn write_some(&self) -> bool;
    /// It is waited for no more; false: meanwhile there is something again.
    fn done(&self) -> bool;
    /// When the peer last took anything.
    fn moved(&self) -> Instant;
    fn cut(&self);
}

/// See the module.
pub struct Drain {
    /// `None`: the system has none to give.
    epoll: Option<Epoll>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slow: HashMap<u64, Arc<dyn Slow>>,
    next: u64,
}

const ONCE: EpollFlags = EpollFlags::EPOLLOUT.union(EpollFlags::EPOLLONESHOT);

impl Drain {
    /// Its thread ends with it, and begins when it is there: a thread that finds none ends.
    pub(crate) fn start() -> Arc<Drain> {
        let Ok(epoll) = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC) else {
            tracing::warn!("no epoll: slow peers are cut off");
            return Arc::new(Drain { epoll: None, state: Mutex::default() });
        };
        let drain = Arc::new(Drain { epoll: Some(epoll), state: Mutex::default() });
        let own = Arc::downgrade(&drain);
        match thread::Builder::new().name("drain".to_owned()).spawn(move || run(&own)) {
            Ok(_) => drain,
            Err(error) => {
                tracing::warn!(%error, "no thread for slow peers: they are cut off");
                Arc::new(Drain { epoll: None, state: Mutex::default() })
            }
        }
    }

    /// Takes over; false: it cannot.
    pub(crate) fn add(&self, slow: Arc<dyn Slow>) -> bool {
        let Some(epoll) = &self.epoll else { return false };
        let mut state = lock(&self.state);
        state.next += 1;
        let key = state.next;
        let added = epoll.add(slow.fd(), EpollEvent::new(ONCE, key));
        if let Err(error) = added {
            tracing::warn!(%error, "a slow peer cannot be waited for");
            return false;
        }
        state.slow.insert(key, slow);
        true
    }

    fn turn(&self, epoll: &Epoll) {
        let mut events = [EpollEvent::empty(); TURN];
        // Interrupted: as if nothing had come.
        let count = epoll.wait(&mut events, EpollTimeout::from(LOOK)).unwrap_or(0);
        for event in &events[..count] {
            let key = event.data();
            let Some(slow) = lock(&self.state).slow.get(&key).cloned() else { continue };
            if slow.write_some() && epoll.modify(slow.fd(), &mut EpollEvent::new(ONCE, key)).is_ok() {
                continue;
            }
            lock(&self.state).slow.remove(&key);
            // It was added, so it can be deleted; and it is again when there is more.
            let _gone = epoll.delete(slow.fd());
            if !slow.done() && !self.add(slow.clone()) {
                slow.cut();
            }
        }
    }

    fn cut_stalled(&self) {
        let stalled: Vec<Arc<dyn Slow>> =
            lock(&self.state).slow.values().filter(|slow| slow.moved().elapsed() >= STALL).cloned().collect();
        // What is shut can be written to, which ends it.
        stalled.iter().for_each(|slow| slow.cut());
    }
}

fn run(own: &Weak<Drain>) {
    let mut looked = Instant::now();
    while let Some(drain) = own.upgrade() {
        let Some(epoll) = &drain.epoll else { return };
        drain.turn(epoll);
        if looked.elapsed() >= Duration::from_millis(LOOK.into()) {
            drain.cut_stalled();
            looked = Instant::now();
        }
    }
}

#[cfg(test)]
mod tests;
