//! `cistern bench`: measures the whole of it on modelled devices, in this process, without
//! privileges or other programs.
//!
//! `classic` builds the set-ups that storage administrators write about, one after the other: pools
//! on a spinning disk, with and without a log device, each with the intent log on and off. Devices
//! are memory that takes the time the real ones would ([`env::DeviceModel`]); everything above them
//! is what serves in production, down to NFS over loopback. What is measured is printed beside what
//! has been published of such set-ups. `io-analyzer` measures any iSCSI target.

mod advise;
mod io_analyzer;
mod loads;
pub mod rehearse;
mod report;
mod rig;

use std::time::Duration;

use load::{Fail, Outcome, Share};
use report::{Cell, Row};
use rig::{Rig, SET_UPS, SetUp};

const HELP: &str = "\
usage: cistern bench classic|advise [options]
       cistern bench io-analyzer …

classic: measures classic set-ups of one appliance on modelled devices, and prints the figures beside published ones.
advise: asks the advisor what a device would change, adds it, and prints the prediction beside what is measured.
io-analyzer: does to any iSCSI target what hypervisors do (cistern bench io-analyzer --help).
(rehearse: what the advisor starts to see what a load would take on a pool in memory.)

  --json            one JSON object a line instead of the table
  --seconds N       how long each load runs                       (default: 4; advise: 8)
  --only TEXT       only set-ups whose name has this in it
  --writers N       concurrent writers of small files             (default: 400)
";

/// How to measure.
struct Options {
    json: bool,
    span: Duration,
    only: String,
    writers: usize,
    is_advise: bool,
}

/// Exit status of `cistern bench`.
pub fn run(args: &[String]) -> i32 {
    if let Some((first, scene)) = args.split_first()
        && first == "rehearse"
    {
        return rehearse::run(scene);
    }
    if let Some((first, rest)) = args.split_first()
        && first == "io-analyzer"
    {
        return io_analyzer::run(rest);
    }
    let options = match parse(args) {
        Ok(Some(options)) => options,
        Ok(None) => {
            print!("{HELP}");
            return 0;
        }
        Err(why) => {
            eprintln!("cistern bench: {why}\n{HELP}");
            return 2;
        }
    };
    let done = match options.is_advise {
        true => advise_cases(options),
        false => classic(&options),
    };
    match done {
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
        json: false,
        span: Duration::from_secs(4),
        only: String::new(),
        writers: 400,
        is_advise: false,
    };
    let mut args = args.iter();
    match args.next().map(String::as_str) {
        Some("classic") => {}
        Some("advise") => {
            options.is_advise = true;
            options.span = Duration::from_secs(8);
        }
        None | Some("help" | "--help" | "-h") => return Ok(None),
        Some(other) => return Err(format!("there is no benchmark '{other}'")),
    }
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        let mut number = || {
            let text = value()?;
            text.parse::<u64>()
                .ok()
                .filter(|n| (1..=10_000).contains(n))
                .ok_or(format!("{arg} wants a number"))
        };
        match arg.as_str() {
            "--json" => options.json = true,
            "--seconds" => options.span = Duration::from_secs(number()?),
            "--writers" => options.writers = number()? as usize,
            "--only" => options.only = value()?.clone(),
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unrecognized option '{arg}'")),
        }
    }
    Ok(Some(options))
}

fn advise_cases(options: Options) -> Result<(), Fail> {
    let Options { json, span, only, writers, .. } = options;
    let stage = rehearse::Children::of_this_program();
    advise::run(&advise::Options { json, span, only, writers, stage })
}

fn classic(options: &Options) -> Result<(), Fail> {
    let chosen: Vec<&SetUp> = SET_UPS.iter().filter(|set_up| set_up.name.contains(&options.only)).collect();
    if chosen.is_empty() {
        return Err(format!("no set-up has '{}' in its name", options.only).into());
    }
    if !options.json {
        print!("{}", report::heading(options.writers));
    }
    for set_up in chosen {
        let rig = Rig::build(set_up)?;
        for sync in ["standard", "disabled"] {
            let row = measure(&rig, set_up, sync, options)?;
            print!("{}", if options.json { row.json() } else { row.line() });
        }
        rig.take_down()?;
    }
    if !options.json {
        print!("{}", report::legend());
    }
    Ok(())
}

/// All loads on one set-up, each beginning on a disk at rest.
fn measure(rig: &Rig, set_up: &SetUp, sync: &'static str, options: &Options) -> Result<Row, Fail> {
    let cell = |load: &dyn Fn(&Share) -> Result<Outcome, Fail>| -> Result<Cell, Fail> {
        let share = rig.share(sync)?;
        let before = rig.usage();
        let outcome = load(&share)?;
        Ok(Cell { outcome, usage: rig.usage().since(&before) })
    };
    let single = cell(&|share| loads::synchronous_writes(share, options.span))?;
    let files = cell(&|share| loads::small_files(share, options.writers, options.span))?;
    let copy = cell(&|share| loads::copy(share, options.span, &|| rig.settle()))?;
    Ok(Row { set_up: set_up.name, sync, single, files, copy })
}

#[cfg(test)]
mod tests;
