//! `zpool import -F`: where the newest group cannot be believed, an older one is. What comes back
//! is what all files were at the end of one and the same group, the preview says the same as the
//! deed does, and nobody goes back without need.

use engine_api::{Engine, ImportOptions, Rewound};
use pool::verify::{Options as VerifyOptions, verify};
use storage::metaslab::DEFER_TXGS;

use super::{Case, Tally, import, import_as, write};
use crate::attrition::frozen::{Contents, contents};
use crate::disk::tape::Torn;
use crate::machine::{Machine, POOL, World};
use crate::promised::Promised;
use crate::swarm::Swarm;
use crate::workload::{Done, Life, failed};

fn rewinding(readonly: bool) -> ImportOptions {
    ImportOptions { rewind: true, readonly, ..ImportOptions::default() }
}

/// What ends a rescue before it is through.
enum Trouble {
    /// Something cannot be had or done: no wonder, where more was lost than a pool can do without.
    Lost(String),
    Wrong(String),
}

type Step<T> = Result<T, Trouble>;

fn lost<E: std::fmt::Debug>(what: &str) -> impl FnOnce(E) -> Trouble + '_ {
    move |error| Trouble::Lost(failed(what)(error))
}

/// What an import brings.
#[derive(PartialEq, Eq)]
struct Found {
    txg: u64,
    rewound: Option<Rewound>,
    files: Contents,
}

/// An import that may go back, and need not.
pub(super) fn import_without_need<'m>(
    world: &'m World,
    machine: &'m Machine,
    verbose: bool,
) -> Result<Life<'m>, String> {
    let life = import_as(world, machine, verbose, &rewinding(false))?;
    match life.api.status().rewound {
        Some(rewound) => Err(format!("the import goes back without need: {rewound:?}")),
        None => Ok(life),
    }
}

