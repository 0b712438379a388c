//! `zpool iostat`: operations and bytes, since import and then per interval.

use super::{Repeat, naming, pools, timestamp};
use crate::fail::{Outcome, Stop, fail};
use crate::getopt;
use crate::human::nicenum;
use crate::program::Cx;
use crate::vdevs::{self, Naming};
use api_types::{IoCounters, Pool, Vdev};
use std::collections::HashMap;
use std::time::Instant;

struct Format {
    naming: Naming,
    literal: bool,
    scripted: bool,
    verbose: bool,
    name_width: usize,
}

impl Format {
    /// Exact numbers need room for a petabyte.
    fn column(&self) -> usize {
        if self.literal { 15 } else { 5 }
    }
}

/// Counters by guid, when they were read.
struct Sample {
    at: Instant,
    counters: HashMap<u64, IoCounters>,
}

pub fn iostat(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "c:gLPT:vyhplqrwnH", &[])?;
    for later in ["c", "l", "q", "r", "w"] {
        if options.has(later) {
            return fail(format!("zpool iostat -{later}: not supported by this version of Cistern yet"));
        }
    }
    if options.has("h") {
        return crate::fail::usage("");
    }
    let mut format = Format {
        naming: naming(&options),
        literal: options.has("p"),
        scripted: options.has("H"),
        verbose: options.has("v"),
        name_width: 0,
    };
    let mut names = options.operands.clone();
    let mut repeat = Repeat::take(&mut names)?;
    // -y leaves the figures since import away, and doesn't count them as a round.
    let mut skip = options.has("y") && repeat.interval > 0.0;
    let (mut before, mut round): (Option<Sample>, u32) = (None, 0);
    loop {
        let (found, status) = pools(cx, &names)?;
        if found.is_empty() {
            if status == 0 {
                cx.complain("no pools available")?;
            }
            return Ok(1);
        }
        let sample = Sample { at: Instant::now(), counters: counters(&found) };
        if skip {
            skip = false;
            let mut wait = Repeat { interval: repeat.interval, count: 0 };
            wait.next(cx)?;
        } else {
            if let Some(time) = timestamp(options.value("T"))? {
                writeln!(cx.io.out, "{time}")?;
            }
            let heading = !format.scripted && (round == 0 || format.verbose);
            print(cx, &mut format, &found, before.as_ref(), &sample, heading)?;
            round += 1;
            if !repeat.next(cx)? {
                return Ok(status);
            }
        }
        before = Some(sample);
    }
}

fn counters(pools: &[Pool]) -> HashMap<u64, IoCounters> {
    fn collect(vdev: &Vdev, into: &mut HashMap<u64, IoCounters>) {
        into.insert(vdev.guid, vdev.io);
        vdev.children.iter().for_each(|child| collect(child, into));
    }
    let mut all = HashMap::new();
    for pool in pools {
        collect(&pool.root, &mut all);
        pool.cache.iter().for_each(|cache| collect(cache, &mut all));
    }
    all
}

fn print(
    cx: &mut Cx<'_>,
    format: &mut Format,
    pools: &[Pool],
    before: Option<&Sample>,
    now: &Sample,
    heading: bool,
) -> Result<(), Stop> {
    let width = |pool: &Pool| match format.verbose {
        true => vdevs::pool_width(pool, format.naming),
        false => pool.name.chars().count(),
    };
    format.name_width = pools.iter().map(width).max().unwrap_or(0).max(10);
    if heading {
        print_heading(cx, format)?;
    }
    for pool in pools {
        print_vdev(cx, format, &pool.root, &pool.name, 0, before, now)?;
        if format.verbose {
            let logs: Vec<&Vdev> = vdevs::logs(&pool.root).collect();
            print_section(cx, format, "logs", &logs, before, now)?;
            print_section(cx, format, "cache", &pool.cache.iter().collect::<Vec<_>>(), before, now)?;
        }
        if format.verbose && !format.scripted {
            print_separator(cx, format)?;
        }
    }
    if pools.len() > 1 && !format.verbose && !format.scripted {
        print_separator(cx, format)?;
    }
    Ok(())
}

