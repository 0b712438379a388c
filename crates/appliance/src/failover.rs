//! Fail-over: a replica takes the place of its original, and the original that of the replica.
//!
//! Invariants:
//! - One is decided and carried out after the other.
//! - A dataset is live in one place: an original that is here is taken out before its replica is
//!   promoted. Taken out, it is read-only, and marked as the replica of what was promoted.
//! - The mark of a replica goes last. What broke off is done again by asking once more.
//! - What an original has, and what was promoted has not, is given up only where that was said.
//!
//! All of it is done as by a service: whoever asks was let in by the route, and is in the audit
//! log.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, TryLockError};

use api_types::{
    AutoSyncPolicy, CloneCreate, Inherit, PeerRead, PropertiesSet, Replica, ReplicaLive, ReplicaLoss,
    ReplicaPromote, ReplicaTest, Rollback, Service, ServiceReverse, ServiceSpec, SnapTarget, SyncTarget,
};
use engine_api::{
    Adopted, Change, Committed, DatasetInfo, DatasetKind, Error, IDENTITY, Pool, PropertyChange, REPLICA,
};
use services::autosync::stamp;
use services::failover::{self, Act, Beyond, Candidate, Property, Snapshot, Step, Turn};
use stdx::behalf::{Actor, Way, on_behalf_of};
use stdx::patience::hurried;
use stdx::premise::{Premise, relying_on};

use crate::executor::{Guest, Services, filter, hold_tag, marked, replica_of};
use crate::{Appliance, Failure, NotReplicated, Result, Warning};

/// How often it is tried to go back to a snapshot.
const ROLLBACKS: u32 = 3;

/// A file system or volume that is here.
struct Head {
    pool: Arc<dyn Pool>,
    info: DatasetInfo,
}

/// All that are here.
struct Heads {
    /// As decisions are made of them.
    all: Vec<failover::Head>,
    /// By name.
    here: BTreeMap<String, Head>,
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

impl Heads {
    fn of(&self, head: &failover::Head) -> Result<&Head> {
        self.named(&head.name)
    }

    fn named(&self, name: &str) -> Result<&Head> {
        self.here.get(name).ok_or_else(|| Failure::NoSuchDataset { dataset: name.to_owned() })
    }

    fn by_guid(&self, guid: u64) -> Option<&failover::Head> {
        self.all.iter().find(|head| head.guid == guid)
    }
}

impl Head {
    fn name(&self) -> &str {
        &self.info.name
    }

    fn is_file_system(&self) -> bool {
        self.info.kind == DatasetKind::Filesystem
    }

    fn state(&self) -> failover::Head {
        let relation = self.info.own(REPLICA).and_then(stamp::parse_relation);
        let set = [(Property::Canmount, "noauto"), (Property::Readonly, "on")];
        let set = set.into_iter().filter(|(property, value)| self.info.own(property.name()) == Some(value));
        let token = self.info.value("receive_resume_token");
        let adopted = self.info.own(IDENTITY).and_then(Adopted::parse);
        failover::Head {
            name: self.info.name.clone(),
            guid: self.info.guid,
            relation: relation.map(|(service, source)| (service.to_owned(), source)),
            readonly: self.info.value("readonly") == Some("on"),
            set: set.map(|(property, _)| property).collect(),
            partial: token.is_some_and(|token| !matches!(token, "" | "-")),
            keeps_clients: adopted.is_some(),
            is_awake: adopted.is_some_and(|adopted| adopted.is_live),
        }
    }

    /// Its snapshots, oldest first.
    fn listed(&self) -> Result<Vec<DatasetInfo>> {
        let props = ["creation", "userrefs"];
        let asked = filter(self.name(), Some(1), &[DatasetKind::Snapshot], &props);
        let mut found = self.pool.datasets(&asked)?;
        found.sort_by_key(|snapshot| snapshot.createtxg);
        Ok(found)
    }

    fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let snapshot = |info: DatasetInfo| Snapshot {
            name: short(&info.name).to_owned(),
            guid: info.guid,
            at: made(&info),
        };
        Ok(self.listed()?.into_iter().map(snapshot).collect())
    }

