//! Waiting for a job, with its progress on a terminal.

use crate::client::CallError;
use crate::command::Cx;
use api_types::{Job, JobResult, JobState, Problem, kind, routes};
use serde::Serialize;

/// How long one request waits for news, in milliseconds.
const WAIT_MS: u64 = 1_000;

/// Starts a job by a POST and waits for its end. A job that failed is the problem that it failed
/// with.
pub fn run(cx: &mut Cx<'_>, path: &str, body: &impl Serialize) -> Result<JobResult, CallError> {
    let mut job: Job = cx.client.post(path, body)?;
    let mut shown = 0;
    while job.state == JobState::Running {
        if cx.io.progress {
            shown = show(cx, &job, shown);
        }
        job =
            cx.client.get(&format!("{}?wait_ms={WAIT_MS}", routes::at(routes::JOB, &job.id.to_string())))?;
    }
    if shown > 0 {
        // Progress is a courtesy: a terminal that is gone must not fail the command.
        let _ = write!(cx.io.err, "\r{:shown$}\r", "");
    }
    match (job.state, job.problem) {
        (JobState::Done, _) => Ok(job.result.unwrap_or_default()),
        (_, Some(problem)) => Err(CallError::Refused(problem)),
        (_, None) => Err(CallError::Refused(Problem {
            kind: kind::INTERNAL.to_owned(),
            title: "Internal error".into(),
            status: 500,
            detail: format!("job {} failed and doesn't say why", job.id),
            refused: None,
            exit: 1,
        })),
    }
}

/// One line, overwritten at every change. Gives its width.
fn show(cx: &mut Cx<'_>, job: &Job, before: usize) -> usize {
    let progress = &job.progress;
    let step = if progress.step.is_empty() { &job.kind } else { &progress.step };
    let text = match progress.total {
        0 => format!("{step} …"),
        total => format!("{step} ({} of {total})", progress.done),
    };
    let width = text.chars().count();
    let _ = write!(cx.io.err, "\r{text}{:pad$}", "", pad = before.saturating_sub(width));
    let _ = cx.io.err.flush();
    width
}
