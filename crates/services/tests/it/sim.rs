//! A service at work: what an executor does, with a world instead of an engine.

use std::collections::{BTreeMap, VecDeque};

use api_types::{AutoSnapPolicy, ClockDispute, FailureClass, SnapPlan};
use services::autosnap::agenda::Agenda;
use services::autosnap::coverage::{Coverage, cover};
use services::autosnap::forecast::forecast;
use services::autosnap::plan::{Planned, plan};
use services::autosnap::policy::Policy;
use services::autosnap::state::{Failed, State, Work, to_destroy};
use services::clock::{Clock, Reading};
use services::freshness::{self, Change, Stale};
use services::time::{DAY, Time};
use stdx::prng::Prng;

use crate::checks;
use crate::disturb;
use crate::policies::{self, Kind, zones};
use crate::world::{SERVICE, Truth, World};

pub struct Sim {
    pub seed: u64,
    pub kind: Kind,
    pub random: Prng,
    pub world: World,
    pub properties: AutoSnapPolicy,
    pub policy: Policy,
    pub coverage: Coverage,
    pub state: State,
    pub clock: Clock,
    pub agenda: Agenda,
    pub faults: BTreeMap<u64, Option<Stale>>,
    /// What is believed now, and whether it is disputed.
    pub now: Time,
    pub dispute: Option<ClockDispute>,
    /// Since the clock, or what others did, last gave a reason to make one again: dataset and level
    /// → when the newest was made.
    pub made: BTreeMap<(u64, String), Time>,
    /// What fails now.
    pub create_fails: Option<FailureClass>,
    pub destroy_fails: Option<FailureClass>,
    pub tried: BTreeMap<&'static str, u64>,
    /// What happened last, for whoever looks for the reason of a failure.
    pub trail: VecDeque<String>,
    /// At datasets.
    pub looks: u64,
    began: Time,
    next_disturbance: Time,
}

impl Sim {
    /// Runs one seed for so many years.
    pub fn run(seed: u64, kind: Kind, years: u64) -> Sim {
        let mut sim = Sim::new(seed, kind);
        let end = sim.began + i64::try_from(years).expect("it is short") * 36_525 * DAY / 100 + DAY;
        while sim.world.time < end {
            sim.step();
            if sim.world.time >= sim.next_disturbance {
                let pause = match kind {
                    Kind::Long => sim.random.range(3_600, 240 * 86_400),
                    Kind::Short => sim.random.range(60, 4 * 86_400),
                };
                sim.next_disturbance = sim.world.time + seconds(pause);
                if sim.random.chance(1, 12) {
                    sim.foretell();
                } else {
                    disturb::something(&mut sim);
                }
            }
            sim.pass();
        }
        checks::worked(&sim);
        sim
    }

    fn new(seed: u64, kind: Kind) -> Sim {
        let mut random = Prng::new(seed);
        let properties = policies::policy(kind, &mut random);
        let policy = Policy::new(SERVICE, &properties, &zones).expect("the policy is good");
        let began = 1_764_320_000 + seconds(random.below(86_400 * 365));
        let mut sim = Sim {
            seed,
            kind,
            random,
            world: World::new(began),
            properties,
            policy,
            coverage: Coverage::default(),
            state: State::default(),
            clock: Clock::default(),
            agenda: Agenda::default(),
            faults: BTreeMap::new(),
            now: began,
            dispute: None,
            made: BTreeMap::new(),
            create_fails: None,
            destroy_fails: None,
            tried: BTreeMap::new(),
            trail: VecDeque::new(),
            looks: 0,
            began,
            next_disturbance: began + 3_600,
        };
        sim.survey();
        sim
    }

    pub fn years(&self) -> f64 {
        (self.world.time - self.began) as f64 / (365.25 * 86_400.0)
    }

    pub fn tried(&mut self, what: &'static str) {
        *self.tried.entry(what).or_default() += 1;
    }

    pub fn note(&mut self, what: String) {
        if self.trail.len() == 40 {
            self.trail.pop_front();
        }
        self.trail.push_back(format!("{} (believed {}): {what}", self.world.time, self.now));
    }

    pub fn fail(&self, why: &str) -> ! {
        let trail: Vec<&str> = self.trail.iter().map(String::as_str).collect();
        let (seed, kind, policy) = (self.seed, self.kind, &self.properties);
        panic!("{why}\nseed {seed} {kind:?} at {}\n{policy:?}\n{}", self.now, trail.join("\n"));
    }

