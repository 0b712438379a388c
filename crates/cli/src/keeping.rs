//! `cistern config`: versions of the machine's state in a pool, and restoring one of them.

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, no_command};
use crate::human::nicebytes;
use crate::table::{plain, time};
use crate::{ask, clock, getopt, table};
use api_types::{
    AccountChange, AccountState, KeepIn, Keeping, StateRestore, StateRestored, StateVersion, routes,
};

pub const USAGE: &str = "\
usage: cistern config keep [--json]
       cistern config keep POOL | off
       cistern config list [POOL] [-H] [-p] [--json]
       cistern config restore POOL [--at TIME | NUMBER] [-n] [-y]
       cistern config restore --cancel

Copies of the machine's state in a pool, so that a lost system disk costs nothing: accounts with passwords, second factors and
tokens, the audit log, the certificate of HTTPS with its key. 'keep' says which pool gets them: a version at once, after each
change, at most one a minute, and when the daemon stops; and tells where they go and how that went. The pool gets a file
system POOL/.cistern, which only administrators reach. Of the versions the newest 30 stay, and one a day for 60 days.

'restore' shows what a version would change, asks, and has the next start of the daemon put it in place; what is there then
is kept beside it. All sessions end.

  --at TIME     the newest version up to then: '2026-11-27 10:00', of this machine's time zone
  --at NUMBER   the newest up to this number
  -n            only show what it would change
  -y            do not ask
  --cancel      the next start restores nothing
  -H, -p        for programs: without a head, times and sizes in numbers
  --json        what the daemon says, as JSON

examples:
  cistern config keep tank
  cistern config list
  cistern config restore tank --at '2026-11-27 10:00'
";

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let rest = args.get(1..).unwrap_or_default();
    match args.first().map(String::as_str) {
        Some("keep") => keep(rest, client, io),
        Some("list") => list(rest, client, io),
        Some("restore") => restore(rest, client, io),
        Some("help" | "--help" | "-h") => Ok(write!(io.out, "{USAGE}")?),
        other => no_command(other),
    }
}

fn keep(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "j", &["json"])?;
    let (now, failed_now) = match options.operands.as_slice() {
        [] => (client.get::<Keeping>(routes::MACHINE_KEEPING)?, false),
        [pool] => {
            let before: Keeping = client.get(routes::MACHINE_KEEPING)?;
            let wanted = Some(pool.clone()).filter(|pool| pool != "off");
            let history = format!("cistern config keep {pool}");
            let now: Keeping = client.post(routes::MACHINE_KEEPING, &KeepIn { pool: wanted, history })?;
            if let Some(dataset) = before.dataset.filter(|dataset| now.dataset.as_ref() != Some(dataset)) {
                let dataset = plain(&dataset);
                writeln!(io.err, "what is in {dataset} stays; to destroy it: zfs destroy -r {dataset}")?;
            }
            let failed = now.failure.is_some();
            (now, failed)
        }
        _ => return Err(Stop::Usage("too many arguments".into())),
    };
    match options.has("j") {
        true => table::json(io, &now)?,
        false => show(&now, io)?,
    }
    if failed_now { Err(Stop::Exit(1)) } else { Ok(()) }
}

fn show(keeping: &Keeping, io: &mut Io<'_>) -> Result<(), Stop> {
    let at = |seconds: i64| time(u64::try_from(seconds).ok(), false);
    match (&keeping.pool, &keeping.dataset) {
        (Some(pool), Some(dataset)) => {
            writeln!(io.out, "pool      {}", plain(pool))?;
            writeln!(io.out, "dataset   {}", plain(dataset))?;
            let newest = keeping.newest.as_ref();
            let newest = newest.map(|newest| format!("{} of {}", newest.number, at(newest.time)));
            writeln!(io.out, "newest    {}", newest.unwrap_or_else(|| "-".to_owned()))?;
            writeln!(io.out, "versions  {}, {}", keeping.versions, nicebytes(keeping.bytes))?;
            let failure = keeping.failure.as_ref();
            let failure = failure.map(|failure| {
                let why = plain(&failure.problem.to_string());
                format!("since {}: {why}", at(failure.since))
            });
            writeln!(io.out, "failure   {}", failure.unwrap_or_else(|| "none".to_owned()))?;
        }
        _ => writeln!(io.out, "no pool gets copies of the machine's state (cistern config keep POOL)")?,
    }
    if let Some(staged) = &keeping.staged {
        let (pool, number, time) = (plain(&staged.pool), staged.number, at(staged.time));
        writeln!(
            io.out,
            "restore   version {number} of pool {pool}, of {time}, at the next start of the daemon"
        )?;
    }
    Ok(())
}

