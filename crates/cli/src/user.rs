//! `cistern user`: the accounts of a machine, for who comes by HTTPS.

use crate::client::{CallError, Client};
use crate::command::Io;
use crate::fail::{Stop, fail, no_command};
use crate::getopt::{self, Parsed};
use crate::login::{code_wanted, log_in};
use crate::{ask, roles, table};
use api_types::{
    KeyRemove, Me, RecoveryCodes, Role, Secret, SecurityKey, TotpBegin, TotpConfirm, TotpOffer, User,
    UserAdd, UserChange, kind, routes,
};
use qrcode::render::unicode::Dense1x2;
use qrcode::{EcLevel, QrCode};
use std::io::IsTerminal;

pub const USAGE: &str = "\
usage: cistern user list [-H] [-p] [--json]
       cistern user add NAME [--role ROLE] [--uid NUMBER] [--password-stdin]
       cistern user change NAME [--role ROLE] [--uid NUMBER] [--password] [--keep-tokens] [--disable | --enable]
                              [--drop-totp] [--drop-keys]
       cistern user remove NAME
       cistern user totp NAME
       cistern user keys NAME [-H] [-p] [--json]
       cistern user keys NAME remove ID

Accounts of who manages this machine by HTTPS. A role is read-only (which is the default), operator or administrator; what
'zfs allow' delegates to the account's number it may do as well. Passwords are asked for, never an argument.
A security key or passkey is made in a browser, by its owner, over HTTPS and by a host name; here it is listed and removed.

  --password         another password; sessions and tokens of the account end
  --keep-tokens      with another password for the own account: its tokens do not
  --password-stdin   likewise, from a line of standard input
  --drop-totp        without authenticator from now on; recovery codes end with the last second factor
  --drop-keys        likewise without security keys
  -H, -p             for programs: without a head, times in seconds since 1970
  --json             what the daemon says, as JSON

examples:
  cistern user add ada --role administrator
  cistern user change ada --password
  cistern user totp ada
  cistern user keys ada remove 3
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("list") => list(rest, client, io),
        Some("add") => add(rest, client, io),
        Some("change") => change(rest, client, io),
        Some("remove") => {
            let options = getopt::parse(rest, "", &[])?;
            Ok(client.post::<()>(&routes::at(routes::USER_REMOVE, one_name(&options)?), &())?)
        }
        Some("totp") => totp(rest, client, io),
        Some("keys") => keys(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn one_name(options: &Parsed) -> Result<&str, Stop> {
    match options.operands.as_slice() {
        [name] => Ok(name),
        [] => Err(Stop::Usage("missing name of a user".into())),
        _ => Err(Stop::Usage("too many arguments".into())),
    }
}

fn uid(options: &Parsed) -> Result<Option<u32>, Stop> {
    let parse =
        |text: &str| text.parse().map_err(|_| Stop::Usage(format!("'{text}' is no number of a user")));
    options.value("u").map(parse).transpose()
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    options.none()?;
    let users: Vec<User> = client.get(routes::USERS)?;
    if options.has("j") {
        return table::json(io, &users);
    }
    let is_exact = options.has("p");
    let word = |is: bool| if is { "yes" } else { "no" }.to_owned();
    let row = |user: &User| {
        [
            user.name.clone(),
            user.role.word().to_owned(),
            user.uid.to_string(),
            word(user.has_totp),
            word(user.disabled),
            table::time(u64::try_from(user.created).ok(), is_exact),
            table::time(user.last_login.and_then(|at| u64::try_from(at).ok()), is_exact),
            word(user.has_keys),
        ]
    };
    const HEAD: [&str; 8] = ["NAME", "ROLE", "UID", "TOTP", "DISABLED", "CREATED", "LAST LOGIN", "KEYS"];
    table::print(io, HEAD, users.iter().map(row).collect(), options.has("H"))
}

fn add(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("role", "r"), ("uid", "u"), ("password-stdin", "password-stdin")];
    let options = getopt::parse_as(args, "r:u:", &long)?;
    let name = one_name(&options)?.to_owned();
    let role = options.value("r").map(roles::parse).transpose()?.unwrap_or_default();
    let uid = uid(&options)?;
    let password = Secret(ask::new_password(io, options.has("password-stdin"))?);
    let user: User = client.post(routes::USERS, &UserAdd { name, password, role, uid })?;
    Ok(writeln!(io.out, "{}\t{}\t{}", user.name, user.role.word(), user.uid)?)
}

fn change(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let flags = ["password", "password-stdin", "keep-tokens", "disable", "enable", "drop-totp", "drop-keys"];
    let long: Vec<(&str, &str)> =
        [("role", "r"), ("uid", "u")].into_iter().chain(flags.map(|flag| (flag, flag))).collect();
    let options = getopt::parse_as(args, "r:u:", &long)?;
    let name = one_name(&options)?;
    let disabled = match (options.has("disable"), options.has("enable")) {
        (true, true) => return Err(Stop::Usage("--disable and --enable contradict each other".into())),
        (true, false) => Some(true),
        (false, true) => Some(false),
        (false, false) => None,
    };
    let role = options.value("r").map(roles::parse).transpose()?;
    let (drop_totp, drop_keys) = (options.has("drop-totp"), options.has("drop-keys"));
    let is_piped = options.has("password-stdin");
    let wants_password = is_piped || options.has("password");
    let uid = uid(&options)?;
    if !wants_password && !drop_totp && !drop_keys && (role, disabled, uid) == (None, None, None) {
        return Err(Stop::Usage("nothing is to be changed".into()));
    }
    let (client, old_password) = manager(client, name, io)?;
    let password = match wants_password {
        true => Some(Secret(ask::new_password(io, is_piped)?)),
        false => None,
    };
    let keep_tokens = options.has("keep-tokens");
    let change =
        UserChange { role, password, old_password, disabled, uid, drop_totp, drop_keys, keep_tokens };
    client.post::<User>(&routes::at(routes::USER_CHANGE, name), &change)?;
    Ok(())
}

