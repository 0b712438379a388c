//! `cistern arcstat`: what the cache does, in the columns, units and options of OpenZFS's arcstat,
//! and as JSON.
//!
//! Facts: OpenZFS's cmd/zarcstat.in.

mod fields;

use crate::client::Client;
use crate::command::{Io, end};
use crate::fail::{Stop, fail, usage};
use crate::files;
use crate::getopt::{self, Parsed};
use crate::json::Json;
use api_types::routes;
use fields::{Counts, Field, Scale, Value};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::time::Duration;

const USAGE: &str = "Usage: arcstat [-havxpj] [-f fields] [-o file] [-s string] [interval [count]]\n";
const HELP: &str = "
\t -h : Print this help message
\t -a : Print all possible stats
\t -v : List all possible field headers and definitions
\t -x : Print extended stats
\t -z : Print zfetch stats
\t -f : Specify specific fields to print (see -v)
\t -o : Redirect output to the specified file
\t -s : Override default field separator with custom character or string
\t -p : Disable auto-scaling of numerical fields
\t -j : Print one JSON object a line

Examples:
\tarcstat -o /tmp/a.log 2 10
\tarcstat -s \",\" -o /tmp/a.log 2 10
\tarcstat -v
\tarcstat -f time,hit%,dh%,ph%,mh% 1

";
const USUAL: &str = "time,read,ddread,ddh%,dmread,dmh%,pread,ph%,size,c,avail";
const EXTENDED: &str = "time,mfu,mru,mfug,mrug,unc,eskip,mtxmis,dread,pread,read";
const ZFETCH: &str = "time,ztotal,zhits,zahead,zpast,zmisses,zmax,zfuture,zstride,zissued,zactive";
/// Lines under one heading.
const LINES: u64 = 20;

/// What the command line asks for.
struct Wish {
    columns: Vec<Field>,
    separator: String,
    literal: bool,
    json: bool,
    /// Seconds.
    interval: u64,
    /// Lines; 0: for ever.
    count: u64,
}

/// Runs it and gives its exit status.
pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> i32 {
    let done = try_run(args, client, io);
    end(io, done.map(|()| 0), |io, text| {
        let line = if text.is_empty() { String::new() } else { format!("Error: {text}\n") };
        let _ = write!(io.err, "{line}{USAGE}{HELP}");
        1
    })
}

fn try_run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = ["all", "extended", "zfetch", "help", "verbose", "parsable", "json"];
    let options = getopt::parse(args, "axzo:hvs:f:pj", &long)?;
    let has = |short: &str, long: &str| options.has(short) || options.has(long);
    let (extended, zfetch) = (has("x", "extended"), has("z", "zfetch"));
    if has("h", "help") || (extended && zfetch) || ((extended || zfetch) && options.has("f")) {
        return Err(Stop::Usage(String::new()));
    }
    if has("v", "verbose") {
        return tell_fields(io);
    }
    let first: Counts = client.get(routes::CACHE)?;
    let wish = wish(&options, &first)?;
    match options.value("o") {
        None => watch(&wish, client, first, io.out),
        Some(path) => {
            files::check(path)?;
            let mut file = File::create(path).or_else(|_| fail(format!("Cannot open {path} for writing")))?;
            watch(&wish, client, first, &mut file)
        }
    }
}

fn tell_fields(io: &mut Io<'_>) -> Result<(), Stop> {
    write!(io.err, "{USAGE}\nField definitions are as follows:\n")?;
    for field in fields::fields() {
        writeln!(io.err, "{:>11} : {}", field.name, field.about)?;
    }
    Ok(writeln!(io.err)?)
}

