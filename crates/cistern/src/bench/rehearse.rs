//! `cistern bench rehearse`: where the advisor rehearses a load (see [`engine::rehearsal`]).
//!
//! A scene is played by a process of its own: the daemon's memory and figures are left alone, and
//! what the play takes of the processors is the child's. The child builds a pool in memory, serves
//! it on loopback, and is its client too; how long the device takes is a model's. It prints two
//! numbers.

use std::path::PathBuf;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use engine::Options;
use engine::rehearsal::{Load, Played, Scene, Stage};
use env::{Clock, DeviceModel, Nanos, RealClock, lock};
use load::{Blocks, Crowd, Fail, Share, Work};

use super::loads;
use super::rig::{Rig, SetUp};

/// A scene is played so often, each time on new connections: on which processors the kernel has
/// their threads makes a difference. The median counts.
const TIMES: u32 = 5;
/// Operations that each should have, and the time it takes at the least and at the most.
const ENOUGH: u64 = 30;
const SHORTEST: Duration = Duration::from_millis(120);
const LONGEST: Duration = Duration::from_millis(400);
/// Connections that callers share.
const CONNECTIONS: usize = 8;
/// Memory of the cache where reads are rehearsed, and what it holds at the least of the file, which
/// is no larger therefore.
const MEMORY: usize = 24 << 20;
const HELD: f64 = 0.1;
/// Its size is a multiple of this, and so of every record's.
const WHOLE: u64 = 1 << 20;

/// Plays each scene in a process of its own, one at a time.
#[derive(Debug)]
pub struct Children {
    program: PathBuf,
    alone: Mutex<()>,
}

impl Children {
    /// For `cistern` itself; `None` where it cannot say which file it is.
    pub fn of_this_program() -> Option<Arc<dyn Stage>> {
        let program = std::env::current_exe().ok()?;
        Some(Arc::new(Children { program, alone: Mutex::default() }))
    }
}

impl Stage for Children {
    fn play(&self, scene: &Scene) -> Option<Played> {
        let _alone = lock(&self.alone);
        let played = Command::new(&self.program).args(words(scene)).output().ok()?;
        let said = String::from_utf8_lossy(&played.stdout);
        let mut numbers = said.split_whitespace().map(str::parse::<f64>);
        match (numbers.next(), numbers.next()) {
            (Some(Ok(rest)), Some(Ok(work))) => Some(Played { rest, work }),
            _ => {
                let why = String::from_utf8_lossy(&played.stderr).trim().to_owned();
                tracing::warn!(?scene, why, "a rehearsal failed");
                None
            }
        }
    }
}

/// A scene as arguments, and back.
fn words(scene: &Scene) -> Vec<String> {
    let (what, bytes, in_memory) = match scene.load {
        Load::Write { bytes } => ("write", bytes, 0.0),
        Load::SmallFile { bytes } => ("file", bytes, 0.0),
        Load::Read { bytes, in_memory } => ("read", bytes, in_memory),
    };
    let Scene { callers, device, in_turn, .. } = scene;
    let line = format!("bench rehearse {what} {bytes} {in_memory} {callers} {} {in_turn}", device.0);
    line.split(' ').map(str::to_owned).collect()
}

fn scene(words: &[String]) -> Option<Scene> {
    let [what, bytes, in_memory, callers, device, in_turn] = words else { return None };
    let bytes = bytes.parse().ok().filter(|bytes| (512..=1 << 20).contains(bytes))?;
    let load = match what.as_str() {
        "write" => Load::Write { bytes },
        "file" => Load::SmallFile { bytes },
        "read" => Load::Read { bytes, in_memory: in_memory.parse().ok()? },
        _ => return None,
    };
    let callers = callers.parse().ok().filter(|callers| (1..=1000).contains(callers))?;
    Some(Scene { load, callers, device: Nanos(device.parse().ok()?), in_turn: in_turn.parse().ok()? })
}