    /// Makes a change while it is the dataset that was read.
    fn commit(&self, change: &Change, history: &str) -> Result<Committed> {
        let things = vec![(self.info.name.clone(), self.info.guid)];
        Ok(relying_on(Some(Premise::Same { things }), || self.pool.commit(change, history))?)
    }

    /// Written out, with what it has and who has these snapshots has not.
    fn beyond(&self, theirs: &BTreeSet<u64>) -> Result<Beyond> {
        self.pool.sync()?;
        let mut beyond = failover::beyond(&self.snapshots()?, theirs);
        beyond.written = beyond.common.as_ref().map(|it| self.written_since(&it.name)).transpose()?;
        Ok(beyond)
    }

    /// Bytes that were written since a snapshot.
    fn written_since(&self, snapshot: &str) -> Result<u64> {
        let property = format!("written@{snapshot}");
        let asked = filter(self.name(), Some(0), &[], &[&property]);
        let head = self.pool.datasets(&asked)?.into_iter().next().ok_or(Error::NotFound)?;
        Ok(head.number(&property))
    }

    /// Written out, with what `other` has that it has not.
    fn lacks_of(&self, other: &Head) -> Result<Beyond> {
        other.beyond(&self.snapshots()?.into_iter().map(|it| it.guid).collect())
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

fn as_service<T>(work: impl FnOnce() -> T) -> T {
    let actor = Arc::new(Actor { way: Way::Service, ..Actor::itself() });
    on_behalf_of(actor, || hurried(work))
}

impl Appliance {
    /// All replicas that are here, in name order of each pool.
    pub fn replicas(&self) -> Result<Vec<Replica>> {
        let heads = self.heads()?;
        let replicas = heads.all.iter().filter_map(|head| Some((head, head.relation.as_ref()?)));
        let replica = |(head, (service, source_guid)): (&failover::Head, &(String, u64))| {
            let newest = heads.of(head)?.snapshots()?.pop();
            Ok(Replica {
                dataset: head.name.clone(),
                service: service.clone(),
                source_guid: *source_guid,
                source: heads.by_guid(*source_guid).map(|source| source.name.clone()),
                at: newest.as_ref().map(|it| it.at),
                snapshot: newest.map(|it| it.name),
                keeps_clients: head.keeps_clients,
            })
        };
        replicas.map(replica).collect()
    }

    /// What would be lost if a replica, and those below it, were promoted now.
    pub fn losses(&self, dataset: &str) -> Result<Vec<ReplicaLoss>> {
        let heads = self.heads()?;
        let loss_of = |Candidate { replica, original, .. }: Candidate<'_>| match original {
            Some(source) => {
                let beyond = heads.of(replica)?.lacks_of(heads.of(source)?)?;
                Ok(failover::loss(&replica.name, &source.name, beyond))
            }
            None => {
                let newest = heads.of(replica)?.snapshots()?.pop();
                Ok(ReplicaLoss {
                    dataset: replica.name.clone(),
                    source: None,
                    at: newest.as_ref().map(|it| it.at),
                    snapshot: newest.map(|it| it.name),
                    written: None,
                    newer: Vec::new(),
                })
            }
        };
        self.to_promote(&heads, dataset)?.into_iter().map(loss_of).collect()
    }

    /// Has a replica, and those below it, take the place of their originals.
    pub fn promote(
        &self,
        services: Option<&Services>,
        asked: &ReplicaPromote,
    ) -> Result<(Promoted, Vec<Warning>)> {
        self.alone(|| {
            let heads = self.heads()?;
            let pulls = services.map_or_else(BTreeMap::new, Services::pulls);
            let candidates = failover::pulled(self.to_promote(&heads, &asked.dataset)?, &pulls);
            let mut empty = BTreeSet::new();
            for Candidate { replica, .. } in &candidates {
                if heads.of(replica)?.listed()?.is_empty() {
                    empty.insert(replica.guid);
                }
            }
            let questions = failover::questions(&candidates, &empty, asked.force)?;
            let in_use = services.map_or_else(BTreeSet::new, |services| services.originals(&questions));
            let failover::Promotion { pauses, steps } = failover::promote(&candidates, &in_use)?;
            let mut disabled = None;
            for id in pauses {
                if services.map_or(Ok(false), |services| services.pause(&id))? {
                    disabled = Some(id);
                }
            }
            let history = format!("cistern replica promote {}", asked.dataset);
            let warnings = self.carry(&heads, &steps, &history, None)?;
            let live = |Candidate { replica, .. }: Candidate<'_>| ReplicaLive {
                dataset: replica.name.clone(),
                keeps_clients: replica.keeps_clients,
            };
            let taken_out = steps.into_iter().filter(|step| matches!(step.act, Act::TakeOut { .. }));
            let taken_out = taken_out.map(|step| step.dataset).collect();
            let promoted = candidates.into_iter().map(live).collect();
            Ok((Promoted { promoted, taken_out, disabled }, warnings))
        })
    }

