//! Why a stream was not received, as libzfs tells it.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_receive_one`, `recv_ecksum_set_aux`).

use ::pool::PoolError;
use ::pool::recv::Failure;
use ::pool::stream::StreamError;
use engine_api::Error;
use refusal::{Action, Reason, ReceiveFault, Refused, Stream};

use super::super::convert::api_error;
use super::super::pool::LocalPool;
use super::refuse;

/// What was to come of a stream.
#[derive(Clone, Copy)]
pub(super) struct Goal<'a> {
    pub snapshot: &'a str,
    pub is_resumable: bool,
    /// There was no such dataset.
    pub is_new: bool,
}

pub(super) fn fault_of_stream(error: &StreamError) -> ReceiveFault {
    match error {
        StreamError::Truncated | StreamError::Io(_) => ReceiveFault::Incomplete,
        StreamError::Checksum => ReceiveFault::Checksum,
        StreamError::Magic | StreamError::Malformed(_) => ReceiveFault::Invalid,
    }
}

impl LocalPool {
    /// A failure, as libzfs tells it.
    pub(super) fn refusal_of(&self, error: PoolError, kind: Stream, goal: Goal<'_>) -> Error {
        let dataset = goal.snapshot.split('@').next().unwrap_or_default().to_owned();
        let fault = match error {
            PoolError::Receive(failure) => match failure {
                Failure::NoSource => ReceiveFault::NoMatchingSource { dataset },
                Failure::Modified => ReceiveFault::Modified { dataset },
                Failure::Exists => {
                    let name = if goal.is_new { dataset } else { goal.snapshot.to_owned() };
                    return Refused::new(Action::Restore { name }, ReceiveFault::Exists).into();
                }
                Failure::ResumeExists => ReceiveFault::ResumeExists { dataset },
                Failure::NotFound => return refuse(kind, Reason::NoDataset),
                Failure::Busy if self.token_of(&dataset).is_some() => {
                    ReceiveFault::PartlyReceived { dataset }
                }
                Failure::Busy => return refuse(kind, Reason::DatasetBusy),
                Failure::Features => ReceiveFault::PoolTooOld,
                Failure::LargeBlocks => ReceiveFault::LargeBlocks,
                Failure::WrongParent => ReceiveFault::TargetNotFilesystem,
                Failure::Unlike => ReceiveFault::Unlike,
                Failure::NotHealed => ReceiveFault::NotHealed,
                Failure::Invalid(what) => {
                    tracing::warn!(what, "send stream refused");
                    if goal.is_resumable { ReceiveFault::NewerProgram } else { ReceiveFault::Invalid }
                }
                Failure::Stream(error) => match self.token_of(&dataset).filter(|_| goal.is_resumable) {
                    Some(token) => ReceiveFault::Interrupted { token },
                    None => fault_of_stream(&error),
                },
            },
            PoolError::Quota => ReceiveFault::Quota { dataset },
            PoolError::NoSpace => return refuse(kind, Reason::NoSpace),
            PoolError::Busy | PoolError::Again => return refuse(kind, Reason::DatasetBusy),
            PoolError::Suspended => return refuse(kind, Reason::Suspended),
            other => return api_error(other),
        };
        refuse(kind, fault)
    }

    /// With what its sender can go on, if a receive into the dataset was interrupted.
    pub(in super::super) fn token_of(&self, dataset: &str) -> Option<String> {
        let found = self.dataset(dataset).ok()??;
        found.value("receive_resume_token").map(str::to_owned).filter(|token| !token.is_empty())
    }
}
