//! `zfs receive`: where a stream goes to, whether it may, and what is said about it.
//!
//! Invariant: nothing is received into a dataset, nor made a clone of one, before it was asked
//! whether that dataset may be received into. Where a stream goes to is not the target alone: its
//! names, and the guids of snapshots, lead elsewhere in the pool.
//!
//! Source: lib/libzfs/libzfs_sendrecv.c (`zfs_receive_impl`, `zfs_receive_one`).

mod corrective;
mod package;
mod props;
mod replicate;
mod words;

use std::io::Read;

use ::pool::PoolError;
use ::pool::recv::{self, Failure, Target};
use ::pool::stream::{RecordReader, StreamError};
use engine_api::{
    Change, DatasetFilter, DatasetInfo, DatasetKind, Error, ReceiveEvent, ReceiveRequest, Received, Result,
};
use env::Nanos;
use ondisk::objset::ObjsetType;
use ondisk::prop::is_user_prop;
use ondisk::send::{Begin, FLAG_CLONE, Record, feature};
use refusal::{Action, Reason, ReceiveFault, Refused, Stream};

use super::convert::api_error;
use super::family::{HEADS, HEADS_AND_SNAPSHOTS, below, no_dataset};
use super::pool::LocalPool;
use super::rights::{Deed, Landing};
use package::Package;
use replicate::Replication;
use words::{Goal, fault_of_stream};

/// Who hears what is done.
pub(super) type Tell<'a> = &'a mut dyn FnMut(ReceiveEvent);

fn refuse(stream: Stream, why: impl Into<Reason>) -> Error {
    Refused::new(Action::Receive { stream }, why).into()
}

/// One stream that goes to one dataset.
struct One<'a> {
    request: &'a ReceiveRequest,
    begin: &'a Begin,
    /// What `zfs send` was asked to send.
    sent: &'a str,
    /// What came before it.
    package: Option<&'a Package>,
}

impl LocalPool {
    /// Receives what comes.
    pub(super) fn run_receive(
        &self,
        request: &ReceiveRequest,
        from: &mut dyn Read,
        tell: Tell<'_>,
    ) -> Result<Received> {
        self.check_request(request)?;
        let mut stream = RecordReader::new(from);
        let begin = checked(stream.begin())?.ok_or_else(|| refuse(Stream::Any, ReceiveFault::Unreadable))?;
        let sent = begin.to_name.split('@').next().unwrap_or_default();
        let mut received = Received::default();
        if !begin.is_compound() {
            let one = One { request, begin: &begin, sent, package: None };
            self.receive_one(&one, &mut stream, tell, &mut received)?;
            return Ok(received);
        }
        if request.single {
            return Err(refuse(Stream::Any, ReceiveFault::Several));
        }
        let package = Package::read(&begin, &mut stream)?;
        if package.is_recursive && request.target.contains('@') {
            return Err(refuse(Stream::Any, ReceiveFault::SnapshotNamed));
        }
        let whole = One { request, begin: &begin, sent, package: None };
        let top = destination(&whole)?.split('@').next().unwrap_or_default().to_owned();
        let mut replication = package
            .from()
            .filter(|_| package.is_recursive && !request.dry_run && !request.heal)
            .map(|from| {
                let number = self.env.entropy.u64() as u32;
                Replication { pool: self, request, package: &package, top: &top, from, number, taken: 0 }
            });
        if let Some(replication) = &mut replication {
            replication.run(&mut received, tell)?;
        }
        while let Some(begin) = checked(stream.next_begin())? {
            let below = begin.to_name.strip_prefix(sent);
            if begin.is_compound() || !below.is_some_and(|below| below.starts_with(['/', '@'])) {
                return Err(refuse(Stream::Any, ReceiveFault::Invalid));
            }
            let one = One { request, begin: &begin, sent, package: Some(&package) };
            self.receive_one(&one, &mut stream, tell, &mut received)?;
        }
        // What had no parent yet has one now.
        if let Some(replication) = &mut replication {
            replication.run(&mut received, tell)?;
        }
        // Some had a name for the time being only.
        received.new.retain(|name| self.pool.dsl.object_of(name).is_ok());
        Ok(received)
    }

    fn check_request(&self, request: &ReceiveRequest) -> Result<()> {
        let given = request.props.iter().map(|prop| &prop.name).chain(&request.exclude);
        if let Some(name) = given.into_iter().find(|name| !props::can_be_given(name)) {
            return Err(refuse(Stream::Any, ReceiveFault::Property { property: name.clone() }));
        }
        if let Some(mark) = request.marks.iter().find(|mark| !is_user_prop(&mark.name)) {
            return Err(refuse(Stream::Any, ReceiveFault::Property { property: mark.name.clone() }));
        }
        let is_missing = |name: &str| self.dataset(name).map(|found| found.is_none());
        if request.keep_path && is_missing(&request.target)? {
            return Err(refuse(Stream::Any, ReceiveFault::NoTarget { target: request.target.clone() }));
        }
        match &request.origin {
            Some(origin) if is_missing(origin)? => {
                Err(refuse(Stream::Any, ReceiveFault::NoOrigin { origin: origin.clone() }))
            }
            _ => Ok(()),
        }
    }

