//! `cistern bench io-analyzer`: what hypervisors do to logical units, by name, done to any iSCSI
//! target.

use std::time::Duration;

use load::{Crowd, Fail, Initiator, Outcome, PROFILES, Profile, Unit};

use super::report::micros;

const USAGE: &str = "\
usage: cistern bench io-analyzer [options] iscsi://HOST[:PORT]/TARGET/LUN [URL of another unit of the target …]

Logs in to the target, runs profiles one after the other, and prints operations and megabytes a second and how long
operations took. Operations go to all units in turn.

  --profile NAME    only this profile; may be repeated            (default: all, or all that only read)
  --dataloss        also those that write: what is on the units is lost
  --size SIZE       of each unit only so much, in MiB             (default: 512, or all of the unit)
  --connections N   sessions that share the operations in flight  (default: 1)
  --seconds N       how long each profile runs                    (default: 4)
  --json            one JSON object a line instead of the table

profiles:
";

struct Options {
    units: Vec<Unit>,
    profiles: Vec<&'static Profile>,
    size: u64,
    connections: usize,
    span: Duration,
    dataloss: bool,
    json: bool,
}

fn usage() -> String {
    let line = |profile: &Profile| format!("  {:<21} {}\n", profile.name, profile.about);
    USAGE.to_owned() + &PROFILES.iter().map(line).collect::<String>()
}

/// Its exit status.
pub fn run(args: &[String]) -> i32 {
    let options = match parse(args) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{}", usage());
            return 0;
        }
        Err(why) => {
            eprintln!("cistern bench: {why}\n{}", usage());
            return 2;
        }
    };
    match measure(&options) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("cistern bench: {error}");
            1
        }
    }
}

/// `None`: help is wanted.
fn parse(args: &[String]) -> Result<Option<Options>, String> {
    let mut options = Options {
        units: Vec::new(),
        profiles: Vec::new(),
        size: 512 << 20,
        connections: 1,
        span: Duration::from_secs(4),
        dataloss: false,
        json: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        let number = |text: &String| {
            let number = text.parse::<u64>().ok().filter(|n| (1..=1 << 20).contains(n));
            number.ok_or(format!("{arg} wants a number"))
        };
        match arg.as_str() {
            "--profile" => {
                let name = value()?;
                let found = PROFILES.iter().find(|profile| profile.name == name);
                options.profiles.push(found.ok_or(format!("there is no profile '{name}'"))?);
            }
            "--size" => options.size = number(value()?)? << 20,
            "--connections" => options.connections = number(value()?)? as usize,
            "--seconds" => options.span = Duration::from_secs(number(value()?)?),
            "--dataloss" => options.dataloss = true,
            "--json" => options.json = true,
            "--help" | "-h" => return Ok(None),
            url if url.starts_with("iscsi://") => {
                options.units.push(Unit::parse(url).map_err(|error| error.to_string())?);
            }
            _ => return Err(format!("unrecognized option '{arg}'")),
        }
    }
    if options.units.is_empty() {
        return Err("a unit is wanted: iscsi://HOST[:PORT]/TARGET/LUN".to_owned());
    }
    if options.units.iter().any(|unit| unit.target != options.units[0].target) {
        return Err("all units belong to one target".to_owned());
    }
    if let Some(writes) = options.profiles.iter().find(|profile| profile.writes() && !options.dataloss) {
        return Err(format!("'{}' writes: say --dataloss if nothing on the units is needed", writes.name));
    }
    if options.profiles.is_empty() {
        let harmless = |profile: &&Profile| options.dataloss || !profile.writes();
        options.profiles = PROFILES.iter().filter(harmless).collect();
    }
    Ok(Some(options))
}

fn measure(options: &Options) -> Result<(), Fail> {
    let mut size = options.size;
    for unit in &options.units {
        size = size.min(Initiator::log_in(unit)?.size(unit)?);
    }
    if !options.json {
        println!(
            "{:<21} {:>10} {:>9} {:>9} {:>9} {:>9}",
            "profile", "IOPS", "MB/s", "p50 µs", "p99 µs", "p99.9 µs"
        );
    }
    for profile in &options.profiles {
        if options.dataloss {
            options.units.iter().try_for_each(|unit| profile.fill(unit, size))?;
        }
        let crowd = Crowd::new(profile.depth, options.span).over(options.connections);
        let outcome = profile.run(&options.units, size, &crowd)?;
        println!("{}", if options.json { json(profile, &outcome) } else { line(profile, &outcome) });
    }
    Ok(())
}

fn line(profile: &Profile, outcome: &Outcome) -> String {
    let [p50, p99, p999] = [500, 990, 999].map(|per_mille| micros(outcome.latency(per_mille)));
    let (rate, megabytes) = (outcome.rate(), outcome.throughput() / 1e6);
    format!("{:<21} {rate:>10.0} {megabytes:>9.1} {p50:>9.0} {p99:>9.0} {p999:>9.0}", profile.name)
}

fn json(profile: &Profile, outcome: &Outcome) -> String {
    let [p50, p99, p999] = [500, 990, 999].map(|per_mille| micros(outcome.latency(per_mille)));
    format!(
        "{{\"profile\":\"{}\",\"iops\":{:.1},\"megabytes\":{:.2},\"p50_us\":{p50:.1},\"p99_us\":{p99:.1},\
         \"p999_us\":{p999:.1}}}",
        profile.name,
        outcome.rate(),
        outcome.throughput() / 1e6
    )
}
