//! `cistern nfsstat`: what NFS clients ask for, in the form of illumos' nfsstat(8).

use api_types::{NFS_PROCEDURES, NfsCounts, OTHERS};

use super::{Numbers, Pace, Window, json};
use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use crate::{getopt, table};

pub const USAGE: &str = "\
usage: cistern nfsstat [-s] [-l] [-H] [-p] [-j] [INTERVAL [COUNT]]

Says what NFS clients asked for since the daemon started; with an interval, then what they ask for in each of so many
seconds: all calls, those that were refused for what they were, and those that came again and got the same answer; then calls
by procedure.

  -s   of the server, which is all that there is
  -l   a line for each client; (other) is all that are not listed, together
  -H   no header, and a tab between fields
  -p   exact numbers
  -j   JSON: all statistics, a line each interval (also --json)

examples:
  cistern nfsstat
  cistern nfsstat -l 1
  cistern nfsstat -H -p
";

const CLIENTS: [&str; 8] = ["CLIENT", "CALLS", "READS", "READ", "WRITES", "WRITTEN", "OTHERS", "REFUSED"];
const PER_LINE: usize = 6;
const WIDTH: usize = 13;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let mut options = getopt::parse(args, "slHpjh", &["json", "help"])?;
    if options.has("h") || options.has("help") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    let pace = Pace::take(&mut options.operands)?;
    options.none()?;
    let numbers = Numbers { is_exact: options.has("p") };
    pace.watch(client, |window| {
        match () {
            () if options.has("j") => return json(io.out, &window),
            () if options.has("l") => clients(&window, numbers, options.has("H"), io)?,
            () if options.has("H") => bare(&window, numbers, io)?,
            () => server(&window, numbers, io)?,
        }
        Ok(io.out.flush()?)
    })
}

/// The general numbers, by name.
fn general(counts: &NfsCounts) -> [(&'static str, u64); 4] {
    let all = counts.requests() + counts.mount_calls + counts.refused;
    [("calls", all), ("badcalls", counts.refused), ("repeats", counts.replays), ("mount", counts.mount_calls)]
}

fn server(window: &Window, numbers: Numbers, io: &mut Io<'_>) -> Result<(), Stop> {
    let total = window.counts.program.nfs.clients.total();
    let general = general(&total);
    writeln!(io.out, "\nServer nfs:")?;
    row(general.iter().map(|(name, _)| (*name).to_owned()), io)?;
    row(general.iter().map(|(_, number)| numbers.count(*number)), io)?;
    let all = total.requests();
    writeln!(io.out, "Version 3: ({} calls)", numbers.count(all))?;
    for procedures in NFS_PROCEDURES.chunks(PER_LINE) {
        row(procedures.iter().map(|name| (*name).to_owned()), io)?;
        let share = |name: &&str| {
            let number = total.of(name);
            format!("{} {}%", numbers.count(number), number * 100 / all.max(1))
        };
        row(procedures.iter().map(share), io)?;
    }
    Ok(())
}

fn row(fields: impl Iterator<Item = String>, io: &mut Io<'_>) -> Result<(), Stop> {
    let line: String = fields.map(|field| format!("{field:<WIDTH$}")).collect();
    Ok(writeln!(io.out, "{}", line.trim_end())?)
}

/// A name and its number a line.
fn bare(window: &Window, numbers: Numbers, io: &mut Io<'_>) -> Result<(), Stop> {
    let total = window.counts.program.nfs.clients.total();
    let procedures = NFS_PROCEDURES.iter().map(|name| (*name, total.of(name)));
    for (name, number) in general(&total).into_iter().chain(procedures) {
        writeln!(io.out, "{name}\t{}", numbers.count(number))?;
    }
    Ok(())
}

fn clients(window: &Window, numbers: Numbers, is_bare: bool, io: &mut Io<'_>) -> Result<(), Stop> {
    let breakdown = &window.counts.program.nfs.clients;
    let line = |name: &str, counts: &NfsCounts| {
        let (reads, writes) = (counts.of("read"), counts.of("write"));
        [
            name.to_owned(),
            numbers.count(counts.requests()),
            numbers.count(reads),
            numbers.bytes(counts.read_bytes),
            numbers.count(writes),
            numbers.bytes(counts.write_bytes),
            numbers.count(counts.requests() - reads - writes),
            numbers.count(counts.refused),
        ]
    };
    let is_shown =
        |(name, counts): &(&str, &NfsCounts)| *name != OTHERS || counts.requests() + counts.refused > 0;
    let rows = breakdown.rows().filter(is_shown).map(|(name, counts)| line(name, counts));
    table::print(io, CLIENTS, rows.collect(), is_bare)
}
