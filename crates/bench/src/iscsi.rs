//! Volumes over iSCSI beside tgt, which serves raw files of the same disk: the profiles of
//! `cistern bench io-analyzer`, by the same initiator on both. Then what only ours is asked for:
//! copies within the target, space given back, sessions by the thousand.

use std::cell;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use load::{Crowd, Fail, Initiator, PROFILES, Profile, Unit, process_time};

use crate::contenders::{self, BEFORE, OURS};
use crate::options::Options;
use crate::ours::{Build, Ours};
use crate::peers::{spawn, write_image};
use crate::process::{Server, ended, wait_until};
use crate::results::{Cell, Figure, Results, Row, median};

pub const PART: &str = "iscsi";

/// Ports.
const OWN: u16 = 21_260;
const TGT: u16 = 21_261;
const OTHER: u16 = 21_262;
const TARGET: &str = "iqn.2026-01.org.cistern:bench";
const POOL_SIZE: u64 = 6 << 30;
/// Bytes of the first unit: less than any cache. Of the others, and of the first where all take
/// part.
pub const SIZE: u64 = 512 << 20;
const SMALL: u64 = 64 << 20;
const UNITS: u16 = 8;
const SESSIONS: usize = 1000;
const THIN: &str = "1T";

/// A row: a profile, sessions, units, and the ratio to tgt that is to be reached.
struct Line(&'static str, usize, u16, f64);

/// Everything is in memory on both sides: reads are from the cache.
const LINES: [Line; 16] = [
    Line("4k-read-1", 1, 1, 2.0),
    Line("4k-read-32", 1, 1, 2.0),
    Line("4k-read-128", 1, 1, 2.0),
    Line("4k-read-32", 4, 1, 2.0),
    Line("4k-read-32", 4, UNITS, 2.0),
    Line("max-iops", 1, 1, 2.0),
    Line("max-throughput", 1, 1, 2.0),
    Line("max-throughput", 4, 1, 2.0),
    Line("4k-write-1", 1, 1, 1.3),
    Line("4k-write-32", 1, 1, 1.3),
    Line("4k-write-128", 1, 1, 1.3),
    Line("4k-write-32", 4, 1, 1.3),
    Line("4k-write-32", 4, UNITS, 1.3),
    Line("sql-64k", 1, 1, 1.3),
    Line("max-write-throughput", 1, 1, 1.3),
    Line("4k-fua-64", 1, 1, 1.3),
];

struct Contender<'a> {
    name: &'static str,
    process: u32,
    /// `None`: a peer.
    build: Option<&'a Ours>,
    units: Vec<Unit>,
    /// Its units have been written whole.
    filled: cell::Cell<bool>,
}

impl<'a> Contender<'a> {
    fn ours(name: &'static str, build: &'a Ours, port: u16) -> Contender<'a> {
        Contender { build: Some(build), ..Contender::peer(name, build.process(), units(port, 0)) }
    }

    fn peer(name: &'static str, process: u32, units: Vec<Unit>) -> Contender<'a> {
        Contender { name, process, build: None, units, filled: cell::Cell::new(false) }
    }

    /// What a profile is done to: data that nothing can compress.
    fn fill(&self, profile: &Profile) -> Result<(), Fail> {
        if !self.filled.replace(true) {
            for (number, unit) in self.units.iter().enumerate() {
                profile.fill(unit, if number == 0 { SIZE } else { SMALL })?;
            }
        }
        Ok(())
    }
}

pub fn find(name: &str) -> Result<&'static Profile, Fail> {
    PROFILES.iter().find(|profile| profile.name == name).ok_or("no such profile".into())
}

