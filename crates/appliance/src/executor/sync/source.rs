//! Sources in pools of this machine.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::sync::Arc;

use api_types::SyncStep;
use engine_api::refusal::{Reason, SendFault};
use engine_api::{
    Adopted, Change, DatasetInfo, DatasetKind, DestroyQuery, Engine, Error, Identity, Pool, PropertyChange,
    Result, SendEvent, SendRequest,
};
use services::autosync::stamp;
use services::autosync::view::{Bookmark, Snapshot, Source};
use services::time::Time;
use stdx::premise::{Premise, relying_on};

use super::super::carry::{history, no_replicas};
use super::super::facts::filter;
use super::origin::{Content, Given, Origin, Original, Patience, Reading};
use super::{Fault, GIVEN, of_engine, pool_of};

/// Snapshots that are made together.
const TOGETHER: usize = 1_000;

/// See the module. `as_of`: when the pools were written out.
pub struct Here<'a> {
    engine: &'a dyn Engine,
    id: &'a str,
    as_of: Time,
}

/// A dataset, with its pool.
struct At<'a> {
    pool: Arc<dyn Pool>,
    of: &'a Original,
}

/// The tag that a service's holds have.
pub fn tag(id: &str) -> String {
    format!("org.cistern:{id}")
}

/// A snapshot, as a plan has it. `held`: by this service, of so many tags.
pub fn snapshot(info: &DatasetInfo, id: &str, held: bool) -> Snapshot {
    let tags = info.number("userrefs") - u64::from(held);
    Snapshot {
        name: short(&info.name).to_owned(),
        guid: info.guid,
        createtxg: info.createtxg,
        stamp: info.own(stamp::SNAPSHOT).and_then(|value| stamp::parse(value, id)),
        held,
        needed: tags > 0 || info.number("numclones") > 0,
    }
}

/// The name of a snapshot or bookmark without its dataset.
fn short(name: &str) -> &str {
    name.split_once(['@', '#']).map_or("", |(_, short)| short)
}

impl<'a> Here<'a> {
    /// Of this service. `names`: of the datasets that are of interest.
    pub fn new<'b>(
        engine: &'a dyn Engine,
        id: &'a str,
        names: impl Iterator<Item = &'b str>,
        now: Time,
    ) -> Here<'a> {
        let pools: BTreeSet<&str> = names.filter_map(|name| name.split('/').next()).collect();
        // A pool counts what was written to a dataset once it is on its disks.
        for pool in pools {
            // What is not there or does not answer is told of each dataset.
            if let Err((_, why)) = pool_of(engine, pool).and_then(|pool| pool.sync().map_err(of_engine)) {
                tracing::debug!(pool, ?why, "not written out");
            }
        }
        Here { engine, id, as_of: now }
    }

    /// As it is on the disks.
    pub fn unwritten(engine: &'a dyn Engine, id: &'a str, now: Time) -> Here<'a> {
        Here { engine, id, as_of: now }
    }

    fn find<'b>(&self, of: &'b Original) -> std::result::Result<At<'b>, Fault> {
        Ok(At { pool: pool_of(self.engine, &of.name)?, of })
    }

    fn commit(&self, found: &At<'_>, things: Vec<(String, u64)>, change: &Change) -> Result<()> {
        let commit = || found.pool.commit(change, &history(self.id));
        let premise = match change {
            Change::Snapshot { .. } => no_replicas(things),
            _ => Premise::Same { things },
        };
        relying_on(Some(premise), commit).map(drop)
    }

    /// A step as a change, and what has to be the same for it.
    fn change_of(&self, of: &Original, step: &SyncStep, now: Time) -> (Change, (String, u64)) {
        let snap = |name: &str| format!("{}@{name}", of.name);
        let mut thing = (of.name.clone(), of.guid);
        let change = match step {
            SyncStep::Snapshot { snapshot } => snapshots(self.id, vec![snap(snapshot)], now),
            SyncStep::Hold { snapshot } => {
                Change::Hold { snapshots: vec![snap(snapshot)], tag: tag(self.id), recursive: false }
            }
            SyncStep::Release { snapshot } => {
                Change::Release { snapshots: vec![snap(snapshot)], tag: tag(self.id), recursive: false }
            }
            SyncStep::Bookmark { snapshot } => {
                Change::Bookmark { source: snap(snapshot), name: format!("{}#{snapshot}", of.name) }
            }
            SyncStep::Destroy { name, guid, .. } => {
                let is_snapshot = name.starts_with('@');
                let name = format!("{}{name}", of.name);
                // A bookmark is known by its dataset and name.
                if is_snapshot {
                    thing = (name.clone(), *guid);
                }
                Change::Destroy { names: vec![name], defer: false }
            }
            SyncStep::Send { .. } | SyncStep::Resume | SyncStep::Abort | SyncStep::Stamp { .. } => {
                unreachable!("it is about the replica")
            }
        };
        (change, thing)
    }
}

