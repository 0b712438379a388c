//! Sending a snapshot, or a head that nobody uses: all of it, or what it has that an earlier one
//! had not, as records.
//!
//! The tree of the snapshot is walked in the order of objects and blocks, past all that is as old
//! as the earlier snapshot (`walk`); what is met becomes records in that order (`emit`). What is
//! not there is sent, too: a receiver may have had something in its place. The cost follows what
//! changed, not what there is.
//!
//! What an interrupted receive has left can be sent as far as it came: a stream that begins like
//! the one that was received and has no end, so that who receives it has the same left.
//!
//! Bytes are those that OpenZFS 2.1 sends of the same pool. Source: module/zfs/dmu_send.c.

mod alone;
mod emit;
mod item;
mod source;
mod walk;

use std::io::{self, Write};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use dmu::DmuError;
use ondisk::dsl_dataset::FLAG_CI_DATASET;
use ondisk::nvlist::NvList;
use ondisk::objset::ObjsetType;
use ondisk::send::{
    Begin, FLAG_CI_DATA, FLAG_CLONE, FLAG_FREERECORDS, FLAG_SPILL_BLOCK, HeaderType, RESUME_OBJECT,
    RESUME_OFFSET, feature,
};

use crate::dsl::dataset::recorded_features;
use crate::dsl::names::Found;
use crate::dsl::{Dataset, Dsl, LongHold};
use crate::resume::Resume;
pub use crate::stream::Flags;
use crate::stream::RecordWriter;
use crate::{PoolError, Result};
use alone::Alone;
pub use alone::head_of_stream;
use emit::Emit;
use source::Source;

/// File systems from this version on keep what does not fit a bonus in spill blocks.
const VERSION_SA: u64 = 5;

/// Why nothing is sent, or no further.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// What the stream is to start from is not there.
    NoSource,
    /// It is no earlier state of what is to be sent.
    NotEarlier,
    /// There is no object to go on with.
    NoObject,
    /// It is a head that somebody has open.
    InUse,
    /// Nobody takes the stream any more.
    Broken(String),
    Pool(PoolError),
}

impl<E: Into<PoolError>> From<E> for Failure {
    fn from(error: E) -> Failure {
        Failure::Pool(error.into())
    }
}

fn broken(error: io::Error) -> Failure {
    Failure::Broken(error.to_string())
}

/// A snapshot that is open for sending: it cannot be destroyed meanwhile.
pub struct Sending {
    dataset: LongHold,
    /// It is none, and nobody's else for the time being.
    alone: Option<Alone>,
    /// It is what an interrupted receive has left: the stream ends where that did.
    is_part: bool,
    begin: Begin,
    /// What was born up to this group is not sent.
    from_txg: u64,
    /// The object and block that it goes on with; the list that says so.
    resume: Option<(u64, u64)>,
    list: Vec<u8>,
    /// Bytes that the stream will have, about.
    size: u64,
    /// Blocks and holes looked at so far.
    visited: AtomicU64,
}

impl Sending {
    pub fn begin(&self) -> &Begin {
        &self.begin
    }

    pub fn size(&self) -> u64 {
        self.size
    }

    /// Blocks that [`Dsl::send`] has looked at so far, holes and objects included.
    pub fn visited(&self) -> u64 {
        self.visited.load(Relaxed)
    }
}

impl Dsl {
    /// Opens a snapshot for sending, from an earlier one or a bookmark (full names), or from the
    /// beginning. A head only to learn what would be sent: as it is, it may change
    /// ([`Dsl::prepare_head`]).
    pub fn prepare_send(
        &self,
        snapshot: &str,
        from: Option<&str>,
        flags: Flags,
    ) -> std::result::Result<Sending, Failure> {
        let _config = self.reading();
        let to = self.find(snapshot)?;
        let source = from.map(|from| self.send_source(&to, from)).transpose()?;
        let dataset = LongHold::on(self.open_object(to.object)?);
        self.sending(&to, dataset, snapshot, (from, source), flags)
    }

