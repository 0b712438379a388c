//! Tiering, carried out: a session makes a snapshot of its source, walks through it, and has rsync
//! copy what goes, some thousands of files at a time.
//!
//! rsync is a program, and sees files where they are mounted: the source by `.zfs/snapshot` of its
//! mount. The walk, and the removal of what has moved, are calls of the engine: so no name is
//! looked up by a path that others can bend meanwhile.
//!
//! Invariants:
//! - A file is removed from the source only if rsync compared all of its bytes with what is at the
//!   target after that was written out, and the file is still what it was in the snapshot.
//! - What is held in memory is bounded: a batch of files, and a page of each folder on the way.
//! - The snapshot goes when the session ends, however it ends; what a kill leaves goes when the
//!   next one begins. It is known by its property.

mod removal;
mod walk;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use api_types::{
    AutoTierPolicy, DatasetKind, FailureClass, TierAction, TierFile, TierPlan, TierRefusal, TierStage,
    TierStatus, TierTarget,
};
use engine_api::{Cancel, Change, DatasetInfo, Engine, Error, FileSystem, Pool, PropertyChange};
use services::autosync::stamp::REPLICA;
use services::autotier::PROPERTY;
use services::autotier::command::{self, Ask, Deed, Said};
use services::autotier::policy::Policy;
use services::time::Time;
use stdx::premise::{Premise, relying_on};

use super::World;
use super::carry::{history, no_replicas};
use super::class;
use super::facts::{filter, is_in};
use super::sync::Fault;
use crate::{Failure, NotServed};
use removal::remove;
use walk::{Chosen, Walk};

/// Files of a batch, and bytes of their paths.
const FILES: usize = 20_000;
const PATH_BYTES: usize = 8 << 20;
/// Entries that a plan looks at, and files that it names.
const FORESEEN: u64 = 1_000_000;
const NAMED: usize = 100;

/// What an rsync is to do.
pub struct Errand<'a> {
    pub arguments: Vec<String>,
    /// What it reads: the paths of files, each ended by a byte 0.
    pub names: Vec<u8>,
    /// It connects to another host.
    pub by_ssh: bool,
    /// Seconds without a byte after which it is ended.
    pub stuck_after: u32,
    pub stop: &'a Cancel,
}

/// What a session has to do.
pub struct Session {
    pub id: String,
    pub policy: Arc<Policy>,
    pub spec: AutoTierPolicy,
    /// guid and name; `None`: it is not here.
    pub source: Option<(u64, String)>,
    pub stop: Cancel,
    pub progress: Arc<Progress>,
}

/// How far a session is.
#[derive(Default)]
pub struct Progress(Mutex<Option<(Time, TierStatus)>>);

impl Progress {
    /// `None`: there is no session.
    pub fn status(&self, now: Time) -> Option<TierStatus> {
        let (since, status) = (*self.0.lock().unwrap_or_else(PoisonError::into_inner))?;
        let seconds = u64::try_from(now.saturating_sub(since)).unwrap_or(0);
        Some(TierStatus { seconds, ..status })
    }

    fn set(&self, status: Option<(Time, TierStatus)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = status;
    }

    fn change(&self, change: impl FnOnce(&mut TierStatus)) {
        if let Some((_, status)) = &mut *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            change(status);
        }
    }
}

/// What came of a session.
#[derive(Default)]
pub struct Done {
    /// Files and links that were sent to the target, and that were removed at the source.
    pub copied: u64,
    pub removed: u64,
    /// The first of what went wrong.
    pub fault: Option<Fault>,
    /// It was gone on with all else, and to try again at once would be in vain.
    pub is_partial: bool,
}

impl Done {
    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }
}

fn of_engine(error: Error) -> Fault {
    (class::of(&error), error.into())
}

fn refused(why: TierRefusal) -> Fault {
    (FailureClass::NeedsPerson, NotServed::Tier { why }.into())
}

/// The source, looked at.
struct Source {
    pool: Arc<dyn Pool>,
    name: String,
    guid: u64,
    /// Where it is mounted.
    mountpoint: String,
}

