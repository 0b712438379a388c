//! The chain of events that once destroyed a real pool, in every order: a log device fails or is
//! reset, is replaced, the machine crashes or is shut down in between, and the old device comes
//! back, so that both are there.
//!
//! After every event something is written and acknowledged. Every acknowledged write must be there
//! after each import; but for those of groups that were not durable yet when the only log that had
//! them was reset and the power went.

use std::sync::Arc;

use engine_api::refusal::{ImportFault, Reason, VdevFault};
use engine_api::{
    Change, CreateMode, Cred, Engine, Error, FileSystem, Health, ImportOptions, NodeId, SetAttr,
};
use engine_api::{NewDevice, Stable, VdevStatus};
use pool::verify::{Options as VerifyOptions, verify};
use sim::disk::{Faults, Loss};
use sim::machine::{Machine, POOL, World};
use sim::swarm::{Layout, Swarm};
use stdx::prng::Prng;

const FILES: u64 = 3;
/// A copy of the log device as it was at the beginning. Its name sorts before the others.
const OLD: &str = "/sim/a-old";
const NEW: &str = "/sim/new";
const FAILING: Faults =
    Faults { read: 0, corrupt: 0, write: 1_000_000, stuck: 0, flush: 0, lost: 0, misdirected: 0 };

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// The log device takes no writes until the machine is switched off.
    Fail,
    /// The log device is all zeros.
    Reset,
    Replace,
    Crash,
    Export,
    OldReturns,
    /// The second side of a mirror goes.
    Detach,
}

/// An acknowledged write.
#[derive(Clone, Copy, Debug)]
struct Promise {
    file: u64,
    number: u64,
    /// The group it is in, at the latest.
    group: u64,
}

struct Story {
    world: World,
    machine: Option<Machine>,
    fs: Option<Arc<dyn FileSystem>>,
    promises: Vec<Promise>,
    next: u64,
    /// The only log lost what it had: what is in no durable group is lost with a crash.
    at_risk: bool,
    on_log: u64,
}

fn content(number: u64) -> Vec<u8> {
    format!("write {number:08}").into_bytes()
}

impl Story {
    fn new(seed: u64, logs: &'static [usize]) -> Story {
        let mut prng = Prng::new(seed);
        let swarm = Swarm::draw(&mut prng).calm(Layout::Single, logs);
        let mut world = World::of(swarm, &mut prng);
        for path in [OLD, NEW] {
            world.disks.add(path, world.swarm.disk_size, world.swarm.sector);
            world.disks.set_away(path, path == OLD);
        }
        let machine = world.boot();
        machine.create(&world.swarm).expect("a pool");
        let mut story = Story {
            world,
            machine: Some(machine),
            fs: None,
            promises: Vec::new(),
            next: 0,
            at_risk: false,
            on_log: 0,
        };
        story.open();
        let cred = Cred::root();
        let fs = story.fs().clone();
        for file in 0..FILES {
            let name = format!("file{file}");
            let attr = SetAttr { mode: Some(0o644), ..SetAttr::default() };
            fs.create(&cred, fs.root(), name.as_bytes(), CreateMode::Guarded, &attr).expect("a file");
        }
        drop(fs);
        (0..FILES).for_each(|_| story.write());
        story.pool().core().txgs.sync_now().expect("a group");
        (0..FILES).for_each(|_| story.write());
        let log = story.world.swarm.log_paths()[0][0].clone();
        story.world.disks.copy(&log, OLD);
        story
    }

    fn machine(&self) -> &Machine {
        self.machine.as_ref().expect("it is on")
    }

    fn pool(&self) -> Arc<pool::Pool> {
        self.machine().engine.pool_below(POOL).expect("it is imported")
    }

    fn fs(&self) -> &Arc<dyn FileSystem> {
        self.fs.as_ref().expect("it is open")
    }

    fn open(&mut self) {
        let api = self.machine().engine.pool(POOL).expect("it is imported");
        self.fs = Some(api.open_fs(POOL).expect("a file system"));
    }

    fn node(&self, file: u64) -> NodeId {
        let fs = self.fs();
        fs.lookup(&Cred::root(), fs.root(), format!("file{file}").as_bytes()).expect("the file").node
    }

    /// Writes, and has it acknowledged.
    fn write(&mut self) {
        let (file, number) = (self.next % FILES, self.next);
        self.next += 1;
        let written = self.fs().write(&Cred::root(), self.node(file), 0, &content(number), Stable::FileSync);
        written.expect("a write is acknowledged");
        let group = self.pool().core().txgs.open();
        self.promises.push(Promise { file, number, group });
    }

    /// The sides of the log that work, as far as the pool knows.
    fn sides(&self) -> Vec<VdevStatus> {
        let status = self.machine().engine.pool(POOL).expect("it is imported").status();
        let logs = status.root.children.into_iter().filter(|top| top.is_log);
        let leaves = logs.flat_map(|top| if top.children.is_empty() { vec![top] } else { top.children });
        leaves.collect()
    }

    fn working(&self) -> Vec<VdevStatus> {
        let mut sides = self.sides();
        sides.retain(|side| matches!(side.health, Health::Online | Health::Degraded));
        sides
    }

    fn happen(&mut self, event: Event) {
        let first = self.working().into_iter().next();
        match event {
            Event::Fail => {
                if let Some(path) = first.and_then(|side| side.path) {
                    self.world.disks.set_faults(&path, FAILING);
                }
            }
            Event::Reset => {
                if let Some(path) = first.and_then(|side| side.path) {
                    self.world.disks.wipe(&path);
                    self.at_risk |= self.working().len() == 1;
                }
            }
            Event::Replace => self.replace(),
            Event::Detach => self.detach(),
            Event::OldReturns => self.world.disks.set_away(OLD, false),
            Event::Crash => self.crash(),
            Event::Export => self.export(),
        }
    }

