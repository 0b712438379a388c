//! The intent log: what makes a synchronous write fast without making it less safe.
//!
//! A transaction group takes seconds to become durable; whoever calls fsync does not wait for it.
//! Each operation leaves a record in memory, and a commit writes the records that nobody has
//! written yet into log blocks and flushes them. A crash loses the open groups, and the next import
//! does again what the log says ([`replay`]), once it has claimed its blocks (`dsl/claim.rs`).
//!
//! ```text
//!   operation ── log() ──▶ queue ── commit() ──▶ chain of log blocks ── flush ──▶ the caller is told
//!                             └── the group is durable: forgotten      └── freed when all their groups are durable
//! ```
//! One log per dataset, one chain per log. A block names the block that follows, which is therefore
//! allocated before it is written; the object set's header names the first that still counts.
//!
//! Invariants:
//! - A commit returns `Ok` only when each record it covers is in a durable block that the durable
//!   header leads to, or its group is durable. There is no third way: whatever fails here falls
//!   back to waiting for the group.
//! - A log block belongs to the group in which it was allocated, and is freed in none earlier.
//! - A write or flush that failed is not repeated, and nothing behind it in the chain counts: the
//!   chain *retires*, all its waiters wait for their groups, and the next commit begins a new
//!   chain.
//! - Nobody commits while holding a lock or a transaction.
//!
//! Sources: module/zfs/zil.c, include/sys/zil_impl.h.

mod chain;
mod commit;
mod queue;
mod replay;
mod waiters;
mod walk;

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, Weak};

use counters::Counter;
use dmu::{DmuError, Objset, Tx};
use env::waits::Waits;
use env::{Env, lock};
use ondisk::zil::ZilHeader;
use stdx::call::Keeping;
use storage::Storage;

use crate::frees::FreeQueue;
use crate::txg::Txgs;
use chain::Chain;
use commit::Pipeline;
use queue::{Itx, Queue, What};
use waiters::Waiters;

pub use commit::Promise;
pub use replay::{LoggedRecord, Replay};
pub(crate) use walk::{Targets, Walk, free_on_disk, records, target};

/// The property `sync`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum SyncMode {
    /// Who asks for it gets it.
    #[default]
    Standard,
    /// Every change is durable before it is answered.
    Always,
    /// Nobody waits, whatever they asked for.
    Disabled,
}

/// A write of a file's bytes, as it is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedWrite<'a> {
    pub object: u64,
    /// Of the object, so that a successor with its number is not taken for it.
    pub generation: u64,
    /// Bytes.
    pub offset: u64,
    pub len: u64,
    /// Of the file's blocks, in bytes.
    pub block_size: u64,
    /// Where there is no log device, its bytes go to their place at once and the record leads
    /// there.
    pub is_large: bool,
    /// Given where the caller is going to commit at once: then the bytes are copied now if they are
    /// few. Else they are fetched when they are needed.
    pub data: Option<&'a [u8]>,
}

/// The property `logbias`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LogBias {
    /// Log devices are for this dataset too.
    #[default]
    Latency,
    /// Bytes go where they belong at once, and the log only leads there.
    Throughput,
}

/// From so many bytes on a write of a file is large; volumes have large writes only where their
/// blocks are larger than this (`zfs_immediate_write_sz`, `zvol_immediate_write_sz`).
pub const IMMEDIATE_SIZE: u64 = 32 << 10;

/// Where the answer to a call is kept, and is told of the records of what the call has changed.
pub type Answer = Option<Arc<dyn Keeping>>;

/// Who can give the bytes of a file to a commit.
pub trait LogData: Send + Sync {
    /// `len` bytes at `offset` as they are now, zeros behind the end of the file; `None` when the
    /// object is gone or the file ends before `offset`. Takes what locks it needs; none is held.
    fn read(&self, object: u64, generation: u64, offset: u64, len: u64) -> Result<Option<Vec<u8>>, DmuError>;
}

