//! The feed: all that happens, in one row with numbers, and who listens to it.
//!
//! Events of pools, jobs that begin and end, alerts that are raised and over, and requests that
//! were done are put into it. Whoever listens reads the row at his own pace: of him only the number
//! is kept that he has come to, and one piece that he has not taken yet. Who comes back names the
//! last event that he has taken, and goes on behind it. Who has missed something is told so: he is
//! to read anew what he wants to know (`Event::Resync`).
//!
//! Numbers are those of one run of the program. An `id` has the run in it, so that nobody takes a
//! number of another run for one of this.
//!
//! Invariants: the row has a bound in events and in bytes. A number is given once in a run. Nothing
//! that is put in waits for a listener. A listener who takes nothing for [`STUCK`] is cut, and each
//! is after [`LONGEST`]: then he shows once more who he is.

use crate::shares::{Shares, Turn};
use api_types::{AlertEvent, Event, Job, JobEvent, RequestEvent, ResyncCause, ServiceEvent, Zevent};
use appliance::Clock;
use axum::body::Bytes;
use sockets::lock;
use std::collections::VecDeque;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use stdx::behalf::Actor;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// Events that are kept, and their bytes: as many as of pools.
const KEPT: usize = 4_096;
const KEPT_BYTES: usize = 4 << 20;
/// Bytes of a piece that a listener is sent, unless one event is longer.
const PIECE: usize = 16 << 10;
/// How long a listener may take nothing.
const STUCK: Duration = Duration::from_secs(60);
/// How long one listens at most.
const LONGEST: Duration = Duration::from_secs(600);
/// How often he is sent something though nothing happens.
const QUIET: Duration = Duration::from_secs(15);
/// Listeners at a time: administrators, and others; of these, each of them.
const LISTENERS: usize = 256;
const OF_ONE: usize = 128;
/// Bytes of a path that are told.
const LONGEST_PATH: usize = 1_024;

/// How the feed is sent: server-sent events.
pub const EVENT_STREAM: &str = "text/event-stream";

/// Whom an event is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whom {
    Readers,
    Administrators,
}

/// See the module.
pub struct Feed {
    run: String,
    clock: Clock,
    row: Mutex<Row>,
    news: watch::Sender<bool>,
    administrators: Arc<Semaphore>,
    others: Shares<u32>,
}

#[derive(Default)]
struct Row {
    /// Number of the last event; 0: there was none.
    last: u64,
    /// The last ones, without a gap.
    kept: VecDeque<Kept>,
    bytes: usize,
}

struct Kept {
    /// As it is sent.
    text: Bytes,
    whom: Whom,
}

impl Row {
    /// Number of the first that is kept.
    fn first(&self) -> u64 {
        self.last + 1 - self.kept.len() as u64
    }

    fn forget_first(&mut self) {
        if let Some(gone) = self.kept.pop_front() {
            self.bytes -= gone.text.len();
        }
    }
}

impl Feed {
    pub fn new(clock: Clock) -> Feed {
        // Seeded anew for each.
        let run = RandomState::new().build_hasher().finish();
        let (news, _) = watch::channel(false);
        let (administrators, others) = (Arc::new(Semaphore::new(LISTENERS)), Shares::new(LISTENERS, OF_ONE));
        Feed { run: format!("{run:016x}"), clock, row: Mutex::default(), news, administrators, others }
    }

    pub fn pool(&self, event: Zevent) {
        self.put(&Event::Pool(event), Whom::Readers);
    }

    /// Events were lost before they came here.
    pub fn skip(&self) {
        let mut row = lock(&self.row);
        row.last += 1;
        (row.kept, row.bytes) = (VecDeque::new(), 0);
        drop(row);
        self.wake();
    }

    /// It has begun or ended.
    pub fn job(&self, job: &Job) {
        let Job { id, state, .. } = *job;
        let event = JobEvent { id, kind: job.kind.clone(), target: job.target.clone(), state };
        self.put(&Event::Job(event), Whom::Readers);
    }

    /// It came into another state.
    pub fn service(&self, event: ServiceEvent) {
        self.put(&Event::Service(event), Whom::Readers);
    }

    /// An alert has become something else.
    pub fn alert(&self, event: AlertEvent) {
        self.put(&Event::Alert(event), Whom::Readers);
    }

