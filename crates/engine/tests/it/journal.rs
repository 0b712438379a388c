//! An intent log in memory that keeps the rules of the real one, and survives the crash of the
//! bench it belongs to.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, Weak};

use dmu::{DmuError, Tx, Txg};
use engine::zpl::{IntentLog, Zpl};
use env::lock;
use ondisk::Endian;
use ondisk::zil::Records;
use ondisk::zil::record::{LrWrite, object_of, stamp};
use pool::zil::LoggedWrite;

/// A record that waits for a commit.
struct Waiting {
    txg: Txg,
    /// The one object it belongs to; `None`: ordered.
    object: Option<u64>,
    what: What,
}

enum What {
    Record(Vec<u8>),
    /// Its data is asked for when it is committed.
    Write(u64, LrWrite),
}

/// A record on stable storage.
struct Committed {
    txg: Txg,
    seq: u64,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct State {
    waiting: Vec<Waiting>,
    committed: Vec<Committed>,
    seq: u64,
    /// Newest group with a change that has no record.
    unlogged: Txg,
    /// The record being replayed, and those whose groups are not synced yet: group, sequence
    /// number.
    replaying: u64,
    replayed: Vec<(Txg, u64)>,
    /// What was committed before is to be replayed.
    crashed: bool,
    /// All up to here was replayed for good.
    durable_seq: u64,
}

#[derive(Default)]
pub struct Journal {
    state: Mutex<State>,
    fs: Mutex<Option<Weak<Zpl>>>,
    /// Writes the open group; given by the bench.
    pub sync: OnceLock<Box<dyn Fn() + Send + Sync>>,
    pub always: AtomicBool,
    pub saxattr: AtomicBool,
    /// A commit of one object commits all.
    pub whole: AtomicBool,
    pub commits: AtomicU64,
    /// Records applied by replays.
    pub applied: AtomicU64,
}

impl Journal {
    pub fn attach(&self, fs: Weak<Zpl>) {
        *lock(&self.fs) = Some(fs);
    }

    /// The group is on stable storage: its records are of no more use.
    pub fn synced(&self, txg: Txg) {
        let mut state = lock(&self.state);
        state.waiting.retain(|waiting| waiting.txg > txg);
        let done = state.replayed.iter().filter(|(at, _)| *at <= txg).map(|(_, seq)| *seq).max();
        state.durable_seq = state.durable_seq.max(done.unwrap_or(0));
        state.replayed.retain(|(at, _)| *at > txg);
        let durable = state.durable_seq;
        let crashed = state.crashed;
        state.committed.retain(|record| if crashed { record.seq > durable } else { record.txg > txg });
    }

    /// What was not committed is gone.
    pub fn crash(&self) {
        let mut state = lock(&self.state);
        state.waiting.clear();
        state.replayed.clear();
        state.unlogged = 0;
        state.crashed = true;
    }

    /// The records that a replay has to apply now.
    pub fn committed(&self) -> Vec<Vec<u8>> {
        lock(&self.state).committed.iter().map(|record| record.bytes.clone()).collect()
    }

    /// Records not committed yet, in order.
    pub fn waiting(&self) -> Vec<Vec<u8>> {
        let state = lock(&self.state);
        let bytes = |waiting: &Waiting| match &waiting.what {
            What::Record(bytes) => bytes.clone(),
            What::Write(_, write) => write.encode_with(&[]),
        };
        state.waiting.iter().map(bytes).collect()
    }

    /// Applies the records that are left, at most so many of them.
    pub fn replay(&self, fs: &Zpl, limit: usize) {
        for bytes in self.committed().iter().take(limit) {
            let head = Records::new(bytes, Endian::Little).next().unwrap().unwrap().0;
            lock(&self.state).replaying = head.seq;
            let missing = object_of(&head, bytes, Endian::Little)
                .is_some_and(|object| matches!(fs.objset().hold(object), Err(DmuError::NotFound)));
            let applied = fs.replay_record(&head, bytes, Endian::Little, None);
            self.applied.fetch_add(1, Ordering::SeqCst);
            assert!(applied.is_ok() || missing, "{head:?}: {applied:?}");
        }
        lock(&self.state).replaying = 0;
    }

