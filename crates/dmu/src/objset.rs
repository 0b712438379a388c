//! An object set: all the objects of a file system, a volume, or the pool itself.

use std::sync::Arc;

use ondisk::BlkPtr;
use ondisk::object_type::ObjectType;
use ondisk::objset::{ObjsetPhys, ObjsetType};
use ondisk::zil::ZilHeader;

use crate::dnode::Dnode;
use crate::owner::{Admission, BlockOwner, Holds, SyncTx};
use crate::policy::ObjsetPolicy;
use crate::store::{BlockStore, Txg};
use crate::tx::Tx;
use crate::{DmuError, SyncError};

/// A new object's shape.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ObjectSpec {
    pub object_type: ObjectType,
    /// In bytes; 0 is 512.
    pub block_size: u32,
    pub bonus_type: ObjectType,
    /// Initial length; the bytes are zero.
    pub bonus_len: u16,
    /// Of 512 bytes; 0 follows the policy.
    pub slots: u8,
    /// log2 of the size of its indirect blocks; 0 is 17.
    pub indirect_shift: u8,
}

impl ObjectSpec {
    /// No bonus, defaults.
    pub const fn new(object_type: ObjectType) -> ObjectSpec {
        ObjectSpec {
            object_type,
            block_size: 0,
            bonus_type: ObjectType::NONE,
            bonus_len: 0,
            slots: 0,
            indirect_shift: 0,
        }
    }

    pub const fn with_block_size(self, block_size: u32) -> ObjectSpec {
        ObjectSpec { block_size, ..self }
    }

    pub const fn with_bonus(self, bonus_type: ObjectType, bonus_len: u16) -> ObjectSpec {
        ObjectSpec { bonus_type, bonus_len, ..self }
    }

    pub const fn with_slots(self, slots: u8) -> ObjectSpec {
        ObjectSpec { slots, ..self }
    }
}

/// What all dnodes of an object set share.
pub struct Core {
    pub(crate) store: Arc<dyn BlockStore>,
}

/// See the module.
pub struct Objset {
    core: Arc<Core>,
}

impl Objset {
    /// Reads the root.
    pub fn open(
        store: Arc<dyn BlockStore>,
        root: BlkPtr,
        owner: Arc<dyn BlockOwner>,
        admission: Arc<dyn Admission>,
        policy: ObjsetPolicy,
    ) -> Result<Arc<Objset>, DmuError> {
        let _ = (store, root, owner, admission, policy);
        unimplemented!()
    }

    /// A new one, dirty in `txg`: the root comes out of the first sync.
    pub fn create(
        store: Arc<dyn BlockStore>,
        kind: ObjsetType,
        owner: Arc<dyn BlockOwner>,
        admission: Arc<dyn Admission>,
        policy: ObjsetPolicy,
        txg: Txg,
    ) -> Arc<Objset> {
        let _ = (store, kind, owner, admission, policy, txg);
        unimplemented!()
    }

    pub fn set_policy(&self, policy: ObjsetPolicy) {
        let _ = policy;
        unimplemented!()
    }

    pub fn policy(&self) -> Arc<ObjsetPolicy> {
        unimplemented!()
    }

    pub fn kind(&self) -> ObjsetType {
        unimplemented!()
    }

    /// Enters the open transaction group; waits where admission says so.
    pub fn begin(&self, holds: Holds) -> Result<Tx, DmuError> {
        let _ = holds;
        unimplemented!()
    }

    /// As [`Objset::begin`], but `Busy` instead of waiting.
    pub fn try_begin(&self, holds: Holds) -> Result<Tx, DmuError> {
        let _ = holds;
        unimplemented!()
    }

    /// `NotFound`: a free slot, or the inside of a larger dnode.
    pub fn hold(&self, object: u64) -> Result<Arc<Dnode>, DmuError> {
        unimplemented!("{object}")
    }

    /// A new object at a free number.
    pub fn alloc(&self, spec: ObjectSpec, tx: &Tx) -> Result<Arc<Dnode>, DmuError> {
        unimplemented!("{spec:?}{}", tx.is_syncing())
    }

    /// A new object at this number; `Exists` when a slot of it is taken.
    pub fn claim(&self, object: u64, spec: ObjectSpec, tx: &Tx) -> Result<Arc<Dnode>, DmuError> {
        unimplemented!("{object}{spec:?}{}", tx.is_syncing())
    }

    /// Frees the object with all its blocks, at sync. A large one is better emptied in several transactions first:
    /// see [`Objset::free_in_steps`].
    pub fn free(&self, object: u64, tx: &Tx) -> Result<(), DmuError> {
        unimplemented!("{object}{}", tx.is_syncing())
    }

    /// Empties a large object from its end, a bounded part a transaction, then frees it. Open context, no [`Tx`] held.
    pub fn free_in_steps(&self, object: u64) -> Result<(), DmuError> {
        unimplemented!("{object}")
    }

    /// The first object after `after` in use (dirty state included) whose dnode's block was born after `txg_min`.
    pub fn next_object(&self, after: u64, txg_min: u64) -> Result<Option<u64>, DmuError> {
        unimplemented!("{after}{txg_min}")
    }

    /// Something waits to be written in this txg.
    pub fn is_dirty(&self, txg: Txg) -> bool {
        unimplemented!("{txg:?}")
    }

    /// Writes all that is dirty in this txg and answers with the new root. May be called again in later passes.
    pub fn sync(&self, tx: &SyncTx) -> Result<BlkPtr, SyncError> {
        unimplemented!("{tx:?}")
    }

    /// The uberblock that leads to this txg is written: its overlay is dropped, its roots are the clean ones.
    pub fn sync_done(&self, txg: Txg) {
        unimplemented!("{txg:?}")
    }

    /// The last root that was synced; a hole in an object set that never was.
    pub fn root(&self) -> BlkPtr {
        unimplemented!()
    }

    /// The root's content as of the last sync.
    pub fn phys(&self) -> ObjsetPhys {
        unimplemented!()
    }

    pub fn zil_header(&self) -> ZilHeader {
        unimplemented!()
    }

    pub fn set_zil_header(&self, header: ZilHeader, tx: &Tx) {
        let _ = header;
        unimplemented!("{}", tx.is_syncing())
    }

    /// `ondisk::objset::FLAG_*`.
    pub fn flags(&self) -> u64 {
        unimplemented!()
    }

    pub fn set_flags(&self, flags: u64, tx: &Tx) {
        unimplemented!("{flags}{}", tx.is_syncing())
    }

    /// Objects in use as of the last sync.
    pub fn object_count(&self) -> u64 {
        unimplemented!()
    }

    /// For tests of the skeleton.
    pub fn store(&self) -> &Arc<dyn BlockStore> {
        &self.core.store
    }
}
