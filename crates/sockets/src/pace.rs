//! How long each class of request takes: what decides who works on the next one.
//!
//! What counts is waiting: a request that waits is better handed to a worker, so that later ones
//! overtake it. One that took long and never went to sleep has not waited; others had the
//! processor, and a worker would have to queue for it just the same. Taken for waiting, it would
//! have the work of a busy machine spread over hundreds of threads that take the processors from
//! each other. So of such a request only its own processor time counts.
//!
//! Asking how often a thread has slept is a system call; it is made for classes that have been slow
//! lately. One slow request of a quick class is therefore believed in part, and the next is
//! watched.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};

/// Up to this, work is done by a connection's reader even when more requests wait behind it.
pub const FAST: Duration = Duration::from_micros(100);
/// Requests of a class that takes longer are watched.
const SUSPECT: Duration = Duration::from_micros(10);
/// What a request counts at the most that was not.
const UNWATCHED: Duration = Duration::from_micros(200);

/// How long each of so many classes of request took lately, in microseconds.
pub struct Pace<const CLASSES: usize>([AtomicU32; CLASSES]);

impl<const CLASSES: usize> Pace<CLASSES> {
    /// With what is assumed of each class until it has been measured.
    pub fn new(guesses: [Duration; CLASSES]) -> Pace<CLASSES> {
        Pace(guesses.map(|guess| AtomicU32::new(guess.as_micros() as u32)))
    }

    pub fn of(&self, class: usize) -> Duration {
        Duration::from_micros(u64::from(self.0[class].load(Ordering::Relaxed)))
    }

    /// An eighth of the average is the newest sample. Races lose a sample now and then, which does
    /// not matter.
    pub fn note(&self, class: usize, took: Duration) {
        let old = self.0[class].load(Ordering::Relaxed);
        let new = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        self.0[class].store(old - old / 8 + new / 8, Ordering::Relaxed);
    }

    /// To be called before a request of this class is worked on, by the thread that does: it begins
    /// at the time that the caller gives, now.
    pub fn watch(&self, class: usize, begun: Instant) -> Watch {
        let spent = (self.of(class) > SUSPECT).then(spent).flatten();
        Watch { class, spent, begun }
    }

    /// The request has been worked on: for so long by the clock.
    pub fn end(&self, watch: Watch) -> Duration {
        let took = watch.begun.elapsed();
        let counts = match watch.spent {
            _ if took < FAST => took,
            Some(before) => spent().map_or(took, |now| match now.sleeps > before.sleeps {
                true => took,
                false => took.min(now.processor.saturating_sub(before.processor)),
            }),
            None => took.min(UNWATCHED),
        };
        self.note(watch.class, counts);
        took
    }
}

/// A request being worked on.
pub struct Watch {
    class: usize,
    /// By this thread before, where it is asked.
    spent: Option<Spent>,
    begun: Instant,
}

/// What a thread has done so far.
struct Spent {
    processor: Duration,
    /// Times that it went to sleep because it had to wait.
    sleeps: i64,
}

/// Of this thread.
fn spent() -> Option<Spent> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
    let micros = |time: nix::sys::time::TimeVal| {
        Duration::from_micros(time.tv_sec().unsigned_abs() * 1_000_000 + time.tv_usec().unsigned_abs())
    };
    Some(Spent {
        processor: micros(usage.user_time()) + micros(usage.system_time()),
        sleeps: usage.voluntary_context_switches(),
    })
}

#[cfg(test)]
mod tests;
