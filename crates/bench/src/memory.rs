//! How much memory the daemon takes, and how long administrative commands do.

use std::time::Duration;

use load::{Blocks, Crowd, Fail, Work};

use crate::ours::Ours;
use crate::results::{Figure, Results, median};

pub const PART: &str = "memory";

const CACHE: &str = "256M";
/// Of the cache and 128 MiB.
const PEAK_GOAL: &str = "< 384 MiB";
const DATA: u64 = 2 << 30;
const FILES: u64 = 10_000;
const DEPTH: usize = 16;

pub fn measure(ours: &mut Ours, about: &str) -> Result<Results, Fail> {
    eprintln!("bench: {PART}");
    ours.start_anew(&["--cache", CACHE])?;
    let share = ours.make_share()?;
    std::thread::sleep(Duration::from_secs(2));
    let idle = ours.resident("VmRSS")?;
    let little = times(ours)?;
    let blocks = Blocks { block: 1 << 20, size: DATA, is_random: false };
    let to_the_end = Crowd::new(DEPTH, Duration::MAX);
    share.run(Work::Write { blocks, is_sync: false }, &to_the_end)?;
    share.run(Work::Read { blocks }, &Crowd::new(DEPTH, Duration::from_secs(3)))?;
    share.run(Work::Create { files: FILES }, &to_the_end)?;
    let much = times(ours)?;
    let figure = |name: &str, value: String, goal: &str| Figure {
        name: name.to_owned(),
        value,
        goal: goal.to_owned(),
    };
    Ok(Results {
        part: PART.to_owned(),
        title: "Memory, and the time of commands".to_owned(),
        about: about.to_owned(),
        figures: vec![
            figure("idle daemon with one pool, resident", format!("{idle} MiB"), "< 64 MiB"),
            figure(
                &format!("peak under load with --cache {CACHE}, resident"),
                format!("{} MiB", ours.resident("VmHWM")?),
                PEAK_GOAL,
            ),
            figure("zpool import / zfs create / zfs list, little in the pool", little, "milliseconds"),
            figure(
                &format!("the same with {} GiB and {FILES} files more", DATA >> 30),
                much,
                "independent of the data",
            ),
        ],
        ..Results::default()
    })
}

/// Medians of import, create and list.
fn times(ours: &Ours) -> Result<String, Fail> {
    let mut rounds = [Vec::new(), Vec::new(), Vec::new()];
    let import = ours.import_words();
    for _ in 0..5 {
        ours.command(&["zpool", "export", "bench"])?;
        rounds[0].push(ours.millis(&import.each_ref().map(String::as_str))?);
        rounds[1].push(ours.millis(&["zfs", "create", "bench/new"])?);
        rounds[2].push(ours.millis(&["zfs", "list"])?);
        ours.command(&["zfs", "destroy", "bench/new"])?;
    }
    let medians = rounds.map(|round| format!("{:.0}", median(round).unwrap_or_default()));
    Ok(format!("{} ms", medians.join(" / ")))
}
