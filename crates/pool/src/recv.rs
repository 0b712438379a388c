//! Receiving a stream: a dataset's next snapshot, as another pool had it.
//!
//! ```text
//!   begin     check the stream against the target; make where it goes to        one change  (`begin`)
//!   records   objects and blocks as they come, in transactions of their own                 (`apply`)
//!   finish    the dataset takes over what was received, and a snapshot of it    one change  (`finish`)
//! ```
//! A new dataset is received in its place; one that exists is received into a hidden clone
//! (`%recv`) of the snapshot that the stream starts from, with which it changes contents at the
//! end. Until then what is received is marked inconsistent: nobody else opens it, and what a failed
//! receive leaves is destroyed, at the latest by the next import; or kept, if it is resumable
//! (`resume`). What somebody has made below it is never destroyed along: then it stays.
//!
//! Nothing is believed: a record is followed after it was checked, its running checksum included.
//!
//! Source: module/zfs/dmu_recv.c.

mod apply;
mod begin;
mod finish;
mod heal;
mod props;

use std::fmt;
use std::sync::Arc;

use ondisk::objset::ObjsetType;
use ondisk::send::{Begin, Limits, Record, feature};
use refusal::Stream;

use crate::dsl::names::Found;
use crate::dsl::task::{SyncCx, Task};
use crate::dsl::{Dataset, Dir, Dsl, volume};
pub use crate::error::ReceiveFailure as Failure;
use crate::namecheck::RECEIVE_CLONE;
use crate::prop::RawValue;
use crate::stream::RecordReader;
use crate::{PoolError, Result};
use apply::Apply;
pub use props::TargetProps;

/// Blocks of pools with and without feature `large_blocks`, in bytes; slots of dnodes likewise.
const LARGE_BLOCK: u64 = 16 << 20;
const OLD_BLOCK: u64 = 128 << 10;
const LARGE_DNODE: u8 = 32;

/// What is received, and where to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The dataset, and what the snapshot is to be called, without `@`.
    pub dataset: String,
    pub snapshot: String,
    /// The snapshot that a new dataset is to be a clone of.
    pub origin: Option<String>,
    /// Gives up what the dataset has beyond the snapshot that the stream starts from.
    pub force: bool,
    /// What has been received is kept when the stream ends early.
    pub resumable: bool,
    pub begin: Begin,
    pub props: TargetProps,
}

/// What a stream is to become, for who is told that it is not received.
pub fn action(begin: &Begin, has_origin: bool) -> Stream {
    if begin.has(feature::RESUMING) {
        Stream::Resumed
    } else if begin.from_guid == 0 || has_origin {
        Stream::New
    } else {
        Stream::Incremental
    }
}

/// What a stream is of.
fn kind_of(begin: &Begin) -> Result<ObjsetType> {
    let is = |kind: &ObjsetType| kind.number() == u64::from(begin.objset_type);
    let known = [ObjsetType::Zfs, ObjsetType::Zvol].into_iter().find(is);
    known.ok_or_else(|| invalid(format_args!("invalid record type: 0x{}", begin.objset_type)))
}

fn invalid(why: impl fmt::Display) -> PoolError {
    Failure::Invalid(why.to_string()).into()
}

/// What a receive does to the pool's datasets, as a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// The receive has a number from now on.
    Begin { target: Target, number: u64 },
    /// Of what was received: a dataset's object.
    Finish { target: Target, object: u64 },
    /// Destroys what was received, if it has no children.
    Abandon { object: u64 },
    /// Destroys what a resumable receive into this dataset has left.
    Abort { name: String },
    /// Destroys what a receive left that nobody can end: a dataset of this name.
    Sweep(String),
    /// A stream says this of a snapshot that is there already.
    Describe { snapshot: String, props: Vec<(String, RawValue)> },
}

impl Task for Step {
    fn check(&self, dsl: &Dsl, group: Option<u64>) -> Result<()> {
        match self {
            Step::Begin { target, .. } => begin::check(dsl, target),
            Step::Finish { target, object } => finish::check(dsl, target, *object, group),
            Step::Abandon { object } => dsl.received(*object).map(drop),
            Step::Abort { name } => finish::check_abort(dsl, name),
            Step::Sweep(name) | Step::Describe { snapshot: name, .. } => dsl.find(name).map(drop),
        }
    }

    fn sync(&self, cx: &SyncCx<'_>) -> Result<()> {
        match self {
            Step::Begin { target, number } => begin::sync(cx, target, *number),
            Step::Finish { target, object } => finish::sync(cx, target, *object),
            Step::Abandon { object } => finish::abandon(cx, *object),
            Step::Abort { name } => finish::abort(cx, name),
            Step::Sweep(name) => finish::sweep(cx, name),
            Step::Describe { snapshot, props } => props::describe(cx, snapshot, props),
        }
    }

    fn closes(&self) -> Vec<&str> {
        if let Step::Finish { target, .. } = self { vec![&target.dataset] } else { Vec::new() }
    }
}

/// What is being received, and whether into a hidden clone of the target.
struct Received {
    found: Found,
    is_hidden: bool,
}

/// A stream that is in the pool, all but the last step.
pub struct Receiving {
    object: u64,
    /// What it wrote stays if it fails.
    is_kept: bool,
}

