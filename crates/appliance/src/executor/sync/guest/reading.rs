//! Sources that another appliance pulls from here: what it may see of them, and do to them.
//!
//! Invariants:
//! - Nothing is read or changed but datasets at or below what may be read. Of anything else it is
//!   not told that it is there, whatever a request, or a token, names: what is sent is a snapshot
//!   of the dataset that is claimed, as the engine has found it.
//! - What a peer holds, makes and marks is known as that peer's and its service's, and nothing else
//!   does it take away. Who may not make snapshots makes and destroys none; of a replica nobody
//!   may, for nothing could be received after a snapshot of its own.
//! - What is kept for a peer that takes nothing has a budget of time and bytes. When that is used
//!   up, bookmarks take the place of snapshots, and where none can be made the snapshot stays.
//! - A peer has no more than [`MOST`] snapshots, [`MOST`] held ones and [`MOST`] bookmarks of a
//!   dataset, whatever its services are called.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use api_types::{ClaimFault, FailureClass, PeerRead, PropertyChange, SyncSide, SyncStep};
use engine_api::{Cancel, DatasetInfo, DatasetKind, Error, Pool, SendEvent};
use serde::{Deserialize, Serialize};
use services::autosnap::coverage::Named;
use services::autosync::plan::relieve;
use services::autosync::stamp::{self, REPLICA};
use services::autosync::view::Source;
use services::instance::is_id;
use services::names::{is_dataset, is_part};
use services::time::Time;
use stdx::names::is_at_or_below;

use super::super::super::facts::filter;
use super::super::origin::{Content, Given, Origin, Original, Patience, Reading};
use super::super::source::{Here, tag};
use super::super::{Fault, of_engine, pool_of};
use super::{Guest, refused};
use crate::NotServed;

/// Of each kind, what a peer may have of a dataset: a service has two at most for long.
const MOST: u32 = 16;
/// Datasets of a listing, and snapshots and bookmarks of a dataset.
const MOST_LISTED: usize = 100_000;

/// Which source a peer asks about.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadClaim {
    /// Of the peer's, that replicates.
    pub service: String,
    /// Here.
    pub dataset: String,
    pub guid: u64,
}

/// What a peer is told of a source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offered {
    pub source: Source,
    pub is_volume: bool,
    /// That a new replica gets.
    pub props: Vec<PropertyChange>,
}

impl From<Offered> for Given {
    fn from(offered: Offered) -> Given {
        let kind = if offered.is_volume { DatasetKind::Volume } else { DatasetKind::Filesystem };
        Given { kind, props: offered.props }
    }
}

impl ReadClaim {
    fn original(&self) -> Original {
        Original { guid: self.guid, name: self.dataset.clone() }
    }
}

/// Passes a stream on once it is known to be one of what is claimed.
struct Known<'a> {
    to: &'a mut (dyn Write + Send),
    is_claimed: &'a AtomicBool,
}