impl Here<'_> {
    /// A source of which this service makes no snapshots, as of a replica: what others made is what
    /// there is.
    /// `counts`: bytes, too.
    pub fn made_by_others(&self, of: &Original, mut source: Source, counts: bool) -> Result<Source> {
        let found = At { pool: self.engine.pool(of.pool())?, of };
        let listed =
            found.pool.datasets(&filter(&of.name, Some(1), &[DatasetKind::Snapshot], &["creation"]))?;
        let made: BTreeMap<u64, u64> = listed.iter().map(|it| (it.guid, it.number("creation"))).collect();
        for snapshot in &mut source.snapshots {
            let at = made.get(&snapshot.guid).and_then(|at| i64::try_from(*at).ok());
            (snapshot.stamp, snapshot.needed) = (at, true);
        }
        source.kept = if counts { found.kept(source.snapshots.iter().filter(|it| it.held))? } else { 0 };
        source.makes = false;
        Ok(source)
    }

    /// The snapshot that a token is followed to, if it can be.
    pub fn rest_of(&self, of: &Original, token: &str) -> std::result::Result<Option<String>, Fault> {
        let content = Content::Rest { token: token.to_owned() };
        let request = SendRequest { dry_run: true, ..request(of, &content) };
        let mut found = None;
        let mut tell = |event| {
            if let SendEvent::Planned { snapshot, .. } = event {
                found = Some(snapshot);
            }
        };
        match self.find(of)?.pool.send(&request, &mut std::io::sink(), &mut tell) {
            Ok(()) => Ok(found),
            Err(Error::Refused(refused)) if is_of_token(&refused.reason) => Ok(None),
            Err(error) => Err(of_engine(error)),
        }
    }

    /// Has a bookmark of this name take the place of a snapshot.
    pub fn bookmark(&self, of: &Original, snapshot: &str, name: &str) -> std::result::Result<(), Fault> {
        let (source, name) = (format!("{}@{snapshot}", of.name), format!("{}#{name}", of.name));
        let things = vec![(of.name.clone(), of.guid)];
        self.commit(&self.find(of)?, things, &Change::Bookmark { source, name }).map_err(of_engine)
    }
}

impl At<'_> {
    /// It, with these properties.
    ///
    /// # Errors
    /// [`Error::NotFound`]: another dataset has its name, or none.
    fn head(&self, props: &[&str]) -> Result<DatasetInfo> {
        let heads = self.pool.datasets(&filter(&self.of.name, Some(0), &[], props))?;
        heads.into_iter().find(|head| head.guid == self.of.guid).ok_or(Error::NotFound)
    }

    fn read(&self, id: &str, counts: bool) -> Result<Source> {
        let (name, guid) = (&self.of.name, self.of.guid);
        let head = self.head(&["written", stamp::REPLICA])?;
        let makes = head.own(stamp::REPLICA).is_none();
        let of_snapshot = ["userrefs", "numclones", stamp::SNAPSHOT];
        let listed = self.pool.datasets(&filter(name, Some(1), &[DatasetKind::Snapshot], &of_snapshot))?;
        let mut snapshots = Vec::new();
        for info in &listed {
            let is_held = info.number("userrefs") > 0
                && self.pool.holds(&info.name)?.iter().any(|(name, _)| *name == tag(id));
            snapshots.push(snapshot(info, id, is_held));
        }
        let listed = self.pool.datasets(&filter(name, Some(1), &[DatasetKind::Bookmark], &["type"]))?;
        let bookmark = |info: &DatasetInfo| Bookmark {
            name: short(&info.name).to_owned(),
            guid: info.guid,
            createtxg: info.createtxg,
            own: false,
        };
        let bookmarks = listed.iter().map(bookmark).collect();
        let own = snapshots.iter().filter(|it| it.stamp.is_some() && !it.needed);
        let kept = if counts { self.kept(own)? } else { 0 };
        Ok(Source { guid, snapshots, bookmarks, written: head.number("written"), kept, makes })
    }

    /// Bytes that would come free if these snapshots went.
    fn kept<'b>(&self, snapshots: impl Iterator<Item = &'b Snapshot>) -> Result<u64> {
        let own: Vec<&str> = snapshots.map(|it| it.name.as_str()).collect();
        if own.is_empty() {
            return Ok(0);
        }
        let name = format!("{}@{}", self.of.name, own.join(","));
        // Deferred: it is only counted, and its own holds are no hindrance.
        let query = DestroyQuery { name, recursive: false, clones: false, defer: true };
        Ok(self.pool.plan_destroy(&query)?.bytes)
    }

    fn identity(&self, known: Option<(u64, u64)>) -> Result<Option<Identity>> {
        let head = self.head(&[stamp::IDENTITY])?;
        let adopted = head.own(stamp::IDENTITY).and_then(Adopted::parse);
        let guids = adopted.map_or((self.pool.guid(), self.of.guid), |it| it.identity.guids());
        if known == Some(guids) {
            return Ok(None);
        }
        self.pool.identity(&self.of.name).map(Some)
    }
}

