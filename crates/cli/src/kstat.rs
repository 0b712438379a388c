//! `cistern kstat`: counters in the text that OpenZFS's module shows below /proc/spl/kstat/zfs, for
//! programs that read it.
//!
//! Facts: module/os/linux/spl/spl-kstat.c (the first line, and a line for each name: type 4 is an
//! unsigned number).

use crate::client::Client;
use crate::command::Io;
use crate::fail::{Stop, fail};
use api_types::{Counts, PoolStatus, routes};

pub const USAGE: &str = "\
usage: cistern kstat [NAME]

Prints a file of /proc/spl/kstat/zfs as OpenZFS's module would; without a name, which there are.

examples:
  cistern kstat arcstats
  cistern kstat zil
  cistern kstat tank/zil
  cistern kstat tank/state
";
/// `KSTAT_DATA_UINT64`
const NUMBER: u32 = 4;

pub fn run(args: &[String], client: &Client, io: &mut Io<'_>) -> Result<(), Stop> {
    let pools = || -> Result<Vec<PoolStatus>, Stop> { Ok(client.get(routes::POOLS)?) };
    let log_of =
        |pool: &str| -> Result<Counts, Stop> { Ok(client.get(&routes::at(routes::POOL_LOG, pool))?) };
    let name = match args {
        [] => {
            writeln!(io.out, "arcstats\nzil")?;
            return Ok(pools()?
                .iter()
                .try_for_each(|pool| writeln!(io.out, "{0}/state\n{0}/zil", pool.name))?);
        }
        [name] if name.starts_with('-') => return Ok(write!(io.out, "{USAGE}")?),
        [name] => name.as_str(),
        _ => return Err(Stop::Usage("too many arguments".into())),
    };
    match name.split_once('/') {
        None if name == "arcstats" => show(&client.get(routes::CACHE)?, io),
        None if name == "zil" => {
            let mut sum = Counts::new();
            for pool in pools()? {
                for (name, count) in log_of(&pool.name)? {
                    *sum.entry(name).or_default() += count;
                }
            }
            show(&sum, io)
        }
        Some((pool, "zil")) => show(&log_of(pool)?, io),
        Some((name, "state")) => match pools()?.iter().find(|pool| pool.name == name) {
            Some(pool) => Ok(writeln!(io.out, "{}", pool.health.name())?),
            None => fail(format!("no such pool '{name}'")),
        },
        _ => fail(format!("no kstat '{name}'")),
    }
}

fn show(counts: &Counts, io: &mut Io<'_>) -> Result<(), Stop> {
    // Module number, type, flags, entries, their bytes, and when it was made and read: only the
    // entries mean something.
    writeln!(io.out, "0 1 0x01 {} {} 0 0", counts.len(), counts.len() * 48)?;
    writeln!(io.out, "{:<31} {:<4} data", "name", "type")?;
    for (name, value) in counts {
        writeln!(io.out, "{name:<31} {NUMBER:<4} {value}")?;
    }
    Ok(())
}
