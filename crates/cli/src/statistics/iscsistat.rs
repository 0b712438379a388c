//! `cistern iscsistat`: what iSCSI initiators ask for, and what volumes are asked.

use api_types::{Breakdown, Counted, IscsiCounts, OTHERS, VolumeCounts};

use super::{Numbers, Pace, Window, json};
use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use crate::{getopt, table};

pub const USAGE: &str = "\
usage: cistern iscsistat [-v] [-H] [-p] [-j] [INTERVAL [COUNT]]

Says what iSCSI initiators asked for since the daemon started; with an interval, then what they ask for in each of so many
seconds: commands and bytes read and written, the mean time of one, and commands that do neither. (other) is all that are not
listed, together. cistern iscsi sessions tells who is logged in.

  -v   by volume instead, by whatever protocol it was asked: ranges that were made to read as zeroes, and flushes, too
  -H   no header, and a tab between fields
  -p   exact numbers; times in nanoseconds
  -j   JSON: all statistics, a line each interval (also --json)

examples:
  cistern iscsistat
  cistern iscsistat -v 1
  cistern iscsistat -H -p
";

const INITIATORS: [&str; 9] =
    ["INITIATOR", "READS", "READ", "TIME", "WRITES", "WRITTEN", "TIME", "OTHERS", "TIME"];
const VOLUMES: [&str; 10] =
    ["VOLUME", "READS", "READ", "TIME", "WRITES", "WRITTEN", "TIME", "FREES", "FREED", "FLUSHES"];

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let mut options = getopt::parse(args, "vHpjh", &["json", "help"])?;
    if options.has("h") || options.has("help") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let pace = Pace::take(&mut options.operands)?;
    options.none()?;
    let (numbers, is_bare) = (Numbers { is_exact: options.has("p") }, options.has("H"));
    pace.watch(client, |window| {
        match () {
            () if options.has("j") => return json(io.out, &window),
            () if options.has("v") => table::print(io, VOLUMES, volumes(&window, numbers), is_bare)?,
            () => table::print(io, INITIATORS, initiators(&window, numbers), is_bare)?,
        }
        Ok(io.out.flush()?)
    })
}

fn initiators(window: &Window, numbers: Numbers) -> Vec<[String; 9]> {
    let breakdown = &window.counts.program.iscsi.initiators;
    let line = |name: &str, counts: &IscsiCounts| {
        [
            name.to_owned(),
            numbers.count(counts.reads),
            numbers.bytes(counts.read_bytes),
            numbers.mean(counts.read_time, counts.reads),
            numbers.count(counts.writes),
            numbers.bytes(counts.write_bytes),
            numbers.mean(counts.write_time, counts.writes),
            numbers.count(counts.others),
            numbers.mean(counts.other_time, counts.others),
        ]
    };
    shown(breakdown).map(|(name, counts)| line(&table::plain(name), counts)).collect()
}

fn volumes(window: &Window, numbers: Numbers) -> Vec<[String; 10]> {
    let breakdown = &window.counts.volumes;
    let line = |name: &str, counts: &VolumeCounts| {
        [
            name.to_owned(),
            numbers.count(counts.reads),
            numbers.bytes(counts.read_bytes),
            numbers.mean(counts.read_time, counts.reads),
            numbers.count(counts.writes),
            numbers.bytes(counts.write_bytes),
            numbers.mean(counts.write_time, counts.writes),
            numbers.count(counts.frees),
            numbers.bytes(counts.free_bytes),
            numbers.count(counts.flushes),
        ]
    };
    shown(breakdown).map(|(name, counts)| line(name, counts)).collect()
}

/// All but others that were asked nothing.
fn shown<T: Counted + PartialEq>(breakdown: &Breakdown<T>) -> impl Iterator<Item = (&str, &T)> {
    breakdown.rows().filter(|(name, counts)| *name != OTHERS || **counts != T::default())
}
