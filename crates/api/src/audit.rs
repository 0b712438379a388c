//! The audit log's writer: who asked for what, by either door, and how it was answered.
//!
//! Every request but GET and HEAD is noted once it was answered, those that were refused included;
//! so is the reading of what users have stored ([`routes::gives_contents`]).
//! A record has the path and no body: passwords, codes and tokens are never in it. One thread
//! writes, all that waits in one transaction, so a request waits for no disk.
//!
//! Everybody can have himself refused as often as he likes. So in each minute only some refusals of
//! one place or user are noted, and of all strangers; an administrator's are all. What was done is
//! noted in any case, and pushed out by nothing that weighs less ([`Weight`]).
//!
//! A request that begins a job is answered before the job has ended. Where the job then fails, that
//! is a record of its own, [`FAILED`] ([`JobNote`]).
//!
//! A shell of the console outlives the request that has opened it, too: its end is a record,
//! [`ENDED`] ([`EndNote`]). What is typed into it is none; what it asks for then is noted as
//! anybody's.
//!
//! What other appliances do here is noted as well, and has a weight of its own: one that sends each
//! second pushes out nothing but what appliances did.
//!
//! Invariants:
//! - A request that was begun comes to its end and is noted, whether or not its client hears of it:
//!   it runs in a task of its own. Where it comes to no end, it is noted as failed. Of who is no
//!   administrator only so many run at a time, or he could begin them without end and hang up.
//! - What is not written is counted, and the count is written as a record and logged.

use crate::caller::Asker;
use crate::denied::Unserved;
use crate::problem::defect;
use crate::shares::{Shares, Turn};
use api_types::{By, Job, Problem, Role, routes};
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use machine::{AuditEntry, Machine, Outside, Weight};
use sockets::lock;
use std::collections::HashMap;
use std::io;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use stdx::behalf::Rank;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::time::timeout;

/// Records that wait to be written.
const QUEUED: usize = 1_024;
/// How long a request waits for a place among them.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long who ends waits before he looks again whether there is one.
const PAUSE: Duration = Duration::from_millis(10);
/// Refusals that are noted in a minute: of one place or user, and of all strangers.
const OF_ONE: u32 = 60;
const OF_STRANGERS: u32 = 240;
/// Places and users that are refused in a minute, and counted: above what strangers may be, and all
/// users that a machine has.
const MOST_COUNTED: usize = 4_096;
const MINUTE: i64 = 60;
/// Requests that run at a time, of one place or user, and of all: of strangers, and of who is known
/// and no administrator.
const OF_ONE_UNDER_WAY: usize = 128;
const UNDER_WAY: usize = 1_024;
/// Bytes of a path or name that are passed on: as many as a record keeps.
const LONGEST: usize = 1_024;
/// Who the record of a loss is from, and what it is called.
const WRITER: &str = "cistern";
const LOSS: &str = "LOST";

/// What the record of a job that has failed is called.
const FAILED: &str = "FAILED";
/// What the record of a shell that has ended is called.
const ENDED: &str = "ENDED";

/// What only the handler of a request knows; in the extensions of its answer.
#[derive(Clone, Debug, Default)]
pub struct Said {
    /// The name that was tried.
    pub who: Option<String>,
    /// What it was done to, where the path does not say it.
    pub target: Option<String>,
    /// Who was let in.
    pub role: Option<Role>,
}

/// What another appliance has asked for, and how it was answered.
pub struct Deed<'a> {
    /// As it is called here.
    pub who: &'a str,
    pub address: IpAddr,
    pub path: &'static str,
    pub target: &'a str,
    pub status: u16,
}

/// A request that was answered.
#[derive(Clone)]
struct Happened {
    weight: Weight,
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
    refused: Arc<Mutex<Refused>>,
    strangers: Arc<Shares<IpAddr>>,
    guests: Arc<Shares<u32>>,
}

