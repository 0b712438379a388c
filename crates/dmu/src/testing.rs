//! For tests: blocks in memory, an owner that keeps books, and one transaction group at a time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use env::{IoClass, lock};
use ondisk::blkptr::Dva;
use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use crate::objset::Objset;
use crate::owner::{Admission, BlockOwner, Holds, SyncTx, TxHold};
use crate::policy::ObjsetPolicy;
use crate::store::{Block, BlockStore, Decoded, Keep, ReadError, Txg, WriteError, WriteItem};
use crate::{DmuError, Tx};

/// Blocks by the offset in their first DVA. Space is never reused, and once its group is done a
/// freed block is gone: whoever reads it gets an error.
#[derive(Default)]
pub(crate) struct MemStore {
    blocks: Mutex<BTreeMap<u64, Arc<Block>>>,
    next: AtomicU64,
    /// Room for none: whatever is not used goes.
    decoded: Arc<Decoded>,
    /// Blocks read.
    pub reads: AtomicU64,
    /// Blocks written.
    pub writes: AtomicU64,
}

impl MemStore {
    /// How many blocks are alive.
    pub fn live(&self) -> usize {
        lock(&self.blocks).len()
    }

    fn take_out(&self, bp: &BlkPtr) {
        let was = lock(&self.blocks).remove(&bp.dva(0).offset);
        assert!(was.is_some(), "freed twice: {bp:?}");
    }

    fn place(&self, item: &WriteItem, txg: Txg) -> BlkPtr {
        let policy = &item.policy;
        let level_0 = policy.level == 0 && policy.compression != CompressKind::Off;
        if level_0 && item.data.iter().all(|byte| *byte == 0) {
            return BlkPtr::HOLE;
        }
        let len = item.data.len() as u64;
        let old = item.rewrite.filter(|old| old.psize() == len && !old.is_embedded() && !old.is_hole());
        let offset = match old {
            Some(old) => old.dva(0).offset,
            None => (self.next.fetch_add(1, Ordering::Relaxed) + 1) << 24,
        };
        let mut bp = BlkPtr::new(ObjectType(policy.object_type), policy.level, len, len);
        bp.set_dva(0, Dva::new(0, offset, len))
            .set_compression(CompressKind::Off)
            .set_checksum(ChecksumKind::Fletcher4, [0; 4])
            .set_birth(txg, txg);
        bp.set_fill(policy.fill);
        lock(&self.blocks).insert(offset, item.data.clone());
        self.writes.fetch_add(1, Ordering::Relaxed);
        bp
    }
}

impl BlockStore for MemStore {
    fn read_many(&self, bps: &[BlkPtr], _: IoClass, _: Keep) -> Vec<Result<Arc<Block>, ReadError>> {
        self.reads.fetch_add(bps.len() as u64, Ordering::Relaxed);
        bps.iter().map(|bp| self.cached(bp).ok_or(ReadError::Io)).collect()
    }

    fn cached(&self, bp: &BlkPtr) -> Option<Arc<Block>> {
        lock(&self.blocks).get(&bp.dva(0).offset).cloned()
    }

    fn prefetch(&self, _: Vec<BlkPtr>, _: Keep) {}

    fn decoded(&self) -> &Arc<Decoded> {
        &self.decoded
    }

    fn epoch(&self) -> Box<dyn Send> {
        Box::new(())
    }

    fn write_batch(
        &self,
        items: Vec<WriteItem>,
        txg: Txg,
        landed: &mut dyn FnMut(u64),
    ) -> Vec<Result<BlkPtr, WriteError>> {
        landed(items.iter().map(|item| item.data.len() as u64).sum());
        items.iter().map(|item| Ok(self.place(item, txg))).collect()
    }

    fn dsize(&self, bp: &BlkPtr) -> u64 {
        bp.asize()
    }
}

/// Blocks alive, by offset. A block born twice, or killed without having been born, is an error.
pub(crate) struct Books {
    store: Arc<MemStore>,
    born: Mutex<BTreeMap<u64, BlkPtr>>,
    /// Killed since a group was last done.
    dead: Mutex<Vec<BlkPtr>>,
    /// The group transactions enter.
    open: AtomicU64,
}

impl Books {
    /// How many blocks the object set owns.
    pub fn owned(&self) -> usize {
        lock(&self.born).len()
    }

    /// They themselves, by the offset of their first DVA.
    pub fn blocks(&self) -> BTreeMap<u64, BlkPtr> {
        lock(&self.born).clone()
    }

    /// Opens the next group; the one that was open.
    pub fn open_next(&self) -> Txg {
        self.open.fetch_add(1, Ordering::Relaxed)
    }

    /// A group is done: nobody may read what was killed in it.
    pub fn bury(&self) {
        lock(&self.dead).drain(..).for_each(|bp| self.store.take_out(&bp));
    }
}

impl BlockOwner for Books {
    fn born(&self, bp: &BlkPtr, _tx: &SyncTx) {
        if !bp.is_embedded() {
            assert!(lock(&self.born).insert(bp.dva(0).offset, *bp).is_none(), "born twice: {bp:?}");
        }
    }

    fn kill(&self, bp: &BlkPtr, _tx: &SyncTx) {
        if !bp.is_embedded() {
            assert!(lock(&self.born).remove(&bp.dva(0).offset).is_some(), "killed unborn: {bp:?}");
            lock(&self.dead).push(*bp);
        }
    }
}

impl Admission for Books {
    fn assign(&self, _want: &Holds, _wait: bool) -> Result<TxHold, DmuError> {
        Ok(TxHold::new(self.open.load(Ordering::Relaxed), || ()))
    }

    fn dirtied(&self, _txg: Txg, _bytes: u64, _changed: u64) {}

    fn written(&self, _txg: Txg, _bytes: u64) {}
}

/// An object set in memory.
pub(crate) struct Bench {
    pub store: Arc<MemStore>,
    pub books: Arc<Books>,
    pub objset: Arc<Objset>,
    policy: ObjsetPolicy,
}

impl Bench {
    pub fn new(kind: ObjsetType, policy: ObjsetPolicy) -> Bench {
        let store = Arc::new(MemStore::default());
        let books = Arc::new(Books {
            store: store.clone(),
            born: Mutex::default(),
            dead: Mutex::default(),
            open: AtomicU64::new(1),
        });
        let objset = Objset::create(store.clone(), kind, books.clone(), books.clone(), policy.clone(), 1);
        Bench { store, books, objset, policy }
    }

    /// As the pool's own.
    pub fn meta() -> Bench {
        Bench::new(ObjsetType::Meta, ObjsetPolicy::meta())
    }

    /// A transaction of the group that is open.
    pub fn tx(&self) -> Tx {
        self.objset.begin(Holds::new(0, 0)).expect("there is always room")
    }

    /// Writes the open group and opens the next.
    pub fn sync(&self) -> BlkPtr {
        let txg = self.books.open_next();
        let root = self.objset.sync(&SyncTx { txg, pass: 1, rewrite: false }).expect("memory does not fail");
        self.objset.sync_done(txg);
        self.books.bury();
        root
    }

    /// Syncs, forgets all that is in memory, and opens what was written.
    pub fn reopen(&mut self) {
        let root = self.sync();
        self.open(root);
    }

    /// Forgets all that is in memory, and opens this.
    pub fn open(&mut self, root: BlkPtr) {
        self.objset = Objset::open(
            self.store.clone(),
            root,
            self.books.clone(),
            self.books.clone(),
            self.policy.clone(),
        )
        .expect("it was just written");
    }
}
