//! Blocks written before their group is synced, because a record of an intent log is to lead to
//! them (`dmu_sync`).

use std::collections::HashMap;
use std::sync::Arc;

use ondisk::BlkPtr;

use super::Dnode;
use crate::DmuError;
use crate::overlay::Early;
use crate::store::{Block, Dedup, WriteItem, WritePolicy};
use crate::tx::Tx;

/// Writes those of the blocks that are dirty in the transaction's group, and tells where each is
/// now; the sync will not write them again unless they change. They are on disk when this returns,
/// but not flushed. `None`: the block is not dirty in this group, or what it came to is no block
/// that one pointer leads to. All dnodes are of one object set.
pub fn write_early(wanted: &[(Arc<Dnode>, u64)], tx: &Tx) -> Result<Vec<Option<BlkPtr>>, DmuError> {
    let mut answers = vec![None; wanted.len()];
    let mut writing: Vec<(usize, Arc<Block>)> = Vec::new();
    let mut items = Vec::new();
    let mut first_of: HashMap<(u64, u64), usize> = HashMap::new();
    for (n, (dnode, blkid)) in wanted.iter().enumerate() {
        if first_of.contains_key(&(dnode.object(), *blkid)) {
            continue;
        }
        first_of.insert((dnode.object(), *blkid), n);
        match dnode.to_write_early(*blkid, tx) {
            Some(Waiting::There(bp)) => answers[n] = Some(bp),
            Some(Waiting::ToWrite(item)) => {
                writing.push((n, item.data.clone()));
                items.push(item);
            }
            None => {}
        }
    }
    let Some((first, _)) = wanted.first() else { return Ok(answers) };
    let written = first.core.store.write_batch(items, tx.txg(), &mut |_| {});
    let mut failed = None;
    for ((n, block), result) in writing.into_iter().zip(written) {
        let (dnode, blkid) = &wanted[n];
        match result {
            Ok(bp) if !bp.is_hole() => {
                dnode.wrote_early(*blkid, Early { block, bp }, tx);
                answers[n] = Some(bp);
            }
            Ok(_) => {}
            Err(_) => failed = Some(DmuError::Io),
        }
    }
    for n in 0..wanted.len() {
        answers[n] = answers[first_of[&(wanted[n].0.object(), wanted[n].1)]];
    }
    // A gang's header does not name all that would have to be claimed after a crash.
    answers.iter_mut().for_each(|answer| *answer = answer.filter(|bp| !bp.is_gang()));
    failed.map_or(Ok(answers), Err)
}

enum Waiting {
    There(BlkPtr),
    ToWrite(WriteItem),
}

impl Dnode {
    fn to_write_early(&self, blkid: u64, tx: &Tx) -> Option<Waiting> {
        let state = self.state();
        let changes = state.changes(tx.txg())?;
        let block = &changes.blocks.get(&blkid)?.block;
        let versions = changes.early.get(&blkid).map_or(&[][..], Vec::as_slice);
        if let Some(early) = versions.iter().rev().find(|early| Arc::ptr_eq(&early.block, block)) {
            return Some(Waiting::There(early.bp));
        }
        let what = changes.attrs.data_kind();
        // What is stored already is known where groups are synced, and only there.
        let policy = WritePolicy { dedup: Dedup::Off, ..self.core.policy().block(what, 1) };
        Some(Waiting::ToWrite(WriteItem { data: block.clone(), policy, rewrite: None, unless: None }))
    }

    fn wrote_early(&self, blkid: u64, early: Early, tx: &Tx) {
        let mut state = self.state_mut();
        self.change(&mut state, tx.touch()).early.entry(blkid).or_default().push(early);
    }
}
