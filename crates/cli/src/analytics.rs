//! `cistern analytics`: what requests of clients come to, by who or what they are of.

use std::time::Duration;

use api_types::{Dimension, DrillDown, DrillDownFound, DrillDownKey, DrillDownRequest, RequestSum, routes};

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::getopt::{self, Parsed};
use crate::human::{nicebytes, nicenum, nicetime};
use crate::table;
use crate::trace::{LONG, named, seconds, wanted};

mod worksheets;

pub const USAGE: &str = "\
usage: cistern analytics BY[,BY[,BY]] [FILTER]... [-t SPAN] [-n COUNT] [-r] [-H] [--json]
       cistern analytics list [-H] [--json]
       cistern analytics show ID [-n COUNT] [-r] [-H] [--json]
       cistern analytics end ID
       cistern analytics remove ID
       cistern analytics worksheet list [-H] [--json]
       cistern analytics worksheet show NAME [-H] [--json]
       cistern analytics worksheet save NAME ID... [-x STATISTIC] [-k] [-F]
       cistern analytics worksheet alert NAME PANE MEASURE ABOVE [-v VALUE]... [-t SPAN]
       cistern analytics worksheet alert NAME PANE off
       cistern analytics worksheet run NAME [-t SPAN] [-n COUNT] [-H] [--json]
       cistern analytics worksheet history NAME [PANE] [-t SPAN] [-n COUNT] [-H] [--json]
       cistern analytics worksheet delete NAME

Begins a drill-down, waits until its time is over, and shows what requests of clients came to, the heaviest first; then it is
removed. BY is one to three of protocol, client, user, dataset, file, operation, offset, size, latency, served and device. For
operators and administrators.

OPERATIONS, BYTES and TIME are exact since a row has its place; MISSING is what it may have come to before, at the most. What is
of no row is (other), and all of it together is exact. Drill-downs that the console or a program began are in the list, with who
asked and what they cost; end stops one and keeps what it has found.

A worksheet keeps drill-downs under a name, for all operators: 'save' takes them from the list; 'run' has them run, waits, and
shows what each found. They are shared: others who have them run at the time see the same. 'alert' has a pane, of which the first is
1, watched for good: it is a fault when MEASURE is above a number in the mean of a time. MEASURE is operations or bytes, each a second,
of the whole pane or of one value in it, or p99, the time that 99 of 100 requests of the pane take at the most.
'save -k' keeps what its panes find for a year, finer for a month and a day: they always run, and 'history' shows what one has found
in the last hour, or SPAN.

  FILTER     as of 'cistern trace': -p, -c, -u, -d, -f, -o, -s, -S, -b, -B, -w, -D
  -t SPAN    how long: 10s, 5m; a day at the most                 (default: 10s; also --time)
  -n COUNT   rows at the most                                     (default: 20; also --count)
  -r         files below their datasets, whose sums are exact too    (also --by-dataset)
  -x STATISTIC  what the console shows of them: operations, bytes, latency, latencies or classes, which are sizes or offsets (also --statistic)
  -v VALUE   only what has this value, as the pane shows it; one for each BY of it (also --value)
             The time that an alert looks at is -t SPAN: 10s to 1h  (default: 1m)
  -k         keeps what they find                                  (also --keep)
  -F         replaces the worksheet that has this name             (also --force)
  -H         for programs: no header, a tab between fields, exact numbers
  -j         what the daemon says, as JSON: by second too          (also --json)

examples:
  cistern analytics client
  cistern analytics file -c 192.0.2.7 -o read -t 1m
  cistern analytics dataset,operation,served -s 10ms
  cistern analytics device,file -o write -s 10ms
  cistern analytics list
  cistern analytics worksheet save 'slow writes' 3 4 -x latencies
  cistern analytics worksheet alert 'slow writes' 1 operations 500 -v 192.0.2.7
  cistern analytics worksheet alert 'slow writes' 2 p99 20ms -t 5m
  cistern analytics worksheet history 'slow writes' 2 -t 30d
";

/// How long a drill-down takes that is waited for.
const USUAL: u64 = 10;
const ROWS: usize = 20;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    if let Some((first, rest)) = args.split_first()
        && first == "worksheet"
    {
        return worksheets::run(rest, client, io);
    }
    let long = [&LONG[..], &[("by-dataset", "r")]].concat();
    let options = getopt::parse_as(args, "p:c:u:d:f:o:s:S:b:B:w:D:n:t:rHjh", &long)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let how = How::of(&options)?;
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
    /// Files stand below their datasets.
    is_tree: bool,
    is_bare: bool,
    is_json: bool,
}

impl How {
    fn of(options: &Parsed) -> Result<How, Stop> {
        let number = |text: &str| text.parse().or_else(|_| usage(format!("'{text}' is not a number")));
        let rows = options.value("n").map_or(Ok(ROWS), number)?;
        Ok(How { rows, is_tree: options.has("r"), is_bare: options.has("H"), is_json: options.has("j") })
    }
}

fn dimensions(by: &[Dimension]) -> String {
    by.iter().map(|one| one.name()).collect::<Vec<_>>().join(",")
}

fn list(all: &[DrillDown], how: How, io: &mut Io<'_>) -> Result<(), Stop> {
    if how.is_json {
        return table::json(io, &all);
    }
    let row = |one: &DrillDown| {
        let state = match (one.watched, one.running) {
            (true, _) => "on for a worksheet".to_owned(),
            (false, true) => format!("{}s left", one.left),
            (false, false) => "ended".to_owned(),
        };
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
    let by = dimensions(&found.drill_down.by).to_uppercase();
    let head = ["OPERATIONS", "BYTES", "TIME", "MEAN", "MISSING", &by];
    if how.is_tree && !found.datasets.is_empty() {
        let rows = tree(found, how).into_iter().map(|(name, sum, missing)| row(name, &sum, missing));
        return table::print(io, head, rows.collect(), how.is_bare);
    }
    let (shown, left) = found.keys.split_at(how.rows.min(found.keys.len()));
    let mut rows: Vec<[String; 6]> =
        shown.iter().map(|key| row(name_of(key), &key.sum, key.missing)).collect();
    let mut others = found.others;
    left.iter().for_each(|key| others.add(&key.sum));
    rows.push(row("(other)".to_owned(), &others, 0));
    rows.push(row("(all)".to_owned(), &found.total, 0));
    table::print(io, head, rows, how.is_bare)
}

/// Each dataset, its files below it, and what is of none of them.
fn tree(found: &DrillDownFound, how: How) -> Vec<(String, RequestSum, u64)> {
    let (mut rows, mut beyond) = (Vec::new(), found.total);
    let indented = |name: &str| if how.is_bare { name.to_owned() } else { format!("  {name}") };
    for dataset in &found.datasets {
        rows.push((table::plain(&dataset.name), dataset.sum, dataset.missing));
        let keys = found.keys.iter().filter(|key| dataset.keys.contains(&key.number));
        let mut others = dataset.others;
        for (at, key) in keys.enumerate() {
            match at < how.rows {
                true => rows.push((indented(&name_of(key)), key.sum, key.missing)),
                false => others.add(&key.sum),
            }
        }
        rows.push((indented("(other files)"), others, 0));
        beyond.take(&dataset.sum);
    }
    rows.push(("(other)".to_owned(), beyond, 0));
    rows.push(("(all)".to_owned(), found.total, 0));
    rows
}

fn name_of(key: &DrillDownKey) -> String {
    key.values.iter().map(|value| table::plain(value)).collect::<Vec<_>>().join("  ")
}
