//! Fail-over from seeds: two places that keep each other's datasets, a link between them that comes
//! and goes, operators at both who promote, force, reverse, fail back and set things up, and kills
//! between any two steps; at two appliances what happens at the other one in the middle of that.
//! After each step the promises of [`services::failover`] are checked against what both have.

mod world;

use std::collections::BTreeSet;

use api_types::{
    AutoSyncPolicy, Schedule, SnapTarget, SyncAbsence, SyncKeep, SyncOrigin, SyncRefusal, SyncTarget, When,
};
use jiff::tz::TimeZone;
use services::autosync::plan::plan;
use services::autosync::policy::Policy;
use services::autosync::view::{Target, View};
use services::failover::{
    NotReplicated, Step, Turn, beyond, candidates, covered, give_way, pairs, promote, questions,
};
use services::time::Time;
use stdx::prng::Prng;
use world::{Broken, Content, Dataset, SERVICE, Service, World, name};

use crate::seeds::{Tried, run_all};

const SEEDS: u64 = 5_000;
const START: Time = 1_795_824_000;
const ROUNDS: usize = 12;
/// How deep things happen in the middle of others.
const DEPTH: u32 = 2;

/// What has to have happened somewhere, or the promises were not tried.
const TRIED: &[&str] = &[
    "one machine",
    "two appliances",
    "sent",
    "broken off",
    "killed",
    "in the middle",
    "promoted",
    "promoted unasked",
    "promoted by force",
    "refused: in use here",
    "refused: in use elsewhere",
    "refused: nothing there",
    "taken out",
    "reversed",
    "refused: would lose",
    "refused: not promoted",
    "given up",
    "conflict",
    "conflict found: NoReplica",
    "conflict found: NotReadOnly",
    "failed back",
];

struct Sim {
    world: World,
    policy: Policy,
    random: Prng,
    /// Both are in use since somebody promoted by force, or could not ask.
    excused: [bool; 2],
    had_base: [bool; 2],
    depth: u32,
    /// Nothing breaks any more.
    is_calm: bool,
    tried: Tried,
}

fn is_in_use(dataset: Option<&Dataset>) -> bool {
    dataset.is_some_and(|it| !it.readonly)
}

impl Sim {
    fn new(seed: u64) -> Sim {
        let mut random = Prng::new(seed);
        let is_local = random.chance(1, 4);
        let properties = AutoSyncPolicy {
            source: SnapTarget { dataset: name(0, 0), recursive: true, ..SnapTarget::default() },
            origin: SyncOrigin::Here,
            target: SyncTarget::Pool { dataset: name(1, 0) },
            schedule: Schedule { when: When::Second { step: 1 }, zone: None },
            keep: SyncKeep { count: u32::try_from(random.range(1, 4)).expect("it is small"), age: None },
            absence: SyncAbsence::default(),
            limits: Vec::new(),
            lag: None,
            stuck_after: 600,
        };
        let policy = Policy::new(SERVICE, &properties, &|_| Some(TimeZone::UTC)).expect("it is good");
        let mut world = World::new(is_local, START);
        for n in 0..2 {
            let guid = world.tick();
            world.sites[0].datasets[n] = Some(Dataset {
                guid,
                relation: None,
                readonly: false,
                keeps_clients: false,
                awake: false,
                snaps: Vec::new(),
                bookmarks: Vec::new(),
                live: Content::new(),
                partial: None,
            });
        }
        world.sites[0].service = Some(Service { enabled: true, ..Service::default() });
        let mut sim = Sim {
            world,
            policy,
            random,
            excused: [false; 2],
            had_base: [false; 2],
            depth: 0,
            is_calm: false,
            tried: Tried::new(),
        };
        sim.tried(if is_local { "one machine" } else { "two appliances" });
        sim
    }

    fn tried(&mut self, what: &'static str) {
        *self.tried.entry(what).or_default() += 1;
    }

    /// Between two steps it may be killed, and something may happen elsewhere. What one machine is
    /// asked to do at the same time it does one after the other.
    fn between(&mut self, site: usize) -> Result<(), Broken> {
        if self.is_calm {
            return Ok(());
        }
        if self.random.chance(1, 30) {
            self.tried("killed");
            return Err(Broken::Killed);
        }
        if !self.world.is_local && self.depth < DEPTH && self.random.chance(1, 10) {
            self.tried("in the middle");
            self.depth += 1;
            let begun = self.world.link;
            self.event(1 - site);
            self.depth -= 1;
            // What was asked over the link is under way no more.
            if begun && !self.world.link {
                return Err(Broken::Later);
            }
        }
        Ok(())
    }