fn print_heading(cx: &mut Cx<'_>, format: &Format) -> Result<(), Stop> {
    let (column, width) = (format.column(), format.name_width);
    write!(cx.io.out, "{:width$}", "")?;
    for title in ["capacity", "operations", "bandwidth"] {
        // Centred as `print_iostat_labels` does it: half of what the two columns leave.
        let both = column * 2 + 2;
        let start = (both / 2).saturating_sub(title.len() / 2);
        write!(
            cx.io.out,
            "  {:start$}{title}{:end$}",
            "",
            "",
            end = both.saturating_sub(start + title.len())
        )?;
    }
    write!(cx.io.out, "\n{:<width$}", "pool")?;
    for title in ["alloc", "free", "read", "write", "read", "write"] {
        let start = column.saturating_sub(title.len());
        write!(cx.io.out, "  {:start$}{title}", "")?;
    }
    writeln!(cx.io.out)?;
    print_separator(cx, format)
}

fn print_separator(cx: &mut Cx<'_>, format: &Format) -> Result<(), Stop> {
    write!(cx.io.out, "{}", "-".repeat(format.name_width))?;
    for _ in 0..6 {
        write!(cx.io.out, "  {}", "-".repeat(format.column()))?;
    }
    Ok(writeln!(cx.io.out)?)
}

/// Vdevs beside the others. The line is there, though empty, for scripts too.
fn print_section(
    cx: &mut Cx<'_>,
    format: &Format,
    title: &str,
    vdevs: &[&Vdev],
    before: Option<&Sample>,
    now: &Sample,
) -> Result<(), Stop> {
    if vdevs.is_empty() {
        return Ok(());
    }
    if !format.scripted {
        write!(cx.io.out, "{title:<width$}", width = format.name_width)?;
        for _ in 0..6 {
            write!(cx.io.out, "  {:>width$}", "-", width = format.column())?;
        }
    }
    writeln!(cx.io.out)?;
    for vdev in vdevs {
        print_vdev(cx, format, vdev, &vdevs::name(vdev, format.naming), 2, before, now)?;
    }
    Ok(())
}

fn print_vdev(
    cx: &mut Cx<'_>,
    format: &Format,
    vdev: &Vdev,
    name: &str,
    depth: usize,
    before: Option<&Sample>,
    now: &Sample,
) -> Result<(), Stop> {
    let pad = format.name_width.saturating_sub(depth);
    match format.scripted {
        true => write!(cx.io.out, "{name}")?,
        false => write!(cx.io.out, "{:depth$}{name:<pad$}", "")?,
    }
    let cells = cells(format, vdev, before, now);
    let column = format.column();
    for cell in cells {
        match format.scripted {
            true => write!(cx.io.out, "\t{cell}")?,
            false => write!(cx.io.out, "  {cell:>column$}")?,
        }
    }
    writeln!(cx.io.out)?;
    if format.verbose {
        for child in vdevs::normal(vdev) {
            print_vdev(cx, format, child, &vdevs::name(child, format.naming), depth + 2, before, now)?;
        }
    }
    Ok(())
}

/// Capacity, then operations and bytes a second since the last sample; the first sample is totals since import, since
/// the daemon doesn't say how long ago that was.
fn cells(format: &Format, vdev: &Vdev, before: Option<&Sample>, now: &Sample) -> Vec<String> {
    let number = |value: u64| if format.literal { value.to_string() } else { nicenum(value) };
    let none = if format.literal { "0" } else { "-" }.to_owned();
    let (alloc, free) = match vdev.size > 0 {
        true => (number(vdev.allocated), number(vdev.size.saturating_sub(vdev.allocated))),
        false => (none.clone(), none),
    };
    let old = before.and_then(|sample| sample.counters.get(&vdev.guid)).copied().unwrap_or_default();
    let seconds = before.map_or(1.0, |sample| now.at.duration_since(sample.at).as_secs_f64().max(0.001));
    let rate = |new: u64, old: u64| number((new.saturating_sub(old) as f64 / seconds) as u64);
    vec![
        alloc,
        free,
        rate(vdev.io.read_ops, old.read_ops),
        rate(vdev.io.write_ops, old.write_ops),
        rate(vdev.io.read_bytes, old.read_bytes),
        rate(vdev.io.write_bytes, old.write_bytes),
    ]
}
