//! An object set: all the objects of a file system, a volume, or the pool itself.
//!
//! Its dnodes are the data of one more object, the *meta dnode*, which has no special place here
//! beyond that: its blocks are written like any other's, after all dnodes in them have been. Only
//! its root, and those of the accounting objects, lie in the object set's own block.
//!
//! Locks, in this order: search, then cache or taken, then a dnode's state, then a dirty list.

mod accounting;
mod alloc;
mod cache;
mod syncing;
mod zap;

use std::sync::{Arc, Mutex, OnceLock, RwLock};

use env::IoClass;
use ondisk::BlkPtr;
use ondisk::dnode::{
    self, BLOCK_SIZE, DnodePhys, MAX_BLKPTRS, MAX_INDBLKSHIFT, MAX_OBJECT, SLOT_SIZE, SLOTS_PER_BLOCK,
};
use ondisk::object_type::ObjectType;
use ondisk::objset::{GROUPUSED_OBJECT, ObjsetPhys, ObjsetType, PROJECTUSED_OBJECT, USERUSED_OBJECT};
use ondisk::zil::ZilHeader;

use crate::DmuError;
use crate::accounting::{OwnerOf, flags_of_new};
use crate::dnode::{Core, DEFAULT_BLOCK, Dnode, ObjectSpec, Seek};
use crate::error::read_failed;
use crate::owner::{Admission, BlockOwner, Holds};
use crate::policy::ObjsetPolicy;
use crate::store::{Block, BlockStore, Keep, TXG_SIZE, Txg};
use crate::sync::dnodes_in;
use crate::tree::{Step, check_pointer};
use crate::tx::Tx;
use cache::Cache;

/// The meta dnode goes by this number.
pub const META_OBJECT: u64 = 0;
/// Blocks that one step of [`Objset::free_in_steps`] frees at most.
const FREE_STEP: u64 = 1 << 18;
const SLOTS: u64 = SLOTS_PER_BLOCK as u64;

/// An object's dnode in the block of dnodes that has its number; `None`: a free slot, or the inside
/// of a larger dnode.
pub(crate) fn dnode_in(block: &Block, object: u64) -> Result<Option<DnodePhys>, DmuError> {
    let slot = (object % SLOTS) as usize;
    // A slot inside a larger dnode holds that one's bonus: find out by walking from the first.
    let mut at = 0;
    while at < slot {
        at += block.get(at * SLOT_SIZE..).and_then(dnode::slots_at).unwrap_or(1);
    }
    let Some(bytes) = block.get(slot * SLOT_SIZE..).filter(|_| at == slot) else { return Ok(None) };
    let corrupt = DmuError::Corrupt { object: META_OBJECT, block: object / SLOTS };
    DnodePhys::decode(bytes).map_err(|_| corrupt)
}

/// The object set's own block.
struct Root {
    /// Its dnodes are as of the last sync; the rest is the newest.
    phys: ObjsetPhys,
    bp: BlkPtr,
    dirty: [bool; TXG_SIZE],
}

/// See the module.
pub struct Objset {
    core: Arc<Core>,
    meta: Arc<Dnode>,
    /// User-, group- and project-used; `exists` is unset until something was counted.
    accounting: [Arc<Dnode>; 3],
    root: Mutex<Root>,
    cache: Cache,
    search: Mutex<alloc::Search>,
    taken: Mutex<alloc::Taken>,
    owner_of: RwLock<Option<Arc<dyn OwnerOf>>>,
    watcher: OnceLock<Box<Watcher>>,
}

/// Is told which objects take another space since a group was written, once it is durable. It is
/// short, and asks the object set nothing.
type Watcher = dyn Fn(&[u64]) + Send + Sync;

impl Objset {
    /// From now on `watcher` is told of every group that has changed the space of objects, and of
    /// which. There is one, the first.
    pub fn watch(&self, watcher: impl Fn(&[u64]) + Send + Sync + 'static) {
        let _ = self.watcher.set(Box::new(watcher));
    }

