//! Deduplication: a block that is stored already is not written, its pointer leads to what there
//! is.
//!
//! Which blocks are stored, and how many pointers lead to each, is kept in objects, of which this
//! crate knows nothing: it asks a [`DedupSource`]. A batch of writes is looked up chunk by chunk,
//! so that what the source must read for a chunk is read together. Of blocks that are the same
//! within a batch the first is written (it *leads*), and the others learn where it came to lie when
//! all of the batch has landed; only then the source hears of it. So a block that has to be written
//! elsewhere in the end, or not at all, needs no more care than any other.
//!
//! Nothing here can fail: a block that cannot be looked up, or whose bytes turn out to differ, is
//! written as if there were no deduplication.
//!
//! Source: module/zfs/zio.c (`zio_ddt_write`, `zio_ddt_collision`).

use std::collections::HashMap;
use std::sync::Arc;

use env::IoClass;
use ondisk::BlkPtr;
use ondisk::ddt::{DdtKey, Slot};

use super::transform::{Stored, Transformed};
use crate::policy::Keep;
use crate::storage::dedup::{DedupName, DedupSource, Found};
use crate::{Dedup, Storage, WriteError, WriteItem};

/// What is to be done with an item.
pub(super) enum Judged {
    /// It is to be written.
    Write,
    /// It is stored here.
    There(BlkPtr),
    /// It is the same as an earlier one of its batch.
    Same,
}

/// Deduplication in one batch of writes.
pub(super) struct Batch {
    /// The first item of each name.
    leads: HashMap<DedupName, usize>,
    /// Items that are the same as a lead: their index, the lead's, and the pointer but for its
    /// place.
    followers: Vec<(usize, usize, BlkPtr)>,
}

impl Batch {
    pub fn new() -> Batch {
        Batch { leads: HashMap::new(), followers: Vec::new() }
    }

    /// Judges the items `at..` of a batch, which came to be `transformed`.
    pub fn judge(
        &mut self,
        storage: &Storage,
        items: &[WriteItem],
        at: usize,
        transformed: &mut [Transformed],
        txg: u64,
    ) -> Vec<Judged> {
        let mut judged: Vec<Judged> = transformed.iter().map(|_| Judged::Write).collect();
        let mut names = Vec::new();
        for (n, transformed) in (at..).zip(transformed.iter_mut()) {
            if let Transformed::Stored(stored) = transformed
                && stored.dedup
            {
                assert!(items[n].rewrite.is_none(), "a deduplicated block is not written in place");
                names.push((n, name_of(items[n].data.len(), stored, items[n].policy.copies)));
            }
        }
        if names.is_empty() {
            return judged;
        }
        let Some(source) = storage.known().get() else {
            names.iter().for_each(|(n, _)| write_plainly(&mut transformed[n - at]));
            return judged;
        };
        let wanted: Vec<DedupName> = names.iter().map(|(_, name)| *name).collect();
        let found = source.find(&wanted);
        let pointer = |n: usize, transformed: &Transformed| match transformed {
            Transformed::Stored(stored) => stored.pointer(items[n].data.len() as u64, &items[n].policy, txg),
            _ => unreachable!("only what is stored has a name"),
        };
        let mut there = Vec::new();
        for ((n, name), found) in names.into_iter().zip(found) {
            let bp = pointer(n, &transformed[n - at]);
            match (found, self.leads.get(&name)) {
                (Found::Unknown, _) => write_plainly(&mut transformed[n - at]),
                (Found::There(slot), _) => there.push((n, name, placed(bp, &slot))),
                (Found::New, Some(&lead)) => {
                    let differs =
                        items[n].policy.dedup == Dedup::Verify && items[n].data[..] != items[lead].data[..];
                    if differs {
                        write_plainly(&mut transformed[n - at]);
                    } else {
                        self.followers.push((n, lead, bp));
                        judged[n - at] = Judged::Same;
                    }
                }
                (Found::New, None) => {
                    self.leads.insert(name, n);
                }
            }
        }
        for ((n, name, bp), same) in there.iter().zip(storage.verify_there(items, &there)) {
            if same {
                source.refer(name, 1);
                judged[n - at] = Judged::There(*bp);
            } else {
                write_plainly(&mut transformed[n - at]);
            }
        }
        judged
    }

    /// All of the batch has landed: tells the source, and gives the followers their answers.
    pub fn settle(self, storage: &Storage, answers: &mut [Option<Result<BlkPtr, WriteError>>]) {
        let mut followers: HashMap<usize, u64> = HashMap::new();
        for (n, lead, mut bp) in self.followers {
            let answer = answers[lead].expect("leads have landed");
            answers[n] = Some(answer.map(|written| {
                *followers.entry(lead).or_default() += 1;
                written.dvas().into_iter().enumerate().for_each(|(at, dva)| {
                    bp.set_dva(at, dva);
                });
                bp
            }));
        }
        let Some(source) = storage.known().get() else { return };
        // In an order that does not depend on a hasher's mood.
        let mut leads: Vec<_> = self.leads.into_iter().collect();
        leads.sort_unstable_by_key(|(_, n)| *n);
        for (name, n) in leads {
            if let Some(Ok(bp)) = answers[n] {
                source.add(&name, &bp, 1 + followers.get(&n).copied().unwrap_or(0));
            }
        }
    }
}

impl Storage {
    /// Who knows which blocks are stored already. Without one nothing is deduplicated.
    pub fn attach_dedup(&self, source: Arc<dyn DedupSource>) {
        self.known().attach(source);
    }

    /// Whether these blocks have the bytes of their items, where somebody wants to know.
    fn verify_there(&self, items: &[WriteItem], there: &[(usize, DedupName, BlkPtr)]) -> Vec<bool> {
        let wants = |n: usize| items[n].policy.dedup == Dedup::Verify;
        let doubted: Vec<BlkPtr> = there.iter().filter(|(n, ..)| wants(*n)).map(|(.., bp)| *bp).collect();
        let mut read = self.read_many(&doubted, IoClass::SyncRead, Keep::ALL).into_iter();
        let same = |(n, ..): &(usize, DedupName, BlkPtr)| {
            !wants(*n)
                || read.next().and_then(Result::ok).is_some_and(|block| block[..] == items[*n].data[..])
        };
        there.iter().map(same).collect()
    }
}

fn name_of(lsize: usize, stored: &Stored, copies: u8) -> DedupName {
    let key = DdtKey::new(stored.checksum, lsize as u64, stored.psize, stored.compression as u8);
    DedupName { checksum: stored.checksum_kind, key, copies }
}

/// The pointer of a block that lies in a slot.
fn placed(mut bp: BlkPtr, slot: &Slot) -> BlkPtr {
    for (at, dva) in slot.dvas.into_iter().enumerate() {
        bp.set_dva(at, dva);
    }
    bp.set_birth(bp.logical_birth(), slot.birth);
    bp
}

fn write_plainly(transformed: &mut Transformed) {
    if let Transformed::Stored(stored) = transformed {
        stored.dedup = false;
    }
}

#[cfg(test)]
mod tests;
