//! Two places that keep each other's datasets, as pools have them: what a step does there.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{SyncSide, SyncStep};
use services::autosync::stamp::{parse_relation, relation};
use services::autosync::view::{Bookmark, Partial, Replica, Snapshot, Source, Target};
use services::failover::{self, Act, Head, Property};
use services::time::Time;

pub const SERVICE: &str = "away";
/// What one appliance is called on the other.
const NAMES: [&str; 2] = ["north", "south"];
const ROOTS: [&str; 2] = ["tank/home", "dozer/home"];
const BELOW: [&str; 2] = ["", "/disk"];

/// Writes that a dataset holds.
pub type Content = BTreeSet<u64>;

#[derive(Clone, Debug)]
pub struct Snap {
    pub name: String,
    pub guid: u64,
    /// Service, as it is called there → when it made the snapshot.
    pub stamps: BTreeMap<String, Time>,
    pub held: bool,
    pub content: Content,
}

#[derive(Clone, Debug)]
pub struct Dataset {
    pub guid: u64,
    pub relation: Option<String>,
    pub readonly: bool,
    pub keeps_clients: bool,
    pub awake: bool,
    pub snaps: Vec<Snap>,
    pub bookmarks: Vec<Bookmark>,
    pub live: Content,
    /// guids of what is received in part, and of what it starts from.
    pub partial: Option<(u64, Option<u64>)>,
}

/// A service that replicates to the other place.
#[derive(Clone, Copy, Debug, Default)]
pub struct Service {
    pub enabled: bool,
    /// Something of a dataset was on its replica.
    pub sent: [bool; 2],
}

#[derive(Clone, Debug, Default)]
pub struct Site {
    pub datasets: [Option<Dataset>; 2],
    pub service: Option<Service>,
}

/// Why a step was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Broken {
    Later,
    Person,
    Killed,
}

pub struct World {
    /// Both places are pools of one machine.
    pub is_local: bool,
    pub sites: [Site; 2],
    pub link: bool,
    pub now: Time,
    pub number: u64,
    /// All that was ever written.
    pub written: Content,
    /// What somebody said that it may go.
    pub given_up: Content,
    /// What each snapshot held when it was made.
    pub ledger: BTreeMap<u64, Content>,
}

pub fn name(site: usize, n: usize) -> String {
    format!("{}{}", ROOTS[site], BELOW[n])
}

impl Snap {
    fn seen(&self, service: &str) -> Snapshot {
        Snapshot {
            name: self.name.clone(),
            guid: self.guid,
            createtxg: self.guid,
            stamp: self.stamps.get(service).copied(),
            held: self.held,
            needed: false,
        }
    }
}

impl Dataset {
    pub fn has(&self, guid: u64) -> bool {
        self.snaps.iter().any(|it| it.guid == guid)
    }

    fn newest(&self) -> Option<u64> {
        self.snaps.last().map(|it| it.guid)
    }

    fn is_modified(&self) -> bool {
        self.snaps.last().is_none_or(|it| it.content != self.live)
    }

    /// In the order in which they were made: the pools of the two number them alike here.
    pub fn snapshots(&self) -> Vec<failover::Snapshot> {
        let seen = |it: &Snap| failover::Snapshot { name: it.name.clone(), guid: it.guid, at: 0 };
        self.snaps.iter().map(seen).collect()
    }
}

impl World {
    pub fn new(is_local: bool, now: Time) -> World {
        World {
            is_local,
            sites: Default::default(),
            link: true,
            now,
            number: 10,
            written: Content::new(),
            given_up: Content::new(),
            ledger: BTreeMap::new(),
        }
    }

