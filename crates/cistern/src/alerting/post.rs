//! Sends what routes are to be told, each batch from a thread of its own.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use alerts::message::Message;
use alerts::outbox::Batch;
use machine::Route;
use notify::Failure;

use super::desk::Desk;

/// How often it is looked whether something is due, and how the checks do.
const LOOK: Duration = Duration::from_secs(1);
/// How long a message may take.
const MOST: Duration = Duration::from_secs(60);
/// When the program ends: as long as that waits.
const LAST: Duration = Duration::from_secs(7);
const STEP: Duration = Duration::from_millis(50);

pub fn start(desk: &Arc<Desk>) -> io::Result<JoinHandle<()>> {
    let desk = desk.clone();
    thread::Builder::new().name("alerts".to_owned()).spawn(move || run(&desk))
}

fn run(desk: &Arc<Desk>) {
    loop {
        desk.supervise();
        for (route, batch) in desk.due() {
            send(desk, route, &batch);
        }
        if !desk.rest(LOOK) {
            break;
        }
    }
    // What was found last has to settle before it is due.
    let until = Instant::now() + LAST;
    while desk.has_untried() && Instant::now() < until {
        for (route, batch) in desk.due() {
            send(desk, route, &batch);
        }
        thread::sleep(STEP);
    }
}

/// A batch that is under way. Whatever becomes of it, its lane is told.
struct Sending {
    desk: Arc<Desk>,
    route: String,
    round: u64,
    outcome: Result<(), Failure>,
}

impl Sending {
    fn ends(mut self, outcome: Result<(), Failure>) {
        self.outcome = outcome;
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let outcome = std::mem::replace(&mut self.outcome, Ok(()));
        self.desk.sent((&self.route, self.round), outcome);
    }
}

fn send(desk: &Arc<Desk>, route: Route, batch: &Batch) {
    let message = Message::of(batch, &desk.host, desk.now().wall);
    let time = if desk.is_ending() { LAST } else { MOST };
    let defect = Err(Failure::Here("a fault of ours; the log says more".to_owned()));
    let sending =
        Sending { desk: desk.clone(), route: route.name.clone(), round: batch.round, outcome: defect };
    let work = move || sending.ends(notify::send(&route.target, route.secret.as_deref(), &message, time));
    // Where there is no thread to be had, the lane is told as well.
    if let Err(error) = thread::Builder::new().name("notify".to_owned()).spawn(work) {
        tracing::error!(%error, "no message can be sent");
    }
}
