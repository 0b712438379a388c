//! Records that are not in the log yet.
//!
//! Changes of names stand in one order for all. Changes of one object are kept apart until somebody
//! commits that object (or a change of names depends on them): who syncs one file does not pay for
//! another's.
//!
//! The records of one call go into one block, so that all of them are in the log or none.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use ondisk::zil::record::{LrWrite, WRITE_HEAD};

use super::{Answer, LoggedWrite};

/// A remembered change.
pub(super) struct Itx {
    pub txg: u64,
    pub what: What,
    /// Of the call that it is for.
    pub answer: Answer,
}

impl Itx {
    fn is_of_call(&self, answer: &Answer) -> bool {
        matches!((&self.answer, answer), (Some(own), Some(other)) if Arc::ptr_eq(own, other))
    }
}

pub(super) enum What {
    /// A whole record, but for group and sequence number.
    Record(Vec<u8>),
    /// The whole record of a write of so many bytes.
    Copied { record: Vec<u8>, len: u64 },
    /// Bytes of a file, fetched when the record is written.
    Write { object: u64, generation: u64, offset: u64, len: u64 },
    /// Bytes within one block, which is written to its place; the record leads there.
    Indirect { object: u64, generation: u64, offset: u64, len: u64, blkid: u64 },
}

impl What {
    pub fn of_write(write: &LoggedWrite<'_>) -> What {
        let &LoggedWrite { object, generation, offset, len, data, .. } = write;
        match data {
            Some(data) if len <= COPIED_MAX => {
                let record = LrWrite { object, offset, length: len }.encode_with(data);
                What::Copied { record, len }
            }
            _ => What::Write { object, generation, offset, len },
        }
    }

    /// A write block by block.
    pub fn blocks_of(write: &LoggedWrite<'_>) -> impl Iterator<Item = What> {
        let &LoggedWrite { object, generation, offset, len, block_size, .. } = write;
        let (first, last) = (offset / block_size, (offset + len - 1) / block_size);
        (first..=last).map(move |blkid| {
            let start = offset.max(blkid * block_size);
            let end = (offset + len).min((blkid + 1).saturating_mul(block_size));
            What::Indirect { object, generation, offset: start, len: end - start, blkid }
        })
    }

    /// The same, its bytes in the record.
    pub fn fetched(self) -> What {
        match self {
            What::Indirect { object, generation, offset, len, .. } => {
                What::Write { object, generation, offset, len }
            }
            other => other,
        }
    }

    /// Bytes in a log block, not split.
    pub fn size(&self) -> usize {
        match self {
            What::Record(record) | What::Copied { record, .. } => record.len(),
            What::Write { len, .. } => WRITE_HEAD + (*len as usize).next_multiple_of(8),
            What::Indirect { .. } => WRITE_HEAD,
        }
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Queue {
    ordered: VecDeque<Itx>,
    own: HashMap<u64, Vec<Itx>>,
    /// Bytes that `ordered` takes in the log.
    bytes: usize,
    /// How many itxs have ever joined the order: the number of the newest.
    pushed: u64,
    /// How many have left it.
    popped: u64,
    /// The newest group that has a record in the order, or a change without one.
    newest: u64,
    unlogged: u64,
}

/// Larger writes are fetched, in pieces if need be (`zil_maxcopied`).
const COPIED_MAX: u64 = 7680;

/// What a commit has to wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ticket {
    /// The newest record to be written.
    pub number: u64,
    /// It is as good if this group is durable.
    pub txg: u64,
    /// Nothing else will do.
    pub needs_group: bool,
}

/// No piece of a write that is split is smaller, but the last.
const PIECE_MIN: usize = 4096;

impl Queue {
    pub fn push(&mut self, itx: Itx) {
        self.bytes += itx.what.size();
        self.pushed += 1;
        self.newest = self.newest.max(itx.txg);
        self.ordered.push_back(itx);
    }

    pub fn push_own(&mut self, object: u64, itx: Itx) {
        self.own.entry(object).or_default().push(itx);
    }

    pub fn unlogged(&mut self, txg: u64) {
        self.unlogged = self.unlogged.max(txg);
    }

    pub fn order(&mut self, object: u64) {
        self.own.remove(&object).into_iter().flatten().for_each(|itx| self.push(itx));
    }

    pub fn forget(&mut self, object: u64) {
        self.own.remove(&object);
    }

    /// Puts what a commit wants in order; `None` stands for all objects.
    pub fn ticket(&mut self, object: Option<u64>, synced: u64) -> Ticket {
        match object {
            Some(object) => self.order(object),
            None => {
                // By number, so that a simulation does the same thing each time.
                let mut objects: Vec<u64> = self.own.keys().copied().collect();
                objects.sort_unstable();
                objects.into_iter().for_each(|object| self.order(object));
            }
        }
        Ticket {
            number: self.pushed,
            txg: self.newest.max(self.unlogged),
            needs_group: self.unlogged > synced,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ordered.is_empty()
    }

    /// Bytes of all that could be written now.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes what fits into `room` bytes, the last write in part if need be, and the number up to
    /// which the order is written then.
    pub fn take(&mut self, room: usize) -> (Vec<Itx>, u64) {
        let mut left = room;
        let mut batch = Vec::new();
        while let Some(front) = self.ordered.front() {
            let size = front.what.size();
            let others = self.ordered.iter().skip(1).take_while(|next| next.is_of_call(&front.answer));
            if size + others.map(|next| next.what.size()).sum::<usize>() <= left {
                left -= size;
                self.bytes -= size;
                batch.extend(self.ordered.pop_front());
                continue;
            }
            if let Some(front) = self.ordered.front_mut()
                && let What::Write { object, generation, offset, len } = &mut front.what
                && left >= WRITE_HEAD + PIECE_MIN
            {
                let piece = ((left - WRITE_HEAD) / 512 * 512) as u64;
                let what =
                    What::Write { object: *object, generation: *generation, offset: *offset, len: piece };
                *offset += piece;
                *len -= piece;
                self.bytes = self.bytes - size + front.what.size();
                batch.push(Itx { txg: front.txg, what, answer: None });
            }
            break;
        }
        self.popped = self.pushed - self.ordered.len() as u64;
        (batch, self.popped)
    }

    /// Puts what was taken last back in its place; gives the number up to which the order is
    /// written then.
    pub fn put_back(&mut self, batch: Vec<Itx>) -> u64 {
        for itx in batch.into_iter().rev() {
            self.bytes += itx.what.size();
            self.popped -= 1;
            self.ordered.push_front(itx);
        }
        self.popped
    }

    /// What is durable need not be written.
    pub fn sync_done(&mut self, txg: u64) {
        self.ordered.retain(|itx| itx.txg > txg);
        self.bytes = self.ordered.iter().map(|itx| itx.what.size()).sum();
        self.own.retain(|_, itxs| {
            itxs.retain(|itx| itx.txg > txg);
            !itxs.is_empty()
        });
    }
}

#[cfg(test)]
mod tests;
