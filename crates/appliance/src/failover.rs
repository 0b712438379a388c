//! Fail-over: a replica takes the place of its original, and the original that of the replica.
//!
//! Invariants:
//! - A dataset is live in one place: an original that is here is taken out before its replica is
//!   promoted. Taken out, it is read-only, and marked as the replica of what was promoted.
//! - The mark of a replica goes last. What broke off is done again by asking once more.
//! - What an original has, and what was promoted has not, is given up only where that was said.
//!
//! All of it is done as by a service: whoever asks was let in by the route, and is in the audit
//! log.

use std::collections::BTreeSet;
use std::sync::Arc;

use api_types::{
    AutoSyncPolicy, CloneCreate, Inherit, PropertiesSet, Replica, ReplicaLive, ReplicaLoss, ReplicaPromote,
    ReplicaTest, Rollback, Service, ServiceReverse, ServiceSpec, SnapTarget, SyncTarget,
};
use engine_api::{
    Adopted, Change, Committed, DatasetInfo, DatasetKind, Error, IDENTITY, Pool, PropertyChange, REPLICA,
};
use services::autosync::stamp;
use stdx::behalf::{Actor, Way, on_behalf_of};
use stdx::names::is_at_or_below;
use stdx::patience::hurried;
use stdx::premise::{Premise, relying_on};

use crate::executor::{Services, filter, hold_tag, replica_of};
use crate::{Appliance, Failure, NotReplicated, Result, Warning};

/// Newer snapshots that a loss names.
const NAMED: usize = 100;

/// How often it is tried to go back to a snapshot.
const ROLLBACKS: u32 = 3;

/// A file system or volume that is here.
struct Head {
    pool: Arc<dyn Pool>,
    info: DatasetInfo,
}

/// What two datasets have in common, and one of them alone.
struct Compared {
    /// The newest snapshot that both have, as the other one calls it, and when it was made.
    common: Option<(String, i64)>,
    /// What is newer in the other one.
    newer: Vec<String>,
    written: Option<u64>,
}

/// What became of replicas that were promoted.
#[derive(Debug)]
pub struct Promoted {
    pub promoted: Vec<ReplicaLive>,
    /// Originals that were taken out.
    pub taken_out: Vec<String>,
    /// A service that was disabled.
    pub disabled: Option<String>,
}

impl Head {
    fn name(&self) -> &str {
        &self.info.name
    }

    fn is_file_system(&self) -> bool {
        self.info.kind == DatasetKind::Filesystem
    }

    /// Which service made it, and the guid of its source, if it is a replica.
    fn relation(&self) -> Option<(&str, u64)> {
        stamp::parse_relation(self.info.own(REPLICA)?)
    }

    fn keeps_clients(&self) -> bool {
        self.info.own(IDENTITY).and_then(Adopted::parse).is_some()
    }

    /// Its snapshots, oldest first.
    fn snapshots(&self) -> Result<Vec<DatasetInfo>> {
        let props = ["creation", "userrefs"];
        let asked = filter(self.name(), Some(1), &[DatasetKind::Snapshot], &props);
        let mut found = self.pool.datasets(&asked)?;
        found.sort_by_key(|snapshot| snapshot.createtxg);
        Ok(found)
    }

    /// Makes a change while it is the dataset that was read.
    fn commit(&self, change: &Change, history: &str) -> Result<Committed> {
        let things = vec![(self.info.name.clone(), self.info.guid)];
        Ok(relying_on(Some(Premise::Same { things }), || self.pool.commit(change, history))?)
    }

    /// Written out, with what it has and who has these snapshots has not.
    fn beyond(&self, theirs: &BTreeSet<u64>) -> Result<Compared> {
        self.pool.sync()?;
        let own = self.snapshots()?;
        let both = own.iter().rev().find(|it| theirs.contains(&it.guid));
        let newer = own.iter().filter(|it| both.is_none_or(|both| it.createtxg > both.createtxg));
        let newer = newer.map(|it| short(&it.name).to_owned()).collect();
        let written = both.map(|both| self.written_since(short(&both.name))).transpose()?;
        Ok(Compared { common: both.map(|both| (short(&both.name).to_owned(), made(both))), newer, written })
    }

