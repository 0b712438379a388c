//! `zpool scrub`, `resilver` and `wait` (cmd/zpool/zpool_main.c).

use super::{Repeat, pools, timestamp};
use crate::client::CallError;
use crate::command::Cx;
use crate::fail::{Noun, Outcome, Stop, fail, usage};
use crate::human::nicenum;
use crate::{getopt, jobs};
use api_types::{
    PoolRelease, PoolScan, PoolStatus, PropValue, RebuildState, ScanCommand, ScanKind, ScanState, SweepState,
    SweepStatus, VdevStatus, kind, routes,
};
use std::time::{Duration, Instant};

/// How often it is looked whether what is waited for has ended.
const LOOK: Duration = Duration::from_millis(200);

pub fn scrub(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "aspweCE:S:t", &[])?;
    for (a, b) in [
        ("s", "p"),
        ("e", "p"),
        ("e", "s"),
        ("e", "C"),
        ("e", "t"),
        ("p", "C"),
        ("p", "t"),
        ("s", "C"),
        ("s", "t"),
    ] {
        if options.has(a) && options.has(b) {
            return usage(format!("invalid option combination: -{a} and -{b} are mutually exclusive"));
        }
    }
    if options.has("w") && (options.has("p") || options.has("s")) {
        return usage("invalid option combination: -w cannot be used with -p or -s");
    }
    for letter in ["C", "E", "S", "t"] {
        if options.has(letter) {
            return fail(format!("zpool scrub -{letter}: not supported by this version of Cistern yet"));
        }
    }
    let (command, what) = match (options.has("p"), options.has("s")) {
        (true, _) => (ScanCommand::Pause, "pause scrubbing"),
        (_, true) => (ScanCommand::Stop, "cancel scrubbing"),
        _ if options.has("e") => (ScanCommand::ScrubErrors, "scrub"),
        _ => (ScanCommand::Scrub, "scrub"),
    };
    if options.operands.is_empty() && !options.has("a") {
        return usage("missing pool name argument");
    }
    let names = if options.has("a") { Vec::new() } else { options.operands.clone() };
    let status = each(cx, &names, command, what)?;
    if options.has("w") && status == 0 {
        for pool in pools(cx, &names)?.0 {
            await_end(cx, &pool.name, "scrub")?;
        }
    }
    Ok(status)
}

pub fn resilver(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "", &[])?;
    if options.operands.is_empty() {
        return usage("missing pool name argument");
    }
    each(cx, &options.operands, ScanCommand::Resilver, "restart resilver on")
}

/// Asks the same of each pool, or of all.
fn each(cx: &mut Cx<'_>, names: &[String], command: ScanCommand, what: &str) -> Outcome {
    let (found, mut status) = pools(cx, names)?;
    for pool in found {
        let request = PoolScan { command, history: cx.history.clone() };
        if let Err(error) = jobs::run(cx, &routes::at(routes::POOL_SCAN, &pool.name), &request) {
            status = cx.refused(&format!("cannot {what} {}", pool.name), error, Noun::Pool)?;
        } else if pool.checkpoint.is_some() && command != ScanCommand::Resilver {
            let pool = &pool.name;
            writeln!(
                cx.io.out,
                "warning: will not scrub state that belongs to the checkpoint of pool '{pool}'"
            )?;
        }
    }
    Ok(status)
}

/// What can be waited for, and its column's heading.
const ACTIVITIES: [(&str, &str); 9] = [
    ("discard", "DISCARD"),
    ("free", "FREE"),
    ("initialize", "INITIALIZE"),
    ("replace", "REPLACE"),
    ("remove", "REMOVE"),
    ("resilver", "RESILVER"),
    ("scrub", "SCRUB"),
    ("trim", "TRIM"),
    ("raidz_expand", "RAIDZ_EXPAND"),
];

