//! `cistern session`: who is logged in.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::{getopt, table};
use api_types::{UserSession, routes};

pub const USAGE: &str = "\
usage: cistern session list [-H] [-p] [--json]
       cistern session end ID

Sessions that were begun by a login. They end by themselves, half an hour after their last use.

  -H, -p   for programs: without a head, times in seconds since 1970
  --json   what the daemon says, as JSON

examples:
  cistern session list
  cistern session end 12
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("end") => match rest {
            [id] if id.parse::<u64>().is_ok() => {
                Ok(client.post::<()>(&routes::at(routes::SESSION_END, id), &())?)
            }
            _ => Err(Stop::Usage("the number of one session is wanted".into())),
        },
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let sessions: Vec<UserSession> = client.get(routes::SESSIONS)?;
    if options.has("j") {
        return table::json(io, &sessions);
    }
    let time = |at: i64| table::time(u64::try_from(at).ok(), options.has("p"));
    let row = |session: &UserSession| {
        let (created, seen) = (time(session.created), time(session.seen));
        [session.id.to_string(), session.user.clone(), session.address.clone(), created, seen]
    };
    const HEAD: [&str; 5] = ["ID", "USER", "ADDRESS", "BEGAN", "LAST USED"];
    table::print(io, HEAD, sessions.iter().map(row).collect(), options.has("H"))
}
