//! `cistern serve --trial`: a month of schedules in minutes.
//!
//! Services live by a calendar of their own. While one of them works, it goes as clocks go. When
//! all are at rest, it leaps to when the next has something to do. So whatever is measured or
//! waited for by disks, clients and checks takes the time that it takes, and nothing looks slow
//! that is not; only the time in which nothing would happen is left out. The wall clock follows the
//! calendar: stamps of pools, snapshots and alerts, the history, and the weekly report.
//!
//! Invariants:
//! - A trial has a state folder of its own: one that was used without is refused, for its snapshots
//!   would expire early, and one of a trial is not used without, for its stamps are in the future.
//! - The calendar never goes back, also over restarts: how far it is ahead is written down before
//!   it leaps.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use env::{Clock, Nanos, WallTime};
use stdx::os_error::words;

/// Between two leaps, so that who asks something meanwhile is answered.
pub const PAUSE: Duration = Duration::from_millis(1);
/// Seconds of a leap at the most: an hour, as the history has a value for each.
const LONGEST: i64 = 3_600;
/// Seconds of a leap where it is not known when there is something to do.
const SHORTEST: i64 = 1;

/// See the module.
pub struct Trial {
    clock: Arc<dyn Clock>,
    /// Seconds by which the calendar is ahead of the clock.
    ahead: AtomicI64,
    file: PathBuf,
}

impl Trial {
    /// Of the daemon with this state folder; `None`: it is no trial. The error says why it cannot
    /// be one, or has to be.
    pub fn open(state: &Path, is_wanted: bool, clock: Arc<dyn Clock>) -> Result<Option<Arc<Trial>>, String> {
        let file = state.join("trial");
        let failed = |error: io::Error| format!("{}: {}", file.display(), words(&error));
        let ahead = match fs::read_to_string(&file) {
            Ok(_) if !is_wanted => {
                return Err(format!(
                    "{} belongs to a trial, whose calendar is ahead: give --trial, or another --state",
                    state.display()
                ));
            }
            Ok(text) => text.trim().parse().map_err(|_| format!("{}: it is no number", file.display()))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_wanted => return Ok(None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if ["pools", "machine.db"].iter().any(|used| state.join(used).exists()) {
                    return Err(format!(
                        "--trial takes a new state folder: {} was used without, and its calendar would leap",
                        state.display()
                    ));
                }
                0
            }
            Err(error) => return Err(failed(error)),
        };
        let trial = Trial { clock, ahead: AtomicI64::new(ahead), file: file.clone() };
        trial.keep(ahead).map_err(failed)?;
        tracing::warn!("this is a trial: the calendar leaps ahead, and is no time for data that matters");
        Ok(Some(Arc::new(trial)))
    }

    fn keep(&self, ahead: i64) -> io::Result<()> {
        let new = self.file.with_extension("new");
        fs::write(&new, ahead.to_string())?;
        fs::rename(&new, &self.file)
    }

    /// What time it is by the calendar, and by how many seconds that is ahead.
    pub fn now(&self) -> (i64, i64) {
        let ahead = self.ahead.load(Ordering::Relaxed);
        (self.clock.wall().secs.saturating_add(ahead), ahead)
    }

    /// The calendar goes to `next`, or a part of the way there. To be called by one thread alone.
    pub fn leap(&self, next: i64) {
        let (now, ahead) = self.now();
        let ahead = ahead.saturating_add(next.saturating_sub(now).clamp(SHORTEST, LONGEST));
        match self.keep(ahead) {
            Ok(()) => self.ahead.store(ahead, Ordering::Relaxed),
            Err(error) => tracing::error!(why = words(&error), "the calendar stands: it is not kept"),
        }
    }
}

impl Clock for Trial {
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    fn wall(&self) -> WallTime {
        WallTime { secs: Trial::now(self).0, ..self.clock.wall() }
    }

    fn processor_time(&self) -> Nanos {
        self.clock.processor_time()
    }

    fn sleep(&self, span: Nanos) {
        self.clock.sleep(span);
    }
}

#[cfg(test)]
mod tests {
    use env::RealClock;

    use super::*;

    #[test]
    fn a_calendar_leaps_ahead_over_restarts_and_takes_no_folder_that_was_used_without() {
        let state = std::env::temp_dir().join(format!("cistern-trial-{}", std::process::id()));
        fs::create_dir_all(&state).expect("a folder");
        let open = |wanted| Trial::open(&state, wanted, Arc::new(RealClock::new()));
        assert!(open(false).expect("none").is_none());
        fs::write(state.join("pools"), "").expect("written");
        assert!(open(true).err().is_some_and(|why| why.contains("takes a new state folder")));
        fs::remove_file(state.join("pools")).expect("removed");
        let trial = open(true).expect("opened").expect("a trial");
        let (began, ahead) = trial.now();
        assert_eq!(ahead, 0);
        trial.leap(began + 900);
        let (now, ahead) = trial.now();
        assert!((900..910).contains(&(now - began)) && (890..=900).contains(&ahead), "{now} {ahead}");
        trial.leap(i64::MAX);
        // What should have been done already is no leap back.
        trial.leap(0);
        let before = trial.now();
        assert_eq!(before.1, ahead + LONGEST + SHORTEST);
        assert!(open(false).err().is_some_and(|why| why.contains("belongs to a trial")));
        let again = open(true).expect("opened").expect("a trial");
        assert_eq!(again.now().1, before.1);
        assert!((Clock::wall(&*again).secs - before.0).abs() <= 2);
        fs::remove_dir_all(&state).expect("removed");
    }
}
