//! Replication from seeds: a source that people write to, and a replica that dies, hangs, fills up,
//! lies, is promoted, or comes back after a month; kills between any two steps, and memory that is
//! lost. After each step the promises of [`services::autosync`] are checked against what the two
//! pools have.

mod world;

use std::collections::BTreeSet;

use api_types::{
    AutoSyncPolicy, FailureClass, Schedule, SnapTarget, SyncAbsence, SyncKeep, SyncOrigin, SyncRefusal,
    SyncStep, SyncTarget, When,
};
use jiff::tz::TimeZone;
use services::autosync::memory::Memory;
use services::autosync::plan::{Plan, plan, relieve};
use services::autosync::policy::Policy;
use services::autosync::view::{Target, View};
use services::time::{DAY, Time};
use stdx::prng::Prng;
use world::{Broken, SERVICE, SOURCE, World};

use crate::seeds::{Tried, run_all};

const SEEDS: u64 = 5_000;
const START: Time = 1_795_824_000;
/// Rounds of one look: what has to be sent, what is new meanwhile, and what goes.
const ROUNDS: usize = 12;

/// What has to have happened somewhere, or the promises were not tried.
const TRIED: &[&str] = &[
    "first",
    "sent",
    "from a bookmark",
    "resumed",
    "aborted",
    "stamped",
    "relieved",
    "kept away a month",
    "full",
    "unreachable",
    "killed",
    "memory lost",
    "lied",
    "unchanged",
    "of others",
    "NoReplica",
    "NotReadOnly",
    "ReplicaGone",
    "Diverged",
    "NoCommonBase",
    "retention there",
    "retention here",
];

struct Sim {
    world: World,
    properties: AutoSyncPolicy,
    policy: Policy,
    memory: Memory,
    served: Time,
    random: Prng,
    tried: Tried,
}

impl Sim {
    fn new(seed: u64) -> Sim {
        let mut random = Prng::new(seed);
        let properties = AutoSyncPolicy {
            source: SnapTarget { dataset: "tank/a".to_owned(), ..SnapTarget::default() },
            origin: SyncOrigin::Here,
            target: SyncTarget::Pool { dataset: "dozer/a".to_owned() },
            schedule: Schedule {
                when: match random.below(4) {
                    3 => When::Second { step: 1 },
                    0 => When::Minute { step: 1, offset: 0 },
                    1 => When::Hour { step: 1, minute: 0 },
                    _ => When::Day { hour: 3, minute: 0 },
                },
                zone: None,
            },
            keep: SyncKeep {
                count: u32::try_from(random.range(1, 4)).expect("it is small"),
                age: random.chance(1, 3).then_some(86_400),
            },
            absence: SyncAbsence {
                seconds: random.chance(1, 2).then(|| random.range(3_600, 20 * 86_400)),
                bytes: random.chance(1, 3).then(|| random.range(1, 40)),
            },
            limits: Vec::new(),
            lag: None,
            stuck_after: 600,
        };
        let policy = Policy::new(SERVICE, &properties, &|_| Some(TimeZone::UTC)).expect("it is good");
        let mut world = World::new(START);
        // A peer marks what arrives, and may keep what it likes.
        world.marks = random.chance(1, 2);
        world.makes = random.chance(3, 4);
        world.keeps = (world.marks && random.chance(1, 2)).then_some(properties.keep);
        Sim {
            world,
            properties,
            policy,
            memory: Memory::default(),
            served: START,
            random,
            tried: Tried::new(),
        }
    }

    fn tried(&mut self, what: &'static str) {
        *self.tried.entry(what).or_default() += 1;
    }

    fn view(&mut self, wanted: Time, may_lie: bool) -> View {
        let mut target = self.world.view_target();
        if may_lie && self.random.chance(1, 20) {
            self.lie(&mut target);
        }
        let synced = self.memory.datasets.get(&SOURCE).cloned().unwrap_or_default();
        View {
            source: self.world.view_source(),
            target,
            wanted,
            sent_before: synced.snapshot.is_some(),
            bookmarks: synced.bookmarks,
            failing_since: synced.failing_since,
            as_of: self.world.now,
            now: self.world.now,
        }
    }

