//! Attrition: what redundancy is for. Disks of a pool fail, vanish, come back old, are replaced and
//! resilvered, and the power goes at any of the writes that all of this takes.
//!
//! ```text
//!   story, recorded write by write:   ──w──w──F──w──│mark│──w──F──w──w──│mark│── …
//!                                          ▲             ▲
//!   cases, one for each of many events:    └ power goes  └ power goes; disks come to harm; import; check …
//! ```
//! The work is done once ([`story`]), and each case begins with the disks as they were at an event
//! of it ([`case`]): so a case costs an import and a look at all files, and thousands of them are
//! cheap. Or the disks lied, all of them, and the last groups are torn: then an import may go back
//! to an earlier one. A run is a function of its seed.

pub(crate) mod bays;
pub mod case;
pub(crate) mod frozen;
mod groups;
mod harm;
pub(crate) mod mend;
pub(crate) mod shape;
mod story;

use std::path::PathBuf;

use stdx::prng::Prng;

use crate::disk::image::Image;
use crate::disk::tape::{Player, Torn};
use crate::export;
pub use case::Tally;
use case::{Case, Moment};
use story::Story;

/// What to run.
#[derive(Clone, Debug)]
pub struct Options {
    pub seed: u64,
    /// Events at which the power goes.
    pub cuts: usize,
    /// Of the cases, only this one.
    pub only: Option<usize>,
    /// Every case loses more than redundancy allows.
    pub beyond: bool,
    pub verbose: bool,
    /// Ask zdb about what the story left, over files in this folder, which exists.
    pub zdb: Option<PathBuf>,
}

impl Options {
    pub fn new(seed: u64) -> Options {
        Options { seed, cuts: 100, only: None, beyond: false, verbose: false, zdb: None }
    }
}

/// How much of a story a disk that is stale lags behind, at the most; percent.
const STALE: usize = 40;

/// So many steps of a story at the least an import can go back.
const STEADY: usize = 6;

/// One of the last groups is the last that is whole; more often than others the one before the
/// last, for what it needs is the first to be used again where that happens too early, and half of
/// what came later shows it.
fn draw_torn(player: &Player<'_>, prng: &mut Prng) -> Option<Torn> {
    let back = *prng.pick(&[1, 2, 2, 3, 4]).expect("some");
    let lost = *prng.pick(&[5, 50, 50, 100]).expect("some");
    player.torn(back, lost, prng)
}

/// Runs a seed. `Err` says what is wrong with the engine.
pub fn run(options: &Options) -> Result<Tally, String> {
    let mut prng = Prng::new(options.seed);
    let story = Story::tell(&mut prng, options.zdb.is_some(), options.verbose)
        .map_err(|why| format!("story: {why}"))?;
    let mut tally = Tally::default();
    let mut player = story.tape.play();
    let mut earlier: Vec<Image> = player.images().to_vec();
    let (mut age, mut mark) = (0, 0);
    for n in 0..options.cuts {
        let mut prng = prng.fork();
        let at = player.forward_into(n, options.cuts, &mut prng);
        while story.marks[mark + 1].at < at {
            mark += 1;
        }
        if age * 100 > options.cuts * STALE || prng.chance(1, 10) {
            earlier = player.images().to_vec();
            age = 0;
        }
        age += 1;
        if options.only.is_some_and(|only| only != n) {
            continue;
        }
        if options.verbose {
            eprintln!("case {n}: the power goes at event {at} of {}", story.tape.len());
        }
        let marks = [&story.marks[mark], &story.marks[mark + 1]];
        let mut lately = story.marks[mark.saturating_sub(STEADY)..=mark + 1].iter();
        let is_steady = lately.all(|older| older.is_like(marks[1]) && !older.is_after_outage);
        let torn = if prng.chance(1, 8) { draw_torn(&player, &mut prng) } else { None };
        let moment = Moment { images: player.images(), earlier: &earlier, marks, is_steady };
        let case = Case::new(&story, &moment, prng, options.verbose);
        let told = match torn {
            Some(torn) => case.go_back(&torn),
            None => case.run(options.beyond),
        };
        tally += told.map_err(|why| format!("case {n}, event {at}: {why}"))?;
    }
    if let Some(dir) = &options.zdb {
        let paths: Vec<String> = bays::all_paths(&story.swarm).collect();
        export::write_files(&story.world.disks, &paths, dir)?;
        export::zdb(dir)?;
    }
    Ok(tally)
}