impl Origin for Here<'_> {
    fn read(&self, of: &Original, reading: Reading) -> std::result::Result<(Source, Time), Fault> {
        let found = self.find(of)?;
        if reading.anew {
            found.pool.sync().map_err(of_engine)?;
        }
        let mut source = found.read(self.id, reading.counts).map_err(of_engine)?;
        if !source.makes {
            source = self.made_by_others(of, source, reading.counts).map_err(of_engine)?;
        }
        Ok((source, if reading.anew { reading.now } else { self.as_of }))
    }

    fn is_gone(&self, of: &Original) -> bool {
        match self.find(of) {
            // A pool that does not say it has not said that it is gone.
            Ok(found) => found.head(&["type"]).is_err_and(|error| error == Error::NotFound),
            Err(_) => true,
        }
    }

    fn change(&self, of: &Original, step: &SyncStep, now: Time) -> std::result::Result<(), Fault> {
        let (change, thing) = self.change_of(of, step, now);
        self.commit(&self.find(of)?, vec![thing], &change).map_err(of_engine)
    }

    fn make_together(&self, wanted: &[(Original, String)], now: Time) {
        type Together<'a> = (At<'a>, Vec<&'a (Original, String)>);
        let mut pools: BTreeMap<u64, Together<'_>> = BTreeMap::new();
        for one in wanted {
            // What is not here is told of each dataset.
            let Ok(found) = self.find(&one.0) else { continue };
            let (_, of_pool) = pools.entry(found.pool.guid()).or_insert((found, Vec::new()));
            of_pool.push(one);
        }
        for (found, wanted) in pools.into_values() {
            for some in wanted.chunks(TOGETHER) {
                let things = some.iter().map(|(of, _)| (of.name.clone(), of.guid)).collect();
                let names = some.iter().map(|(of, short)| format!("{}@{short}", of.name)).collect();
                if let Err(error) = self.commit(&found, things, &snapshots(self.id, names, now)) {
                    tracing::warn!(id = self.id, %error, "snapshots were not made together");
                }
            }
        }
    }

    fn given(&self, of: &Original) -> std::result::Result<Given, Fault> {
        let head = self.find(of)?.head(&GIVEN).map_err(of_engine)?;
        let prop = |name: &&str| {
            let value = head.own(name)?.to_owned();
            Some(PropertyChange { name: (*name).to_owned(), value })
        };
        Ok(Given { kind: head.kind, props: GIVEN.iter().filter_map(prop).collect() })
    }

    fn identity(
        &self,
        of: &Original,
        known: Option<(u64, u64)>,
    ) -> std::result::Result<Option<Identity>, Fault> {
        self.find(of)?.identity(known).map_err(of_engine)
    }

    fn has_rest(&self, of: &Original, token: &str) -> std::result::Result<bool, Fault> {
        self.rest_of(of, token).map(|rest| rest.is_some())
    }

    fn send(
        &self,
        of: &Original,
        content: &Content,
        to: &mut (dyn Write + Send),
        tell: &mut dyn FnMut(SendEvent),
        _: &Patience<'_>,
    ) -> std::result::Result<(), Fault> {
        self.find(of)?.pool.send(&request(of, content), to, tell).map_err(of_engine)
    }
}

fn request(of: &Original, content: &Content) -> SendRequest {
    let asked = SendRequest { large_blocks: true, embed: true, compress: true, ..SendRequest::default() };
    match content {
        Content::Snapshot { snapshot, from } => {
            let from = from.as_ref().map(|from| format!("{}{from}", of.name));
            SendRequest { snapshot: format!("{}@{snapshot}", of.name), from, ..asked }
        }
        Content::Rest { token } => SendRequest { token: Some(token.clone()), ..asked },
    }
}

/// Whether a token cannot be followed here, now or later.
fn is_of_token(reason: &Reason) -> bool {
    matches!(
        reason,
        Reason::Send(SendFault::TokenOf { .. } | SendFault::NoTokenSource { .. } | SendFault::Token { .. })
    )
}

/// Snapshots that this service makes then.
pub fn snapshots(id: &str, names: Vec<String>, now: Time) -> Change {
    let value = stamp::written(id, now);
    let props = vec![PropertyChange { name: stamp::SNAPSHOT.to_owned(), value }];
    Change::Snapshot { names, recursive: false, props }
}
