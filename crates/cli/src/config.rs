//! `cistern export-config`, `diff` and `apply`: what an appliance is set to, as a file.
//!
//! Invariants: before anything is changed, all that stands in the way was told, the steps were
//! shown and somebody agreed. Something is taken away only where that was asked for, and no dataset
//! then. No secret is shown. Secrets are written only where that was asked for, into a file that
//! its owner alone can read.

mod carry;
mod file;
mod gather;
mod plan;
mod state;

use std::fmt::Display;
use std::fs::{OpenOptions, remove_file, rename};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use crate::client::Client;
use crate::command::Io;
use crate::fail::Stop;
use crate::getopt::{self, Parsed};
use crate::table::plain;
use crate::{ask, files, table};
use carry::carry_out;
use gather::gather;
use plan::{Step, compare, plan};
use state::State;

pub const EXPORT: &str = "\
usage: cistern export-config [-o FILE] [--json] [--secrets]

Writes what this appliance is set to, as a file that 'cistern diff' and 'cistern apply' take: datasets with their properties,
shares, iSCSI mappings and delegations, services, routes and settings of alerts, worksheets of analytics with their alerts, accounts,
tunables. No data, no snapshots, no passwords, no secrets of routes.

  -o FILE     into this file, which is there whole or as it was     (default: standard output)
  --json      as JSON, for programs; 'diff' and 'apply' do not take that
  --secrets   with the CHAP secrets of mappings in the clear, in a file (-o) that only its owner can read

examples:
  cistern export-config
  cistern export-config -o appliance.toml
  cistern --host nas2 export-config -o nas2.toml --secrets
";
pub const DIFF: &str = "\
usage: cistern diff FILE [--json]

Tells how this appliance differs from a file of 'cistern export-config': each line is what 'cistern apply' would do, or why it
cannot. Ends with 0 if nothing differs, with 1 if something does, with 2 if that cannot be told.

  --json   for programs

examples:
  cistern diff appliance.toml
  cistern --host nas2 diff appliance.toml && echo equal
";
pub const APPLY: &str = "\
usage: cistern apply FILE [-n] [-y] [--prune]

Makes this appliance equal to a file of 'cistern export-config': shows the steps, asks, and does them. If something in the file
cannot be done, it says so and does nothing. No dataset is destroyed, and no volume made smaller. It stops at the first step that
fails; run again, it goes on from there.

  -n, --dry-run   show the steps, and do nothing
  -y, --yes       do not ask
  --prune         also take away what the file does not have: accounts, delegations, properties that are set, tunables,
                  services, routes, worksheets

examples:
  cistern apply -n appliance.toml
  cistern apply -y appliance.toml
";

fn wants_help(args: &[String]) -> bool {
    matches!(args, [only] if matches!(only.as_str(), "help" | "--help" | "-h"))
}

pub fn export(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    if wants_help(args) {
        return Ok(write!(io.out, "{EXPORT}")?);
    }
    let options = getopt::parse(args, "jo:", &["json", "secrets"])?;
    options.none()?;
    let with_secrets = options.has("secrets");
    let path = options.value("o").map(Path::new);
    if with_secrets && path.is_none() {
        return Err(Stop::Usage("--secrets needs a file: -o FILE".into()));
    }
    let state = gather(client, with_secrets, io)?;
    let text = match options.has("j") {
        true => serde_json::to_string_pretty(&state).map_err(|error| Stop::Fail(error.to_string()))? + "\n",
        false => file::write(&state)?,
    };
    let Some(path) = path else {
        io.out.write_all(text.as_bytes())?;
        return Ok(io.out.flush()?);
    };
    write_file(path, &text, if with_secrets { 0o600 } else { 0o644 })?;
    if with_secrets {
        writeln!(io.err, "{} has secrets in the clear; only its owner can read it", path.display())?;
    }
    Ok(())
}

/// In one step, so that nobody finds half of it. A link stays one: the file that it leads to is
/// replaced.
fn write_file(path: &Path, text: &str, mode: u32) -> Result<(), Stop> {
    let written = || {
        let path = match path.canonicalize() {
            Err(error) if error.kind() == ErrorKind::NotFound => path.to_owned(),
            found => found?,
        };
        if path.exists() && !path.is_file() {
            return Err(io::Error::new(ErrorKind::InvalidInput, "this is no regular file"));
        }
        let mut new = path.clone().into_os_string();
        new.push(format!(".new-{}", std::process::id()));
        let put = || {
            let mut file = OpenOptions::new().create_new(true).write(true).mode(mode).open(&new)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            rename(&new, &path)
        };
        // What is left of it helps nobody, whether it can be removed or not.
        put().inspect_err(|_| drop(remove_file(&new)))
    };
    written()
        .map_err(|error| Stop::Fail(format!("cannot write {}: {}", path.display(), files::words(&error))))
}