    /// Bytes that were written since a snapshot.
    fn written_since(&self, snapshot: &str) -> Result<u64> {
        let property = format!("written@{snapshot}");
        let asked = filter(self.name(), Some(0), &[], &[&property]);
        let head = self.pool.datasets(&asked)?.into_iter().next().ok_or(Error::NotFound)?;
        Ok(head.number(&property))
    }

    /// Written out, with what `other` has that it has not.
    fn compare(&self, other: &Head) -> Result<Compared> {
        let own = self.snapshots()?;
        other.pool.sync()?;
        let theirs = other.snapshots()?;
        let both = own.iter().rev().find_map(|here| theirs.iter().find(|there| there.guid == here.guid));
        let newer = theirs.iter().filter(|it| both.is_none_or(|both| it.createtxg > both.createtxg));
        let newer = newer.map(|it| short(&it.name).to_owned()).collect();
        let written = both.map(|both| other.written_since(short(&both.name))).transpose()?;
        let common = both.map(|both| (short(&both.name).to_owned(), made(both)));
        Ok(Compared { common, newer, written })
    }
}

fn short(snapshot: &str) -> &str {
    snapshot.split_once('@').map_or("", |(_, short)| short)
}

fn made(snapshot: &DatasetInfo) -> i64 {
    i64::try_from(snapshot.number("creation")).unwrap_or(i64::MAX)
}

fn set(name: &str, value: impl Into<String>) -> PropertyChange {
    PropertyChange { name: name.to_owned(), value: value.into() }
}

fn loss(dataset: &str, source: &str, compared: Compared) -> ReplicaLoss {
    let Compared { common, mut newer, written } = compared;
    newer.drain(..newer.len().saturating_sub(NAMED));
    let (snapshot, at) = common.unzip();
    let (dataset, source) = (dataset.to_owned(), Some(source.to_owned()));
    ReplicaLoss { dataset, source, snapshot, at, written, newer }
}

fn as_service<T>(work: impl FnOnce() -> T) -> T {
    let actor = Arc::new(Actor { way: Way::Service, ..Actor::itself() });
    on_behalf_of(actor, || hurried(work))
}

impl Appliance {
    /// All replicas that are here, in name order of each pool.
    pub fn replicas(&self) -> Result<Vec<Replica>> {
        let heads = self.heads()?;
        let replicas = heads.iter().filter_map(|head| Some((head, head.relation()?)));
        let replica = |(head, (service, source_guid)): (&Head, (&str, u64))| {
            let newest = head.snapshots()?.pop();
            Ok(Replica {
                dataset: head.info.name.clone(),
                service: service.to_owned(),
                source_guid,
                source: by_guid(&heads, source_guid).map(|source| source.info.name.clone()),
                at: newest.as_ref().map(made),
                snapshot: newest.map(|newest| short(&newest.name).to_owned()),
                keeps_clients: head.keeps_clients(),
            })
        };
        replicas.map(replica).collect()
    }

    /// What would be lost if a replica, and those below it, were promoted now.
    pub fn losses(&self, dataset: &str) -> Result<Vec<ReplicaLoss>> {
        let heads = self.heads()?;
        let loss_of = |(replica, _, source): (&Head, &str, Option<&Head>)| match source {
            Some(source) => Ok(loss(replica.name(), source.name(), replica.compare(source)?)),
            None => {
                let newest = replica.snapshots()?.pop();
                Ok(ReplicaLoss {
                    dataset: replica.info.name.clone(),
                    source: None,
                    at: newest.as_ref().map(made),
                    snapshot: newest.map(|newest| short(&newest.name).to_owned()),
                    written: None,
                    newer: Vec::new(),
                })
            }
        };
        self.at_or_below(&heads, dataset)?.into_iter().map(loss_of).collect()
    }

