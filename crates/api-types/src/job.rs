//! Long work: started by a request, looked at by another.

use crate::{Problem, Warnings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum JobState {
    Running,
    Done,
    Failed,
}

/// How far a job is; `total` 0 means that nobody knows yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// What is being done now, as in "mounting tank/home".
    pub step: String,
    pub done: u64,
    pub total: u64,
}

/// What a finished job tells.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobResult {
    /// The pool made or imported, by the name it has now.
    pub pool: Option<String>,
    /// Transaction group in which the change became durable.
    pub txg: Option<u64>,
    /// What went wrong beside the work itself, such as a file system that could not be mounted.
    #[serde(flatten)]
    pub warnings: Warnings,
    /// The import went back to an older transaction group, or would.
    #[serde(default)]
    pub rewound: Option<crate::Rewound>,
}

/// `GET /v1/jobs/{id}`, and the answer of every request that starts long work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Job {
    pub id: u64,
    /// As in `pool.create`.
    pub kind: String,
    /// Name of the pool, dataset or device that it works on.
    pub target: String,
    pub state: JobState,
    /// It ends at its next step if somebody asks for that now.
    #[serde(default)]
    pub cancellable: bool,
    pub progress: Progress,
    /// Seconds since 1970; `None` of a job of a program that did not write it down.
    #[serde(default)]
    pub began: Option<u64>,
    /// Likewise; `None` while it runs, and where the program ended before it.
    #[serde(default)]
    pub ended: Option<u64>,
    /// The number of the user who has asked for it.
    #[serde(default)]
    pub asked_by: Option<u32>,
    /// Of a job that is done.
    pub result: Option<JobResult>,
    /// Of a job that failed.
    pub problem: Option<Problem>,
}

/// What a job did, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobLine {
    /// Seconds since 1970.
    pub time: u64,
    /// What began then: a [`Progress::step`].
    pub step: String,
}

/// `GET /v1/jobs/{id}/log`: the last steps of a job, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JobLog {
    /// Steps before these, which are kept no more.
    pub left_out: u64,
    pub lines: Vec<JobLine>,
}

/// Query of `GET /v1/jobs/{id}`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct JobQuery {
    /// Answer when the job ends or its progress changes, at the latest after this many milliseconds
    /// (at most 30,000).
    pub wait_ms: u64,
}
