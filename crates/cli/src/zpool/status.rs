//! `zpool status`

mod json;
mod rebuild;
mod scan;
mod values;

use super::scripts::{self, Scripts};
use super::{JsonOptions, Repeat, naming, pools, timestamp};
use crate::command::Cx;
use crate::fail::{Outcome, Stop};
use crate::getopt;
use crate::human::nicenum;
use crate::term::{Tone, of_health, paint};
use crate::vdevs::{self, Naming};
use crate::{clock, ddt};
use api_types::{
    Checkpoint, Condition, DedupTables, Health, PoolStatus, RebuildState, Removal, RemovalState, ScanKind,
    ScanState, ScanStatus, SweepState, SweepStatus, VdevStatus, routes,
};

/// Where OpenZFS's pages about what is wrong are.
const MESSAGES: &str = "https://openzfs.github.io/openzfs-docs/msg/";

/// How to print.
struct Format {
    naming: Naming,
    literal: bool,
    verbose: bool,
    /// `-x`: only pools with problems.
    explain: bool,
    /// `-e`: only vdevs with problems.
    unhealthy: bool,
    /// `-s`: a column for slow I/Os.
    slow: bool,
    /// `-t`: how far disks are trimmed.
    trim: bool,
    /// `-i`: how far they are initialized.
    initialize: bool,
    /// `-D`: what the tables of deduplication hold.
    dedup: bool,
    /// What programs print of the devices.
    scripts: Scripts,
    json: JsonOptions,
}

pub fn status(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    if scripts::is_listing(args) {
        return scripts::list(cx, "status");
    }
    let options = getopt::parse(args, "c:jDegiLpPstT:vx", &JsonOptions::LONG)?;
    let programs = scripts::named(cx, &options)?;
    let json = JsonOptions::of(&options)?;
    let mut format = Format {
        naming: naming(&options),
        literal: options.has("p") || json.as_int,
        verbose: options.has("v"),
        explain: options.has("x"),
        unhealthy: options.has("e"),
        slow: options.has("s"),
        trim: options.has("t"),
        initialize: options.has("i"),
        dedup: options.has("D"),
        scripts: Scripts::default(),
        json,
    };
    let mut names = options.operands.clone();
    let mut repeat = Repeat::take(&mut names)?;
    loop {
        let time = timestamp(options.value("T"))?;
        let (found, status) = pools(cx, &names)?;
        if let Some(programs) = &programs {
            format.scripts = Scripts::run(programs, &found, &|_| true);
        }
        match format.json.json {
            true => json::print(cx, &format, &found, time)?,
            false => {
                if let Some(time) = time {
                    writeln!(cx.io.out, "{time}")?;
                }
                print_all(cx, &format, &found, &names)?;
            }
        }
        if !repeat.next(cx)? {
            return Ok(status);
        }
    }
}

/// Whether `-x` passes over it: what the software could do better is no problem of the pool's.
fn is_healthy(pool: &PoolStatus) -> bool {
    let is_well = matches!(pool.condition, None | Some(Condition::LegacyVersion));
    pool.health == Health::Online && pool.data_errors == 0 && is_well
}

fn print_all(cx: &mut Cx<'_>, format: &Format, pools: &[PoolStatus], names: &[String]) -> Result<(), Stop> {
    if pools.is_empty() && names.is_empty() {
        return cx.complain("no pools available");
    }
    let mut first = true;
    for pool in pools {
        if format.explain && is_healthy(pool) {
            if !names.is_empty() {
                writeln!(cx.io.out, "pool '{}' is healthy", pool.name)?;
                first = false;
            }
            continue;
        }
        if !first {
            writeln!(cx.io.out)?;
        }
        first = false;
        print(cx, format, pool)?;
    }
    if format.explain && first && names.is_empty() {
        writeln!(cx.io.out, "all pools are healthy")?;
    }
    Ok(())
}