/// Where files go on this machine, if they do.
struct Place {
    path: String,
    /// The dataset that has to be mounted there.
    dataset: Option<String>,
}

/// Runs a session.
pub fn run(engine: &dyn Engine, world: &dyn World, session: &Session, now: &dyn Fn() -> Time) -> Done {
    let mut done = Done::default();
    session.progress.set(Some((now(), TierStatus::default())));
    if let Err(fault) = session.run(engine, world, now(), &mut done) {
        done.fail(fault);
    }
    session.progress.set(None);
    done
}

/// What would be done now.
pub fn foretell(
    engine: &dyn Engine,
    world: &dyn World,
    session: &Session,
    now: Time,
) -> Result<TierPlan, Failure> {
    let ready = session.source(engine, world).and_then(|source| {
        let place = session.place(engine, world, &source)?;
        Ok((source, place))
    });
    let source = match ready {
        Ok((source, _)) => source,
        Err((_, Failure::Service(NotServed::Tier { why }))) => {
            return Ok(TierPlan { refusal: Some(why), ..TierPlan::default() });
        }
        Err((_, why)) => return Err(why),
    };
    let fs = source.pool.open_fs(&source.name)?;
    let mut walk = match session.walk(&fs, now) {
        Ok(walk) => walk,
        Err((_, Failure::Service(NotServed::Tier { why }))) => {
            return Ok(TierPlan { refusal: Some(why), ..TierPlan::default() });
        }
        Err((_, why)) => return Err(why),
    };
    let mut planned = TierPlan::default();
    while let Some(chosen) = walk.next()? {
        planned.files += 1;
        planned.bytes += chosen.attr.size;
        let changed = chosen.attr.ctime.secs;
        planned.removable += u64::from(session.policy.is_removable(changed, now));
        if planned.first.len() < NAMED {
            planned.first.push(TierFile {
                path: String::from_utf8_lossy(&chosen.path).into_owned(),
                size: chosen.attr.size,
                modified: chosen.attr.mtime.secs,
            });
        }
        if walk.looked_at >= FORESEEN {
            planned.is_cut = true;
            break;
        }
    }
    Ok(planned)
}

impl Session {
    fn run(&self, engine: &dyn Engine, world: &dyn World, now: Time, done: &mut Done) -> Result<(), Fault> {
        let source = self.source(engine, world)?;
        // What a kill has left.
        self.sweep(&source)?;
        let place = self.place(engine, world, &source)?;
        let snapshot = self.snapshot(&source, now)?;
        let work = Work { session: self, engine, world, source: &source, place, snapshot, now };
        let worked = work.run(done);
        self.sweep(&source).and(worked)
    }

    /// The source, if files can be taken from it.
    fn source(&self, engine: &dyn Engine, world: &dyn World) -> Result<Source, Fault> {
        let gone = || {
            let dataset = self.spec.source.dataset.clone();
            (FailureClass::Retriable, Failure::NoSuchDataset { dataset })
        };
        let (guid, name) = self.source.clone().ok_or_else(gone)?;
        let pool = engine.pools().into_iter().find(|pool| is_in(&name, &pool.name())).ok_or_else(gone)?;
        let info = dataset(&*pool, &name)?.filter(|info| info.guid == guid).ok_or_else(gone)?;
        if info.kind != DatasetKind::Filesystem {
            return Err((FailureClass::NeedsPerson, Failure::NoSuchDataset { dataset: name }));
        }
        if info.own(REPLICA).is_some() {
            return Err(refused(TierRefusal::SourceIsReplica { dataset: name }));
        }
        if info.value("snapdir") == Some("disabled") {
            return Err(refused(TierRefusal::NoSnapshotFolder { dataset: name }));
        }
        let mounted = mountpoint(world, &name);
        let mountpoint = mounted.ok_or_else(|| refused(TierRefusal::NotMounted { dataset: name.clone() }))?;
        Ok(Source { pool, name, guid, mountpoint })
    }

