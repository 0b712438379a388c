//! `cistern fsstat`: what file systems are asked, in the columns of illumos' fsstat(8).

use std::collections::BTreeMap;

use api_types::{Breakdown, FileSystemCounts, Mount, OTHERS, Share, routes};

use super::{Numbers, Pace, Window, json};
use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, fail};
use crate::getopt;

pub const USAGE: &str = "\
usage: cistern fsstat [-H] [-p] [-j] [DATASET|PATH]... [INTERVAL [COUNT]]

Says what file systems were asked since the daemon started, by whatever protocol; with an interval, then what they are asked
in each of so many seconds. Without a name, it is all that were asked anything, and zfs for all together.

  new file    files, directories and links that were made      name remov  names that were removed
  name chng   renames and links                                attr get    attributes read
  attr set    attributes set                                   lookup, rddir, read, write: as they say

  -H   no header, and a tab between fields
  -p   exact numbers
  -j   JSON: all statistics, a line each interval (also --json)

examples:
  cistern fsstat
  cistern fsstat tank/home 1
  cistern fsstat /export/home 5 12
";

const HEAD: [&str; 2] = [
    "  new  name   name  attr  attr lookup rddir  read  read  write write",
    " file remov   chng   get   set    ops   ops   ops bytes    ops bytes",
];
const WIDTHS: [usize; 11] = [5, 5, 6, 5, 5, 6, 5, 5, 5, 6, 5];
/// Lines until the head is written again.
const PAGE: usize = 20;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let mut options = getopt::parse(args, "Hpjh", &["json", "help"])?;
    if options.has("h") || options.has("help") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let pace = Pace::take(&mut options.operands)?;
    let names = options.operands.iter().map(|name| dataset_of(name, client));
    let names = names.collect::<Result<Vec<String>, Stop>>()?;
    let (is_bare, is_json) = (options.has("H"), options.has("j"));
    let numbers = Numbers { is_exact: options.has("p") };
    let mut lines = 0;
    pace.watch(client, |window| {
        if is_json {
            return json(io.out, &window);
        }
        for (name, counts) in rows(&window, &names) {
            if !is_bare && lines % PAGE == 0 {
                HEAD.iter().try_for_each(|line| writeln!(io.out, "{line}"))?;
            }
            lines += 1;
            writeln!(io.out, "{}", line(&name, &counts, numbers, is_bare))?;
        }
        Ok(io.out.flush()?)
    })
}

/// What is shown: those asked for, or those that were asked anything, by name, and all together.
fn rows(window: &Window, names: &[String]) -> Vec<(String, FileSystemCounts)> {
    let Breakdown { each, others } = &window.counts.file_systems;
    let known: BTreeMap<&str, FileSystemCounts> =
        each.iter().map(|one| (one.name.as_str(), one.counts)).collect();
    if !names.is_empty() {
        let of = |name: &String| known.get(name.as_str()).copied().unwrap_or_default();
        return names.iter().map(|name| (name.clone(), of(name))).collect();
    }
    let is_something = |counts: &FileSystemCounts| *counts != FileSystemCounts::default();
    let mut rows: Vec<(String, FileSystemCounts)> = known
        .into_iter()
        .filter(|(_, counts)| is_something(counts))
        .map(|(name, counts)| (name.to_owned(), counts))
        .collect();
    if is_something(others) {
        rows.push((OTHERS.to_owned(), *others));
    }
    rows.push(("zfs".to_owned(), window.counts.file_systems.total()));
    rows
}

fn line(name: &str, counts: &FileSystemCounts, numbers: Numbers, is_bare: bool) -> String {
    let count = |number: u64| numbers.count(number);
    let fields = [
        count(counts.new_files),
        count(counts.names_removed),
        count(counts.names_changed),
        count(counts.attributes_read),
        count(counts.attributes_set),
        count(counts.lookups),
        count(counts.directory_reads),
        count(counts.reads),
        count(counts.read_bytes),
        count(counts.writes),
        count(counts.write_bytes),
    ];
    if is_bare {
        return format!("{}\t{name}", fields.join("\t"));
    }
    let fields = fields.iter().zip(WIDTHS).map(|(field, width)| format!("{field:>width$}"));
    format!("{} {name}", fields.collect::<Vec<_>>().join(" "))
}

/// The file system that a name means: itself, or what is mounted or shared where the path is.
fn dataset_of(name: &str, client: &Client) -> Result<String, Stop> {
    if !name.starts_with('/') {
        return Ok(name.to_owned());
    }
    let mounts: Vec<Mount> = client.get(routes::MOUNTS)?;
    let shares: Vec<Share> = client.get(routes::SHARES)?;
    let places = mounts.into_iter().map(|mount| (mount.mountpoint, mount.dataset));
    let places = places.chain(shares.into_iter().map(|share| (share.path, share.dataset)));
    let holds = |(at, _): &(String, String)| {
        name.strip_prefix(at.trim_end_matches('/'))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    match places.filter(holds).max_by_key(|(at, _)| at.len()) {
        Some((_, dataset)) => Ok(dataset),
        None => fail(format!("no file system is mounted or shared at '{name}'")),
    }
}
