//! Where the blocks lie that a fault is asked for by what they belong to.
//!
//! The tree is walked as it is on disk, past all that is not on the way to what is wanted. Source:
//! cmd/zinject/translate.c (what types of objects the names mean, bytes to numbers of blocks).

use std::collections::BTreeMap;
use std::ops::Range;

use dmu::traverse::{Go, Part, Visit, Visitor, traverse};
use dmu::{DmuError, META_OBJECT};
use engine_api::{BlockFault, BlockKind, BlockRange, Error, Result};
use ondisk::BlkPtr;
use ondisk::dnode::{DnodePhys, SLOTS_PER_BLOCK};
use ondisk::object_type::{ObjectType, pool_directory};
use refusal::{Action, Reason, Refused};

use super::convert::api_error;
use super::pool::LocalPool;

/// Stretches by disk.
pub(super) type Places = BTreeMap<u64, Vec<Range<u64>>>;

/// The fault with the number of its dataset and those of the blocks found, and where they lie.
pub(super) fn find(pool: &LocalPool, fault: &BlockFault) -> Result<(BlockFault, Places)> {
    let core = pool.inner().core();
    let dsl = &pool.inner().dsl;
    core.txgs.sync_now().map_err(|error| api_error(error.into()))?;
    // What the walk meets stays where it is until its places are known.
    let _epoch = core.storage.epoch();
    let objset = match &fault.dataset {
        Some(name) => dsl.open_dataset(name).map_err(api_error)?.object(),
        None => fault.objset,
    };
    let root = match objset {
        0 => core.mos.root(),
        dataset => dsl.root_of(dataset).map_err(api_error)?,
    };
    let mut search = Search { fault, found: Vec::new(), span: None };
    traverse(core.storage.as_ref(), &root, 0, &mut search);
    let Search { found, span, .. } = search;
    let mut places = Places::new();
    for bp in &found {
        let copies = bp.dvas().into_iter().enumerate();
        let wanted = |(copy, _): &(usize, ondisk::Dva)| fault.copies == 0 || fault.copies >> copy & 1 == 1;
        for (_, dva) in copies.filter(wanted).filter(|(_, dva)| dva.is_valid()) {
            for place in core.storage.on_disks(&dva, bp.psize()).map_err(|_| nothing())? {
                places.entry(place.guid).or_default().push(place.offset..place.offset + place.len);
            }
        }
    }
    let (first, last) = span.filter(|_| !places.is_empty()).ok_or_else(nothing)?;
    let range =
        if fault.range == BlockRange::All { BlockRange::All } else { BlockRange::Blocks(first, last) };
    Ok((BlockFault { dataset: None, objset, range, ..fault.clone() }, places))
}

fn nothing() -> Error {
    Refused::new(Action::AddFault, Reason::NoSuchBlock).into()
}

struct Search<'a> {
    fault: &'a BlockFault,
    found: Vec<BlkPtr>,
    /// Numbers of the blocks found.
    span: Option<(u64, u64)>,
}

impl Search<'_> {
    /// The one object that is wanted.
    fn single(&self) -> Option<u64> {
        match self.fault.kind {
            BlockKind::Object | BlockKind::Dnode => Some(self.fault.object),
            BlockKind::MosDir => Some(pool_directory::OBJECT),
            _ => None,
        }
    }

    fn wants(&self, object: u64, dnode: &DnodePhys) -> bool {
        let is = |wanted: ObjectType| dnode.object_type == wanted;
        match self.fault.kind {
            BlockKind::Object | BlockKind::MosDir => self.single() == Some(object),
            BlockKind::Dnode => false,
            BlockKind::Mos => true,
            BlockKind::Metaslab => is(ObjectType::OBJECT_ARRAY),
            BlockKind::Config => is(ObjectType::PACKED_NVLIST),
            BlockKind::Bpobj => is(ObjectType::BPOBJ),
            BlockKind::SpaceMap => is(ObjectType::SPACE_MAP),
            BlockKind::ErrorLog => is(ObjectType::ERROR_LOG),
        }
    }

    /// Whether blocks of this number at the fault's level are wanted.
    fn is_within(&self, blkid: u64, dnode: &DnodePhys) -> bool {
        let (first, last) = match self.fault.range {
            _ if self.fault.kind == BlockKind::Dnode => {
                let block = self.fault.object / SLOTS_PER_BLOCK as u64;
                (block, block)
            }
            BlockRange::All => return true,
            BlockRange::Blocks(first, last) => (first, last),
            BlockRange::Bytes(first, last) => {
                let block =
                    |byte: u64| dnode.block_at_level(byte / dnode.data_block_size(), self.fault.level);
                (block(first), block(last))
            }
        };
        (first..=last).contains(&blkid)
    }

    fn take(&mut self, bp: &BlkPtr, blkid: u64) {
        self.found.push(*bp);
        let (first, last) = self.span.unwrap_or((blkid, blkid));
        self.span = Some((first.min(blkid), last.max(blkid)));
    }
}

impl Visitor for Search<'_> {
    fn object(&mut self, object: u64, dnode: &DnodePhys) -> Go {
        if object == META_OBJECT || self.wants(object, dnode) { Go::On } else { Go::Past }
    }

    fn block(&mut self, visit: &Visit<'_>) -> Go {
        let (Part::Tree { level, blkid }, Some(dnode)) = (visit.part, visit.dnode) else {
            return if visit.part == Part::Root { Go::On } else { Go::Past };
        };
        let is_dnodes = visit.object == META_OBJECT;
        if is_dnodes
            && self
                .single()
                .is_some_and(|object| dnode.block_at_level(object / SLOTS_PER_BLOCK as u64, level) != blkid)
        {
            return Go::Past;
        }
        let is_wanted = !is_dnodes || matches!(self.fault.kind, BlockKind::Dnode | BlockKind::Mos);
        if is_wanted && level == self.fault.level && !visit.bp.is_embedded() && self.is_within(blkid, dnode) {
            self.take(visit.bp, blkid);
        }
        let is_below = if is_dnodes { self.fault.kind == BlockKind::Dnode } else { true };
        if is_below && level <= self.fault.level { Go::Past } else { Go::On }
    }

    fn unreadable(&mut self, visit: &Visit<'_>, error: DmuError) -> Go {
        tracing::warn!(object = visit.object, %error, "blocks below one that cannot be read are not looked for");
        Go::On
    }
}
