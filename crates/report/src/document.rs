//! A report as sentences, tables and pictures, whatever it is written as.

use std::cmp::Reverse;

use alerts::text::{bytes, utc};
use api_types::{Alert, AlertKind, Health, ScanKind, ScanState, ScanStatus, ServiceKind, Severity};

use crate::facts::{Alerts, Busy, Facts, PoolFacts, Series, ServiceFacts, Traffic};
use crate::forecast::{self, Forecast, LEAST_DAYS, Until};
use crate::picture::{Colour, Line, POINTS, draw};
use crate::words::{between, count, day, rate, round, round_bytes, safe, size, time};

/// Rows of a table; more are counted.
pub const ROWS: usize = 20;
/// Pools that have a picture: those that come first by name.
pub const PICTURED: usize = 8;
const DAY: i64 = 86_400;
/// Time that the picture of a pool shows.
pub const CAPACITY: i64 = 28 * DAY;

#[derive(Clone, Debug, Default)]
pub struct Document {
    /// One line.
    pub title: String,
    /// What there is to know, in a few sentences.
    pub summary: Vec<String>,
    pub sections: Vec<Section>,
}

#[derive(Clone, Debug, Default)]
pub struct Section {
    pub title: &'static str,
    pub notes: Vec<String>,
    pub table: Table,
    pub pictures: Vec<Picture>,
}

#[derive(Clone, Debug, Default)]
pub struct Table {
    pub head: &'static [&'static str],
    /// Each as long as the head.
    pub rows: Vec<Vec<String>>,
    /// Rows that are left out.
    pub more: usize,
}

/// A picture and all that is said beside it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// Letters and digits: it is a part of addresses.
    pub name: String,
    pub title: String,
    pub legend: Vec<(Colour, &'static str)>,
    /// What its highest line stands for.
    pub top: String,
    /// What its left and right ends stand for.
    pub from: String,
    pub to: String,
    pub png: Vec<u8>,
}

impl Document {
    pub fn of(facts: &Facts) -> Document {
        let sections = [pools(facts), alerts(facts), services(facts), traffic(facts), busiest(facts)];
        Document { title: title(facts), summary: summary(facts), sections: sections.into() }
    }

    pub fn pictures(&self) -> impl Iterator<Item = &Picture> {
        self.sections.iter().flat_map(|section| &section.pictures)
    }
}

impl Table {
    fn of(head: &'static [&'static str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
        let mut rows: Vec<Vec<String>> = rows.into_iter().collect();
        let more = rows.len().saturating_sub(ROWS);
        rows.truncate(ROWS);
        Table { head, rows, more }
    }
}

fn title(facts: &Facts) -> String {
    let week = format!("week to {}", day(facts.to));
    let open = facts.alerts.as_ref().map(|alerts| &alerts.open);
    let worst = open.and_then(|open| open.iter().map(|alert| alert.severity).max());
    match (open, worst) {
        (Some(_), None) if facts.blind.is_empty() => format!("{week}: nothing is wrong"),
        (None, _) | (_, None) => format!("{week}: not all could be looked at"),
        (Some(open), Some(worst)) => {
            let open = count(open.len() as u64, "alert");
            format!("{week}: {open} open, the worst {}", worst.word())
        }
    }
}