pub fn wait(cx: &mut Cx<'_>, args: &[String]) -> Outcome {
    let options = getopt::parse(args, "HpT:t:", &[])?;
    let mut enabled: Vec<&str> = ACTIVITIES.iter().map(|(name, _)| *name).collect();
    if let Some(list) = options.value("t") {
        let known = |name: &str| ACTIVITIES.iter().any(|(activity, _)| *activity == name);
        if let Some(bad) = list.split(',').find(|name| !known(name)) {
            return usage(format!("invalid activity '{bad}'"));
        }
        enabled.retain(|name| list.split(',').any(|wanted| wanted == *name));
    }
    let mut operands = options.operands.clone();
    let repeat = Repeat::take(&mut operands)?;
    if repeat.count != 0 {
        return usage("too many arguments");
    }
    let [name] = operands.as_slice() else {
        return usage(if operands.is_empty() { "missing 'pool' argument" } else { "too many arguments" });
    };
    let rows = Rows { enabled: &enabled, scripted: options.has("H"), exact: options.has("p") };
    let (mut row, mut shown) = (0, Instant::now());
    if pools(cx, std::slice::from_ref(name))?.1 != 0 {
        return Ok(1);
    }
    let mut waited = false;
    loop {
        if repeat.interval > 0.0 && (row == 0 || shown.elapsed().as_secs_f32() >= repeat.interval) {
            if let Some(time) = timestamp(options.value("T"))? {
                writeln!(cx.io.out, "{time}")?;
            }
            rows.print(cx, name, row)?;
            (row, shown) = (row + 1, Instant::now());
        }
        let mut any = false;
        for activity in &enabled {
            match is_active(cx, name, activity)? {
                None => return Ok(0),
                Some(active) => any |= active,
            }
        }
        if !any {
            break;
        }
        waited = true;
        cx.client.pause(LOOK)?;
    }
    if waited {
        until_durable(cx, name)?;
    }
    Ok(0)
}

/// Lines of `wait` with an interval.
struct Rows<'a> {
    enabled: &'a [&'a str],
    scripted: bool,
    exact: bool,
}

impl Rows<'_> {
    fn print(&self, cx: &mut Cx<'_>, pool: &str, row: u32) -> Result<(), Stop> {
        let columns = ACTIVITIES.iter().enumerate().filter(|(_, (name, _))| self.enabled.contains(name));
        let (mut heading, mut line) = (String::new(), String::new());
        for (index, (name, title)) in columns {
            let width = title.len().max(6) + 2;
            heading.push_str(&format!("{title:>width$}"));
            let left = left(cx, pool, name)?.unwrap_or(0);
            let shown = if self.exact { left.to_string() } else { nicenum(left) };
            match self.scripted {
                // A tab is before every column but that of the first activity, be it shown or not.
                true if index == 0 => line.push_str(&shown),
                true => line.push_str(&format!("\t{shown}")),
                false => line.push_str(&format!(" {shown:>pad$}", pad = width - 1)),
            }
        }
        if row == 0 && !self.scripted {
            writeln!(cx.io.out, "{heading}")?;
        }
        writeln!(cx.io.out, "{line}")?;
        Ok(cx.io.out.flush()?)
    }
}

/// Waits until nothing of the kind goes on in a pool, or there is no such pool any more.
pub(super) fn await_end(cx: &mut Cx<'_>, pool: &str, activity: &str) -> Result<(), Stop> {
    loop {
        match is_active(cx, pool, activity)? {
            Some(true) => cx.client.pause(LOOK)?,
            Some(false) => return until_durable(cx, pool),
            None => return Ok(()),
        }
    }
}

/// What has ended is seen before it is durable: a disk that was replaced is gone from the tree
/// while its group is being written, and the space of a larger one comes with the end of that.
fn until_durable(cx: &mut Cx<'_>, pool: &str) -> Result<(), Stop> {
    let how = PoolRelease { force: false };
    match jobs::run(cx, &routes::at(routes::POOL_SYNC, pool), &how) {
        // A reader may look, and no more: he has seen the end.
        Err(CallError::Refused(why)) if why.kind == kind::DENIED => Ok(()),
        outcome => absent(outcome).map(drop),
    }
}

/// Whether something is going on in a pool; `None` if there is no such pool (any more).
fn is_active(cx: &mut Cx<'_>, pool: &str, activity: &str) -> Result<Option<bool>, Stop> {
    match activity {
        "free" => Ok(left(cx, pool, activity)?.map(|left| left > 0)),
        _ => Ok(get(cx, pool)?.map(|pool| match activity {
            "scrub" => running(&pool, ScanKind::Scrub).is_some() || of_errors(&pool),
            "resilver" => resilvering(&pool).is_some(),
            "replace" => any_replacing(&pool.root, resilvering(&pool).is_some()),
            "trim" => any_at(&pool.root, &|vdev| vdev.trim.state),
            "initialize" => any_at(&pool.root, &|vdev| vdev.initialize.state),
            "discard" => discarding(&pool).is_some(),
            // Nothing of the kind exists here.
            _ => false,
        })),
    }
}