    /// After a whole replay: the log is empty.
    pub fn clear(&self) {
        let mut state = lock(&self.state);
        *state = State { seq: state.seq, ..State::default() };
    }

    fn wait(&self, tx: &Tx, object: Option<u64>, what: What) {
        let mut state = lock(&self.state);
        assert_eq!(state.replaying, 0, "nothing is logged while replaying");
        state.waiting.push(Waiting { txg: tx.txg(), object, what });
    }

    fn fetch(&self, what: What) -> Option<Vec<u8>> {
        match what {
            What::Record(bytes) => Some(bytes),
            What::Write(generation, write) => {
                let fs = lock(&self.fs).as_ref().and_then(Weak::upgrade).expect("the file system lives");
                let data = fs.logged_data(write.object, generation, write.offset, write.length);
                data.unwrap().map(|data| write.encode_with(&data))
            }
        }
    }
}

impl IntentLog for Journal {
    fn log(&self, tx: &Tx, record: Vec<u8>) {
        self.wait(tx, None, What::Record(record));
    }

    fn log_of(&self, tx: &Tx, object: u64, record: Vec<u8>) {
        self.wait(tx, Some(object), What::Record(record));
    }

    fn log_write(&self, tx: &Tx, write: &LoggedWrite<'_>) {
        let record = LrWrite { object: write.object, offset: write.offset, length: write.len };
        let what = match write.data {
            Some(data) => What::Record(record.encode_with(data)),
            None => What::Write(write.generation, record),
        };
        self.wait(tx, Some(write.object), what);
    }

    fn order(&self, object: u64) {
        let mut state = lock(&self.state);
        let all = std::mem::take(&mut state.waiting);
        let (mut moved, kept): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|waiting| waiting.object == Some(object));
        moved.iter_mut().for_each(|waiting| waiting.object = None);
        state.waiting = kept.into_iter().chain(moved).collect();
    }

    fn forget(&self, object: u64) {
        lock(&self.state).waiting.retain(|waiting| waiting.object != Some(object));
    }

    fn unlogged(&self, tx: &Tx) {
        let mut state = lock(&self.state);
        state.unlogged = state.unlogged.max(tx.txg());
    }

    fn replayed(&self, tx: &Tx) {
        let mut state = lock(&self.state);
        let seq = state.replaying;
        state.replayed.push((tx.txg(), seq));
    }

    fn commit(&self, object: Option<u64>) -> Result<(), DmuError> {
        self.commits.fetch_add(1, Ordering::SeqCst);
        if std::mem::take(&mut lock(&self.state).unlogged) > 0 {
            self.sync.get().expect("set by the bench")();
            return Ok(());
        }
        let all = object.is_none() || self.whole.load(Ordering::SeqCst);
        let taken = std::mem::take(&mut lock(&self.state).waiting);
        let goes = |waiting: &Waiting| all || waiting.object.is_none() || waiting.object == object;
        let (mut going, staying): (Vec<_>, Vec<_>) = taken.into_iter().partition(goes);
        lock(&self.state).waiting = staying;
        // What belongs to one object comes after all that is ordered.
        going.sort_by_key(|waiting| waiting.object.is_some());
        for waiting in going {
            let txg = waiting.txg;
            let Some(mut bytes) = self.fetch(waiting.what) else { continue };
            let mut state = lock(&self.state);
            state.seq += 1;
            let seq = state.seq;
            stamp(&mut bytes, txg, seq);
            state.committed.push(Committed { txg, seq, bytes });
        }
        Ok(())
    }

    fn is_always(&self) -> bool {
        self.always.load(Ordering::SeqCst)
    }

    fn takes_system_xattrs(&self) -> bool {
        self.saxattr.load(Ordering::SeqCst)
    }
}
