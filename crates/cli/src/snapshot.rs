//! `cistern snapshot`: locks of snapshots.

use api_types::lock::{LONGEST, LockRequest, time};
use api_types::{Changed, routes};
use stdx::span;

use crate::client::Client;
use crate::command::{Io, refusal};
use crate::fail::{Noun, Stop, no_command, usage};
use crate::{clock, getopt};

pub const USAGE: &str = "\
usage: cistern snapshot lock [-r] SNAPSHOT … --until WHEN

Locks snapshots: until then nobody destroys them, or their datasets or pool, and nobody takes the lock off. It can only be
prolonged. 'zfs holds' shows it, for it is a hold, and one that OpenZFS heeds as well.

  --until WHEN   30d or 12h from now, or a date: 2027-01-01, '2027-01-01 06:00'; within ten years
  -r             those of the same name below, too

examples:
  cistern snapshot lock tank/home@monthly --until 365d
  cistern snapshot lock -r tank@audit --until 2030-01-01
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    match args.split_first() {
        Some((verb, rest)) if verb == "lock" => lock(rest, client, io),
        Some((verb, _)) if matches!(verb.as_str(), "help" | "--help" | "-h") => {
            Ok(write!(io.out, "{USAGE}")?)
        }
        other => no_command(other.map(|(verb, _)| verb.as_str())),
    }
}

fn lock(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "ru:", &[("until", "u")])?;
    let snapshots = options.operands.clone();
    if snapshots.is_empty() {
        return usage("missing snapshot argument");
    }
    let Some(text) = options.value("u") else {
        return usage("until when is wanted: --until 30d, or --until 2027-01-01");
    };
    let now = i64::try_from(clock::seconds()).unwrap_or(i64::MAX);
    let span = span::parse(text, &span::UNITS).and_then(|seconds| i64::try_from(seconds).ok());
    let until = span.map_or_else(|| clock::parse(text), |span| now.checked_add(span));
    let Some(until) = until.filter(|until| (1..=LONGEST).contains(&until.saturating_sub(now))) else {
        return usage(format!("'{text}' is no time within ten years from now: 30d, 2027-01-01"));
    };
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let history = format!("cistern snapshot lock {}", words.join(" "));
    let cannot = format!("cannot lock '{}'", snapshots.join("', '"));
    let asked = LockRequest { snapshots, until, recursive: options.has("r"), history };
    client.post::<Changed>(routes::LOCKS, &asked).map_err(|error| refusal(&cannot, error, Noun::Dataset))?;
    Ok(writeln!(io.out, "locked until {}", time(until))?)
}
