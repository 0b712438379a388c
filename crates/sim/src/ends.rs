//! How a life of a pool ends, at any of its writes to the disks: the power goes, or the program
//! dies and the machine goes on, with what the disks were told and what is in memory that outlives
//! programs.

use engine_api::Pool;
use env::Nanos;
use stdx::prng::Prng;

use crate::disk::Loss;
use crate::disk::tape::Tape;
use crate::machine::{Machine, POOL, World};
use crate::memory::{MemoryTape, SimMemory};
use crate::swarm::Swarm;
use crate::workload::{Done, failed, whole};

const NO_LOSS: Loss = Loss { kept: 100, torn: 0 };
/// Of ends one is followed by a look at the whole pool.
const VERIFIED: usize = 6;

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Power,
    Program,
}

impl End {
    /// What becomes of what disks were told and have not flushed.
    fn draw_loss(self, prng: &mut Prng) -> Loss {
        match self {
            End::Power => Swarm::draw_loss(prng),
            End::Program => NO_LOSS,
        }
    }
}

/// A life, write by write, and what was done in it.
pub struct Recorded<J> {
    pub tape: Tape,
    pub memory: MemoryTape,
    pub journal: J,
    pub now: Nanos,
}

impl<J> Recorded<J> {
    /// Lets the life end so many times, everywhere, in the ways that `draw` draws. `look` is given
    /// the machine as that left it, and the number, way and moment of the end. Gives the last of
    /// the machines, with what was found there.
    pub fn end<T>(
        &self,
        swarm: &Swarm,
        times: usize,
        prng: &mut Prng,
        draw: impl Fn(&mut Prng) -> End,
        mut look: impl FnMut(&mut World, (usize, End, usize), &mut Prng) -> Result<T, String>,
    ) -> Result<(World, T), String> {
        let mut player = self.tape.play();
        let mut last = None;
        for n in 0..times {
            let mut prng = prng.fork();
            let at = player.forward_into(n, times, &mut prng);
            let mut world = World::of(swarm.clone(), &mut prng);
            world.time.advance_to(self.now);
            let end = draw(&mut prng);
            let loss = end.draw_loss(&mut prng);
            world.lay(&self.tape, &player, |_| loss, &mut prng);
            world.memory = Some(match end {
                End::Program => SimMemory::with(self.memory.at_death(at, &mut prng), &world.disks),
                End::Power => SimMemory::new(&world.disks),
            });
            let found = look(&mut world, (n, end, at), &mut prng)?;
            last = Some((world, found));
        }
        last.ok_or_else(|| "the power never went".to_owned())
    }
}

/// With a chance of one in `of`, again and again, it ends so while the pool is imported and opened.
pub fn crash_imports(
    world: &mut World,
    of: u64,
    end: End,
    open: impl Fn(&dyn Pool) -> engine_api::Result<()>,
    prng: &mut Prng,
) -> Done {
    while prng.chance(1, of) {
        world.disks.cut_after(prng.below(80));
        let machine = world.boot();
        let opened = machine.import().and_then(|api| open(&*api));
        drop(machine);
        if opened.is_err() && world.disks.is_on() {
            return Err(format!("import: {opened:?}"));
        }
        world.disks.restart(end.draw_loss(prng));
    }
    Ok(())
}

/// The look after the `n`-th end is over. Nothing of the look itself is lost.
pub fn switch_off(world: &World, machine: Machine, n: usize) -> Done {
    if n % VERIFIED == VERIFIED - 1 {
        let pool = machine.engine.pool_below(POOL).map_err(failed("the pool"))?;
        whole(&pool)?;
    }
    drop(machine);
    world.disks.restart(NO_LOSS);
    Ok(())
}