    /// Reads the root.
    pub fn open(
        store: Arc<dyn BlockStore>,
        root: BlkPtr,
        owner: Arc<dyn BlockOwner>,
        admission: Arc<dyn Admission>,
        policy: ObjsetPolicy,
    ) -> Result<Arc<Objset>, DmuError> {
        if root.is_hole() {
            return Err(DmuError::NotFound);
        }
        check_pointer(&root, META_OBJECT, 0)?;
        let block =
            store.read(&root, IoClass::SyncRead, Keep::ALL).map_err(|e| read_failed(e, META_OBJECT, 0))?;
        let corrupt = DmuError::Corrupt { object: META_OBJECT, block: 0 };
        let phys = ObjsetPhys::decode(&block).map_err(|_| corrupt)?;
        if phys.meta_dnode.object_type != ObjectType::DNODE
            || phys.meta_dnode.data_block_size() != BLOCK_SIZE as u64
        {
            return Err(corrupt);
        }
        Ok(Objset::build(store, owner, admission, policy, Root { phys, bp: root, dirty: [false; TXG_SIZE] }))
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
        let mut meta_dnode = DnodePhys::new(ObjectType::DNODE, BLOCK_SIZE as u32, MAX_INDBLKSHIFT, 1);
        meta_dnode.blkptrs = vec![BlkPtr::HOLE; MAX_BLKPTRS];
        if kind != ObjsetType::Meta {
            // OpenZFS never lets the meta dnode of a dataset grow: it has all its levels from the
            // first day (`dmu_objset_create_impl_dnstats` in module/zfs/dmu_objset.c).
            while meta_dnode.capacity_blocks().saturating_mul(SLOTS) < MAX_OBJECT {
                meta_dnode.nlevels += 1;
            }
        }
        let phys = ObjsetPhys {
            size: policy.objset_size,
            meta_dnode,
            zil_header: ZilHeader::default(),
            objset_type: kind,
            flags: flags_of_new(kind, &policy),
            portable_mac: [0; ondisk::objset::MAC_LEN],
            local_mac: [0; ondisk::objset::MAC_LEN],
            userused_dnode: None,
            groupused_dnode: None,
            projectused_dnode: None,
        };
        let root = Root { phys, bp: BlkPtr::HOLE, dirty: [false; TXG_SIZE] };
        let objset = Objset::build(store, owner, admission, policy, root);
        env::lock(&objset.root).dirty[txg as usize % TXG_SIZE] = true;
        objset
    }

    fn build(
        store: Arc<dyn BlockStore>,
        owner: Arc<dyn BlockOwner>,
        admission: Arc<dyn Admission>,
        policy: ObjsetPolicy,
        root: Root,
    ) -> Arc<Objset> {
        let core = Arc::new(Core::new(store, owner, admission, policy));
        let phys = &root.phys;
        let meta = Dnode::new(META_OBJECT, &core, phys.meta_dnode.clone(), true);
        let used = |object, phys: &Option<DnodePhys>| {
            let none = || {
                let mut none = DnodePhys::new(ObjectType::USERGROUP_USED, DEFAULT_BLOCK, MAX_INDBLKSHIFT, 1);
                none.blkptrs = vec![BlkPtr::HOLE; MAX_BLKPTRS];
                none
            };
            let exists = phys.is_some();
            Dnode::new(object, &core, phys.clone().unwrap_or_else(none), exists)
        };
        let accounting = [
            used(USERUSED_OBJECT, &phys.userused_dnode),
            used(GROUPUSED_OBJECT, &phys.groupused_dnode),
            used(PROJECTUSED_OBJECT, &phys.projectused_dnode),
        ];
        Arc::new(Objset {
            meta,
            accounting,
            root: Mutex::new(root),
            cache: Cache::new(core.store.decoded()),
            search: Mutex::default(),
            taken: Mutex::default(),
            owner_of: RwLock::new(None),
            watcher: OnceLock::new(),
            core,
        })
    }