fn wish(options: &Parsed, counts: &Counts) -> Result<Wish, Stop> {
    let has = |short: &str, long: &str| options.has(short) || options.has(long);
    let has_level2 = ["l2_ndev", "l2_size"].iter().any(|count| counts.get(*count).is_some_and(|n| *n > 0));
    let mut columns = fields::fields();
    if has("a", "all") {
        columns.retain(|field| has_level2 || !field.name.starts_with("l2"));
    } else {
        let list = match options.value("f") {
            Some(list) => list,
            None if has("x", "extended") => EXTENDED,
            None if has("z", "zfetch") => ZFETCH,
            None => USUAL,
        };
        columns = chosen(columns, list, has_level2)?;
    }
    let number = |text: &String| text.parse::<u64>().or_else(|_| usage(format!("'{text}' is not a number")));
    let number = |at: usize| options.operands.get(at).map(number).transpose();
    let (interval, count) = (number(0)?, number(1)?);
    Ok(Wish {
        columns,
        separator: options.value("s").unwrap_or("  ").to_owned(),
        literal: has("p", "parsable"),
        json: options.has("j"),
        interval: interval.unwrap_or(1).max(1),
        count: count.unwrap_or(u64::from(interval.is_none())),
    })
}

fn chosen(all: Vec<Field>, list: &str, has_level2: bool) -> Result<Vec<Field>, Stop> {
    let mut by_name: BTreeMap<String, Field> = all.into_iter().map(|f| (f.name.clone(), f)).collect();
    let mut columns = Vec::new();
    for name in list.split(',') {
        if name.starts_with("l2") && by_name.contains_key(name) && !has_level2 {
            return Err(Stop::Usage(format!("Incompatible field specified! -- ['{name}']: No L2ARC Here")));
        }
        let wrong = || Stop::Usage(format!("Invalid column definition! -- ['{name}']"));
        columns.push(by_name.remove(name).ok_or_else(wrong)?);
    }
    Ok(columns)
}

/// One line an interval.
fn watch(wish: &Wish, client: &Client, first: Counts, out: &mut dyn Write) -> Result<(), Stop> {
    let (mut before, mut now) = (None, first);
    for line in 0u64.. {
        let values = fields::values(before.as_ref(), &now, wish.interval, crate::clock::time());
        if wish.json {
            writeln!(out, "{}", object(wish, &values))?;
        } else {
            if line % (LINES + 1) == 0 {
                writeln!(out, "{}", heading(wish))?;
            }
            let cells = wish.columns.iter().map(|field| show(wish, field, &values[&field.name]));
            writeln!(out, "{}", cells.collect::<Vec<_>>().join(&wish.separator))?;
        }
        out.flush()?;
        if wish.count == line + 1 {
            break;
        }
        client.pause(Duration::from_secs(wish.interval))?;
        before = Some(std::mem::replace(&mut now, client.get(routes::CACHE)?));
    }
    Ok(())
}

fn heading(wish: &Wish) -> String {
    let title = |field: &Field| match wish.literal {
        true => field.name.clone(),
        false => format!("{:>width$}", field.name, width = field.width),
    };
    wish.columns.iter().map(title).collect::<Vec<_>>().join(&wish.separator)
}

fn object(wish: &Wish, values: &BTreeMap<String, Value>) -> Json {
    let mut object = Json::object();
    for field in &wish.columns {
        object.put(field.name.as_str(), exact(&values[&field.name]));
    }
    object
}

/// As Python prints numbers.
fn exact(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Whole(number) => number.to_string(),
        Value::Real(number) => format!("{number:?}"),
    }
}

fn show(wish: &Wish, field: &Field, value: &Value) -> String {
    let number = match value {
        _ if wish.literal => return exact(value),
        Value::Text(text) => return text.clone(),
        Value::Whole(number) => *number as f64,
        Value::Real(number) => *number,
    };
    pretty(field.width, field.scale, number, wish.interval)
}

/// In so many characters, with a unit behind, and one decimal place where there is room and the
/// number has some.
fn pretty(width: usize, scale: Scale, mut number: f64, interval: u64) -> String {
    const UNITS: [&str; 6] = ["", "K", "M", "G", "T", "P"];
    let step = match scale {
        Scale::Text | Scale::Percent => f64::INFINITY,
        Scale::Thousand => 1000.0,
        Scale::Binary => 1024.0,
    };
    let mut index = 0;
    while number.abs() > step && index < 5 {
        number /= step;
        index += 1;
    }
    let width = width - usize::from(index > 0);
    let whole = format!("{number:.0}").len();
    let no_decimals = (interval == 1 && number.fract() == 0.0) || width < whole + 2;
    format!("{number:width$.*}{}", usize::from(!no_decimals), UNITS[index])
}

#[cfg(test)]
mod tests;
