//! A source and its replica, as pools keep them: what a step does to them, and how it breaks.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{SyncKeep, SyncSide, SyncStep};
use services::autosync::plan::beyond;
use services::autosync::view::{Bookmark, Partial, Replica, Snapshot, Source, Target};
use services::time::Time;
use stdx::prng::Prng;

pub const SERVICE: &str = "sync-1";
/// The guid of the source.
pub const SOURCE: u64 = 77;

/// One side: snapshots with what they hold.
#[derive(Clone, Debug, Default)]
pub struct Side {
    pub snapshots: Vec<(Snapshot, u64)>,
    pub bookmarks: Vec<Bookmark>,
    /// guid → when each snapshot was made.
    pub made: BTreeMap<u64, Time>,
}

/// A replica's dataset.
#[derive(Clone, Debug, Default)]
pub struct There {
    pub relation: Option<String>,
    pub readonly: bool,
    pub side: Side,
    /// guids of what is received in part: the snapshot, and what it starts from.
    pub partial: Option<(u64, Option<u64>)>,
}

pub struct World {
    pub now: Time,
    pub txg: u64,
    pub source: Side,
    /// What is in the source now.
    pub content: u64,
    pub there: Option<There>,
    pub reachable: bool,
    pub full: bool,
    /// The service may make snapshots of the source, and destroy those.
    pub makes: bool,
    /// A snapshot is known as the service's as it becomes visible there.
    pub marks: bool,
    /// Which of the replica's snapshots stay is decided there.
    pub keeps: Option<SyncKeep>,
    /// guid → what each snapshot that the source ever had holds.
    pub ledger: BTreeMap<u64, u64>,
    /// What others made on either side, and has to stay.
    pub foreign: BTreeSet<u64>,
    /// The replica has said that it has what it has not, or not what it has.
    pub is_lied_to: bool,
}

/// Why a step was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    /// It may succeed later.
    Later,
    /// Not before somebody has looked.
    Person,
    /// The program was killed, before or after the step.
    Killed,
}

impl World {
    pub fn new(now: Time) -> World {
        World {
            now,
            txg: 10,
            source: Side::default(),
            content: 1,
            there: None,
            reachable: true,
            full: false,
            makes: true,
            marks: false,
            keeps: None,
            ledger: BTreeMap::new(),
            foreign: BTreeSet::new(),
            is_lied_to: false,
        }
    }

    pub fn tick(&mut self) -> u64 {
        self.txg += 1;
        self.txg
    }

    /// A snapshot of the source; `stamp`: the service makes it.
    pub fn snapshot(&mut self, name: &str, stamp: Option<Time>) {
        let guid = self.tick();
        let name = name.to_owned();
        let one = Snapshot { name, guid, createtxg: guid, stamp, held: false, needed: false };
        self.source.snapshots.push((one, self.content));
        self.source.made.insert(guid, self.now);
        self.ledger.insert(guid, self.content);
        if stamp.is_none() && self.makes {
            self.foreign.insert(guid);
        }
    }

    pub fn view_source(&self) -> Source {
        let last = self.source.snapshots.last();
        let snapshots = self.source.snapshots.iter().map(|(it, _)| self.seen(it));
        Source {
            guid: SOURCE,
            snapshots: snapshots.collect(),
            bookmarks: self.source.bookmarks.clone(),
            written: u64::from(last.is_none_or(|(_, held)| *held != self.content)),
            kept: self
                .source
                .snapshots
                .iter()
                .filter(|(it, held)| (it.stamp.is_some() || it.held) && *held != self.content)
                .map(|(_, held)| self.content - held)
                .sum(),
            makes: self.makes,
        }
    }

    /// A snapshot of the source, as the service is told of it.
    fn seen(&self, one: &Snapshot) -> Snapshot {
        match self.makes {
            true => one.clone(),
            false => {
                let stamp = self.source.made.get(&one.guid).copied();
                Snapshot { stamp, needed: true, ..one.clone() }
            }
        }
    }

    /// Others destroy the older half of what they made, but for what is held.
    pub fn thin_out(&mut self) {
        let half = self.source.snapshots.len() / 2;
        let old: BTreeSet<u64> = self.source.snapshots[..half].iter().map(|(it, _)| it.guid).collect();
        self.source.snapshots.retain(|(it, _)| it.held || it.stamp.is_some() || !old.contains(&it.guid));
    }

    pub fn view_target(&self) -> Target {
        match &self.there {
            _ if !self.reachable => Target::Unreachable,
            None => Target::Absent,
            Some(there) => Target::There(Replica {
                relation: there.relation.clone(),
                readonly: there.readonly,
                keeps: self.keeps.is_some(),
                snapshots: there.side.snapshots.iter().map(|(it, _)| it.clone()).collect(),
                partial: there.partial.map(|(guid, _)| match self.has(guid) {
                    true => Partial::Resumable,
                    false => Partial::Useless,
                }),
            }),
        }
    }

    pub fn has(&self, guid: u64) -> bool {
        self.source.snapshots.iter().any(|(it, _)| it.guid == guid)
    }

    /// The newest of the replica that the source has, as snapshot or bookmark.
    pub fn base(&self) -> Option<u64> {
        let there = self.there.as_ref()?;
        let both = there.side.snapshots.iter().map(|(it, _)| it.guid);
        both.filter(|guid| self.has(*guid) || self.source.bookmarks.iter().any(|it| it.guid == *guid)).max()
    }

    /// Snapshots of the service that are newer than the base: they are still to get there.
    pub fn unsent(&self) -> usize {
        let base = self.base().unwrap_or(0);
        self.source.snapshots.iter().filter(|(it, _)| it.stamp.is_some() && it.guid > base).count()
    }