    /// All that has to be so at any moment.
    fn check(&mut self, what: &dyn std::fmt::Debug) {
        let [north, south] = &self.world.sites;
        for n in 0..2 {
            let (north, south) = (north.datasets[n].as_ref(), south.datasets[n].as_ref());
            let both = is_in_use(north) && is_in_use(south);
            assert!(!both || (self.excused[n] && !self.world.is_local), "{what:?}: both are in use");
            let (Some(north), Some(south)) = (north, south) else { continue };
            let both = self.world.is_local && north.awake && south.awake;
            assert!(!both, "{what:?}: clients go on at both");
            let marked =
                |of: &Dataset, guid: u64| of.has(guid) || of.bookmarks.iter().any(|it| it.guid == guid);
            let has_base = north.snaps.iter().any(|it| marked(south, it.guid))
                || south.snaps.iter().any(|it| marked(north, it.guid));
            assert!(has_base || !self.had_base[n], "{what:?}: the base is lost");
            self.had_base[n] = has_base;
        }
        let mut kept = self.world.given_up.clone();
        for it in self.world.sites.iter().flat_map(|site| site.datasets.iter().flatten()) {
            kept.extend(&it.live);
            for snap in &it.snaps {
                assert_eq!(self.world.ledger.get(&snap.guid), Some(&snap.content), "{what:?}: {}", snap.name);
                kept.extend(&snap.content);
            }
        }
        let lost: Vec<_> = self.world.written.difference(&kept).collect();
        assert!(lost.is_empty(), "{what:?}: {lost:?} were given up, and nobody said so");
    }

    /// Replicates to the other place. What each dataset waits for a person for.
    fn session(&mut self, site: usize) -> [Option<SyncRefusal>; 2] {
        let mut found = [None, None];
        for (n, found) in found.iter_mut().enumerate() {
            let is_enabled = |sim: &Sim| sim.world.sites[site].service.is_some_and(|it| it.enabled);
            if self.world.dataset(site, n).is_none() || !is_enabled(self) {
                continue;
            }
            match self.look(site, n) {
                Err((Broken::Killed, _)) => return [None, None],
                Err((_, refusal)) => *found = refusal,
                Ok(()) => {}
            }
        }
        found
    }

    fn look(&mut self, site: usize, n: usize) -> Result<(), (Broken, Option<SyncRefusal>)> {
        for round in 0.. {
            assert!(round < ROUNDS, "it comes to no end");
            let service = self.world.sites[site].service.filter(|it| it.enabled);
            let Some(service) = service else { return Err((Broken::Later, None)) };
            let now = self.world.now;
            let view = View {
                source: self.world.view_source(site, n),
                target: self.world.view_target(1 - site, n),
                wanted: now,
                sent_before: service.sent[n],
                bookmarks: BTreeSet::new(),
                failing_since: None,
                as_of: now,
                now,
            };
            let planned = plan(&self.policy, &view);
            for step in &planned.steps {
                self.between(site).map_err(|broken| (broken, None))?;
                let breaks = !self.is_calm && self.random.chance(1, 12);
                if breaks {
                    self.tried("broken off");
                }
                let done = self.world.perform((site, n), step, breaks);
                self.check(step);
                done.map_err(|broken| (broken, None))?;
                self.tried("sent");
            }
            if view.target == Target::Unreachable {
                return Err((Broken::Later, None));
            }
            if planned.refusal.is_some() {
                return Err((Broken::Person, planned.refusal));
            }
            if let (Some(_), Some(service)) = (&planned.base, &mut self.world.sites[site].service) {
                service.sent[n] = true;
            }
            if planned.steps.is_empty() {
                break;
            }
        }
        Ok(())
    }

