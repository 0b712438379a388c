//! Streams that go no faster than the policy says.
//!
//! Invariant: over any second no more than the rate goes through, and a twentieth of it. What was
//! not sent in time is not made up for.

use std::io::{self, ErrorKind, Write};
use std::thread;
use std::time::Duration;

use engine_api::Cancel;

/// How much of a second's bytes goes at once.
const PART: u64 = 20;
/// The longest time for which nobody looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);
/// Who is later than this begins anew.
const LATE: Duration = Duration::from_millis(200);

/// See the module.
pub struct Paced<'a> {
    to: &'a mut (dyn Write + Send),
    /// Bytes a second, as of now; `None`: as many as may be.
    rate: &'a (dyn Fn() -> Option<u64> + Sync),
    /// Time that has passed since some moment.
    clock: &'a (dyn Fn() -> Duration + Sync),
    stop: &'a Cancel,
    /// The rate, since when it was that, and the bytes since then.
    since: Option<(u64, Duration, u64)>,
}

impl<'a> Paced<'a> {
    pub fn new(
        to: &'a mut (dyn Write + Send),
        rate: &'a (dyn Fn() -> Option<u64> + Sync),
        clock: &'a (dyn Fn() -> Duration + Sync),
        stop: &'a Cancel,
    ) -> Paced<'a> {
        Paced { to, rate, clock, stop, since: None }
    }

    /// Waits until so many more bytes were due at this rate.
    fn wait(&mut self, rate: u64, len: u64) -> io::Result<()> {
        let now = (self.clock)();
        let (begun, sent) = match self.since {
            Some((known, begun, sent)) if known == rate && now < due(begun, sent, rate) + LATE => {
                (begun, sent)
            }
            _ => (now, 0),
        };
        let sent = sent + len;
        self.since = Some((rate, begun, sent));
        let due = due(begun, sent, rate);
        loop {
            let left = due.saturating_sub((self.clock)());
            if left.is_zero() {
                return Ok(());
            }
            if self.stop.is_cancelled() {
                return Err(ErrorKind::ConnectionAborted.into());
            }
            thread::sleep(left.min(LOOK));
        }
    }
}

fn due(begun: Duration, sent: u64, rate: u64) -> Duration {
    let nanos = u128::from(sent) * 1_000_000_000 / u128::from(rate.max(1));
    begun + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Write for Paced<'_> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let Some(rate) = (self.rate)() else {
            self.since = None;
            return self.to.write(from);
        };
        let most = usize::try_from((rate / PART).max(1)).unwrap_or(usize::MAX);
        let written = self.to.write(&from[..from.len().min(most)])?;
        self.wait(rate, written as u64)?;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    #[test]
    fn what_is_written_takes_the_time_that_it_has_and_no_more() {
        // A clock that passes a millisecond with each look.
        let ticks = AtomicU64::new(0);
        let clock = || Duration::from_millis(ticks.fetch_add(1, Relaxed));
        let (mut to, stop) = (Vec::new(), Cancel::default());
        let rate = || Some(100_000);
        let mut paced = Paced::new(&mut to, &rate, &clock, &stop);
        paced.write_all(&[7; 50_000]).expect("written");
        let took = ticks.load(Relaxed);
        assert!((475..=525).contains(&took), "{took} ms");
        assert_eq!(to.len(), 50_000);
    }

    #[test]
    fn whoever_stops_waits_no_longer() {
        let clock = || Duration::ZERO;
        let (mut to, stop) = (Vec::new(), Cancel::default());
        let rate = || Some(1_000);
        let mut paced = Paced::new(&mut to, &rate, &clock, &stop);
        stop.cancel();
        assert_eq!(paced.write(&[7; 1_000]).expect_err("stopped").kind(), ErrorKind::ConnectionAborted);
    }
}
