//! `cistern analytics worksheet`: drill-downs that are kept under a name.

use std::time::Duration;

use api_types::{
    DrillDown, DrillDownFound, PaneStatistic, RequestFilter, Worksheet, WorksheetAdd, WorksheetChange,
    WorksheetOpen, WorksheetPane, routes,
};

use super::{How, USAGE, USUAL, dimensions, show as show_found};
use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::getopt::{self, Parsed};
use crate::table;
use crate::trace::{named, seconds};

const LONG: [(&str, &str); 6] =
    [("statistic", "x"), ("force", "F"), ("count", "n"), ("time", "t"), ("json", "j"), ("help", "h")];

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "x:Fn:t:Hjh", &LONG)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let how = How::of(&options)?;
    let words: Vec<&str> = options.operands.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => list(&client.get::<Vec<Worksheet>>(routes::WORKSHEETS)?, how, io),
        ["show", name] => show(&client.get(&routes::at(routes::WORKSHEET, name))?, how, io),
        ["save", name, ref ids @ ..] if !ids.is_empty() => save(name, ids, &options, client),
        ["run", name] => open(name, seconds(&options)?.unwrap_or(USUAL), how, client, io),
        ["delete", name] => Ok(client.post::<()>(&routes::at(routes::WORKSHEET_REMOVE, name), &())?),
        _ => usage("one of list, show NAME, save NAME ID..., run NAME and delete NAME is wanted"),
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
    let row =
        |pane: &WorksheetPane| [pane.statistic.name().to_owned(), dimensions(&pane.by), said(&pane.filter)];
    table::print(io, ["STATISTIC", "BY", "FILTER"], worksheet.panes.iter().map(row).collect(), how.is_bare)
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