/// Who may change that account: an administrator; else its user, in a session, for a token alone
/// does not do. Of the own account the password is asked for in either case.
fn manager(client: &Client, name: &str, io: &mut Io<'_>) -> Result<(Client, Option<Secret>), Stop> {
    let me: Me = client.get(routes::ME)?;
    let is_own = me.name.as_deref() == Some(name);
    if !is_own {
        return Ok((client.clone(), None));
    }
    let password = ask::secret(io, &format!("Password of {name}: "))?;
    if me.role == Some(Role::Administrator) && me.dataset.is_none() {
        return Ok((client.clone(), Some(Secret(password))));
    }
    let (_, session) = log_in(client, name, &password, io)?;
    Ok((session, Some(Secret(password))))
}

fn totp(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "", &[])?;
    let name = one_name(&options)?;
    let (client, password) = manager(client, name, io)?;
    let mut begin = TotpBegin { password: password.unwrap_or_default(), ..TotpBegin::default() };
    let path = routes::at(routes::USER_TOTP, name);
    let offer: TotpOffer = match client.post(&path, &begin) {
        Err(CallError::Refused(problem)) if problem.kind == kind::SECOND_FACTOR_NEEDED => {
            begin.second = Some(Secret(ask::secret(io, code_wanted(&problem))?));
            client.post(&path, &begin)?
        }
        offer => offer?,
    };
    if std::io::stdout().is_terminal() {
        write!(io.out, "{}", picture(&offer.url.0)?)?;
    }
    writeln!(io.out, "{}\nsecret {}", offer.url.0, offer.secret.0)?;
    io.out.flush()?;
    let code = Secret(ask::secret(io, "Code that the authenticator shows now: ")?);
    let path = routes::at(routes::USER_TOTP_CONFIRM, name);
    let recovery: RecoveryCodes = client.post(&path, &TotpConfirm { code })?;
    writeln!(
        io.out,
        "Codes for when the authenticator is lost; each counts once, and they are not shown again:"
    )?;
    Ok(recovery.codes.iter().try_for_each(|Secret(code)| writeln!(io.out, "  {code}"))?)
}

fn keys(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    match options.operands.as_slice() {
        [] => Err(Stop::Usage("missing name of a user".into())),
        [name] => list_keys(name, &options, client, io),
        [name, word, id] if word == "remove" => {
            let id = id.parse().map_err(|_| Stop::Usage(format!("'{id}' is no number of a key")))?;
            let (client, password) = manager(client, name, io)?;
            let remove = KeyRemove { id, password: password.unwrap_or_default() };
            Ok(client.post::<()>(&routes::at(routes::USER_KEYS_REMOVE, name), &remove)?)
        }
        [_, word, ..] if word != "remove" => no_command(Some(word)),
        _ => Err(Stop::Usage("one number of a key is wanted".into())),
    }
}

fn list_keys(name: &str, options: &Parsed, client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let keys: Vec<SecurityKey> = client.get(&routes::at(routes::USER_KEYS, name))?;
    if options.has("j") {
        return table::json(io, &keys);
    }
    let is_exact = options.has("p");
    let row = |key: &SecurityKey| {
        [
            key.id.to_string(),
            key.name.clone(),
            key.host.clone(),
            table::time(u64::try_from(key.created).ok(), is_exact),
            table::time(key.last_used.and_then(|at| u64::try_from(at).ok()), is_exact),
        ]
    };
    const HEAD: [&str; 5] = ["ID", "NAME", "HOST", "CREATED", "LAST USED"];
    table::print(io, HEAD, keys.iter().map(row).collect(), options.has("H"))
}

/// A QR code, light on dark as most terminals are.
fn picture(url: &str) -> Result<String, Stop> {
    match QrCode::with_error_correction_level(url, EcLevel::L) {
        Ok(code) => {
            let mut renderer = code.render::<Dense1x2>();
            Ok(renderer.dark_color(Dense1x2::Light).light_color(Dense1x2::Dark).build() + "\n")
        }
        Err(error) => fail(format!("no QR code can be made of it: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_of_an_authenticator_fits_a_picture() {
        let url =
            format!("otpauth://totp/Cistern:{}?secret={}&issuer=Cistern", "a".repeat(32), "A".repeat(52));
        let picture = picture(&url).expect("it fits");
        let widths: Vec<usize> = picture.lines().map(|line| line.chars().count()).collect();
        assert!(widths.iter().all(|width| *width == widths[0] && *width < 80), "{widths:?}");
    }
}