    /// Has a replica, and those below it, take the place of their originals.
    pub fn promote(
        &self,
        services: Option<&Services>,
        asked: &ReplicaPromote,
    ) -> Result<(Promoted, Vec<Warning>)> {
        as_service(|| {
            let heads = self.heads()?;
            let replicas = self.at_or_below(&heads, &asked.dataset)?;
            for (replica, ..) in &replicas {
                if replica.snapshots()?.is_empty() {
                    return Err(NotReplicated::NothingThere { dataset: replica.info.name.clone() }.into());
                }
            }
            let in_use = |head: &&Head| head.relation().is_none();
            let live =
                replicas.iter().find_map(|(replica, _, source)| Some((replica, source.filter(in_use)?)));
            if let Some((replica, original)) = live.filter(|_| !asked.force) {
                let (dataset, original) = (replica.info.name.clone(), original.info.name.clone());
                return Err(NotReplicated::OriginalLive { dataset, original }.into());
            }
            for (replica, service, _) in replicas.iter().filter(|_| !asked.force) {
                let (Some((peer, service)), Some((_, guid))) = (service.split_once('/'), replica.relation())
                else {
                    continue;
                };
                // One that does not answer is what a fail-over is for.
                if services.and_then(|services| services.original(peer, service, guid)) == Some(true) {
                    let (dataset, peer) = (replica.info.name.clone(), peer.to_owned());
                    return Err(NotReplicated::OriginalElsewhere { dataset, peer }.into());
                }
            }
            let mut disabled = None;
            let ids: BTreeSet<&str> = replicas.iter().map(|(_, service, _)| *service).collect();
            for id in ids {
                if services.map_or(Ok(false), |services| services.pause(id))? {
                    disabled = Some(id.to_owned());
                }
            }
            let history = format!("cistern replica promote {}", asked.dataset);
            let (mut taken_out, mut warnings) = (Vec::new(), Vec::new());
            for (replica, service, source) in &replicas {
                let Some(original) = source.filter(in_use) else { continue };
                warnings.extend(self.take_out(
                    original,
                    stamp::relation(service, replica.info.guid),
                    &history,
                )?);
                taken_out.push(original.info.name.clone());
            }
            let mut promoted = Vec::new();
            for (replica, ..) in replicas {
                warnings.extend(self.promote_one(replica, &history)?);
                let (dataset, keeps_clients) = (replica.info.name.clone(), replica.keeps_clients());
                promoted.push(ReplicaLive { dataset, keeps_clients });
            }
            Ok((Promoted { promoted, taken_out, disabled }, warnings))
        })
    }

    /// Whether a dataset that a service sends to this peer is here, and may be written to.
    pub fn is_original(&self, services: &Services, peer: &str, id: &str, guid: u64) -> Result<bool> {
        if !services.sends_to(id, peer) {
            return Ok(false);
        }
        let heads = self.heads()?;
        let is_in_use = |head: &Head| head.relation().is_none() && head.info.value("readonly") != Some("on");
        Ok(by_guid(&heads, guid).is_some_and(is_in_use))
    }

    /// Clones the newest snapshots of a replica and those below it. Gives the clones.
    pub fn test_replica(&self, asked: &ReplicaTest) -> Result<(Vec<String>, Vec<Warning>)> {
        let heads = self.heads()?;
        let (mut clones, mut warnings) = (Vec::new(), Vec::new());
        let mut newest = Vec::new();
        for (replica, ..) in self.at_or_below(&heads, &asked.dataset)? {
            let dataset = replica.info.name.clone();
            let below = dataset.strip_prefix(&asked.dataset).unwrap_or_default().to_owned();
            let snapshot = replica.snapshots()?.pop();
            let snapshot = snapshot.ok_or(NotReplicated::NothingThere { dataset })?;
            newest.push((snapshot.name, format!("{}{below}", asked.name)));
        }
        for (snapshot, name) in newest {
            let history = format!("cistern replica test {} {}", asked.dataset, asked.name);
            let clone = CloneCreate { snapshot, name: name.clone(), history, ..CloneCreate::default() };
            let (_, told) = self.clone_snapshot(clone)?;
            warnings.extend(told);
            clones.push(name);
        }
        Ok((clones, warnings))
    }

