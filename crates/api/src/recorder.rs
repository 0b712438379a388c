//! The history of what the appliance does, where it is kept ([`machine::history`]).
//!
//! Invariant: a history that cannot be read or written costs the history and nothing else. That is
//! told in the log, once until it works again.

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api_types::{History, HistorySeries, SeriesQuery, kind};
use machine::history::{self, Opened};
use stdx::os_error::words;

use crate::problem::{Refusal, refuse};

/// Values of a series in one answer, at the most and where nobody says; and series.
const MOST: u64 = 10_000;
const USUAL: u64 = 1_000;
const MOST_SERIES: usize = 16;

/// Where and when what is done is noted.
pub struct HistoryConfig {
    /// The file, which need not be there.
    pub path: PathBuf,
    /// Likewise, for what kept panes of worksheets find ([`crate::pane_history`]).
    pub panes: PathBuf,
    /// What time it is: seconds since 1970.
    pub clock: Box<dyn Fn() -> u64 + Send + Sync>,
    /// How often it is looked what time it is.
    pub look: Duration,
}

/// What was noted.
pub struct Recorder {
    clock: Box<dyn Fn() -> u64 + Send + Sync>,
    /// As in [`HistoryConfig`].
    pub look: Duration,
    kept: Mutex<history::History>,
    is_failing: AtomicBool,
}

impl Recorder {
    /// Opens a history, or begins one. `None`: that cannot be, which was told.
    pub fn open(config: HistoryConfig) -> Option<Recorder> {
        let HistoryConfig { path, clock, look, .. } = config;
        let shown = path.display();
        let kept = match history::History::open(&path) {
            Ok((kept, Opened::New | Opened::AsItWas)) => kept,
            Ok((kept, Opened::Damaged { kept: old })) => {
                tracing::error!(old = %old.display(), "{shown} was damaged and is kept; a new history was begun");
                kept
            }
            Err(error) => {
                tracing::error!(path = %shown, why = words(&error), "there is no history of what is done");
                return None;
            }
        };
        Some(Recorder { clock, look, kept: Mutex::new(kept), is_failing: AtomicBool::new(false) })
    }

    /// A panic under it left the file as it was, or one row of it half written.
    fn kept(&self) -> MutexGuard<'_, history::History> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What time it is: seconds since 1970.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Notes what was done since the last row.
    pub fn note(&self, values: &[(String, f64)]) {
        match self.kept().note(self.now(), values) {
            Ok(()) => self.is_failing.store(false, Relaxed),
            Err(error) if !self.is_failing.swap(true, Relaxed) => {
                tracing::warn!(why = words(&error), "what is done is not noted in the history");
            }
            Err(_) => {}
        }
    }

    /// A part of it.
    pub fn read(&self, asked: &SeriesQuery) -> Result<History, Refusal> {
        let kept = self.kept();
        let names: Vec<String> = kept.names().map(str::to_owned).collect();
        let (now, points) = (self.now(), asked.points.unwrap_or(USUAL).clamp(1, MOST));
        let to = asked.to.unwrap_or(now);
        let from = asked.from.unwrap_or(to.saturating_sub(3600));
        if from > to {
            return Err(refuse(kind::INVALID, "it ends before it begins"));
        }
        let wanted: Vec<&str> = asked.series.split(',').filter(|name| !name.is_empty()).collect();
        if wanted.len() > MOST_SERIES {
            return Err(refuse(kind::INVALID, format!("more than {MOST_SERIES} series at once")));
        }
        if let Some(unknown) = wanted.iter().find(|name| !names.iter().any(|known| known == *name)) {
            return Err(refuse(kind::NOT_FOUND, format!("no such series: {unknown}")));
        }
        let failed = |error: io::Error| {
            refuse(kind::UNAVAILABLE, format!("the history cannot be read: {}", words(&error)))
        };
        let part = kept.read(&wanted, (from, to), (now, points)).map_err(failed)?;
        let series = wanted.iter().zip(part.values);
        let series = series.map(|(name, values)| HistorySeries { name: (*name).to_owned(), values });
        Ok(History { step: part.step, first: part.first, series: series.collect(), names })
    }
}