    pub fn tick(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// What the service of a place is called at the other one.
    pub fn known_as(&self, site: usize) -> String {
        match self.is_local {
            true => SERVICE.to_owned(),
            false => format!("{}/{SERVICE}", NAMES[site]),
        }
    }

    pub fn dataset(&self, site: usize, n: usize) -> Option<&Dataset> {
        self.sites[site].datasets[n].as_ref()
    }

    /// Which dataset has this name.
    pub fn find(&self, name_of: &str) -> (usize, usize) {
        let all = [(0, 0), (0, 1), (1, 0), (1, 1)];
        all.into_iter().find(|(site, n)| name(*site, *n) == name_of).expect("nobody else has names")
    }

    fn named(&mut self, name: &str) -> &mut Dataset {
        let (site, n) = self.find(name);
        self.sites[site].datasets[n].as_mut().expect("it is there")
    }

    /// What is here, at a place.
    pub fn heads(&self, site: usize) -> Vec<Head> {
        let sites = if self.is_local { vec![0, 1] } else { vec![site] };
        let all = sites.into_iter().flat_map(|site| [(site, 0), (site, 1)]);
        all.filter_map(|(site, n)| {
            let it = self.dataset(site, n)?;
            let relation = it.relation.as_deref().and_then(parse_relation);
            Some(Head {
                name: name(site, n),
                guid: it.guid,
                relation: relation.map(|(service, source)| (service.to_owned(), source)),
                readonly: it.readonly,
                set: it.readonly.then_some(Property::Readonly).into_iter().collect(),
                partial: it.partial.is_some(),
                keeps_clients: it.keeps_clients,
                is_awake: it.awake,
            })
        })
        .collect()
    }

    /// A place tells the other one whether a dataset is in use.
    pub fn answer(&self, site: usize, guid: u64) -> bool {
        let known = self.known_as(1 - site);
        let has = |it: &&Dataset| it.guid == guid;
        let Some(dataset) = self.sites[site].datasets.iter().flatten().find(has) else { return false };
        let was_replica = dataset.snaps.iter().any(|it| it.stamps.contains_key(&known));
        let heads = self.heads(site);
        let head = heads.iter().find(|head| head.guid == guid).expect("it is there");
        failover::is_original(head, self.sites[site].service.is_some() || was_replica)
    }

    /// What was promoted at a place: guids of it, and of what the other one has sent.
    pub fn promoted(&self, site: usize, n: usize) -> Option<(u64, BTreeSet<u64>)> {
        let known = self.known_as(1 - site);
        let dataset = self.dataset(site, n).filter(|it| it.relation.is_none())?;
        let sent = dataset.snaps.iter().filter(|it| it.stamps.contains_key(&known));
        let sent: BTreeSet<u64> = sent.map(|it| it.guid).collect();
        (!sent.is_empty()).then_some((dataset.guid, sent))
    }

    /// Does what fail-over decided.
    pub fn act(&mut self, dataset: &str, act: &Act, is_said: bool) {
        let it = self.named(dataset);
        match act {
            Act::Release => it.snaps.iter_mut().for_each(|it| it.held = false),
            Act::TakeOut { relation } => {
                it.relation = Some(relation.clone());
                (it.readonly, it.keeps_clients, it.awake) = (true, true, false);
            }
            Act::GoBack { snapshot } => {
                let at = it.snaps.iter().position(|it| it.name == *snapshot).expect("it was found");
                let newer: Content = it.snaps.drain(at + 1..).flat_map(|it| it.content).collect();
                let before = std::mem::replace(&mut it.live, it.snaps[at].content.clone());
                let kept = it.live.clone();
                if is_said {
                    self.given_up.extend(before.into_iter().chain(newer).filter(|it| !kept.contains(it)));
                }
            }
            Act::Abort => it.partial = None,
            Act::Wake => it.awake = true,
            Act::Inherit { property: Property::Readonly } => it.readonly = false,
            Act::Inherit { property: Property::Canmount } => {}
            Act::Unmark => it.relation = None,
        }
    }

    pub fn snapshot(&mut self, (site, n): (usize, usize), name: &str, service: Option<&str>) {
        let (guid, now) = (self.tick(), self.now);
        let dataset = self.sites[site].datasets[n].as_mut().expect("it is there");
        let stamps = service.map(|service| (service.to_owned(), now)).into_iter().collect();
        let (name, content) = (name.to_owned(), dataset.live.clone());
        self.ledger.insert(guid, content.clone());
        dataset.snaps.push(Snap { name, guid, stamps, held: false, content });
    }

    pub fn view_source(&self, site: usize, n: usize) -> Source {
        let it = self.dataset(site, n).expect("it is there");
        Source {
            guid: it.guid,
            snapshots: it.snaps.iter().map(|it| it.seen(SERVICE)).collect(),
            bookmarks: it.bookmarks.clone(),
            written: u64::from(it.is_modified()),
            kept: 0,
            makes: true,
        }
    }

    /// What the service of the other place sees of its replica.
    pub fn view_target(&self, site: usize, n: usize) -> Target {
        if !self.link {
            return Target::Unreachable;
        }
        let Some(it) = self.dataset(site, n) else { return Target::Absent };
        let from = 1 - site;
        let source = self.dataset(from, n).expect("it is looked at");
        let own = relation(&self.known_as(from), source.guid);
        let known = self.known_as(from);
        Target::There(Replica {
            relation: match it.relation == Some(own) {
                true => Some(relation(SERVICE, source.guid)),
                false => it.relation.clone().map(|_| "of another".to_owned()),
            },
            readonly: it.readonly,
            keeps: false,
            snapshots: it.snaps.iter().map(|it| it.seen(&known)).collect(),
            partial: it.partial.map(|(guid, _)| match source.has(guid) {
                true => Partial::Resumable,
                false => Partial::Useless,
            }),
        })
    }

    /// Does a step of replication from a place to the other one. `breaks`: of a stream only a part
    /// gets there.
    pub fn perform(
        &mut self,
        (site, n): (usize, usize),
        step: &SyncStep,
        breaks: bool,
    ) -> Result<(), Broken> {
        let (to, known) = (1 - site, self.known_as(site));
        match step {
            SyncStep::Snapshot { snapshot } => {
                let source = self.dataset(site, n).ok_or(Broken::Later)?;
                if source.snaps.iter().any(|it| it.name == *snapshot) {
                    return Err(Broken::Later);
                }
                self.snapshot((site, n), snapshot, Some(SERVICE));
            }
            SyncStep::Hold { snapshot } => self.of_source((site, n), snapshot)?.held = true,
            SyncStep::Release { snapshot } => self.of_source((site, n), snapshot)?.held = false,
            SyncStep::Bookmark { snapshot } => {
                let Snap { name, guid, .. } = self.of_source((site, n), snapshot)?.clone();
                let dataset = self.sites[site].datasets[n].as_mut().ok_or(Broken::Later)?;
                dataset.bookmarks.push(Bookmark { name, guid, createtxg: guid, own: false });
            }
            SyncStep::Destroy { side, name, guid } => {
                let place = match side {
                    SyncSide::Source => site,
                    SyncSide::Replica if !self.link => return Err(Broken::Later),
                    SyncSide::Replica => to,
                };
                let dataset = self.sites[place].datasets[n].as_mut().ok_or(Broken::Later)?;
                match name.starts_with('#') {
                    true => dataset.bookmarks.retain(|it| it.guid != *guid),
                    false => {
                        let at = dataset.snaps.iter().position(|it| it.guid == *guid).ok_or(Broken::Later)?;
                        assert!(!dataset.snaps[at].stamps.is_empty(), "it destroys what is another's");
                        dataset.snaps.remove(at);
                    }
                }
            }
            _ if !self.link => return Err(Broken::Later),
            SyncStep::Stamp { snapshot, at } => {
                let it = self.of_source((to, n), snapshot)?;
                it.stamps.insert(known, *at);
            }
            SyncStep::Abort => {
                let it = self.sites[to].datasets[n].as_mut().ok_or(Broken::Later)?;
                it.partial = None;
                // A dataset that was new goes with what was received of it.
                if it.snaps.is_empty() {
                    self.sites[to].datasets[n] = None;
                }
            }
            SyncStep::Send { snapshot, from } => {
                let guid = self.of_source((site, n), snapshot)?.guid;
                let source = self.dataset(site, n).ok_or(Broken::Later)?;
                let base = |from: &String| {
                    let (mark, short) = from.split_at(1);
                    let snap = source.snaps.iter().find(|it| mark == "@" && it.name == short);
                    let bookmark = source.bookmarks.iter().find(|it| mark == "#" && it.name == short);
                    snap.map(|it| it.guid).or(bookmark.map(|it| it.guid)).ok_or(Broken::Later)
                };
                let from = from.as_ref().map(base).transpose()?;
                self.receive((site, n), (guid, from), breaks)?;
            }
            SyncStep::Resume => {
                let there = self.dataset(to, n).and_then(|it| it.partial).ok_or(Broken::Later)?;
                self.receive((site, n), there, breaks)?;
            }
        }
        Ok(())
    }

    fn of_source(&mut self, (site, n): (usize, usize), name: &str) -> Result<&mut Snap, Broken> {
        let dataset = self.sites[site].datasets[n].as_mut().ok_or(Broken::Later)?;
        dataset.snaps.iter_mut().find(|it| it.name == name).ok_or(Broken::Later)
    }

    fn receive(
        &mut self,
        (site, n): (usize, usize),
        (guid, from): (u64, Option<u64>),
        breaks: bool,
    ) -> Result<(), Broken> {
        let (to, known) = (1 - site, self.known_as(site));
        let source = self.dataset(site, n).ok_or(Broken::Later)?;
        let sent = source.snaps.iter().find(|it| it.guid == guid).ok_or(Broken::Later)?.clone();
        let own = relation(&known, source.guid);
        if self.dataset(to, n).is_none() {
            let (relation, guid) = (Some(own.clone()), self.tick());
            self.sites[to].datasets[n] = Some(Dataset {
                guid,
                relation,
                readonly: true,
                keeps_clients: true,
                awake: false,
                snaps: Vec::new(),
                bookmarks: Vec::new(),
                live: Content::new(),
                partial: Some((sent.guid, None)),
            });
        }
        let there = self.sites[to].datasets[n].as_mut().expect("it was just made");
        // What the receiver sees to, whatever it was asked.
        if there.relation != Some(own) {
            return Err(Broken::Person);
        }
        let goes_on = there.partial == Some((guid, from));
        let is_as_sent = from == there.newest() && (from.is_none() || !there.is_modified());
        if !goes_on && !is_as_sent {
            return Err(Broken::Person);
        }
        there.partial = Some((guid, from));
        if breaks {
            return Err(Broken::Later);
        }
        if there.newest() != from || (from.is_some() && there.is_modified()) {
            return Err(Broken::Person);
        }
        let mut stamps = BTreeMap::new();
        if let Some(at) = sent.stamps.get(SERVICE) {
            stamps.insert(known, *at);
        }
        let live = sent.content.clone();
        there.snaps.push(Snap { stamps, held: false, ..sent });
        (there.live, there.partial) = (live, None);
        Ok(())
    }
}