fn summary(facts: &Facts) -> Vec<String> {
    let ill: Vec<&PoolFacts> = facts.pools.iter().filter(|pool| pool.health != Health::Online).collect();
    let mut said = vec![match (facts.pools.len(), ill.as_slice()) {
        (0, _) => "No pool is imported.".to_owned(),
        (all, []) => format!("{}, all healthy.", count(all as u64, "pool")),
        (all, ill) => {
            let names =
                ill.iter().take(5).map(|pool| format!("{} is {}", safe(&pool.name), pool.health.name()));
            format!("{}: {}.", count(all as u64, "pool"), names.collect::<Vec<_>>().join(", "))
        }
    }];
    let soonest = facts.pools.iter().filter_map(|pool| match foretold(facts, pool) {
        Forecast::Grows { full: Until::Days(days), .. } => Some((days, pool)),
        _ => None,
    });
    if let Some((days, pool)) = soonest.min_by_key(|(days, _)| *days) {
        said.push(format!(
            "Pool {} is full in {} at this pace.",
            safe(&pool.name),
            count(days.into(), "day")
        ));
    }
    said.push(match &facts.alerts {
        Some(alerts) => format!(
            "{} raised, {} over, {} open.",
            count(alerts.raised, "alert"),
            alerts.over.len(),
            alerts.open.len()
        ),
        None => "Alerts could not be read.".to_owned(),
    });
    if let Some(services) = facts.services.as_ref().filter(|services| !services.is_empty()) {
        let sum = |of: fn(&ServiceFacts) -> u64| services.iter().map(of).sum::<u64>();
        let (runs, failed) = (sum(|service| service.runs), sum(|service| service.failed));
        let failed = if failed > 0 { format!(", {failed} with failures") } else { String::new() };
        let services = count(services.len() as u64, "service");
        said.push(format!("{services} ran {}{failed}.", count(runs, "time")));
    }
    for (check, why) in facts.blind.iter().take(ROWS) {
        said.push(format!("Check {} cannot look: {}.", safe(check), safe(why)));
    }
    said
}

fn foretold(facts: &Facts, pool: &PoolFacts) -> Forecast {
    forecast::of(&pool.capacity, pool.size, pool.allocated, facts.full_warning)
}

fn pools(facts: &Facts) -> Section {
    let row = |pool: &PoolFacts| {
        let percent = (pool.allocated as f64 / pool.size.max(1) as f64 * 100.0).round();
        vec![
            safe(&pool.name),
            pool.health.name().to_owned(),
            format!("{} of {} ({percent} %)", bytes(pool.allocated), bytes(pool.size)),
            grown(facts, pool),
            forecast_words(foretold(facts, pool), facts.full_warning),
            scanned(pool.scan.as_ref(), facts.to),
            pool.data_errors.to_string(),
        ]
    };
    let head = &["pool", "health", "in use", "this week", "at this pace", "last scrub", "damaged files"];
    let pictures = facts.pools.iter().take(PICTURED).enumerate();
    Section {
        title: "Pools",
        notes: Vec::new(),
        table: Table::of(head, facts.pools.iter().map(row)),
        pictures: pictures.filter_map(|(nth, pool)| capacity(nth, pool, facts)).collect(),
    }
}

fn grown(facts: &Facts, pool: &PoolFacts) -> String {
    let first = pool.capacity.known().find(|(at, _)| *at >= facts.from);
    match first {
        Some((at, then)) if at < facts.to => {
            let by = pool.allocated as f64 - then;
            let sign = if by < 0.0 { "−" } else { "+" };
            let short = facts.to - at < (facts.to - facts.from) - DAY;
            let since = if short { format!(" in {}", between(at, facts.to)) } else { String::new() };
            format!("{sign}{}{since}", size(by.abs()))
        }
        _ => "not known".to_owned(),
    }
}

fn forecast_words(forecast: Forecast, full_warning: u8) -> String {
    match forecast {
        Forecast::TooLittle { days } => {
            format!("no forecast: {} known, it takes {LEAST_DAYS}", count(days.unsigned_abs(), "day"))
        }
        Forecast::Unclear => "no forecast: it goes up and down".to_owned(),
        Forecast::Still => "stays as it is".to_owned(),
        Forecast::Shrinks { by } => format!("shrinks by {} a day", size(by)),
        Forecast::Grows { by, warning, full } => {
            let until = |limit: Until| match limit {
                Until::Reached => "now".to_owned(),
                Until::Days(days) => format!("in {}", count(days.into(), "day")),
                Until::Far => "in more than 3 years".to_owned(),
            };
            match (warning, full) {
                (Until::Far, _) => format!("+{} a day: full {}", size(by), until(full)),
                _ => {
                    format!("+{} a day: {full_warning} % {}, full {}", size(by), until(warning), until(full))
                }
            }
        }
    }
}

