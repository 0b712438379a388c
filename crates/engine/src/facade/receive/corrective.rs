//! `zfs receive -c`: a snapshot takes what it has lost from a stream of itself.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_receive_one`, where `heal` is asked for).

use ::pool::PoolError;
use ::pool::recv::Failure;
use ::pool::stream::RecordReader;
use engine_api::{DatasetKind, Result};
use refusal::{ReceiveFault, Stream};

use super::super::pool::LocalPool;
use super::super::rights::{Deed, Landing};
use super::words::Goal;
use super::{One, Tell, announce, refuse, skip};

impl LocalPool {
    /// Heals one snapshot with its stream, or with `-n` only looks whether it may.
    pub(super) fn heal(
        &self,
        one: &One<'_>,
        snapshot: &str,
        kind: Stream,
        stream: &mut RecordReader<'_>,
        tell: Tell<'_>,
    ) -> Result<()> {
        let (request, begin) = (one.request, one.begin);
        if request.keep_path || request.keep_tail || request.force || request.resumable || request.skip_holds
        {
            return Err(refuse(kind, ReceiveFault::HealsAlone));
        }
        self.permit(Deed::Receive(request, Landing { into: snapshot, origin: None }))?;
        match self.dataset(snapshot)?.filter(|found| found.kind == DatasetKind::Snapshot) {
            None => return Err(refuse(kind, ReceiveFault::NothingToHeal)),
            Some(found) if found.guid != begin.to_guid => {
                return Err(refuse(kind, ReceiveFault::OtherSnapshot));
            }
            Some(_) => {}
        }
        let how = if begin.from_guid != 0 { "corrective incremental" } else { "corrective full" };
        announce(one, how, snapshot, tell);
        if request.dry_run {
            return skip(begin, stream);
        }
        self.pool.heal_snapshot(snapshot, begin, stream).map_err(|error| match error {
            // OpenZFS does not tell them apart.
            PoolError::Receive(Failure::Stream(_)) => refuse(kind, ReceiveFault::NotHealed),
            error => self.refusal_of(error, kind, Goal { snapshot, is_resumable: false, is_new: false }),
        })
    }
}
