//! More is lost than redundancy allows.

use engine_api::{Engine, FileSystem};

use super::{Candidate, Case, Tally, check, import, write};
use crate::attrition::frozen::content;
use crate::attrition::harm::Harms;
use crate::attrition::shape::Shape;
use crate::disk::Faults;
use crate::machine::POOL;
use crate::promised::Promised;
use crate::swarm::Swarm;
use crate::workload::{Done, failed};

/// Calls between the losses of two disks, at the most.
const CALLS: u64 = 5;

impl Case<'_> {
    /// Disks were harmed while the power was off. Whatever can be had must have been written once.
    /// A disk may have all files as they were when it was so. `is_steady`: disks answer twice in
    /// the same way.
    pub(super) fn look_beyond(mut self, is_steady: bool) -> Result<Tally, String> {
        self.tally.beyond += 1;
        let machine = self.world.boot();
        let Ok(life) = import(&self.world, &machine, self.verbose) else {
            drop(machine);
            self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
            return if is_steady { self.rescue(None) } else { Ok(self.tally) };
        };
        self.tally.beyond_imported += 1;
        if let Ok(fs) = life.api.open_fs(POOL) {
            for (file, span) in self.story.files.iter().zip(&self.moment.marks[1].spans) {
                distrust(&*fs, file, (0, span.1))?;
            }
        }
        for mark in self.moment.marks {
            mark.frozen.iter().try_for_each(|frozen| frozen.distrust(&life))?;
        }
        Ok(self.tally)
    }

    /// The pool runs, and one disk after the other goes or fails, until more is lost than it can do
    /// without; then all are back. What was answered meanwhile was true, and all that was promised
    /// is there then.
    pub(super) fn lose_for_a_while(mut self) -> Result<Tally, String> {
        self.lay_all(&Harms::default());
        (self.tally.cases, self.tally.beyond, self.tally.beyond_imported) = (1, 1, 1);
        let files = self.files(self.moment.marks.map(|mark| &mark.spans[..]));
        let machine = self.world.boot();
        let life = import(&self.world, &machine, self.verbose)?;
        let mut files = check(&life, &files)?;
        let fs = life.api.open_fs(POOL).map_err(failed("the file system"))?;
        let shape = Shape::of(&life.pool);
        let mut members: Vec<String> = shape.sides().into_iter().map(|side| side.path.clone()).collect();
        drop(life);
        let mut lost: Vec<String> = Vec::new();
        while shape.is_held(&|path| !lost.iter().any(|gone| gone == path)) && !members.is_empty() {
            self.call(&*fs, &mut files)?;
            let path = members.swap_remove(self.prng.below(members.len() as u64) as usize);
            self.lose(&path);
            lost.push(path);
        }
        self.call(&*fs, &mut files)?;
        drop(fs);
        if self.prng.chance(1, 4) {
            // It may say no, and must come to an end.
            self.tally.failed += u64::from(machine.engine.export(POOL, false).is_err());
        }
        drop(machine);
        for path in self.story.tape.paths() {
            self.world.disks.set_away(path, false);
            self.world.disks.set_faults(path, Faults::default());
        }
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        let machine = self.world.boot();
        let life = import(&self.world, &machine, self.verbose)
            .map_err(|why| format!("with all disks back: {why}"))?;
        let files: Vec<Candidate<'_>> =
            files.iter().map(|file| Candidate { file, span: file.span() }).collect();
        check(&life, &files).map_err(|why| format!("with all disks back: {why}"))?;
        self.check_frozen(&life)?;
        Ok(self.tally)
    }

    /// It goes, or fails at all it is asked to do, or at much of it.
    fn lose(&mut self, path: &str) {
        if self.verbose {
            eprintln!("  {path} is lost for a while");
        }
        let rate = *self.prng.pick(&[300_000, 1_000_000]).expect("some");
        let none = Faults::default();
        match self.prng.below(5) {
            0 => self.world.disks.set_faults(path, Faults { read: rate, ..none }),
            1 => self.world.disks.set_faults(path, Faults { write: rate, flush: rate, ..none }),
            _ => self.world.disks.pull(path, Swarm::draw_loss(&mut self.prng)),
        }
    }

    /// Some reads and writes.
    fn call(&mut self, fs: &dyn FileSystem, files: &mut [Promised]) -> Done {
        for _ in 0..self.prng.below(CALLS) + 1 {
            let file = &mut files[self.prng.below(files.len() as u64) as usize];
            let is_answered = if self.prng.chance(1, 3) {
                distrust(fs, file, file.span())?
            } else {
                let promised = write(&mut self.prng, fs, file);
                if promised == Ok(true) {
                    file.promise();
                }
                promised.is_ok()
            };
            *if is_answered { &mut self.tally.answered } else { &mut self.tally.failed } += 1;
        }
        Ok(())
    }
}

/// What can be had of a file is what it may have been in this span; whether it could be had.
fn distrust(fs: &dyn FileSystem, file: &Promised, span: (usize, usize)) -> Result<bool, String> {
    match content(fs, &file.name) {
        Ok(bytes) if file.may_have_been(&bytes, span) => Ok(true),
        Ok(_) => Err(format!("beyond redundancy {} is what it never was", file.name)),
        Err(_) => Ok(false),
    }
}
