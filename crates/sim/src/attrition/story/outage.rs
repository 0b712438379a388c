//! More fails for a while than redundancy allows, under a pool in use: disks are without power, and
//! the pool is suspended until an operator clears it or gives it up; or all disks give wrong bytes
//! now and then. Nothing of it may last.

use engine_api::{Change, Engine, ScanCommand};
use env::{Driver, Nanos, Quirk, WorkerHandle};

use super::Teller;
use crate::attrition::bays::all_paths;
use crate::attrition::frozen::content;
use crate::attrition::mend::scan_ends;
use crate::attrition::shape::Shape;
use crate::disk::Faults;
use crate::machine::POOL;
use crate::operator::Operator;
use crate::swarm::Swarm;
use crate::workload::{Done, failed};

/// Writes and flushes before an outage, at the most, and calls that are made until it has come and
/// is over.
const EVENTS: u64 = 60;
const CALLS: usize = 60;
/// Of a million reads of all disks, so many give wrong bytes.
const BLUR: [u32; 2] = [50_000, 300_000];
/// Seconds until the pool is well again.
const PATIENCE: u32 = 240;

impl Teller {
    /// Disks lose their power, and come back with what they had; beside disks that were pulled that
    /// could be too much.
    pub(super) fn outage(&mut self) -> Done {
        let shape = Shape::of(&self.life()?.pool);
        let paths = self.indispensable(&shape);
        if paths.is_empty() || self.away().next().is_some() {
            return Ok(());
        }
        let is_panic = self.life()?.pool.core().storage.suspension().mode() == storage::FailMode::Panic;
        let gives_up = is_panic || self.prng.chance(1, 3);
        self.life()?.say(|| format!("an outage of {paths:?}; given up: {gives_up}"));
        let loss = Swarm::draw_loss(&mut self.prng);
        self.world.disks.outage_of(paths, self.prng.below(EVENTS), loss);
        self.had_outage = true;
        let operator = self.call_operator(gives_up)?;
        let mut is_over = false;
        for _ in 0..CALLS {
            // What fails may have been done.
            let _ = self.write();
            let life = self.life()?;
            let _ = life.pool.core().txgs.sync_now();
            is_over = !self.world.disks.has_outage_planned() && !self.world.disks.is_out();
            if is_over {
                break;
            }
            life.machine.env.clock.sleep(Nanos::from_secs(1));
        }
        operator.stop_and_join();
        if !is_over {
            return Err("an outage does not end".to_owned());
        }
        if self.life()?.pool.core().storage.suspension().is_patient() {
            self.recover()?;
            return self.settle_doubts();
        }
        self.open.clear();
        let machine = self.machine.take().expect("it is on");
        machine.engine.export(POOL, true).map_err(failed("export -f"))?;
        machine.env.quirks.set(Quirk::NoOperator, true);
        self.import(machine)?;
        self.recover()
    }

    /// What failed was done or not: which of them is known from now on.
    fn settle_doubts(&mut self) -> Done {
        for (file, (fs, _)) in self.files.iter_mut().zip(&self.open).filter(|(file, _)| file.is_doubtful()) {
            let found = content(&**fs, &file.name).map_err(failed(&file.name))?;
            if !file.may_have_been_at(&found, file.span().1 - 1) {
                return Err(format!("after an outage {} is nothing that it may be", file.name));
            }
            file.seen(found);
        }
        Ok(())
    }

