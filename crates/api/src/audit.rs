//! The audit log's writer: who asked for what, by either door, and how it was answered.
//!
//! Every request but GET and HEAD is noted once it was answered, those that were refused included.
//! A record has the path and no body: passwords, codes and tokens are never in it. One thread
//! writes, so a request waits for no disk.
//!
//! Strangers can send as much as they like, and the log has a bound. So in each minute only some of
//! their requests are noted: to push out what others did they need more than a day.
//!
//! Invariant: what is not written is counted, and the count is written as a record and logged.

use crate::caller::Asker;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::Method;
use axum::middleware::Next;
use axum::response::Response;
use machine::{AuditEntry, By, Machine, Outside};
use sockets::lock;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use tokio::sync::mpsc::{self, Receiver, Sender};

/// Records that wait to be written.
const QUEUED: usize = 1_024;
/// How long a request waits for a place among them.
const PATIENCE: Duration = Duration::from_secs(1);
/// Records of strangers in a minute.
const STRANGERS: u32 = 120;
const MINUTE: i64 = 60;
/// Bytes of a path or name that are passed on: as many as a record keeps.
const LONGEST: usize = 1_024;
/// Who the record of a loss is from, and what it is called.
const WRITER: &str = "cistern";
const LOSS: &str = "LOST";

/// What only the handler of a request knows; in the extensions of its answer.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The name that was tried.
    pub who: Option<String>,
    /// What it was done to, where the path does not say it.
    pub target: Option<String>,
}

/// A request that was answered.
struct Happened {
    time: i64,
    who: String,
    by: By,
    address: Option<String>,
    verb: String,
    path: String,
    target: Option<String>,
    status: u16,
}

enum Order {
    Write(Box<Happened>),
    End,
}

/// Where requests are noted.
#[derive(Clone)]
pub struct Auditor {
    to: Sender<Order>,
    outside: Arc<dyn Outside>,
    lost: Arc<AtomicU64>,
    /// The minute, and how many strangers were noted in it.
    strangers: Arc<Mutex<(i64, u32)>>,
}

/// The thread that writes, until it is told to end.
pub struct Writer {
    to: Sender<Order>,
    ended: Mutex<std::sync::mpsc::Receiver<()>>,
}

/// Begins to write.
pub fn begin(machine: Arc<Machine>, outside: Arc<dyn Outside>) -> io::Result<(Auditor, Writer)> {
    let (to, orders) = mpsc::channel(QUEUED);
    let (tell, ended) = std::sync::mpsc::channel();
    let lost = Arc::new(AtomicU64::new(0));
    let write = {
        let (outside, lost) = (outside.clone(), lost.clone());
        move || {
            write_all(&machine, &*outside, orders, &lost);
            // Who waits for it may have given up.
            let _ = tell.send(());
        }
    };
    thread::Builder::new().name("audit".to_owned()).spawn(write)?;
    let auditor = Auditor { to: to.clone(), outside, lost, strangers: Arc::default() };
    Ok((auditor, Writer { to, ended: Mutex::new(ended) }))
}

impl Writer {
    /// Has all written that waits, for so long at most.
    pub fn end(self, patience: Duration) {
        // A full queue does not move: its disk is gone, and nothing is to be waited for.
        let is_told = self.to.try_send(Order::End).is_ok();
        if !is_told || lock(&self.ended).recv_timeout(patience).is_err() {
            tracing::error!("the last records of the audit log were not written");
        }
    }
}

fn write_all(machine: &Machine, outside: &dyn Outside, mut orders: Receiver<Order>, lost: &AtomicU64) {
    while let Some(Order::Write(happened)) = orders.blocking_recv() {
        if let Err(fault) = write(machine, &happened) {
            tracing::error!(%fault, who = happened.who, path = happened.path, "an audit record is lost");
            lost.fetch_add(1, Ordering::Relaxed);
            continue;
        }
        let missing = lost.swap(0, Ordering::Relaxed);
        if missing > 0 && write(machine, &loss(missing, outside.now())).is_err() {
            // Not told yet: it is told with the next record.
            lost.fetch_add(missing, Ordering::Relaxed);
        }
    }
}

/// The record of records that are not there.
fn loss(count: u64, time: i64) -> Happened {
    tracing::error!(count, "records of the audit log were lost");
    Happened {
        time,
        who: WRITER.to_owned(),
        by: By::Nobody,
        address: None,
        verb: LOSS.to_owned(),
        path: String::new(),
        target: Some(format!("{count} records were lost")),
        status: 0,
    }
}

fn write(machine: &Machine, happened: &Happened) -> Result<(), machine::Fault> {
    machine.note(&AuditEntry {
        time: happened.time,
        who: &happened.who,
        by: happened.by,
        address: happened.address.as_deref(),
        verb: &happened.verb,
        path: &happened.path,
        target: happened.target.as_deref(),
        status: happened.status,
    })
}

/// What of a request is noted, taken before it is handled.
pub struct Asked {
    verb: Method,
    path: String,
}

impl Asked {
    /// `None`: it changes nothing, and is not noted.
    pub fn of(request: &Request) -> Option<Asked> {
        let verb = request.method().clone();
        let changes = verb != Method::GET && verb != Method::HEAD;
        changes.then(|| Asked { verb, path: cut(request.uri().path()) })
    }
}

impl Auditor {
    /// Notes a request and its answer. Waits a moment where the disk is slow.
    pub async fn note(&self, asked: Asked, asker: &Asker, answer: &mut Response) {
        let time = self.outside.now();
        if asker.is_stranger() && !self.has_room_for_stranger(time) {
            self.lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Said { who, target } = answer.extensions_mut().remove().unwrap_or_default();
        let known = match asker.identity() {
            Some(identity) => identity.user.clone(),
            None if asker.is_stranger() => who.unwrap_or_default(),
            None => asker.actor.user.to_string(),
        };
        let happened = Happened {
            time,
            who: cut(&known),
            by: asker.by(),
            address: asker.address().map(|address| address.to_string()),
            verb: asked.verb.to_string(),
            path: asked.path,
            target: target.map(|target| cut(&target)),
            status: answer.status().as_u16(),
        };
        if self.to.send_timeout(Order::Write(Box::new(happened)), PATIENCE).await.is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_room_for_stranger(&self, time: i64) -> bool {
        let mut noted = lock(&self.strangers);
        let minute = time.div_euclid(MINUTE);
        if noted.0 != minute {
            *noted = (minute, 0);
        }
        noted.1 += 1;
        noted.1 <= STRANGERS
    }
}

/// No more of a text than a record keeps.
fn cut(text: &str) -> String {
    text.char_indices().take_while(|(at, c)| at + c.len_utf8() <= LONGEST).map(|(_, c)| c).collect()
}

/// Notes what a route answers.
pub async fn record(
    State(auditor): State<Auditor>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    request: Request,
    next: Next,
) -> Response {
    let asked = Asked::of(&request);
    let mut answer = next.run(request).await;
    if let Some(asked) = asked {
        auditor.note(asked, &asker, &mut answer).await;
    }
    answer
}

#[cfg(test)]
mod tests;
