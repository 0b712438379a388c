//! `cistern audit`: what was changed over the management API, by whom.

use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use crate::{getopt, table};
use api_types::{AuditRecord, By, routes};

pub const USAGE: &str = "\
usage: cistern audit [-n NUMBER] [--user USER] [--verb VERB] [-H] [-p] [--json]

Requests that were no GET, logins, and what services changed by themselves, the newest first.

  -n NUMBER        so many                              (default: 100)
  --user USER      of this account, or of the user of the machine with this number
                   or, as 'service NAME', of a service
  --verb VERB      POST, DELETE; RUN of a service
  -H, -p           for programs: without a head, times in seconds since 1970
  --json           what the daemon says, as JSON

examples:
  cistern audit -n 20
  cistern audit --user ada
";
/// Records that are asked for at a time.
const PAGE: usize = 1000;
const USUAL: usize = 100;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("user", "u"), ("verb", "v"), ("json", "j"), ("help", "h")];
    let options = getopt::parse_as(args, "n:u:v:Hpjh", &long)?;
    if options.has("h") {
        return Ok(write!(io.out, "{USAGE}")?);
    }
    options.none()?;
    let number = |text: &str| text.parse().map_err(|_| Stop::Usage(format!("'{text}' is no number")));
    let most = options.value("n").map_or(Ok(USUAL), number)?;
    let records = newest(client, most, options.value("u"), options.value("v"))?;
    if options.has("j") {
        return table::json(io, &records);
    }
    let row = |record: &AuditRecord| {
        [
            table::time(u64::try_from(record.time).ok(), options.has("p")),
            table::plain(&record.who),
            by(record.by),
            record.address.clone().unwrap_or_else(|| "-".to_owned()),
            record.status.to_string(),
            record.verb.clone(),
            table::plain(&record.path),
            record.target.as_deref().map_or_else(|| "-".to_owned(), table::plain),
        ]
    };
    const HEAD: [&str; 8] = ["TIME", "WHO", "BY", "FROM", "STATUS", "VERB", "PATH", "TARGET"];
    table::print(io, HEAD, records.iter().map(row).collect(), options.has("H"))
}

/// So many, in as many answers as it takes.
fn newest(
    client: &Client,
    most: usize,
    user: Option<&str>,
    verb: Option<&str>,
) -> Result<Vec<AuditRecord>, Stop> {
    let mut records: Vec<AuditRecord> = Vec::new();
    while records.len() < most {
        let wanted = PAGE.min(most - records.len());
        let before = records.last().map(|record| format!("&before={}", record.id)).unwrap_or_default();
        let of = |name: &str, value: Option<&str>| {
            value.map(|value| format!("&{name}={}", routes::segment(value))).unwrap_or_default()
        };
        let filter = format!("{}{}", of("user", user), of("verb", verb));
        let page: Vec<AuditRecord> =
            client.get(&format!("{}?limit={wanted}{before}{filter}", routes::AUDIT))?;
        let is_last = page.len() < wanted;
        records.extend(page);
        if is_last {
            break;
        }
    }
    Ok(records)
}

fn by(by: By) -> String {
    match by {
        By::Nobody => "-".to_owned(),
        By::Socket { uid } => format!("uid {uid}"),
        By::Session { id } => format!("session {id}"),
        By::Token { id } => format!("token {id}"),
        By::Peer => "peer".to_owned(),
    }
}
