//! The power goes while a copy is received.

use std::collections::BTreeSet;

use env::Nanos;
use stdx::prng::Prng;

use super::contents::{Contents, Heads, Marks, Seen, heads, marks, see};
use super::transfer::{Transfer, token_of};
use super::{Options, Tally};
use crate::disk::tape::Tape;
use crate::machine::{POOL, World};
use crate::swarm::Swarm;
use crate::workload::{Done, Life, failed, whole};

/// A receive, write by write.
pub struct Recorded {
    tape: Tape,
    transfer: Transfer,
    stream: Vec<u8>,
    /// Datasets and snapshots of the copy, before and after.
    before: BTreeSet<String>,
    after: BTreeSet<String>,
    /// Heads that were there before and are not after it.
    leavers: Heads,
    /// The copy's bookmarks, before, after and in between.
    marks: Marks,
    now: Nanos,
}

fn names(seen: Vec<Seen>) -> BTreeSet<String> {
    seen.into_iter().map(|one| one.name).collect()
}

impl Recorded {
    pub fn record(life: &Life<'_>, transfer: Transfer, marks: Marks) -> Result<Recorded, String> {
        let (api, disks) = (&*life.api, &life.world.disks);
        let stream = transfer.stream(api)?;
        let before = see(api, transfer.to)?;
        life.pool.core().txgs.sync_now().map_err(failed("a group"))?;
        disks.start_tape();
        transfer.receive(api, &stream)?;
        let tape = disks.take_tape().ok_or("no tape runs")?;
        let after = see(api, transfer.to)?;
        let mut leavers = heads(&before);
        leavers.retain(|guid, _| after.iter().all(|one| one.guid != *guid));
        let (before, after) = (names(before), names(after));
        let now = life.machine.env.clock.now();
        Ok(Recorded { tape, transfer, stream, before, after, leavers, marks, now })
    }

    /// Where the copy is.
    pub fn root(&self) -> &str {
        self.transfer.to
    }

    /// Lets the power go everywhere, and looks at what that leaves.
    pub fn cut(
        &self,
        swarm: &Swarm,
        contents: &Contents,
        options: &Options,
        mut prng: Prng,
        tally: &mut Tally,
    ) -> Done {
        let mut player = self.tape.play();
        for n in 0..options.cuts {
            let mut prng = prng.fork();
            let at = player.forward_into(n, options.cuts, &mut prng);
            let mut world = World::of(swarm.clone(), &mut prng);
            world.time.advance_to(self.now);
            world.lay(&self.tape, &player, Swarm::draw_loss, &mut prng);
            let what =
                |why| format!("cut {n}, event {at} of {}, {:?}: {why}", self.tape.len(), self.transfer);
            self.look(&mut world, contents, options.verbose, tally).map_err(what)?;
        }
        Ok(())
    }

    /// What is there is whole; and what is not there can be received.
    fn look(&self, world: &mut World, contents: &Contents, verbose: bool, tally: &mut Tally) -> Done {
        let machine = world.boot();
        let api = machine.import().map_err(failed("import"))?;
        let pool = machine.engine.pool_below(POOL).map_err(failed("the imported pool"))?;
        let life = Life { world, machine: &machine, api, pool, verbose };
        let api = &*life.api;
        tally.cuts += 1;
        if let Some((dataset, rest)) = self.left(&life)? {
            tally.left += 1;
            self.transfer.receive_into(api, &dataset, &rest)?;
        }
        contents.check_with_leavers(api, self.root(), &self.leavers)?;
        let found = names(see(api, self.root())?);
        if self.transfer.send.replicate {
            // A tree is changed in many steps. As long as things have gone and nothing has come,
            // the stream does the rest; to begin again later is not asked of anybody.
            if !found.is_subset(&self.before) {
                return Ok(());
            }
        } else if !(self.before.is_subset(&found) && found.is_subset(&self.after)) {
            return Err(format!("there are {found:?}"));
        }
        if found != self.after {
            self.transfer.receive(api, &self.stream)?;
            contents.check(api, self.root())?;
        }
        let found = names(see(api, self.root())?);
        let marks = marks(api, self.root())?;
        if marks != self.marks {
            return Err(format!("in the end there are bookmarks {marks:?}, not {:?}", self.marks));
        }
        if found != self.after {
            return Err(format!("in the end there are {found:?}, not {:?}", self.after));
        }
        // It costs more than all the rest.
        if tally.cuts.is_multiple_of(4) { whole(&life.pool) } else { Ok(()) }
    }

    /// The rest of what was being received, if that can be gone on with, and where it goes. Nobody
    /// sees any of it.
    fn left(&self, life: &Life<'_>) -> Result<Option<(String, Vec<u8>)>, String> {
        let api = &*life.api;
        for seen in see(api, self.root())?.into_iter().filter(|seen| !seen.name.contains('@')) {
            let token = token_of(api, &seen.name)?;
            if seen.is_inconsistent && (token.is_none() || api.open_fs(&seen.name).is_ok()) {
                return Err(format!("{} is there by half", seen.name));
            }
            let Some(token) = token else { continue };
            if !self.transfer.resumable {
                return Err(format!("{} waits to be resumed, which nobody has asked for", seen.name));
            }
            life.say(|| format!("{} waits to be resumed", seen.name));
            return Ok(Some((seen.name, self.transfer.rest(api, &token)?)));
        }
        Ok(None)
    }
}
