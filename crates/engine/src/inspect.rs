//! `cistern inspect`: what is on devices and in pools, without the daemon, and whether it is whole.
//!
//! Everything is opened read-only, of pools that are exported, in use, or made by OpenZFS. What
//! cannot be read is said and passed by: the way from the labels to the last block is shown as far
//! as it goes. A pool that needs features this program has not is still shown by its labels, with
//! the reason why there is no more.
//!
//! The output follows `zdb` where a line has a counterpart there.

mod blocks;
mod bonus;
mod catalog;
mod content;
mod history;
mod human;
mod json;
mod labels;
mod metaslabs;
mod objects;
mod open;
mod options;
mod overview;
mod text;
mod verify;

use std::io::{self, Write};

use dmu::DmuError;
use env::Env;

use open::{Opened, look_for, open};
use options::{Command, Options};

/// What came of showing something: the inner error is the pool's, the outer the terminal's.
type Shown = io::Result<Result<(), DmuError>>;

/// All is well.
const CLEAN: i32 = 0;
/// Something is damaged, missing or cannot be read.
const PROBLEMS: i32 = 1;
/// The command line makes no sense.
const USAGE: i32 = 2;

/// Runs `cistern inspect` with the arguments behind these words; the answer is the exit code.
pub fn run(env: &Env, args: &[String], out: &mut dyn Write, err: &mut dyn Write) -> i32 {
    let options = match options::parse(args) {
        Ok(Command::Help) => {
            let _ = out.write_all(options::HELP.as_bytes()).and_then(|()| out.flush());
            return CLEAN;
        }
        Ok(Command::Inspect(options)) => options,
        Err(why) => {
            let _ = writeln!(err, "cistern inspect: {why}\n\n{}", options::USAGE);
            return USAGE;
        }
    };
    let shown = inspect(env, &options, out, err).and_then(|status| out.flush().map(|()| status));
    match shown {
        Ok(status) => status,
        // Whoever reads has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => CLEAN,
        Err(error) => {
            let _ = writeln!(err, "cistern inspect: {error}");
            PROBLEMS
        }
    }
}

fn inspect(env: &Env, options: &Options, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<i32> {
    let found = look_for(env, &options.paths);
    let mut status = CLEAN;
    for (path, why) in &found.unreadable {
        writeln!(err, "cistern inspect: {path}: {why}")?;
        status = PROBLEMS;
    }
    let pools: Vec<_> = found.pools.iter().filter(|pool| options.wants(pool)).collect();
    if options.json {
        return json::inspect(env, options, &found, &pools, out).map(|code| code.max(status));
    }
    if options.labels || options.uberblocks || options.is_overview() {
        for device in &found.devices {
            labels::show(device, options, out)?;
        }
    }
    if pools.is_empty() {
        writeln!(err, "cistern inspect: no pool found")?;
        return Ok(PROBLEMS);
    }
    if !options.wants_pool() {
        return Ok(status);
    }
    for pool in pools {
        status = status.max(match open(env, pool) {
            Ok(opened) => {
                let shown = show_pool(env, options, &opened, out, err);
                opened.close();
                shown?
            }
            Err(why) => {
                overview::show_unopened(pool, options, &why, out)?;
                writeln!(err, "cistern inspect: {why}")?;
                PROBLEMS
            }
        });
    }
    Ok(status)
}

/// Each part that was asked for, of a pool that could be opened.
fn show_pool(
    env: &Env,
    options: &Options,
    opened: &Opened,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> io::Result<i32> {
    let mut status = CLEAN;
    let overview = options.is_overview();
    if overview {
        overview::show(opened, out)?;
    }
    if options.config {
        writeln!(out, "MOS Configuration:")?;
        text::nvlist(&opened.config(), 8, out)?;
    }
    let catalog = catalog::Catalog::read(opened);
    for problem in &catalog.problems {
        writeln!(err, "cistern inspect: {problem}")?;
        status = PROBLEMS;
    }
    if overview || options.datasets {
        catalog.show(out)?;
    }
    if let Some(wanted) = &options.objects {
        status = status.max(objects::show(opened, wanted, options.blocks, out, err)?);
    }
    if options.metaslabs {
        status = status.max(metaslabs::show(opened, out, err)?);
    }
    if options.history {
        status = status.max(history::show(opened, out, err)?);
    }
    if let Some(data) = options.verify {
        status = status.max(verify::show(env, opened, &catalog, data, out, err)?);
    }
    Ok(status)
}