fn list(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let options = getopt::parse(args, "Hpj", &["json"])?;
    let path = match options.operands.as_slice() {
        [] => routes::MACHINE_VERSIONS.to_owned(),
        [pool] => format!("{}?pool={}", routes::MACHINE_VERSIONS, routes::segment(pool)),
        _ => return Err(Stop::Usage("too many arguments".into())),
    };
    let versions: Vec<StateVersion> = client.get(&path)?;
    if options.has("j") {
        return table::json(io, &versions);
    }
    let is_exact = options.has("p");
    let row = |version: &StateVersion| {
        let dash = || "-".to_owned();
        let about = version.about.as_ref();
        [
            version.number.to_string(),
            time(u64::try_from(version.time).ok(), is_exact),
            if is_exact { version.size.to_string() } else { nicebytes(version.size) },
            about.map_or_else(dash, |about| plain(&about.host)),
            about.map_or_else(dash, |about| about.users.to_string()),
            about.map_or_else(dash, |about| about.format.to_string()),
            version.fault.as_ref().map_or_else(dash, |fault| plain(&fault.to_string())),
        ]
    };
    const HEAD: [&str; 7] = ["NUMBER", "TIME", "SIZE", "HOST", "USERS", "FORMAT", "FAULT"];
    table::print(io, HEAD, versions.iter().map(row).collect(), options.has("H"))
}

fn restore(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let long = [("at", "a"), ("dry-run", "n"), ("yes", "y"), ("cancel", "cancel")];
    let options = getopt::parse_as(args, "a:ny", &long)?;
    if options.has("cancel") {
        options.none()?;
        client.post::<Keeping>(routes::MACHINE_RESTORE_CANCEL, &())?;
        return Ok(writeln!(io.out, "the next start of the daemon restores nothing")?);
    }
    let pool = options.one("missing name of a pool")?.clone();
    let mut asked = StateRestore { pool, dry_run: true, ..StateRestore::default() };
    (asked.version, asked.time) = options.value("a").map_or(Ok((None, None)), moment)?;
    let shown: StateRestored = client.post(routes::MACHINE_RESTORE, &asked)?;
    tell(&shown, io)?;
    if options.has("n") {
        return Ok(());
    }
    if !options.has("y") {
        ask::agree(io, "Restore this at the next start of the daemon?")?;
    }
    let sure = StateRestore {
        version: Some(shown.version.number),
        time: None,
        checksum: Some(shown.checksum),
        dry_run: false,
        ..asked
    };
    client.post::<StateRestored>(routes::MACHINE_RESTORE, &sure)?;
    writeln!(io.out, "The daemon has to be restarted: the next start restores this. Where systemd runs it:")?;
    writeln!(io.out, "  systemctl restart cistern")?;
    Ok(writeln!(io.out, "Until then 'cistern config restore --cancel' takes it back.")?)
}

/// A number of a version, or a time.
fn moment(text: &str) -> Result<(Option<u64>, Option<i64>), Stop> {
    if let Ok(number) = text.parse() {
        return Ok((Some(number), None));
    }
    match clock::parse(text) {
        Some(seconds) => Ok((None, Some(seconds))),
        None => Err(Stop::Usage(format!(
            "'{text}' is neither a number nor a time: write '2026-11-27 10:00' or '2026-11-27 10:00:30'"
        ))),
    }
}

