//! Lanes: what threads that work on requests at the same time have apart, so that none waits for
//! another, nor for a word of memory that another writes.
//!
//! A thread is in one lane for good. Where there are more threads than lanes, some share one.

use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

pub const LANES: usize = 16;

/// How long the wall clock is told by the other one, before it is looked at again.
const TRUSTED: Duration = Duration::from_secs(1);

static LAST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static MINE: usize = LAST.fetch_add(1, Relaxed) % LANES;
    static WALL: Cell<Option<(Instant, u64)>> = const { Cell::new(None) };
}

/// The lane of this thread.
pub fn mine() -> usize {
    MINE.with(|mine| *mine)
}

/// Microseconds since 1970. A look at one clock is dear beside a small request: so the wall clock
/// is looked at once a second and thread, and what has passed since then is added.
pub fn wall(now: Instant) -> u64 {
    if let Some((at, micros)) = WALL.get()
        && let Some(passed) = now.checked_duration_since(at).filter(|passed| *passed < TRUSTED)
    {
        return micros.saturating_add(passed.as_micros() as u64);
    }
    // A clock that is before 1970 is as good as one that is wrong otherwise.
    let micros = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    WALL.set(Some((now, micros)));
    micros
}
