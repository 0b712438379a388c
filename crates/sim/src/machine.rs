//! A simulated machine: disks that last, and an engine that lives from one start to the next crash.

use std::sync::Arc;
use std::time::Duration;

use engine::facade::{LocalEngine, Options};
use engine_api::refusal::{ImportFault, Reason};
use engine_api::{Engine, Error, ImportOptions, PoolSpec, PropertyChange, VdevSpec};
use env::{Env, Keepsake, Quirk, Quirks, Tunable};
use pool::spa::labels::{self, FoundPool};
use stdx::prng::Prng;
use storage::arc::l2::Limits;

use crate::clock::SimClock;
use crate::disk::tape::{Player, Tape};
use crate::disk::{Loss, SimDisks};
use crate::driver::SimDriver;
use crate::entropy::SimEntropy;
use crate::memory::SimMemory;
use crate::swarm::{Layout, Swarm};
use crate::time::Time;
use crate::trace::Trace;

/// The pool's name.
pub const POOL: &str = "sim";
const FOLDER: &str = "/sim";

/// What survives a crash.
pub struct World {
    pub swarm: Swarm,
    pub disks: SimDisks,
    pub time: Time,
    pub trace: Trace,
    /// Whether somebody is there to bring lost disks back, so that pools wait for them.
    pub has_operator: bool,
    /// What outlives programs, until the power goes.
    pub memory: Option<Arc<SimMemory>>,
    prng: Prng,
}

impl World {
    /// New disks for what `prng` draws.
    pub fn new(prng: &mut Prng) -> World {
        let swarm = Swarm::draw(prng);
        World::of(swarm, prng)
    }

    /// New disks for these circumstances.
    pub fn of(swarm: Swarm, prng: &mut Prng) -> World {
        let (time, trace) = (Time::default(), Trace::default());
        let disks = SimDisks::new(prng.fork(), time.clone(), trace.clone());
        for path in swarm
            .all_paths()
            .iter()
            .chain(&swarm.cache_paths().iter().map(|path| old(path)).collect::<Vec<_>>())
        {
            disks.add(path, swarm.disk_size, swarm.sector);
            if swarm.sparse {
                disks.set_sparse(path);
            }
        }
        World { swarm, disks, time, trace, has_operator: false, memory: None, prng: prng.fork() }
    }

    /// Gives each disk what the tape has for it up to here, less what it loses of that now.
    pub fn lay(&self, tape: &Tape, player: &Player<'_>, loss: impl Fn(&mut Prng) -> Loss, prng: &mut Prng) {
        for (path, image) in tape.paths().iter().zip(player.images()) {
            let mut image = image.clone();
            image.crash(self.swarm.sector, loss(prng), prng);
            self.disks.set_image(path, image);
        }
    }

    /// The weak sides begin to fail, if the swarm has it so.
    pub fn start_faults(&self) {
        if let Some(faults) = self.swarm.faults {
            self.swarm.weak_sides().iter().for_each(|path| self.disks.set_faults(path, faults));
        }
    }

    /// Cache devices are, after a power failure, what they were some failures ago, or will be some
    /// later.
    pub fn age_caches(&self, prng: &mut Prng) {
        for path in self.swarm.cache_paths() {
            match prng.below(8) {
                0 => self.disks.copy(&path, &old(&path)),
                1 => self.disks.copy(&old(&path), &path),
                2 => self.disks.wipe(&path),
                _ => {}
            }
        }
    }

    /// The weak sides go away, or come back. They stay if an uberblock is on them alone: a pool
    /// that goes on without it makes a second group of the same number, and nobody could tell later
    /// which of the two was promised.
    pub fn set_away(&mut self, away: bool) {
        let newest = self.boot().newest_group();
        self.move_sides(away);
        if away && self.boot().newest_group() != newest {
            self.move_sides(false);
        }
    }

    fn move_sides(&self, away: bool) {
        self.swarm.weak_sides().iter().for_each(|path| self.disks.set_away(path, away));
    }

    /// Switches the machine on.
    pub fn boot(&mut self) -> Machine {
        let driver = SimDriver::new(self.time.clone(), self.trace.clone(), self.prng.fork());
        let quirks = Quirks::default();
        quirks.set(Quirk::SmallTxg, self.swarm.small_txg);
        quirks.set(Quirk::NoOperator, !self.has_operator);
        let env = Env {
            disks: Arc::new(self.disks.clone()),
            clock: Arc::new(SimClock::new(self.time.clone(), driver.clone())),
            entropy: Arc::new(SimEntropy::new(self.prng.fork())),
            driver: driver.clone(),
            keepsake: self.memory.clone().map(|memory| memory as Arc<dyn Keepsake>),
            quirks,
            tunables: Default::default(),
        };
        let options = Options {
            cache: self.swarm.cache,
            dirty: self.swarm.dirty,
            search: vec![FOLDER.to_owned()],
            ..Options::default()
        };
        let engine = LocalEngine::new(env.clone(), options);
        Machine { env, driver, engine }
    }
}

