//! Automatic snapshots of many datasets: what they take, and what a client notices of them.
//!
//! All datasets are looked after by one service by the hour, and some by another one every minute.
//! The client writes stable blocks over NFS to a file system of its own; it is watched for as long
//! before there are services as while they work. Beside it a small file on the same disk is made
//! durable again and again: what that waits for, no storage server can spare its clients.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use load::{Blocks, Crowd, Fail, Outcome, Share, Work};

use crate::http::Http;
use crate::options::Options;
use crate::ours::Ours;
use crate::results::{Figure, Results};

pub const PART: &str = "services";

const CACHE: &str = "512M";
/// That have a snapshot every hour, and of them those that have one every minute.
const DATASETS: usize = 10_000;
const OFTEN: usize = 1_000;
/// How long the client writes: some snapshots of a minute.
const MINUTES: u32 = 2;
const WATCHED: Duration = Duration::from_secs(60 * MINUTES as u64);
/// How long what follows a run may take.
const AFTER: Duration = Duration::from_secs(60);
/// How long it may take until all datasets have their first snapshots.
const FIRST: Duration = Duration::from_secs(600);
const WRITERS: usize = 4;
/// How often the plan is asked for after the first time.
const AGAIN: usize = 5;
/// Between two times that the small file is made durable.
const PAUSE: Duration = Duration::from_millis(10);

pub fn measure(ours: &mut Ours, options: &Options, about: &str) -> Result<Results, Fail> {
    eprintln!("bench: {PART}");
    // Checks look at all datasets too, and hold to a hundredth of a core by themselves.
    ours.start_anew(&["--cache", CACHE, "--checks-every", "1d"])?;
    let share = ours.make_share()?;
    let mut http = Http::connect(&ours.socket())?;
    make_datasets(&mut http)?;
    let alone = watch(ours, options, &share)?;

    let resident = ours.resident("VmRSS")?;
    let hourly = "svc create auto-snap all --target bench/all --recursive --level hourly=24 --snapshots 48";
    let (begun, used) = (Instant::now(), ours.processor_time()?);
    ours.command(&words(hourly))?;
    let first = made(ours, "bench/all", DATASETS, begun)?;
    // What follows it is a part of it: groups that are written, memory that is given back.
    thread::sleep(AFTER);
    let cost = ours.processor_time()?.saturating_sub(used).as_secs_f64();
    let after = ours.resident("VmRSS")?;
    let [planned, again] = plan(&mut http)?;
    let hourly = watch(ours, options, &share)?;

    let minutely = "svc create auto-snap often --target bench/all/often --recursive --level often:1m=10";
    let begun = Instant::now();
    ours.command(&words(minutely))?;
    made(ours, "bench/all/often", 2 * OFTEN, begun)?;
    let often = watch(ours, options, &share)?;
    let groups = groups(ours)?;
    let peak = ours.resident("VmHWM")?;
    // The machine keeps them, and other parts go on with the machine.
    ["all", "often"].iter().try_for_each(|name| ours.command(&["svc", "remove", name]).map(drop))?;

    let figure = |name: &str, value: String, goal: &str| Figure {
        name: name.to_owned(),
        value,
        goal: goal.to_owned(),
    };
    let waited = |Watched { outcome, flush, .. }: &Watched| {
        let millis = |per_mille| outcome.latency(per_mille).as_secs_f64() * 1e3;
        format!("{:.1} / {:.0} ms; {:.0} ms", millis(990), millis(1000), flush.as_secs_f64() * 1e3)
    };
    let core = |share: f64| format!("{share:.2} % of a core");
    Ok(Results {
        part: PART.to_owned(),
        title: "Automatic snapshots".to_owned(),
        about: about.to_owned(),
        figures: vec![
            figure("the first snapshots of all datasets", format!("{first:.1} s"), ""),
            figure("resident before and after them", format!("{resident} and {after} MiB"), ""),
            figure("the plan of all datasets, asked for just then", format!("{planned:.2} s"), ""),
            figure("and again", format!("{again:.2} s"), "< 1 s"),
            figure("stable write without services, p99 / longest; flush of a plain file", waited(&alone), ""),
            figure("the same beside the service of each hour", waited(&hourly), "no longer"),
            figure("the same beside that of each minute too", waited(&often), "no longer"),
            figure("processor for a run of all datasets", format!("{cost:.1} s"), ""),
            figure("that is, each hour", core(cost / 36.0), ""),
            figure("processor without services", core(alone.idle), ""),
            figure("the same between runs of all datasets", core(hourly.idle), "< 1 % more"),
            figure("the same with that of each minute too", core(often.idle), ""),
            figure("groups of the snapshots of a minute", format!("{groups}"), "a few"),
            figure("resident at the most", format!("{peak} MiB"), ""),
        ],
        ..Results::default()
    })
}

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

