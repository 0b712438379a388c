//! `cistern login`, `logout` and `whoami`: being known to another machine.
//!
//! A login asks for the password once, and leaves a token behind; the session that it took ends. No
//! password is written down.

use crate::ask;
use crate::client::{Address, CallError, Client, Credential, Trust, fingerprint, look};
use crate::clock;
use crate::command::Io;
use crate::fail::{Stop, fail};
use crate::getopt;
use crate::hosts::{Host, Hosts, remote};
use crate::{roles, table};
use api_types::{By, LogIn, LoggedIn, Me, Problem, Role, Secret, TokenAdd, TokenMade, kind, routes};

pub const LOGIN: &str = "\
usage: cistern login HOST[:PORT] [-u USER] [options]

Makes a token for this user on another machine, and keeps it in $XDG_CONFIG_HOME/cistern/hosts.toml; after that
'cistern --host HOST COMMAND' works there. Where this machine does not trust the certificate, its SHA-256 fingerprint is shown:
compare it with what 'cistern certificate show' says on the other machine. Password and code are read from standard input, a
line each, where that is no terminal.

  -u, --user USER         the account there                      (default: $USER)
  --role ROLE             of the token: read-only, operator, administrator   (default: that of the account)
  --expires SPAN          90d, 12h, never                        (default: 90d)
  --dataset NAME          the token may change only this dataset and what is below it
  --fingerprint SHA256    of the certificate, instead of the question

examples:
  cistern login nas.example -u ada
  cistern --host nas.example zpool status
";
pub const LOGOUT: &str = "\
usage: cistern logout [-f] HOST[:PORT]

Ends the token on the other machine, and forgets it here. With -f it is forgotten though it could not be ended.
";
pub const WHOAMI: &str = "\
usage: cistern whoami [--json]

Says as whom the daemon sees this user, and what he may do.
";
const USUAL_SPAN: &str = "90d";
/// How often a code is asked for.
const TRIES: usize = 3;

pub fn login(args: &[String], io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [
        ("user", "u"),
        ("role", "r"),
        ("expires", "e"),
        ("dataset", "d"),
        ("fingerprint", "f"),
        ("help", "h"),
    ];
    let options = getopt::parse_as(args, "u:r:e:d:f:h", &long)?;
    if options.has("h") {
        return Ok(write!(io.out, "{LOGIN}")?);
    }
    let address = one_address(&options.operands)?;
    let role = options.value("r").map(roles::parse).transpose()?;
    let expires = roles::end(options.value("e").unwrap_or(USUAL_SPAN), clock::seconds())?;
    let hosts = Hosts::of_user()?;
    let before = hosts.get(&address)?;
    let trust = match options.value("f") {
        Some(text) => Trust::Known(fingerprint(text).map_err(Stop::Usage)?),
        None => agreed(io, &address, before.as_ref())?,
    };
    let user = match options.value("u").map(str::to_owned).or_else(|| std::env::var("USER").ok()) {
        Some(user) if !user.is_empty() => user,
        _ => ask::line(io, &format!("User of {address}: "))?,
    };
    let password = ask::secret(io, &format!("Password of {user} at {address}: "))?;
    let stranger = Client::remote(remote(address.clone(), trust, Credential::Nothing)?);
    let (LoggedIn { me, .. }, session) = log_in(&stranger, &user, &password, io)?;
    let made = token(&session, &me, role, expires, options.value("d"));
    if let Some(old) = before.as_ref().and_then(|before| token_id(&before.token)).filter(|_| made.is_ok()) {
        // It may have ended by itself.
        let _ = session.post::<()>(&routes::at(routes::TOKEN_REMOVE, old), &());
    }
    // Where this fails the session ends by itself, soon.
    let _ = session.post::<()>(routes::LOGOUT, &());
    let TokenMade { token, secret: Secret(secret) } = made?;
    let fingerprint = match trust {
        Trust::System => None,
        Trust::Known(known) => Some(known.to_string()),
    };
    hosts.set(&address, Some(Host { user: user.clone(), token: secret, fingerprint }))?;
    let role = token.role.word();
    let end = token.expires.and_then(|end| u64::try_from(end).ok());
    let end = end.map_or_else(|| "never ends".to_owned(), |end| format!("ends {}", clock::stamp(end)));
    writeln!(io.out, "logged in to {address} as {user}, {role}; the token {end}")?;
    Ok(())
}

fn one_address(operands: &[String]) -> Result<Address, Stop> {
    match operands {
        [host] => host.parse().map_err(Stop::Usage),
        [] => Err(Stop::Usage("missing host".into())),
        _ => Err(Stop::Usage("too many arguments".into())),
    }
}

