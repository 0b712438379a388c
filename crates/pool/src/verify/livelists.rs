//! Whether livelists say what clones have: each block that a head has and its origin has not, as
//! often as it has it.
//!
//! Source: cmd/zdb/zdb.c (`verify_dd_livelist`, `livelist_metaslab_validate`).

use std::collections::BTreeMap;

use dmu::DmuError;
use dmu::traverse::{Go, Visit, Visitor, traverse};
use ondisk::BlkPtr;
use ondisk::dsl_dataset::DslDatasetPhys;

use super::{Problem, Walk, identity};
use crate::dsl::Dsl;
use crate::undeciphered::Undeciphered;
use crate::{PoolError, Result};

/// How often the livelist has a block more than the head, by place and birth.
type Excess = BTreeMap<(u32, u64, u64), i64>;

impl Walk<'_> {
    /// Holds the livelist of a head against its tree, if it has one.
    pub(super) fn livelist(&mut self, dsl: &Dsl, head: u64, phys: &DslDatasetPhys) -> Result<()> {
        if phys.is_snapshot() {
            return Ok(());
        }
        let dir = dsl.dir(phys.dir_obj)?;
        let Some(livelist) = dsl.livelist(&dir)? else { return Ok(()) };
        let mut excess = Excess::new();
        dsl.each_of_livelist(livelist, &mut |bp| *excess.entry(identity(bp)).or_default() += 1)?;
        let mut own = Own { excess, error: None };
        let origin_txg = dsl.origin_txg(dir.phys().origin_obj)?;
        traverse(&Undeciphered(self.storage), &phys.bp, origin_txg, &mut own);
        if let Some(error) = own.error {
            return Err(PoolError::from(error));
        }
        for ((vdev, offset, _), excess) in own.excess.into_iter().filter(|(_, excess)| *excess != 0) {
            self.problem(Problem::Livelist { dataset: head, vdev, offset, excess });
        }
        Ok(())
    }
}

struct Own {
    excess: Excess,
    error: Option<DmuError>,
}

impl Own {
    fn met(&mut self, bp: &BlkPtr) {
        if !bp.is_embedded() {
            *self.excess.entry(identity(bp)).or_default() -= 1;
        }
    }
}

impl Visitor for Own {
    fn block(&mut self, visit: &Visit<'_>) -> Go {
        self.met(visit.bp);
        Go::On
    }

    fn unreadable(&mut self, _visit: &Visit<'_>, error: DmuError) -> Go {
        self.error = Some(error);
        Go::Past
    }
}
