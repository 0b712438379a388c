//! How much memory the daemon takes, and how long administrative commands do.
//!
//! What mounts may take is a promise: where it is exceeded, the run fails.

use std::fs;
use std::path::Path;
use std::time::Duration;

use load::{Blocks, Crowd, Fail, Work};

use crate::contenders;
use crate::ours::Ours;
use crate::results::{Figure, Results, median};

pub const PART: &str = "memory";

const CACHE: &str = "256M";
/// Of the cache and 128 MiB.
const PEAK_GOAL: &str = "< 384 MiB";
const DATA: u64 = 2 << 30;
const FILES: u64 = 10_000;
const DEPTH: usize = 16;

/// File systems that are mounted at a time, the bytes written to each, and the snapshots of each.
const MOUNTS: usize = 200;
const WRITTEN: usize = 1 << 20;
const SNAPSHOTS: usize = 5;
/// MiB that they may take, the cache included.
const MOUNTS_CACHE: &str = "64M";
const MOUNTS_LIMIT: u64 = 256;

pub fn measure(ours: &mut Ours, dir: &Path, about: &str) -> Result<Results, Fail> {
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
    let peak = ours.resident("VmHWM")?;
    let mounts = measure_mounts(ours, &dir.join("mnt"))?;
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
                format!("{peak} MiB"),
                PEAK_GOAL,
            ),
            figure("zpool import / zfs create / zfs list, little in the pool", little, "milliseconds"),
            figure(
                &format!("the same with {} GiB and {FILES} files more", DATA >> 30),
                much,
                "independent of the data",
            ),
            figure(
                &format!(
                    "{MOUNTS} file systems mounted, written and read, then {} of their snapshots, with --cache \
                     {MOUNTS_CACHE}, resident",
                    MOUNTS * SNAPSHOTS
                ),
                format!("{} and {} MiB", mounts[0], mounts[1]),
                &format!("< {MOUNTS_LIMIT} MiB"),
            ),
        ],
        ..Results::default()
    })
}

/// MiB resident once all file systems have been mounted and used, and once all their snapshots have
/// been visited: over io_uring, as far as that goes, where the kernel has it.
fn measure_mounts(ours: &mut Ours, at: &Path) -> Result<[u64; 2], Fail> {
    ours.start_anew(&["--cache", MOUNTS_CACHE])?;
    let folder = |number: usize| at.join(format!("many/{number}"));
    let data = vec![7; WRITTEN];
    for number in 0..MOUNTS {
        let mount = || ours.make_mount(&format!("many-{number}"), &folder(number));
        if contenders::have_rings() {
            contenders::with_rings(mount)?
        } else {
            mount()?
        };
    }
    let resident = || {
        ours.settle()?;
        // Threads and buffers that nobody needs go within seconds.
        std::thread::sleep(Duration::from_secs(5));
        ours.resident("VmRSS")
    };
    let read = |file: &Path| match fs::read(file)? == data {
        true => Ok::<_, Fail>(()),
        false => Err(format!("{} holds something else", file.display()).into()),
    };
    for number in 0..MOUNTS {
        let file = folder(number).join("file");
        fs::write(&file, &data)?;
        read(&file)?;
    }
    let used = resident()?;
    for snapshot in 0..SNAPSHOTS {
        ours.command(&["zfs", "snapshot", "-r", &format!("bench@{snapshot}")])?;
        for number in 0..MOUNTS {
            read(&folder(number).join(format!(".zfs/snapshot/{snapshot}/file")))?;
        }
    }
    let all = [used, resident()?];
    match all.iter().find(|taken| **taken >= MOUNTS_LIMIT) {
        Some(taken) => Err(format!("mounts take {taken} MiB, and {MOUNTS_LIMIT} are allowed").into()),
        None => Ok(all),
    }
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