impl Case<'_> {
    /// The last groups are torn, on all disks.
    pub(in crate::attrition) fn go_back(mut self, torn: &Torn) -> Result<Tally, String> {
        for (path, image) in self.story.tape.paths().iter().zip(&torn.images) {
            self.world.disks.set_image(path, image.clone());
        }
        (self.tally.cases, self.tally.beyond) = (1, 1);
        let newest = self.world.boot().newest_group().ok_or("no pool is found")?;
        if self.verbose {
            eprintln!("  groups {} to {newest} are torn", torn.whole + 1);
        }
        // Of older groups the one being written may have used again what they had, or trimmed it.
        let is_sure = self.moment.is_steady && newest <= torn.whole + DEFER_TXGS;
        self.rescue(is_sure.then_some(torn.whole))
    }

    /// Lets an import go back as far as it takes; to this group, if that is sure to be possible.
    pub(super) fn rescue(mut self, sure: Option<u64>) -> Result<Tally, String> {
        self.tally.rewindable += 1;
        match self.try_rescue(sure) {
            Ok(()) => Ok(self.tally),
            Err(Trouble::Lost(why)) if sure.is_none() => {
                if self.verbose {
                    eprintln!("  given up: {why}");
                }
                Ok(self.tally)
            }
            Err(Trouble::Lost(why) | Trouble::Wrong(why)) => Err(why),
        }
    }

    fn try_rescue(&mut self, sure: Option<u64>) -> Step<()> {
        let shown = self.look()?;
        if !self.story.groups.may_be(shown.txg, &self.story.files, &shown.files) {
            let why = format!("the files were never this at the end of a group, as of group {}", shown.txg);
            return Err(Trouble::Wrong(why));
        }
        let is_whole = sure.is_some_and(|txg| shown.txg <= txg);
        if is_whole && (shown.txg < sure.unwrap_or(0) || shown.files.iter().any(Option::is_none)) {
            let why = format!("group {} is whole, and something of it is not found", shown.txg);
            return Err(Trouble::Wrong(why));
        }
        self.preview(&shown).map_err(Trouble::Wrong)?;
        while self.prng.chance(1, 4) {
            self.crash_rescue()?;
        }
        let Some(rewound) = shown.rewound else { return Ok(()) };
        self.tally.rewound += 1;
        self.settle(&shown, rewound, sure.is_some())
    }

    /// What an import finds, and nothing stays of.
    fn look(&mut self) -> Step<Found> {
        let machine = self.world.boot();
        let life = import_as(&self.world, &machine, self.verbose, &rewinding(true)).map_err(Trouble::Lost)?;
        let fs = life.api.open_fs(POOL).map_err(lost("the file system"))?;
        let found = Found {
            txg: life.synced(),
            rewound: life.api.status().rewound,
            files: contents(&*fs, &self.story.files),
        };
        drop((fs, life));
        machine.engine.export(POOL, false).map_err(lost("export"))?;
        Ok(found)
    }

    /// `-n` says the same, and changes nothing.
    fn preview(&mut self, shown: &Found) -> Done {
        let before = self.world.disks.events();
        let machine = self.world.boot();
        let options = ImportOptions { dry_run: true, ..rewinding(false) };
        let told = machine.import_as(&options).map_err(failed("the preview"))?.status().rewound;
        drop(machine);
        if told != shown.rewound {
            return Err(format!("the preview says {told:?}, the import {:?}", shown.rewound));
        }
        match self.world.disks.events() - before {
            0 => Ok(()),
            events => Err(format!("the preview wrote or flushed {events} times")),
        }
    }

    /// The power goes while an import goes back.
    fn crash_rescue(&mut self) -> Step<()> {
        self.world.disks.cut_after(self.prng.below(120));
        let machine = self.world.boot();
        let imported = machine.import_as(&rewinding(false)).map(drop);
        drop(machine);
        if self.world.disks.is_on() {
            imported.map_err(lost("import -F"))?;
        }
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        self.tally.cases += 1;
        Ok(())
    }

    /// The import goes back for good: what was shown is there, and what is done then is there after
    /// a power failure. `is_whole`: there is a group of which nothing is lost, older blocks
    /// neither.
    fn settle(&mut self, shown: &Found, rewound: Rewound, is_whole: bool) -> Step<()> {
        let machine = self.world.boot();
        let life =
            import_as(&self.world, &machine, self.verbose, &rewinding(false)).map_err(Trouble::Lost)?;
        let fs = life.api.open_fs(POOL).map_err(lost("the file system"))?;
        let found = contents(&*fs, &self.story.files);
        if found != shown.files {
            let why = format!("the import finds something else than it has shown: {rewound:?}");
            return Err(Trouble::Wrong(why));
        }
        if is_whole && rewound.data_errors == 0 && self.prng.chance(1, 3) {
            let report = verify(&life.pool, VerifyOptions { data: true }, &mut |_, _| {});
            let report = report.map_err(lost("verify"))?;
            if !report.is_clean() {
                let why = format!("after going back verify finds {:?}", report.problems);
                return Err(Trouble::Wrong(why));
            }
        }
        let mut files = Vec::new();
        for (file, found) in self.story.files.iter().zip(found) {
            let Some(found) = found else { continue };
            let mut file = Promised::new(file.dataset, file.name.clone());
            file.restart(found);
            if write(&mut self.prng, &*fs, &mut file).map_err(lost("a write"))? {
                file.promise();
            }
            files.push(file);
        }
        drop((fs, life));
        drop(machine);
        self.world.disks.restart(Swarm::draw_loss(&mut self.prng));
        let machine = self.world.boot();
        let life = import(&self.world, &machine, self.verbose)
            .map_err(|why| Trouble::Lost(format!("after going back: {why}")))?;
        let fs = life.api.open_fs(POOL).map_err(lost("the file system"))?;
        for (file, found) in files.iter().zip(contents(&*fs, &files)) {
            let Some(found) = found else {
                return Err(Trouble::Lost(format!("after going back {} cannot be read", file.name)));
            };
            if !file.may_be(&found, true) {
                let why = format!("after going back {} is nothing that it may be", file.name);
                return Err(Trouble::Wrong(why));
            }
        }
        Ok(())
    }
}