/// The appliance and the file. Secrets are asked for only where the file has a mapping with one.
fn both(path: &str, client: &Client, io: &mut Io<'_>) -> Result<(State, State), Stop> {
    let path = Path::new(path);
    let wanted = file::read(path)?;
    let properties = || wanted.dataset.values().flat_map(|dataset| &dataset.properties);
    let mut routes = wanted.route.iter().flatten();
    if properties().any(|(name, value)| state::tells_secret(name, value))
        || routes.any(|(_, route)| route.tells_secret())
    {
        let about = std::fs::metadata(path);
        if about.is_ok_and(|about| about.permissions().mode() & 0o077 != 0) {
            writeln!(io.err, "{} has secrets, and others can read it: chmod 600", path.display())?;
        }
    }
    let with_secrets = properties().any(|(name, value)| state::has_secret(name, value));
    let current = gather(client, with_secrets, io)?;
    let is_there = |name: &String| current.route.as_ref().is_some_and(|there| there.contains_key(name));
    for (name, _) in wanted.route.iter().flatten().filter(|(name, it)| it.tells_secret() && is_there(name)) {
        let name = plain(name);
        writeln!(
            io.err,
            "route {name}: keeps its secret, and a URL of the same host: 'cistern notify set' sets them"
        )?;
    }
    Ok((current, wanted))
}

/// Gives whether both are equal.
pub fn diff(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<bool, Stop> {
    if wants_help(args) {
        write!(io.out, "{DIFF}")?;
        return Ok(true);
    }
    let options = getopt::parse(args, "j", &["json"])?;
    let (current, wanted) = both(one_file(&options)?, client, io)?;
    let found = compare(&current, &wanted);
    let is_equal = found.is_equal();
    if options.has("j") {
        table::json(io, &found.public())?;
    } else {
        tell(&found.obstacles, io)?;
        tell(&found.steps, io)?;
        tell(&found.untouched, io)?;
    }
    io.out.flush()?;
    Ok(is_equal)
}

fn tell<T: Display>(lines: &[T], io: &mut Io<'_>) -> Result<(), Stop> {
    Ok(lines.iter().try_for_each(|line| writeln!(io.out, "{line}"))?)
}

fn one_file(options: &Parsed) -> Result<&str, Stop> {
    match options.operands.as_slice() {
        [path] => Ok(path),
        _ => Err(Stop::Usage("one file is wanted".into())),
    }
}

pub fn apply(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    if wants_help(args) {
        return Ok(write!(io.out, "{APPLY}")?);
    }
    let options = getopt::parse_as(args, "ny", &[("dry-run", "n"), ("yes", "y"), ("prune", "prune")])?;
    let path = one_file(&options)?;
    let (current, wanted) = both(path, client, io)?;
    let (steps, untouched) = match plan(&current, &wanted) {
        Ok(planned) => planned,
        Err(obstacles) => {
            writeln!(io.err, "cannot apply {path}; nothing was changed:")?;
            obstacles.iter().try_for_each(|obstacle| writeln!(io.err, "  {obstacle}"))?;
            return Err(Stop::Exit(1));
        }
    };
    let prunes = options.has("prune");
    let (todo, kept): (Vec<Step>, Vec<Step>) =
        steps.into_iter().partition(|step| prunes || !step.takes_away());
    for (number, step) in (1..).zip(&todo) {
        let mark = if step.takes_away() { " (--prune)" } else { "" };
        writeln!(io.out, "{number:>4}  {step}{mark}")?;
    }
    untouched.iter().try_for_each(|untouched| writeln!(io.out, "   -  {untouched}"))?;
    kept.iter().try_for_each(|step| writeln!(io.out, "   -  only with --prune: {step}"))?;
    if todo.is_empty() {
        return Ok(writeln!(io.out, "nothing is to be changed")?);
    }
    if options.has("n") {
        return Ok(());
    }
    if !options.has("y") {
        ask::agree(io, &format!("Do these {} steps?", todo.len()))?;
    }
    carry_all(&todo, client, io)
}

fn carry_all(todo: &[Step], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    io.out.flush()?;
    let mut has_warnings = false;
    for (done, step) in todo.iter().enumerate() {
        match carry_out(step, client) {
            Ok(warnings) => {
                has_warnings |= !warnings.is_empty();
                warnings.sentences.iter().try_for_each(|text| writeln!(io.err, "{}", plain(text)))?;
            }
            Err(Stop::Fail(why)) => {
                let (number, all) = (done + 1, todo.len());
                writeln!(io.err, "step {number} of {all} failed: {step}\n  {}", plain(&why))?;
                writeln!(io.err, "{done} done, {} not done; run it again to go on", all - done)?;
                return Err(Stop::Exit(1));
            }
            Err(other) => return Err(other),
        }
    }
    writeln!(io.out, "{} done", todo.len())?;
    if has_warnings { Err(Stop::Exit(1)) } else { Ok(()) }
}