    /// Whether a dataset that a service sends to this peer, that the peer may read, or that was a
    /// replica of the peer's, is here and in use.
    pub fn is_original(
        &self,
        services: &Services,
        (peer, reads): (&str, &[PeerRead]),
        id: &str,
        guid: u64,
    ) -> Result<bool> {
        let heads = self.heads()?;
        let Some(head) = heads.by_guid(guid) else { return Ok(false) };
        let was_replica = || -> Result<bool> {
            let pool = &heads.of(head)?.pool;
            Ok(!marked(&**pool, &head.name, &format!("{peer}/{id}"))?.is_empty())
        };
        let may_read = Guest::read_of(reads, &head.name).is_some();
        let is_related = may_read || services.sends_to(id, peer) || was_replica()?;
        Ok(failover::is_original(head, is_related))
    }

    /// Clones the newest snapshots of a replica and those below it. Gives the clones.
    pub fn test_replica(&self, asked: &ReplicaTest) -> Result<(Vec<String>, Vec<Warning>)> {
        let heads = self.heads()?;
        let (mut clones, mut warnings) = (Vec::new(), Vec::new());
        let mut newest = Vec::new();
        for Candidate { replica, .. } in self.to_promote(&heads, &asked.dataset)? {
            let dataset = replica.name.clone();
            let below = dataset.strip_prefix(&asked.dataset).unwrap_or_default().to_owned();
            let snapshot = heads.of(replica)?.listed()?.pop();
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
                return self.alone(|| self.hand_over(services, (id, peer), &policy, asked));
            }
            SyncTarget::Ssh(_) => return Err(not_of_pools().into()),
        }
        self.alone(|| {
            let heads = self.heads()?;
            let replica = |name: &str| replica_of(&policy.target, &policy.source.dataset, name);
            let pairs = failover::pairs(&heads.all, &policy.source, replica)?;
            let Some((_, root)) = pairs.first() else {
                return Err(Failure::NoSuchDataset { dataset: policy.source.dataset });
            };
            let SnapTarget { recursive, exclude, .. } = &policy.source;
            let source = SnapTarget {
                dataset: root.name.clone(),
                guid: Some(root.guid),
                recursive: *recursive,
                exclude: exclude.iter().map(|it| replica(it)).collect(),
            };
            let target = SyncTarget::Pool { dataset: policy.source.dataset.clone() };
            let turned = ServiceSpec::AutoSync(AutoSyncPolicy { source, target, ..policy.clone() });
            services.check(id, &turned)?;
            let mut turns = Vec::new();
            for (original, promoted) in pairs {
                let beyond = heads.of(promoted)?.lacks_of(heads.of(original)?)?;
                let promoted = (promoted.name.clone(), promoted.guid);
                turns.push(Turn { original, promoted, beyond });
            }
            let steps = failover::give_way(turns, id, asked.discard)?;
            services.pause(id)?;
            let warnings = self.carry(&heads, &steps, &format!("cistern svc reverse {id}"), Some(id))?;
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
        let covered: Vec<&failover::Head> = failover::covered(&heads.all, &policy.source).collect();
        let replica = |head: &failover::Head| replica_of(&policy.target, root, &head.name);
        let sources = covered.iter().map(|head| (replica(head), head.guid)).collect();
        let there = services.peer(peer, id, sources);
        let mut turns = Vec::new();
        for original in covered {
            let dataset = replica(original);
            let live = there.promoted(&dataset).map_err(|(_, why)| why)?;
            let live = live.ok_or_else(|| NotReplicated::NotPromoted { dataset: dataset.clone() })?;
            let beyond = heads.of(original)?.beyond(&live.snapshots)?;
            turns.push(Turn { original, promoted: (dataset, live.guid), beyond });
        }
        if turns.is_empty() {
            return Err(Failure::NoSuchDataset { dataset: root.clone() });
        }
        let steps = failover::give_way(turns, &format!("{peer}/{id}"), asked.discard)?;
        services.pause(id)?;
        let warnings = self.carry(&heads, &steps, &format!("cistern svc reverse {id}"), Some(id))?;
        Ok((services.one(id)?, warnings))
    }

    /// Decides and acts as a service, and nobody else fails over here meanwhile.
    fn alone<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let _turn = match self.turn.try_lock() {
            Ok(turn) => turn,
            // It guards nothing in memory.
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(NotReplicated::UnderWay.into()),
        };
        as_service(work)
    }

