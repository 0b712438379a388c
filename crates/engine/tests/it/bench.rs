//! A file system over blocks in memory, with transaction groups that are synced when the test says
//! so.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};

use dmu::store::{Decoded, Keep, ReadError, WriteError, WriteItem};
use dmu::{
    Admission, Block, BlockOwner, BlockStore, DmuError, Holds, Objset, ObjsetPolicy, SyncTx, Tx, TxHold, Txg,
};
use engine::zpl::{AtCreation, FsSpace, Host, IntentLog, Settings, Zpl, create_fs};
use engine_api::FsId;
use env::{Clock, Env, IoClass, Nanos, RealClock, WallTime, lock};
use ondisk::blkptr::Dva;
use ondisk::object_type::ObjectType;
use ondisk::objset::ObjsetType;
use ondisk::{BlkPtr, ChecksumKind, CompressKind};

use crate::journal::Journal;

pub const ID: FsId = FsId { pool_guid: 7, dataset_guid: 8 };

/// Blocks by offset; a freed one is gone, so that a stale pointer is an error.
#[derive(Default)]
struct Memory {
    blocks: Mutex<BTreeMap<u64, Arc<Block>>>,
    next: AtomicU64,
    open: AtomicU64,
    journal: Journal,
    decoded: Arc<Decoded>,
    objset: Mutex<Weak<Objset>>,
    /// Where the last synced group's root is.
    root: Mutex<BlkPtr>,
}

impl Memory {
    /// Writes the open group and opens the next.
    fn sync(&self) -> BlkPtr {
        let txg = self.open.fetch_add(1, Ordering::SeqCst);
        let objset = lock(&self.objset).upgrade().expect("the object set is open");
        let root = objset.sync(&SyncTx { txg, pass: 1, rewrite: false }).expect("memory does not fail");
        objset.sync_done(txg);
        *lock(&self.root) = root;
        self.journal.synced(txg);
        root
    }

    fn place(&self, item: &WriteItem, txg: Txg) -> BlkPtr {
        let policy = &item.policy;
        if policy.level == 0 && item.data.iter().all(|byte| *byte == 0) {
            return BlkPtr::HOLE;
        }
        let len = item.data.len() as u64;
        let offset = match item.rewrite.filter(|old| old.psize() == len && !old.is_hole()) {
            Some(old) => old.dva(0).offset,
            None => (self.next.fetch_add(1, Ordering::SeqCst) + 1) << 24,
        };
        let mut bp = BlkPtr::new(ObjectType(policy.object_type), policy.level, len, len);
        bp.set_dva(0, Dva::new(0, offset, len))
            .set_compression(CompressKind::Off)
            .set_checksum(ChecksumKind::Fletcher4, [0; 4])
            .set_birth(txg, txg);
        bp.set_fill(policy.fill);
        lock(&self.blocks).insert(offset, item.data.clone());
        bp
    }
}

impl BlockStore for Memory {
    fn read_many(&self, bps: &[BlkPtr], _: IoClass, _: Keep) -> Vec<Result<Arc<Block>, ReadError>> {
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
        _: &mut dyn FnMut(u64),
    ) -> Vec<Result<BlkPtr, WriteError>> {
        items.iter().map(|item| Ok(self.place(item, txg))).collect()
    }
    fn dsize(&self, bp: &BlkPtr) -> u64 {
        bp.asize()
    }
}

impl BlockOwner for Memory {
    fn born(&self, _bp: &BlkPtr, _tx: &SyncTx) {}
    fn kill(&self, bp: &BlkPtr, _tx: &SyncTx) {
        let was = lock(&self.blocks).remove(&bp.dva(0).offset);
        assert!(was.is_some(), "freed twice: {bp:?}");
    }
}

impl Admission for Memory {
    fn assign(&self, _want: &Holds, _wait: bool) -> Result<TxHold, DmuError> {
        Ok(TxHold::new(self.open.load(Ordering::SeqCst), || ()))
    }
    fn dirtied(&self, _txg: Txg, _bytes: u64, _changed: u64) {}
    fn written(&self, _txg: Txg, _bytes: u64) {}
}

