//! The weekly report: sees what it is made of, and sends it when it is due.
//!
//! A thread of its own does both: a pool or a mail server that does not answer holds up reports
//! alone. Which week was told, and by which routes, the desk keeps.

use std::io;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use api::AlertDesk;
use api_types::{
    Alert, AlertCheckName, AlertsQuery, Breakdown, CheckState, Counted, History, PoolStatus, Schedule,
    SeriesQuery, Service, Severity, Statistics, When,
};
use engine_api::Engine;
use env::lock;
use jiff::tz::TimeZone;
use notify::Failure;
use report::document::CAPACITY;
use report::{Alerts, Busiest, Busy, Facts, PoolFacts, Series, ServiceFacts, Traffic};
use services::schedule::Calendar;

use super::Sights;
use super::desk::Desk;
use super::look::services::trouble;

const WEEK: i64 = 7 * 86_400;
const HOUR: i64 = 3_600;
/// How often it is looked whether a report is due.
const LOOK: Duration = Duration::from_secs(1);
/// How long pools and checks have after the start: what they have not seen by then is not known.
const SETTLE: Duration = Duration::from_secs(10);
/// How long the sending of one may take.
const MOST: Duration = Duration::from_secs(60);
/// Alerts that are looked at; clients and datasets that are named.
const ALERTS: usize = 1_000;
const BUSY: usize = 5;

/// What was counted up to a moment, as services know the time.
type Counts = Arc<Mutex<Option<(i64, Statistics)>>>;

/// Begins to look whether reports are due.
pub fn start(desk: &Arc<Desk>, sights: &Arc<Sights>) -> io::Result<JoinHandle<()>> {
    let counts = Counts::default();
    let see = {
        // Who asks for a report by the API keeps nothing alive.
        let (desk, sights, counts) = (Arc::downgrade(desk), sights.clone(), counts.clone());
        move || desk.upgrade().map(|desk| facts(&desk, &sights, &counts))
    };
    desk.report_by(Box::new(see));
    let (desk, sights) = (desk.clone(), sights.clone());
    thread::Builder::new().name("report".to_owned()).spawn(move || {
        // From here on the weeks are counted; what was due already has to wait.
        desk.report_due(None, sights.services.clock().believed);
        let mut goes_on = desk.rest(SETTLE);
        while goes_on {
            look(&desk, &sights, &counts);
            goes_on = desk.rest(LOOK);
        }
    })
}

fn look(desk: &Desk, sights: &Sights, counts: &Counts) {
    let settings = desk.settings();
    let when = When::Week { weekday: settings.report_day, hour: settings.report_hour, minute: 0 };
    let schedule = Schedule { when, zone: None };
    // It was checked when it was set.
    let calendar = Calendar::new(&schedule, &|_| Some(TimeZone::system())).ok();
    let calendar = calendar.filter(|_| settings.report);
    let due = desk.report_due(calendar.as_ref(), sights.services.clock().believed);
    if due.routes.is_empty() {
        return;
    }
    let facts = facts(desk, sights, counts);
    let message = report::message(&facts, due.at);
    for route in due.routes {
        let outcome = match desk.is_ending() {
            true => Err(Failure::Here("the daemon ends".to_owned())),
            false => notify::send(&route.target, route.secret.as_deref(), &message, MOST),
        };
        desk.report_sent(due.at, &route.name, outcome);
    }
    if due.is_new {
        *lock(counts) = (sights.statistics)().map(|now| (facts.to, now));
    }
}

fn facts(desk: &Desk, sights: &Sights, counts: &Counts) -> Facts {
    let to = sights.services.clock().believed;
    let from = to - WEEK;
    let mut pools: Vec<PoolStatus> = sights.engine.pools().iter().map(|pool| pool.status()).collect();
    pools.sort_by(|a, b| a.name.cmp(&b.name));
    let checks = desk.checks();
    let is_blind = |state| matches!(state, CheckState::Failed | CheckState::Silent);
    let blind = checks.iter().filter(|check| is_blind(check.state));
    Facts {
        host: desk.host.clone(),
        from,
        to,
        full_warning: desk.settings().full_warning,
        pools: pools.iter().map(|pool| pool_facts(sights, pool, to)).collect(),
        services: services(desk, sights, (from, to)),
        alerts: alerts(desk, from),
        blind: blind
            .map(|check| (check.name.word().to_owned(), check.why.clone().unwrap_or_default()))
            .collect(),
        knows_freshness: checks
            .iter()
            .any(|check| check.name == AlertCheckName::Datasets && check.state == CheckState::Good),
        traffic: traffic(sights, (from, to)),
        busiest: busiest(sights, counts, to),
    }
}

/// Series of the history, a value an hour.
fn read(sights: &Sights, names: &[&str], (from, to): (i64, i64)) -> Option<Vec<Series>> {
    let known = (sights.history)(&SeriesQuery::default())?.names;
    let wanted: Vec<&str> = names.iter().copied().filter(|name| known.iter().any(|it| it == name)).collect();
    let second = |time: i64| u64::try_from(time).ok();
    let asked = SeriesQuery {
        series: wanted.join(","),
        from: second(from),
        to: second(to),
        points: second((to - from) / HOUR + 1),
    };
    let History { step, first, series, .. } = (sights.history)(&asked)?;
    let (first, step) = (i64::try_from(first).ok()?, i64::try_from(step).ok()?);
    let of = |name: &&str| {
        let found = series.iter().find(|series| series.name == **name);
        Series { first, step, values: found.map(|it| it.values.clone()).unwrap_or_default() }
    };
    Some(names.iter().map(of).collect())
}