fn make_datasets(http: &mut Http) -> Result<(), Fail> {
    let mut make = |name: String| {
        let body = format!(r#"{{"name":"bench/{name}","no_mount":true}}"#);
        http.ask("POST", "/v1/datasets", &body).map(drop)
    };
    make("all".into())?;
    make("all/often".into())?;
    (1..OFTEN).try_for_each(|number| make(format!("all/often/{number:05}")))?;
    (OFTEN + 1..DATASETS).try_for_each(|number| make(format!("all/{number:05}")))
}

/// What was seen in some minutes.
struct Watched {
    /// Of the client.
    outcome: Outcome,
    /// The longest that the small file waited meanwhile.
    flush: Duration,
    /// The percentage of a core that the daemon took in as many minutes without the client.
    idle: f64,
}

fn watch(ours: &Ours, options: &Options, share: &Share) -> Result<Watched, Fail> {
    let used = ours.processor_time()?;
    thread::sleep(WATCHED);
    let used = ours.processor_time()?.saturating_sub(used);
    let blocks = Blocks { block: 4 << 10, size: 64 << 20, is_random: true };
    let work = Work::Write { blocks, is_sync: true };
    let (file, is_over) = (options.dir.join("flushed"), AtomicBool::new(false));
    let (outcome, flush) = thread::scope(|scope| {
        let flushing = scope.spawn(|| longest_flush(&file, &is_over));
        let outcome = share.run(work, &Crowd::new(WRITERS, WATCHED));
        is_over.store(true, Ordering::Relaxed);
        (outcome, flushing.join().unwrap_or_else(|why| std::panic::resume_unwind(why)))
    });
    fs::remove_file(&file)?;
    Ok(Watched { outcome: outcome?, flush: flush?, idle: used.as_secs_f64() / WATCHED.as_secs_f64() * 100.0 })
}

/// The longest that 4 KiB of a file took to be durable, until it is over.
fn longest_flush(file: &Path, is_over: &AtomicBool) -> std::io::Result<Duration> {
    let file = File::create(file)?;
    let mut longest = Duration::ZERO;
    while !is_over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        file.write_all_at(&[1; 4 << 10], 0)?;
        file.sync_data()?;
        longest = longest.max(begun.elapsed());
        thread::sleep(PAUSE);
    }
    Ok(longest)
}

/// Waits until there are so many snapshots below; seconds since `begun`.
fn made(ours: &Ours, below: &str, wanted: usize, begun: Instant) -> Result<f64, Fail> {
    while begun.elapsed() < FIRST {
        let listed = ours.command(&["zfs", "list", "-H", "-t", "snapshot", "-o", "name", "-r", below])?;
        if listed.lines().count() >= wanted {
            return Ok(begun.elapsed().as_secs_f64());
        }
        thread::sleep(Duration::from_millis(200));
    }
    Err(format!("{below} has no {wanted} snapshots after {} s", FIRST.as_secs()).into())
}

/// Seconds until the service of all datasets said what it would do: the first time, and the median
/// of some more.
fn plan(http: &mut Http) -> Result<[f64; 2], Fail> {
    let mut took = Vec::new();
    for _ in 0..=AGAIN {
        let begun = Instant::now();
        http.ask("GET", "/v1/services/all/plan", "")?;
        took.push(begun.elapsed().as_secs_f64());
    }
    let first = took.remove(0);
    took.sort_by(f64::total_cmp);
    Ok([first, took[AGAIN / 2]])
}

/// In how many transaction groups the newest snapshots of each minute's were made.
fn groups(ours: &Ours) -> Result<usize, Fail> {
    let list = "zfs list -H -p -t snapshot -o name,createtxg -r bench/all/often";
    let listed = ours.command(&words(list))?;
    let mut newest: Vec<(&str, u64)> = Vec::new();
    for line in listed.lines().filter(|line| line.contains("@auto-often-")) {
        let (name, group) = line.split_once('\t').ok_or("a snapshot without a group")?;
        let dataset = name.split_once('@').map_or(name, |(dataset, _)| dataset);
        // Snapshots of a dataset are listed in the order in which they were made.
        match newest.last_mut().filter(|(last, _)| *last == dataset) {
            Some((_, last)) => *last = group.parse()?,
            None => newest.push((dataset, group.parse()?)),
        }
    }
    let groups: BTreeSet<u64> = newest.iter().map(|(_, group)| *group).collect();
    Ok(groups.len())
}