impl Dsl {
    /// Receives the stream whose begin has been read, all but the last step:
    /// [`Dsl::finish_receive`]. When it fails, nothing is left of it but what can be resumed.
    pub fn receive(&self, target: &Target, stream: &mut RecordReader<'_>) -> Result<Receiving> {
        let begin = &target.begin;
        check_built(begin)?;
        let list = stream.payload(u64::from(begin.payload_len))?;
        let number = self.mos.random();
        self.commit_task(Arc::new(Step::Begin { target: target.clone(), number }), "")?;
        let is_resumed = begin.has(feature::RESUMING);
        let mut receiving =
            Receiving { object: self.received_by(number)?, is_kept: target.resumable && is_resumed };
        match self.receive_records(target, &list, &mut receiving, stream) {
            Ok(()) => Ok(receiving),
            Err(error) => {
                self.leave_receive(&receiving)?;
                Err(error)
            }
        }
    }

    /// Makes what was received the target's newest snapshot. Who serves the target has closed it
    /// before.
    pub fn finish_receive(&self, target: &Target, receiving: &Receiving) -> Result<u64> {
        let finish = Step::Finish { target: target.clone(), object: receiving.object };
        let done = self.commit_task(Arc::new(finish), "");
        if done.is_err() {
            self.leave_receive(receiving)?;
        }
        done
    }

    fn leave_receive(&self, receiving: &Receiving) -> Result<()> {
        if receiving.is_kept {
            // How far it came is to be on disk when somebody asks.
            self.parts.txgs.sync_now()?;
            self.end_receiving(receiving.object);
        } else {
            self.commit_task(Arc::new(Step::Abandon { object: receiving.object }), "")?;
        }
        self.close_idle(receiving.object);
        Ok(())
    }

    fn receive_records(
        &self,
        target: &Target,
        list: &[u8],
        receiving: &mut Receiving,
        stream: &mut RecordReader<'_>,
    ) -> Result<()> {
        let (begin, limits) = (&target.begin, self.stream_limits());
        let dataset = {
            let _config = self.reading();
            self.open_object(receiving.object)?
        };
        let mut bytes = 0;
        if begin.has(feature::RESUMING) {
            bytes = begin::check_point(self, receiving.object, list)?.bytes;
        }
        let before = stream.bytes();
        let mut apply = Apply::new(self, &dataset, target, stream.endian());
        loop {
            let record = stream.record()?;
            receiving.is_kept = target.resumable;
            record.check(begin, &limits).map_err(|error| invalid(error.what))?;
            if let Record::End { .. } = record {
                apply.end()?;
                return self.check_content(&dataset);
            }
            let payload = stream.payload(record.payload_len())?;
            apply.set_bytes(bytes + (stream.bytes() - before));
            apply.record(&record, payload)?;
        }
    }

    /// What records may ask for in this pool.
    fn stream_limits(&self) -> Limits {
        let features = self.features();
        Limits {
            block: if features.is_enabled("large_blocks") { LARGE_BLOCK } else { OLD_BLOCK },
            slots: if features.is_enabled("large_dnode") { LARGE_DNODE } else { 1 },
        }
    }

    /// What was received can be told at least what it is.
    fn check_content(&self, dataset: &Dataset) -> Result<()> {
        let objset = dataset.objset();
        let told = match objset.kind() {
            ObjsetType::Zvol => volume::size_of(objset).and_then(|_| volume::block_of(objset)).map(drop),
            _ => self.parts.fs_format.props(objset).map(drop).map_err(PoolError::from),
        };
        match told {
            Err(PoolError::NotFound | PoolError::Corrupt(_)) => Err(invalid("not all that makes a dataset")),
            told => told,
        }
    }

    /// Destroys what receives left that had not ended when the pool was last in use, unless they
    /// can be resumed.
    pub(crate) fn sweep_unfinished(&self) -> Result<()> {
        let mut names = Vec::new();
        {
            let _config = self.reading();
            self.unfinished(&self.root()?, &mut names)?;
        }
        for name in names {
            tracing::info!(name, "destroying what an unfinished receive has left");
            self.commit_task(Arc::new(Step::Sweep(name)), "")?;
        }
        Ok(())
    }

    /// Names of inconsistent datasets, the deepest first.
    fn unfinished(&self, dir: &Arc<Dir>, names: &mut Vec<String>) -> Result<()> {
        for (name, object) in self.mos.sorted(dir.phys().child_dir_zapobj)? {
            if !name.starts_with('$') {
                self.unfinished(&self.child_dir(dir, &name, object)?, names)?;
            }
        }
        let Some(head) = self.head_of(dir)? else { return Ok(()) };
        if self.is_useless(&head)? {
            names.push(dir.name());
        }
        Ok(())
    }

    /// What a receive that is under way writes.
    fn received(&self, object: u64) -> Result<Received> {
        if !self.is_receiving(object) {
            return Err(PoolError::NotFound);
        }
        let phys = self.mos.dataset(object)?;
        let dir = self.dir(phys.dir_obj)?;
        let is_hidden = dir.last_name() == RECEIVE_CLONE;
        Ok(Received { found: Found { dir, object, phys }, is_hidden })
    }

    /// What a receive that was interrupted has left of a dataset.
    fn left_of(&self, dataset: &str) -> Result<Received> {
        let head = self.find(dataset)?;
        Ok(match self.left_clone(&head)? {
            Some(found) => Received { found, is_hidden: true },
            None => Received { found: head, is_hidden: false },
        })
    }
}

/// Streams with these are known and not taken.
fn check_built(begin: &Begin) -> Result<()> {
    const UNBUILT: [(u64, &str); 2] =
        [(feature::RAW, "raw send streams"), (feature::REDACTED, "redacted send streams")];
    match UNBUILT.iter().find(|(feature, _)| begin.has(*feature)) {
        Some((_, what)) => Err(PoolError::Unsupported((*what).into())),
        None => Ok(()),
    }
}