    /// Turns a service round: what was promoted is its source, and the source the replica.
    pub fn reverse(
        &self,
        services: &Services,
        id: &str,
        asked: ServiceReverse,
    ) -> Result<(Service, Vec<Warning>)> {
        let not_of_pools = || NotReplicated::NotOfPools { service: id.to_owned() };
        let ServiceSpec::AutoSync(policy) = services.spec(id)? else { return Err(not_of_pools().into()) };
        if !policy.origin.is_here() {
            let (service, source) = (id.to_owned(), policy.source.dataset);
            return Err(NotReplicated::Pulls { service, source }.into());
        }
        match &policy.target {
            SyncTarget::Pool { .. } => {}
            SyncTarget::Peer { peer, .. } => {
                return as_service(|| self.hand_over(services, (id, peer), &policy, asked));
            }
            SyncTarget::Ssh(_) => return Err(not_of_pools().into()),
        }
        as_service(|| {
            let heads = self.heads()?;
            let pairs = pairs(&heads, &policy)?;
            let Some((_, root)) = pairs.first() else {
                return Err(Failure::NoSuchDataset { dataset: policy.source.dataset });
            };
            let SnapTarget { dataset: former, recursive, exclude, .. } = &policy.source;
            let source = SnapTarget {
                dataset: root.info.name.clone(),
                guid: Some(root.info.guid),
                recursive: *recursive,
                exclude: exclude.iter().map(|it| replica_of(&policy.target, former, it)).collect(),
            };
            let target = SyncTarget::Pool { dataset: policy.source.dataset.clone() };
            let turned = ServiceSpec::AutoSync(AutoSyncPolicy { source, target, ..policy });
            services.check(id, &turned)?;
            let mut bases = Vec::new();
            let mut losses = Vec::new();
            for (original, promoted) in &pairs {
                let compared = promoted.compare(original)?;
                let Some((base, _)) = compared.common.clone() else {
                    let dataset = promoted.info.name.clone();
                    return Err(NotReplicated::NoCommonSnapshot { dataset }.into());
                };
                let loses = !compared.newer.is_empty() || compared.written != Some(0);
                bases.push((base, loses));
                if loses {
                    losses.push(loss(promoted.name(), original.name(), compared));
                }
            }
            if !losses.is_empty() && !asked.discard {
                return Err(NotReplicated::WouldLose { losses }.into());
            }
            services.pause(id)?;
            let history = format!("cistern svc reverse {id}");
            let mut warnings = Vec::new();
            for ((original, promoted), (base, loses)) in pairs.iter().zip(bases) {
                let relation = stamp::relation(id, promoted.info.guid);
                let beyond = loses.then_some(base.as_str());
                warnings.extend(self.give_way(original, (id, relation), beyond, &history)?);
            }
            Ok((services.turn_round(id, turned)?, warnings))
        })
    }

