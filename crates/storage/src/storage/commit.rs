//! A transaction group becomes durable: the order of writes is [`crate::labels::commit`]'s; here it
//! is told which disks take part, and what becomes of the pool when some of them fail.

use ondisk::uberblock::Uberblock;

use super::Storage;
use crate::WriteError;
use crate::labels::commit::{LabelOf, Target, commit, finish};
use crate::suspend::Cause;
use crate::vdev::leaf::LeafHandle;

impl Storage {
    /// [`commit`] on all usable disks, of what has been flushed. A disk that failed is faulted
    /// where the pool can do without it; where it cannot, the pool is suspended, and this waits
    /// with it ([`crate::suspend`]). Syncing context.
    pub fn commit_uberblock(
        &self,
        uberblock: &Uberblock,
        label: Option<LabelOf<'_>>,
    ) -> Result<(), WriteError> {
        if self.is_suspended() {
            self.park(WriteError::Suspended)?;
            self.flush_all()?;
        }
        loop {
            // A disk that is opened anew between may have lost what the flush is for.
            let handles = self.unflushed.handles();
            let done = commit(self.env(), &self.targets(), uberblock, label);
            drop(handles);
            let error = match done {
                Ok(failed) => {
                    failed.iter().for_each(|guid| {
                        self.fault(*guid);
                    });
                    return Ok(());
                }
                Err(error) => error,
            };
            if let Err(error) = self.park(error) {
                self.suspension().suspend(Cause::Io);
                return Err(error);
            }
            // A disk may have come back with another cache than it went with.
            self.flush_all()?;
        }
    }

    /// [`finish`] on all usable disks, before anything else is written after an import.
    pub fn finish_commit(&self, uberblock: &Uberblock) -> Result<(), WriteError> {
        let failed = finish(self.env(), &self.targets(), uberblock)?;
        failed.iter().for_each(|guid| {
            self.fault(*guid);
        });
        Ok(())
    }

    fn targets(&self) -> Vec<Target> {
        let leaves = self.leaves().into_iter().filter(|leaf| leaf.usable);
        let target = |leaf: LeafHandle| Target {
            guid: leaf.guid,
            top: leaf.top,
            ashift: leaf.ashift,
            is_log: leaf.is_log,
            is_behind: !leaf.whole,
            device: leaf.device,
        };
        leaves.map(target).collect()
    }
}
