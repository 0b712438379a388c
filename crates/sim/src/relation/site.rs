//! An appliance of the simulation: a pool on simulated disks, what services keep, and the program
//! that runs until the power goes or somebody ends it.

use std::sync::Arc;

use api_types::{Problem, kind};
use appliance::{Appliance, Failure, Services};
use engine_api::{Change, Engine, Error, Pool};
use stdx::prng::Prng;

use super::line::{Net, Place};
use super::outside::{Drawer, NoMounts, Outside};
use crate::disk::Loss;
use crate::machine::{Machine, POOL, World, properties};
use crate::swarm::Swarm;
use crate::workload::{Done, failed, whole};

/// Nothing of what was written is lost.
const NO_LOSS: Loss = Loss { kept: 100, torn: 0 };

/// Groups after which nothing is under way any more.
const GROUPS: usize = 3;

/// See the module.
pub struct Site {
    pub me: usize,
    pub world: World,
    machine: Option<Machine>,
    pub drawer: Arc<Drawer>,
    net: Arc<Net>,
    boots: u64,
}

impl Site {
    /// With a new pool, switched on.
    pub fn new(net: &Arc<Net>, me: usize, prng: &mut Prng) -> Result<Site, String> {
        let mut world = World::of(Swarm::draw_calm(prng), prng);
        let machine = world.boot();
        machine.create(&world.swarm).map_err(failed("creating the pool"))?;
        let drawer = Drawer::new(&world.disks);
        let mut site = Site { me, world, machine: Some(machine), drawer, net: net.clone(), boots: 0 };
        site.open(prng)?;
        Ok(site)
    }

    fn open(&mut self, prng: &mut Prng) -> Done {
        let machine = self.machine.as_ref().ok_or("it is off")?;
        self.boots += 1;
        let (time, disks) = (self.world.time.clone(), self.world.disks.clone());
        let begun = time.now().0 / 1_000_000_000;
        let outside = Outside {
            net: self.net.clone(),
            me: self.me,
            boot: (self.boots, begun),
            time: time.clone(),
            seed: prng.below(u64::MAX),
        };
        let engine: Arc<dyn Engine> = machine.engine.clone();
        let appliance = Appliance::new(engine.clone(), Arc::new(NoMounts), false);
        let problem = |failure: Failure| Problem {
            kind: kind::REFUSED.to_owned(),
            title: String::new(),
            status: 409,
            detail: format!("{failure:?}"),
            refused: None,
            second_factors: None,
            service_fault: None,
            exit: 1,
        };
        let services = Services::new(engine, Arc::new(outside), self.drawer.clone(), problem);
        self.net.set(self.me, Some(Place { appliance: Arc::new(appliance), services, disks, time }));
        Ok(())
    }

    pub fn is_on(&self) -> bool {
        self.machine.is_some() && self.world.disks.is_on()
    }

    pub fn pool(&self) -> Result<Arc<dyn Pool>, String> {
        let machine = self.machine.as_ref().ok_or("it is off")?;
        machine.engine.pool(POOL).map_err(failed("the pool"))
    }

    /// Ends the program: the power went, or goes with it, and takes with it what `loss` says.
    fn off(&mut self, loss: Loss) {
        self.net.set(self.me, None);
        self.machine = None;
        self.world.disks.restart(loss);
    }

    /// Switches it on again, however often the power goes meanwhile.
    pub fn restart(&mut self, prng: &mut Prng) -> Done {
        self.off(Swarm::draw_loss(prng));
        loop {
            if prng.chance(1, 6) {
                self.world.disks.cut_after(prng.below(60));
            }
            let machine = self.world.boot();
            match machine.import() {
                Ok(_) => {
                    self.machine = Some(machine);
                    break;
                }
                Err(error) if self.world.disks.is_on() => return Err(format!("import: {error:?}")),
                Err(_) => {}
            }
            drop(machine);
            self.world.disks.restart(Swarm::draw_loss(prng));
        }
        self.open(prng)
    }

    /// Only the program ends: what it told the disks is there.
    pub fn kill(&mut self, prng: &mut Prng) -> Done {
        self.off(NO_LOSS);
        let machine = self.world.boot();
        machine.import().map_err(failed("import"))?;
        self.machine = Some(machine);
        self.open(prng)
    }

    /// The pool takes this much more, or as much as it can.
    pub fn set_room(&self, room: Option<u64>) -> Done {
        let pool = self.pool()?;
        let quota = match room {
            None => "none".to_owned(),
            Some(room) => {
                let used = pool.settings(POOL).map_err(failed("the root"))?.number("used");
                (used + room).to_string()
            }
        };
        let change = Change::SetProperties { name: POOL.to_owned(), props: properties(&[("quota", &quota)]) };
        match pool.commit(&change, "") {
            // More was written meanwhile.
            Err(Error::Refused(_)) if room.is_some() => Ok(()),
            Err(error) if self.is_on() => Err(format!("quota={quota}: {error:?}")),
            _ => Ok(()),
        }
    }

    /// The last look at a pool: nothing leaks, and all can be read.
    pub fn verify(&self) -> Done {
        let machine = self.machine.as_ref().ok_or("it is off")?;
        let pool = machine.engine.pool_below(POOL).map_err(failed("the pool"))?;
        // What a receive has left goes in groups to come.
        for _ in 0..GROUPS {
            pool.core().txgs.sync_now().map_err(failed("a group"))?;
        }
        whole(&pool)
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // The net and the services know each other.
        self.net.set(self.me, None);
    }
}
