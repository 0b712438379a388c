//! `zpool iostat`: operations and bytes, latencies, queues and histograms, since import and then
//! per interval.

mod columns;
mod histogram;
mod sample;
mod wanted;

use super::scripts::{self, Scripts};
use super::{Repeat, naming, pools, timestamp};
use crate::command::Cx;
use crate::fail::{Outcome, Stop, usage};
use crate::getopt;
use crate::json::Json;
use crate::vdevs::{self, Naming};
use api_types::{PoolStatus, VdevStatus};
use columns::Group;
use histogram::Histogram;
use sample::{Change, Sample};
use wanted::Wanted;

/// What is printed of each vdev.
enum Show {
    /// A line.
    Columns(Vec<Group>),
    /// A table.
    Histogram(&'static Histogram),
    Json,
}

struct Format {
    naming: Naming,
    literal: bool,
    scripted: bool,
    verbose: bool,
    name_width: usize,
    show: Show,
    /// What programs print of the devices.
    scripts: Scripts,
    /// Names of the only vdevs to print; empty: all.
    vdevs: Vec<String>,
}

impl Format {
    /// Whether a vdev of this name is printed.
    fn wants(&self, name: &str) -> bool {
        self.vdevs.is_empty() || self.vdevs.iter().any(|wanted| wanted == name)
    }

    fn groups(&self) -> &[Group] {
        match &self.show {
            Show::Columns(groups) => groups,
            Show::Histogram(_) | Show::Json => &[],
        }
    }

    /// Whether more is wanted than every listing of pools has.
    fn wants_tallies(&self) -> bool {
        !matches!(&self.show, Show::Columns(groups) if groups.len() == 1)
    }
}

pub fn iostat(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    if scripts::is_listing(args) {
        return scripts::list(cx, "iostat");
    }
    let options = getopt::parse(args, "c:gLPT:vyhplqrwnHj", &["json"])?;
    let programs = scripts::named(cx, &options)?;
    if options.has("h") {
        return usage("");
    }
    let mut operands = options.operands.clone();
    let mut repeat = Repeat::take(&mut operands)?;
    let naming = naming(&options);
    let Wanted { pools: names, vdevs } = Wanted::of(cx, &operands, naming)?;
    let mut format = Format {
        naming,
        literal: options.has("p"),
        scripted: options.has("H"),
        verbose: options.has("v") || !vdevs.is_empty() || programs.is_some(),
        scripts: Scripts::default(),
        name_width: 0,
        show: show(&options)?,
        vdevs,
    };
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
        let sample = Sample::take(&cx.client, &found, format.wants_tallies())?;
        if skip {
            skip = false;
            let mut wait = Repeat { interval: repeat.interval, count: 0 };
            wait.next(cx)?;
        } else {
            if let Some(time) = timestamp(options.value("T"))? {
                writeln!(cx.io.out, "{time}")?;
            }
            if let Some(programs) = &programs {
                let wanted = |vdev: &VdevStatus| format.wants(&vdevs::name(vdev, naming));
                format.scripts = Scripts::run(programs, &found, &wanted);
            }
            let change = Change { before: before.as_ref(), now: &sample };
            let heading = !format.scripted && (round == 0 || format.verbose);
            print(cx, &mut format, &found, &change, heading)?;
            round += 1;
            if !repeat.next(cx)? {
                return Ok(status);
            }
        }
        before = Some(sample);
    }
}

fn show(options: &getopt::Parsed) -> Result<Show, Stop> {
    let (latency, sizes) = (options.has("w"), options.has("r"));
    if (latency || sizes) && ["c", "l", "q"].iter().any(|other| options.has(other)) {
        return usage("[-r|-w] isn't allowed with [-c|-l|-q]");
    }
    if latency && sizes {
        return usage("Only one of [-r|-w] can be passed at a time");
    }
    if options.has("j") {
        return Ok(Show::Json);
    }
    if latency || sizes {
        return Ok(Show::Histogram(if latency { &histogram::LATENCY } else { &histogram::SIZES }));
    }
    let wanted =
        [(true, Group::Default), (options.has("l"), Group::Latency), (options.has("q"), Group::Queues)];
    Ok(Show::Columns(wanted.into_iter().filter_map(|(wanted, group)| wanted.then_some(group)).collect()))
}

