//! `cistern zilstat`: what the intent logs do, in the columns, units and options of OpenZFS's
//! zilstat, and as JSON.
//!
//! Counted is by pool, not by dataset: the lines of `-p` and `-d` are of the whole pool, and say
//! so.
//!
//! Facts: OpenZFS's cmd/zilstat.in.

use crate::client::Client;
use crate::command::{Io, end};
use crate::fail::{Stop, fail};
use crate::getopt;
use crate::json::Json;
use api_types::{Counts, PoolStatus, routes};
use std::collections::BTreeMap;
use std::time::Duration;

const USAGE: &str =
    "usage: zilstat [-h] [-v] [-a | -p POOL | -d DATASET] [-f COLUMNS] [-s SEPARATOR] [-i INTERVAL] [-j]\n";
const HELP: &str = "
Prints what the intent logs did since import, or each INTERVAL seconds.

  -h  Show this help message
  -v  List field headers and definitions
  -a  Print each pool
  -p  Print the given pool
  -d  Print the pools of the given datasets (comma separated)
  -f  Specify specific fields to print (see -v)
  -s  Override default field separator with custom character or string
  -i  Print stats between specified interval (in seconds)
  -j  Print one JSON object a line

Usage Examples
Note: all pools together are shown if none of -a, -p and -d is given
\tzilstat -a
\tzilstat -v
\tzilstat -p tank
\tzilstat -i 1
\tzilstat -f time,cc,imsw

";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Scale {
    Text,
    Percent,
    Thousand,
    Binary,
}

use Scale::{Binary as B, Percent as P, Text as T, Thousand as K};

/// Header, width, scale, name in the kstat (a sum or a quotient of headers where there is none).
type Column = (&'static str, usize, Scale, &'static str);

const COLUMNS: &[Column] = &[
    ("time", 8, T, "time"),
    ("pool", 12, T, "pool"),
    ("ds", 12, T, "dataset_name"),
    ("obj", 12, T, "objset"),
    ("cc", 5, K, "zil_commit_count"),
    ("cwc", 5, K, "zil_commit_writer_count"),
    ("cec", 5, K, "zil_commit_error_count"),
    ("csc", 5, K, "zil_commit_stall_count"),
    ("cSc", 5, K, "zil_commit_suspend_count"),
    ("cCc", 5, K, "zil_commit_crash_count"),
    ("ic", 5, K, "zil_itx_count"),
    ("iic", 5, K, "zil_itx_indirect_count"),
    ("iib", 5, B, "zil_itx_indirect_bytes"),
    ("icc", 5, K, "zil_itx_copied_count"),
    ("icb", 5, B, "zil_itx_copied_bytes"),
    ("inc", 5, K, "zil_itx_needcopy_count"),
    ("inb", 5, B, "zil_itx_needcopy_bytes"),
    ("idc", 5, K, "icc+inc"),
    ("idb", 5, B, "icb+inb"),
    ("iwc", 5, K, "iic+idc"),
    ("iwb", 5, B, "iib+idb"),
    ("imnc", 6, K, "zil_itx_metaslab_normal_count"),
    ("imnb", 6, B, "zil_itx_metaslab_normal_bytes"),
    ("imnw", 6, B, "zil_itx_metaslab_normal_write"),
    ("imna", 6, B, "zil_itx_metaslab_normal_alloc"),
    ("imsc", 6, K, "zil_itx_metaslab_slog_count"),
    ("imsb", 6, B, "zil_itx_metaslab_slog_bytes"),
    ("imsw", 6, B, "zil_itx_metaslab_slog_write"),
    ("imsa", 6, B, "zil_itx_metaslab_slog_alloc"),
    ("imc", 5, K, "imnc+imsc"),
    ("imb", 5, B, "imnb+imsb"),
    ("imw", 5, B, "imnw+imsw"),
    ("ima", 5, B, "imna+imsa"),
    ("se%", 3, P, "imb/ima"),
    ("sen%", 4, P, "imnb/imna"),
    ("ses%", 4, P, "imsb/imsa"),
    ("te%", 3, P, "imb/imw"),
    ("ten%", 4, P, "imnb/imnw"),
    ("tes%", 4, P, "imsb/imsw"),
];
const USUAL: &str = "time,ds,cc,ic,idc,idb,iic,iib,imnc,imnw,imsc,imsw";
const GLOBAL: &str = "time,cc,ic,idc,idb,iic,iib,imnc,imnw,imsc,imsw";