fn tell(restored: &StateRestored, io: &mut Io<'_>) -> Result<(), Stop> {
    let StateVersion { number, time: at, about, .. } = &restored.version;
    let host = about.as_ref().map_or_else(|| "?".to_owned(), |about| plain(&about.host));
    let program = about.as_ref().map_or_else(|| "?".to_owned(), |about| plain(&about.program));
    let at = time(u64::try_from(*at).ok(), false);
    writeln!(io.out, "version {number}, written {at} by host {host} with cistern {program}")?;
    for account in &restored.accounts {
        writeln!(io.out, "  account {}", of_account(account))?;
    }
    if restored.accounts.is_empty() {
        writeln!(io.out, "  accounts stay as they are")?;
    }
    if (restored.tokens_come, restored.tokens_go) != (0, 0) {
        writeln!(
            io.out,
            "  tokens: {} are valid again, {} no more",
            restored.tokens_come, restored.tokens_go
        )?;
    }
    let is_other =
        restored.certificate_then.is_some() && restored.certificate_then != restored.certificate_now;
    match &restored.certificate_then {
        Some(then) if is_other => writeln!(io.out, "  certificate of HTTPS: SHA-256 {}", plain(then))?,
        _ => writeln!(io.out, "  the certificate of HTTPS stays as it is")?,
    }
    if restored.pool_now != restored.pool_then {
        let then = restored.pool_then.as_deref().unwrap_or("-");
        writeln!(io.out, "  versions go to pool {} then", plain(then))?;
    }
    Ok(writeln!(io.out, "  the audit log is that of then, and all sessions end")?)
}

fn of_account(change: &AccountChange) -> String {
    let state = |state: &AccountState| {
        let mut words = vec![state.role.word().to_owned(), format!("number {}", state.uid)];
        words.extend(state.has_totp.then(|| "with second factor".to_owned()));
        words.extend(state.disabled.then(|| "disabled".to_owned()));
        words.join(", ")
    };
    let name = plain(&change.name);
    let secrets = if change.other_secrets { "; password or second factor of then" } else { "" };
    match (&change.now, &change.then) {
        (None, Some(then)) => format!("{name} comes: {}", state(then)),
        (Some(_), None) => format!("{name} goes"),
        (Some(now), Some(then)) if now != then => {
            format!("{name}: {} instead of {}{secrets}", state(then), state(now))
        }
        _ => format!("{name}: password or second factor of then"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api_types::Role;

    #[test]
    fn a_version_is_named_by_its_number_or_a_time() {
        assert_eq!(moment("12").ok(), Some((Some(12), None)));
        for text in ["2026-11-27 10:00", "2026-11-27.10:00:00", "2026-11-27T10:00"] {
            let (number, seconds) = moment(text).unwrap_or_else(|_| panic!("{text}"));
            assert!(number.is_none() && seconds == clock::parse("2026-11-27 10:00:00"), "{text}");
        }
        for text in ["", "-1", "yesterday", "10:00", "2026-13-01", "2026-11-27 25:00", "12 "] {
            assert!(moment(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_becomes_of_an_account_is_one_line() {
        let state = |role, disabled| AccountState { role, uid: 7, disabled, has_totp: false };
        let (admin, reader) = (state(Role::Administrator, false), state(Role::ReadOnly, true));
        let line = |now, then, other_secrets| {
            of_account(&AccountChange { name: "a\nb".into(), now, then, other_secrets })
        };
        assert_eq!(line(None, Some(admin), false), "a?b comes: administrator, number 7");
        assert_eq!(line(Some(admin), None, false), "a?b goes");
        assert_eq!(line(Some(admin), Some(admin), true), "a?b: password or second factor of then");
        assert_eq!(
            line(Some(admin), Some(reader), true),
            "a?b: read-only, number 7, disabled instead of administrator, number 7; password or second factor of then"
        );
    }
}