impl Host for Memory {
    fn wait_synced(&self, txg: u64) -> Result<(), DmuError> {
        assert!(txg <= self.open.load(Ordering::SeqCst));
        if txg == self.open.load(Ordering::SeqCst) {
            self.sync();
        }
        Ok(())
    }
    fn space(&self) -> FsSpace {
        FsSpace { referenced: 1 << 20, available: 1 << 30 }
    }
    fn log(&self) -> Option<&dyn IntentLog> {
        Some(&self.journal)
    }
}

/// Each look at the clock takes a microsecond.
pub struct Ticking(AtomicU64);

impl Clock for Ticking {
    fn now(&self) -> Nanos {
        RealClock::new().now()
    }
    fn wall(&self) -> WallTime {
        let micros = self.0.fetch_add(1, Ordering::SeqCst);
        WallTime {
            secs: 1_800_000_000 + (micros / 1_000_000) as i64,
            nanos: (micros % 1_000_000) as u32 * 1000,
        }
    }
    fn sleep(&self, _span: Nanos) {}
}

pub struct Bench {
    pub fs: Arc<Zpl>,
    pub settings: Settings,
    memory: Arc<Memory>,
    objset: Arc<Objset>,
    policy: ObjsetPolicy,
    env: Env,
}

impl Bench {
    pub fn new(settings: Settings, props: AtCreation) -> Bench {
        let env = Env { clock: Arc::new(Ticking(AtomicU64::new(0))), ..Env::real() };
        let memory = Arc::new(Memory { open: AtomicU64::new(5), ..Memory::default() });
        let policy = ObjsetPolicy { recordsize: settings.recordsize, ..ObjsetPolicy::dataset() };
        let objset = Objset::create(
            memory.clone(),
            ObjsetType::Zfs,
            memory.clone(),
            memory.clone(),
            policy.clone(),
            5,
        );
        create_fs(&objset, &env, props, (0, 0), &Tx::syncing(5)).expect("nothing is in the way");
        *lock(&memory.objset) = Arc::downgrade(&objset);
        let of_memory = Arc::downgrade(&memory);
        let sync = move || {
            of_memory.upgrade().expect("the bench lives").sync();
        };
        memory.journal.sync.set(Box::new(sync)).unwrap_or_else(|_| panic!("set once"));
        let fs = Zpl::open(objset.clone(), ID, env.clone(), memory.clone(), settings.clone(), false).unwrap();
        let mut bench = Bench { fs, settings, memory, objset, policy, env };
        bench.reopen();
        bench
    }

    /// Writes the open group and opens the next.
    pub fn sync(&self) -> BlkPtr {
        self.memory.sync()
    }

    pub fn journal(&self) -> &Journal {
        &self.memory.journal
    }

    /// Syncs, forgets all that is in memory, and opens what was written: a crash, for open files.
    pub fn reopen(&mut self) {
        self.sync();
        self.crash();
        self.memory.journal.clear();
    }

    /// All that is in memory is gone, and what was synced is opened. The log is not replayed yet.
    pub fn crash(&mut self) {
        let root = *lock(&self.memory.root);
        let memory = self.memory.clone();
        memory.journal.crash();
        self.objset =
            Objset::open(memory.clone(), root, memory.clone(), memory.clone(), self.policy.clone()).unwrap();
        *lock(&memory.objset) = Arc::downgrade(&self.objset);
        // No group has the number of one that was lost.
        memory.open.fetch_add(1, Ordering::SeqCst);
        self.fs = Zpl::open(
            self.objset.clone(),
            ID,
            self.env.clone(),
            memory.clone(),
            self.settings.clone(),
            false,
        )
        .unwrap();
        memory.journal.attach(Arc::downgrade(&self.fs));
    }

    pub fn objset(&self) -> &Arc<Objset> {
        &self.objset
    }

    /// Objects in use, as a walk counts them.
    pub fn objects(&self) -> usize {
        let mut count = 0;
        let mut at = 0;
        while let Some(object) = self.objset.next_object(at, 0).unwrap() {
            count += 1;
            at = object;
        }
        count
    }
}
