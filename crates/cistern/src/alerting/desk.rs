//! The desk: the book of alerts and the outbox, kept in the machine's database, and what the API
//! asks of them.
//!
//! Invariants:
//! - A turn of an alert and the notes of whom it is told are kept in one change, before it is sent:
//!   a program that is killed tells the rest at its next start, and nothing twice but what was
//!   under way.
//! - Where the database takes nothing, alerts are raised and told all the same, and kept when it
//!   does.
//! - The lock is never held while a pool is asked or a message is sent.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use alerts::Moment;
use alerts::book::{Book, Finding, Turn};
use alerts::message::Message;
use alerts::outbox::{Batch, Note, Outbox};
use api::{AlertDesk, DeskFault};
use api_types::{
    Alert, AlertCheck, AlertCheckName as Check, AlertEvent, AlertKind, AlertReport, AlertReportSent,
    AlertRoute, AlertSettings, AlertsQuery, CheckState, ClearCause, RouteAdd, RouteChange, RouteFailure,
    RouteStatus, RouteTested, Severity,
};
use env::{Clock, Entropy, lock};
use machine::{AlertPage, AlertTurned, Denied, Fault, Machine, Route, Tally};
use report::Facts;
use report::queue::Queue;
use services::schedule::Calendar;

use super::route;

/// Turns that wait for the database to take them: as many as may be open, raised and over.
const MOST_UNKEPT: usize = 2 * alerts::book::MOST_OPEN;
/// Seconds between two times that it is kept when open alerts were last seen.
const KEEP: u64 = 60 * 60;
/// Tries of a route that fail before that is an alert.
const FAILING: u32 = 3;
/// How long a test may take, for which somebody waits.
const TEST: Duration = Duration::from_secs(20);
/// How long the end of the program waits for messages, and for checks.
const PATIENCE: Duration = Duration::from_secs(8);

/// See the module.
pub struct Desk {
    machine: Arc<Machine>,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    pub host: String,
    inner: Mutex<Inner>,
    /// Rings when there is something to send, or to end.
    bell: Condvar,
    tell: OnceLock<Box<dyn Fn(AlertEvent) + Send + Sync>>,
    /// Sees what a report is made of.
    week: OnceLock<Box<dyn Fn() -> Option<Facts> + Send + Sync>>,
}

struct Inner {
    book: Book,
    outbox: Outbox,
    reports: Queue,
    routes: BTreeMap<String, Route>,
    settings: AlertSettings,
    /// What the database did not take.
    unkept: Vec<AlertTurned>,
    /// When it was last kept when alerts were seen, by the steady clock.
    kept: u64,
    checks: BTreeMap<Check, Looking>,
    is_ending: bool,
}

impl Inner {
    /// The routes that reports go by.
    fn report_routes(&self) -> Vec<String> {
        let takes = self.routes.values().filter(|route| route::takes_reports(route));
        takes.map(|route| route.name.clone()).collect()
    }

    fn has_untried(&self) -> bool {
        self.routes.values().filter(|route| !route.disabled).any(|route| {
            let state = self.outbox.state(&route.name);
            state.queued > 0 && state.tries == 0
        })
    }
}

/// How a check does.
#[derive(Clone, Debug, Default)]
struct Looking {
    /// Since when it looks, by the steady clock, and how long it may.
    since: Option<(u64, u64)>,
    /// When it has ended last, by the wall clock, and how many milliseconds it took.
    last: Option<(i64, u64)>,
    failure: Option<String>,
    off: Option<String>,
}

/// A report that is to be sent.
pub struct ReportDue {
    /// The time for which it is.
    pub at: i64,
    /// By which it is to be sent now.
    pub routes: Vec<Route>,
    /// A week has just ended.
    pub is_new: bool,
}

/// What a check has found.
pub struct Looked<'a> {
    pub findings: Vec<Finding>,
    /// Why an alert is over that was not found; see [`Book::observe`].
    pub cause: &'a dyn Fn(&AlertKind) -> Option<ClearCause>,
    /// What could not be looked at.
    pub failure: Option<String>,
    /// Why there is nothing to look at.
    pub off: Option<String>,
}

