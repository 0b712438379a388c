//! Waiting for a job, with its progress on a terminal.

use crate::client::{CallError, Client};
use crate::command::{Cx, Io};
use api_types::{Job, JobResult, JobState, Problem, kind, routes};
use serde::Serialize;

/// How long one request waits for news, in milliseconds.
const WAIT_MS: u64 = 1_000;

/// Starts a job by a POST and waits for its end. A job that failed is the problem that it failed
/// with.
pub fn run(cx: &mut Cx<'_>, path: &str, body: &impl Serialize) -> Result<JobResult, CallError> {
    let begun: Job = cx.client.post(path, body)?;
    result(wait(&cx.client, cx.io, begun)?)
}

/// Waits for the end of a job.
pub fn wait(client: &Client, io: &mut Io<'_>, mut job: Job) -> Result<Job, CallError> {
    let mut shown = 0;
    while job.state == JobState::Running {
        if io.progress {
            shown = show(io, &job, shown);
        }
        job = client.get(&format!("{}?wait_ms={WAIT_MS}", routes::at(routes::JOB, &job.id.to_string())))?;
    }
    if shown > 0 {
        // Progress is a courtesy: a terminal that is gone must not fail the command.
        let _ = write!(io.err, "\r{:shown$}\r", "");
    }
    Ok(job)
}

/// What a job that has ended brought.
pub fn result(job: Job) -> Result<JobResult, CallError> {
    match (job.state, job.problem) {
        (JobState::Done, _) => Ok(job.result.unwrap_or_default()),
        (_, Some(problem)) => Err(CallError::Refused(problem)),
        (_, None) => Err(CallError::Refused(Problem {
            kind: kind::INTERNAL.to_owned(),
            title: "Internal error".into(),
            status: 500,
            detail: format!("job {} failed and doesn't say why", job.id),
            refused: None,
            second_factors: None,
            service_fault: None,
            exit: 1,
        })),
    }
}

/// One line, overwritten at every change. Gives its width.
fn show(io: &mut Io<'_>, job: &Job, before: usize) -> usize {
    let progress = &job.progress;
    let step = if progress.step.is_empty() { &job.kind } else { &progress.step };
    let text = match progress.total {
        0 => format!("{step} …"),
        total => format!("{step} ({} of {total})", progress.done),
    };
    let width = text.chars().count();
    let _ = write!(io.err, "\r{text}{:pad$}", "", pad = before.saturating_sub(width));
    let _ = io.err.flush();
    width
}