    pub fn reading(&self) -> Reading {
        let World { boot, booted, time, .. } = self.world;
        Reading {
            boot,
            monotonic: u64::try_from(time - booted).expect("it goes on"),
            wall: self.world.wall(),
        }
    }

    /// After anything that datasets or targets are known by has changed.
    pub fn survey(&mut self) {
        self.coverage = cover(&self.properties.targets, &self.world.named());
        checks::findings(self);
        self.properties.targets = self.coverage.targets.clone();
        let covered = self.coverage.datasets.clone();
        self.state.retain(|dataset| covered.contains_key(&dataset));
        self.faults.retain(|dataset, _| covered.contains_key(dataset));
        self.made.retain(|(dataset, _), _| covered.contains_key(dataset));
        let mut agenda = Agenda::default();
        for dataset in covered.keys() {
            agenda.set(*dataset, self.now);
        }
        self.agenda = agenda;
    }

    fn observe(&mut self) {
        let (before, was) = (self.now, self.dispute);
        let belief = self.clock.observe(self.reading());
        (self.now, self.dispute) = (belief.now, belief.dispute);
        if self.now < before {
            self.made.clear();
        }
        match (was, self.dispute) {
            (None, Some(_)) => self.tried("clock disputed"),
            (Some(was), None) if was.wall >= was.believed => self.tried("clock settled ahead"),
            (Some(_), None) => self.tried("clock settled behind"),
            _ => {}
        }
    }

    /// One look of the executor.
    pub fn step(&mut self) -> SnapPlan {
        self.observe();
        self.world.free(&mut self.random);
        let due = self.agenda.due(self.now, usize::MAX);
        self.looks += due.len() as u64;
        let views = due.iter().filter_map(|dataset| self.world.data.get(dataset)).map(|data| &data.view);
        let Planned { plan, next } = plan(&self.policy, &self.coverage, &self.state, views, self.now);
        checks::planned(self, &plan, &due);
        let work = plan.groups.len() + plan.destroys.len();
        let killed = work > 0 && self.random.chance(1, 200);
        let failed = self.execute(&plan, killed);
        if killed {
            self.tried("killed amid a plan");
            self.note("killed amid a plan".to_owned());
            self.survey();
        } else {
            self.state.settle(&plan, &failed, &mut self.random);
            for (dataset, next) in next {
                if next.at <= self.now || next.at > self.now + services::autosnap::agenda::REVIEW {
                    self.fail(&format!("the next look is at {}", next.at));
                }
                self.agenda.set(dataset, next.at);
            }
            checks::settled(self, &plan, &due, &failed);
        }
        self.watch();
        plan
    }

    /// Does what a plan says, or a part of it.
    fn execute(&mut self, plan: &SnapPlan, killed: bool) -> Vec<Failed> {
        let mut failed = Vec::new();
        for group in &plan.groups {
            if killed && self.random.chance(1, 3) {
                return failed;
            }
            self.world.txg += 1;
            if let Some(class) = self.create_fails.filter(|_| self.random.chance(3, 4)) {
                let fails = |made: &api_types::SnapCreate| Failed {
                    dataset: made.dataset_guid,
                    work: Work::Create,
                    class,
                };
                failed.extend(group.creates.iter().map(fails));
                continue;
            }
            for made in &group.creates {
                checks::made(self, made);
                let truth = self.truth(true);
                let stamp = Some(made.stamp.as_str());
                if !self.world.snapshot(made.dataset_guid, &made.snapshot, stamp, truth) {
                    self.fail(&format!("{}@{} is there already", made.dataset, made.snapshot));
                }
                if self.random.chance(2, 3) {
                    let bytes = self.random.range(1, 64 << 20);
                    self.world.write(made.dataset_guid, bytes, &mut self.random);
                }
            }
        }
        let destroys: Vec<_> = to_destroy(plan, &failed).cloned().collect();
        for gone in destroys {
            if killed && self.random.chance(1, 3) {
                return failed;
            }
            if let Some(class) = self.destroy_fails.filter(|_| self.random.chance(3, 4)) {
                failed.push(Failed { dataset: gone.dataset_guid, work: Work::Destroy, class });
                continue;
            }
            checks::destroyed(self, &gone);
            self.world.destroy(gone.dataset_guid, gone.guid);
        }
        failed
    }