    /// The replica says that it has what it has not, or not what it has.
    fn lie(&mut self, target: &mut Target) {
        let Target::There(replica) = target else { return };
        self.tried.entry("lied").and_modify(|count| *count += 1).or_insert(1);
        self.world.is_lied_to = true;
        match self.random.below(3) {
            0 => drop(replica.snapshots.pop()),
            1 => replica.snapshots.iter_mut().for_each(|it| it.guid ^= 1 << 40),
            _ => {
                let mut claimed = self.world.view_source().snapshots;
                claimed.retain(|it| self.random.chance(1, 2) && !replica.snapshots.contains(it));
                replica.snapshots.extend(claimed);
            }
        }
    }

    /// Looks, if there is something to look at: rounds until there is no step left, or one fails.
    fn look(&mut self, asked: bool, may_break: bool) {
        let agenda =
            self.memory.agenda(&self.policy, [SOURCE].into_iter(), (self.served, asked), self.world.now);
        self.served = agenda.served;
        if agenda.datasets.is_empty() {
            return;
        }
        for round in 0.. {
            assert!(round < ROUNDS, "it comes to no end");
            let view = self.view(agenda.wanted, may_break);
            if !view.source.makes && view.source.snapshots.is_empty() {
                return self.failed(Broken::Later);
            }
            let planned = plan(&self.policy, &view);
            assert_eq!(planned, plan(&self.policy, &view), "the same facts give the same plan");
            match self.round(&view, &planned, may_break) {
                Ok(true) => {}
                Ok(false) => return,
                Err(Broken::Killed) => {
                    self.tried("killed");
                    if self.random.chance(1, 10) {
                        self.memory = Memory::default();
                        self.tried("memory lost");
                    }
                    return;
                }
                Err(broken) => return self.failed(broken),
            }
        }
    }

    /// Whether there may be more to do.
    fn round(&mut self, view: &View, planned: &Plan, may_break: bool) -> Result<bool, Broken> {
        for step in &planned.steps {
            if may_break && self.random.chance(1, 60) {
                return Err(Broken::Killed);
            }
            self.step(step)?;
            if may_break && self.random.chance(1, 60) {
                return Err(Broken::Killed);
            }
        }
        if view.target == Target::Unreachable {
            self.tried("unreachable");
            return Err(Broken::Later);
        }
        if let Some(refusal) = &planned.refusal {
            self.tried(match refusal {
                SyncRefusal::NoReplica => "NoReplica",
                SyncRefusal::OtherReplica { .. } => "OtherReplica",
                SyncRefusal::ReplicaGone => "ReplicaGone",
                SyncRefusal::NoCommonBase => "NoCommonBase",
                SyncRefusal::Diverged { .. } => "Diverged",
                SyncRefusal::NotReadOnly => "NotReadOnly",
            });
            return Err(Broken::Person);
        }
        let synced = self.memory.datasets.entry(SOURCE).or_default();
        if let Some(base) = &planned.base {
            synced.snapshot = Some(base.replica.clone());
        }
        synced.current = planned.current.or(synced.current);
        if !planned.steps.is_empty() {
            return Ok(true);
        }
        synced.succeeded();
        if planned.current == Some(view.now) {
            self.tried("unchanged");
        }
        self.check_retention();
        Ok(false)
    }

    fn step(&mut self, step: &SyncStep) -> Result<(), Broken> {
        let (base, unsent) = (self.world.base(), self.world.unsent());
        self.world.perform(step, &mut self.random)?;
        let what = match step {
            SyncStep::Send { .. } if !self.world.makes => "of others",
            SyncStep::Send { from: None, .. } => "first",
            SyncStep::Send { from: Some(from), .. } if from.starts_with('#') => "from a bookmark",
            SyncStep::Send { .. } => "sent",
            SyncStep::Resume => "resumed",
            SyncStep::Abort => "aborted",
            SyncStep::Stamp { .. } => "stamped",
            SyncStep::Bookmark { .. } => "relieved",
            SyncStep::Destroy { side: api_types::SyncSide::Replica, .. } => "retention there",
            SyncStep::Destroy { .. } => "retention here",
            SyncStep::Snapshot { .. } | SyncStep::Hold { .. } | SyncStep::Release { .. } => "other",
        };
        self.tried(what);
        if let SyncStep::Bookmark { snapshot } = step {
            let guid = self.world.source.bookmarks.iter().find(|it| it.name == *snapshot);
            let synced = self.memory.datasets.entry(SOURCE).or_default();
            synced.bookmarks.extend(guid.map(|it| it.guid));
        }
        if !self.world.is_lied_to {
            assert!(base.is_none() || self.world.base() >= base, "{step:?} loses the base");
            let is_new = matches!(step, SyncStep::Snapshot { .. });
            assert!(!is_new || unsent == 0, "one more although {unsent} did not get there");
        }
        self.check_replica();
        Ok(())
    }

