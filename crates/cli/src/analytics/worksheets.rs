//! `cistern analytics worksheet`: drill-downs that are kept under a name.

use std::time::Duration;

use api_types::{
    DrillDown, DrillDownFound, PaneAlert, PaneMeasure, PaneStatistic, RequestFilter, Worksheet, WorksheetAdd,
    WorksheetChange, WorksheetOpen, WorksheetPane, routes,
};
use stdx::number;

use super::{How, USAGE, USUAL, dimensions, show as show_found};
use crate::client::Client;
use crate::clock;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::getopt::{self, Parsed};
use crate::table;
use crate::trace::{micros, named, seconds};

const LONG: [(&str, &str); 8] = [
    ("statistic", "x"),
    ("force", "F"),
    ("value", "v"),
    ("keep", "k"),
    ("count", "n"),
    ("time", "t"),
    ("json", "j"),
    ("help", "h"),
];

/// How long an alert looks at, in seconds.
const WATCHED: u64 = 60;
/// What is shown of a history where nobody says of how long.
const HOUR: u64 = 3_600;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "x:Fkv:n:t:Hjh", &LONG)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let how = How::of(&options)?;
    let words: Vec<&str> = options.operands.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => list(&client.get::<Vec<Worksheet>>(routes::WORKSHEETS)?, how, io),
        ["show", name] => show(&client.get(&routes::at(routes::WORKSHEET, name))?, how, io),
        ["save", name, ref ids @ ..] if !ids.is_empty() => save(name, ids, &options, client),
        ["alert", name, pane, "off"] => set_alert(name, pane, None, client),
        ["alert", name, pane, measure, above] => {
            set_alert(name, pane, Some(alert(measure, above, &options)?), client)
        }
        ["run", name] => open(name, seconds(&options)?.unwrap_or(USUAL), how, client, io),
        ["history", name] => history(name, 1, &options, how, client, io),
        ["history", name, pane] => match pane.parse() {
            Ok(pane) => history(name, pane, &options, how, client, io),
            Err(_) => usage(format!("'{pane}' is no number of a pane")),
        },
        ["delete", name] => Ok(client.post::<()>(&routes::at(routes::WORKSHEET_REMOVE, name), &())?),
        _ => usage(
            "one of list, show NAME, save NAME ID..., alert NAME PANE ..., run NAME, history NAME [PANE] and delete NAME is wanted",
        ),
    }
}

fn list(all: &[Worksheet], how: How, io: &mut Io<'_>) -> Result<(), Stop> {
    if how.is_json {
        return table::json(io, &all);
    }
    let row = |one: &Worksheet| {
        let changed = table::time(Some(one.changed), how.is_bare);
        [table::plain(&one.name), one.panes.len().to_string(), changed, table::plain(&one.by)]
    };
    table::print(io, ["NAME", "PANES", "CHANGED", "BY"], all.iter().map(row).collect(), how.is_bare)
}

/// What a filter takes, in the words of its JSON.
fn said(filter: &RequestFilter) -> String {
    let parts = serde_json::to_value(filter).unwrap_or_default();
    let part = |(name, value): (&String, &serde_json::Value)| {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        format!("{name}={}", table::plain(&value))
    };
    let parts: Vec<String> = parts.as_object().into_iter().flatten().map(part).collect();
    if parts.is_empty() { "-".to_owned() } else { parts.join(" ") }
}

fn show(worksheet: &Worksheet, how: How, io: &mut Io<'_>) -> Result<(), Stop> {
    if how.is_json {
        return table::json(io, worksheet);
    }
    let row = |(number, pane): (usize, &WorksheetPane)| {
        let alert = pane.alert.as_ref().map_or_else(|| "-".to_owned(), watched);
        let statistic = pane.statistic.name().to_owned();
        let kept = if pane.kept { "yes" } else { "-" }.to_owned();
        [(number + 1).to_string(), statistic, dimensions(&pane.by), said(&pane.filter), kept, alert]
    };
    let rows = worksheet.panes.iter().enumerate().map(row).collect();
    table::print(io, ["PANE", "STATISTIC", "BY", "FILTER", "KEPT", "ALERT"], rows, how.is_bare)
}

/// What an alert looks at, with exact numbers: `p99>20000 60s`.
fn watched(alert: &PaneAlert) -> String {
    let PaneAlert { measure, above, seconds, values } = alert;
    let values: String = values.iter().flatten().map(|value| format!(" {}", table::plain(value))).collect();
    format!("{}>{above} {seconds}s{values}", measure.name())
}