/// What logs did since the pool was opened; all datasets together.
#[derive(Default)]
pub struct ZilStats {
    /// Commits asked for, and blocks written for them.
    pub commits: Counter,
    pub blocks: Counter,
    /// Commits that had to wait for their group.
    pub fell_back: Counter,
    /// How commits waited that had to, and which of it was for their group. What is in log blocks
    /// is told by place.
    pub waits: Waits,
    pub group_waits: Waits,
    /// Records written, and the writes among them by where their bytes came from, with these bytes.
    pub records: Counter,
    pub indirect: Counter,
    pub indirect_bytes: Counter,
    pub copied: Counter,
    pub copied_bytes: Counter,
    pub fetched: Counter,
    pub fetched_bytes: Counter,
    /// Log blocks on main disks and on log devices: count, record bytes, bytes written, bytes
    /// allocated.
    pub normal: PlaceStats,
    pub slog: PlaceStats,
}

/// See [`ZilStats`].
#[derive(Default)]
pub struct PlaceStats {
    pub count: Counter,
    pub bytes: Counter,
    pub written: Counter,
    pub allocated: Counter,
    /// Times that blocks, one or several, were written and flushed together.
    pub bursts: Counter,
    /// Nanoseconds of each, added up: from taking the records to telling that they are durable; of
    /// those, writing and flushing.
    pub nanos: Counter,
    pub write_nanos: Counter,
    pub flush_nanos: Counter,
}

/// What a log is built on.
#[derive(Clone)]
pub(crate) struct Parts {
    /// Whether a log may begin: in pools of old versions none does, and commits wait for their
    /// groups.
    pub may_begin: Arc<dyn Fn() -> bool + Send + Sync>,
    pub env: Env,
    pub storage: Arc<Storage>,
    pub txgs: Arc<Txgs>,
    pub objset: Arc<Objset>,
    /// Number of the dataset, which log blocks carry.
    pub dataset: u64,
    pub stats: Arc<ZilStats>,
    /// Whether the pool's blocks leave room for a log block of so many bytes.
    pub pool_can_spare: Arc<dyn Fn(u64) -> bool + Send + Sync>,
}

/// The intent log of one dataset that can be written. See the module.
pub struct Zil {
    parts: Parts,
    state: Mutex<State>,
    /// Signalled when `state` changes. Commits do not wait for it: each has a condition of its own
    /// in `waiters`.
    changed: Condvar,
    source: Mutex<Option<Weak<dyn LogData>>>,
    mode: AtomicU8,
    throughput: AtomicBool,
    /// Sequence number of the record being replayed, 0 when none is.
    replaying: AtomicU64,
}

#[derive(Default)]
struct State {
    queue: Queue,
    chain: Option<Chain>,
    pipeline: Pipeline,
    waiters: Waiters,
    /// A log from before this import waits to be replayed: no new one may begin.
    unreplayed: bool,
    /// Somebody is at it.
    replaying: bool,
    /// By group: the newest record whose replay is in it.
    replayed: [u64; 4],
}

impl Zil {
    pub(crate) fn new(parts: Parts) -> Arc<Zil> {
        let unreplayed = !parts.objset.zil_header().log.is_hole();
        Arc::new(Zil {
            parts,
            state: Mutex::new(State { unreplayed, ..State::default() }),
            changed: Condvar::new(),
            source: Mutex::default(),
            mode: AtomicU8::new(SyncMode::default() as u8),
            throughput: AtomicBool::new(false),
            replaying: AtomicU64::new(0),
        })
    }

    /// Who gives the bytes of writes that were not copied, from now on.
    pub fn attach(&self, source: Weak<dyn LogData>) {
        *lock(&self.source) = Some(source);
    }

    pub fn mode(&self) -> SyncMode {
        match self.mode.load(Relaxed) {
            mode if mode == SyncMode::Always as u8 => SyncMode::Always,
            mode if mode == SyncMode::Disabled as u8 => SyncMode::Disabled,
            _ => SyncMode::Standard,
        }
    }

    /// What happened while nothing was logged is durable with its group only.
    pub fn set_mode(&self, mode: SyncMode) {
        let before = self.mode();
        self.mode.store(mode as u8, Relaxed);
        if before == SyncMode::Disabled && mode != before {
            lock(&self.state).queue.unlogged(self.parts.txgs.open());
        }
    }

