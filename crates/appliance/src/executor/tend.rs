//! Scrubs and trims, carried out.
//!
//! A scrub is known as this service's by when it began, which the pool keeps; a trim likewise.

use engine_api::{
    Cancel, Change, Error, Health, Pool, Result, ScanCommand, ScanKind, ScanState, ScanStatus, SweepState,
    TrimCommand, VdevStatus,
};
use services::time::Time;
use services::upkeep::{self, Progress, Step, Upkeep};

use super::carry::history;
use super::shelf::Tended;

/// Seconds between looks at what is under way, and at what waits for something to end.
const SOON: Time = 60;
/// No look is further ahead.
const REVIEW: Time = 3_600;

/// What came of a look at a pool.
pub struct Tending {
    pub tended: Tended,
    /// Something was begun.
    pub began: bool,
    /// When to look again.
    pub at: Time,
}

/// Looks at a pool, and does what is due.
pub fn tend(
    (pool, id): (&dyn Pool, &str),
    planner: &Upkeep,
    scrub: bool,
    mut tended: Tended,
    stop: &Cancel,
    now: Time,
) -> Result<Tending> {
    let facts = facts(pool, scrub, tended, now);
    if facts.progress == Progress::Idle {
        (tended.began, tended.paused) = (None, false);
    }
    tended.backoff = None;
    let done = |tended, began, at: Time| Ok(Tending { tended, began, at: at.clamp(now + 1, now + REVIEW) });
    if stop.is_cancelled() {
        return done(tended, false, now + SOON);
    }
    let history = history(id);
    match planner.step(&facts, now) {
        Step::Begin { slot, .. } => {
            command(pool, scrub, Command::Begin, &history)?;
            tended = Tended { served: slot.max(now), began: began(pool, scrub), ..tended };
            done(tended, true, now + SOON)
        }
        Step::Pause => {
            command(pool, scrub, Command::Pause, &history)?;
            tended.paused = true;
            done(tended, false, now + SOON)
        }
        Step::Resume => {
            command(pool, scrub, Command::Begin, &history)?;
            tended.paused = false;
            done(tended, false, now + SOON)
        }
        Step::Served { slot } => {
            tended.served = tended.served.max(slot);
            done(tended, false, now + SOON)
        }
        Step::Wait { until, reason } => {
            let is_soon = !matches!(reason, upkeep::Wait::NotDue);
            let at = until.unwrap_or(if is_soon { now + SOON } else { now + REVIEW });
            done(tended, false, at)
        }
    }
}

enum Command {
    /// Or go on.
    Begin,
    Pause,
}

fn command(pool: &dyn Pool, scrub: bool, command: Command, history: &str) -> Result<()> {
    let change = match (scrub, command) {
        (true, Command::Begin) => Change::Scan(ScanCommand::Scrub),
        (true, Command::Pause) => Change::Scan(ScanCommand::Pause),
        (false, command) => {
            let root = pool.status().root;
            let guids = leaves(&root).into_iter();
            let guids = guids.filter(|leaf| leaf.trim.supported).map(|leaf| leaf.guid).collect();
            let command = match command {
                Command::Begin => TrimCommand::Start,
                Command::Pause => TrimCommand::Suspend,
            };
            Change::TrimVdevs { guids, command, rate: 0 }
        }
    };
    match pool.commit(&change, history) {
        // Somebody was quicker: the next look sees it.
        Err(Error::Busy) => Ok(()),
        done => done.map(drop),
    }
}

fn leaves(vdev: &VdevStatus) -> Vec<&VdevStatus> {
    match vdev.children.as_slice() {
        [] => vec![vdev],
        children => children.iter().flat_map(leaves).collect(),
    }
}

fn time(seconds: u64) -> Time {
    Time::try_from(seconds).unwrap_or(Time::MAX)
}

fn scrub_of(scan: Option<&ScanStatus>) -> Option<&ScanStatus> {
    scan.filter(|scan| scan.kind == ScanKind::Scrub)
}

/// When what was just begun did begin.
fn began(pool: &dyn Pool, scrub: bool) -> Option<Time> {
    let status = pool.status();
    match scrub {
        true => scrub_of(status.scan.as_ref()).map(|scan| time(scan.start)),
        false => leaves(&status.root).iter().map(|leaf| time(leaf.trim.time)).min(),
    }
}

fn facts(pool: &dyn Pool, scrub: bool, tended: Tended, now: Time) -> upkeep::Pool {
    let status = pool.status();
    let resilvers = status
        .scan
        .as_ref()
        .is_some_and(|it| it.kind == ScanKind::Resilver && it.state == ScanState::Running);
    let (progress, completed, possible) = match scrub {
        true => of_scrub(scrub_of(status.scan.as_ref()), tended),
        false => of_trim(&leaves(&status.root), tended),
    };
    upkeep::Pool {
        name: status.name,
        guid: status.guid,
        writable: status.health != Health::Suspended && !status.readonly,
        resilvering: resilvers,
        progress,
        served: tended.served.min(now),
        completed,
        possible,
    }
}

fn of_scrub(scan: Option<&ScanStatus>, tended: Tended) -> (Progress, Option<Time>, bool) {
    let Some(scan) = scan else { return (Progress::Idle, None, true) };
    let is_ours = tended.began == Some(time(scan.start));
    let progress = match scan.state {
        ScanState::Running if is_ours => Progress::Ours,
        ScanState::Paused if is_ours && tended.paused => Progress::OursPaused,
        ScanState::Running | ScanState::Paused => Progress::Theirs,
        ScanState::Finished | ScanState::Canceled => Progress::Idle,
    };
    let completed = (scan.state == ScanState::Finished).then(|| time(scan.end));
    (progress, completed, true)
}

fn of_trim(leaves: &[&VdevStatus], tended: Tended) -> (Progress, Option<Time>, bool) {
    let leaves: Vec<_> = leaves.iter().filter(|leaf| leaf.trim.supported).collect();
    let is = |state| leaves.iter().any(|leaf| leaf.trim.state == state);
    let progress = match (is(SweepState::Running), is(SweepState::Suspended), tended.began.is_some()) {
        (true, _, true) if !tended.paused => Progress::Ours,
        (false, true, true) if tended.paused => Progress::OursPaused,
        (true, ..) | (_, true, _) => Progress::Theirs,
        (false, false, _) => Progress::Idle,
    };
    let is_whole = !leaves.is_empty() && leaves.iter().all(|leaf| leaf.trim.state == SweepState::Complete);
    let completed = is_whole.then(|| leaves.iter().map(|leaf| time(leaf.trim.time)).min()).flatten();
    (progress, completed, !leaves.is_empty())
}
