//! `cistern analytics`: what requests of clients come to, by who or what they are of.

use std::time::Duration;

use api_types::{Dimension, DrillDown, DrillDownFound, DrillDownKey, DrillDownRequest, RequestSum, routes};

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::getopt;
use crate::human::{nicebytes, nicenum, nicetime};
use crate::table;
use crate::trace::{LONG, named, seconds, wanted};

pub const USAGE: &str = "\
usage: cistern analytics BY[,BY[,BY]] [FILTER]... [-t SPAN] [-n COUNT] [-H] [--json]
       cistern analytics list [-H] [--json]
       cistern analytics show ID [-n COUNT] [-H] [--json]
       cistern analytics end ID
       cistern analytics remove ID

Begins a drill-down, waits until its time is over, and shows what requests of clients came to, the heaviest first; then it is
removed. BY is one to three of protocol, client, user, dataset, file, operation, offset, size, latency and served. For operators
and administrators.

OPERATIONS, BYTES and TIME are exact since a row has its place; MISSING is what it may have come to before, at the most. What is
of no row is (other), and all of it together is exact. Drill-downs that the console or a program began are in the list, with who
asked and what they cost; end stops one and keeps what it has found.

  FILTER     as of 'cistern trace': -p, -c, -u, -d, -f, -o, -s, -S, -b, -B, -w
  -t SPAN    how long: 10s, 5m; a day at the most                 (default: 10s; also --time)
  -n COUNT   rows at the most                                     (default: 20; also --count)
  -H         for programs: no header, a tab between fields, exact numbers
  -j         what the daemon says, as JSON: by second too          (also --json)

examples:
  cistern analytics client
  cistern analytics file -c 192.0.2.7 -o read -t 1m
  cistern analytics dataset,operation,served -s 10ms
  cistern analytics list
";

/// How long a drill-down takes that is waited for.
const USUAL: u64 = 10;
const ROWS: usize = 20;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "p:c:u:d:f:o:s:S:b:B:w:n:t:Hjh", &LONG)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let rows =
        options.value("n").map(|text| text.parse().or_else(|_| usage(format!("'{text}' is not a number"))));
    let rows = rows.unwrap_or(Ok(ROWS))?;
    let how = How { rows, is_bare: options.has("H"), is_json: options.has("j") };
    let words: Vec<&str> = options.operands.iter().map(String::as_str).collect();
    match words[..] {
        ["list"] => list(&client.get::<Vec<DrillDown>>(routes::ANALYTICS)?, how, io),
        ["show", id] => show(&client.get(&routes::at(routes::DRILL_DOWN, id))?, how, io),
        ["end", id] => {
            client.post::<DrillDown>(&routes::at(routes::DRILL_DOWN_END, id), &())?;
            Ok(())
        }
        ["remove", id] => {
            client.post::<()>(&routes::at(routes::DRILL_DOWN_REMOVE, id), &())?;
            Ok(())
        }
        [by] => {
            let name = |text: &str| named(text, &Dimension::ALL, Dimension::name);
            let by = by.split(',').map(name).collect::<Result<Vec<_>, _>>()?;
            let seconds = seconds(&options)?.unwrap_or(USUAL);
            // Somewhat longer, so that it does not end before it is looked at.
            let request = DrillDownRequest { by, filter: wanted(&options)?, seconds: Some(seconds + 5) };
            let begun: DrillDown = client.post(routes::ANALYTICS, &request)?;
            client.pause(Duration::from_secs(seconds))?;
            let id = begun.id.to_string();
            let found: DrillDownFound = client.get(&routes::at(routes::DRILL_DOWN, &id))?;
            client.post::<()>(&routes::at(routes::DRILL_DOWN_REMOVE, &id), &())?;
            show(&found, how, io)
        }
        [] => usage("by what is missing"),
        _ => usage("too many arguments"),
    }
}

#[derive(Clone, Copy)]
struct How {
    rows: usize,
    is_bare: bool,
    is_json: bool,
}

fn dimensions(by: &[Dimension]) -> String {
    by.iter().map(|one| one.name()).collect::<Vec<_>>().join(",")
}

fn list(all: &[DrillDown], how: How, io: &mut Io<'_>) -> Result<(), Stop> {
    if how.is_json {
        return table::json(io, &all);
    }
    let row = |one: &DrillDown| {
        let state = if one.running { format!("{}s left", one.left) } else { "ended".to_owned() };
        [
            one.id.to_string(),
            dimensions(&one.by),
            state,
            table::time(Some(one.began), how.is_bare),
            nicenum(one.cost.requests),
            nicetime(one.cost.time),
            nicebytes(one.cost.bytes),
            table::plain(&one.owner),
        ]
    };
    const HEAD: [&str; 8] = ["ID", "BY", "STATE", "BEGAN", "REQUESTS", "COST", "MEMORY", "OWNER"];
    table::print(io, HEAD, all.iter().map(row).collect(), how.is_bare)
}

fn show(found: &DrillDownFound, how: How, io: &mut Io<'_>) -> Result<(), Stop> {
    if how.is_json {
        return table::json(io, found);
    }
    let row = |name: String, sum: &RequestSum, missing: u64| {
        let count = |number: u64| if how.is_bare { number.to_string() } else { nicenum(number) };
        let mean = sum.time.checked_div(sum.operations).unwrap_or(0);
        let time = |nanos: u64| if how.is_bare { nanos.to_string() } else { nicetime(nanos) };
        let bytes = if how.is_bare { sum.bytes.to_string() } else { nicebytes(sum.bytes) };
        let missing = if missing == 0 { "-".to_owned() } else { count(missing) };
        [count(sum.operations), bytes, time(sum.time), time(mean), missing, name]
    };
    let (shown, left) = found.keys.split_at(how.rows.min(found.keys.len()));
    let mut rows: Vec<[String; 6]> =
        shown.iter().map(|key| row(name_of(key), &key.sum, key.missing)).collect();
    let mut others = found.others;
    for key in left {
        others.operations += key.sum.operations;
        others.bytes += key.sum.bytes;
        others.time += key.sum.time;
    }
    rows.push(row("(other)".to_owned(), &others, 0));
    rows.push(row("(all)".to_owned(), &found.total, 0));
    let by = dimensions(&found.drill_down.by).to_uppercase();
    table::print(io, ["OPERATIONS", "BYTES", "TIME", "MEAN", "MISSING", &by], rows, how.is_bare)
}

fn name_of(key: &DrillDownKey) -> String {
    key.values.iter().map(|value| table::plain(value)).collect::<Vec<_>>().join("  ")
}
