//! Synchronous writes by a client that others wrote (libnfs), from the first second of a pool's
//! life on.
//!
//! Once the pool is on a *sparse* image, whose blocks the disk's file system has to find while they
//! are written, as an image that somebody has just made is; once on one that was written whole.
//! Rounds are rows: nothing is a median, for the first round is what is in question. One connection
//! first, several when the pool is warm.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use load::{Fail, Share};

use crate::contenders::clear;
use crate::options::Options;
use crate::ours::{Build, Ours};
use crate::peers::{self, Disks, Ganesha};
use crate::process::ended;
use crate::results::{Results, Row};

pub const PART: &str = "cold";

/// Bytes of the file, and of the pool's image.
const FILE: u64 = 128 << 20;
const POOL: u64 = 6 << 30;
/// How often a row lasts as long as others do by default.
const SPANS: u32 = 5;
/// In flight, and the ratio to nfs-ganesha that is to be reached.
const DEPTHS: [(u32, f64); 3] = [(1, 1.2), (16, 1.5), (64, 1.5)];
const SEVERAL: u32 = 4;

/// Where libnfs' client was put.
fn client() -> Result<std::path::PathBuf, Fail> {
    let path = std::env::current_exe()?.with_file_name("bench-libnfs");
    if path.exists() { Ok(path) } else { Err("its client is missing: scripts/bench compiles it".into()) }
}

pub fn measure(options: &Options, about: &str) -> Result<Results, Fail> {
    client()?;
    let mut results = Results {
        part: PART.to_owned(),
        title: "NFSv3: synchronous writes of 4 KiB by libnfs, cold and warm".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    for image in [Image::Sparse, Image::Whole] {
        if image.name().contains(&options.only) {
            eprintln!("bench: {PART}: {}", image.name());
            results.rows.extend(on_image(image, options)?);
        }
    }
    Ok(results)
}

/// What the pool is made on.
#[derive(Clone, Copy)]
enum Image {
    Sparse,
    Whole,
}

impl Image {
    fn name(self) -> &'static str {
        match self {
            Image::Sparse => "sparse image",
            Image::Whole => "whole image",
        }
    }

    fn make(self, path: &Path) -> Result<(), Fail> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        match self {
            Image::Sparse => Ok(File::create(path)?.set_len(POOL)?),
            Image::Whole => peers::write_image(path, POOL),
        }
    }
}

/// All rounds on a new pool, beside nfs-ganesha on the disk's own file system.
fn on_image(image: Image, options: &Options) -> Result<Vec<Row>, Fail> {
    let dir = &options.dir;
    clear(dir)?;
    let build = Build::own(options)?;
    image.make(&build.image())?;
    let daemon = Ours::start(build, &[])?;
    daemon.make_pool()?;
    let share = daemon.make_share()?;
    let disks = Disks::mount(dir, POOL, false)?;
    let ganesha = Ganesha::start(dir, &disks.of(&["ext4"]))?;
    let (_, peer) = ganesha.shares.first().ok_or("there is no ext4")?;
    let mut rows = Vec::new();
    for round in 0..options.rounds {
        let single = DEPTHS.map(|(depth, goal)| (depth, goal, 1));
        let several = DEPTHS[1..].iter().map(|&(depth, goal)| (depth, goal, SEVERAL));
        let last = (round + 1 == options.rounds).then_some(several).into_iter().flatten();
        for (depth, goal, connections) in single.into_iter().chain(last) {
            let rate = |share: &Share| writes(share, depth, connections, options);
            // Nobody always comes first.
            let (mine, theirs) = if round % 2 == 0 {
                let mine = rate(&share)?;
                (mine, rate(peer)?)
            } else {
                let theirs = rate(peer)?;
                (rate(&share)?, theirs)
            };
            let over = if connections == 1 { String::new() } else { format!(", {connections} connections") };
            let name = format!("{}, round {}, {depth} in flight{over}", image.name(), round + 1);
            rows.push(Row::beside(&name, "/s", Some(goal), mine, ("nfs-ganesha on ext4", theirs)));
        }
    }
    Ok(rows)
}

/// Writes a second.
fn writes(share: &Share, depth: u32, connections: u32, options: &Options) -> Result<f64, Fail> {
    let Share { nfs, mount, path } = share;
    let url =
        format!("nfs://{}{path}/cold?nfsport={}&mountport={}&version=3", nfs.ip(), nfs.port(), mount.port());
    let seconds = (options.span * SPANS).as_secs_f64().to_string();
    let words = [&url, &FILE.to_string(), &depth.to_string(), &seconds, &connections.to_string()];
    Ok(ended(Command::new(client()?).args(words))?.trim().parse()?)
}