    /// Has the sources of a service wait as the replicas of what was promoted on a peer. There, a
    /// service of the same name is to replicate to here; this one rests until it is enabled again.
    fn hand_over(
        &self,
        services: &Services,
        (id, peer): (&str, &str),
        policy: &AutoSyncPolicy,
        asked: ServiceReverse,
    ) -> Result<(Service, Vec<Warning>)> {
        let heads = self.heads()?;
        let root = &policy.source.dataset;
        let covered: Vec<&Head> = covered(&heads, policy).collect();
        let replica = |head: &Head| replica_of(&policy.target, root, head.name());
        let sources = covered.iter().map(|head| (replica(head), head.info.guid)).collect();
        let there = services.peer(peer, id, sources);
        let (mut promoted, mut losses) = (Vec::new(), Vec::new());
        for original in covered {
            let dataset = replica(original);
            let live = there.promoted(&dataset).map_err(|(_, why)| why)?;
            let live = live.ok_or_else(|| NotReplicated::NotPromoted { dataset: dataset.clone() })?;
            let compared = original.beyond(&live.snapshots)?;
            let Some((base, _)) = compared.common.clone() else {
                return Err(NotReplicated::NoCommonSnapshot { dataset }.into());
            };
            let loses = !compared.newer.is_empty() || compared.written != Some(0);
            if loses {
                losses.push(loss(&dataset, original.name(), compared));
            }
            promoted.push((original, live.guid, base, loses));
        }
        if promoted.is_empty() {
            return Err(Failure::NoSuchDataset { dataset: root.clone() });
        }
        if !losses.is_empty() && !asked.discard {
            return Err(NotReplicated::WouldLose { losses }.into());
        }
        services.pause(id)?;
        let history = format!("cistern svc reverse {id}");
        let mut warnings = Vec::new();
        for (original, guid, base, loses) in promoted {
            let relation = stamp::relation(&format!("{peer}/{id}"), guid);
            let beyond = loses.then_some(base.as_str());
            warnings.extend(self.give_way(original, (id, relation), beyond, &history)?);
        }
        Ok((services.one(id)?, warnings))
    }

    /// Has an original wait as a replica, of whom its `relation` says, and be none of service `id`.
    /// What it has beyond a snapshot is given up, where one is named.
    fn give_way(
        &self,
        original: &Head,
        (id, relation): (&str, String),
        beyond: Option<&str>,
        history: &str,
    ) -> Result<Vec<Warning>> {
        release(original, id, history)?;
        // From now on no service takes snapshots of it.
        let mut warnings = self.take_out(original, relation, history)?;
        if let Some(base) = beyond {
            warnings.extend(self.go_back(original, base, history)?);
        }
        Ok(warnings)
    }

    /// Gives up what a dataset has beyond a snapshot.
    fn go_back(&self, original: &Head, base: &str, history: &str) -> Result<Vec<Warning>> {
        let snapshot = format!("{}@{base}", original.name());
        let back = Rollback { recursive: true, clones: false, history: history.to_owned() };
        // Somebody may have been about to take one more snapshot.
        let mut done = self.rollback(&snapshot, &back);
        for _ in 1..ROLLBACKS {
            if done.is_ok() {
                break;
            }
            done = self.rollback(&snapshot, &back);
        }
        Ok(done?.1)
    }