    fn promote(&mut self, site: usize, dataset: &str, force: bool) -> Result<(), Broken> {
        let heads = self.world.heads(site);
        let found = candidates(&heads, dataset);
        if found.is_empty() {
            return Err(Broken::Person);
        }
        let is_empty = |guid: &u64| {
            let all = self.world.sites.iter().flat_map(|site| site.datasets.iter().flatten());
            all.filter(|it| it.guid == *guid).all(|it| it.snaps.is_empty())
        };
        let empty = found.iter().map(|it| it.replica.guid).filter(is_empty).collect();
        let asked = match questions(&found, &empty, force) {
            Ok(asked) => asked,
            Err(why) => {
                self.tried(match why {
                    NotReplicated::OriginalLive { .. } => "refused: in use here",
                    _ => "refused: nothing there",
                });
                return Err(Broken::Person);
            }
        };
        // Another name is not one of the relation's: the peer knows its own alone.
        let is_answered = self.world.link || self.world.is_local;
        let sources = asked.iter().map(|it| it.source).filter(|_| is_answered);
        let in_use: BTreeSet<u64> = sources.filter(|guid| self.world.answer(1 - site, *guid)).collect();
        let Ok(promotion) = promote(&found, &in_use) else {
            self.tried("refused: in use elsewhere");
            return Err(Broken::Person);
        };
        self.tried(match (force, is_answered) {
            (true, _) => "promoted by force",
            (false, true) => "promoted",
            (false, false) => "promoted unasked",
        });
        for it in &found {
            let (at, n) = self.world.find(&it.replica.name);
            let other = self.world.dataset(1 - at, n);
            assert!(force || !is_answered || !is_in_use(other), "{}: it could be asked", it.replica.name);
            self.excused[n] |= force || !is_answered;
        }
        if promotion.pauses.contains(SERVICE) {
            self.world.sites.iter_mut().flat_map(|site| &mut site.service).for_each(|it| it.enabled = false);
        }
        self.carry(site, &promotion.steps, false)
    }

    fn carry(&mut self, site: usize, steps: &[Step], is_said: bool) -> Result<(), Broken> {
        for step in steps {
            self.between(site)?;
            self.world.act(&step.dataset, &step.act, is_said);
            if matches!(step.act, services::failover::Act::TakeOut { .. }) {
                self.tried("taken out");
            }
            self.check(step);
        }
        Ok(())
    }

    /// The service of a place is turned round, or its sources wait for the one at the other.
    fn reverse(&mut self, site: usize, discard: bool) -> Result<(), Broken> {
        if self.world.sites[site].service.is_none() || !(self.world.link || self.world.is_local) {
            return Err(Broken::Later);
        }
        let heads = self.world.heads(site);
        let source = SnapTarget { dataset: name(site, 0), recursive: true, ..SnapTarget::default() };
        let mut turns = Vec::new();
        if self.world.is_local {
            let replica = |it: &str| it.replacen(&name(site, 0), &name(1 - site, 0), 1);
            let Ok(pairs) = pairs(&heads, &source, replica) else {
                self.tried("refused: not promoted");
                return Err(Broken::Person);
            };
            for (original, promoted) in pairs {
                let (_, n) = self.world.find(&promoted.name);
                let theirs = self.world.dataset(1 - site, n).expect("it is there").snaps.iter();
                let beyond = self.beyond(site, n, &theirs.map(|it| it.guid).collect());
                turns.push(Turn { original, promoted: (promoted.name.clone(), promoted.guid), beyond });
            }
        } else {
            for original in covered(&heads, &source) {
                let (_, n) = self.world.find(&original.name);
                let Some((guid, theirs)) = self.world.promoted(1 - site, n) else {
                    self.tried("refused: not promoted");
                    return Err(Broken::Person);
                };
                let beyond = self.beyond(site, n, &theirs);
                turns.push(Turn { original, promoted: (name(1 - site, n), guid), beyond });
            }
        }
        if turns.is_empty() {
            return Err(Broken::Later);
        }
        let steps = match give_way(turns, &self.world.known_as(1 - site), discard) {
            Ok(steps) => steps,
            Err(NotReplicated::WouldLose { losses }) => {
                assert!(!losses.is_empty(), "each is named");
                self.tried("refused: would lose");
                return Err(Broken::Person);
            }
            Err(_) => return Err(Broken::Person),
        };
        if let Some(service) = &mut self.world.sites[site].service {
            service.enabled = false;
        }
        let before = self.world.given_up.len();
        self.carry(site, &steps, discard)?;
        if self.world.given_up.len() > before {
            self.tried("given up");
        }
        if self.world.is_local {
            self.between(site)?;
            self.world.sites[site].service = None;
            self.world.sites[1 - site].service = Some(Service { enabled: true, ..Service::default() });
        }
        self.tried(if site == 1 { "failed back" } else { "reversed" });
        Ok(())
    }