    pub fn set_policy(&self, policy: ObjsetPolicy) {
        self.core.set_policy(policy);
    }

    pub fn policy(&self) -> Arc<ObjsetPolicy> {
        self.core.policy()
    }

    /// How the owner of an object is found, so that space is counted by owner.
    pub fn set_owner_of(&self, owner_of: Arc<dyn OwnerOf>) {
        *self.owner_of.write().expect("another thread panicked while setting this") = Some(owner_of);
    }

    fn owner_of(&self) -> Option<Arc<dyn OwnerOf>> {
        self.owner_of.read().expect("another thread panicked while setting this").clone()
    }

    pub fn kind(&self) -> ObjsetType {
        env::lock(&self.root).phys.objset_type
    }

    pub fn store(&self) -> &Arc<dyn BlockStore> {
        &self.core.store
    }

    /// Enters the open transaction group; waits where admission says so.
    pub fn begin(&self, holds: Holds) -> Result<Tx, DmuError> {
        self.core.admission.assign(&holds, true).map(Tx::held)
    }

    /// As [`Objset::begin`], but `Busy` instead of waiting.
    pub fn try_begin(&self, holds: Holds) -> Result<Tx, DmuError> {
        self.core.admission.assign(&holds, false).map(Tx::held)
    }

    /// `NotFound`: a free slot, or the inside of a larger dnode.
    pub fn hold(&self, object: u64) -> Result<Arc<Dnode>, DmuError> {
        if let Some(special) = self.special(object) {
            return if special.exists() { Ok(special.clone()) } else { Err(DmuError::NotFound) };
        }
        loop {
            if let Some(dnode) = self.cache.get(object) {
                return if dnode.exists() { Ok(dnode) } else { Err(DmuError::NotFound) };
            }
            let generation = self.meta.state().generation;
            let phys = self.load_phys(object)?.ok_or(DmuError::NotFound)?;
            let dnode = Dnode::new(object, &self.core, phys, true);
            // What was read is stale if a group that had changed the object was done since.
            let still = || self.meta.state().generation == generation;
            match self.cache.insert(dnode, still) {
                Some(dnode) if dnode.exists() => return Ok(dnode),
                Some(_) => return Err(DmuError::NotFound),
                None => continue,
            }
        }
    }

    fn special(&self, object: u64) -> Option<&Arc<Dnode>> {
        match object {
            META_OBJECT => Some(&self.meta),
            _ => self.accounting.iter().find(|dnode| dnode.object() == object),
        }
    }

    pub(crate) fn accounting_dnodes(&self) -> &[Arc<Dnode>; 3] {
        &self.accounting
    }

    /// The dnode as the newest block of dnodes has it.
    fn load_phys(&self, object: u64) -> Result<Option<DnodePhys>, DmuError> {
        let Some(block) =
            (object < MAX_OBJECT).then(|| self.meta.block(object / SLOTS)).transpose()?.flatten()
        else {
            return Ok(None);
        };
        dnode_in(&block, object)
    }

    /// A new object at a free number.
    pub fn alloc(&self, spec: ObjectSpec, tx: &Tx) -> Result<Arc<Dnode>, DmuError> {
        self.alloc_with(spec, tx, |_| Ok(()))
    }

    /// A new object at a free number, which nobody finds by that number before `make` has filled
    /// it: the number may have meant another object, whose handles are still about. Where `make`
    /// fails there is no object.
    pub fn alloc_with(
        &self,
        spec: ObjectSpec,
        tx: &Tx,
        make: impl FnOnce(&Arc<Dnode>) -> Result<(), DmuError>,
    ) -> Result<Arc<Dnode>, DmuError> {
        let phys = spec.phys(self.policy().dnode_slots)?;
        let object = self.reserve(phys.slots() as u8, tx.touch())?;
        let dnode = self.new_dnode(object, phys, tx);
        if let Err(error) = make(&dnode) {
            dnode.free(tx)?;
            return Err(error);
        }
        self.publish(&dnode);
        Ok(dnode)
    }