pub fn measure(options: &Options, about: &str) -> Result<Results, Fail> {
    contenders::make_room(options)?;
    let ours = start_build(Build::own(options)?, OWN)?;
    let before = options.before.as_ref().map(|program| start_build(Build::other(program, options), OTHER));
    let before = before.transpose()?;
    let mut results = Results {
        part: PART.to_owned(),
        title: "iSCSI: volumes beside raw files served by tgt".to_owned(),
        about: about.to_owned(),
        ..Results::default()
    };
    let mut all = vec![Contender::ours(OURS, &ours, OWN)];
    let tgt = if before.is_none() { Some(start_tgt(&options.dir)) } else { None };
    all.extend(before.iter().map(|build| Contender::ours(BEFORE, build, OTHER)));
    match &tgt {
        Some(Ok(tgt)) => all.push(Contender::peer("tgt", tgt.0.id(), units(TGT, 1))),
        Some(Err(error)) => results.notes.push(format!("tgt is left out: {error}")),
        None => {}
    }
    for line in &LINES {
        let profile = find(line.0)?;
        let name = match (line.1, line.2) {
            (1, 1) => profile.about.to_owned(),
            (sessions, 1) => format!("{}, {sessions} sessions", profile.about),
            (sessions, units) => format!("{}, {sessions} sessions, {units} LUNs", profile.about),
        };
        if name.contains(&options.only) {
            eprintln!("bench: {PART}: {name}");
            let row = row(&name, profile, line, &all, options)?;
            let rate = |cell: &Option<Cell>| cell.as_ref().map_or(0.0, |cell| cell.rate);
            let rates: Vec<String> =
                row.cells.iter().map(|(name, cell)| format!("{name} {:.0}", rate(cell))).collect();
            eprintln!("bench: {PART}:   {} {}", rates.join(", "), row.unit);
            results.rows.push(row);
        }
    }
    for (name, work, goal) in FIGURES {
        if before.is_none() && name.contains(&options.only) {
            eprintln!("bench: {PART}: {name}");
            let value = work(&ours, &all[0].units[0])?;
            results.figures.push(Figure { name: name.to_owned(), value, goal: goal.to_owned() });
        }
    }
    Ok(results)
}

fn units(port: u16, first: u16) -> Vec<Unit> {
    let unit = |lun| Unit { portal: ([127, 0, 0, 1], port).into(), target: TARGET.to_owned(), lun };
    (first..first + UNITS).map(unit).collect()
}

/// Ours alone, with the first unit, which is not written yet.
pub fn one_unit(options: &Options) -> Result<(Ours, Unit), Fail> {
    let unit = units(OWN, 0).into_iter().next().ok_or("no unit")?;
    Ok((start_build(Build::own(options)?, OWN)?, unit))
}

fn start_build(build: Build, port: u16) -> Result<Ours, Fail> {
    write_image(&build.image(), POOL_SIZE)?;
    let ours = Ours::start(build, &["--iscsi", &format!("127.0.0.1:{port}")])?;
    ours.make_pool()?;
    for number in 0..UNITS {
        let (volume, size) = (format!("bench/v{number}"), if number == 0 { "512M" } else { "64M" });
        ours.command(&["zfs", "create", "-s", "-V", size, &volume])?;
        ours.command(&["iscsi", "map", &volume, "-t", TARGET, "-l", &number.to_string()])?;
    }
    Ok(ours)
}

fn start_tgt(dir: &Path) -> Result<Server, Fail> {
    // SAFETY: it takes nothing and touches no memory.
    if unsafe { libc::geteuid() } != 0 {
        return Err("it has to be started as root".into());
    }
    fs::create_dir_all("/run/tgtd")?;
    let server =
        spawn(Command::new("tgtd").args(["-f", "--iscsi", &format!("portal=127.0.0.1:{TGT}")]), dir)?;
    let admin = |words: &str| ended(Command::new("tgtadm").args(["--lld", "iscsi"]).args(words.split(' ')));
    wait_until("tgtd", || admin("--op show --mode system").is_ok())?;
    admin(&format!("--op new --mode target --tid 1 -T {TARGET}"))?;
    for number in 1..=UNITS {
        let image = dir.join(format!("disks/tgt{number}.img"));
        write_image(&image, if number == 1 { SIZE } else { SMALL })?;
        let made = format!("--op new --mode logicalunit --tid 1 --lun {number} -b {}", image.display());
        admin(&made)?;
    }
    admin("--op bind --mode target --tid 1 -I ALL")?;
    Ok(server)
}