    fn receive_one(
        &self,
        one: &One<'_>,
        stream: &mut RecordReader<'_>,
        tell: Tell<'_>,
        received: &mut Received,
    ) -> Result<()> {
        let (request, begin) = (one.request, one.begin);
        let is_clone = request.origin.is_some() || begin.flags & FLAG_CLONE != 0;
        let kind = recv::action(begin, is_clone);
        self.not_suspended().map_err(|_| refuse(kind, Reason::Suspended))?;
        let started = self.env.clock.now();
        let before = stream.bytes();
        let destination = destination(one)?;
        if request.heal {
            let healed = self.heal(one, &destination, kind, stream, tell);
            return healed.map(|()| self.tell_done(one, (before, started), stream, tell));
        }
        let origin = self.origin(one, &destination, tell)?;
        let is_new = (begin.from_guid == 0 || origin.is_some()) && !begin.has(feature::RESUMING);
        let destination = self.relocate(one, destination, is_new)?;
        self.permit(Deed::Receive(request, Landing { into: &destination, origin: origin.as_deref() }))?;
        let (dataset, snapshot) = destination.split_once('@').unwrap_or((&destination, ""));
        let before_it = self.check_target(one, dataset, is_new, kind)?;
        let exists = before_it == Before::Whole;
        let what = if begin.from_guid != 0 { "incremental" } else { "full" };
        announce(one, what, &destination, tell);
        if request.dry_run {
            return skip(begin, stream);
        }
        let mut listed = one.package.map_or_else(Default::default, |package| package.listed(begin.to_guid));
        let tags = std::mem::take(&mut listed.holds);
        let props = self.props_of(one, &destination, listed, kind, received)?;
        let target = Target {
            dataset: dataset.to_owned(),
            snapshot: snapshot.to_owned(),
            origin,
            force: request.force,
            resumable: request.resumable,
            begin: begin.clone(),
            props,
        };
        let done = self.receive_into(&target, stream);
        if let Err(error) = done {
            if matches!(error, PoolError::Receive(Failure::Exists | Failure::NotFound))
                && self.has(&target)?
            {
                if request.verbose {
                    tell(ReceiveEvent::Line(format!("snap {destination} already exists; ignoring")));
                }
                return skip(begin, stream);
            }
            let goal = Goal { snapshot: &destination, is_resumable: request.resumable, is_new: !exists };
            return Err(self.refusal_of(error, kind, goal));
        }
        if !exists {
            received.new.push(dataset.to_owned());
        } else if begin.from_guid == 0 {
            received.replaced.push(dataset.to_owned());
        }
        self.hold(request, &destination, tags, received);
        self.tell_done(one, (before, started), stream, tell);
        Ok(())
    }

    /// So many bytes ago, at this time, the stream began.
    fn tell_done(
        &self,
        one: &One<'_>,
        (before, started): (u64, Nanos),
        stream: &RecordReader<'_>,
        tell: Tell<'_>,
    ) {
        if one.request.verbose && !one.request.dry_run {
            let nanos = self.env.clock.now().0.saturating_sub(started.0);
            tell(ReceiveEvent::Done { bytes: stream.bytes() - before, nanos });
        }
    }

    /// Tags come with a snapshot, and are no part of it.
    fn hold(&self, request: &ReceiveRequest, snapshot: &str, tags: Vec<String>, received: &mut Received) {
        for tag in tags.into_iter().filter(|_| !request.skip_holds) {
            let hold = Change::Hold { snapshots: vec![snapshot.to_owned()], tag, recursive: false };
            if let Err(error) = self.make_change(&hold, "") {
                received.warnings.push(error.to_string());
            }
        }
    }

    fn receive_into(&self, target: &Target, stream: &mut RecordReader<'_>) -> ::pool::Result<()> {
        let receiving = self.pool.dsl.receive(target, stream)?;
        let finish = || self.pool.dsl.finish_receive(target, &receiving);
        self.without(std::slice::from_ref(&target.dataset), finish)?;
        self.after_change();
        Ok(())
    }