/// Who was refused in this minute, and how often.
#[derive(Default)]
struct Refused {
    minute: i64,
    of_strangers: u32,
    of_one: HashMap<Whose, u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Whose {
    Place(IpAddr),
    User(u32),
}

impl Whose {
    fn of(asker: &Asker) -> Whose {
        match asker.address() {
            Some(address) if asker.is_stranger() => Whose::Place(sockets::place(address)),
            _ => Whose::User(asker.actor.user),
        }
    }
}

impl Refused {
    /// Whether one more is noted.
    fn has_room(&mut self, whose: Whose, time: i64) -> bool {
        let minute = time.div_euclid(MINUTE);
        if self.minute != minute {
            *self = Refused { minute, ..Refused::default() };
        }
        if self.of_one.len() >= MOST_COUNTED && !self.of_one.contains_key(&whose) {
            return false;
        }
        let is_stranger = matches!(whose, Whose::Place(_));
        if is_stranger && self.of_strangers >= OF_STRANGERS {
            return false;
        }
        let of_one = self.of_one.entry(whose).or_default();
        if *of_one >= OF_ONE {
            return false;
        }
        *of_one += 1;
        self.of_strangers += u32::from(is_stranger);
        true
    }
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
    let auditor = Auditor {
        to: to.clone(),
        outside,
        lost,
        refused: Arc::default(),
        strangers: Arc::new(Shares::new(UNDER_WAY, OF_ONE_UNDER_WAY)),
        guests: Arc::new(Shares::new(UNDER_WAY, OF_ONE_UNDER_WAY)),
    };
    Ok((auditor, Writer { to, ended: Mutex::new(ended) }))
}

impl Writer {
    /// Has all written that waits, for so long at most.
    pub fn end(self, patience: Duration) {
        let late = Instant::now() + patience;
        // A full queue moves unless its disk is gone.
        while let Err(TrySendError::Full(_)) = self.to.try_send(Order::End)
            && Instant::now() < late
        {
            thread::sleep(PAUSE);
        }
        if lock(&self.ended).recv_timeout(late.saturating_duration_since(Instant::now())).is_err() {
            tracing::error!("the last records of the audit log were not written");
        }
    }
}

fn write_all(machine: &Machine, outside: &dyn Outside, mut orders: Receiver<Order>, lost: &AtomicU64) {
    let mut batch = Vec::new();
    let mut told_in = None;
    loop {
        let mut order = orders.blocking_recv();
        // All that waits, and no more than can: others come meanwhile.
        while let Some(Order::Write(happened)) = order {
            batch.push(*happened);
            order = if batch.len() < QUEUED { orders.try_recv().ok() } else { None };
        }
        let is_end = matches!(order, Some(Order::End)) || batch.is_empty();
        let now = outside.now();
        let minute = now.div_euclid(MINUTE);
        // Each minute once: the records of losses are not to be many.
        let missing = if is_end || told_in != Some(minute) { lost.swap(0, Ordering::Relaxed) } else { 0 };
        if missing > 0 {
            told_in = Some(minute);
            batch.push(loss(missing, now));
        }
        if let Err(fault) = write(machine, &batch) {
            let count = batch.len() as u64 - u64::from(missing > 0);
            tracing::error!(%fault, count, "audit records are lost");
            lost.fetch_add(count + missing, Ordering::Relaxed);
        }
        if is_end {
            return;
        }
        batch.clear();
    }
}

/// The record of records that are not there.
fn loss(count: u64, time: i64) -> Happened {
    tracing::error!(count, "records of the audit log were lost");
    Happened {
        weight: Weight::Refused,
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

fn write(machine: &Machine, batch: &[Happened]) -> Result<(), machine::Fault> {
    machine.note(&batch.iter().map(Happened::entry).collect::<Vec<_>>())
}

impl Happened {
    fn entry(&self) -> AuditEntry<'_> {
        AuditEntry {
            weight: self.weight,
            time: self.time,
            who: &self.who,
            by: self.by,
            address: self.address.as_deref(),
            verb: &self.verb,
            path: &self.path,
            target: self.target.as_deref(),
            status: self.status,
        }
    }
}

/// What of a request is noted, taken before it is handled.
pub struct Asked {
    verb: String,
    path: String,
}

impl Asked {
    /// `None`: it changes nothing, gives no contents away, and is not noted.
    pub fn of(request: &Request) -> Option<Asked> {
        let verb = request.method();
        let path = request.uri().path();
        let is_question = routes::is_question(path) || routes::is_typing(path);
        let reads = verb == Method::GET || verb == Method::HEAD;
        let is_noted = if reads { routes::gives_contents(path) } else { !is_question };
        is_noted.then(|| Asked { verb: cut(verb.as_str()), path: cut(path) })
    }
}

impl Auditor {
    /// A request that is being answered.
    pub fn begin(&self, asked: Asked, asker: Asker) -> Underway {
        let name = match asker.identity() {
            Some(identity) => identity.user.clone(),
            None if asker.is_stranger() => String::new(),
            None => asker.actor.user.to_string(),
        };
        let happened = Happened {
            weight: Weight::Refused,
            time: self.outside.now(),
            who: name,
            by: asker.by(),
            address: asker.address().map(|address| address.to_string()),
            verb: asked.verb,
            path: asked.path,
            target: None,
            status: StatusCode::INTERNAL_SERVER_ERROR.as_u16(),
        };
        Underway { auditor: self.clone(), asker, happened: Some(Box::new(happened)) }
    }

    /// A place for a request that runs to its end; `None`: there is none. Administrators need none.
    fn place(&self, asker: &Asker) -> Option<Option<Turn>> {
        if asker.actor.is_administrator() {
            return Some(None);
        }
        let turn = match Whose::of(asker) {
            Whose::Place(place) => self.strangers.take(place),
            Whose::User(user) => self.guests.take(user),
        };
        turn.map(Some)
    }

    /// Another appliance has done something here, or was refused it. Whoever notes it waits for
    /// nothing.
    pub fn note_peer(&self, deed: Deed<'_>) {
        let Deed { who, address, path, target, status } = deed;
        let weight = if status < 400 { Weight::Peer } else { Weight::Refused };
        let time = self.outside.now();
        let happened = Happened {
            weight,
            time,
            who: cut(who),
            by: By::Peer,
            address: Some(address.to_string()),
            verb: Method::POST.to_string(),
            path: path.to_owned(),
            target: Some(cut(target)),
            status,
        };
        let has_room = weight == Weight::Peer
            || lock(&self.refused).has_room(Whose::Place(sockets::place(address)), time);
        if !has_room || self.to.try_send(Order::Write(Box::new(happened))).is_err() {
            self.lose_one();
        }
    }

    fn lose_one(&self) {
        self.lost.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that is being answered. Dropped without an answer, it is noted as failed.
pub struct Underway {
    auditor: Auditor,
    asker: Asker,
    happened: Option<Box<Happened>>,
}

impl Underway {
    /// For the jobs that it begins.
    fn handled(&self) -> Option<Handled> {
        let weight = weight(&self.asker, None, StatusCode::ACCEPTED);
        let asked = self.happened.as_deref().map(|asked| Happened { weight, ..asked.clone() });
        asked.map(|asked| Handled { auditor: self.auditor.clone(), asked })
    }

    /// Notes the answer. Waits a moment where the disk is slow.
    pub async fn answered(mut self, answer: &mut Response) {
        let Some(happened) = &mut self.happened else { return };
        let Said { who, target, role } = answer.extensions_mut().remove().unwrap_or_default();
        if let Some(who) = who.filter(|_| self.asker.is_stranger()) {
            happened.who = cut(&who);
        }
        happened.time = self.auditor.outside.now();
        happened.target = target.map(|target| cut(&target));
        happened.status = answer.status().as_u16();
        happened.weight = weight(&self.asker, role, answer.status());
        let is_one_of_many = happened.weight == Weight::Refused && !self.asker.actor.is_administrator() && {
            let whose = Whose::of(&self.asker);
            !lock(&self.auditor.refused).has_room(whose, happened.time)
        };
        if is_one_of_many {
            self.happened = None;
            self.auditor.lose_one();
            return;
        }
        // Without a place, or left alone meanwhile, it tries once more when it is dropped.
        if let Ok(Ok(place)) = timeout(PATIENCE, self.auditor.to.reserve()).await
            && let Some(happened) = self.happened.take()
        {
            place.send(Order::Write(happened));
        }
    }
}

impl Drop for Underway {
    fn drop(&mut self) {
        if let Some(happened) = self.happened.take()
            && self.auditor.to.try_send(Order::Write(happened)).is_err()
        {
            self.auditor.lose_one();
        }
    }
}

tokio::task_local! {
    /// The request that this task handles.
    static HANDLED: Handled;
}

/// A request that is noted, as the jobs that it begins need it.
#[derive(Clone)]
struct Handled {
    auditor: Auditor,
    asked: Happened,
}

/// A job that was begun by the request of this task. Dropped before it was told how the job has
/// ended, as a panic does, it notes that the job has failed.
pub struct JobNote(Option<Handled>);

impl JobNote {
    /// Notes nothing where no request of this task is noted.
    pub fn of(job: &Job) -> JobNote {
        JobNote(HANDLED.try_with(Clone::clone).ok().map(|mut handled| {
            handled.asked.verb = FAILED.to_owned();
            handled.asked.path = cut(&routes::at(routes::JOB, &job.id.to_string()));
            handled.asked.target = Some(cut(&format!("{} {}", job.kind, job.target)));
            handled
        }))
    }

    /// The job has ended so.
    pub fn ended<T>(mut self, outcome: &Result<T, Problem>) {
        match (outcome, &mut self.0) {
            (Ok(_), note) => *note = None,
            (Err(problem), Some(handled)) => handled.asked.status = problem.status,
            (Err(_), None) => {}
        }
    }
}

impl Drop for JobNote {
    fn drop(&mut self) {
        let Some(Handled { auditor, mut asked }) = self.0.take() else { return };
        asked.time = auditor.outside.now();
        if auditor.to.try_send(Order::Write(Box::new(asked))).is_err() {
            auditor.lose_one();
        }
    }
}

/// The end of a shell that is opened by the request of this task.
pub struct EndNote(Option<Handled>);

impl EndNote {
    /// Notes nothing where no request of this task is noted.
    pub fn of_this() -> EndNote {
        EndNote(HANDLED.try_with(Clone::clone).ok())
    }

    /// It has ended, and why.
    pub fn ended(self, id: &str, why: &str) {
        let Some(Handled { auditor, mut asked }) = self.0 else { return };
        asked.time = auditor.outside.now();
        asked.verb = ENDED.to_owned();
        asked.path = format!("{}/{id}", routes::SHELLS);
        asked.target = Some(why.to_owned());
        asked.status = StatusCode::OK.as_u16();
        if auditor.to.try_send(Order::Write(Box::new(asked))).is_err() {
            auditor.lose_one();
        }
    }
}

/// Of what was done by who asked, or by who has come in by it.
fn weight(asker: &Asker, role: Option<Role>, status: StatusCode) -> Weight {
    if status.is_client_error() || status.is_server_error() {
        return Weight::Refused;
    }
    match role {
        _ if asker.actor.is_administrator() => Weight::Administrator,
        Some(Role::Administrator) => Weight::Administrator,
        Some(Role::Operator) => Weight::Operator,
        Some(Role::ReadOnly) | None if asker.actor.rank >= Rank::Operator => Weight::Operator,
        Some(Role::ReadOnly) | None => Weight::Guest,
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
    let Some(asked) = Asked::of(&request) else { return next.run(request).await };
    let place = auditor.place(&asker);
    let underway = auditor.begin(asked, asker);
    let Some(turn) = place else {
        let mut answer = Unserved::no_room("too many requests are under way").into_response();
        underway.answered(&mut answer).await;
        return answer;
    };
    let handled = underway.handled();
    let handle = async move {
        let _turn = turn;
        let mut answer = next.run(request).await;
        underway.answered(&mut answer).await;
        answer
    };
    let task = tokio::spawn(async move {
        match handled {
            Some(handled) => HANDLED.scope(handled, handle).await,
            None => handle.await,
        }
    });
    task.await.unwrap_or_else(|panic| defect(&panic).into_response())
}

#[cfg(test)]
mod tests;