    /// Where files go on this machine; nothing for another one.
    fn place(&self, engine: &dyn Engine, world: &dyn World, source: &Source) -> Result<Option<Place>, Fault> {
        match &self.spec.target {
            TierTarget::Ssh { .. } => Ok(None),
            TierTarget::Dataset { dataset: name } => {
                let gone = || (FailureClass::Retriable, Failure::NoSuchDataset { dataset: name.clone() });
                let pool = engine.pools().into_iter().find(|pool| is_in(name, &pool.name()));
                let info = dataset(&*pool.ok_or_else(gone)?, name)?.ok_or_else(gone)?;
                if info.own(REPLICA).is_some() {
                    return Err(refused(TierRefusal::TargetIsReplica { dataset: name.clone() }));
                }
                let path = mountpoint(world, name)
                    .ok_or_else(|| refused(TierRefusal::NotMounted { dataset: name.clone() }))?;
                Ok(Some(Place { path, dataset: Some(name.clone()) }))
            }
            TierTarget::Folder { path } => {
                let found = world.folder(path);
                let path = found.ok_or_else(|| refused(TierRefusal::NoFolder { path: path.clone() }))?;
                let dataset = owner(world, &path);
                if dataset.as_ref() == Some(&source.name) {
                    return Err(refused(TierRefusal::Inside { path }));
                }
                Ok(Some(Place { path, dataset }))
            }
        }
    }

    /// Makes the snapshot; gives its name, without the dataset's.
    fn snapshot(&self, source: &Source, now: Time) -> Result<String, Fault> {
        let name = self.policy.name(now);
        let props = vec![PropertyChange { name: PROPERTY.to_owned(), value: self.id.clone() }];
        let names = vec![format!("{}@{name}", source.name)];
        let change = Change::Snapshot { names, recursive: false, props };
        let things = vec![(source.name.clone(), source.guid)];
        let commit = || source.pool.commit(&change, &history(&self.id));
        relying_on(Some(no_replicas(things)), commit).map_err(of_engine)?;
        Ok(name)
    }

    /// Destroys all snapshots of the source that this service has made.
    fn sweep(&self, source: &Source) -> Result<(), Fault> {
        let snapshots = filter(&source.name, Some(1), &[DatasetKind::Snapshot], &[PROPERTY]);
        for info in source.pool.datasets(&snapshots).map_err(of_engine)? {
            if info.own(PROPERTY) != Some(&self.id) {
                continue;
            }
            let things = vec![(info.name.clone(), info.guid)];
            let change = Change::Destroy { names: vec![info.name], defer: false };
            let commit = || source.pool.commit(&change, &history(&self.id));
            relying_on(Some(Premise::Same { things }), commit).map_err(of_engine)?;
        }
        Ok(())
    }

    /// From the folder of a file system on. No symbolic link leads there.
    fn walk<'a>(&'a self, fs: &'a Arc<dyn FileSystem>, now: Time) -> Result<Walk<'a>, Fault> {
        let folder = self.spec.folder.as_str();
        let names = folder.split('/').filter(|name| !name.is_empty()).map(str::as_bytes);
        match walk::folder(&**fs, names) {
            Ok(Some(root)) => Ok(Walk::new(&**fs, root, &self.policy.choice, now)),
            Ok(None) => Err(refused(TierRefusal::NoFolder { path: folder.to_owned() })),
            Err(error) => Err(of_engine(error)),
        }
    }
}

/// One dataset, with what is asked of one.
fn dataset(pool: &dyn Pool, name: &str) -> Result<Option<DatasetInfo>, Fault> {
    match pool.datasets(&filter(name, Some(0), &[], &["snapdir", REPLICA])) {
        Ok(found) => Ok(found.into_iter().find(|info| info.name == name)),
        Err(Error::NotFound) => Ok(None),
        Err(error) => Err(of_engine(error)),
    }
}

fn mountpoint(world: &dyn World, dataset: &str) -> Option<String> {
    world.mounts().into_iter().find(|(name, _)| name == dataset).map(|(_, at)| at)
}

