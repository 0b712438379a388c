//! `cistern history`: what the appliance did until now.

use api_types::{History, SeriesQuery, routes};
use stdx::span;

use super::Numbers;
use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::{clock, getopt, table};

pub const USAGE: &str = "\
usage: cistern history [SERIES]... [-s SPAN] [-n COUNT] [-H] [-p] [-j]

Says what the appliance did in the last hour, or so long: a value each ten seconds for a day, each minute for a week, each hour
for two years. Without a name, which series there are. Rates are by the second, times are in seconds, sizes in bytes; - stands
where nothing was noted.

  -s SPAN    how far back: 90m, 36h, 7d, 2w or 1y   (default: 1h; also --since)
  -n COUNT   lines at the most; a longer span has coarser steps   (default: 60)
  -H         no header, and a tab between fields
  -p         exact numbers; times in seconds since 1970
  -j         JSON (also --json)

examples:
  cistern history
  cistern history nfs.calls files.read_bytes
  cistern history pool.tank.allocated --since 1y -n 1000 -H -p
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("since", "s"), ("json", "j"), ("help", "h")];
    let options = getopt::parse_as(args, "s:n:Hpjh", &long)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let since = options.value("s").map_or(Ok(3600), span)?;
    let number = |text: &str| text.parse::<u64>().or_else(|_| usage(format!("'{text}' is not a number")));
    let asked = SeriesQuery {
        series: options.operands.join(","),
        from: Some(clock::seconds().saturating_sub(since)),
        to: None,
        points: Some(options.value("n").map_or(Ok(60), number)?),
    };
    let path = format!(
        "{}?series={}&from={}&points={}",
        routes::STATISTICS_HISTORY,
        routes::segment(&asked.series),
        asked.from.unwrap_or_default(),
        asked.points.unwrap_or_default()
    );
    let history: History = client.get(&path)?;
    if options.has("j") {
        return table::json(io, &history);
    }
    if options.operands.is_empty() {
        return Ok(history.names.iter().try_for_each(|name| writeln!(io.out, "{}", table::plain(name)))?);
    }
    let numbers = Numbers { is_exact: options.has("p") };
    let mut rows: Vec<Vec<String>> = Vec::new();
    if !options.has("H") {
        let names = history.series.iter().map(|one| table::plain(&one.name));
        rows.push(["TIME".to_owned()].into_iter().chain(names).collect());
    }
    let count = history.series.first().map_or(0, |one| one.values.len());
    rows.extend((0..count).map(|number| row(&history, number, numbers)));
    print(&rows, options.has("H"), io)
}

fn row(history: &History, number: usize, numbers: Numbers) -> Vec<String> {
    let time = history.first + history.step * number as u64;
    let values = history.series.iter().map(|one| match one.values.get(number).copied().flatten() {
        None => "-".to_owned(),
        Some(value) if numbers.is_exact => value.to_string(),
        Some(value) if value < 1000.0 => short(value),
        Some(value) => numbers.count(value.round() as u64),
    });
    [table::time(Some(time), numbers.is_exact)].into_iter().chain(values).collect()
}

/// Three digits that say something.
fn short(value: f64) -> String {
    match value {
        0.0 => "0".to_owned(),
        value if value < 0.01 => format!("{value:.6}"),
        value if value < 10.0 => format!("{value:.2}"),
        value => format!("{value:.0}"),
    }
}

fn print(rows: &[Vec<String>], is_bare: bool, io: &mut Io<'_>) -> Result<(), Stop> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let line = match is_bare {
            true => row.join("\t"),
            false => {
                let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}"));
                cells.collect::<Vec<_>>().join("  ")
            }
        };
        writeln!(io.out, "{line}")?;
    }
    Ok(())
}

/// Seconds of a span such as 36h.
fn span(text: &str) -> Result<u64, Stop> {
    let units = [&span::UNITS[..], &[("y", 366 * 86_400)]].concat();
    let wrong = || Stop::Usage(format!("'{text}' is no span of time, such as 90m, 36h, 7d, 2w or 1y"));
    span::parse(text, &units).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_numbers_are_short() {
        let found: Vec<Option<u64>> = ["90m", "2w", "1y", "5", "h", "\u{b5}", "-1d", "99999999999999999999d"]
            .map(|text| span(text).ok())
            .into();
        assert_eq!(found, [Some(5400), Some(1_209_600), Some(31_622_400), None, None, None, None, None]);
        let shown = [0.0, 0.0012, 1.5, 12.4].map(short);
        assert_eq!(shown, ["0", "0.001200", "1.50", "12"]);
    }
}