fn alert(measure: &str, above: &str, options: &Parsed) -> Result<PaneAlert, Stop> {
    let measure = named(measure, &PaneMeasure::ALL, PaneMeasure::name)?;
    let above = match measure {
        PaneMeasure::P99 => micros(above)?,
        PaneMeasure::Bytes => number::parse(above).or_else(usage)?,
        PaneMeasure::Operations => {
            above.parse().or_else(|_| usage(format!("'{above}' is no number of operations")))?
        }
    };
    let values: Vec<String> = options.values("v").map(str::to_owned).collect();
    let seconds = seconds(options)?.unwrap_or(WATCHED);
    Ok(PaneAlert { measure, above, seconds, values: (!values.is_empty()).then_some(values) })
}

/// What another has changed meanwhile is not overwritten.
fn set_alert(name: &str, pane: &str, alert: Option<PaneAlert>, client: &Client) -> Result<(), Stop> {
    let (tag, worksheet): (_, Worksheet) = client.get_tagged(&routes::at(routes::WORKSHEET, name))?;
    let (mut panes, number) = (worksheet.panes, pane.parse::<usize>().ok());
    let count = panes.len();
    let Some(changed) = number.and_then(|number| panes.get_mut(number.checked_sub(1)?)) else {
        return Err(Stop::Fail(format!("there is no pane {pane}: '{}' has {count}", table::plain(name))));
    };
    changed.alert = alert;
    let change = WorksheetChange { panes };
    client.post_if::<Worksheet>(&routes::at(routes::WORKSHEET_CHANGE, name), &change, tag)?;
    Ok(())
}

fn save(name: &str, ids: &[&str], options: &Parsed, client: &Client) -> Result<(), Stop> {
    let statistic = options.value("x").map(|text| named(text, &PaneStatistic::ALL, PaneStatistic::name));
    let statistic = statistic.transpose()?.unwrap_or_default();
    let all: Vec<DrillDown> = client.get(routes::ANALYTICS)?;
    let mut panes = Vec::new();
    for id in ids {
        let Some(found) = all.iter().find(|one| one.id.to_string() == *id) else {
            return Err(Stop::Fail(format!("there is no drill-down {id} (cistern analytics list)")));
        };
        panes.push(WorksheetPane {
            statistic,
            by: found.by.clone(),
            filter: found.filter.clone(),
            alert: None,
            kept: options.has("k"),
        });
    }
    let is_known = || -> Result<bool, Stop> {
        let known: Vec<Worksheet> = client.get(routes::WORKSHEETS)?;
        Ok(known.iter().any(|one| one.name == name))
    };
    if options.has("F") && is_known()? {
        let change = WorksheetChange { panes };
        client.post::<Worksheet>(&routes::at(routes::WORKSHEET_CHANGE, name), &change)?;
    } else {
        let new = WorksheetAdd { name: name.to_owned(), panes };
        client.post::<Worksheet>(routes::WORKSHEETS, &new)?;
    }
    Ok(())
}

/// What a pane that is kept found in the last so many seconds.
fn history(
    name: &str,
    pane: u64,
    options: &Parsed,
    how: How,
    client: &Client,
    io: &mut Io<'_>,
) -> Result<(), Stop> {
    let span = seconds(options)?.unwrap_or(HOUR);
    let now = clock::seconds();
    let path = routes::at(routes::WORKSHEET_HISTORY, name);
    let found = client.get(&format!("{path}?pane={pane}&from={}&to={now}", now.saturating_sub(span)))?;
    show_found(&found, how, io)
}

fn open(name: &str, seconds: u64, how: How, client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    // Somewhat longer, so that they do not end before they are looked at.
    let asked = WorksheetOpen { seconds: Some(seconds + 5) };
    let begun: Vec<DrillDown> = client.post(&routes::at(routes::WORKSHEET_OPEN, name), &asked)?;
    client.pause(Duration::from_secs(seconds))?;
    let at = |one: &DrillDown| client.get(&routes::at(routes::DRILL_DOWN, &one.id.to_string()));
    let found = begun.iter().map(at).collect::<Result<Vec<DrillDownFound>, _>>()?;
    if how.is_json {
        return table::json(io, &found);
    }
    for (number, found) in found.iter().enumerate() {
        if number > 0 {
            writeln!(io.out)?;
        }
        if !how.is_bare && found.drill_down.filter != RequestFilter::default() {
            writeln!(io.out, "{}", said(&found.drill_down.filter))?;
        }
        show_found(found, how, io)?;
    }
    Ok(())
}
