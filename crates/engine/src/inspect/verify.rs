//! Verification: progress while it runs, then a table and the problems by name.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Write};

use ::pool::verify::{Options, Problem, Report, verify};
use env::{Env, Nanos};
use storage::VdevStat;

use super::catalog::Catalog;
use super::human::Table;
use super::open::Opened;
use super::{CLEAN, PROBLEMS, human, text};

/// Time between two lines of progress.
const STEP: Nanos = Nanos(200_000_000);
const SECOND: u64 = 1_000_000_000;
/// Problems printed; the number of all is said.
const SHOWN: usize = 200;

pub fn show(
    env: &Env,
    opened: &Opened,
    catalog: &Catalog,
    data: bool,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<i32> {
    let start = env.clock.now();
    let (report, bytes) = {
        let mut progress = Progress { env, start, last: start, bytes: 0, line: false, err };
        let watch = io::stderr().is_terminal();
        let report =
            verify(&opened.pool, Options { data }, &mut |done, total| progress.step(watch, done, total));
        progress.end()?;
        (report, progress.bytes)
    };
    let report = match report {
        Ok(report) => report,
        Err(error) => {
            writeln!(err, "cistern inspect: verification ended early: {error}")?;
            return Ok(PROBLEMS);
        }
    };
    let names = catalog.names();
    tallies(&report, &names, out)?;
    let took = env.clock.now().since(start).0.max(1);
    let rate = (u128::from(bytes) * u128::from(SECOND) / u128::from(took)) as u64;
    let what = if data { "all blocks" } else { "metadata" };
    let duration = human::duration(took / SECOND);
    writeln!(out, "\nread {what}: {} in {duration}, {}/s", human::bytes(bytes), human::bytes(rate))?;
    let (allocated, referenced) = (report.allocated, report.referenced);
    let exact = if allocated == referenced { "exactly what is referenced" } else { "NOT what is referenced" };
    writeln!(out, "allocated {allocated} bytes, {exact} ({referenced})")?;
    disks(&opened.storage().status(), out)?;
    if report.bad_copies() > 0 {
        writeln!(out, "{} copies are bad; each of these blocks has a good one", report.bad_copies())?;
    }
    problems(&report, &names, out)?;
    Ok(if report.is_clean() { CLEAN } else { PROBLEMS })
}

fn tallies(report: &Report, names: &BTreeMap<u64, &str>, out: &mut dyn Write) -> io::Result<()> {
    let mut table = Table::new(&["DATASET", ">OBJECTS", ">BLOCKS", ">ALLOC", ">LOGICAL", ">BAD COPIES"]);
    let mut rows: Vec<_> =
        report.datasets.iter().map(|(object, tally)| (name(names, *object), tally)).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    let mut row = |name: String, objects: u64, blocks: u64, allocated, logical, bad: u64| {
        let [allocated, logical] = [allocated, logical].map(human::bytes);
        table.row(vec![name, objects.to_string(), blocks.to_string(), allocated, logical, bad.to_string()]);
    };
    let mut sum = ::pool::verify::Tally::default();
    for (name, tally) in rows {
        row(name, tally.objects, tally.blocks, tally.allocated, tally.logical, tally.bad_copies);
        sum.objects += tally.objects;
        sum.blocks += tally.blocks;
        sum.allocated += tally.allocated;
        sum.logical += tally.logical;
        sum.bad_copies += tally.bad_copies;
    }
    row("total".into(), sum.objects, sum.blocks, sum.allocated, sum.logical, sum.bad_copies);
    table.write(0, out)
}

fn name(names: &BTreeMap<u64, &str>, dataset: u64) -> String {
    names.get(&dataset).map_or_else(|| format!("dataset {dataset}"), |name| text::printable(name.as_bytes()))
}

/// Disks that gave errors.
fn disks(vdev: &VdevStat, out: &mut dyn Write) -> io::Result<()> {
    if vdev.children.is_empty() && vdev.read_errors + vdev.checksum_errors > 0 {
        let path = text::printable(vdev.path.as_deref().unwrap_or("?").as_bytes());
        writeln!(out, "{path}: {} read errors, {} checksum errors", vdev.read_errors, vdev.checksum_errors)?;
    }
    vdev.children.iter().try_for_each(|child| disks(child, out))
}

fn problems(report: &Report, names: &BTreeMap<u64, &str>, out: &mut dyn Write) -> io::Result<()> {
    if report.is_clean() {
        return writeln!(out, "no problems");
    }
    let count = report.problems.len() as u64 + report.more_problems;
    writeln!(out, "{count} problems:")?;
    for problem in report.problems.iter().take(SHOWN) {
        writeln!(out, "  {}", sentence(problem, names))?;
    }
    if count > SHOWN as u64 {
        writeln!(out, "  … and {} more", count - SHOWN as u64)?;
    }
    Ok(())
}

/// A problem in words.
pub fn sentence(problem: &Problem, names: &BTreeMap<u64, &str>) -> String {
    let place = |vdev: u32, segment: &storage::Segment| {
        format!("vdev {vdev}, {} bytes at {:#x}", segment.len, segment.start)
    };
    match problem {
        Problem::Unreadable { dataset, object, level, block, error } => {
            format!("{}, object {object}, level {level}, block {block}: {error}", name(names, *dataset))
        }
        Problem::Twice { dataset, object, vdev, segment } => {
            let user = format!("{}, object {object}", name(names, *dataset));
            format!("{user}: {} belong to something else too", place(*vdev, segment))
        }
        Problem::Leaked { vdev, segment } => {
            format!("{}: allocated, but nothing refers to it", place(*vdev, segment))
        }
        Problem::NotAllocated { vdev, segment } => {
            format!("{}: in use, but not allocated", place(*vdev, segment))
        }
        Problem::References { vdev, offset, counted, found } => format!(
            "vdev {vdev}, block at {offset:#x}: {found} references, but a table of deduplication counts {counted}"
        ),
        Problem::Livelist { vdev, offset, excess, dataset } => format!(
            "{}: its livelist has the block at {offset:#x} of vdev {vdev} {excess} times too often",
            name(names, *dataset)
        ),
        Problem::Broken(what) => format!("cannot be read: {}", text::printable(what.as_bytes())),
    }
}

/// A line on the terminal that is written over and over.
struct Progress<'a> {
    env: &'a Env,
    start: Nanos,
    last: Nanos,
    bytes: u64,
    line: bool,
    err: &'a mut dyn Write,
}

impl Progress<'_> {
    fn step(&mut self, watch: bool, done: u64, total: u64) {
        self.bytes = done;
        let now = self.env.clock.now();
        if !watch || now.since(self.last).0 < STEP.0 {
            return;
        }
        self.last = now;
        let took = now.since(self.start).0.max(1);
        let rate = ((u128::from(done) * u128::from(SECOND) / u128::from(took)) as u64).max(1);
        let left = human::duration(total.saturating_sub(done) / rate);
        let (done, total) = (human::bytes(done), human::bytes(total));
        let line = format!("{done} of {total}, {}/s, {left} left", human::bytes(rate));
        // A terminal that has gone away is no reason to stop.
        let _ = write!(self.err, "\r{line:<60}").and_then(|()| self.err.flush());
        self.line = true;
    }

    fn end(&mut self) -> io::Result<()> {
        if self.line { write!(self.err, "\r{:60}\r", "") } else { Ok(()) }
    }
}