fn scanned(scan: Option<&ScanStatus>, now: i64) -> String {
    let Some(scan) = scan else { return "never".to_owned() };
    let what = match scan.kind {
        ScanKind::Scrub => "",
        ScanKind::Resilver => "resilver: ",
    };
    let at = i64::try_from(scan.end).unwrap_or(i64::MAX);
    match scan.state {
        ScanState::Finished => {
            let result = match (scan.errors, scan.processed) {
                (0, 0) => "nothing found".to_owned(),
                (0, repaired) => format!("{} repaired", bytes(repaired)),
                (errors, _) => count(errors, "error"),
            };
            format!("{what}{result}, {} ago", between(at, now))
        }
        ScanState::Canceled => format!("{what}cancelled {} ago", between(at, now)),
        _ => format!("{what}under way"),
    }
}

fn capacity(nth: usize, pool: &PoolFacts, facts: &Facts) -> Option<Picture> {
    pool.capacity.highest()?;
    let from = facts.to - CAPACITY;
    let values = pool.capacity.parts((from, facts.to), 4 * 28);
    let lines = [Line { colour: Colour::Blue, values, filled: true }];
    Some(Picture {
        name: format!("pool{nth}"),
        title: format!("{}: in use", safe(&pool.name)),
        legend: Vec::new(),
        top: bytes(pool.size),
        from: day(from),
        to: day(facts.to),
        png: draw(&lines, pool.size as f64, 4)?,
    })
}

fn alerts(facts: &Facts) -> Section {
    let row = |alert: &Alert| {
        let over = alert.cleared.as_ref().map(|over| format!("{}: {}", utc(over.at), safe(&over.why)));
        let by = alert.acknowledged.as_ref().map(|it| format!("open, {} looks after it", safe(&it.by)));
        vec![
            alert.severity.word().to_owned(),
            safe(&alert.title),
            utc(alert.since),
            over.or(by).unwrap_or_else(|| "open".to_owned()),
        ]
    };
    let title = "Alerts";
    let Some(alerts) = &facts.alerts else {
        return Section { title, notes: vec!["They could not be read.".to_owned()], ..Section::default() };
    };
    let mut open: Vec<&Alert> = alerts.open.iter().collect();
    open.sort_by_key(|alert| (Reverse(alert.severity), alert.since));
    let mut notes = Vec::new();
    if open.is_empty() {
        notes.push("No alert is open.".to_owned());
    }
    if alerts.is_more {
        notes.push("There were more than are listed: cistern alert list --all.".to_owned());
    }
    notes.push(freshness(facts, alerts));
    let all = open.into_iter().chain(&alerts.over);
    let head = &["severity", "what", "since", "over"];
    Section { title, notes, table: Table::of(head, all.map(row)), pictures: Vec::new() }
}

fn freshness(facts: &Facts, alerts: &Alerts) -> String {
    let is_stale = |alert: &&Alert| matches!(alert.what, Some(AlertKind::Stale { .. }));
    let stale: Vec<&Alert> = alerts.open.iter().filter(is_stale).collect();
    match stale.as_slice() {
        _ if !facts.knows_freshness => {
            "Whether snapshots are as new as they should be is not known.".to_owned()
        }
        [] => "All datasets that should have new snapshots have them.".to_owned(),
        stale => {
            let worst = stale.iter().map(|alert| alert.severity).max().unwrap_or(Severity::Warning);
            let many = count(stale.len() as u64, "dataset");
            format!(
                "{many} without the new snapshots that there should be: the worst is a matter of {}.",
                worst.word()
            )
        }
    }
}