/// The dataset of ours that a path lies in.
fn owner(world: &dyn World, path: &str) -> Option<String> {
    let is_above = |at: &str| {
        path.strip_prefix(at.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let mounts = world.mounts().into_iter().filter(|(_, at)| is_above(at));
    mounts.max_by_key(|(_, at)| at.len()).map(|(dataset, _)| dataset)
}

/// A session at work, with its snapshot.
struct Work<'a> {
    session: &'a Session,
    engine: &'a dyn Engine,
    world: &'a dyn World,
    source: &'a Source,
    place: Option<Place>,
    snapshot: String,
    now: Time,
}

impl Work<'_> {
    fn run(&self, done: &mut Done) -> Result<(), Fault> {
        let Work { session, source, now, .. } = self;
        let open = |name: &str| source.pool.open_fs(name).map_err(of_engine);
        let fs = open(&format!("{}@{}", source.name, self.snapshot))?;
        self.count(&fs)?;
        session.progress.change(|it| it.stage = TierStage::Copying);
        let mut walk = session.walk(&fs, *now)?;
        loop {
            let batch = self.batch(&mut walk)?;
            if batch.is_empty() {
                break;
            }
            self.copy(&batch, done)?;
            if session.spec.action != TierAction::Copy {
                let head = open(&source.name)?;
                self.take_away(&*head, batch, done)?;
                session.progress.change(|it| it.stage = TierStage::Copying);
            }
        }
        if walk.left_out > 0 {
            let files = walk.left_out;
            done.is_partial = done.fault.is_none();
            done.fail((FailureClass::NeedsPerson, NotServed::LeftOut { files }.into()));
        }
        Ok(())
    }

    /// How much there is: the snapshot stays as it is.
    fn count(&self, fs: &Arc<dyn FileSystem>) -> Result<(), Fault> {
        let mut walk = self.session.walk(fs, self.now)?;
        while let Some(chosen) = walk.next().map_err(of_engine)? {
            self.heed_stop()?;
            self.session.progress.change(|it| {
                it.of_files += 1;
                it.of_bytes += chosen.attr.size;
            });
        }
        Ok(())
    }

    fn heed_stop(&self) -> Result<(), Fault> {
        match self.session.stop.is_cancelled() {
            true => Err((FailureClass::Retriable, NotServed::Stopped.into())),
            false => Ok(()),
        }
    }

    fn batch(&self, walk: &mut Walk<'_>) -> Result<Vec<Chosen>, Fault> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < FILES && bytes < PATH_BYTES {
            self.heed_stop()?;
            let Some(chosen) = walk.next().map_err(of_engine)? else { break };
            bytes += chosen.path.len();
            batch.push(chosen);
        }
        Ok(batch)
    }

    /// Has rsync do something with files, and tells what it says.
    fn rsync(&self, ask: Ask, files: &[Chosen], told: &mut dyn FnMut(Said)) -> Result<(), Fault> {
        let Session { spec, stop, .. } = self.session;
        let mut from = format!("{}/.zfs/snapshot/{}", self.source.mountpoint, self.snapshot);
        if !spec.folder.is_empty() {
            from = format!("{from}/{}", spec.folder);
        }
        let to = self.place.as_ref().map_or("", |place| place.path.as_str());
        let mut names = Vec::with_capacity(files.iter().map(|file| file.path.len() + 1).sum());
        for file in files {
            names.extend_from_slice(&file.path);
            names.push(0);
        }
        let arguments = command::arguments(spec, ask, &from, to);
        let by_ssh = matches!(spec.target, TierTarget::Ssh { .. });
        let errand = Errand { arguments, names, by_ssh, stuck_after: spec.stuck_after, stop };
        let (end, said) = self.world.rsync(&errand, told);
        match command::class(&end) {
            None => Ok(()),
            Some(class) => Err((class, NotServed::Rsync { end, said }.into())),
        }
    }

    fn copy(&self, batch: &[Chosen], done: &mut Done) -> Result<(), Fault> {
        let progress = &self.session.progress;
        let before = progress.status(self.now).unwrap_or_default();
        let (mut links, mut same, mut sent) = (0, (0, 0), (0, 0));
        let copied = self.rsync(Ask::Copy, batch, &mut |said| {
            match said {
                Said::File { deed: Deed::Link, .. } => links += 1,
                Said::File { deed: Deed::Same | Deed::Name, size, .. } => same = (same.0 + 1, same.1 + size),
                Said::File { deed: Deed::Send, .. } => {}
                Said::Sent { files, bytes } => sent = (files, bytes),
            }
            progress.change(|it| {
                it.files = before.files + links + same.0 + sent.0;
                it.bytes = before.bytes + same.1 + sent.1;
            });
        });
        done.copied += links + sent.0;
        match copied {
            // All others were copied; what is at the target is seen file by file.
            Err((class, Failure::Service(NotServed::Rsync { end, said }))) if command::is_partial(&end) => {
                done.fail((class, NotServed::Rsync { end, said }.into()));
                Ok(())
            }
            copied => copied,
        }
    }

    /// Of a move: removes at the source what is at the target.
    fn take_away(&self, head: &dyn FileSystem, mut batch: Vec<Chosen>, done: &mut Done) -> Result<(), Fault> {
        let Session { policy, progress, .. } = self.session;
        batch.retain(|file| policy.is_removable(file.attr.ctime.secs, self.now));
        if batch.is_empty() {
            return Ok(());
        }
        self.write_out()?;
        progress.change(|it| it.stage = TierStage::Comparing);
        let (mut there, mut others): (BTreeSet<Vec<u8>>, u64) = (BTreeSet::new(), 0);
        let compared = self.rsync(Ask::Compare, &batch, &mut |said| match said {
            Said::File { deed: Deed::Same, path, .. } => {
                there.insert(path);
            }
            // What could not be copied is told of already.
            Said::File { deed: Deed::Send, .. } => others += u64::from(done.fault.is_none()),
            Said::File { deed: Deed::Link | Deed::Name, .. } | Said::Sent { .. } => {}
        });
        if let Err((class, why)) = compared {
            let is_partial =
                matches!(&why, Failure::Service(NotServed::Rsync { end, .. }) if command::is_partial(end));
            if !is_partial {
                return Err((class, why));
            }
            done.fail((class, why));
        }
        if others > 0 {
            // rsync takes what has the same size and time for the same, and does not send it again.
            done.is_partial = done.fault.is_none();
            done.fail((FailureClass::NeedsPerson, NotServed::OtherContent { files: others }.into()));
        }
        self.check_place()?;
        progress.change(|it| it.stage = TierStage::Removing);
        batch.retain(|file| there.contains(&file.path));
        let names: Vec<&[u8]> =
            self.session.spec.folder.split('/').filter(|it| !it.is_empty()).map(str::as_bytes).collect();
        let removed = remove(head, &names, &batch, &self.session.stop);
        done.removed += removed.files;
        progress.change(|it| it.removed += removed.files);
        removed.ended.map_err(of_engine)?;
        self.heed_stop()
    }

    /// What was copied to this machine is durable from here on. Another host's rsync has written
    /// out each file itself.
    fn write_out(&self) -> Result<(), Fault> {
        let Some(Place { path, dataset }) = &self.place else { return Ok(()) };
        let pool = dataset
            .as_ref()
            .and_then(|dataset| self.engine.pools().into_iter().find(|pool| is_in(dataset, &pool.name())));
        match pool {
            Some(pool) => pool.sync().map(drop).map_err(of_engine),
            None => {
                let why = |message| NotServed::NotWrittenOut { path: path.clone(), message };
                self.world.flush(path).map_err(|message| (FailureClass::Retriable, why(message).into()))
            }
        }
    }

    /// What was compared is still what is mounted there.
    fn check_place(&self) -> Result<(), Fault> {
        let Some(Place { path, dataset: Some(dataset) }) = &self.place else { return Ok(()) };
        match owner(self.world, path).as_ref() == Some(dataset) {
            true => Ok(()),
            false => Err(refused(TierRefusal::NotMounted { dataset: dataset.clone() })),
        }
    }
}
