//! Why a stream was not received, in libzfs's words.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_receive_one`, `recv_ecksum_set_aux`).

use ::pool::PoolError;
use ::pool::recv::Failure;
use ::pool::stream::StreamError;
use engine_api::Error;

use super::super::convert::api_error;
use super::super::pool::LocalPool;
use super::{refuse, value};

pub(super) const NOT_HEALED: &str =
    "corrective receive was not able to reconstruct the data needed for healing.";

/// What was to come of a stream.
#[derive(Clone, Copy)]
pub(super) struct Goal<'a> {
    pub snapshot: &'a str,
    pub is_resumable: bool,
    /// There was no such dataset.
    pub is_new: bool,
}

pub(super) fn stream_words(error: &StreamError) -> &'static str {
    match error {
        StreamError::Truncated | StreamError::Io(_) => "incomplete stream",
        StreamError::Checksum => "checksum mismatch",
        StreamError::Magic | StreamError::Malformed(_) => "invalid backup stream",
    }
}

impl LocalPool {
    /// A failure, as libzfs puts it.
    pub(super) fn words(&self, error: PoolError, action: &str, goal: Goal<'_>) -> Error {
        let dataset = goal.snapshot.split('@').next().unwrap_or_default();
        let why = match error {
            PoolError::Receive(failure) => match failure {
                Failure::NoSource => {
                    format!("most recent snapshot of {dataset} does not\nmatch incremental source")
                }
                Failure::Modified => {
                    format!("destination {dataset} has been modified\nsince most recent snapshot")
                }
                Failure::Exists => {
                    let what = if goal.is_new { dataset } else { goal.snapshot };
                    return refuse(&format!("cannot restore to {what}"), "destination already exists");
                }
                Failure::ResumeExists => format!(
                    "Resuming recv on existing destination '{dataset}'\nmust specify -F to overwrite it"
                ),
                Failure::NotFound => "dataset does not exist".into(),
                Failure::Busy if self.token_of(dataset).is_some() => format!(
                    "destination {dataset} contains partially-complete state from \"zfs receive -s\"."
                ),
                Failure::Busy => "dataset is busy".into(),
                Failure::Features => "pool must be upgraded to receive this stream.".into(),
                Failure::LargeBlocks => {
                    "incremental send stream requires -L (--large-block), to match previous receive.".into()
                }
                Failure::WrongParent => "parent dataset is not a filesystem".into(),
                Failure::Unlike => "stream is not compatible with the data in the pool.".into(),
                Failure::NotHealed => NOT_HEALED.into(),
                Failure::Invalid(what) => {
                    tracing::warn!(what, "send stream refused");
                    match goal.is_resumable {
                        true => "kernel modules must be upgraded to receive this stream.".into(),
                        false => "invalid backup stream".into(),
                    }
                }
                Failure::Stream(error) => match self.token_of(dataset).filter(|_| goal.is_resumable) {
                    Some(token) => format!(
                        "checksum mismatch or incomplete stream.\n\
                         Partially received snapshot is saved.\n\
                         A resuming stream can be generated on the sending system by running:\n    \
                         zfs send -t {token}"
                    ),
                    None => stream_words(&error).to_owned(),
                },
            },
            PoolError::Quota => format!("destination {dataset} space quota exceeded."),
            PoolError::NoSpace => "out of space".into(),
            PoolError::Busy | PoolError::Again => "dataset is busy".into(),
            PoolError::Suspended => Error::Suspended.to_string(),
            other => return api_error(other),
        };
        refuse(action, why)
    }

    /// With what its sender can go on, if a receive into the dataset was interrupted.
    pub(in super::super) fn token_of(&self, dataset: &str) -> Option<String> {
        let found = self.dataset(dataset).ok()??;
        Some(value(&found, "receive_resume_token").to_owned()).filter(|token| !token.is_empty())
    }
}