fn services(facts: &Facts) -> Section {
    let row = |service: &ServiceFacts| {
        let did = match service.kind {
            ServiceKind::AutoSnap => {
                format!("{} made, {} destroyed", count(service.done, "snapshot"), service.destroyed)
            }
            ServiceKind::AutoSync => {
                format!("{} sent, {} destroyed", count(service.done, "snapshot"), service.destroyed)
            }
            ServiceKind::AutoTier => {
                format!("{} copied, {} removed", count(service.done, "file"), service.destroyed)
            }
            ServiceKind::AutoScrub => format!("{} begun", count(service.done, "scrub")),
            ServiceKind::AutoTrim => format!("{} begun", count(service.done, "trim")),
            ServiceKind::Script => format!("{} well", count(service.done, "time")),
        };
        let state = match &service.trouble {
            Some(why) => format!("{}: {}", service.state.word(), safe(why)),
            None => service.state.word().to_owned(),
        };
        vec![
            safe(&service.id),
            service.kind.word().to_owned(),
            state,
            service.runs.to_string(),
            service.failed.to_string(),
            did,
        ]
    };
    let head = &["service", "kind", "state", "runs", "failed", "did"];
    let notes = match &facts.services {
        None => vec!["What they did is not known.".to_owned()],
        Some(services) if services.is_empty() => vec!["There are none.".to_owned()],
        Some(_) => Vec::new(),
    };
    let table = Table::of(head, facts.services.iter().flatten().map(row));
    Section { title: "Services", notes, table, pictures: Vec::new() }
}

fn traffic(facts: &Facts) -> Section {
    let title = "Load of the week";
    let Some(traffic) = &facts.traffic else {
        return Section { title, notes: vec!["There is no history.".to_owned()], ..Section::default() };
    };
    let shown =
        |value: Option<f64>, form: fn(f64) -> String| value.map_or_else(|| "not known".to_owned(), form);
    let row = |what: &str, series: &Series, form: fn(f64) -> String| {
        vec![what.to_owned(), shown(series.mean(), form), shown(series.highest(), form)]
    };
    let Traffic { read, write, read_time, write_time } = traffic;
    let rows = [
        row("read", read, rate),
        row("written", write, rate),
        row("a read took", read_time, time),
        row("a write took", write_time, time),
    ];
    let bytes = lines(facts, "bytes", "Read and written", [read, write], (round_bytes, rate));
    let times = lines(facts, "times", "What a read and a write took", [read_time, write_time], (round, time));
    Section {
        title,
        notes: Vec::new(),
        // Values of the history are means of an hour.
        table: Table::of(&["", "mean", "most in an hour"], rows),
        pictures: [bytes, times].into_iter().flatten().collect(),
    }
}

/// A value that ends a scale, and how it is written.
type Scale = (fn(f64) -> f64, fn(f64) -> String);

fn lines(
    facts: &Facts,
    name: &str,
    title: &str,
    [read, write]: [&Series; 2],
    (round, form): Scale,
) -> Option<Picture> {
    let highest = [read, write].into_iter().filter_map(Series::highest).max_by(f64::total_cmp)?;
    let top = round(highest);
    let span = (facts.from, facts.to);
    let line = |series: &Series, colour| Line { colour, values: series.parts(span, 7 * 12), filled: false };
    const _: () = assert!(7 * 12 <= POINTS && 4 * 28 <= POINTS);
    Some(Picture {
        name: name.to_owned(),
        title: title.to_owned(),
        legend: vec![(Colour::Blue, "read"), (Colour::Orange, "write")],
        top: form(top),
        from: utc(facts.from),
        to: utc(facts.to),
        png: draw(&[line(read, Colour::Blue), line(write, Colour::Orange)], top, 7)?,
    })
}

fn busiest(facts: &Facts) -> Section {
    let row = |kind: &'static str| {
        move |busy: &Busy| {
            vec![
                kind.to_owned(),
                safe(&busy.name),
                busy.requests.to_string(),
                bytes(busy.read_bytes),
                bytes(busy.write_bytes),
            ]
        }
    };
    let title = "Busiest";
    let Some(busiest) = &facts.busiest else {
        return Section { title, notes: vec!["It is not known.".to_owned()], ..Section::default() };
    };
    let clients = busiest.clients.iter().map(row("client"));
    let rows: Vec<Vec<String>> = clients.chain(busiest.datasets.iter().map(row("dataset"))).collect();
    let since = match rows.is_empty() {
        true => "No client and no dataset was asked for anything".to_owned(),
        false => "The busiest".to_owned(),
    };
    Section {
        title,
        notes: vec![format!("{since} since {}.", utc(busiest.since))],
        table: Table::of(&["", "name", "requests", "read", "written"], rows),
        pictures: Vec::new(),
    }
}