fn print(cx: &mut Cx<'_>, format: &Format, pool: &PoolStatus) -> Result<(), Stop> {
    let colour = cx.io.colour;
    let bold = |text: &str| paint(colour, Tone::Bold, text);
    writeln!(cx.io.out, "  {} {}", bold("pool:"), pool.name)?;
    let health = paint(colour, of_health(pool.health), pool.health.name());
    writeln!(cx.io.out, " {}{health}", bold("state: "))?;
    if let Some(condition) = &pool.condition {
        let status = paint(colour, Tone::Warning, &folded(&condition.status()));
        writeln!(cx.io.out, "{}{status}", bold("status: "))?;
        writeln!(cx.io.out, "{}{}", bold("action: "), folded(condition.action()))?;
        if let Some(msgid) = condition.msgid() {
            writeln!(cx.io.out, "   {} {MESSAGES}{msgid}", bold("see:"))?;
        }
    }
    let scrub = pool.scan.filter(|scan| scan.kind == ScanKind::Scrub).map_or(0, |scrub| scrub.start);
    let of_errors = pool.error_scrub.filter(|errors| errors.start >= scrub);
    if let Some(errors) = &of_errors {
        writeln!(cx.io.out, " scrub: {}", scan::error_lines(errors))?;
    }
    for scan in scans(format, pool, of_errors.is_none()) {
        writeln!(cx.io.out, "  {} {scan}", bold("scan:"))?;
    }
    if let Some(warning) = pool.checkpoint.as_ref().and_then(|checkpoint| scan_warning(pool, checkpoint)) {
        writeln!(cx.io.out, "{warning}")?;
    }
    if let Some(removal) = &pool.removal {
        write!(cx.io.out, "{}{}", bold("remove: "), words_of_removal(removal))?;
    }
    if let Some(checkpoint) = &pool.checkpoint {
        writeln!(cx.io.out, "{}{}", bold("checkpoint: "), words_of_checkpoint(checkpoint))?;
    }
    let width = vdevs::pool_width(pool, format.naming).max(10);
    let mut heading = format!(
        "config:\n\n\t{:<width$}  {:<8} {:>5} {:>5} {:>5}",
        "NAME", "STATE", "READ", "WRITE", "CKSUM"
    );
    if format.slow {
        heading.push_str(&format!(" {:>5}", "SLOW"));
    }
    heading.push_str(&format.scripts.heading(false));
    writeln!(cx.io.out, "{}", bold(&heading))?;
    print_vdev(cx, format, &pool.root, &pool.name, 0, width)?;
    print_extras(cx, format, pool, width)?;
    writeln!(cx.io.out)?;
    match pool.data_errors {
        0 => writeln!(cx.io.out, "errors: No known data errors")?,
        _ if format.verbose => print_errors(cx, pool)?,
        count => {
            let text = format!("errors: {count} data errors, use '-v' for a list");
            writeln!(cx.io.out, "{}", paint(colour, Tone::Bad, &text))?;
        }
    }
    if format.dedup {
        write!(cx.io.out, "{}", dedup(&pool.dedup, format.literal))?;
    }
    Ok(())
}

/// What the tables of deduplication hold (`print_dedup_stats`).
fn dedup(tables: &DedupTables, literal: bool) -> String {
    if tables.entries == 0 {
        return "\n dedup: no DDT entries\n".into();
    }
    let bytes = |number: u64| if literal { number.to_string() } else { nicenum(number) };
    format!(
        "\n dedup: DDT entries {}, size {} on disk, {} in core\n{}",
        tables.entries,
        bytes(tables.on_disk),
        bytes(tables.in_core),
        ddt::histogram(&tables.buckets, literal)
    )
}

/// What is said of the last scrub, and of the resilver that runs or ran last, be it block by block
/// or sequential (`print_scan_status`).
fn scans(format: &Format, pool: &PoolStatus, with_scrub: bool) -> Vec<String> {
    let lines = |scan: &ScanStatus| scan::lines(scan, clock::seconds());
    let (scrub, resilver): (Vec<_>, Vec<_>) = pool.scan.iter().partition(|scan| scan.kind == ScanKind::Scrub);
    let rebuilds: Vec<_> =
        pool.root.children.iter().filter_map(|top| Some((top, top.rebuild.as_ref()?))).collect();
    let runs = rebuilds.iter().any(|(_, rebuild)| rebuild.state == RebuildState::Running);
    let last = rebuilds.iter().map(|(_, rebuild)| rebuild.end).max().unwrap_or(0);
    let of_blocks = |scan: &&ScanStatus| scan.state == ScanState::Running || (!runs && scan.end > last);
    let mut said: Vec<String> = scrub.into_iter().filter(|_| with_scrub).map(lines).collect();
    match resilver.into_iter().find(of_blocks) {
        Some(resilver) => said.push(lines(resilver)),
        None if runs || last > 0 => {
            let name = |top: &VdevStatus| vdevs::name(top, format.naming);
            said.extend(rebuilds.iter().map(|(top, rebuild)| rebuild::lines(rebuild, &name(top))));
        }
        None => {}
    }
    said
}