    /// It was done.
    pub fn request(&self, verb: &str, path: &str, status: u16, whom: Whom) {
        let mut path = path.to_owned();
        path.truncate(path.floor_char_boundary(LONGEST_PATH));
        let event = RequestEvent { time: (self.clock)(), verb: verb.to_owned(), path, status };
        self.put(&Event::Request(event), whom);
    }

    fn put(&self, event: &Event, whom: Whom) {
        let mut row = lock(&self.row);
        row.last += 1;
        let text = self.text(row.last, event);
        row.bytes += text.len();
        row.kept.push_back(Kept { text, whom });
        while row.kept.len() > KEPT || row.bytes > KEPT_BYTES {
            row.forget_first();
        }
        drop(row);
        self.wake();
    }

    fn wake(&self) {
        self.news.send_modify(|_| {});
    }

    /// An event as it is sent.
    fn text(&self, number: u64, event: &Event) -> Bytes {
        // Types of ours are always JSON, in one line.
        let data = serde_json::to_string(event).unwrap_or_default();
        format!("{}data: {data}\n\n", self.id(number)).into()
    }

    fn id(&self, number: u64) -> String {
        format!("id: {}-{number}\n", self.run)
    }

    /// Nothing more happens: who listens has heard all.
    pub fn close(&self) {
        self.news.send_replace(true);
    }

    pub fn is_closed(&self) -> bool {
        *self.news.borrow()
    }

    /// A place for who listens; `None`: there is none.
    pub fn place(&self, asker: &Actor) -> Option<Turn> {
        match asker.is_administrator() {
            // There is none, for it is never closed.
            true => self.administrators.clone().try_acquire_owned().ok().map(Turn::from),
            false => self.others.take(asker.user),
        }
    }

    /// Who listens from behind the event of this id on.
    fn listener(self: &Arc<Feed>, after: &str, sees_all: bool) -> Listener {
        let last = lock(&self.row).last;
        let number = after.split_once('-').filter(|(run, _)| *run == self.run);
        let number = number.and_then(|(_, number)| number.parse().ok()).filter(|number| *number <= last);
        let owed = match number {
            Some(_) => None,
            None if after.is_empty() => Some(ResyncCause::Start),
            None => Some(ResyncCause::Restarted),
        };
        Listener { feed: self.clone(), at: number.unwrap_or(last), owed, sees_all }
    }

    /// Sends what happens from behind the event of this id on, as long as it is taken.
    pub fn listen(self: &Arc<Feed>, after: &str, asker: &Actor, place: Turn) -> mpsc::Receiver<Bytes> {
        let (to, pieces) = mpsc::channel(1);
        let listener = self.listener(after, asker.is_administrator());
        tokio::spawn(async move {
            let _place = place;
            listener.tell(&to, STUCK).await;
        });
        pieces
    }
}

/// Who listens.
struct Listener {
    feed: Arc<Feed>,
    /// Number of the last event that was sent or passed over.
    at: u64,
    /// What is to be said first.
    owed: Option<ResyncCause>,
    sees_all: bool,
}

impl Listener {
    /// What is there for him now, in one piece; empty: nothing is.
    fn take(&mut self) -> Bytes {
        let row = lock(&self.feed.row);
        let first = row.first();
        let cause = self.owed.take().or((self.at + 1 < first).then_some(ResyncCause::Behind));
        if let Some(cause) = cause {
            self.at = row.last;
            return self.feed.text(row.last, &Event::Resync { cause });
        }
        let mut piece = Vec::new();
        for kept in row.kept.iter().skip((self.at + 1 - first) as usize) {
            let is_seen = self.sees_all || kept.whom == Whom::Readers;
            if is_seen && !piece.is_empty() && piece.len() + kept.text.len() > PIECE {
                break;
            }
            self.at += 1;
            if is_seen {
                piece.extend_from_slice(&kept.text);
            }
        }
        piece.into()
    }

    async fn tell(mut self, to: &mpsc::Sender<Bytes>, stuck: Duration) {
        let mut news = self.feed.news.subscribe();
        let end = Instant::now() + LONGEST;
        loop {
            let is_over = *news.borrow_and_update();
            let mut piece = self.take();
            if piece.is_empty() && is_over {
                return;
            }
            if piece.is_empty() {
                tokio::select! {
                    _ = news.changed() => continue,
                    () = sleep(QUIET) => {}
                    () = sleep_until(end) => return,
                    () = to.closed() => return,
                }
                // Without data it is no event; who comes back names it.
                piece = format!("{}\n", self.feed.id(self.at)).into();
            }
            match timeout(stuck, to.send(piece)).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