/// What the command line asks for.
struct Wish {
    columns: Vec<&'static Column>,
    separator: String,
    /// Seconds; 0: once, since import.
    interval: u64,
    json: bool,
    /// `None`: all together.
    pools: Option<Vec<String>>,
}

/// Runs it and gives its exit status.
pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> i32 {
    let done = try_run(args, client, io);
    end(io, done.map(|()| 0), |io, text| {
        let _ = writeln!(io.err, "{USAGE}zilstat: error: {text}");
        2
    })
}

fn try_run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "hvap:d:f:s:i:j", &["help", "verbose", "all", "json"])?;
    if options.has("h") || options.has("help") {
        return Ok(write!(io.out, "{USAGE}{HELP}")?);
    }
    if options.has("v") || options.has("verbose") {
        write!(io.err, "{USAGE}\nField definitions are as follows:\n")?;
        for (name, _, _, source) in COLUMNS {
            writeln!(io.err, "{name:>11} : {source}")?;
        }
        return Ok(writeln!(io.err)?);
    }
    let all = options.has("a") || options.has("all");
    if usize::from(all) + usize::from(options.has("p")) + usize::from(options.has("d")) > 1 {
        return Err(Stop::Usage("-a, -p and -d are not allowed with each other".into()));
    }
    let pools = match (options.value("p"), options.value("d")) {
        (Some(pool), _) => Some(vec![pool.to_owned()]),
        (_, Some(datasets)) => Some(pools_of(datasets)),
        _ if all => Some(names(client)?),
        _ => None,
    };
    let usual = if pools.is_some() { USUAL } else { GLOBAL };
    let wrong = |_| Stop::Usage("argument -i/--interval: invalid int value".into());
    let interval = options.value("i").map_or(Ok(0), str::parse::<u64>).map_err(wrong)?;
    let wish = Wish {
        columns: columns(options.value("f").unwrap_or(usual))?,
        separator: options.value("s").unwrap_or("  ").to_owned(),
        interval,
        json: options.has("j"),
        pools,
    };
    watch(&wish, client, io)
}

fn names(client: &Client) -> Result<Vec<String>, Stop> {
    let pools: Vec<PoolStatus> = client.get(routes::POOLS)?;
    Ok(pools.into_iter().map(|pool| pool.name).collect())
}

fn pools_of(datasets: &str) -> Vec<String> {
    let mut pools: Vec<String> =
        datasets.split(',').map(|name| name.split('/').next().unwrap_or(name).to_owned()).collect();
    pools.sort();
    pools.dedup();
    pools
}

fn columns(list: &str) -> Result<Vec<&'static Column>, Stop> {
    let find = |name: &str| COLUMNS.iter().find(|column| column.0 == name);
    let wrong: Vec<&str> = list.split(',').filter(|name| find(name).is_none()).collect();
    if !wrong.is_empty() {
        return fail(format!("Invalid column definition! -- {wrong:?}"));
    }
    Ok(list.split(',').filter_map(find).collect())
}

/// By pool; "GLOBAL" is all together.
type Sample = BTreeMap<String, Counts>;

fn sample(wish: &Wish, client: &Client) -> Result<Sample, Stop> {
    let get =
        |pool: &String| -> Result<Counts, Stop> { Ok(client.get(&routes::at(routes::POOL_LOG, pool))?) };
    if let Some(pools) = &wish.pools {
        return pools.iter().map(|pool| Ok((pool.clone(), get(pool)?))).collect();
    }
    let mut sum = Counts::new();
    for pool in names(client)? {
        for (name, count) in get(&pool)? {
            *sum.entry(name).or_default() += count;
        }
    }
    Ok(Sample::from([("GLOBAL".to_owned(), sum)]))
}