/// What scans of a pool with a checkpoint do not look at (`print_checkpoint_scan_warning`).
fn scan_warning(pool: &PoolStatus, checkpoint: &Checkpoint) -> Option<&'static str> {
    let scan = pool.scan.filter(|_| !checkpoint.discarding)?;
    match scan.state {
        ScanState::Running | ScanState::Paused => {
            Some("    scan warning: skipping blocks that are only referenced by the checkpoint.")
        }
        _ if scan.end < checkpoint.time => None,
        _ => Some("    scan warning: skipped blocks that are only referenced by the checkpoint."),
    }
}

/// That there is a checkpoint, or what is left of one (`print_checkpoint_status`).
fn words_of_checkpoint(checkpoint: &Checkpoint) -> String {
    let space = nicenum(checkpoint.space);
    match checkpoint.discarding {
        true => format!("discarding, {space} remaining."),
        false => format!("created {}, consumes {space}", clock::ctime(checkpoint.time)),
    }
}

/// How a removal went, or how far it is (`print_removal_status`).
fn words_of_removal(removal: &Removal) -> String {
    let mut text = match removal.state {
        RemovalState::Finished => {
            let minutes = removal.end.saturating_sub(removal.start) / 60;
            format!(
                "Removal of vdev {} copied {} in {}h{}m, completed on {}\n",
                removal.vdev,
                nicenum(removal.copied),
                minutes / 60,
                minutes % 60,
                clock::ctime(removal.end)
            )
        }
        RemovalState::Canceled => {
            format!("Removal of {} canceled on {}\n", removal.name, clock::ctime(removal.end))
        }
        RemovalState::Running => {
            format!("Evacuation of {} in progress since {}\n", removal.name, clock::ctime(removal.start))
        }
    };
    if removal.mapping > 0 {
        text += &format!("\t{} memory used for removed device mappings\n", nicenum(removal.mapping));
    }
    text
}

/// What is hurt, by name.
fn print_errors(cx: &mut Cx<'_>, pool: &PoolStatus) -> Result<(), Stop> {
    let names = match cx.client.get::<Vec<String>>(&routes::at(routes::POOL_ERRORS, &pool.name)) {
        Ok(names) => names,
        Err(error) => {
            let problem = error.problem()?;
            return cx.complain(&format!("errors: List of errors unavailable: {problem}"));
        }
    };
    writeln!(cx.io.out, "errors: Permanent errors have been detected in the following files:\n")?;
    for name in names {
        writeln!(cx.io.out, "        {name}")?;
    }
    Ok(())
}

/// Long sentences in lines of at most 70 characters, as the originals are broken; what has line
/// breaks keeps them.
pub fn folded(text: &str) -> String {
    if text.contains('\n') {
        return text.trim_end().replace("\n\t", "\n").replace('\n', "\n\t");
    }
    let (mut out, mut width) = (String::new(), 0);
    for word in text.split(' ') {
        let length = word.chars().count();
        if width > 0 && width + 1 + length > 70 {
            out.push_str("\n\t");
            width = 0;
        } else if width > 0 {
            out.push(' ');
            width += 1;
        }
        out.push_str(word);
        width += length;
    }
    out
}

fn leaf_is_healthy(vdev: &VdevStatus) -> bool {
    match vdev.children.as_slice() {
        [] => {
            vdev.health == Health::Online && vdev.read_errors + vdev.write_errors + vdev.checksum_errors == 0
        }
        children => children.iter().all(leaf_is_healthy),
    }
}