    pub fn truth(&self, ours: bool) -> Truth {
        Truth { ours, made: self.world.time, moved: self.now - self.world.time }
    }

    /// Freshness, as an executor checks it.
    fn watch(&mut self) {
        let Some(limit) = self.properties.stale_after else { return };
        for dataset in self.coverage.datasets.keys().copied().collect::<Vec<_>>() {
            let Some(data) = self.world.data.get(&dataset) else { continue };
            let facts = data.view.freshness(self.now);
            let mut fault = self.faults.get(&dataset).copied().flatten();
            match freshness::check(facts, limit, self.now, &mut fault) {
                Some(Change::Raised(_)) => self.tried("stale raised"),
                Some(Change::Cleared(_)) => self.tried("stale cleared"),
                None => {}
            }
            checks::fresh(self, dataset, limit, fault);
            self.faults.insert(dataset, fault);
        }
    }

    /// Time passes until something is to be done.
    fn pass(&mut self) {
        let mut pause = self.next_disturbance - self.world.time;
        pause = self.agenda.next().map_or(pause, |at| pause.min(at - self.now));
        if let Some(at) = self.dispute.and_then(|dispute| dispute.agrees_at) {
            pause = pause.min(at - self.now);
        }
        if let Some(limit) = self.properties.stale_after {
            for data in self.faults.keys().filter_map(|dataset| self.world.data.get(dataset)) {
                let facts = data.view.freshness(self.now);
                let stale = facts.newest.unwrap_or(facts.since) + seconds(limit) + 1 - self.now;
                pause = if stale > 0 { pause.min(stale) } else { pause };
            }
        }
        self.world.time += pause.max(1);
    }

    /// What a forecast says is what happens, if nobody does anything else.
    fn foretell(&mut self) {
        (self.create_fails, self.destroy_fails) = (None, None);
        let over_budget = self.world.data.values().any(|data| {
            let dataset = &data.view.dataset;
            checks::space(self, dataset).is_some_and(|budget| dataset.used_by_snapshots > budget)
        });
        if self.dispute.is_some() || over_budget {
            return;
        }
        self.survey();
        for data in self.world.data.values_mut() {
            data.view.dataset.written = data.view.dataset.written.max(1);
        }
        let days = if self.kind == Kind::Long { 60 } else { 3 };
        let until = self.now + seconds(self.random.range(1, days)) * DAY;
        let views: Vec<_> = self.world.data.values().map(|data| data.view.clone()).collect();
        let told = forecast(&self.policy, &self.coverage, &self.state, &views, self.now, until);
        let until = told.ends_early.map_or(until, |end| end - 1);
        let mut happened = Vec::new();
        while self.now <= until {
            let before = self.world.time;
            let plan = self.quiet_step();
            if !plan.groups.is_empty() || !plan.destroys.is_empty() {
                happened.push(plan);
            }
            let pause = self.agenda.next().map_or(3_600, |at| at - self.now);
            self.world.time = before + pause.max(1);
            self.observe();
        }
        checks::foretold(self, &told.plans, &happened);
        self.tried("forecast");
    }

    /// A look at which nothing fails and everything changes.
    fn quiet_step(&mut self) -> SnapPlan {
        let due = self.agenda.due(self.now, usize::MAX);
        let views = due.iter().filter_map(|dataset| self.world.data.get(dataset)).map(|data| &data.view);
        let Planned { plan, next } = plan(&self.policy, &self.coverage, &self.state, views, self.now);
        checks::planned(self, &plan, &due);
        for group in &plan.groups {
            self.world.txg += 1;
            for made in &group.creates {
                checks::made(self, made);
                let truth = self.truth(true);
                self.world.snapshot(made.dataset_guid, &made.snapshot, Some(&made.stamp), truth);
                if let Some(data) = self.world.data.get_mut(&made.dataset_guid) {
                    data.view.dataset.written = 1;
                }
            }
        }
        for gone in &plan.destroys {
            checks::destroyed(self, gone);
            self.world.destroy(gone.dataset_guid, gone.guid);
        }
        self.state.settle(&plan, &[], &mut self.random);
        next.into_iter().for_each(|(dataset, next)| self.agenda.set(dataset, next.at));
        plan
    }
}

pub fn seconds(value: u64) -> i64 {
    i64::try_from(value).expect("it is short")
}
