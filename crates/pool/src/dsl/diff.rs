//! Which objects may differ between a snapshot and a later one: those whose blocks of dnodes are
//! younger than the first.
//!
//! What is read is the way down to these blocks, so the cost follows what changed, not what exists.
//! A block has many dnodes: whether one of them changed is for who knows what they mean.
//!
//! Source: module/zfs/dmu_diff.c.

use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use dmu::{DmuError, META_OBJECT};
use ondisk::dnode::{DnodePhys, MAX_OBJECT, SLOTS_PER_BLOCK};
use refusal::{Action, Reason, Refused};

use super::Dsl;
use crate::Result;

/// A block pointer has 128 bytes.
const POINTER_SHIFT: u32 = 7;

/// Numbers to look at, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Span {
    /// An object in the later snapshot.
    InUse(u64),
    /// No objects in the later snapshot.
    Free { first: u64, last: u64 },
}

struct Finder<'a> {
    tell: &'a mut dyn FnMut(Span) -> bool,
    failed: Option<DmuError>,
}

impl Finder<'_> {
    fn told(&mut self, span: Span) -> Go {
        if (self.tell)(span) { Go::Past } else { Go::Stop }
    }
}

impl Visitor for Finder<'_> {
    fn block(&mut self, _visit: &Visit<'_>) -> Go {
        Go::On
    }

    fn object(&mut self, object: u64, _dnode: &DnodePhys) -> Go {
        match object {
            META_OBJECT => Go::On,
            object if object >= MAX_OBJECT => Go::Past,
            object => self.told(Span::InUse(object)),
        }
    }

    fn free_slot(&mut self, object: u64) -> Go {
        self.told(Span::Free { first: object, last: object })
    }

    fn hole(&mut self, visit: &Visit<'_>) -> Go {
        let (Part::Tree { level, blkid }, Some(dnode)) = (visit.part, visit.dnode) else { return Go::On };
        let fanout = u32::from(dnode.indblkshift).saturating_sub(POINTER_SHIFT);
        let objects = SLOTS_PER_BLOCK as u64;
        let span = 1u64.checked_shl(fanout * u32::from(level)).and_then(|blocks| blocks.checked_mul(objects));
        let first = span.and_then(|span| span.checked_mul(blkid)).unwrap_or(MAX_OBJECT);
        if first >= MAX_OBJECT {
            return Go::On;
        }
        let last = first.saturating_add(span.unwrap_or(MAX_OBJECT)).min(MAX_OBJECT) - 1;
        self.told(Span::Free { first, last })
    }

    fn unreadable(&mut self, _visit: &Visit<'_>, error: DmuError) -> Go {
        self.failed = Some(error);
        Go::Stop
    }
}

impl Dsl {
    /// See the module; in order of numbers, until `tell` has enough (false). `Refused` where `from`
    /// is no earlier snapshot of the same dataset or of one that it comes from.
    pub fn changed_objects(&self, from: &str, to: &str, tell: &mut dyn FnMut(Span) -> bool) -> Result<()> {
        let (root, from_txg) = {
            let _config = self.reading();
            let (earlier, later) = (self.find(from)?, self.find(to)?);
            let txg = earlier.phys.creation_txg;
            let both = earlier.is_snapshot() && later.is_snapshot();
            if !both || !self.is_before(&later.phys, earlier.dir.object, txg)? {
                return Err(Refused::new(Action::Diff, Reason::NotEarlier).into());
            }
            (later.phys.bp, txg)
        };
        let _epoch = self.parts.store().epoch();
        let mut finder = Finder { tell, failed: None };
        traverse(self.parts.store().as_ref(), &root, from_txg, &mut finder);
        finder.failed.map_or(Ok(()), |error| Err(error.into()))
    }
}