impl Desk {
    pub fn open(
        machine: Arc<Machine>,
        clock: Arc<dyn Clock>,
        entropy: Arc<dyn Entropy>,
        host: String,
    ) -> Result<Desk, Fault> {
        let (open, next) = machine.open_alerts()?;
        let settings = machine.alert_settings()?;
        let routes: BTreeMap<String, Route> =
            machine.routes()?.into_iter().map(|route| (route.name.clone(), route)).collect();
        let mut outbox = Outbox::default();
        for route in routes.values() {
            outbox.set(&route.name, route.least, route.disabled);
        }
        let now = clock.now().as_secs_f64() as u64;
        for note in machine.notes()? {
            let turn = Turn { key: note.key, turn: note.turn, alert: note.alert };
            outbox.put(&note.route, Note { row: Some(note.row), turn }, now);
        }
        let reports = kept_report(&machine)?;
        let inner = Inner {
            book: Book::new(open, next),
            outbox,
            reports,
            routes,
            settings,
            unkept: Vec::new(),
            kept: now,
            checks: BTreeMap::new(),
            is_ending: false,
        };
        let (inner, bell) = (Mutex::new(inner), Condvar::new());
        let (tell, week) = (OnceLock::new(), OnceLock::new());
        Ok(Desk { machine, clock, entropy, host, inner, bell, tell, week })
    }

    pub fn now(&self) -> Moment {
        Moment { wall: self.clock.wall().secs, steady: self.clock.now().as_secs_f64() as u64 }
    }

    pub fn settings(&self) -> AlertSettings {
        lock(&self.inner).settings.clone()
    }

    pub fn is_ending(&self) -> bool {
        lock(&self.inner).is_ending
    }