fn print(
    cx: &mut Cx<'_>,
    format: &mut Format,
    pools: &[PoolStatus],
    change: &Change<'_>,
    heading: bool,
) -> Result<(), Stop> {
    let width = |pool: &PoolStatus| match format.verbose {
        true => vdevs::pool_width(pool, format.naming),
        false => pool.name.chars().count(),
    };
    format.name_width = pools.iter().map(width).max().unwrap_or(0).max(10);
    if matches!(format.show, Show::Json) {
        return Ok(writeln!(cx.io.out, "{}", as_json(format, pools, change))?);
    }
    let in_columns = matches!(format.show, Show::Columns(_));
    if heading && in_columns {
        write!(cx.io.out, "{}", columns::heading(format))?;
    }
    for pool in pools {
        print_vdev(cx, format, &pool.root, &pool.name, 0, change)?;
        if format.verbose {
            for (title, vdevs) in vdevs::classes(&pool.root) {
                print_section(cx, format, title, &vdevs, change)?;
            }
            print_section(cx, format, "cache", &pool.cache.iter().collect::<Vec<_>>(), change)?;
        }
        if format.verbose && format.vdevs.is_empty() && !format.scripted && in_columns {
            write!(cx.io.out, "{}", columns::separator(format))?;
        }
    }
    let at_end = !format.vdevs.is_empty() || (pools.len() > 1 && !format.verbose);
    if at_end && !format.scripted && in_columns {
        write!(cx.io.out, "{}", columns::separator(format))?;
    }
    Ok(())
}

/// Vdevs beside the others. The line is there, though empty, for scripts and histograms too.
fn print_section(
    cx: &mut Cx<'_>,
    format: &Format,
    title: &str,
    vdevs: &[&VdevStatus],
    change: &Change<'_>,
) -> Result<(), Stop> {
    if vdevs.is_empty() {
        return Ok(());
    }
    let in_columns = matches!(format.show, Show::Columns(_));
    let bare = format.scripted || !in_columns || !format.vdevs.is_empty();
    let line = if bare { String::new() } else { columns::dashes(format, title) };
    writeln!(cx.io.out, "{line}")?;
    for vdev in vdevs {
        print_vdev(cx, format, vdev, &vdevs::name(vdev, format.naming), 2, change)?;
    }
    Ok(())
}

fn print_vdev(
    cx: &mut Cx<'_>,
    format: &Format,
    vdev: &VdevStatus,
    name: &str,
    depth: usize,
    change: &Change<'_>,
) -> Result<(), Stop> {
    // One that was asked for is not indented.
    let indent = if format.vdevs.is_empty() { depth } else { 0 };
    let text = match &format.show {
        _ if !format.wants(name) => String::new(),
        Show::Columns(_) => columns::line(format, vdev, name, indent, change),
        Show::Histogram(histogram) => histogram.table(format, vdev, name, change),
        Show::Json => String::new(),
    };
    write!(cx.io.out, "{text}")?;
    if format.verbose {
        for child in vdevs::normal(vdev) {
            print_vdev(cx, format, child, &vdevs::name(child, format.naming), depth + 2, change)?;
        }
    }
    Ok(())
}

fn as_json(format: &Format, pools: &[PoolStatus], change: &Change<'_>) -> Json {
    let mut all = Json::object();
    for pool in pools {
        let mut object = vdev_json(format, &pool.root, change);
        if format.verbose {
            let mut cache = Json::object();
            for device in &pool.cache {
                cache.put(vdevs::name(device, format.naming), vdev_json(format, device, change));
            }
            object.put("l2cache", cache);
        }
        all.put(pool.name.as_str(), object);
    }
    Json::document("zpool iostat").with("pools", all)
}

/// Numbers are of the interval, not a second; sizes and queues are as of now.
fn vdev_json(format: &Format, vdev: &VdevStatus, change: &Change<'_>) -> Json {
    let io = change.counters(vdev);
    let mut object = Json::object()
        .with("guid", Json::Number(vdev.guid))
        .with("seconds", format!("{:.3}", change.seconds()))
        .with("alloc_space", Json::Number(vdev.allocated))
        .with("total_space", Json::Number(vdev.size))
        .with("read_ops", Json::Number(io.read_ops))
        .with("write_ops", Json::Number(io.write_ops))
        .with("read_bytes", Json::Number(io.read_bytes))
        .with("write_bytes", Json::Number(io.write_bytes));
    for name in change.tally_names(vdev) {
        let values =
            if name.ends_with("_queue") { change.now_of(vdev, name) } else { change.tally(vdev, name) };
        object.put(name, Json::List(values.into_iter().map(Json::Number).collect()));
    }
    if format.verbose && !vdev.children.is_empty() {
        let mut children = Json::object();
        for child in &vdev.children {
            children.put(vdevs::name(child, format.naming), vdev_json(format, child, change));
        }
        object.put("vdevs", children);
    }
    object
}
