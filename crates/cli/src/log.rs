//! `cistern log`: what the daemon logs, and changing that while it runs.

use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use api_types::{LogFilter, routes};

pub const USAGE: &str = "\
usage: cistern log [FILTER]

Tells what the daemon logs, or changes it until the daemon ends: off, error, warn, info, debug or trace, which can be another
for parts of it.

examples:
  cistern log
  cistern log info,nfs=debug
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let now: LogFilter = match args {
        [] => client.get(routes::LOG)?,
        [help] if matches!(help.as_str(), "--help" | "-h") => return Ok(write!(io.out, "{USAGE}")?),
        [filter] => client.post(routes::LOG, &LogFilter { filter: filter.clone() })?,
        _ => return Err(Stop::Usage("too many arguments".into())),
    };
    Ok(writeln!(io.out, "{}", now.filter)?)
}