    pub fn set_bias(&self, bias: LogBias) {
        self.throughput.store(bias == LogBias::Throughput, Relaxed);
    }

    /// Whether every change has to be committed before it is answered.
    pub fn is_always(&self) -> bool {
        self.mode() == SyncMode::Always
    }

    /// Remembers a change of names: it goes out with the next commit of whatever object, in order.
    /// `answer`: of the call that it was made for.
    pub fn log(&self, tx: &Tx, record: Vec<u8>, answer: Answer) {
        self.remember(tx, |queue, txg| queue.push(Itx { txg, what: What::Record(record), answer }));
    }

    /// Remembers a change of one object, which goes out when that is committed.
    pub fn log_of(&self, tx: &Tx, object: u64, record: Vec<u8>, answer: Answer) {
        self.remember(tx, |queue, txg| {
            queue.push_own(object, Itx { txg, what: What::Record(record), answer });
        });
    }

    /// Remembers a write; see [`LoggedWrite`].
    pub fn log_write(&self, tx: &Tx, write: &LoggedWrite<'_>) {
        if write.len == 0 {
            return;
        }
        // As `zfs_log_write` and `zvol_log_write` decide in module/zfs/zfs_log.c and zvol.c.
        let indirect =
            write.is_large && !self.parts.storage.has_log_devices() || self.throughput.load(Relaxed);
        self.remember(tx, |queue, txg| {
            if !indirect {
                return queue.push_own(write.object, Itx { txg, what: What::of_write(write), answer: None });
            }
            for what in What::blocks_of(write) {
                queue.push_own(write.object, Itx { txg, what, answer: None });
            }
        });
    }

    /// There was a change that no record can tell: commits wait for its group.
    pub fn unlogged(&self, tx: &Tx) {
        self.remember(tx, queue::Queue::unlogged);
    }

    /// What is remembered of one object takes its place among the changes of names: one that
    /// depends on it follows.
    pub fn order(&self, object: u64) {
        lock(&self.state).queue.order(object);
    }

    /// The object's last name is gone: nobody will want its own changes back.
    pub fn forget(&self, object: u64) {
        lock(&self.state).queue.forget(object);
    }

    fn remember(&self, tx: &Tx, put: impl FnOnce(&mut Queue, u64)) {
        let txg = tx.txg();
        let replaying = self.replaying.load(Relaxed);
        if replaying != 0 {
            self.parts.objset.mark_dirty(tx);
            lock(&self.state).replayed[txg as usize & 3] = replaying;
        } else if self.mode() != SyncMode::Disabled {
            put(&mut lock(&self.state).queue, txg);
        }
    }

    // ── What transaction groups do to it ──

    /// Before the object set is written in `txg`: gives back the blocks whose groups are all
    /// durable with this one, and moves the header on.
    pub(crate) fn sync(&self, frees: &FreeQueue, tx: &Tx) {
        let mut state = lock(&self.state);
        let replayed = std::mem::take(&mut state.replayed[tx.txg() as usize & 3]);
        if replayed != 0 {
            let header = ZilHeader { replay_seq: replayed, ..self.parts.objset.zil_header() };
            self.parts.objset.set_zil_header(header, tx);
        }
        let idle = state.pipeline.is_idle();
        let Some(chain) = &mut state.chain else { return };
        if !chain.exists_in(tx.txg()) {
            return;
        }
        let header = chain.settle(tx.txg(), idle, |bp| frees.free(bp));
        let ended = header.log.is_hole();
        self.parts.objset.set_zil_header(header, tx);
        if ended {
            state.chain = None;
            state.unreplayed = false;
        }
    }

    /// `txg` is durable: its records are needed no more.
    pub(crate) fn sync_done(&self, txg: u64) {
        let mut state = lock(&self.state);
        state.queue.sync_done(txg);
        state.pipeline.synced = txg;
        self.tell(state);
    }

    /// Whether blocks on disk are known here only: the dataset may not be dropped from memory.
    pub(crate) fn has_chain(&self) -> bool {
        lock(&self.state).chain.is_some()
    }
}
