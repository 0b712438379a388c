//! What an operator does until a pool is whole: brings disks back, replaces those that do not come,
//! waits for resilvers, scrubs. Then every copy of everything must be good.

use engine_api::{Change, NewDevice, ScanCommand};
use env::Nanos;
use pool::verify::{Options as VerifyOptions, verify};
use storage::VdevState;

use super::bays::all_paths;
use super::shape::{Shape, Side};
use crate::workload::{Done, Life, failed};

/// Seconds that a pool of a few megabytes may take.
const PATIENCE: u32 = 240;
/// Seconds in which a scan of it has to end, however its disks dawdle.
const SCAN_PATIENCE: u32 = 7200;
/// After so many of them a disk that is out of use is replaced.
const HOPE: u32 = 2;
/// Every so many somebody looks after the pool.
const LOOK: u32 = 10;

/// No disk may be failing any more. `silently`: some may have failed without the pool's noticing.
pub fn mend(life: &Life<'_>, silently: bool) -> Done {
    life.say(|| "it is mended".to_owned());
    let mut shape = Shape::of(&life.pool);
    for second in 0..PATIENCE {
        if second % LOOK <= HOPE {
            look_after(life, &shape, second)?;
        }
        wait(life)?;
        shape = Shape::of(&life.pool);
        if shape.is_settled() && !life.pool.core().scan.is_running() {
            if silently {
                scrub(life)?;
            }
            return whole(life);
        }
    }
    let report = life.pool.scan_report();
    Err(format!("the pool does not get whole: {shape:?}, scan {:?}", report.phys))
}

fn wait(life: &Life<'_>) -> Done {
    life.pool.core().txgs.sync_now().map_err(failed("sync"))?;
    life.machine.env.clock.sleep(Nanos::from_secs(1));
    Ok(())
}

fn look_after(life: &Life<'_>, shape: &Shape, second: u32) -> Done {
    // Which bay a disk was found in, or is missed in, need not be the one it was taken from.
    all_paths(&life.world.swarm).for_each(|path| life.world.disks.set_away(&path, false));
    for side in shape.sides() {
        if side.state == VdevState::Offline {
            life.change(&Change::OnlineVdev { guid: side.guid, expand: false })?;
        } else if second >= HOPE && !life.pool.core().storage.is_usable(side.guid) {
            replace(life, side, shape)?;
        }
    }
    if second >= LOOK {
        life.change(&Change::Scan(ScanCommand::Resilver))?;
    }
    life.change(&Change::ClearErrors { guid: None }).map(drop)
}

/// By whatever lies at its place now, unless that is a copy of another of its disks, or where
/// nobody is; or there is to be no such disk.
fn replace(life: &Life<'_>, side: &Side, shape: &Shape) -> Done {
    let is_taken =
        |path: &str| shape.sides().iter().any(|other| other.guid != side.guid && other.path == path);
    let elsewhere = all_paths(&life.world.swarm).filter(|path| !is_taken(path) && *path != side.path);
    let places: Vec<Option<String>> = match is_taken(&side.path) {
        true => elsewhere.map(Some).collect(),
        false => std::iter::once(None).chain(elsewhere.map(Some)).collect(),
    };
    if is_taken(&side.path) {
        // There may be no other disk left than these.
        for cache in &life.pool.report().cache {
            life.change(&Change::RemoveVdev { guid: cache.stat.guid })?;
        }
    }
    for path in places {
        let new = NewDevice { path, force: true, ..NewDevice::default() };
        if life.change(&Change::ReplaceVdev { guid: side.guid, new })? {
            return Ok(());
        }
    }
    life.change(&Change::DetachVdev { guid: side.guid }).map(drop)
}

/// Waits until no scan is under way.
pub(super) fn scan_ends(life: &Life<'_>) -> Done {
    for _ in 0..SCAN_PATIENCE {
        if !life.pool.core().scan.is_running() {
            return Ok(());
        }
        wait(life)?;
    }
    Err("a scan does not end".to_owned())
}

fn scrub(life: &Life<'_>) -> Done {
    life.change(&Change::Scan(ScanCommand::Stop))?;
    for _ in 0..PATIENCE {
        if life.change(&Change::Scan(ScanCommand::Scrub))? {
            return scan_ends(life);
        }
        wait(life)?;
    }
    Err("no scrub can be begun".to_owned())
}

/// Every copy on every disk.
fn whole(life: &Life<'_>) -> Done {
    let report = verify(&life.pool, VerifyOptions { data: true }, &mut |_, _| {});
    let report = report.map_err(failed("verify"))?;
    if report.is_clean() && report.bad_copies() == 0 {
        return Ok(());
    }
    let some: Vec<String> = report.problems.iter().take(8).map(|problem| format!("{problem:?}")).collect();
    Err(format!("after mending there are {} bad copies, problems: {}", report.bad_copies(), some.join("; ")))
}