    /// What is read meanwhile is right or an error. What a scrub could not read it can read
    /// afterwards, and nothing is called lost any more.
    pub(super) fn blur(&mut self) -> Done {
        let shape = Shape::of(&self.life()?.pool);
        let is_panic = self.life()?.pool.core().storage.suspension().mode() == storage::FailMode::Panic;
        // A sequential rebuild would believe what it reads.
        if is_panic || !shape.is_settled() {
            return Ok(());
        }
        let operator = self.call_operator(false)?;
        let corrupt = *self.prng.pick(&BLUR).expect("some");
        let sides = shape.sides().into_iter().map(|side| side.path.clone());
        let sound: Vec<String> = sides.filter(|path| self.is_sound(path)).collect();
        let set = |faults| sound.iter().for_each(|path| self.world.disks.set_faults(path, faults));
        set(Faults { corrupt, ..Faults::default() });
        let life = self.life()?;
        let _ = life.api.commit(&Change::Scan(ScanCommand::Scrub), "");
        for (file, (fs, _)) in self.files.iter().zip(&self.open) {
            if content(&**fs, &file.name).is_ok_and(|found| found != file.now()) {
                return Err(format!("{} is something else", file.name));
            }
            life.machine.env.clock.sleep(Nanos::from_secs(1));
        }
        set(Faults::default());
        operator.stop_and_join();
        self.recover()?;
        self.forget_errors()
    }

    /// A scrub of the known errors finds that there are none, or one of everything.
    fn forget_errors(&self) -> Done {
        let command = if self.by_head { ScanCommand::ScrubErrors } else { ScanCommand::Scrub };
        let life = self.life()?;
        let count = || life.api.status().data_errors;
        life.say(|| format!("{} errors", count()));
        for _ in 0..PATIENCE {
            if count() == 0 {
                return Ok(());
            }
            self.change(&Change::Scan(command))?;
            life.machine.env.clock.sleep(Nanos::from_secs(1));
        }
        Err(format!("{} errors stay known that there are not any more", count()))
    }

    /// All disks of the pool, or of a top-level vdev so many that nothing can be had of it, and of
    /// none else any.
    fn indispensable(&mut self, shape: &Shape) -> Vec<String> {
        if self.prng.chance(1, 2) {
            return all_paths(&self.world.swarm).collect();
        }
        let stat = self.life().expect("the pool is imported").pool.core().storage.status();
        let tops = shape.tops().into_iter().zip(stat.children).filter(|(_, top)| !top.is_log);
        let tops: Vec<Vec<String>> = tops.map(|(paths, _)| paths).collect();
        let Some(mut paths) = self.prng.pick(&tops).cloned() else { return Vec::new() };
        while paths.len() > 1 && self.prng.chance(1, 2) {
            let spared = paths.swap_remove(self.prng.below(paths.len() as u64) as usize);
            if shape.can_be_had(&|path| !paths.iter().any(|out| out == path)) {
                paths.push(spared);
                break;
            }
        }
        paths
    }

    /// From now on pools wait for him.
    fn call_operator(&mut self, gives_up: bool) -> Result<WorkerHandle, String> {
        let prng = self.prng.fork();
        let life = self.life()?;
        life.machine.env.quirks.set(Quirk::NoOperator, false);
        let mut operator = Operator::new(&life.pool, &self.world.disks, prng);
        operator.gives_up = gives_up;
        Ok(life.machine.driver.spawn(Box::new(operator)))
    }

    /// Whatever was given up for its errors is used again, and gets what it missed, as those do too
    /// that count as whole because nobody was. Until it has, a disk that errs once can be one too
    /// many: so somebody is there to clear that.
    fn recover(&mut self) -> Done {
        let operator = self.call_operator(false)?;
        self.use_all_again()?;
        operator.stop_and_join();
        self.life()?.machine.env.quirks.set(Quirk::NoOperator, true);
        Ok(())
    }

    fn use_all_again(&mut self) -> Done {
        for _ in 0..PATIENCE {
            self.change(&Change::ClearErrors { guid: None })?;
            let is_begun = self.change(&Change::Scan(ScanCommand::Resilver))?;
            let life = self.life()?;
            scan_ends(&life)?;
            if is_begun && Shape::of(&life.pool).is_held(&|path| self.is_sound(path)) {
                return Ok(());
            }
            life.machine.env.clock.sleep(Nanos::from_secs(1));
        }
        Err("the pool does not recover".to_owned())
    }
}