/// Plays the scene that the words say, and prints how it went. Exit status.
pub fn run(args: &[String]) -> i32 {
    let Some(scene) = scene(args) else {
        eprintln!("usage: cistern bench rehearse write|file|read BYTES IN_MEMORY CALLERS NANOS IN_TURN");
        return 2;
    };
    match play(&scene) {
        Ok(Played { rest, work }) => {
            println!("{rest} {work}");
            0
        }
        Err(error) => {
            eprintln!("{error}");
            1
        }
    }
}

/// Plays a scene in this process.
pub fn play(scene: &Scene) -> Result<Played, Fail> {
    let lanes = if scene.in_turn { 1 } else { DeviceModel::instant().lanes };
    let device = DeviceModel { lanes, ..DeviceModel::instant() };
    let memory = SetUp { disk: DeviceModel::instant(), ..SetUp::of_disks("memory", 1) };
    let crowd = Crowd::new(scene.callers, span(scene)).over(CONNECTIONS);
    match scene.load {
        Load::Write { bytes } | Load::SmallFile { bytes } => {
            let log = DeviceModel { write_latency: scene.device, ..device };
            let rig = Rig::with_options(&SetUp { log: Some(log), ..memory }, Options::default())?;
            let share = rig.share("standard")?;
            let is_file = matches!(scene.load, Load::SmallFile { .. });
            let work = if is_file { Work::SmallFile { bytes } } else { Work::Append { block: bytes } };
            played(&rig, scene, &share, work, &crowd)
        }
        Load::Read { bytes, in_memory } => {
            let disk = DeviceModel { read_latency: scene.device, ..device };
            let options = Options { cache: MEMORY, ..Options::default() };
            let rig = Rig::with_options(&SetUp { disk, ..memory }, options)?;
            let record = bytes.to_string();
            let share = rig.share_with(&[("recordsize", record.as_str()), ("sync", "disabled")])?;
            let size = (MEMORY as f64 / in_memory.clamp(HELD, 1.0)) as u64 / WHOLE * WHOLE;
            loads::fill(&share, size)?;
            rig.settle()?;
            let blocks = Blocks { block: bytes, size, is_random: true };
            played(&rig, scene, &share, Work::Read { blocks }, &crowd)
        }
    }
}

/// How long it takes at a time.
fn span(scene: &Scene) -> Duration {
    let at_a_time = if scene.in_turn { 1 } else { scene.callers as u64 };
    Duration::from_nanos(scene.device.0 * ENOUGH / at_a_time).clamp(SHORTEST, LONGEST)
}

fn played(rig: &Rig, scene: &Scene, share: &Share, work: Work, crowd: &Crowd) -> Result<Played, Fail> {
    let clock = RealClock::new();
    // How long it took; waits, and what was used of the processors, preparations included.
    let run = |crowd: Crowd| -> Result<(Duration, u64, u64), Fail> {
        let (missed, used) = (rig.usage().disk_reads, clock.processor_time());
        let outcome = share.run(work, &crowd)?;
        let used = clock.processor_time().since(used);
        let waits = match scene.load {
            Load::Write { .. } => outcome.operations,
            Load::SmallFile { .. } => 2 * outcome.operations,
            Load::Read { .. } => rig.usage().disk_reads - missed,
        };
        Ok((outcome.took, waits, used.0))
    };
    // Once for nothing: what is used for the first time is slow. Then without time: that is
    // preparations.
    run(*crowd)?;
    let (_, few, prepared) = run(Crowd { span: Duration::ZERO, ..*crowd })?;
    let (mut cycles, mut works) = (Vec::new(), Vec::new());
    for turn in 1..=TIMES {
        let (took, waits, used) = run(crowd.in_turn(turn))?;
        cycles.push(took.as_nanos() as f64 * scene.callers as f64 / waits.max(1) as f64);
        works.push(used.saturating_sub(prepared) as f64 / waits.saturating_sub(few).max(1) as f64);
    }
    let device = scene.device.0 as f64 * if scene.in_turn { scene.callers as f64 } else { 1.0 };
    Ok(Played { rest: (median(cycles) - device).max(0.0), work: median(works) })
}

/// Of an odd number.
pub fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[cfg(test)]
mod tests;
