//! `cistern top`: who and what is busiest now, on a screen that keeps up, or in lines for programs.

mod rows;
mod screen;

use std::io::IsTerminal;
use std::time::Duration;

use api_types::{Statistics, Version, routes};

use super::{Numbers, Window, json};
use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, usage};
use crate::{getopt, table};
use rows::{HEAD, Order, Row, View, rows};
use screen::{Key, Screen};

pub const USAGE: &str = "\
usage: cistern top [-v VIEW] [-s COLUMN] [-i SECONDS] [-n COUNT] [--once] [-H] [-p] [-j]

Shows what clients, file systems, volumes and disks do now: requests and bytes each second, and the mean time of a request. On
a terminal the screen keeps up until it is left; else, and with --once, it is written in lines.

  -v VIEW      clients, files, volumes or disks             (default: clients; in lines: all of them)
  -s COLUMN    what is sorted by: ops, reads, read, writes, written, time or name  (default: ops)
  -i SECONDS   how often it is looked                       (default: 1)
  -n COUNT     how often in all
  --once       one look, in lines
  -H           no header, and a tab between fields: view, name and numbers
  -p           exact numbers; times in nanoseconds
  -j           JSON: all statistics, a line each time (also --json)

keys on the screen:
  c f v d      clients, file systems, volumes, disks; Tab for the next
  o r R w W t n   sort by requests, reads, bytes read, writes, bytes written, time or name
  space        look at once
  q            leave

examples:
  cistern top
  cistern top --once -v disks
  cistern --host nas1 top -j -n 10
";

/// What the command line asks for.
struct Wish {
    /// `None`: all of them, in lines.
    view: Option<View>,
    order: Order,
    interval: Duration,
    /// `None`: until somebody ends it.
    count: Option<u64>,
    is_bare: bool,
    numbers: Numbers,
}

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "v:s:i:n:Hpjh", &["json", "help", "once"])?;
    if options.has("h") || options.has("help") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    options.none()?;
    let number = |name: &str| match options.value(name).map(|text| (text, text.parse::<u64>())) {
        None => Ok(None),
        Some((_, Ok(number))) if number > 0 => Ok(Some(number)),
        Some((text, _)) => usage(format!("'{text}' is no number above 0")),
    };
    let named = |name: &str| View::named(name).map_or_else(|| usage(format!("'{name}' is no view")), Ok);
    let sorted = |name: &str| Order::named(name).map_or_else(|| usage(format!("'{name}' is no column")), Ok);
    let count = if options.has("once") { Some(1) } else { number("n")? };
    let wish = Wish {
        view: options.value("v").map(named).transpose()?,
        order: options.value("s").map_or(Ok(Order::Ops), sorted)?,
        interval: Duration::from_secs(number("i")?.unwrap_or(1)),
        count,
        is_bare: options.has("H"),
        numbers: Numbers { is_exact: options.has("p") },
    };
    if options.has("j") {
        return lines(&wish, client, |window| json(io.out, window));
    }
    let is_screen = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
    if is_screen && io.asks && !options.has("once") && !wish.is_bare {
        return on_screen(wish, client);
    }
    lines(&wish, client, |window| {
        print(&wish, window, io)?;
        Ok(io.out.flush()?)
    })
}

/// What comes in each interval.
fn lines(
    wish: &Wish,
    client: &Client,
    mut show: impl FnMut(&Window) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let mut before: Statistics = client.get(routes::STATISTICS)?;
    let mut left = wish.count;
    while left != Some(0) {
        client.pause(wish.interval)?;
        let now: Statistics = client.get(routes::STATISTICS)?;
        show(&Window::of_all(now.since(&before)))?;
        before = now;
        left = left.map(|left| left - 1);
    }
    Ok(())
}

fn print(wish: &Wish, window: &Window, io: &mut Io<'_>) -> Result<(), Stop> {
    let views = wish.view.map_or_else(|| View::ALL.to_vec(), |view| vec![view]);
    for view in views {
        let rows = rows(window, view, wish.order);
        if wish.is_bare {
            for row in rows {
                writeln!(io.out, "{}\t{}", view.name(), row.fields(wish.numbers).join("\t"))?;
            }
            continue;
        }
        let fields = rows.iter().map(|row| row.fields(wish.numbers)).collect();
        table::print(io, head(view), fields, false)?;
        writeln!(io.out)?;
    }
    Ok(())
}

fn head(view: View) -> [&'static str; 8] {
    let mut head = HEAD;
    head[0] = view.title();
    head
}

/// Looks, shows, and heeds keys until one says that it is enough.
fn on_screen(mut wish: Wish, client: &Client) -> Result<(), Stop> {
    let version: Version = client.get(routes::VERSION)?;
    let mut view = wish.view.unwrap_or(View::Clients);
    let mut before: Statistics = client.get(routes::STATISTICS)?;
    let mut window = Window::of_all(before.clone());
    let mut screen = Screen::open()?;
    let mut left = wish.count;
    loop {
        screen.show(&page(&wish, view, &window, &version.version))?;
        match screen.key(wish.interval)? {
            Some(Key::Quit) => return Ok(()),
            Some(Key::View(chosen)) => view = chosen,
            Some(Key::Next) => view = view.next(),
            Some(Key::Order(order)) => wish.order = order,
            None => {
                if left == Some(0) {
                    return Ok(());
                }
                left = left.map(|left| left - 1);
                let now: Statistics = client.get(routes::STATISTICS)?;
                window = Window::of_all(now.since(&before));
                before = now;
            }
        }
    }
}

/// Lines of the screen: a summary, a head, and rows.
fn page(wish: &Wish, view: View, window: &Window, version: &str) -> Vec<String> {
    let mut lines = rows::summary(window, version);
    let marks = View::ALL.map(|one| match one == view {
        true => format!("[{}]", one.name()),
        false => format!(" {} ", one.name()),
    });
    lines.push(format!("{}   by {}", marks.join(" "), wish.order.name()));
    lines.push(String::new());
    let rows: Vec<Row> = rows(window, view, wish.order);
    let mut fields: Vec<[String; 8]> = vec![head(view).map(str::to_owned)];
    fields.extend(rows.iter().map(|row| row.fields(wish.numbers)));
    let width = |column: usize| fields.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
    lines.extend(fields.iter().map(|row| {
        let cells = row.iter().zip(widths).enumerate().map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ")
    }));
    lines
}
