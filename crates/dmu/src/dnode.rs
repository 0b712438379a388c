//! One object in memory.
//!
//! A [`Dnode`] is unique for its object while anybody holds it (the cache of its object set sees to
//! that), and all of its state is behind one lock, held only for memory work: never across a read
//! from disk. Whoever needs old content looks, reads without the lock, and looks again;
//! `State::generation` tells whether what was read is still clean.

pub(crate) mod early;
mod read;
mod shared;
mod spec;
mod write;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock, RwLockReadGuard, RwLockWriteGuard, Weak};

use ondisk::dnode::DnodePhys;
use ondisk::object_type::ObjectType;

use crate::DmuError;
use crate::overlay::{Attrs, Clean, State};
use crate::prefetch::Streams;
use crate::store::{Block, Txg};
use crate::tx::Tx;

pub(crate) use shared::Core;
pub(crate) use spec::DEFAULT_BLOCK;
pub use spec::ObjectSpec;
pub use write::{MAX_BLOCK_SIZE, MAX_SPILL_SIZE};

/// A part of what was read.
#[derive(Debug, Clone)]
pub enum Chunk {
    /// These bytes of the block. The block never changes under the reader.
    Data(Arc<Block>, Range<usize>),
    /// So many zero bytes.
    Zero(usize),
}

impl Chunk {
    pub fn len(&self) -> usize {
        match self {
            Chunk::Data(_, range) => range.len(),
            Chunk::Zero(len) => *len,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// What [`Dnode::next_offset`] looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seek {
    Data,
    Hole,
}

/// An object's bonus buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bonus {
    pub bonus_type: ObjectType,
    pub bytes: Vec<u8>,
}

/// How large an object is, at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// In bytes.
    pub block_size: u32,
    /// Of the last block that may have data, 0 in an empty object too.
    pub max_blkid: u64,
    pub slots: u8,
    /// Allocated bytes as of the last sync.
    pub used_bytes: u64,
}

/// See the module.
pub struct Dnode {
    object: u64,
    core: Arc<Core>,
    me: Weak<Dnode>,
    state: RwLock<State>,
    /// For whoever interprets the content (ZAP, SA, …) and must see or change several blocks as
    /// one.
    content: RwLock<()>,
    streams: Mutex<Streams>,
    /// See [`Dnode::footprint`]: of what it was when it came to memory.
    footprint: usize,
    /// Looked up since the cache last went round.
    touched: AtomicBool,
}

impl Dnode {
    /// As it is on disk, or (with `exists` unset) as it will be.
    pub(crate) fn new(object: u64, core: &Arc<Core>, phys: DnodePhys, exists: bool) -> Arc<Dnode> {
        let attrs = Attrs { exists, ..Attrs::of(&phys) };
        let footprint =
            size_of::<Dnode>() + size_of::<Clean>() + size_of_val(&*phys.blkptrs) + phys.bonus.len();
        Arc::new_cyclic(|me| Dnode {
            object,
            core: core.clone(),
            me: me.clone(),
            state: RwLock::new(State::new(Clean { phys, attrs })),
            content: RwLock::new(()),
            streams: Mutex::default(),
            footprint,
            touched: AtomicBool::new(true),
        })
    }

    pub fn object(&self) -> u64 {
        self.object
    }

    pub fn object_type(&self) -> ObjectType {
        self.state().attrs().object_type
    }

    /// In bytes.
    pub fn block_size(&self) -> u32 {
        self.state().attrs().block_size
    }

    /// Number of the last block that may have data, 0 in an empty object too.
    pub fn max_blkid(&self) -> u64 {
        self.state().attrs().max_blkid
    }

    pub fn extent(&self) -> Extent {
        let state = self.state();
        let attrs = state.attrs();
        Extent {
            block_size: attrs.block_size,
            max_blkid: attrs.max_blkid,
            slots: attrs.slots,
            used_bytes: state.clean.phys.used_bytes(),
        }
    }

    pub fn slots(&self) -> u8 {
        self.state().attrs().slots
    }

    /// Block pointers in the dnode itself.
    pub fn pointers(&self) -> usize {
        usize::from(self.state().attrs().nblkptr)
    }

    pub fn bonus_type(&self) -> ObjectType {
        self.state().attrs().bonus_type
    }

    /// Bytes its bonus can have, given its slots, block pointers and spill.
    pub fn bonus_capacity(&self) -> usize {
        self.state().attrs().bonus_capacity()
    }

    /// Allocated bytes as of the last sync.
    pub fn used_bytes(&self) -> u64 {
        self.state().clean.phys.used_bytes()
    }

    pub fn nlevels(&self) -> u8 {
        self.state().clean.phys.nlevels
    }

    /// As of the last sync.
    pub fn phys(&self) -> DnodePhys {
        self.state().clean.phys.clone()
    }

    /// The lock of whoever interprets the content (a ZAP, say); this crate's block calls do not
    /// take it.
    pub fn content_lock(&self) -> &RwLock<()> {
        &self.content
    }

    /// The newest bonus.
    pub fn bonus(&self) -> Bonus {
        let state = self.state();
        let attrs = state.attrs();
        Bonus { bonus_type: attrs.bonus_type, bytes: attrs.bonus.to_vec() }
    }

    pub fn has_spill(&self) -> bool {
        self.state().attrs().has_spill
    }

    /// False once the object was freed; every other call then answers for a dead object.
    pub fn exists(&self) -> bool {
        self.state().attrs().exists
    }

    /// Changed, and not yet durable.
    pub fn is_dirty(&self) -> bool {
        self.state().is_dirty()
    }

    pub(crate) fn state(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().expect("another thread panicked while changing this object")
    }

    pub(crate) fn state_mut(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().expect("another thread panicked while changing this object")
    }

    /// About the bytes that it takes while it is idle.
    pub(crate) fn footprint(&self) -> usize {
        self.footprint
    }

    pub(crate) fn touch(&self) {
        self.touched.store(true, Ordering::Relaxed);
    }

    /// Whether it was looked up since the last call.
    pub(crate) fn take_touched(&self) -> bool {
        self.touched.swap(false, Ordering::Relaxed)
    }

    /// Makes an object where there is none, for those whose dnodes lie in the object set's own
    /// block; `Exists` where there is one.
    pub(crate) fn claim(&self, spec: ObjectSpec, tx: &Tx) -> Result<(), DmuError> {
        let phys = ObjectSpec { slots: 1, ..spec }.phys(1)?;
        let mut state = self.state_mut();
        if state.attrs().exists {
            return Err(DmuError::Exists);
        }
        let changes = self.change(&mut state, tx.touch());
        changes.attrs = Attrs::of(&phys);
        Ok(())
    }

    /// Puts the object on the list of what `txg` must write; called under the state lock, on the
    /// first change.
    fn enlist(&self, txg: Txg) {
        let me = self.me.upgrade().expect("called on a reference");
        env::lock(self.core.dirty_list(txg)).insert(self.object, me);
    }
}