    fn failed(&mut self, broken: Broken) {
        let class = match broken {
            Broken::Person => FailureClass::NeedsPerson,
            Broken::Later | Broken::Killed => FailureClass::Retriable,
        };
        let now = self.world.now;
        let synced = self.memory.datasets.entry(SOURCE).or_default();
        synced.failed(class, now, &mut self.random);
        let since = synced.failing_since;
        for step in relieve(self.policy.absence, &self.world.view_source(), since, now) {
            self.step(&step).expect("nothing of the replica is needed");
        }
        let absent = since.map_or(0, |since| now - since).unsigned_abs();
        let source = self.world.view_source();
        let is_over = self.properties.absence.seconds.is_some_and(|most| absent > most)
            || self.properties.absence.bytes.is_some_and(|most| source.kept > most);
        let kept = source.snapshots.iter().filter(|it| it.stamp.is_some() && !it.needed);
        assert!(!is_over || kept.count() == 0, "the budget is used up");
        let is_held = source.snapshots.iter().any(|it| it.held);
        assert!(!is_over || self.world.makes || !is_held, "what others made is kept from going");
    }

    /// What is on the replica is what the source had.
    fn check_replica(&self) {
        for (one, content) in self.world.there.iter().flat_map(|there| &there.side.snapshots) {
            if !self.world.foreign.contains(&one.guid) {
                assert_eq!(self.world.ledger.get(&one.guid), Some(content), "{one:?}");
            }
        }
    }

    fn check_retention(&self) {
        let Some(there) = &self.world.there else { return };
        let own: Vec<Time> = there.side.snapshots.iter().filter_map(|(it, _)| it.stamp).collect();
        let SyncKeep { count, age } = self.properties.keep;
        let is_old = |at: &&Time| age.is_none_or(|age| (self.world.now - **at).unsigned_abs() > age);
        let old = own.iter().filter(is_old).count();
        // What a peer keeps, it looks at when something arrives.
        let is_due = self.world.keeps.is_none() && !self.world.is_lied_to;
        assert!(!is_due || old <= count as usize, "{own:?}");
        let here = self.world.source.snapshots.iter();
        let here = here.filter(|(it, _)| it.stamp.is_some() && !it.needed).count();
        assert!(self.world.is_lied_to || here <= 1, "{here} snapshots of the source are kept");
        let held = self.world.source.snapshots.iter().filter(|(it, _)| it.held).count();
        assert!(self.world.is_lied_to || held <= 1, "{held} snapshots of the source are held");
    }

    fn event(&mut self) {
        let hour = 3_600;
        match self.random.below(24) {
            0..=5 => self.world.content += 1,
            6 => {
                let name = format!("auto{}", self.world.txg);
                self.world.snapshot(&name, None);
            }
            7 if !self.world.makes => self.world.thin_out(),
            7 => {
                let foreign = self.world.foreign.clone();
                self.world.source.snapshots.retain(|(it, _)| !foreign.contains(&it.guid));
            }
            8 => self.world.reachable = !self.world.reachable,
            9 => {
                self.world.full = !self.world.full;
                self.tried("full");
            }
            10 if self.random.chance(1, 6) => {
                self.world.reachable = false;
                self.world.now += 31 * DAY;
                self.tried("kept away a month");
            }
            11 => {
                if let Some((one, _)) = self.world.source.snapshots.last_mut() {
                    one.needed = !one.needed;
                }
            }
            12 if self.random.chance(1, 8) => self.disturb_replica(),
            13 if self.random.chance(1, 4) => self.mend(),
            _ => {}
        }
        self.world.now += match self.random.below(3) {
            0 => 60,
            1 => hour,
            _ => self.random.range(60, 2 * 86_400).cast_signed(),
        };
    }

    fn disturb_replica(&mut self) {
        let txg = self.world.tick();
        let Some(there) = &mut self.world.there else { return };
        match self.random.below(4) {
            0 => there.relation = None,
            1 => there.readonly = false,
            2 => self.world.there = None,
            _ => {
                let (mut foreign, content) = match there.side.snapshots.last() {
                    Some(last) => last.clone(),
                    None => return,
                };
                (foreign.guid, foreign.createtxg, foreign.stamp) = (txg, txg, None);
                foreign.name = format!("theirs{txg}");
                there.side.snapshots.push((foreign, content));
                self.world.foreign.insert(txg);
            }
        }
    }