    /// A new object at this number; `Exists` when a slot of it is taken. The accounting objects are
    /// claimed by their own numbers.
    pub fn claim(&self, object: u64, spec: ObjectSpec, tx: &Tx) -> Result<Arc<Dnode>, DmuError> {
        if let Some(special) = self.special(object) {
            special.claim(spec, tx)?;
            return Ok(special.clone());
        }
        let phys = spec.phys(self.policy().dnode_slots)?;
        if object >= MAX_OBJECT || object % SLOTS + phys.slots() as u64 > SLOTS {
            return Err(DmuError::Invalid("object number"));
        }
        let reserved = self.reserve_in(object / SLOTS, Some(object), phys.slots() as u8, tx.touch())?;
        let dnode = self.new_dnode(reserved.ok_or(DmuError::Exists)?, phys, tx);
        self.publish(&dnode);
        Ok(dnode)
    }

    /// A dnode at slots that were reserved for it.
    fn new_dnode(&self, object: u64, phys: DnodePhys, tx: &Tx) -> Arc<Dnode> {
        let dnode = Dnode::new(object, &self.core, phys, false);
        let mut state = dnode.state_mut();
        let changes = dnode.change(&mut state, tx.touch());
        changes.attrs.exists = true;
        changes.allocated = true;
        drop(state);
        dnode
    }

    /// From here on the object is found by its number.
    fn publish(&self, dnode: &Arc<Dnode>) {
        let there = self.cache.insert(dnode.clone(), || true).expect("no condition");
        assert!(Arc::ptr_eq(&there, dnode), "object {} was free and is in memory", dnode.object());
    }

    /// Frees the object with all its blocks, at sync. A large one is better emptied in several
    /// transactions first: see [`Objset::free_in_steps`].
    pub fn free(&self, object: u64, tx: &Tx) -> Result<(), DmuError> {
        if self.special(object).is_some() {
            return Err(DmuError::Invalid("this object cannot be freed"));
        }
        let dnode = self.hold(object)?;
        dnode.free(tx)?;
        env::lock(&self.taken).note(object, dnode.slots(), tx.touch());
        Ok(())
    }

    /// Empties a large object, a bounded part a transaction, then frees it. Open context, no [`Tx`]
    /// held.
    pub fn free_in_steps(&self, object: u64) -> Result<(), DmuError> {
        self.free_range_in_steps(&*self.hold(object)?, 0, u64::MAX)?;
        let tx = self.begin(Holds::freeing(1))?;
        self.free(object, &tx)
    }

    /// [`Dnode::free_range`] of a range that may be large, a bounded part a transaction. Open
    /// context, no [`Tx`] held.
    pub fn free_range_in_steps(&self, dnode: &Dnode, offset: u64, len: u64) -> Result<(), DmuError> {
        let step = FREE_STEP * u64::from(dnode.block_size());
        let end = offset.saturating_add(len);
        let mut from = offset;
        while dnode.max_blkid() > FREE_STEP
            && let Some(data) = dnode.next_offset(from, Seek::Data)?
        {
            let after = data.saturating_add(step);
            if after >= end {
                break;
            }
            dnode.free_range(data, after - data, &self.begin(Holds::freeing(1))?)?;
            from = after;
        }
        let left = if len == u64::MAX { len } else { end.saturating_sub(from) };
        dnode.free_range(from, left, &self.begin(Holds::freeing(2))?)
    }