    /// The target has the snapshot that is sent.
    fn has(&self, target: &Target) -> Result<bool> {
        let filter = below(&target.dataset, Some(1), &[DatasetKind::Snapshot], &["type"]);
        let found = self.datasets_if_any(&filter)?;
        Ok(found.iter().any(|snapshot| snapshot.guid == target.begin.to_guid))
    }

    /// The datasets meant; none where the root of the list does not exist.
    fn datasets_if_any(&self, filter: &DatasetFilter) -> Result<Vec<DatasetInfo>> {
        match self.list_datasets(filter) {
            Err(Error::NotFound) => Ok(Vec::new()),
            listed => listed,
        }
    }

    /// `None` if there is none.
    fn dataset(&self, name: &str) -> Result<Option<DatasetInfo>> {
        let props = ["origin", "inconsistent", "receive_resume_token"];
        let filter = below(name, Some(0), HEADS_AND_SNAPSHOTS, &props);
        Ok(self.datasets_if_any(&filter)?.pop())
    }

    /// The snapshot that what is received is to be a clone of.
    fn origin(&self, one: &One<'_>, destination: &str, tell: Tell<'_>) -> Result<Option<String>> {
        let (found, how) = if let Some(origin) = &one.request.origin {
            (origin.clone(), "using provided clone origin")
        } else if one.begin.flags & FLAG_CLONE != 0 {
            let found = self.by_guid(one.begin.from_guid, destination)?;
            let missing =
                || refuse(Stream::Any, ReceiveFault::NoLocalOrigin { clone: destination.to_owned() });
            (found.ok_or_else(missing)?, "found clone origin")
        } else {
            return Ok(None);
        };
        if one.request.verbose {
            tell(ReceiveEvent::Line(format!("{how} {found}")));
        }
        Ok(Some(found))
    }

    /// A dataset that is not there under its name any more may have been renamed: its snapshots are
    /// found by guid.
    fn relocate(&self, one: &One<'_>, destination: String, is_new: bool) -> Result<String> {
        let (dataset, snapshot) = destination.split_once('@').unwrap_or((&destination, ""));
        let is_exact =
            !one.request.keep_path && one.begin.to_name.get(one.sent.len()..).unwrap_or("").starts_with('@');
        if is_new || is_exact || one.begin.from_guid == 0 || self.dataset(dataset)?.is_some() {
            return Ok(destination);
        }
        let Some(found) = self.by_guid(one.begin.from_guid, &destination)? else { return Ok(destination) };
        let dataset = found.split('@').next().unwrap_or_default();
        Ok(format!("{dataset}@{snapshot}"))
    }

    /// What there is of the dataset; refused where it must be there or must not.
    fn check_target(&self, one: &One<'_>, dataset: &str, is_new: bool, kind: Stream) -> Result<Before> {
        let (request, name) = (one.request, || dataset.to_owned());
        let Some(found) = self.dataset(dataset)? else {
            let Some((parent, _)) = dataset.rsplit_once('/').filter(|_| is_new) else {
                return Err(refuse(kind, ReceiveFault::NoDestination { dataset: name() }));
            };
            if request.keep_path && !request.keep_tail && !request.dry_run {
                self.make_parents(parent, kind)?;
            }
            let parent_found = self.dataset(parent)?;
            return match parent_found.map(|found| found.kind) {
                Some(DatasetKind::Filesystem) => Ok(Before::Nothing),
                Some(_) => Err(refuse(kind, ReceiveFault::ParentNotFilesystem { parent: parent.to_owned() })),
                None if request.dry_run && request.keep_path => Ok(Before::Nothing),
                None => Err(no_dataset(parent)),
            };
        };
        if !is_new {
            return Ok(if found.value("inconsistent") == Some("1") { Before::Part } else { Before::Whole });
        }
        if !request.force {
            return Err(refuse(kind, ReceiveFault::DatasetExists { dataset: name() }));
        }
        let object = self.pool.dsl.object_of(dataset).map_err(api_error)?;
        let snapshots = self.pool.dsl.snapshots_of(object).map_err(api_error)?;
        if let Some((snapshot, _)) = snapshots.into_iter().min() {
            return Err(refuse(kind, ReceiveFault::HasSnapshots { dataset: name(), snapshot }));
        }
        if u64::from(one.begin.objset_type) == ObjsetType::Zvol.number() {
            self.check_volume_target(dataset, kind)?;
        }
        if found.value("origin").is_some_and(|origin| !origin.is_empty()) {
            return Err(refuse(kind, ReceiveFault::IsClone { dataset: name() }));
        }
        Ok(Before::Whole)
    }