    /// Somebody looks after it, and clears the service.
    fn mend(&mut self) {
        if let Some(there) = &mut self.world.there {
            there.relation = Some(self.policy.relation(SOURCE));
            there.readonly = true;
            let foreign: BTreeSet<u64> = self.world.foreign.clone();
            there.side.snapshots.retain(|(it, _)| !foreign.contains(&it.guid));
        }
        let is_lost = self.world.there.as_ref().is_some_and(|there| there.partial.is_none())
            && (newest(&self.world).is_none() || self.world.base() != newest(&self.world));
        if is_lost {
            self.world.there = None;
        }
        let bookmarks = self.memory.datasets.remove(&SOURCE).unwrap_or_default().bookmarks;
        self.memory.datasets.entry(SOURCE).or_default().bookmarks = bookmarks;
    }

    /// With nothing in the way, all of the source gets there.
    fn finish(&mut self) {
        (self.world.reachable, self.world.full) = (true, false);
        self.mend();
        if !self.world.makes {
            self.world.snapshot("last", None);
        }
        for _ in 0..50 {
            self.world.now += 2 * 3_600;
            self.look(true, false);
        }
        let there = self.world.there.as_ref().expect("there is a replica");
        let last = there.side.snapshots.last().expect("with a snapshot");
        assert_eq!(last.1, self.world.content, "all is there");
        assert!(self.world.unsent() == 0 && there.partial.is_none());
    }
}

fn newest(world: &World) -> Option<u64> {
    world.there.as_ref()?.side.snapshots.iter().map(|(it, _)| it.guid).max()
}

fn run(seed: u64) -> Tried {
    let mut sim = Sim::new(seed);
    for _ in 0..sim.random.range(20, 160) {
        sim.event();
        let asked = sim.random.chance(1, 10);
        sim.look(asked, true);
    }
    sim.finish();
    sim.tried
}

#[test]
fn five_thousand_replicas_keep_their_promises() {
    run_all(SEEDS, TRIED, run);
}

/// A volume that is written to all day long, each second of it, and a stream that takes up to three
/// seconds: what is there is never far behind, and nothing piles up on either side.
#[test]
fn a_schedule_of_one_second_keeps_up_all_day() {
    let mut sim = Sim::new(1);
    sim.properties.schedule.when = When::Second { step: 1 };
    sim.properties.keep = SyncKeep { count: 5, age: None };
    sim.properties.absence = SyncAbsence::default();
    sim.policy = Policy::new(SERVICE, &sim.properties, &|_| Some(TimeZone::UTC)).expect("it is good");
    (sim.world.makes, sim.world.marks, sim.world.keeps) = (true, true, None);
    let (mut runs, mut longest) = (0_u64, 0);
    while sim.world.now < START + DAY {
        sim.world.content += 1;
        sim.world.now += 1;
        let agenda = sim.memory.agenda(&sim.policy, [SOURCE].into_iter(), (sim.served, false), sim.world.now);
        // One that broke off is tried again after minutes; nothing else holds it up.
        let is_late = sim.memory.datasets.get(&SOURCE).is_some_and(|it| it.backoff.is_some());
        assert!(is_late || !agenda.datasets.is_empty(), "it is due each second");
        sim.look(false, false);
        let took = sim.random.below(3).cast_signed();
        (sim.world.now, sim.world.content) = (sim.world.now + took, sim.world.content + took.unsigned_abs());
        runs += 1;
        let there = sim.world.there.as_ref();
        let newest = there.and_then(|there| there.side.snapshots.iter().filter_map(|(it, _)| it.stamp).max());
        let failing = sim.memory.datasets.get(&SOURCE).and_then(|it| it.failing_since);
        if let (Some(newest), None) = (newest, failing) {
            longest = longest.max(sim.world.now - newest);
        }
        let kept = (sim.world.source.snapshots.len(), there.map_or(0, |there| there.side.snapshots.len()));
        assert!((1..=2).contains(&kept.0) && kept.1 <= 7, "{kept:?} snapshots");
    }
    assert!(runs > 30_000 && longest <= 4, "{runs} runs, {longest} s behind");
}
