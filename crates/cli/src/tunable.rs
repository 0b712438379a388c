//! `cistern tunable`: numbers that may be turned while the daemon runs, by the names that OpenZFS's
//! module parameters have.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, fail, no_command};
use crate::getopt;
use api_types::{Tunable, TunableSet, routes};

pub const USAGE: &str = "\
usage: cistern tunable list [-H]
       cistern tunable get [-H] NAME...
       cistern tunable set NAME=VALUE...

Numbers that may be turned while the daemon runs, under the names of OpenZFS's module parameters. What is set holds until
the daemon ends.

  -H   no header, and a tab between fields

examples:
  cistern tunable set zfs_txg_timeout=10
  cistern tunable get -H l2arc_write_max
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => {
            let options = getopt::parse(rest, "H", &[])?;
            options.none()?;
            show(&client.get::<Vec<Tunable>>(routes::TUNABLES)?, options.has("H"), io)
        }
        Some("get") => {
            let options = getopt::parse(rest, "H", &[])?;
            if options.operands.is_empty() {
                return Err(Stop::Usage("missing name".into()));
            }
            let all: Vec<Tunable> = client.get(routes::TUNABLES)?;
            let find = |name: &String| match all.iter().find(|tunable| tunable.name == *name) {
                Some(tunable) => Ok(tunable.clone()),
                None => fail(format!("no tunable '{name}'")),
            };
            show(&options.operands.iter().map(find).collect::<Result<Vec<_>, _>>()?, options.has("H"), io)
        }
        Some("set") if !rest.is_empty() => rest.iter().try_for_each(|pair| set(pair, client)),
        Some("set") => Err(Stop::Usage("missing name and value".into())),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn set(pair: &str, client: &Client) -> Result<(), Stop> {
    let Some((name, text)) = pair.split_once('=') else {
        return Err(Stop::Usage(format!("'{pair}' is not NAME=VALUE")));
    };
    let hexadecimal = text.strip_prefix("0x");
    let value = hexadecimal.map_or_else(|| text.parse(), |digits| u64::from_str_radix(digits, 16));
    let Ok(value) = value else { return fail(format!("cannot set {name}: '{text}' is not a number")) };
    let request = TunableSet { name: name.to_owned(), value };
    Ok(client.post::<()>(routes::TUNABLES, &request)?)
}

fn show(tunables: &[Tunable], bare: bool, io: &mut Io<'_>) -> Result<(), Stop> {
    if !bare {
        writeln!(io.out, "{:<32} {:>20} {:>20}  ABOUT", "NAME", "VALUE", "DEFAULT")?;
    }
    for Tunable { name, value, default, about, .. } in tunables {
        if bare {
            writeln!(io.out, "{name}\t{value}\t{default}\t{about}")?;
        } else {
            writeln!(io.out, "{name:<32} {value:>20} {default:>20}  {about}")?;
        }
    }
    Ok(())
}