    fn beyond(&self, site: usize, n: usize, has: &BTreeSet<u64>) -> services::failover::Beyond {
        let dataset = self.world.dataset(site, n).expect("it is there");
        let mut found = beyond(&dataset.snapshots(), has);
        let common = found.common.as_ref().and_then(|it| self.world.ledger.get(&it.guid));
        found.written = common.map(|common| u64::from(*common != dataset.live));
        found
    }

    /// Something happens at a place.
    fn event(&mut self, site: usize) {
        self.world.now += 1;
        let n = self.random.below(2) as usize;
        let in_use = is_in_use(self.world.dataset(site, n));
        match self.random.below(30) {
            0..=7 if in_use => self.write(site, n),
            8 | 9 if !self.world.is_local => self.world.link = !self.world.link,
            10..=16 => drop(self.session(site)),
            17..=19 => {
                let below = n & self.random.below(2) as usize;
                self.promote(site, &name(site, below), false).ok();
            }
            20 => {
                self.promote(site, &name(site, 0), true).ok();
            }
            21..=23 => {
                let discard = self.random.chance(1, 2);
                self.reverse(site, discard).ok();
            }
            24 | 25 => self.serve(site),
            26 if in_use => {
                let made = format!("auto{}", self.world.number);
                self.world.snapshot((site, n), &made, None);
            }
            // Before a planned fail-over, and where none came of it.
            27 if in_use => self.set_readonly(site, n, true),
            28 => self.open(site, n),
            _ => {}
        }
        self.check(&"an event");
        if self.depth == 0 {
            for n in 0..2 {
                let both = (0..2).all(|site| is_in_use(self.world.dataset(site, n)));
                if both {
                    self.tried("conflict");
                }
                self.excused[n] = both;
            }
        }
    }

    fn write(&mut self, site: usize, n: usize) {
        let write = self.world.tick();
        self.world.written.insert(write);
        let dataset = self.world.sites[site].datasets[n].as_mut().expect("it is in use");
        dataset.live.insert(write);
    }

    fn set_readonly(&mut self, site: usize, n: usize, readonly: bool) {
        let dataset = self.world.sites[site].datasets[n].as_mut().expect("it is there");
        dataset.readonly = readonly;
    }

    /// Somebody who has looked that it is nowhere else has it written to again.
    fn open(&mut self, site: usize, n: usize) {
        let other = is_in_use(self.world.dataset(1 - site, n));
        let is_own = self.world.dataset(site, n).is_some_and(|it| it.relation.is_none());
        if is_own && !other && self.depth == 0 {
            self.set_readonly(site, n, false);
        }
    }

    /// The service of a place is made, or enabled, where it has something to send.
    fn serve(&mut self, site: usize) {
        let is_own = self.world.dataset(site, 0).is_some_and(|it| it.relation.is_none());
        let others = self.world.is_local && self.world.sites[1 - site].service.is_some();
        match &mut self.world.sites[site].service {
            Some(service) if is_own => service.enabled = true,
            None if is_own && !others => {
                self.world.sites[site].service = Some(Service { enabled: true, ..Service::default() });
            }
            _ => {}
        }
    }

    /// The two can talk, and nothing breaks any more: what is in use at both is found, operators
    /// choose, and all that the chosen one has gets to the other.
    fn finish(&mut self) {
        (self.is_calm, self.world.link) = (true, true);
        self.find_conflicts();
        let first = self.random.below(2) as usize;
        let chosen = [first, 1 - first].into_iter().find(|site| self.choose(*site));
        let chosen = chosen.unwrap_or_else(|| panic!("neither can be chosen: {:#?}", self.world.sites));
        for n in 0..2 {
            self.write(chosen, n);
        }
        for _ in 0..3 {
            self.world.now += 1;
            self.serve(chosen);
            let refusals = self.session(chosen);
            assert_eq!(refusals, [None, None], "{:#?}", self.world.sites);
        }
        for n in 0..2 {
            let (one, other) = (self.world.dataset(chosen, n), self.world.dataset(1 - chosen, n));
            assert!(is_in_use(one) && !is_in_use(other), "one is in use");
            assert_eq!(one.map(|it| &it.live), other.map(|it| &it.live), "all is there");
        }
    }