/// Bytes of work left.
fn left(cx: &mut Cx<'_>, pool: &str, activity: &str) -> Result<Option<u64>, Stop> {
    if activity == "free" {
        let path = format!("{}?names=freeing", routes::at(routes::POOL_PROPERTIES, pool));
        let values = absent(cx.client.get::<Vec<PropValue>>(&path))?;
        return Ok(
            values.map(|values| values.first().and_then(|freeing| freeing.value.parse().ok()).unwrap_or(0))
        );
    }
    Ok(get(cx, pool)?.map(|pool| match activity {
        "scrub" => running(&pool, ScanKind::Scrub).unwrap_or(0),
        "resilver" => resilvering(&pool).unwrap_or(0),
        "replace" if any_replacing(&pool.root, true) => resilvering(&pool).unwrap_or(0),
        "trim" => left_at(&pool.root, &|vdev| vdev.trim),
        "initialize" => left_at(&pool.root, &|vdev| vdev.initialize),
        "discard" => discarding(&pool).unwrap_or(0),
        _ => 0,
    }))
}

fn get(cx: &mut Cx<'_>, pool: &str) -> Result<Option<PoolStatus>, Stop> {
    absent(cx.client.get::<PoolStatus>(&routes::at(routes::POOL, pool)))
}

/// No pool is an answer, not a failure.
fn absent<T>(answer: Result<T, CallError>) -> Result<Option<T>, Stop> {
    match answer {
        Ok(found) => Ok(Some(found)),
        Err(error) => {
            let problem = error.problem()?;
            if problem.kind == kind::NOT_FOUND { Ok(None) } else { fail(problem.to_string()) }
        }
    }
}

/// Bytes left of a scan of this kind, if one runs and does not pause.
fn running(pool: &PoolStatus, kind: ScanKind) -> Option<u64> {
    let scan = pool.scan.filter(|scan| scan.kind == kind && scan.state == ScanState::Running)?;
    Some(scan.to_examine.saturating_sub(scan.issued))
}

/// Bytes left of a checkpoint that is being discarded.
fn discarding(pool: &PoolStatus) -> Option<u64> {
    pool.checkpoint.filter(|checkpoint| checkpoint.discarding).map(|checkpoint| checkpoint.space)
}

/// Whether a scrub of known errors runs.
fn of_errors(pool: &PoolStatus) -> bool {
    pool.error_scrub.is_some_and(|errors| errors.state == ScanState::Running)
}

/// Bytes left of resilvering, of one kind or the other.
fn resilvering(pool: &PoolStatus) -> Option<u64> {
    let rebuilds = pool.root.children.iter().filter_map(|top| top.rebuild);
    let rebuilds = rebuilds.filter(|rebuild| rebuild.state == RebuildState::Running);
    let left = rebuilds.map(|rebuild| rebuild.to_scan.saturating_sub(rebuild.rebuilt));
    running(pool, ScanKind::Resilver).or_else(|| left.reduce(|a, b| a + b))
}

/// Whether a disk is being replaced, be it by a spare that has not everything yet.
fn any_replacing(vdev: &VdevStatus, resilvering: bool) -> bool {
    let is_replacing = match vdev.kind.as_str() {
        "replacing" => true,
        "spare" => resilvering || vdev.children.len() > 2,
        _ => false,
    };
    is_replacing || vdev.children.iter().any(|child| any_replacing(child, resilvering))
}

/// Bytes left of what goes over the free space of disks.
fn left_at(vdev: &VdevStatus, of: &dyn Fn(&VdevStatus) -> SweepStatus) -> u64 {
    let sweep = of(vdev);
    let here = match sweep.state {
        SweepState::Running => vdev.physical / 100 * u64::from(100 - sweep.percent.min(100)),
        _ => 0,
    };
    here + vdev.children.iter().map(|child| left_at(child, of)).sum::<u64>()
}

fn any_at(vdev: &VdevStatus, of: &dyn Fn(&VdevStatus) -> SweepState) -> bool {
    of(vdev) == SweepState::Running || vdev.children.iter().any(|child| any_at(child, of))
}