impl Write for Known<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.is_claimed.load(Relaxed) {
            true => self.to.write(bytes),
            false => Err(ErrorKind::PermissionDenied.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

fn too_many(claim: &ReadClaim) -> Fault {
    refused(ClaimFault::TooMany { dataset: claim.dataset.clone(), most: MOST })
}

/// Whether that is a snapshot of what is claimed.
fn is_of(snapshot: &str, claim: &ReadClaim) -> bool {
    snapshot.split_once('@').is_some_and(|(dataset, _)| dataset == claim.dataset)
}

fn not_of_relation(name: String) -> Fault {
    refused(ClaimFault::NotOfRelation { name })
}

/// The name of a snapshot or bookmark without its dataset.
fn part(name: &str) -> Result<&str, Fault> {
    match is_part(name) {
        true => Ok(name),
        false => Err(refused(ClaimFault::Name { name: name.to_owned() })),
    }
}

impl Guest<'_> {
    /// What the peer's service that pulls is called here, as no service of this machine is called,
    /// and none that sends to here.
    fn puller(&self, service: &str) -> String {
        format!("{}{service}", self.pullers())
    }

    /// Before the names of all services of the peer that pull.
    fn pullers(&self) -> String {
        format!("pull/{}/", self.name)
    }

    /// Before the names of bookmarks of a service, or of all. They have no properties, so that a
    /// name has to say whose they are.
    fn bookmarks(&self, service: Option<&str>) -> String {
        let service = service.map_or_else(String::new, |service| format!("{service}:"));
        format!("{}:{service}", self.name)
    }

    /// What says that a dataset may be read.
    pub fn read_of<'a>(reads: &'a [PeerRead], dataset: &str) -> Option<&'a PeerRead> {
        let has = |read: &&PeerRead| is_at_or_below(dataset, &read.dataset);
        // Of two that lie in one another, the lower one counts.
        reads.iter().filter(has).max_by_key(|read| read.dataset.len())
    }

    fn readable(&self, dataset: &str) -> Result<&PeerRead, Fault> {
        if !is_dataset(dataset) {
            return Err(refused(ClaimFault::Name { name: dataset.to_owned() }));
        }
        let read = Guest::read_of(self.reads, dataset);
        read.ok_or_else(|| refused(ClaimFault::NotReadable { dataset: dataset.to_owned() }))
    }

    fn checked(&self, claim: &ReadClaim) -> Result<&PeerRead, Fault> {
        if !is_id(&claim.service) {
            return Err(refused(ClaimFault::Service));
        }
        self.readable(&claim.dataset)
    }

    /// The datasets at and below a source, which may have another name by now: then it is looked
    /// for in all that may be read. None: it is not there.
    pub fn names(&self, root: &str, guid: Option<u64>) -> Result<Vec<Named>, Fault> {
        let may_read = self.readable(root).map(drop);
        let here = match may_read {
            Ok(()) => self.at_and_below(root)?,
            Err(_) => Vec::new(),
        };
        let is_it = |it: &Named| it.name == root && guid.is_none_or(|guid| guid == it.guid);
        if here.iter().any(is_it) {
            pool_of(self.engine, root)?.sync().map_err(of_engine)?;
            return Ok(here);
        }
        for read in self.reads.iter().filter(|_| guid.is_some()) {
            // What a pool that is not here has, is not found.
            let Ok(all) = self.at_and_below(&read.dataset) else { continue };
            if let Some(found) = all.iter().find(|it| Some(it.guid) == guid) {
                pool_of(self.engine, &found.name)?.sync().map_err(of_engine)?;
                let below = |it: &Named| is_at_or_below(&it.name, &found.name);
                return Ok(all.iter().filter(|it| below(it)).cloned().collect());
            }
        }
        may_read.map(|()| Vec::new())
    }

    fn at_and_below(&self, root: &str) -> Result<Vec<Named>, Fault> {
        let listed = match pool_of(self.engine, root)?.datasets(&filter(root, None, &[], &["type"])) {
            Err(Error::NotFound) => Vec::new(),
            listed => listed.map_err(of_engine)?,
        };
        if listed.len() > MOST_LISTED {
            let (dataset, most) = (root.to_owned(), MOST_LISTED as u64);
            return Err(refused(ClaimFault::TooLong { dataset, most }));
        }
        Ok(listed.into_iter().map(|info| Named { name: info.name, guid: info.guid }).collect())
    }

    /// What a plan is made from. `counts`: bytes, too; `anew`: what was just written counts.
    pub fn read(&self, claim: &ReadClaim, (counts, anew): (bool, bool), now: Time) -> Result<Offered, Fault> {
        let grant = self.checked(claim)?;
        let (of, id) = (claim.original(), self.puller(&claim.service));
        let here = Here::unwritten(self.engine, &id, now);
        let (mut source, _) = here.read(&of, Reading { counts, anew, now })?;
        if source.snapshots.len() + source.bookmarks.len() > MOST_LISTED {
            let (dataset, most) = (of.name, MOST_LISTED as u64);
            return Err(refused(ClaimFault::TooLong { dataset, most }));
        }
        let own = self.bookmarks(Some(&claim.service));
        source.bookmarks.iter_mut().for_each(|it| it.own = it.name.starts_with(&own));
        if source.makes && !grant.snapshots {
            source = here.made_by_others(&of, source, counts).map_err(of_engine)?;
        }
        if !source.makes && source.snapshots.is_empty() {
            let why = NotServed::Claim(ClaimFault::NothingMade { dataset: of.name });
            return Err((FailureClass::Retriable, why.into()));
        }
        let Given { kind, props } = here.given(&of)?;
        Ok(Offered { source, is_volume: kind == DatasetKind::Volume, props })
    }

    /// Whether the peer makes snapshots of a dataset.
    fn makes(&self, grant: &PeerRead, of: &Original) -> Result<bool, Fault> {
        if !grant.snapshots {
            return Ok(false);
        }
        let pool = pool_of(self.engine, &of.name)?;
        let heads = pool.datasets(&filter(&of.name, Some(0), &[], &[REPLICA])).map_err(of_engine)?;
        Ok(heads.first().is_some_and(|head| head.own(REPLICA).is_none()))
    }

    fn to_make(&self, claim: &ReadClaim, snapshot: &str) -> Result<(), Fault> {
        let grant = self.checked(claim)?;
        let of = claim.original();
        // What others name their snapshots is not in his way, nor he in theirs.
        let is_own = snapshot.strip_prefix(&format!("sync-{}-", claim.service)).is_some_and(is_part);
        if !is_own {
            return Err(refused(ClaimFault::Name { name: snapshot.to_owned() }));
        }
        if !self.makes(grant, &of)? {
            return Err(refused(ClaimFault::MakesNone { dataset: of.name }));
        }
        let pool = pool_of(self.engine, &of.name)?;
        let own = self.pullers();
        let stamped = |it: &DatasetInfo| it.own(stamp::SNAPSHOT).is_some_and(|it| it.starts_with(&own));
        let listed = self.listed(&*pool, &of, DatasetKind::Snapshot, &[stamp::SNAPSHOT])?;
        match listed.iter().filter(|it| stamped(it)).count() < MOST as usize {
            true => Ok(()),
            false => Err(too_many(claim)),
        }
    }

    fn listed(
        &self,
        pool: &dyn Pool,
        of: &Original,
        kind: DatasetKind,
        props: &[&str],
    ) -> Result<Vec<DatasetInfo>, Fault> {
        pool.datasets(&filter(&of.name, Some(1), &[kind], props)).map_err(of_engine)
    }

    /// Whether the peer's service has made a snapshot, of this guid.
    fn has_made(&self, claim: &ReadClaim, snapshot: &str, guid: u64) -> Result<bool, Fault> {
        let of = claim.original();
        let (pool, id) = (pool_of(self.engine, &of.name)?, self.puller(&claim.service));
        let name = format!("{}@{snapshot}", of.name);
        let listed = self.listed(&*pool, &of, DatasetKind::Snapshot, &[stamp::SNAPSHOT])?;
        let found = listed.iter().find(|it| it.name == name && it.guid == guid);
        Ok(found.and_then(|it| stamp::parse(it.own(stamp::SNAPSHOT)?, &id)).is_some())
    }

    fn to_hold(&self, claim: &ReadClaim) -> Result<(), Fault> {
        let of = claim.original();
        let pool = pool_of(self.engine, &of.name)?;
        let (own, mut held) = (tag(&self.pullers()), 0);
        for info in self.listed(&*pool, &of, DatasetKind::Snapshot, &["userrefs"])? {
            if info.number("userrefs") > 0 {
                let tags = pool.holds(&info.name).map_err(of_engine)?;
                held += tags.iter().filter(|(tag, _)| tag.starts_with(&own)).count();
            }
        }
        if held < MOST as usize { Ok(()) } else { Err(too_many(claim)) }
    }

    fn to_bookmark(&self, claim: &ReadClaim) -> Result<(), Fault> {
        let of = claim.original();
        let pool = pool_of(self.engine, &of.name)?;
        let own = format!("{}#{}", of.name, self.bookmarks(None));
        let listed = self.listed(&*pool, &of, DatasetKind::Bookmark, &["type"])?;
        let own = listed.iter().filter(|it| it.name.starts_with(&own)).count();
        if own < MOST as usize { Ok(()) } else { Err(too_many(claim)) }
    }

    /// Lets go what was kept for the peer's services beyond the budget of what it may read. Gives
    /// for how many datasets that was.
    ///
    /// # Errors
    /// The first one; all others are looked at nevertheless.
    pub fn relieve(&self, now: Time) -> Result<usize, Fault> {
        let (mut relieved, mut failed) = (0, None);
        for read in self.reads {
            match self.waiting(read) {
                Ok(waiting) => {
                    for (claim, since) in waiting {
                        match self.relieve_one(&claim, read, since, now) {
                            Ok(is_relieved) => relieved += usize::from(is_relieved),
                            Err(fault) => failed = failed.or(Some(fault)),
                        }
                    }
                }
                Err(fault) => failed = failed.or(Some(fault)),
            }
        }
        failed.map_or(Ok(relieved), Err)
    }

    /// What services of the peer have held or made in what this lets them read, and when the newest
    /// of it is from: since then they have taken nothing.
    fn waiting(&self, read: &PeerRead) -> Result<Vec<(ReadClaim, Time)>, Fault> {
        let guids: BTreeMap<String, u64> =
            self.at_and_below(&read.dataset)?.into_iter().map(|it| (it.name, it.guid)).collect();
        let pool = pool_of(self.engine, &read.dataset)?;
        let (own, held) = (self.pullers(), tag(&self.pullers()));
        let props = ["userrefs", stamp::SNAPSHOT];
        let listed = match pool.datasets(&filter(&read.dataset, None, &[DatasetKind::Snapshot], &props)) {
            Err(Error::NotFound) => Vec::new(),
            listed => listed.map_err(of_engine)?,
        };
        let mut newest: BTreeMap<(String, String), Time> = BTreeMap::new();
        for info in &listed {
            let Some((dataset, _)) = info.name.split_once('@') else { continue };
            let is_of_this = Guest::read_of(self.reads, dataset).is_some_and(|it| it.dataset == read.dataset);
            if !is_of_this {
                continue;
            }
            let mut seen = Vec::new();
            if info.number("userrefs") > 0 {
                for (tag, at) in pool.holds(&info.name).map_err(of_engine)? {
                    let service = tag.strip_prefix(&held).map(str::to_owned);
                    seen.extend(service.zip(i64::try_from(at).ok()));
                }
            }
            // A stamp is the id of who made it, and when.
            seen.extend(info.own(stamp::SNAPSHOT).and_then(|made| {
                let (service, _) = made.strip_prefix(&own)?.split_once(' ')?;
                Some((service.to_owned(), stamp::parse(made, &self.puller(service))?))
            }));
            for (service, at) in seen.into_iter().filter(|(service, _)| is_id(service)) {
                let known = newest.entry((dataset.to_owned(), service)).or_insert(at);
                *known = at.max(*known);
            }
        }
        let claim = |((dataset, service), at): ((String, String), Time)| {
            let guid = *guids.get(&dataset)?;
            Some((ReadClaim { service, dataset, guid }, at))
        };
        Ok(newest.into_iter().filter_map(claim).collect())
    }

    fn relieve_one(&self, claim: &ReadClaim, read: &PeerRead, since: Time, now: Time) -> Result<bool, Fault> {
        let counts = read.absence.bytes.is_some();
        let Offered { source, .. } = self.read(claim, (counts, false), now)?;
        let steps = relieve(read.absence, &source, Some(since), now);
        let lets_go = |step: &SyncStep| !matches!(step, SyncStep::Bookmark { .. });
        let is_relieved = steps.iter().any(lets_go);
        steps.iter().try_for_each(|step| self.change(claim, step, now))?;
        Ok(is_relieved)
    }

    /// Does a step that is about the source alone. `at`: for what is made.
    pub fn change(&self, claim: &ReadClaim, step: &SyncStep, at: Time) -> Result<(), Fault> {
        let grant = self.checked(claim)?;
        let (of, id) = (claim.original(), self.puller(&claim.service));
        let here = Here::unwritten(self.engine, &id, at);
        match step {
            SyncStep::Snapshot { snapshot } => {
                self.to_make(claim, snapshot)?;
                known_time(&id, at)?;
            }
            SyncStep::Hold { snapshot } => {
                part(snapshot)?;
                self.to_hold(claim)?;
            }
            SyncStep::Release { snapshot } => drop(part(snapshot)?),
            SyncStep::Bookmark { snapshot } => {
                let name = format!("{}{}", self.bookmarks(Some(&claim.service)), part(snapshot)?);
                self.to_bookmark(claim)?;
                return here.bookmark(&of, snapshot, &name);
            }
            SyncStep::Destroy { side: SyncSide::Source, name, guid } => {
                let full = || not_of_relation(format!("{}{name}", of.name));
                match (name.strip_prefix('@'), name.strip_prefix('#')) {
                    (Some(snapshot), _) => {
                        part(snapshot)?;
                        if !self.makes(grant, &of)? {
                            return Err(refused(ClaimFault::MakesNone { dataset: of.name }));
                        }
                        if !self.has_made(claim, snapshot, *guid)? {
                            return Err(full());
                        }
                    }
                    (_, Some(bookmark)) => {
                        let own = self.bookmarks(Some(&claim.service));
                        if !part(bookmark)?.starts_with(&own) {
                            return Err(full());
                        }
                    }
                    (None, None) => return Err(full()),
                }
            }
            SyncStep::Destroy { side: SyncSide::Replica, .. }
            | SyncStep::Send { .. }
            | SyncStep::Resume
            | SyncStep::Abort
            | SyncStep::Stamp { .. } => return Err(not_of_relation(of.name)),
        }
        here.change(&of, step, at)
    }

    /// Makes snapshots of these names, of as many datasets together as may be.
    pub fn make_together(&self, wanted: &[(ReadClaim, String)], at: Time) -> Result<(), Fault> {
        let Some((first, _)) = wanted.first() else { return Ok(()) };
        let id = self.puller(&first.service);
        known_time(&id, at)?;
        let mut datasets = BTreeSet::new();
        for (claim, snapshot) in wanted {
            if claim.service != first.service {
                return Err(refused(ClaimFault::Service));
            }
            if !datasets.insert(&claim.dataset) {
                return Err(too_many(claim));
            }
            self.to_make(claim, snapshot)?;
        }
        let wanted: Vec<_> = wanted.iter().map(|(claim, name)| (claim.original(), name.clone())).collect();
        Here::unwritten(self.engine, &id, at).make_together(&wanted, at);
        Ok(())
    }

    /// Whether what a token says is the rest of a snapshot of the dataset, from nothing or from
    /// what that has, and can be sent.
    pub fn has_rest(&self, claim: &ReadClaim, token: &str) -> Result<bool, Fault> {
        self.checked(claim)?;
        let of = claim.original();
        let Ok(contents) = self.engine.read_token(token) else { return Ok(false) };
        let (pool, id) = (pool_of(self.engine, &of.name)?, self.puller(&claim.service));
        let listed = self.listed(&*pool, &of, DatasetKind::Snapshot, &["type"])?;
        let marks = self.listed(&*pool, &of, DatasetKind::Bookmark, &["type"])?;
        let has = |infos: &[DatasetInfo], guid| infos.iter().any(|it| it.guid == guid);
        let from = contents.from_guid;
        let is_known = has(&listed, contents.guid) && contents.snapshot.contains('@');
        if !is_known || (from != 0 && !has(&listed, from) && !has(&marks, from)) {
            return Ok(false);
        }
        let rest = Here::unwritten(self.engine, &id, 0).rest_of(&of, token)?;
        Ok(rest.is_some_and(|name| is_of(&name, claim)))
    }

    /// Sends a snapshot of the dataset, or the rest of one. `tell` is told first what that is, and
    /// nothing else.
    pub fn send(
        &self,
        claim: &ReadClaim,
        content: &Content,
        to: &mut (dyn Write + Send),
        tell: &mut dyn FnMut(SendEvent),
    ) -> Result<(), Fault> {
        self.checked(claim)?;
        let (of, id) = (claim.original(), self.puller(&claim.service));
        let here = Here::unwritten(self.engine, &id, 0);
        if here.is_gone(&of) {
            return Err(of_engine(Error::NotFound));
        }
        match content {
            Content::Snapshot { snapshot, from } => {
                part(snapshot)?;
                if let Some(from) = from {
                    part(from.strip_prefix(['@', '#']).unwrap_or_default())?;
                }
            }
            Content::Rest { token } if self.has_rest(claim, token)? => {}
            Content::Rest { .. } => return Err(not_of_relation(of.name)),
        }
        let (is_claimed, is_other) = (AtomicBool::new(false), AtomicBool::new(false));
        let mut known = Known { to, is_claimed: &is_claimed };
        let mut tell = |event| {
            let SendEvent::Planned { snapshot, .. } = &event else { return };
            let is_it = is_of(snapshot, claim);
            is_claimed.store(is_it, Relaxed);
            is_other.fetch_or(!is_it, Relaxed);
            if is_it {
                tell(event);
            }
        };
        let patience = Patience { stuck: Duration::MAX, stop: &Cancel::default() };
        let sent = here.send(&of, content, &mut known, &mut tell, &patience);
        match is_other.load(Relaxed) {
            // What became of it is not told.
            true => Err(not_of_relation(of.name)),
            false => sent,
        }
    }
}

/// A time that a stamp can have.
fn known_time(id: &str, at: Time) -> Result<(), Fault> {
    match stamp::parse(&stamp::written(id, at), id) {
        Some(_) => Ok(()),
        None => Err(refused(ClaimFault::Name { name: at.to_string() })),
    }
}
