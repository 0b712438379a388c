//! Fail-over, decided: whether a replica takes the place of its original, whether an original gives
//! its place to what was promoted, and in which steps.
//!
//! Invariants:
//! - A dataset is live in one place, as far as that can be known: a replica is not promoted while
//!   its original is in use, here or at a peer that answers, unless that was said. An original that
//!   is here is taken out before its replica is promoted.
//! - What may be written to is in use, whatever mark it has: a promotion that broke off counts from
//!   the moment on at which clients can write.
//! - The mark of a replica goes last, and an original has it before anything of it is given up. So
//!   what broke off is decided once more, of what is there then, and comes to the same end.
//! - What an original has, and what was promoted in its place has not, is given up only where that
//!   was said, and each loss is named before.
//!
//! The way of it: the caller reads the heads that are here; [`candidates`] says which of them are
//! promoted together, [`questions`] whom to ask before, [`promote`] what to do. [`beyond`] says
//! what an original has alone, [`give_way`] what to do with it. Steps are carried out in their
//! order, and none after one that failed; of one machine, one fail-over after the other.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{ReplicaLoss, SnapTarget};
use stdx::names::is_at_or_below;

use crate::autosync::stamp;

/// Newer snapshots that a loss names.
const NAMED: usize = 100;

/// A file system or volume that is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    pub name: String,
    pub guid: u64,
    /// Which service made it, and the guid of its source, if it is marked as a replica.
    pub relation: Option<(String, u64)>,
    pub readonly: bool,
    /// What replication has set on it itself, and goes once it is promoted.
    pub set: BTreeSet<Property>,
    /// Something was received in part.
    pub partial: bool,
    /// It keeps what clients know its original by.
    pub keeps_clients: bool,
    /// And they go on here.
    pub is_awake: bool,
}

/// A property that keeps clients from a replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    Canmount,
    Readonly,
}

impl Property {
    pub fn name(self) -> &'static str {
        match self {
            Property::Canmount => "canmount",
            Property::Readonly => "readonly",
        }
    }
}

/// A replica that is to be promoted.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    pub replica: &'a Head,
    pub service: &'a str,
    /// guid of its original, and that itself, if it is here.
    pub source: u64,
    pub original: Option<&'a Head>,
    /// The peer that has its original, and what the service is called there.
    pub there: Option<(&'a str, &'a str)>,
}

/// What a peer is asked before a replica is promoted: whether the source that its service sends
/// here is in use there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    pub peer: &'a str,
    pub service: &'a str,
    pub source: u64,
}

/// What is done to promote replicas.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Promotion {
    /// Services that replicate no more before anything else is done.
    pub pauses: BTreeSet<String>,
    pub steps: Vec<Step>,
}

/// What is done to a dataset. It has a name of its own here; its guid may be that of another, in a
/// pool that was split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub dataset: String,
    pub act: Act,
}

/// Each is whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// No service holds anything of it any more but by the mark of a replica.
    Release,
    /// It refuses writes, and waits as the replica of what takes its place.
    TakeOut { relation: String },
    /// What it has beyond this snapshot is given up.
    GoBack { snapshot: String },
    /// What was received in part is given up.
    Abort,
    /// Clients of its original go on here.
    Wake,
    /// It is as what is above it says.
    Inherit { property: Property },
    /// It is no replica any more.
    Unmark,
}

/// A snapshot of a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Without its dataset.
    pub name: String,
    pub guid: u64,
    /// When it was made.
    pub at: i64,
}

/// What a dataset has that another one has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// The newest snapshot that both have.
    pub common: Option<Snapshot>,
    /// Names of what is newer, oldest first.
    pub newer: Vec<String>,
    /// Bytes that were written since the common one; `None`: it is not known.
    pub written: Option<u64>,
}

/// An original, and what was promoted in its place.
#[derive(Clone, Debug)]
pub struct Turn<'a> {
    pub original: &'a Head,
    /// Name and guid.
    pub promoted: (String, u64),
    /// What the original has alone.
    pub beyond: Beyond,
}