    fn change(&self, change: &Change) -> engine_api::Result<()> {
        self.machine().engine.pool(POOL).expect("it is imported").commit(change, "").map(drop)
    }

    fn replace(&mut self) {
        let Some(side) = self.working().into_iter().chain(self.sides()).next() else { return };
        let new = NewDevice { path: Some(NEW.into()), force: true, ..NewDevice::default() };
        let change = Change::ReplaceVdev { guid: side.guid, new };
        self.change(&change).expect("a log can be replaced");
        self.at_risk = false;
    }

    fn detach(&mut self) {
        let Some(side) = self.sides().into_iter().nth(1) else { return };
        match self.change(&Change::DetachVdev { guid: side.guid }) {
            Ok(()) => self.at_risk = false,
            Err(Error::Refused(refused)) => assert_eq!(refused.reason, Reason::Vdev(VdevFault::NoReplicas)),
            Err(error) => panic!("{error:?}"),
        }
    }

    fn crash(&mut self) {
        self.switch_off();
        self.world.disks.restart(Loss { kept: 0, torn: 0 });
        for path in self.world.swarm.log_paths().concat() {
            self.world.disks.set_faults(&path, Faults::default());
        }
        let durable = self.import();
        let lost = std::mem::take(&mut self.at_risk);
        self.check(if lost { durable } else { u64::MAX });
    }

    fn switch_off(&mut self) {
        self.on_log += self.pool().core().zil_stats.slog.count.get();
        self.fs = None;
        self.machine = None;
    }

    fn export(&mut self) {
        self.fs = None;
        self.on_log += self.pool().core().zil_stats.slog.count.get();
        self.machine().engine.export(POOL, false).expect("it can be exported");
        self.machine = None;
        self.world.disks.restart(Loss { kept: 0, torn: 0 });
        self.at_risk = false;
        self.import();
        self.check(u64::MAX);
    }

    /// Gives the group that was durable before.
    fn import(&mut self) -> u64 {
        let machine = self.world.boot();
        let durable = machine.newest_group().expect("there are uberblocks");
        let plain = machine.engine.import(POOL, &ImportOptions::default());
        match plain {
            Ok(_) => {}
            Err(Error::Refused(refused))
                if matches!(refused.reason, Reason::Import(ImportFault::MissingLogs { .. })) =>
            {
                let options = ImportOptions { missing_log: true, ..ImportOptions::default() };
                machine.engine.import(POOL, &options).expect("it can be imported without its log");
            }
            Err(error) => panic!("{error:?}"),
        }
        self.machine = Some(machine);
        durable
    }

    /// Holds what is there against what was promised in groups up to `durable`.
    fn check(&mut self, durable: u64) {
        self.open();
        let read = |file: u64| {
            let found = self.fs().read(&Cred::root(), self.node(file), 0, 64).expect("it can be read");
            found.to_vec()
        };
        let mut there = Vec::new();
        for file in 0..FILES {
            let mut promised: Vec<Promise> =
                self.promises.iter().filter(|promise| promise.file == file).copied().collect();
            let Some(last) = promised.last().copied() else { continue };
            // What may be lost is what no durable group has; what is there must be something that
            // was written.
            let floor = promised.iter().rposition(|promise| promise.group <= durable).unwrap_or(0);
            let found = read(file);
            let allowed = promised.split_off(floor);
            let Some(known) = allowed.iter().find(|promise| content(promise.number) == found) else {
                let found = String::from_utf8_lossy(&found);
                panic!("file {file}: {found:?}, promised was {last:?}, durable {durable}");
            };
            there.push(Promise { group: 0, ..*known });
        }
        // From here on what is there counts.
        self.promises = there;
    }

    /// The pool is whole: what went wrong on the way to here shows now, too.
    fn verify(&self) {
        let report =
            verify(&self.pool(), VerifyOptions { data: true }, &mut |_, _| {}).expect("it can be read");
        assert!(report.is_clean(), "{:?}", report.problems);
    }
}

/// Calls `each` with every order of the events.
fn permute(events: &mut Vec<Event>, from: usize, each: &mut dyn FnMut(&[Event])) {
    if from == events.len() {
        return each(events);
    }
    for n in from..events.len() {
        events.swap(from, n);
        permute(events, from + 1, each);
        events.swap(from, n);
    }
}

fn every_order(logs: &'static [usize], mut events: Vec<Event>) {
    let (mut orders, mut on_log) = (0, 0);
    permute(&mut events, 0, &mut |order| {
        orders += 1;
        let order = order.to_vec();
        let told = std::panic::catch_unwind(|| {
            let mut story = Story::new(orders, logs);
            for event in &order {
                story.happen(*event);
                story.write();
                story.write();
            }
            story.crash();
            story.verify();
            story.switch_off();
            story.on_log
        });
        on_log += told.unwrap_or_else(|_| panic!("order {orders}: {order:?}"));
    });
    assert_eq!(orders, (1..=events.len() as u64).product::<u64>());
    assert!(on_log > 4 * orders, "{on_log} log blocks on log devices");
}

#[test]
fn a_single_log_in_every_order() {
    use Event::{Crash, Export, Fail, OldReturns, Replace, Reset};
    every_order(&[1], vec![Fail, Reset, Replace, Crash, Export, OldReturns]);
}

#[test]
fn a_mirrored_log_in_every_order() {
    use Event::{Crash, Detach, Fail, OldReturns, Replace, Reset};
    every_order(&[2], vec![Fail, Reset, Replace, Crash, Detach, OldReturns]);
}
