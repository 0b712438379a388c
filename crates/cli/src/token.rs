//! `cistern token`: keys for programs. A token is its user's, and may be held to less than he may.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::{clock, getopt, roles, table};
use api_types::{Token, TokenAdd, TokenMade, routes};

pub const USAGE: &str = "\
usage: cistern token list [-H] [-p] [--json]
       cistern token add NAME [--user USER] [--role ROLE] [--expires SPAN] [--dataset NAME] [--json]
       cistern token remove ID

Keys by which programs are let in over HTTPS ('Authorization: Bearer …', CISTERN_TOKEN). A token is shown once, when it is made.

  --user USER       whose it is; on the machine itself that has to be said
  --role ROLE       read-only (the default), operator or administrator, and never more than its user's
  --expires SPAN    90d, 12h, never                            (default: never)
  --dataset NAME    it may change only this dataset and what is below it
  -H, -p            for programs: without a head, times in seconds since 1970
  --json            what the daemon says, as JSON

examples:
  cistern token add monitoring --user ada
  cistern token add backup --user ada --role operator --dataset tank/backup --expires 90d
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("add") => add(rest, client, io),
        Some("remove") => match rest {
            [id] if id.parse::<u64>().is_ok() => {
                Ok(client.post::<()>(&routes::at(routes::TOKEN_REMOVE, id), &())?)
            }
            _ => Err(Stop::Usage("the number of one token is wanted".into())),
        },
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let tokens: Vec<Token> = client.get(routes::TOKENS)?;
    if options.has("j") {
        return table::json(io, &tokens);
    }
    let time = |at: Option<i64>| table::time(at.and_then(|at| u64::try_from(at).ok()), options.has("p"));
    let row = |token: &Token| {
        [
            token.id.to_string(),
            token.user.clone(),
            table::plain(&token.name),
            token.role.word().to_owned(),
            token.dataset.clone().unwrap_or_else(|| "-".to_owned()),
            time(Some(token.created)),
            time(token.expires),
            time(token.last_used),
        ]
    };
    const HEAD: [&str; 8] = ["ID", "USER", "NAME", "ROLE", "DATASET", "CREATED", "EXPIRES", "LAST USED"];
    table::print(io, HEAD, tokens.iter().map(row).collect(), options.has("H"))
}

fn add(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("user", "u"), ("role", "r"), ("expires", "e"), ("dataset", "d"), ("json", "j")];
    let options = getopt::parse_as(args, "u:r:e:d:j", &long)?;
    let [name] = options.operands.as_slice() else {
        return Err(Stop::Usage("one name for the token is wanted".into()));
    };
    let text = |letter| options.value(letter).map(str::to_owned);
    let request = TokenAdd {
        user: text("u"),
        name: name.clone(),
        role: options.value("r").map(roles::parse).transpose()?.unwrap_or_default(),
        expires: options.value("e").map_or(Ok(None), |span| roles::end(span, clock::seconds()))?,
        dataset: text("d"),
    };
    let made: TokenMade = client.post(routes::TOKENS, &request)?;
    if options.has("j") {
        return table::json(io, &made);
    }
    Ok(writeln!(io.out, "{}", made.secret.0)?)
}