fn row(
    name: &str,
    profile: &Profile,
    line: &Line,
    all: &[Contender<'_>],
    options: &Options,
) -> Result<Row, Fail> {
    let Line(_, sessions, count, goal) = *line;
    let size = if count == 1 { SIZE } else { SMALL };
    let is_stream = profile.block >= 64 << 10;
    let mut cells = vec![Vec::new(); all.len()];
    for round in 0..options.rounds {
        // Nobody always comes first.
        for turn in 0..all.len() {
            let i = (turn + round) % all.len();
            let units = &all[i].units[..usize::from(count)];
            all[i].fill(profile)?;
            // SAFETY: it takes nothing and touches no memory.
            unsafe { libc::sync() };
            all.iter().filter_map(|one| one.build).try_for_each(Ours::settle)?;
            let before = process_time(&all[i].process.to_string());
            let crowd = Crowd::new(profile.depth, options.span).over(sessions).in_turn(round as u32);
            let outcome = profile.run(units, size, &crowd)?;
            let cpu = process_time(&all[i].process.to_string()).saturating_sub(before);
            cells[i].push(Cell::new(&outcome, is_stream, cpu.as_secs_f64()));
        }
    }
    let cells = all.iter().zip(&cells).map(|(one, cells)| (one.name.to_owned(), Cell::median(cells)));
    Ok(Row {
        name: name.to_owned(),
        unit: if is_stream { "MB/s" } else { "/s" }.to_owned(),
        goal: Some(goal),
        cells: cells.collect(),
    })
}

/// Figures that are ours alone, with what is asked of them.
type Work = fn(&Ours, &Unit) -> Result<String, Fail>;
const FIGURES: [(&str, Work, &str); 4] = [
    ("4 KiB random COMPARE AND WRITE, 32 in flight, and plain writes", compares, "half of plain writes"),
    ("512 MiB by EXTENDED COPY, and read and written by the initiator", copies, "the first is faster"),
    ("UNMAP of 1 TiB with 256 MiB in it", unmap, "< 1 s"),
    ("1,000 sessions, resident memory", sessions, "< 256 MiB"),
];

/// How often each is measured; the median counts.
const TURNS: usize = 3;

/// Comparing is with zeroes: what has been there, and is written. tgt knows no such command.
fn compares(ours: &Ours, unit: &Unit) -> Result<String, Fail> {
    let mut rates = [Vec::new(), Vec::new()];
    for _ in 0..TURNS {
        for (name, rates) in ["4k-ats-32", "4k-write-32"].into_iter().zip(&mut rates) {
            let profile = find(name)?;
            profile.fill(unit, SIZE)?;
            ours.settle()?;
            let crowd = Crowd::new(profile.depth, Duration::from_secs(2));
            rates.push(profile.run(std::slice::from_ref(unit), SIZE, &crowd)?.rate());
        }
    }
    let [compares, plain] = rates.map(|rates| median(rates).unwrap_or_default());
    Ok(format!("{compares:.0} /s, {plain:.0} /s"))
}

/// What costs the initiator nothing but asking.
fn copies(ours: &Ours, unit: &Unit) -> Result<String, Fail> {
    find("4k-write-32")?.fill(unit, SIZE)?;
    ours.settle()?;
    ours.command(&["zfs", "create", "-s", "-V", "512M", "bench/copy"])?;
    ours.command(&["iscsi", "map", "bench/copy", "-t", TARGET, "-l", "100"])?;
    let copy = Unit { lun: 100, ..unit.clone() };
    let mut initiator = Initiator::log_in(&copy)?;
    initiator.greet(unit)?;
    let megabytes = SIZE as f64 / 1e6;
    let begun = Instant::now();
    initiator.copy(unit, &copy, SIZE)?;
    initiator.flush(&copy)?;
    let copied = megabytes / begun.elapsed().as_secs_f64();
    let (begun, part) = (Instant::now(), 512 << 10);
    for at in (0..SIZE).step_by(part) {
        let data = initiator.read(unit, at, part)?;
        initiator.write(&copy, at, &data)?;
    }
    initiator.flush(&copy)?;
    let carried = megabytes / begun.elapsed().as_secs_f64();
    Ok(format!("{copied:.0} MB/s, {carried:.0} MB/s"))
}

fn unmap(ours: &Ours, unit: &Unit) -> Result<String, Fail> {
    ours.command(&["zfs", "create", "-s", "-V", THIN, "bench/thin"])?;
    ours.command(&["iscsi", "map", "bench/thin", "-t", TARGET, "-l", "101"])?;
    let thin = Unit { lun: 101, ..unit.clone() };
    let mut initiator = Initiator::log_in(&thin)?;
    initiator.greet(unit)?;
    let data = initiator.read(unit, 0, 1 << 20)?;
    for at in 0..256_u64 {
        initiator.write(&thin, at << 32, &data)?;
    }
    ours.settle()?;
    let begun = Instant::now();
    initiator.unmap(&thin, 0, 1 << 40)?;
    let took = begun.elapsed();
    for at in 0..256_u64 {
        if initiator.read(&thin, at << 32, 4096)?.iter().any(|byte| *byte != 0) {
            return Err("what was unmapped is there still".into());
        }
    }
    Ok(format!("{:.4} s", took.as_secs_f64()))
}

/// Many that are logged in, and have sent a command each.
fn sessions(ours: &Ours, unit: &Unit) -> Result<String, Fail> {
    let before = ours.resident("VmRSS")?;
    let all = (0..SESSIONS).map(|_| Initiator::log_in(unit)).collect::<Result<Vec<_>, Fail>>()?;
    std::thread::sleep(Duration::from_secs(1));
    let after = ours.resident("VmRSS")?;
    drop(all);
    Ok(format!("{} MiB", after.saturating_sub(before)))
}
