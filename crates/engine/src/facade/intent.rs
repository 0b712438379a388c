//! Between a file system or volume and the intent log of its dataset: `zpl` knows no logs of pools,
//! and `pool` no files.

use std::sync::{Arc, Mutex};

use ::pool::feature::Features;
use ::pool::kept::KeptPool;
use ::pool::prop::FsProps;
use ::pool::zil::{Answer, LogBias, LogData, LoggedRecord, LoggedWrite, Replay, SyncMode, Zil};
use dmu::{DmuError, Tx};
use engine_api::Error;
use env::lock;
use stdx::call;

use crate::zpl::{IntentLog, Zpl};
use crate::zvol::Zvol;

/// What becomes of a log that cannot be replayed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unreplayable {
    Keep,
    GiveUp,
}

/// The log of a dataset, as its file system uses it.
pub(super) struct FileSystemLog {
    pub zil: Arc<Zil>,
    pub features: Arc<Features>,
    /// The guid.
    pub dataset: u64,
    pub kept: Option<Arc<KeptPool>>,
}

impl FileSystemLog {
    /// The place of the answer to the call that this thread works on, if its transaction changes
    /// something for one.
    fn answer(&self, tx: &Tx) -> Answer {
        let kept = self.kept.as_ref()?;
        call::keep(tx.txg(), |call| kept.note_call(call, self.dataset, tx.txg()))
    }
}

impl IntentLog for FileSystemLog {
    fn log(&self, tx: &Tx, record: Vec<u8>) {
        self.zil.log(tx, record, self.answer(tx));
    }

    fn log_of(&self, tx: &Tx, object: u64, record: Vec<u8>) {
        self.zil.log_of(tx, object, record, self.answer(tx));
    }

    fn log_write(&self, tx: &Tx, write: &LoggedWrite<'_>) {
        self.zil.log_write(tx, write);
    }

    fn order(&self, object: u64) {
        self.zil.order(object);
    }

    fn forget(&self, object: u64) {
        self.zil.forget(object);
    }

    fn unlogged(&self, tx: &Tx) {
        self.answer(tx);
        self.zil.unlogged(tx);
    }

    fn replayed(&self, tx: &Tx) {
        // While it replays, the log takes nothing from this but that the transaction belongs to the
        // record.
        self.zil.log(tx, Vec::new(), None);
    }

    fn commit(&self, object: Option<u64>) -> Result<(), DmuError> {
        self.zil.commit(object)
    }

    fn promise(&self, object: Option<u64>) -> Box<dyn FnOnce() -> Result<(), DmuError> + Send> {
        let promise = self.zil.promise(object);
        Box::new(move || promise.keep())
    }

    fn is_always(&self) -> bool {
        self.zil.is_always()
    }

    fn takes_system_xattrs(&self) -> bool {
        self.features.is_active("zilsaxattr")
    }
}

impl LogData for Zpl {
    fn read(&self, object: u64, generation: u64, offset: u64, len: u64) -> Result<Option<Vec<u8>>, DmuError> {
        self.logged_data(object, generation, offset, len).map_err(|error| dmu_error(&error))
    }
}

impl LogData for Zvol {
    fn read(&self, _object: u64, _gen: u64, offset: u64, len: u64) -> Result<Option<Vec<u8>>, DmuError> {
        self.logged_data(offset, len)
    }
}

/// An error of a file system on its way through the log; its words are lost.
fn dmu_error(error: &Error) -> DmuError {
    match error {
        Error::NotFound | Error::Stale => DmuError::NotFound,
        Error::Exists => DmuError::Exists,
        Error::NoSpace => DmuError::NoSpace,
        Error::Quota => DmuError::Quota,
        Error::ReadOnly => DmuError::ReadOnly,
        Error::Suspended => DmuError::Suspended,
        Error::FileTooLarge => DmuError::TooBig,
        Error::Corrupt { object, block } => DmuError::Corrupt { object: *object, block: *block },
        Error::Unsupported(_) => DmuError::Unsupported("a record of the intent log"),
        _ => DmuError::Invalid("a record of the intent log"),
    }
}

/// Applies records, and keeps the words of what went wrong.
struct Again<'a> {
    apply: &'a (dyn Fn(&LoggedRecord<'_>) -> engine_api::Result<()> + Sync),
    kept: Option<&'a KeptPool>,
    failure: Mutex<Option<String>>,
}

impl Replay for Again<'_> {
    fn replay(&self, record: &LoggedRecord<'_>) -> Result<(), DmuError> {
        (self.apply)(record).map_err(|error| {
            let (txtype, seq) = (record.head.txtype, record.head.seq);
            *lock(&self.failure) = Some(format!("record {seq} of type {txtype}: {error}"));
            dmu_error(&error)
        })
    }

    fn reached(&self, log: u64, record: u64, txg: u64) {
        self.kept.inspect(|kept| kept.replayed(log, record, txg));
    }
}

/// Does again what the log says; in words what went wrong, else. A log that holds nothing is given
/// back all the same.
fn run(
    zil: &Zil,
    name: &str,
    apply: &(dyn Fn(&LoggedRecord<'_>) -> engine_api::Result<()> + Sync),
    kept: Option<&KeptPool>,
) -> Result<(), String> {
    let again = Again { apply, kept, failure: Mutex::default() };
    let done = zil.replay(&again).map_err(|error| {
        let words = lock(&again.failure).take();
        words.unwrap_or_else(|| error.to_string())
    })?;
    if done > 0 {
        tracing::info!(name, records = done, "the intent log was replayed");
    }
    Ok(())
}

/// As [`run`], for a file system. What lost its last name before the crash goes first: its number
/// may be taken by a record. What clients were answered is told of it.
pub(super) fn replay(fs: &Zpl, zil: &Zil, name: &str, kept: Option<&KeptPool>) -> Result<(), String> {
    let apply = |record: &LoggedRecord<'_>| {
        fs.replay_record(&record.head, record.bytes, record.endian, record.data.as_deref())
    };
    if !zil.needs_replay() {
        return run(zil, name, &apply, kept);
    }
    fs.while_replaying(|| {
        fs.drain_unlinked().map_err(|error| error.to_string())?;
        run(zil, name, &apply, kept)
    })
}

/// As [`run`], for a volume.
pub(super) fn replay_volume(zvol: &Zvol, zil: &Zil, name: &str) -> Result<(), String> {
    let apply = |record: &LoggedRecord<'_>| {
        zvol.replay_record(&record.head, record.bytes, record.endian, record.data.as_deref())
    };
    run(zil, name, &apply, None)
}

/// Properties of the dataset that the log goes by.
pub(super) fn set_mode(zil: &Zil, props: &FsProps) {
    zil.set_mode(match props.number("sync") {
        1 => SyncMode::Always,
        2 => SyncMode::Disabled,
        _ => SyncMode::Standard,
    });
    zil.set_bias(if props.number("logbias") == 1 { LogBias::Throughput } else { LogBias::Latency });
}