    /// Whether what exists can become a volume.
    fn check_volume_target(&self, dataset: &str, kind: Stream) -> Result<()> {
        if !dataset.contains('/') {
            return Err(refuse(kind, ReceiveFault::VolumeOverRoot { dataset: dataset.to_owned() }));
        }
        let filter = below(dataset, Some(1), HEADS, &["type"]);
        match self.list_datasets(&filter)?.into_iter().find(|found| found.name != dataset) {
            Some(child) => Err(refuse(kind, ReceiveFault::VolumeOverChildren { child: child.name })),
            None => Ok(()),
        }
    }

    fn make_parents(&self, parent: &str, kind: Stream) -> Result<()> {
        if self.dataset(parent)?.is_some() {
            return Ok(());
        }
        let change = Change::CreateFilesystem { name: parent.to_owned(), parents: true, props: Vec::new() };
        self.make_change(&change, "").map(drop).map_err(|_| refuse(kind, ReceiveFault::NotMade))
    }
}

/// With `-v`: what is received, in which way, and into what.
fn announce(one: &One<'_>, how: &str, destination: &str, tell: Tell<'_>) {
    if one.request.verbose {
        let verb = if one.request.dry_run { "would receive" } else { "receiving" };
        let line = format!("{verb} {how} stream of {} into {destination}", one.begin.to_name);
        tell(ReceiveEvent::Line(line));
    }
}

/// What there is of a dataset before it is received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    /// A receive was interrupted when it was new.
    Part,
    Whole,
}

/// A begin that may be followed; `None` where the stream has ended.
fn checked(begin: std::result::Result<Option<Begin>, StreamError>) -> Result<Option<Begin>> {
    let begin = begin.map_err(|error| match error {
        StreamError::Truncated | StreamError::Io(_) => refuse(Stream::Any, ReceiveFault::Unreadable),
        _ => refuse(Stream::Any, ReceiveFault::Magic),
    })?;
    begin.as_ref().map_or(Ok(()), check_begin)?;
    Ok(begin)
}

fn check_begin(begin: &Begin) -> Result<()> {
    const MASK: u64 = feature::SA_SPILL
        | feature::EMBED_DATA
        | feature::LZ4
        | feature::RESUMING
        | feature::LARGE_BLOCKS
        | feature::COMPRESSED
        | feature::LARGE_DNODE
        | feature::RAW
        | feature::HOLDS
        | feature::REDACTED
        | feature::SWITCH_TO_LARGE_BLOCKS
        | feature::ZSTD
        | feature::LONGNAME
        | feature::LARGE_MICROZAP;
    if begin.has(feature::DEDUP) {
        return Err(refuse(Stream::Any, ReceiveFault::Deduplicated));
    }
    let unknown = begin.features & !MASK;
    if unknown != 0 || !(1..=2).contains(&begin.header_type) {
        return Err(refuse(Stream::Any, ReceiveFault::Features { flags: begin.features, unknown }));
    }
    if !begin.to_name.contains('@') {
        return Err(refuse(Stream::Any, ReceiveFault::SnapshotName));
    }
    Ok(())
}

/// The snapshot that is to be made.
fn destination(one: &One<'_>) -> Result<String> {
    let (request, name) = (one.request, &one.begin.to_name);
    let with_snapshot = request.target.contains('@');
    let not_with =
        |option: &str| refuse(Stream::Any, ReceiveFault::SnapshotWith { option: option.to_owned() });
    let rest = if request.keep_tail {
        if with_snapshot {
            return Err(not_with("-e"));
        }
        match one.sent.rfind('/') {
            Some(at) => name.get(at..).unwrap_or_default().to_owned(),
            None => format!("/{name}"),
        }
    } else if request.keep_path {
        if with_snapshot {
            return Err(not_with("-d"));
        }
        name.find('/').or_else(|| name.find('@')).map_or("", |at| &name[at..]).to_owned()
    } else if with_snapshot {
        String::new()
    } else {
        name.get(one.sent.len()..).unwrap_or_default().to_owned()
    };
    let destination = format!("{}{rest}", request.target);
    if destination.matches('@').count() != 1 || destination.ends_with('@') {
        return Err(refuse(Stream::Any, ReceiveFault::InvalidName));
    }
    Ok(destination)
}

/// Reads a stream for nothing.
fn skip(begin: &Begin, stream: &mut RecordReader<'_>) -> Result<()> {
    let failed = |error: StreamError| refuse(Stream::Any, fault_of_stream(&error));
    stream.payload(u64::from(begin.payload_len)).map_err(failed)?;
    loop {
        let record = stream.record().map_err(failed)?;
        if let Record::End { .. } = record {
            return Ok(());
        }
        if record.payload_len() > ondisk::blkptr::MAX_BLOCK {
            return Err(refuse(Stream::Any, ReceiveFault::RecordLength));
        }
        stream.payload(record.payload_len()).map_err(failed)?;
    }
}
