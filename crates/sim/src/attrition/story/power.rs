//! The machine is switched off and on again: after an export or without, and with disks in other
//! bays than before.

use engine_api::{Cred, Engine};

use super::Teller;
use crate::attrition::bays::{all_paths, is_large};
use crate::attrition::frozen::found_again;
use crate::attrition::shape::Shape;
use crate::machine::{Machine, POOL};
use crate::promised::Promised;
use crate::swarm::Swarm;
use crate::workload::{Done, failed};

impl Teller {
    /// See the module.
    pub(super) fn restart(&mut self) -> Done {
        let shape = Shape::of(&self.life()?.pool);
        self.open.clear();
        let machine = self.machine.take().expect("it is on");
        let is_export = self.prng.chance(1, 2);
        if is_export {
            machine.engine.export(POOL, false).map_err(failed("export"))?;
            self.files.iter_mut().for_each(Promised::promise);
        }
        drop(machine);
        self.leave_mark(shape.clone())?;
        let moved = if self.prng.chance(1, 2) { self.move_disks() } else { None };
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        if self.verbose {
            let how = if is_export { "export" } else { "power failure" };
            eprintln!("  {how}, import; disks that changed places: {moved:?}");
        }
        if let Some((a, b)) = &moved {
            self.leave_mark(shape.moved(a, b))?;
        }
        let machine = self.world.boot();
        self.import(machine)
    }

    /// Two disks of one size change places, be one of them in nobody's use.
    fn move_disks(&mut self) -> Option<(String, String)> {
        let all: Vec<String> = all_paths(&self.world.swarm).collect();
        let (a, b) = (self.prng.pick(&all)?.clone(), self.prng.pick(&all)?.clone());
        if a == b || is_large(&a) != is_large(&b) {
            return None;
        }
        self.world.disks.exchange(&a, &b);
        for (path, there) in [(&a, self.weak.remove(&b)), (&b, self.weak.remove(&a))] {
            if there {
                self.weak.insert(path.clone());
            }
        }
        Some((a, b))
    }

    /// Files are as they may be then.
    pub(super) fn import(&mut self, machine: Machine) -> Done {
        let txg = machine.newest_group().ok_or("no pool is found")?;
        let api = machine.import().map_err(failed("import"))?;
        self.machine = Some(machine);
        let fs = api.open_fs(POOL).map_err(failed("the file system"))?;
        found_again(&*fs, &mut self.files)?;
        let latest = self.life()?.open_txg();
        self.groups.restart(txg, latest, &self.files);
        for file in &self.files {
            let found = fs.lookup(&Cred::root(), fs.root(), file.name.as_bytes());
            self.open.push((fs.clone(), found.map_err(failed(&file.name))?.node));
        }
        Ok(())
    }
}