/// How far a disk is trimmed or initialized (`print_status_trim`, `print_status_initialize`):
/// `doing` it, and `done`.
fn sweep_note(sweep: &SweepStatus, wanted: bool, (doing, done): (&str, &str)) -> String {
    let when = match sweep.state {
        SweepState::Running if !wanted => return format!("  ({doing})"),
        _ if !wanted => return String::new(),
        SweepState::Suspended => "suspended, started at",
        SweepState::Running => "started at",
        SweepState::Complete => "completed at",
        SweepState::Never | SweepState::Canceled if sweep.supported => return format!("  (un{done})"),
        SweepState::Never | SweepState::Canceled => return "  (trim unsupported)".into(),
    };
    format!("  ({}% {done}, {when} {})", sweep.percent, clock::ctime(sweep.time))
}

fn print_vdev(
    cx: &mut Cx<'_>,
    format: &Format,
    vdev: &VdevStatus,
    name: &str,
    depth: usize,
    width: usize,
) -> Result<(), Stop> {
    if format.unhealthy && depth > 0 && leaf_is_healthy(vdev) {
        return Ok(());
    }
    let colour = cx.io.colour;
    let pad = width.saturating_sub(depth);
    let line = format!("\t{:depth$}{name:<pad$}  {:<8}", "", vdev.health.name());
    write!(cx.io.out, "{}", paint(colour, of_health(vdev.health), &line))?;
    for count in [vdev.read_errors, vdev.write_errors, vdev.checksum_errors] {
        let shown = if format.literal { count.to_string() } else { nicenum(count) };
        let tone = if count > 0 { Tone::Bad } else { Tone::Plain };
        write!(cx.io.out, " {}", paint(colour, tone, &format!("{shown:>5}")))?;
    }
    if format.slow {
        let shown = if vdev.children.is_empty() { "0" } else { "-" };
        write!(cx.io.out, " {shown:>5}")?;
    }
    if let Some(note) = &vdev.note {
        write!(cx.io.out, "  {}", paint(colour, Tone::Bad, note))?;
    }
    write!(cx.io.out, "{}", format.scripts.cells(vdev))?;
    if vdev.children.is_empty() {
        let initialized = sweep_note(&vdev.initialize, format.initialize, ("initializing", "initialized"));
        write!(cx.io.out, "{initialized}{}", sweep_note(&vdev.trim, format.trim, ("trimming", "trimmed")))?;
    }
    writeln!(cx.io.out)?;
    for child in vdevs::normal(vdev) {
        print_vdev(cx, format, child, &vdevs::name(child, format.naming), depth + 2, width)?;
    }
    for (title, vdevs) in vdevs::classes(vdev) {
        writeln!(cx.io.out, "\t{}\t", paint(colour, Tone::Bold, title))?;
        for vdev in vdevs {
            print_vdev(cx, format, vdev, &vdevs::name(vdev, format.naming), depth + 2, width)?;
        }
    }
    Ok(())
}

/// Cache devices and spares, each under a heading; nothing is counted on a spare.
fn print_extras(cx: &mut Cx<'_>, format: &Format, pool: &PoolStatus, width: usize) -> Result<(), Stop> {
    if !pool.cache.is_empty() {
        writeln!(cx.io.out, "\tcache")?;
    }
    for cache in &pool.cache {
        print_vdev(cx, format, cache, &vdevs::name(cache, format.naming), 2, width)?;
    }
    if !pool.spares.is_empty() {
        writeln!(cx.io.out, "\tspares")?;
    }
    for spare in pool.spares.iter().filter(|spare| !format.unhealthy || !leaf_is_healthy(spare)) {
        let (name, pad) = (vdevs::name(spare, format.naming), width.saturating_sub(2));
        let line = format!("\t  {name:<pad$}  {:<8}", vdevs::spare_state(spare));
        let note = spare.note.as_ref().map_or(String::new(), |note| format!("  {note}"));
        let line = paint(cx.io.colour, of_health(spare.health), &line);
        writeln!(cx.io.out, "{line}{note}{}", format.scripts.cells(spare))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
