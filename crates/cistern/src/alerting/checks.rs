//! The checks: a thread for each, which looks again and again.
//!
//! A check that takes long looks less often: it rests at least [`SHARE`] times as long as it
//! looked. The one of pools also looks as soon as something happens to a pool.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use api_types::AlertCheckName as Check;
use engine_api::Engine;

use super::Sights;
use super::desk::Desk;
use super::look::{Look, all};

/// Rest, in times of work: a check takes at most a hundredth of a core.
const SHARE: u32 = 99;
/// How long it is waited for an event of a pool before it is looked whether the program ends:
/// nanoseconds. And how long two looks are apart, however much happens.
const EVENTS_PATIENCE: u64 = 250_000_000;
const APART: Duration = Duration::from_secs(1);

/// Begins all of them.
pub fn start(desk: &Arc<Desk>, sights: &Arc<Sights>) -> io::Result<Vec<JoinHandle<()>>> {
    let begin = |look: Box<dyn Look>| {
        let (desk, sights) = (desk.clone(), sights.clone());
        let name = format!("check-{}", look.check().word());
        thread::Builder::new().name(name).spawn(move || run(&desk, &sights, look))
    };
    all(sights).into_iter().map(begin).collect()
}

fn run(desk: &Desk, sights: &Sights, mut look: Box<dyn Look>) {
    let mut event = 0;
    loop {
        let begun = Instant::now();
        desk.begins(look.check(), look.most());
        look.look(desk);
        let took = begun.elapsed();
        let every = look.every(sights.every).max(took.saturating_mul(SHARE));
        let goes_on = match look.check() {
            Check::Pools => rest(desk, sights, every, &mut event),
            _ => desk.rest(every),
        };
        if !goes_on {
            return;
        }
    }
}

/// Rests until something happens to a pool.
fn rest(desk: &Desk, sights: &Sights, every: Duration, event: &mut u64) -> bool {
    let until = Instant::now() + every;
    if !desk.rest(APART.min(every)) {
        return false;
    }
    while Instant::now() < until {
        if desk.is_ending() {
            return false;
        }
        let events = sights.engine.diagnostics().zevents(*event, EVENTS_PATIENCE);
        if let Some(last) = events.last() {
            *event = last.eid;
            break;
        }
    }
    !desk.is_ending()
}