/// Why a replica did not take the place of its original, or the other way round.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReplicated {
    /// Neither it nor anything below it is a replica.
    NoReplica { dataset: String },
    /// Nothing of its source has arrived.
    NothingThere { dataset: String },
    /// Its original is here, and in use.
    OriginalLive { dataset: String, original: String },
    /// Its original is on a peer, and in use there.
    OriginalElsewhere { dataset: String, peer: String },
    /// What a service replicates to is a replica still.
    NotPromoted { dataset: String },
    /// What was promoted has no snapshot that its original has as well.
    NoCommonSnapshot { dataset: String },
    /// Originals have what was promoted has not, and nobody said that it may go.
    WouldLose { losses: Vec<ReplicaLoss> },
    /// Another one is under way here, and what that has decided of would change meanwhile.
    UnderWay,
    /// A service that is to be turned round replicates neither to a pool of this machine nor to a
    /// peer's.
    NotOfPools { service: String },
    /// A service that is to be turned round pulls, and nobody says there what is to become of the
    /// source.
    Pulls { service: String, source: String },
}

impl Head {
    /// Whether clients can change it.
    pub fn is_in_use(&self) -> bool {
        !self.readonly
    }

    pub fn is_replica(&self) -> bool {
        self.relation.is_some()
    }

    fn step(&self, act: Act) -> Step {
        Step { dataset: self.name.clone(), act }
    }
}

impl<'a> Candidate<'a> {
    /// The original, where it is here and lives. One that is marked as a replica may be promoted by
    /// half.
    fn live(self) -> Option<&'a Head> {
        self.original.filter(|original| !original.is_replica() || original.is_in_use())
    }

    /// The original, where it is here and was not taken out yet, or has taken its clients back.
    fn to_take_out(self) -> Option<&'a Head> {
        self.original.filter(|original| self.live().is_some() || original.is_awake)
    }
}

/// The replicas at and below a dataset, in the order of the heads.
pub fn candidates<'a>(heads: &'a [Head], dataset: &str) -> Vec<Candidate<'a>> {
    let mut by_guid: BTreeMap<u64, &Head> = BTreeMap::new();
    for head in heads {
        by_guid.entry(head.guid).or_insert(head);
    }
    let within = heads.iter().filter(|head| is_at_or_below(&head.name, dataset));
    let candidate = |replica: &'a Head| {
        let (service, source) = replica.relation.as_ref()?;
        let original = by_guid.get(source).copied();
        // A service of this machine has no peer before its name.
        Some(Candidate { replica, service, source: *source, original, there: service.split_once('/') })
    };
    within.filter_map(candidate).collect()
}

/// Replicas of services of this machine may have their originals on peers, too: service → peer.
pub fn pulled<'a>(candidates: Vec<Candidate<'a>>, peers: &'a BTreeMap<String, String>) -> Vec<Candidate<'a>> {
    let of = |it: &Candidate<'a>| peers.get(it.service).map(|peer| (peer.as_str(), it.service));
    candidates.into_iter().map(|it| Candidate { there: it.there.or_else(|| of(&it)), ..it }).collect()
}

/// Whom to ask before replicas are promoted, where nothing that is known here speaks against it.
/// `empty`: guids of those that have no snapshot. `force`: an original that is in use is no reason.
pub fn questions<'a>(
    candidates: &[Candidate<'a>],
    empty: &BTreeSet<u64>,
    force: bool,
) -> Result<Vec<Question<'a>>, NotReplicated> {
    if let Some(it) = candidates.iter().find(|it| empty.contains(&it.replica.guid)) {
        return Err(NotReplicated::NothingThere { dataset: it.replica.name.clone() });
    }
    if force {
        return Ok(Vec::new());
    }
    let live = candidates.iter().find_map(|it| Some((it, it.live()?)));
    if let Some((it, original)) = live {
        let (dataset, original) = (it.replica.name.clone(), original.name.clone());
        return Err(NotReplicated::OriginalLive { dataset, original });
    }
    let question = |it: &Candidate<'a>| {
        let (peer, service) = it.there?;
        Some(Question { peer, service, source: it.source })
    };
    Ok(candidates.iter().filter_map(question).collect())
}