    /// Of a snapshot, or what is to become one, under a name.
    fn sending(
        &self,
        to: &Found,
        dataset: LongHold,
        name: &str,
        (from, source): (Option<&str>, Option<Source>),
        flags: Flags,
    ) -> std::result::Result<Sending, Failure> {
        let kind = dataset.objset().kind();
        let features = self.stream_features(&dataset, kind, flags)?;
        let is_clone = source.as_ref().is_some_and(|source| source.is_clone);
        let mut begin_flags = FLAG_FREERECORDS | FLAG_SPILL_BLOCK;
        if is_clone {
            begin_flags |= FLAG_CLONE;
        }
        if to.phys.flags & FLAG_CI_DATASET != 0 {
            begin_flags |= FLAG_CI_DATA;
        }
        let begin = Begin {
            header_type: HeaderType::Sub as u8,
            features,
            creation_time: to.phys.creation_time,
            objset_type: kind.number() as u32,
            flags: begin_flags,
            to_guid: to.phys.guid,
            from_guid: source.as_ref().map_or(0, |source| source.guid),
            to_name: name.to_owned(),
            payload_len: 0,
        };
        let size = match self.send_size(to, dataset.objset(), from, flags.compress) {
            // The size of a volume's blocks may not have come yet.
            Err(PoolError::NotFound) if dataset.is_inconsistent() => 0,
            size => size?,
        };
        let from_txg = source.map_or(0, |source| source.txg);
        Ok(Sending {
            dataset,
            alone: None,
            is_part: false,
            begin,
            from_txg,
            resume: None,
            list: Vec::new(),
            size,
            visited: AtomicU64::new(0),
        })
    }

    /// As [`Dsl::prepare_send`], or of a head as [`Dsl::prepare_head`], of the rest of a stream
    /// that was interrupted; `flags` beside those that it had.
    pub fn prepare_resume(
        &self,
        name: &str,
        from: Option<&str>,
        resume: &Resume,
        flags: Flags,
    ) -> std::result::Result<Sending, Failure> {
        let flags = flags.and(resume.flags);
        let mut sending = match name.contains('@') {
            true => self.prepare_send(name, from, flags)?,
            false => self.prepare_head(name, from, flags)?,
        };
        let point = resume.point;
        let object = match sending.dataset.objset().hold(point.object) {
            Err(DmuError::NotFound) => return Err(Failure::NoObject),
            object => object?,
        };
        sending.resume = Some((point.object, point.offset / u64::from(object.block_size())));
        sending.list =
            NvList::new().with(RESUME_OBJECT, point.object).with(RESUME_OFFSET, point.offset).encode_xdr();
        sending.list.resize(sending.list.len().next_multiple_of(8), 0);
        sending.begin.features |= feature::RESUMING;
        sending.begin.payload_len = sending.list.len() as u32;
        sending.size = sending.size.saturating_sub(point.bytes);
        Ok(sending)
    }

    /// What a receiver has to understand (`setup_featureflags`).
    fn stream_features(&self, dataset: &Dataset, kind: ObjsetType, flags: Flags) -> Result<u64> {
        let used = recorded_features(self, dataset.object())?;
        let mut features = 0;
        let mut add = |feature: u64, wanted: bool| features |= if wanted { feature } else { 0 };
        if used.contains(&"encryption") {
            return Err(PoolError::Unsupported("sending encrypted datasets".into()));
        }
        if kind == ObjsetType::Zfs {
            let props = match self.parts.fs_format.props(dataset.objset()) {
                // Of what is left of a receive it may not have come yet.
                Err(DmuError::NotFound) if dataset.is_inconsistent() => Vec::new(),
                props => props?,
            };
            let version =
                props.iter().find(|(name, _)| *name == "version").map_or(0, |(_, version)| *version);
            add(feature::SA_SPILL, version >= VERSION_SA);
        }
        let is_active = |name: &str| self.features().is_active(name);
        let embeds = flags.embed && is_active("embedded_data");
        add(feature::LARGE_BLOCKS, flags.large_blocks && used.contains(&"large_blocks"));
        add(feature::EMBED_DATA, embeds);
        add(feature::COMPRESSED, flags.compress);
        add(feature::LZ4, (embeds || flags.compress) && is_active("lz4_compress"));
        add(feature::ZSTD, flags.compress && used.contains(&"zstd_compress"));
        add(feature::LARGE_DNODE, used.contains(&"large_dnode"));
        Ok(features)
    }

    /// Sends what was prepared.
    pub fn send(&self, sending: &Sending, to: &mut dyn Write) -> std::result::Result<(), Failure> {
        let writer = RecordWriter::begin(to, &sending.begin, &sending.list).map_err(broken)?;
        let store = self.parts.store();
        let emit = Emit::new(store, writer, sending.begin.features, sending.from_txg);
        let root = sending.dataset.objset().root();
        let writer = walk::walk(store, &root, sending, emit)?;
        if sending.is_part { Ok(()) } else { writer.end().map_err(broken) }
    }
}

/// A block of the snapshot cannot be read.
fn unreadable(error: DmuError) -> Failure {
    Failure::Pool(error.into())
}