    /// Does what was decided. `service`: whose holds are released.
    fn carry(
        &self,
        heads: &Heads,
        steps: &[Step],
        history: &str,
        service: Option<&str>,
    ) -> Result<Vec<Warning>> {
        let mut warnings = Vec::new();
        for Step { dataset, act } in steps {
            let head = heads.named(dataset)?;
            let name = dataset.clone();
            match act {
                Act::Release => {
                    if let Some(id) = service {
                        release(head, id, history)?;
                    }
                }
                Act::TakeOut { relation } => warnings.extend(self.take_out(head, relation, history)?),
                Act::GoBack { snapshot } => warnings.extend(self.go_back(head, snapshot, history)?),
                Act::Abort => {
                    head.commit(&Change::AbortReceive { name }, history)?;
                }
                Act::Wake => {
                    let identity = head.pool.identity(dataset)?;
                    let props = vec![set(IDENTITY, Adopted { identity, is_live: true }.written())];
                    head.commit(&Change::SetProperties { name, props }, history)?;
                }
                Act::Inherit { property } => {
                    let (property, history) = (property.name().to_owned(), history.to_owned());
                    let asked = Inherit { property, received: false, history };
                    warnings.extend(self.inherit_property(dataset, asked)?.1);
                }
                Act::Unmark => {
                    let property = REPLICA.to_owned();
                    head.commit(&Change::Inherit { name, property, received: false }, history)?;
                }
            }
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
    fn heads(&self) -> Result<Heads> {
        let props = [REPLICA, IDENTITY, "readonly", "canmount", "receive_resume_token"];
        let mut heads = Heads { all: Vec::new(), here: BTreeMap::new() };
        for pool in self.engine.pools() {
            let found = match hurried(|| pool.datasets(&filter(&pool.name(), None, &[], &props))) {
                Ok(found) => found,
                Err(Error::Suspended | Error::NotFound) => continue,
                Err(error) => return Err(error.into()),
            };
            for info in found {
                let head = Head { pool: pool.clone(), info };
                heads.all.push(head.state());
                heads.here.insert(head.info.name.clone(), head);
            }
        }
        Ok(heads)
    }

    /// The replicas at and below a dataset, with their services, and sources that are here: parents
    /// first.
    fn to_promote<'a>(&self, heads: &'a Heads, dataset: &str) -> Result<Vec<Candidate<'a>>> {
        let candidates = failover::candidates(&heads.all, dataset);
        if !candidates.is_empty() {
            return Ok(candidates);
        }
        self.pool_of(dataset)?;
        let dataset = dataset.to_owned();
        Err(match heads.here.contains_key(&dataset) {
            true => NotReplicated::NoReplica { dataset }.into(),
            false => Failure::NoSuchDataset { dataset },
        })
    }

    /// Has an original refuse writes and wait as the replica of what takes its place.
    fn take_out(&self, original: &Head, relation: &str, history: &str) -> Result<Vec<Warning>> {
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
}

/// Has a service hold nothing of its former source: what goes there, the policy of the replica
/// says.
fn release(original: &Head, id: &str, history: &str) -> Result<()> {
    for snapshot in original.listed()?.into_iter().filter(|it| it.number("userrefs") > 0) {
        if original.pool.holds(&snapshot.name)?.iter().any(|(tag, _)| *tag == hold_tag(id)) {
            let snapshots = vec![snapshot.name];
            original.commit(&Change::Release { snapshots, tag: hold_tag(id), recursive: false }, history)?;
        }
    }
    Ok(())
}