/// What a crash ends. Dropping it switches it off without a word to the disks.
pub struct Machine {
    pub env: Env,
    pub driver: Arc<SimDriver>,
    pub engine: Arc<LocalEngine>,
}

impl Machine {
    pub fn create(&self, swarm: &Swarm) -> engine_api::Result<Arc<dyn engine_api::Pool>> {
        let top = |sides: Vec<String>| match <[String; 1]>::try_from(sides) {
            Ok([path]) => VdevSpec::Leaf(path),
            Err(sides) => VdevSpec::Mirror(sides.into_iter().map(VdevSpec::Leaf).collect()),
        };
        let data = |disks: Vec<String>| match swarm.layout {
            Layout::Raidz(parity, _) => VdevSpec::Raidz {
                parity: parity as u64,
                children: disks.into_iter().map(VdevSpec::Leaf).collect(),
            },
            _ => top(disks),
        };
        let spec = PoolSpec {
            logs: swarm.log_paths().into_iter().map(top).collect(),
            cache: swarm.cache_paths(),
            spares: Vec::new(),
            name: POOL.to_owned(),
            vdevs: swarm.paths().into_iter().map(data).collect(),
            props: properties(&[
                ("ashift", &swarm.ashift.to_string()),
                ("autotrim", if swarm.autotrim { "on" } else { "off" }),
                // So that a resilver can be begun again.
                ("feature@resilver_defer", "enabled"),
            ]),
            fs_props: properties(&swarm.props),
            // What an attempt before left is no reason to refuse.
            force: true,
            history: "zpool create sim".to_owned(),
            ..PoolSpec::default()
        };
        let api = self.engine.create(&spec)?;
        self.hurry_caches()?;
        Ok(api)
    }

    /// Of several pools of the name, as a disk that left before the pool got another guid may tell,
    /// the one used last; of these the one of which most is there.
    pub fn import(&self) -> engine_api::Result<Arc<dyn engine_api::Pool>> {
        self.import_as(&ImportOptions::default())
    }

    /// The same, not in the usual way.
    pub fn import_as(&self, options: &ImportOptions) -> engine_api::Result<Arc<dyn engine_api::Pool>> {
        let by_name = self.engine.import(POOL, options);
        let api = match by_name {
            Err(Error::Refused(refused)) if refused.reason == Reason::Import(ImportFault::Several) => {
                let newest = |pool: &FoundPool| pool.uberblocks().first().map(|uberblock| uberblock.txg);
                let likely = |pool: &&FoundPool| (newest(pool), pool.devices.len());
                let found = labels::search(&self.env, &[FOLDER.to_owned()]);
                let guid = found.iter().max_by_key(likely).map_or(0, |pool| pool.guid);
                self.engine.import(&guid.to_string(), options)?
            }
            by_name => by_name?,
        };
        if !options.dry_run {
            self.hurry_caches()?;
        }
        Ok(api)
    }

    /// Cache devices are filled often, and found again however small they are.
    fn hurry_caches(&self) -> engine_api::Result<()> {
        let often = Duration::from_millis(50);
        let limits = Limits { interval: often, interval_min: often, ..Limits::default() };
        self.env.tunables.set(Tunable::L2arcRebuildBlocksMinL2size, 0);
        self.engine.pool_below(POOL)?.core().storage.set_cache_limits(limits);
        Ok(())
    }

    /// The transaction group of the newest uberblock on the disks.
    pub fn newest_group(&self) -> Option<u64> {
        let found = labels::search(&self.env, &[FOLDER.to_owned()]);
        found.iter().filter_map(|pool| Some(pool.uberblocks().first()?.txg)).max()
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.driver.shut_down();
        // Storage and space maps know each other; nobody would ever let go of them.
        if let Ok(pool) = self.engine.pool_below(POOL) {
            pool.core().storage.close();
        }
    }
}

/// Where an old state of a disk is kept, out of the machine's sight.
fn old(path: &str) -> String {
    path.replace(FOLDER, "/old")
}

/// As the interface takes them.
pub fn properties(props: &[(&str, &str)]) -> Vec<PropertyChange> {
    props
        .iter()
        .map(|(name, value)| PropertyChange { name: (*name).into(), value: (*value).into() })
        .collect()
}