    /// Every file system and volume of the pools that answer. What a suspended one has is not
    /// known.
    fn heads(&self) -> Result<Vec<Head>> {
        let props = [REPLICA, IDENTITY, "readonly", "canmount", "receive_resume_token"];
        let mut heads = Vec::new();
        for pool in self.engine.pools() {
            match hurried(|| pool.datasets(&filter(&pool.name(), None, &[], &props))) {
                Ok(found) => {
                    heads.extend(found.into_iter().map(|info| Head { pool: pool.clone(), info }));
                }
                Err(Error::Suspended | Error::NotFound) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(heads)
    }

    /// The replicas at and below a dataset, with their services, and sources that are here: parents
    /// first.
    fn at_or_below<'a>(
        &self,
        heads: &'a [Head],
        dataset: &str,
    ) -> Result<Vec<(&'a Head, &'a str, Option<&'a Head>)>> {
        let within = heads.iter().filter(|head| is_at_or_below(head.name(), dataset));
        let replicas: Vec<_> = within
            .filter_map(|head| {
                let (service, source) = head.relation()?;
                Some((head, service, by_guid(heads, source)))
            })
            .collect();
        if !replicas.is_empty() {
            return Ok(replicas);
        }
        self.pool_of(dataset)?;
        let dataset = dataset.to_owned();
        Err(match heads.iter().any(|head| head.info.name == dataset) {
            true => NotReplicated::NoReplica { dataset }.into(),
            false => Failure::NoSuchDataset { dataset },
        })
    }

    /// Has an original refuse writes and wait as the replica of what takes its place.
    fn take_out(&self, original: &Head, relation: String, history: &str) -> Result<Vec<Warning>> {
        let identity = original.pool.identity(original.name())?;
        let mut props = vec![
            set("readonly", "on"),
            set(IDENTITY, Adopted { identity, is_live: false }.written()),
            set(REPLICA, relation),
        ];
        if original.is_file_system() && original.info.value("canmount") == Some("on") {
            props.push(set("canmount", "noauto"));
        }
        let asked = PropertiesSet { props, no_mount: false, history: history.to_owned() };
        let things = vec![(original.info.name.clone(), original.info.guid)];
        let set = || self.set_properties(original.name(), asked);
        Ok(relying_on(Some(Premise::Same { things }), set)?.1)
    }

    fn promote_one(&self, replica: &Head, history: &str) -> Result<Vec<Warning>> {
        let name = || replica.info.name.clone();
        if replica.info.value("receive_resume_token").is_some_and(|token| !matches!(token, "" | "-")) {
            replica.commit(&Change::AbortReceive { name: name() }, history)?;
        }
        if replica.keeps_clients() {
            let identity = replica.pool.identity(replica.name())?;
            let props = vec![set(IDENTITY, Adopted { identity, is_live: true }.written())];
            replica.commit(&Change::SetProperties { name: name(), props }, history)?;
        }
        let mut warnings = Vec::new();
        for (property, value) in [("canmount", "noauto"), ("readonly", "on")] {
            if replica.info.own(property) == Some(value) {
                let (property, history) = (property.to_owned(), history.to_owned());
                let (_, told) =
                    self.inherit_property(replica.name(), Inherit { property, received: false, history })?;
                warnings.extend(told);
            }
        }
        let property = REPLICA.to_owned();
        replica.commit(&Change::Inherit { name: name(), property, received: false }, history)?;
        Ok(warnings)
    }
}

fn by_guid(heads: &[Head], guid: u64) -> Option<&Head> {
    heads.iter().find(|head| head.info.guid == guid)
}

/// The sources of a service.
fn covered<'a>(heads: &'a [Head], policy: &AutoSyncPolicy) -> impl Iterator<Item = &'a Head> {
    let SnapTarget { dataset: root, recursive, exclude, .. } = &policy.source;
    heads.iter().filter(move |head| match recursive {
        true => {
            is_at_or_below(head.name(), root) && !exclude.iter().any(|it| is_at_or_below(head.name(), it))
        }
        false => head.name() == root,
    })
}

/// The sources of a service, and what was promoted in their place.
fn pairs<'a>(heads: &'a [Head], policy: &AutoSyncPolicy) -> Result<Vec<(&'a Head, &'a Head)>> {
    let root = &policy.source.dataset;
    let mut pairs = Vec::new();
    for original in covered(heads, policy) {
        let target = replica_of(&policy.target, root, original.name());
        let Some(promoted) = heads.iter().find(|head| head.info.name == target) else { continue };
        if promoted.relation().is_some() {
            return Err(NotReplicated::NotPromoted { dataset: target }.into());
        }
        pairs.push((original, promoted));
    }
    // Without the roots there is nothing that could be turned round.
    Ok(pairs
        .first()
        .filter(|(original, _)| original.name() == root)
        .map(|_| pairs.clone())
        .unwrap_or_default())
}

/// Has a service hold nothing of its former source: what goes there, the policy of the replica
/// says.
fn release(original: &Head, id: &str, history: &str) -> Result<()> {
    for snapshot in original.snapshots()?.into_iter().filter(|it| it.number("userrefs") > 0) {
        if original.pool.holds(&snapshot.name)?.iter().any(|(tag, _)| *tag == hold_tag(id)) {
            let snapshots = vec![snapshot.name];
            original.commit(&Change::Release { snapshots, tag: hold_tag(id), recursive: false }, history)?;
        }
    }
    Ok(())
}