    /// Does a step, as the pools do it.
    pub fn perform(&mut self, step: &SyncStep, random: &mut Prng) -> Result<(), Broken> {
        match step {
            SyncStep::Snapshot { snapshot } => {
                assert!(self.makes, "it may make none");
                if self.source.snapshots.iter().any(|(it, _)| it.name == *snapshot) {
                    return Err(Broken::Later);
                }
                self.snapshot(snapshot, Some(self.now));
            }
            SyncStep::Hold { snapshot } => self.of_source(snapshot)?.held = true,
            SyncStep::Release { snapshot } => self.of_source(snapshot)?.held = false,
            SyncStep::Bookmark { snapshot } => {
                let Snapshot { name, guid, createtxg, .. } = self.of_source(snapshot)?.clone();
                self.source.bookmarks.push(Bookmark { name, guid, createtxg, own: false });
            }
            SyncStep::Destroy { side: SyncSide::Source, name, guid } => self.destroy(name, *guid)?,
            _ if !self.reachable => return Err(Broken::Later),
            SyncStep::Destroy { side: SyncSide::Replica, name, guid } => {
                assert!(self.keeps.is_none(), "that is not the sender's to decide");
                let is_base = self.base() == Some(*guid) && !self.is_lied_to;
                assert!(!self.foreign.contains(guid) && !is_base, "it destroys {name}");
                let there = self.there.as_mut().ok_or(Broken::Later)?;
                let at = there.side.snapshots.iter().position(|(it, _)| it.guid == *guid);
                let (gone, _) = there.side.snapshots.remove(at.ok_or(Broken::Later)?);
                assert!(!gone.needed && format!("@{}", gone.name) == *name);
            }
            SyncStep::Stamp { snapshot, at } => {
                let there = self.there.as_mut().ok_or(Broken::Later)?;
                let found = there.side.snapshots.iter_mut().find(|(it, _)| it.name == *snapshot);
                found.ok_or(Broken::Later)?.0.stamp = Some(*at);
            }
            SyncStep::Abort => {
                let there = self.there.as_mut().ok_or(Broken::Later)?;
                there.partial = None;
                // A dataset that was new goes with what was received of it.
                if there.side.snapshots.is_empty() {
                    self.there = None;
                }
            }
            SyncStep::Send { snapshot, from } => {
                let guid = self.of_source(snapshot)?.guid;
                let from = from.as_ref().map(|from| self.source_guid(from).ok_or(Broken::Later));
                self.receive(guid, from.transpose()?, random)?;
            }
            SyncStep::Resume => {
                let there = self.there.as_ref().ok_or(Broken::Later)?;
                let (guid, from) = there.partial.ok_or(Broken::Later)?;
                self.receive(guid, from, random)?;
            }
        }
        Ok(())
    }

    fn of_source(&mut self, name: &str) -> Result<&mut Snapshot, Broken> {
        let found = self.source.snapshots.iter_mut().find(|(it, _)| it.name == name);
        found.map(|(it, _)| it).ok_or(Broken::Later)
    }

    fn source_guid(&self, name: &str) -> Option<u64> {
        let (mark, short) = name.split_at(1);
        match mark {
            "@" => self.source.snapshots.iter().find(|(it, _)| it.name == short).map(|(it, _)| it.guid),
            _ => self.source.bookmarks.iter().find(|it| it.name == short).map(|it| it.guid),
        }
    }

    fn destroy(&mut self, name: &str, guid: u64) -> Result<(), Broken> {
        if name.starts_with('#') {
            let at = self.source.bookmarks.iter().position(|it| it.guid == guid);
            self.source.bookmarks.remove(at.ok_or(Broken::Later)?);
            return Ok(());
        }
        assert!(self.makes && !self.foreign.contains(&guid), "it destroys {name}, which is another's");
        let at = self.source.snapshots.iter().position(|(it, _)| it.guid == guid);
        let (gone, _) = &self.source.snapshots[at.ok_or(Broken::Later)?];
        assert!(!gone.held && !gone.needed && format!("@{}", gone.name) == name, "{gone:?}");
        self.source.snapshots.remove(at.expect("it was found"));
        Ok(())
    }

    /// A stream arrives, or a part of it.
    fn receive(&mut self, guid: u64, from: Option<u64>, random: &mut Prng) -> Result<(), Broken> {
        let is_there = self.there.is_some();
        let sent = self.source.snapshots.iter().find(|(it, _)| it.guid == guid);
        let sent = sent.map(|(it, content)| (self.seen(it), *content));
        let fresh =
            There { relation: Some(format!("{SERVICE} {SOURCE}")), readonly: true, ..There::default() };
        let there = self.there.get_or_insert(fresh);
        let newest = there.side.snapshots.iter().map(|(it, _)| it.guid).max();
        let goes_on = there.partial == Some((guid, from));
        if !goes_on && (from != newest || (from.is_none() && is_there)) {
            return Err(Broken::Person);
        }
        if self.full || random.chance(1, 6) {
            there.partial = Some((guid, from));
            return Err(Broken::Later);
        }
        let (one, content) = sent.ok_or(Broken::Later)?;
        let stamp = one.stamp.filter(|_| self.marks);
        let one = Snapshot { stamp, held: false, needed: false, ..one };
        there.side.snapshots.push((one, content));
        there.partial = None;
        if let Some(keep) = &self.keeps {
            let all: Vec<Snapshot> = there.side.snapshots.iter().map(|(it, _)| it.clone()).collect();
            let old: Vec<u64> = beyond(keep, &all, Some(guid), self.now).map(|it| it.guid).collect();
            assert!(old.iter().all(|guid| !self.foreign.contains(guid)), "it destroys what is another's");
            there.side.snapshots.retain(|(it, _)| !old.contains(&it.guid));
        }
        Ok(())
    }
}