/// Whose certificate is taken from now on: one that nobody vouches for only if somebody says so.
fn agreed(io: &mut Io<'_>, address: &Address, before: Option<&Host>) -> Result<Trust, Stop> {
    let trust = look(address)?;
    let Trust::Known(seen) = trust else { return Ok(trust) };
    let known = before.map(Host::trust).transpose()?;
    if known == Some(trust) {
        return Ok(trust);
    }
    if !ask::is_there_somebody() {
        return fail(format!(
            "This machine does not trust the certificate of {address}, SHA-256 {seen}.\n\
             Where that is the right one, say so: --fingerprint {seen}"
        ));
    }
    if let Some(Trust::Known(known)) = known {
        writeln!(io.err, "The certificate of {address} has changed. Until now its SHA-256 was\n  {known}")?;
    }
    writeln!(io.err, "This machine does not trust the certificate of {address}. Its SHA-256 is\n  {seen}")?;
    let answer = ask::line(io, "Is that what 'cistern certificate show' says there? (yes/no) ")?;
    match answer.trim() {
        "yes" => Ok(trust),
        _ => fail("nothing was sent"),
    }
}

/// A session, with a second factor where the account wants one.
pub fn log_in(
    client: &Client,
    user: &str,
    password: &str,
    io: &mut Io<'_>,
) -> Result<(LoggedIn, Client), Stop> {
    let mut request =
        LogIn { name: user.to_owned(), password: Secret(password.to_owned()), ..LogIn::default() };
    for _ in 0..TRIES {
        match client.log_in(&request) {
            Err(CallError::Refused(problem)) if problem.kind == kind::SECOND_FACTOR_NEEDED => {
                request.second = Some(Secret(ask::secret(io, code_wanted(&problem))?));
            }
            outcome => return Ok(outcome?),
        }
    }
    fail("a second factor is wanted again and again")
}

/// What to ask for: a key takes a browser, and a code does as well.
pub fn code_wanted(problem: &Problem) -> &'static str {
    match problem.second_factors.as_ref().is_some_and(|has| !has.totp) {
        true => "Recovery code (the security key of this account takes a browser): ",
        false => "Code of the authenticator, another one than before, or a recovery code: ",
    }
}

fn token(
    session: &Client,
    me: &Me,
    role: Option<Role>,
    expires: Option<i64>,
    dataset: Option<&str>,
) -> Result<TokenMade, CallError> {
    let machine = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let now = clock::stamp(clock::seconds());
    // No other one of the account has this name.
    let name = format!("cistern at {} {now} {}", machine.trim(), std::process::id());
    let role = role.or(me.role).unwrap_or_default();
    session.post(
        routes::TOKENS,
        &TokenAdd { user: None, name, role, expires, dataset: dataset.map(str::to_owned) },
    )
}

/// The number in `cistern_NUMBER_SECRET`.
fn token_id(token: &str) -> Option<&str> {
    let (id, _) = token.strip_prefix("cistern_")?.split_once('_')?;
    id.parse::<u64>().ok().map(|_| id)
}

pub fn logout(args: &[String], io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "fh", &[("help", "h")])?;
    if options.has("h") {
        return Ok(write!(io.out, "{LOGOUT}")?);
    }
    let address = one_address(&options.operands)?;
    let hosts = Hosts::of_user()?;
    let Some(known) = hosts.get(&address)? else { return fail(format!("not logged in to {address}")) };
    let ended = end_token(&address, &known);
    if !options.has("f")
        && let Err(stop) = ended
    {
        if let Stop::Fail(text) = &stop {
            writeln!(io.err, "cannot end the token at {address}: {text}")?;
        }
        return fail(format!("'cistern logout -f {address}' forgets it here all the same"));
    }
    hosts.set(&address, None)
}

fn end_token(address: &Address, known: &Host) -> Result<(), Stop> {
    let id = token_id(&known.token).ok_or_else(|| Stop::Fail("it is no token of Cistern".into()))?;
    let credential = Credential::Token(known.token.clone());
    let client = Client::remote(remote(address.clone(), known.trust()?, credential)?);
    Ok(client.post::<()>(&routes::at(routes::TOKEN_REMOVE, id), &())?)
}

pub fn whoami(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse_as(args, "jh", &[("json", "j"), ("help", "h")])?;
    if options.has("h") {
        return Ok(write!(io.out, "{WHOAMI}")?);
    }
    options.none()?;
    let me: Me = client.get(routes::ME)?;
    if options.has("j") {
        return table::json(io, &me);
    }
    let by = match me.by {
        By::Nobody => "nothing".to_owned(),
        By::Socket { .. } => "the socket of this machine".to_owned(),
        By::Session { id } => format!("session {id}"),
        By::Token { id } => format!("token {id}"),
        By::Peer => "the certificate of an appliance".to_owned(),
    };
    let lines = [
        ("user", me.name.unwrap_or_else(|| "-".to_owned())),
        ("number", me.uid.to_string()),
        ("role", me.role.map_or("what is delegated", Role::word).to_owned()),
        ("by", by),
        ("dataset", me.dataset.unwrap_or_else(|| "-".to_owned())),
    ];
    Ok(lines.iter().try_for_each(|(name, value)| writeln!(io.out, "{name:<8}  {value}"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_token_is_found() {
        assert_eq!(token_id("cistern_17_abc_def"), Some("17"));
        for bad in ["", "cistern_17", "cistern__x", "cistern_x_y", "17_x"] {
            assert_eq!(token_id(bad), None, "{bad}");
        }
    }
}