    /// The first object after `after` in use (dirty state included) whose dnode's block was born
    /// after `txg_min`.
    pub fn next_object(&self, after: u64, txg_min: u64) -> Result<Option<u64>, DmuError> {
        let mut after = after;
        while after < MAX_OBJECT {
            let on_disk = self.next_on_disk(after, txg_min)?;
            let in_memory = self.next_in_memory(after);
            let Some(next) = [on_disk, in_memory].into_iter().flatten().min() else { break };
            match self.hold(next) {
                Ok(_) => return Ok(Some(next)),
                // Freed, and still on disk; or freed since we looked.
                Err(DmuError::NotFound) => after = next,
                // It is there, though unreadable: whoever holds it will be told.
                Err(DmuError::Corrupt { .. }) => return Ok(Some(next)),
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// The first object after this one that was made in memory and still exists there.
    fn next_in_memory(&self, after: u64) -> Option<u64> {
        let candidates: Vec<u64> = env::lock(&self.taken).after(after).take(64).collect();
        let alive = |&object: &u64| self.cache.get(object).is_some_and(|dnode| dnode.exists());
        // If all that were looked at are dead, the caller comes back from the last of them.
        candidates.iter().copied().find(alive).or(candidates.last().copied())
    }

    fn next_on_disk(&self, after: u64, txg_min: u64) -> Result<Option<u64>, DmuError> {
        let mut block = (after + 1) / SLOTS;
        let mut slot = (after + 1) % SLOTS;
        loop {
            let mut walker = self.meta.walker(&self.meta.state());
            let mut newer = |bp: &BlkPtr, _| {
                if bp.is_hole() || bp.birth() <= txg_min { Step::Skip } else { Step::Enter }
            };
            let Some(found) = walker.find(block, &mut newer)? else { return Ok(None) };
            if found != block {
                (block, slot) = (found, 0);
            }
            let bytes = walker.block(block)?;
            let first = bytes.and_then(|bytes| first_dnode(&bytes, slot));
            if let Some(first) = first {
                return Ok(Some(block * SLOTS + first));
            }
            (block, slot) = (block + 1, 0);
        }
    }

    /// The last root that was synced; a hole in an object set that never was.
    pub fn root(&self) -> BlkPtr {
        env::lock(&self.root).bp
    }

    /// The root's content as of the last sync.
    pub fn phys(&self) -> ObjsetPhys {
        env::lock(&self.root).phys.clone()
    }

    pub fn zil_header(&self) -> ZilHeader {
        env::lock(&self.root).phys.zil_header.clone()
    }

    /// Syncing context, or before the first open transaction: the header goes out with the next
    /// sync.
    pub fn set_zil_header(&self, header: ZilHeader, tx: &Tx) {
        let mut root = env::lock(&self.root);
        root.phys.zil_header = header;
        root.dirty[tx.touch() as usize % TXG_SIZE] = true;
    }

    /// The root goes out with this group even if nothing else of the object set changes.
    pub fn mark_dirty(&self, tx: &Tx) {
        env::lock(&self.root).dirty[tx.touch() as usize % TXG_SIZE] = true;
    }

    /// `ondisk::objset::FLAG_*`.
    pub fn flags(&self) -> u64 {
        env::lock(&self.root).phys.flags
    }

    /// They go out with the next sync.
    pub fn set_flags(&self, flags: u64, tx: &Tx) {
        let mut root = env::lock(&self.root);
        root.phys.flags = flags;
        root.dirty[tx.touch() as usize % TXG_SIZE] = true;
    }

    /// Objects in use as of the last sync.
    pub fn object_count(&self) -> u64 {
        syncing::objects_below(&env::lock(&self.root).phys.meta_dnode)
    }
}

impl Drop for Objset {
    fn drop(&mut self) {
        self.core.clear_dirty();
    }
}

/// The first slot at or after `slot` at which a dnode starts.
fn first_dnode(block: &[u8], slot: u64) -> Option<u64> {
    dnodes_in(block).map(|(first, _)| first as u64).find(|first| *first >= slot)
}

#[cfg(test)]
mod tests;