fn pool_facts(sights: &Sights, pool: &PoolStatus, to: i64) -> PoolFacts {
    let name = format!("pool.{}.allocated", pool.name);
    // Of a pool whose name has a comma there is none, as of one that is new.
    let capacity = read(sights, &[&name], (to - CAPACITY, to)).and_then(|all| all.into_iter().next());
    PoolFacts {
        name: pool.name.clone(),
        health: pool.health,
        size: pool.root.size,
        allocated: pool.root.allocated,
        data_errors: pool.data_errors,
        scan: pool.scan,
        capacity: capacity.unwrap_or_default(),
    }
}

fn services(desk: &Desk, sights: &Sights, (from, to): (i64, i64)) -> Option<Vec<ServiceFacts>> {
    let tallies = match desk.tallies(from, to) {
        Ok(tallies) => tallies,
        Err(fault) => {
            tracing::error!(%fault, "what services did in the week is not known");
            return None;
        }
    };
    let of = |service: &Service| {
        let did = tallies.get(&service.id).copied().unwrap_or_default();
        ServiceFacts {
            id: service.id.clone(),
            kind: service.spec.kind(),
            state: service.state,
            runs: did.runs,
            failed: did.failed,
            done: did.done,
            destroyed: did.destroyed,
            trouble: trouble(service),
        }
    };
    Some(sights.services.all().iter().map(of).collect())
}

fn alerts(desk: &Desk, from: i64) -> Option<Alerts> {
    let page = |all| {
        let asked = AlertsQuery { all, severity: Severity::Warning, ..AlertsQuery::default() };
        desk.alerts(&asked, None, ALERTS).ok()
    };
    let (open, all) = (page(false)?, page(true)?);
    // The newest come first.
    let is_more = all.is_more && all.alerts.last().is_some_and(|alert| alert.since >= from);
    let is_over = |alert: &&Alert| alert.cleared.as_ref().is_some_and(|over| over.at >= from);
    Some(Alerts {
        raised: all.alerts.iter().filter(|alert| alert.since >= from).count() as u64,
        over: all.alerts.iter().filter(is_over).cloned().collect(),
        open: open.alerts,
        is_more,
    })
}

fn traffic(sights: &Sights, span: (i64, i64)) -> Option<Traffic> {
    let of = |what: &str| {
        let names = ["files", "volumes"]
            .map(|of| [format!("{of}.{what}s"), format!("{of}.{what}_bytes"), format!("{of}.{what}_time")]);
        let names: Vec<&str> = names.as_flattened().iter().map(String::as_str).collect();
        let all: [Series; 6] = read(sights, &names, span)?.try_into().ok()?;
        let [files, bytes, times, volumes, more_bytes, more_times] = all;
        let mean = |nth: usize| {
            let value = |series: &Series| series.values.get(nth).copied().flatten();
            let part = |count: Option<f64>, time: Option<f64>| {
                count.zip(time).map_or((0.0, 0.0), |(n, t)| (n, n * t))
            };
            let (some, took) = part(value(&files), value(&times));
            let (more, took_more) = part(value(&volumes), value(&more_times));
            // Of a time in which nothing was asked for, there is none.
            (some + more > 0.0).then(|| (took + took_more) / (some + more))
        };
        let sum = |nth: usize| {
            let value = |series: &Series| series.values.get(nth).copied().flatten();
            Some(value(&bytes)? + value(&more_bytes).unwrap_or(0.0))
        };
        let many = bytes.values.len();
        let like = |values: Vec<Option<f64>>| Series { first: bytes.first, step: bytes.step, values };
        Some((like((0..many).map(sum).collect()), like((0..many).map(mean).collect())))
    };
    let ((read, read_time), (write, write_time)) = (of("read")?, of("write")?);
    Some(Traffic { read, write, read_time, write_time })
}

fn busiest(sights: &Sights, counts: &Counts, to: i64) -> Option<Busiest> {
    let now = (sights.statistics)()?;
    let before = lock(counts).clone().filter(|(_, before)| before.run == now.run);
    let started = to - i64::try_from(now.uptime / 1_000_000_000).unwrap_or(0);
    let (since, seen) = match before {
        Some((at, before)) => (at, now.since(&before)),
        None => (started, now),
    };
    let nfs =
        busy(&seen.program.nfs.clients, |counts| (counts.requests(), counts.read_bytes, counts.write_bytes));
    let iscsi = busy(&seen.program.iscsi.initiators, |it| (it.commands(), it.read_bytes, it.write_bytes));
    let files = busy(&seen.file_systems, |it| {
        let (calls, reads) = (it.lookups + it.attributes_read + it.directory_reads + it.others, it.reads);
        (calls + reads + it.writes + it.syncs, it.read_bytes, it.write_bytes)
    });
    let volumes = busy(&seen.volumes, |it| {
        (it.reads + it.writes + it.frees + it.flushes, it.read_bytes, it.write_bytes)
    });
    Some(Busiest { since, clients: top([nfs, iscsi].concat()), datasets: top([files, volumes].concat()) })
}

fn busy<T: Counted>(all: &Breakdown<T>, of: fn(&T) -> (u64, u64, u64)) -> Vec<Busy> {
    let one = |name: &str, counts: &T| {
        let (requests, read_bytes, write_bytes) = of(counts);
        Busy { name: name.to_owned(), requests, read_bytes, write_bytes }
    };
    all.each.iter().map(|it| one(&it.name, &it.counts)).collect()
}

/// Those that moved most, then those that asked most.
fn top(mut all: Vec<Busy>) -> Vec<Busy> {
    all.retain(|busy| busy.requests > 0);
    all.sort_by_key(|busy| {
        std::cmp::Reverse((busy.read_bytes.saturating_add(busy.write_bytes), busy.requests))
    });
    all.truncate(BUSY);
    all
}
