//! Counting the space of an object set that was not counted in all ways from its first day.

use super::Objset;
use crate::DmuError;
use crate::accounting::flags_of_new;
use crate::owner::Holds;
use crate::tx::Tx;

impl Objset {
    /// Makes some objects behind `after` be counted with the next syncs, for a file system that
    /// older software did not count in all ways: the last of them, or `None` where no more are
    /// left. Open context; `Busy` where it would have to wait, interrupting it loses nothing. See
    /// [`Objset::accounting_complete`].
    pub fn count_objects(&self, after: u64, most: usize) -> Result<Option<u64>, DmuError> {
        let mut last = after;
        for _ in 0..most {
            let Some(next) = self.next_object(last, 0)? else { return Ok(None) };
            let touched = {
                let tx = match self.try_begin(Holds::new(0, 1)) {
                    Err(DmuError::Busy) if last > after => return Ok(Some(last)),
                    tx => tx?,
                };
                self.hold(next).and_then(|dnode| dnode.touch_in(&tx))
            };
            match touched {
                Ok(()) | Err(DmuError::NotFound) => last = next,
                Err(error) => return Err(error),
            }
        }
        Ok(Some(last))
    }

    /// Something is counted now that was not counted from the start.
    pub fn lacks_accounting(&self) -> bool {
        let wanted = flags_of_new(self.kind(), &self.policy());
        self.flags() & wanted != wanted
    }

    /// All objects have been counted in every way.
    pub fn accounting_complete(&self, tx: &Tx) {
        self.set_flags(self.flags() | flags_of_new(self.kind(), &self.policy()), tx);
    }
}