    /// Waits, at the longest until the program ends. Whether it goes on.
    pub fn rest(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        let mut inner = lock(&self.inner);
        while !inner.is_ending {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero())
            else {
                return true;
            };
            inner = self.bell.wait_timeout(inner, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// A check begins to look, and may take so many seconds.
    pub fn begins(&self, check: Check, most: u64) {
        let now = self.now();
        lock(&self.inner).checks.entry(check).or_default().since = Some((now.steady, most));
    }

    /// A check has looked.
    pub fn looked(&self, check: Check, looked: Looked<'_>, took: Duration) {
        let now = self.now();
        let mut inner = lock(&self.inner);
        let turns = inner.book.observe(check, &looked.findings, looked.cause, now);
        let took = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        let Looked { failure, off, .. } = looked;
        inner.checks.insert(check, Looking { since: None, last: Some((now.wall, took)), failure, off });
        self.take(&mut inner, turns, now);
    }

    /// Who looks after data says that something is wrong: a service that has failed.
    pub fn report(&self, finding: &Finding) {
        let now = self.now();
        let mut inner = lock(&self.inner);
        let turn = inner.book.report(finding, now);
        self.take(&mut inner, turn.into_iter().collect(), now);
    }

    /// What was reported is over.
    pub fn withdraw(&self, what: &AlertKind) {
        let now = self.now();
        let mut inner = lock(&self.inner);
        let turn = inner.book.withdraw(&alerts::kinds::key(what), now);
        self.take(&mut inner, turn.into_iter().collect(), now);
    }

    /// Looks at the checks themselves: which of them do not answer or cannot look. To be called
    /// every second.
    pub fn supervise(&self) {
        let now = self.now();
        let mut inner = lock(&self.inner);
        let mut findings = Vec::new();
        for (check, looking) in &inner.checks {
            if let Some((since, most)) = looking.since {
                let seconds = now.steady.saturating_sub(since);
                if seconds > most {
                    let what = AlertKind::CheckSilent { check: *check, seconds };
                    findings.push(Finding::new(Severity::Error, what));
                }
            }
            if let Some(why) = &looking.failure {
                let what = AlertKind::CheckFailed { check: *check, why: why.clone() };
                findings.push(Finding::new(Severity::Warning, what));
            }
        }
        let left_out = inner.book.left_out();
        if left_out > 0 {
            findings.push(Finding::new(Severity::Critical, AlertKind::TooManyAlerts { left_out }));
        }
        let mut turns = inner.book.observe(Check::Checks, &findings, &|_| Some(ClearCause::NotFound), now);
        let failing = inner.outbox.failing(FAILING).into_iter().map(|(route, tries, why)| {
            let what = AlertKind::RouteFailing { route, tries: u64::from(tries), why };
            Finding::new(Severity::Error, what)
        });
        let failing: Vec<Finding> = failing.collect();
        let routes: Vec<String> = inner.routes.keys().cloned().collect();
        let cause = |what: &AlertKind| match what {
            AlertKind::RouteFailing { route, .. } if !routes.contains(route) => Some(ClearCause::SwitchedOff),
            _ => Some(ClearCause::NotFound),
        };
        turns.extend(inner.book.observe(Check::Delivery, &failing, &cause, now));
        self.take(&mut inner, turns, now);
        if now.steady.saturating_sub(inner.kept) >= KEEP {
            self.keep_open(&mut inner, now);
        }
    }

    /// Keeps turns, puts them into the lanes of their routes, and tells who listens.
    fn take(&self, inner: &mut Inner, turns: Vec<Turn>, now: Moment) {
        self.keep_late(inner);
        if turns.is_empty() {
            return;
        }
        let turned: Vec<AlertTurned> = turns
            .iter()
            .map(|turn| AlertTurned {
                key: turn.key.clone(),
                turn: turn.turn,
                alert: turn.alert.clone(),
                routes: inner.outbox.whom(turn),
            })
            .collect();
        let rows = match self.machine.keep_turns(&turned) {
            Ok(rows) => rows,
            Err(fault) => {
                tracing::error!(%fault, "alerts are not kept; they are told all the same");
                let unkept = turned.iter().map(|turned| AlertTurned { routes: Vec::new(), ..turned.clone() });
                inner.unkept.extend(unkept);
                let surplus = inner.unkept.len().saturating_sub(MOST_UNKEPT);
                inner.unkept.drain(..surplus);
                turned.iter().map(|turned| vec![None; turned.routes.len()]).collect()
            }
        };
        for ((turn, turned), rows) in turns.iter().zip(&turned).zip(rows) {
            for (route, row) in turned.routes.iter().zip(rows) {
                inner.outbox.put(route, Note { row, turn: turn.clone() }, now.steady);
            }
            log(turn);
            if let Some(tell) = self.tell.get() {
                let Alert { id, severity, subject, title, .. } = turn.alert.clone();
                tell(AlertEvent { id, turn: turn.turn, severity, subject, title });
            }
        }
        self.bell.notify_all();
    }

    /// What the database did not take before.
    fn keep_late(&self, inner: &mut Inner) {
        if !inner.unkept.is_empty() && self.machine.keep_turns(&inner.unkept).is_ok() {
            inner.unkept.clear();
        }
    }

    fn keep_open(&self, inner: &mut Inner, now: Moment) {
        let open: Vec<(String, Alert)> =
            inner.book.open().map(|(key, alert)| (key.to_owned(), alert.clone())).collect();
        inner.kept = now.steady;
        if let Err(fault) = self.machine.keep_alerts(&open) {
            tracing::warn!(%fault, "when alerts were last seen is not kept");
        }
    }

    /// What is to be sent now, by which routes.
    pub fn due(&self) -> Vec<(Route, Batch)> {
        let now = self.now();
        let mut inner = lock(&self.inner);
        let due = inner.outbox.take(now.steady);
        due.into_iter().filter_map(|(name, batch)| Some((inner.routes.get(&name)?.clone(), batch))).collect()
    }

    /// How the sending of a batch went.
    pub fn sent(&self, (route, round): (&str, u64), outcome: Result<(), notify::Failure>) {
        let now = self.now();
        let mut inner = lock(&self.inner);
        match outcome {
            Ok(()) => {
                let rows = inner.outbox.sent(route, round);
                if let Err(fault) = self.machine.drop_notes(&rows) {
                    tracing::error!(%fault, route, "messages that were sent are sent again at the next start");
                }
            }
            Err(failure) => {
                let why = failure.to_string();
                let random = (now.steady, self.entropy.u64());
                let tries = inner.outbox.failed((route, round), &why, now.wall, random);
                tracing::warn!(route, why, tries, "a message did not arrive");
            }
        }
        self.bell.notify_all();
    }

    /// Ends checks, and waits for those that look and for messages that can still be sent.
    pub fn end(&self) {
        let mut inner = lock(&self.inner);
        inner.is_ending = true;
        self.bell.notify_all();
        let until = Instant::now() + PATIENCE;
        let is_busy = |inner: &Inner| {
            inner.checks.values().any(|looking| looking.since.is_some()) || inner.has_untried()
        };
        while is_busy(&inner) && Instant::now() < until {
            let waited = self.bell.wait_timeout(inner, Duration::from_millis(100));
            inner = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        let now = self.now();
        self.keep_late(&mut inner);
        self.keep_open(&mut inner, now);
    }

    /// Whether a message waits that could still arrive: no try of its route has failed.
    pub fn has_untried(&self) -> bool {
        self.inner().has_untried()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        lock(&self.inner)
    }

    /// By whom reports are made from now on. To be called once.
    pub fn report_by(&self, week: Box<dyn Fn() -> Option<Facts> + Send + Sync>) {
        drop(self.week.set(week));
    }

    /// What services did since a time.
    pub fn tallies(&self, from: i64, to: i64) -> Result<BTreeMap<String, Tally>, Fault> {
        self.machine.tallies(from, to)
    }

    /// Looks whether a report is due now, and what is to be sent.
    pub fn report_due(&self, calendar: Option<&Calendar>, now: i64) -> ReportDue {
        let steady = self.now().steady;
        let mut inner = self.inner();
        let takers = inner.report_routes();
        let is_new = inner.reports.look(calendar, now, &takers);
        if is_new {
            self.keep_report(&inner);
        }
        let (at, ready) = inner.reports.ready(steady);
        let (takes, gone): (Vec<_>, Vec<_>) = ready.into_iter().partition(|name| takers.contains(name));
        gone.iter().for_each(|name| inner.reports.done(at, name));
        let routes = takes.iter().filter_map(|name| inner.routes.get(name).cloned()).collect();
        ReportDue { at, routes, is_new }
    }

    /// How the sending of a report went.
    pub fn report_sent(&self, at: i64, route: &str, outcome: Result<(), notify::Failure>) {
        let steady = self.now().steady;
        let mut inner = self.inner();
        match outcome {
            Ok(()) => {
                inner.reports.done(at, route);
                self.keep_report(&inner);
                tracing::info!(route, "a report has arrived");
            }
            Err(failure) => {
                tracing::warn!(route, why = %failure, "a report did not arrive");
                inner.reports.failed(at, route, (steady, self.entropy.u64()));
            }
        }
    }

    fn keep_report(&self, inner: &Inner) {
        let kept = serde_json::to_string(inner.reports.kept()).map_err(|error| error.to_string());
        let kept = kept.and_then(|kept| self.machine.keep_report(&kept).map_err(|fault| fault.to_string()));
        if let Err(why) = kept {
            tracing::error!(why, "which report was sent is not kept: it may be sent again after a restart");
        }
    }

    fn shown(&self, inner: &Inner, name: &str) -> Result<AlertRoute, DeskFault> {
        Ok(route::shown(inner.routes.get(name).ok_or(Denied::NotFound)?))
    }
}

/// What was kept of reports. What cannot be understood is begun anew: the next week has the next.
fn kept_report(machine: &Machine) -> Result<Queue, Fault> {
    let Some(text) = machine.report_kept()? else { return Ok(Queue::default()) };
    Ok(serde_json::from_str(&text).map_or_else(
        |error| {
            tracing::error!(%error, "which report was sent is not known");
            Queue::default()
        },
        Queue::new,
    ))
}

fn log(turn: &Turn) {
    let Alert { id, severity, subject, title, .. } = &turn.alert;
    let (turn, severity) = (turn.turn.word(), severity.word());
    tracing::warn!(id, turn, severity, subject, title, "alert");
}

impl AlertDesk for Desk {
    fn alerts(&self, asked: &AlertsQuery, before: Option<u64>, limit: usize) -> Result<AlertPage, DeskFault> {
        let mut page = self.machine.alerts(asked.all, asked.severity, before, limit)?;
        let inner = self.inner();
        for alert in &mut page.alerts {
            // What is open is known better here.
            if let Some(open) = inner.book.get(alert.id) {
                alert.clone_from(open);
            }
        }
        Ok(page)
    }

    fn alert(&self, id: u64) -> Result<Alert, DeskFault> {
        if let Some(alert) = self.inner().book.get(id) {
            return Ok(alert.clone());
        }
        Ok(self.machine.alert(id)?.ok_or(Denied::NotFound)?)
    }

    fn acknowledge(&self, id: u64, by: Option<&str>) -> Result<Alert, DeskFault> {
        let now = self.now();
        let mut inner = self.inner();
        let (key, alert) = inner.book.acknowledge(id, by, now).ok_or(Denied::NotFound)?;
        self.machine.keep_alerts(&[(key, alert.clone())])?;
        Ok(alert)
    }

    fn clear(&self, id: u64, by: &str) -> Result<Alert, DeskFault> {
        let now = self.now();
        let mut inner = self.inner();
        let turn = inner.book.clear(id, by, now).ok_or(Denied::NotFound)?;
        let alert = turn.alert.clone();
        self.take(&mut inner, vec![turn], now);
        Ok(alert)
    }

    fn checks(&self) -> Vec<AlertCheck> {
        let now = self.now();
        let inner = self.inner();
        let told = |(name, looking): (&Check, &Looking)| {
            let silent = looking.since.map(|(since, most)| (now.steady.saturating_sub(since), most));
            let silent = silent.filter(|(seconds, most)| seconds > most);
            let (state, why) = match (silent, &looking.failure, &looking.off) {
                (Some((seconds, _)), ..) => {
                    (CheckState::Silent, Some(format!("it has not ended for {seconds} s")))
                }
                (None, Some(why), _) => (CheckState::Failed, Some(why.clone())),
                (None, None, Some(why)) => (CheckState::Off, Some(why.clone())),
                (None, None, None) if looking.last.is_none() => (CheckState::Waiting, None),
                (None, None, None) => (CheckState::Good, None),
            };
            let (last, took_ms) = looking.last.unzip();
            AlertCheck { name: *name, state, why, last, took_ms: took_ms.unwrap_or(0) }
        };
        inner.checks.iter().map(told).collect()
    }

    fn settings(&self) -> AlertSettings {
        Desk::settings(self)
    }

    fn set_settings(&self, settings: AlertSettings) -> Result<(), DeskFault> {
        route::check_settings(&settings).map_err(DeskFault::Invalid)?;
        let mut inner = self.inner();
        self.machine.set_alert_settings(&settings)?;
        inner.settings = settings;
        Ok(())
    }

    fn routes(&self) -> Result<Vec<RouteStatus>, DeskFault> {
        let inner = self.inner();
        let status = |route: &Route| {
            let state = inner.outbox.state(&route.name);
            RouteStatus {
                route: route::shown(route),
                queued: state.queued as u64,
                failure: state.failed.map(|(at, why)| RouteFailure { at, tries: state.tries, why }),
            }
        };
        Ok(inner.routes.values().map(status).collect())
    }

    fn route(&self, name: &str) -> Result<AlertRoute, DeskFault> {
        self.shown(&self.inner(), name)
    }

    fn add_route(&self, new: RouteAdd) -> Result<AlertRoute, DeskFault> {
        let new = route::added(new).map_err(DeskFault::Invalid)?;
        let mut inner = self.inner();
        self.machine.add_route(&new)?;
        self.set(&mut inner, new)
    }

    fn change_route(&self, name: &str, change: RouteChange) -> Result<AlertRoute, DeskFault> {
        let mut inner = self.inner();
        let before = inner.routes.get(name).ok_or(Denied::NotFound)?;
        let changed = route::changed(before, change).map_err(DeskFault::Invalid)?;
        self.machine.change_route(&changed)?;
        self.set(&mut inner, changed)
    }

    fn remove_route(&self, name: &str) -> Result<(), DeskFault> {
        let mut inner = self.inner();
        self.machine.remove_route(name)?;
        inner.routes.remove(name);
        inner.outbox.remove(name);
        Ok(())
    }

    fn report(&self) -> Result<AlertReport, DeskFault> {
        let facts = self.week.get().and_then(|see| see());
        let facts = facts.ok_or_else(|| DeskFault::Invalid("the daemon still starts, or ends".to_owned()))?;
        Ok(report::told(&facts))
    }

    fn send_report(&self) -> Result<AlertReportSent, DeskFault> {
        let now = self.now().wall;
        let mut inner = self.inner();
        let routes = inner.report_routes();
        inner.reports.ask(now, &routes);
        self.keep_report(&inner);
        self.bell.notify_all();
        Ok(AlertReportSent { routes })
    }

    fn test_route(&self, name: &str) -> Result<RouteTested, DeskFault> {
        let route = self.inner().routes.get(name).cloned().ok_or(Denied::NotFound)?;
        let message = Message::test(name, &self.host, self.now().wall);
        let sent = notify::send(&route.target, route.secret.as_deref(), &message, TEST);
        Ok(RouteTested { failure: sent.err().map(|failure| failure.to_string()) })
    }

    fn listen(&self, tell: Box<dyn Fn(AlertEvent) + Send + Sync>) {
        // It is called once.
        drop(self.tell.set(tell));
    }
}

impl Desk {
    fn set(&self, inner: &mut Inner, route: Route) -> Result<AlertRoute, DeskFault> {
        let name = route.name.clone();
        inner.outbox.set(&name, route.least, route.disabled);
        inner.routes.insert(name.clone(), route);
        self.bell.notify_all();
        self.shown(inner, &name)
    }
}
