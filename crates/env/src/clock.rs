//! Two clocks: a monotonic one for deadlines and latencies, the wall clock for timestamps that
//! users see.

use std::ops::{Add, AddAssign};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Nanoseconds: a moment on the monotonic clock (from an arbitrary start), or a span.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Nanos(pub u64);

impl Nanos {
    pub const MAX: Nanos = Nanos(u64::MAX);

    pub const fn from_micros(micros: u64) -> Nanos {
        Nanos(micros * 1_000)
    }

    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis * 1_000_000)
    }

    pub const fn from_secs(secs: u64) -> Nanos {
        Nanos(secs * 1_000_000_000)
    }

    /// The span from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(earlier.0))
    }

    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

/// Saturating: "for ever" plus a second is still for ever.
impl Add for Nanos {
    type Output = Nanos;
    fn add(self, other: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Nanos {
    fn add_assign(&mut self, other: Nanos) {
        *self = *self + other;
    }
}

/// Time since 1970-01-01 UTC; `nanos` < 10⁹ counts forward also before 1970.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct WallTime {
    pub secs: i64,
    pub nanos: u32,
}

/// Where time comes from.
pub trait Clock: Send + Sync {
    /// Monotonic.
    fn now(&self) -> Nanos;
    /// May jump when an operator or NTP sets it.
    fn wall(&self) -> WallTime;
    /// What this process has used of all processors so far; nothing where nobody counts it.
    fn processor_time(&self) -> Nanos {
        Nanos(0)
    }
    /// Blocks for the span. In a simulation other workers run meanwhile.
    fn sleep(&self, span: Nanos);
}

/// The machine's clocks.
pub struct RealClock {
    start: Instant,
}

impl RealClock {
    pub fn new() -> RealClock {
        RealClock { start: Instant::now() }
    }
}

impl Default for RealClock {
    fn default() -> RealClock {
        RealClock::new()
    }
}

impl Clock for RealClock {
    fn now(&self) -> Nanos {
        Nanos(u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn wall(&self) -> WallTime {
        match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => WallTime { secs: after.as_secs() as i64, nanos: after.subsec_nanos() },
            Err(error) => before_epoch(error.duration()),
        }
    }

    fn processor_time(&self) -> Nanos {
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: `time` is a timespec that the call fills.
        match unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) } {
            0 => Nanos(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
            _ => Nanos(0),
        }
    }

    fn sleep(&self, span: Nanos) {
        if span < SPIN {
            let until = self.now() + span;
            while self.now() < until {
                std::thread::yield_now();
            }
            return;
        }
        if span < PUNCTUAL {
            wake_punctually();
        }
        std::thread::sleep(Duration::from_nanos(span.0));
    }
}

/// Putting a thread to sleep and waking it takes about as long as this.
const SPIN: Nanos = Nanos::from_micros(30);
/// Below this, the 50 µs that Linux may add to a sleep count.
const PUNCTUAL: Nanos = Nanos::from_millis(20);

/// From now on the kernel wakes this thread when it is time, not up to 50 µs later to save
/// wake-ups.
fn wake_punctually() {
    thread_local!(static DONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
    if !DONE.replace(true) {
        // SAFETY: PR_SET_TIMERSLACK takes one number and changes nothing but this thread's timer
        // slack.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    }
}

/// The wall time `before` ahead of the epoch.
fn before_epoch(before: Duration) -> WallTime {
    match before.subsec_nanos() {
        0 => WallTime { secs: -(before.as_secs() as i64), nanos: 0 },
        nanos => WallTime { secs: -(before.as_secs() as i64) - 1, nanos: 1_000_000_000 - nanos },
    }
}

#[cfg(test)]
mod tests;
