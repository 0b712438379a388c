//! Sending what is no snapshot, and so could change meanwhile: a head, or what an interrupted
//! receive has left of a snapshot. While it is sent nobody else has it: it is not opened, no
//! receive goes on with it, and nobody destroys it.
//!
//! Source: module/zfs/dmu_send.c (`dmu_send`), dsl_dataset.c (`dsl_dataset_own`,
//! `dsl_dataset_own_force`).

use std::sync::{Arc, Weak};

use ondisk::dsl_dataset::FLAG_INCONSISTENT;

use super::{Failure, Flags, Sending};
use crate::PoolError;
use crate::dsl::{Dsl, LongHold};
use crate::resume::Resume;

/// What stands for the snapshot in the name of a stream that is of none.
const HEAD: &str = "@--head--";

/// The head whose stream has this name.
pub fn head_of_stream(name: &str) -> Option<&str> {
    name.strip_suffix(HEAD)
}

/// While there is one, a dataset counts as being received.
pub(super) struct Alone {
    dsl: Weak<Dsl>,
    object: u64,
}

impl Alone {
    fn take(dsl: &Arc<Dsl>, object: u64) -> Result<Alone, PoolError> {
        match dsl.try_begin_receiving(object, dsl.mos.random()) {
            true => Ok(Alone { dsl: Arc::downgrade(dsl), object }),
            false => Err(PoolError::Busy),
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        if let Some(dsl) = self.dsl.upgrade() {
            dsl.end_receiving(self.object);
        }
    }
}

impl Dsl {
    /// As [`Dsl::prepare_send`], of a head as the last group left it. Who serves it has closed it
    /// before; from then on it cannot be opened until it was sent.
    pub fn prepare_head(&self, head: &str, from: Option<&str>, flags: Flags) -> Result<Sending, Failure> {
        let _config = self.reading();
        let found = self.find(head)?;
        let source = from.map(|from| self.send_source(&found, from)).transpose()?;
        let is_used = self.if_open(found.object).is_some_and(|open| open.has_long_holds());
        if is_used || found.phys.flags & FLAG_INCONSISTENT != 0 {
            return Err(Failure::InUse);
        }
        let alone = match self.parts.readonly {
            true => None,
            false => Some(Alone::take(&self.arc()?, found.object).map_err(|_| Failure::InUse)?),
        };
        let open = LongHold::on(self.open_object(found.object)?);
        let name = format!("{head}{HEAD}");
        let sending = self.sending(&found, open, &name, (from, source), flags)?;
        Ok(Sending { alone, ..sending })
    }

    /// Whether somebody sends this head, or receives it: nobody else may open it.
    pub fn is_taken(&self, object: u64) -> bool {
        self.is_receiving(object)
    }

    /// As [`Dsl::prepare_send`], of what a resumable receive has left of a dataset: with the flags
    /// that its stream had.
    pub fn prepare_saved(&self, dataset: &str, from: Option<&str>) -> Result<Sending, Failure> {
        let _config = self.reading();
        let head = self.find(dataset)?;
        let found = self.left_clone(&head)?.unwrap_or(head);
        let resume = self.resume_list(found.object)?.and_then(|list| Resume::of_list(&list).ok());
        let resume = resume.filter(|_| found.phys.flags & FLAG_INCONSISTENT != 0);
        let resume = resume.ok_or(PoolError::NotFound)?;
        let source = from.map(|from| self.send_source(&found, from)).transpose()?;
        let open = LongHold::on(self.open_object(found.object)?);
        let alone = Alone::take(&self.arc()?, found.object)?;
        let mut sending = self.sending(&found, open, &resume.to_name, (from, source), resume.flags)?;
        sending.begin.to_guid = resume.to_guid;
        (sending.alone, sending.is_part) = (Some(alone), true);
        Ok(sending)
    }
}
