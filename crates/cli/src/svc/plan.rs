//! What a service would do, printed.

use super::{time, words};
use crate::command::Io;
use crate::fail::Stop;
use crate::human::nicebytes;
use crate::table::plain;
use api_types::{RunReason, ServicePlan, SnapForecast, SnapPlan, SyncPlan, TierPlan};

pub fn print(plan: &ServicePlan, io: &mut Io<'_>) -> Result<(), Stop> {
    match &plan.snapshots {
        Some(forecast) => snapshots(plan, forecast, io)?,
        None if !plan.syncs.is_empty() => syncs(&plan.syncs, io)?,
        None => {
            if let Some(tier) = &plan.tier {
                files(tier, io)?;
            }
            for run in &plan.runs {
                let why = match &run.reason {
                    RunReason::CatchUp { missed } => format!(", to catch up with {}", missed + 1),
                    RunReason::Scheduled | RunReason::Retry { .. } | RunReason::Asked => String::new(),
                };
                writeln!(io.out, "{}  run{why}", time(run.at, false))?;
            }
            if plan.runs.is_empty() && plan.tier.is_none() {
                writeln!(io.out, "nothing is due until {}", time(plan.until, false))?;
            }
        }
    }
    if plan.left_out > 0 {
        let left = words::count(plan.left_out, "dataset");
        writeln!(io.err, "{left} left out: there are too many snapshots to plan for all at once")?;
    }
    Ok(())
}

fn files(plan: &TierPlan, io: &mut Io<'_>) -> Result<(), Stop> {
    if let Some(refusal) = &plan.refusal {
        return Ok(writeln!(io.out, "nothing  {}", plain(&words::tier_refusal(refusal)))?);
    }
    for file in &plan.first {
        let (modified, size) = (time(file.modified, false), nicebytes(file.size));
        writeln!(io.out, "{modified}  {size:>6}  {}", plain(&file.path))?;
    }
    let (more, files) = (if plan.is_cut { " or more" } else { "" }, words::count(plan.files, "file"));
    let named = plan.first.len() as u64;
    if plan.files > named {
        writeln!(io.out, "and {} more", plan.files - named)?;
    }
    let removable = match plan.removable {
        0 => String::new(),
        files => format!("; {files} may go from the source once there"),
    };
    Ok(writeln!(io.out, "now: {files}{more}, {}{removable}", nicebytes(plan.bytes))?)
}

fn syncs(plans: &[SyncPlan], io: &mut Io<'_>) -> Result<(), Stop> {
    for SyncPlan { dataset, target, steps, refusal, unreachable } in plans {
        for step in steps {
            writeln!(io.out, "{}", plain(&words::step(step, dataset, target)))?;
        }
        if let Some(refusal) = refusal {
            writeln!(io.out, "nothing  {}", plain(&format!("{target}: {}", words::refusal(refusal))))?;
        } else if let Some(why) = unreachable {
            writeln!(io.out, "nothing  {}", plain(&format!("{target}: {why}")))?;
        } else if steps.is_empty() {
            writeln!(io.out, "nothing  {}", plain(&format!("{target} has all of {dataset}")))?;
        }
    }
    Ok(())
}

fn snapshots(plan: &ServicePlan, forecast: &SnapForecast, io: &mut Io<'_>) -> Result<(), Stop> {
    let is_now = plan.until == plan.now;
    let mut count = (0, 0);
    for one in &forecast.plans {
        let made: usize = one.groups.iter().map(|group| group.creates.len()).sum();
        count = (count.0 + made, count.1 + one.destroys.len());
        look(one, is_now, io)?;
    }
    let (made, gone) = (words::count(count.0 as u64, "snapshot"), count.1);
    match is_now {
        true => writeln!(io.out, "now: {made} made, {gone} destroyed")?,
        false => writeln!(io.out, "until {}: {made} made, {gone} destroyed", time(plan.until, false))?,
    }
    if let Some(at) = forecast.ends_early {
        writeln!(io.err, "from {} on it is not foretold: a plan is as long as may be", time(at, false))?;
    }
    Ok(())
}

fn look(plan: &SnapPlan, is_now: bool, io: &mut Io<'_>) -> Result<(), Stop> {
    let at = time(plan.at, false);
    for it in plan.groups.iter().flat_map(|group| &group.creates) {
        let missed = if it.missed == 0 { String::new() } else { format!(", {} missed before", it.missed) };
        let name = plain(&format!("{}@{}", it.dataset, it.snapshot));
        writeln!(io.out, "{at}  make     {name}  {} is due{missed}", it.level)?;
    }
    for it in &plan.destroys {
        let name = plain(&format!("{}@{}", it.dataset, it.snapshot));
        writeln!(io.out, "{at}  destroy  {name}  {}", words::destroy_reason(it.reason))?;
    }
    if !is_now {
        return Ok(());
    }
    for it in &plan.kept {
        let name = plain(&format!("{}@{}", it.dataset, it.snapshot));
        writeln!(io.out, "{at}  keep     {name}  {}", words::kept_reason(&it.reason))?;
    }
    for it in &plan.skipped {
        let level = it.level.as_deref().unwrap_or("all levels");
        let name = plain(&it.dataset);
        writeln!(io.out, "{at}  skip     {name}  {level}: {}", words::skip_reason(it.reason))?;
    }
    for finding in &plan.findings {
        writeln!(io.out, "{at}  note     {}", plain(&words::finding(finding)))?;
    }
    Ok(())
}
