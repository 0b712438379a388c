//! Jobs, so that the next start knows them: the first line reserves numbers, each other one has the
//! owner, whether that is an administrator, the job and its log. A version that knew no logs wrote
//! lines without.
//!
//! Lines are added as jobs begin and end; of several with one number the last counts. From time to
//! time the file is replaced as a whole. Each line is on the disk before anybody hears of it: who
//! waits for a job over HTTPS outlives the machine.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api_types::{Job, JobLog, Progress};
use appliance::{Clock, Entry, Ledger, Record};

use crate::state_file;

/// Bytes that are added before the file is replaced.
const ADDED_MAX: usize = 1 << 20;
/// A longer line has no details: users choose names, and refusals repeat them. Guests have less, so
/// that theirs do not make the file large for everybody.
const DETAILED_MAX: usize = 16 << 10;
const GUESTS_DETAILED_MAX: usize = 2 << 10;
/// Characters of a text that then stay.
const TEXT_MAX: usize = 1 << 10;
const GUESTS_TEXT_MAX: usize = 256;

pub struct JobList {
    file: PathBuf,
    clock: Arc<dyn env::Clock>,
    /// Bytes that were added. None: the file is to be replaced before anything is added, for it
    /// may end with a part of a line.
    added: Option<usize>,
}

impl JobList {
    /// What is written down below a state directory; nothing where there is no file yet. Lines that
    /// make no sense are logged, and the file as it is now is kept beside the one that replaces it.
    ///
    /// Errors: it is there and cannot be read, or does not say which numbers are reserved.
    pub fn load(state: &Path, clock: Arc<dyn env::Clock>) -> io::Result<(Record, JobList)> {
        let file = state.join("jobs");
        let is_there = file.try_exists()?;
        let bytes = if is_there { fs::read(&file)? } else { Vec::new() };
        // A line that was not written whole may end within a character.
        let text = String::from_utf8_lossy(&bytes);
        let mut lines = text.lines();
        let next = match lines.next() {
            None if !is_there => 0,
            first => first.and_then(reserved).ok_or_else(|| {
                io::Error::new(ErrorKind::InvalidData, "its first line does not reserve numbers")
            })?,
        };
        let (mut jobs, mut is_strange) = (Vec::new(), false);
        for line in lines {
            match parse(line) {
                Some(entry) if entry.job.id < next => jobs.push(entry),
                _ => {
                    tracing::error!(file = %file.display(), line, "this line names no job");
                    is_strange = true;
                }
            }
        }
        if is_strange {
            keep_aside(&file);
        }
        Ok((Record { next, jobs }, JobList { file, clock, added: None }))
    }
}

impl Ledger for JobList {
    fn clock(&self) -> Clock {
        let clock = self.clock.clone();
        // A clock that stands before 1970 tells nothing.
        Arc::new(move || u64::try_from(clock.wall().secs).unwrap_or(0))
    }

    fn add(&mut self, entry: &Entry) -> bool {
        let line = line(entry);
        let added = self.added.take().map(|added| added + line.len());
        let Some(added) = added.filter(|added| *added <= ADDED_MAX) else { return false };
        match state_file::append(&self.file, &line) {
            Ok(()) => self.added = Some(added),
            Err(error) => tracing::debug!(file = %self.file.display(), %error, "a job cannot be added"),
        }
        self.added.is_some()
    }

    fn replace(&mut self, record: &Record) -> io::Result<()> {
        let next = record.next.to_string();
        let mut text = state_file::line(["next", next.as_str()]);
        text.extend(record.jobs.iter().map(line));
        self.added = None;
        state_file::replace(&self.file, &text)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", self.file.display())))?;
        self.added = Some(0);
        Ok(())
    }
}

/// A second name for the file stays when it is replaced.
fn keep_aside(file: &Path) {
    let aside = file.with_extension("damaged");
    let removed = match fs::remove_file(&aside) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        removed => removed,
    };
    match removed.and_then(|()| fs::hard_link(file, &aside)) {
        Ok(()) => tracing::error!(file = %aside.display(), "the damaged list of jobs is kept"),
        Err(error) => tracing::error!(file = %file.display(), %error, "it cannot be kept aside"),
    }
}

fn reserved(line: &str) -> Option<u64> {
    let number: u64 = line.strip_prefix("next\t")?.parse().ok()?;
    // No program has begun so many.
    (number <= u64::MAX / 2).then_some(number)
}

/// The line of a job, of bounded length.
fn line(entry: &Entry) -> String {
    let whole = format(entry);
    let (detailed, most) = match entry.of_administrators {
        true => (DETAILED_MAX, TEXT_MAX),
        false => (GUESTS_DETAILED_MAX, GUESTS_TEXT_MAX),
    };
    if whole.len() <= detailed {
        return whole;
    }
    let cut = |text: &str| text.chars().take(most).collect::<String>();
    let mut job = entry.job.clone();
    (job.target, job.progress) = (cut(&job.target), Progress::default());
    if let Some(result) = &mut job.result {
        result.warnings = Default::default();
    }
    if let Some(problem) = &mut job.problem {
        (problem.detail, problem.refused) = (cut(&problem.detail), None);
    }
    format(&Entry { job, log: JobLog::default(), ..*entry })
}

fn format(entry: &Entry) -> String {
    let owner = entry.owner.to_string();
    let kin = if entry.of_administrators { "administrator" } else { "guest" };
    let job = serde_json::to_string(&entry.job).expect("a job has a form on the wire");
    let log = serde_json::to_string(&entry.log).expect("a log has a form on the wire");
    state_file::line([owner.as_str(), kin, job.as_str(), log.as_str()])
}

fn parse(line: &str) -> Option<Entry> {
    let mut fields = state_file::fields(line);
    let owner = fields.next()?.parse().ok()?;
    let of_administrators = match fields.next()?.as_str() {
        "administrator" => true,
        "guest" => false,
        _ => return None,
    };
    let job: Job = serde_json::from_str(&fields.next()?).ok()?;
    let log = match fields.next() {
        Some(log) => serde_json::from_str(&log).ok()?,
        None => JobLog::default(),
    };
    Some(Entry { job, log, owner, of_administrators })
}

#[cfg(test)]
mod tests;