    /// Whoever replicates says so where both are in use, and changes nothing there.
    fn find_conflicts(&mut self) {
        let is_both = |sim: &Sim, n: usize| (0..2).all(|site| is_in_use(sim.world.dataset(site, n)));
        let conflicts: Vec<usize> = (0..2).filter(|n| is_both(self, *n)).collect();
        let contents = |sim: &Sim| -> Vec<_> {
            conflicts.iter().flat_map(|n| [sim.content(0, *n), sim.content(1, *n)]).collect()
        };
        let before = contents(self);
        let mut found = BTreeSet::new();
        for site in 0..2 {
            self.world.now += 1;
            self.serve(site);
            let refusals = self.session(site);
            for n in &conflicts {
                match &refusals[*n] {
                    Some(SyncRefusal::NoReplica) => self.tried("conflict found: NoReplica"),
                    Some(SyncRefusal::NotReadOnly) => self.tried("conflict found: NotReadOnly"),
                    Some(other) => panic!("both are in use, and the service says {other:?}"),
                    None => continue,
                }
                found.insert(*n);
            }
        }
        assert_eq!(found.into_iter().collect::<Vec<_>>(), conflicts, "each is found");
        assert_eq!(before, contents(self), "what is in use is as it was");
    }

    fn content(&self, site: usize, n: usize) -> Option<(Content, Vec<u64>)> {
        let it = self.world.dataset(site, n)?;
        Some((it.live.clone(), it.snaps.iter().map(|it| it.guid).collect()))
    }

    /// Has a place be the original of all, and the other one wait as its replica. What never was a
    /// replica of the other one cannot be chosen.
    fn choose(&mut self, site: usize) -> bool {
        self.world.now += 1;
        self.promote(site, &name(site, 0), true).ok();
        let is_own = |it: &Dataset| it.relation.is_none();
        if !(0..2).all(|n| self.world.dataset(site, n).is_some_and(is_own)) {
            return false;
        }
        self.excused = [true; 2];
        for n in 0..2 {
            self.set_readonly(site, n, false);
        }
        let is_turned = !self.world.is_local || !self.is_sent_from(1 - site);
        if is_turned && (0..2).all(|n| self.follows(1 - site, n)) {
            // What was promoted by half may be written to, and the service says so.
            for dataset in self.world.sites[1 - site].datasets.iter_mut().flatten() {
                dataset.readonly = true;
            }
            return true;
        }
        if !self.is_sent_from(1 - site) {
            self.world.sites[1 - site].service = Some(Service::default());
        }
        self.reverse(1 - site, true).is_ok()
    }

    /// One machine has one service, which goes one way.
    fn is_sent_from(&self, site: usize) -> bool {
        self.world.sites[site].service.is_some()
    }

    /// Whether a dataset is the replica of what is at the other place, and has nothing of its own;
    /// or there is none.
    fn follows(&self, site: usize, n: usize) -> bool {
        let (Some(it), Some(there)) = (self.world.dataset(site, n), self.world.dataset(1 - site, n)) else {
            return true;
        };
        let relation = services::autosync::stamp::relation(&self.world.known_as(1 - site), there.guid);
        let found = self.beyond(site, n, &there.snaps.iter().map(|it| it.guid).collect());
        let is_new = found.common.is_none() && it.snaps.is_empty();
        let is_alike = found.common.is_some() && found.newer.is_empty() && found.written == Some(0);
        it.relation == Some(relation) && (is_new || is_alike)
    }
}

fn run(seed: u64) -> Tried {
    let mut sim = Sim::new(seed);
    for _ in 0..sim.random.range(20, 120) {
        let site = sim.random.below(2) as usize;
        sim.event(site);
    }
    sim.finish();
    sim.tried
}

#[test]
fn five_thousand_relations_are_live_on_one_side() {
    run_all(SEEDS, TRIED, run);
}