fn watch(wish: &Wish, client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let mut before = sample(wish, client)?;
    if !wish.json {
        writeln!(io.out, "{}", heading(wish))?;
    }
    if wish.interval == 0 {
        print(wish, &before, &Sample::new(), io)?;
        return Ok(io.out.flush()?);
    }
    loop {
        io.out.flush()?;
        client.pause(Duration::from_secs(wish.interval))?;
        let now = sample(wish, client)?;
        print(wish, &now, &before, io)?;
        before = now;
    }
}

fn heading(wish: &Wish) -> String {
    let title = |&&(name, width, scale, _): &&Column| {
        let a_second = if wish.interval > 0 && is_a_count(scale) { "/s" } else { "" };
        format!("{:>width$}{}", format!("{name}{a_second}"), wish.separator)
    };
    wish.columns.iter().map(title).collect()
}

fn is_a_count(scale: Scale) -> bool {
    matches!(scale, Scale::Thousand | Scale::Binary)
}

fn print(wish: &Wish, now: &Sample, before: &Sample, io: &mut Io<'_>) -> Result<(), Stop> {
    let none = Counts::new();
    for (pool, counts) in now {
        let line =
            Line { pool, now: counts, before: before.get(pool).unwrap_or(&none), interval: wish.interval };
        if wish.json {
            let put = |object: Json, column: &&Column| object.with(column.0, line.exact(column));
            writeln!(io.out, "{}", wish.columns.iter().fold(Json::object(), put))?;
            continue;
        }
        let cells = wish.columns.iter().map(|column| format!("{}{}", line.show(column), wish.separator));
        writeln!(io.out, "{}", cells.collect::<String>())?;
    }
    Ok(())
}

struct Line<'a> {
    pool: &'a str,
    now: &'a Counts,
    before: &'a Counts,
    interval: u64,
}

impl Line<'_> {
    fn text(&self, header: &str) -> String {
        match header {
            "time" => crate::clock::time(),
            // The line is of all its datasets.
            "obj" => "-".to_owned(),
            _ => self.pool.to_owned(),
        }
    }

    /// The change of what a header stands for.
    fn change(&self, header: &str) -> u64 {
        let Some((_, _, _, source)) = COLUMNS.iter().find(|column| column.0 == header) else { return 0 };
        if let Some((one, other)) = source.split_once('+') {
            return self.change(one) + self.change(other);
        }
        if let Some((part, whole)) = source.split_once('/') {
            let (part, whole) = (self.change(part), self.change(whole));
            return (100 * part).checked_div(whole).unwrap_or(100);
        }
        let of = |counts: &Counts| counts.get(*source).copied().unwrap_or(0);
        of(self.now).saturating_sub(of(self.before))
    }

    fn number(&self, column: &Column) -> u64 {
        let change = self.change(column.0);
        if is_a_count(column.2) { change / self.interval.max(1) } else { change }
    }

    fn exact(&self, column: &Column) -> String {
        if column.2 == Scale::Text { self.text(column.0) } else { self.number(column).to_string() }
    }

    fn show(&self, column: &Column) -> String {
        let &(header, width, scale, _) = column;
        match scale {
            Scale::Text => format!("{:>width$}", self.text(header)),
            Scale::Percent => pretty(width, 100, self.number(column)),
            Scale::Thousand => pretty(width, 1000, self.number(column)),
            Scale::Binary => pretty(width, 1024, self.number(column)),
        }
    }
}

/// In so many characters with the unit, one decimal place below ten. Percentages scale too, as
/// OpenZFS's do.
fn pretty(width: usize, scale: u64, number: u64) -> String {
    const UNITS: [&str; 6] = ["", "K", "M", "G", "T", "P"];
    let (mut value, mut index) = (number as f64, 0);
    while value > scale as f64 && index < 5 {
        value /= scale as f64;
        index += 1;
    }
    let digits = width - 1;
    match index {
        0 => format!("{number:>width$}"),
        _ if value < 10.0 => format!("{value:>digits$.1}{}", UNITS[index]),
        _ => format!("{:>digits$}{}", value as u64, UNITS[index]),
    }
}

#[cfg(test)]
mod tests;