/// How replicas are promoted. `in_use`: guids of originals that are in use, as peers have answered.
/// One that did not answer is what a fail-over is for.
pub fn promote(candidates: &[Candidate<'_>], in_use: &BTreeSet<u64>) -> Result<Promotion, NotReplicated> {
    if let Some(it) = candidates.iter().find(|it| in_use.contains(&it.source)) {
        let peer = it.there.map_or(it.service, |(peer, _)| peer).to_owned();
        return Err(NotReplicated::OriginalElsewhere { dataset: it.replica.name.clone(), peer });
    }
    let mut steps = Vec::new();
    for it in candidates {
        let relation = stamp::relation(it.service, it.replica.guid);
        steps.extend(it.to_take_out().map(|original| original.step(Act::TakeOut { relation })));
    }
    steps.extend(candidates.iter().flat_map(|it| promote_one(it.replica)));
    Ok(Promotion { pauses: candidates.iter().map(|it| it.service.to_owned()).collect(), steps })
}

fn promote_one(replica: &Head) -> impl Iterator<Item = Step> {
    let abort = replica.partial.then_some(Act::Abort);
    let wake = replica.keeps_clients.then_some(Act::Wake);
    let inherit = replica.set.iter().map(|property| Act::Inherit { property: *property });
    let acts = abort.into_iter().chain(wake).chain(inherit).chain([Act::Unmark]);
    acts.map(|act| replica.step(act))
}

/// What a peer is told that asks whether the original of a replica is in use here. `is_related`: a
/// service sends it to that peer, the peer may read it, or it was itself a replica of that peer's.
/// Of anything else
/// nothing is told.
pub fn is_original(head: &Head, is_related: bool) -> bool {
    is_related && head.is_in_use()
}

/// What a dataset with these snapshots, oldest first, has that another one has not, which has these
/// guids. How many bytes that is, is to be counted.
pub fn beyond(snapshots: &[Snapshot], has: &BTreeSet<u64>) -> Beyond {
    let at = snapshots.iter().rposition(|it| has.contains(&it.guid));
    let newer = snapshots.iter().skip(at.map_or(0, |at| at + 1)).map(|it| it.name.clone());
    Beyond { common: at.map(|at| snapshots[at].clone()), newer: newer.collect(), written: None }
}

impl Beyond {
    /// Whether anything goes if this is given up. What is not known may be something.
    fn is_loss(&self) -> bool {
        !self.newer.is_empty() || self.written != Some(0)
    }
}

/// What goes of a source if a dataset takes its place.
pub fn loss(dataset: &str, source: &str, beyond: Beyond) -> ReplicaLoss {
    let Beyond { common, mut newer, written } = beyond;
    newer.drain(..newer.len().saturating_sub(NAMED));
    let (snapshot, at) = common.map(|it| (it.name, it.at)).unzip();
    let (dataset, source) = (dataset.to_owned(), Some(source.to_owned()));
    ReplicaLoss { dataset, source, snapshot, at, written, newer }
}

/// The sources of a service.
pub fn covered<'a>(heads: &'a [Head], source: &SnapTarget) -> impl Iterator<Item = &'a Head> {
    let SnapTarget { dataset: root, recursive, exclude, .. } = source;
    heads.iter().filter(move |head| match recursive {
        true => is_at_or_below(&head.name, root) && !exclude.iter().any(|it| is_at_or_below(&head.name, it)),
        false => head.name == *root,
    })
}

/// The sources of a service, and what was promoted in their place on this machine. `replica`: what
/// the replica of a source is called. None where the first has none: nothing could be turned round.
pub fn pairs<'a>(
    heads: &'a [Head],
    source: &SnapTarget,
    replica: impl Fn(&str) -> String,
) -> Result<Vec<(&'a Head, &'a Head)>, NotReplicated> {
    let mut pairs = Vec::new();
    for original in covered(heads, source) {
        let target = replica(&original.name);
        let Some(promoted) = heads.iter().find(|head| head.name == target) else { continue };
        if promoted.is_replica() {
            return Err(NotReplicated::NotPromoted { dataset: target });
        }
        pairs.push((original, promoted));
    }
    let is_whole = pairs.first().is_some_and(|(original, _)| original.name == source.dataset);
    Ok(if is_whole { pairs } else { Vec::new() })
}

/// How originals wait as replicas of what was promoted, by a service that is called so here.
/// `discard`: what they alone have may go.
pub fn give_way(turns: Vec<Turn<'_>>, service: &str, discard: bool) -> Result<Vec<Step>, NotReplicated> {
    let (mut steps, mut losses) = (Vec::new(), Vec::new());
    for Turn { original, promoted: (name, guid), beyond } in turns {
        let Some(common) = &beyond.common else {
            return Err(NotReplicated::NoCommonSnapshot { dataset: name });
        };
        // From when on it is marked no service takes snapshots of it.
        let mut acts = vec![Act::Release, Act::TakeOut { relation: stamp::relation(service, guid) }];
        if beyond.is_loss() {
            acts.push(Act::GoBack { snapshot: common.name.clone() });
            losses.push(loss(&name, &original.name, beyond));
        }
        steps.extend(acts.into_iter().map(|act| original.step(act)));
    }
    match losses.is_empty() || discard {
        true => Ok(steps),
        false => Err(NotReplicated::WouldLose { losses }),
    }
}

#[cfg(test)]
mod tests;
