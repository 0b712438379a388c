//! `sim --seed N` reproduces one run of each kind; `sim --runs N` tries so many fresh seeds; both:
//! so many from that one on.

use std::fmt::Debug;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use sim::{attrition, callers, caught, copies, lapses, relation, run, units, writers};

const USAGE: &str =
    "usage: sim [--seed N] [--runs N] [--kind KIND] [--crashes N] [--operations N] [--cuts N [--case N]] [--beyond]
           [--zdb DIR] [--twice] [-v]

  --seed N        one run, or the first of them; the same seed is always the same run
  --runs N        so many runs; without a seed, of fresh ones (100)
  --kind KIND     work: files and datasets under power failures; attrition: disks that fail, leave and join;
                  lapses: a disk misses writes and catches up, then others leave;
                  copies: trees of datasets, sent and received; units: initiators at work on volumes;
                  calls: clients whose calls may come again;
                  logs: writers who wait, on log devices that fail, before imports too;
                  streams: two appliances, one sends to the other one; pulls: it is pulled from; failover: and the other
                  one takes its place;
                  all (all)
  --crashes N     work: power failures a run (10)
  --operations N  work: operations between two of them, at the most (400)
  --cuts N        attrition, copies, units, calls: moments at which it ends (100, 8, 24 in each life)
  --case N        attrition: of these only one
  --beyond        attrition: always more is lost than redundancy allows
  --zdb DIR       write the disks to files in this folder in the end, and ask zdb; in work let no disk fail
  --twice         run each seed twice and compare what came of it
  -v              tell every operation, and what the engine logs

example: cargo run --profile ci -p sim -- --seed 42 --kind attrition -v
";

struct Args {
    seed: Option<u64>,
    runs: Option<u64>,
    twice: bool,
    kinds: Vec<Kind>,
    work: run::Options,
    attrition: attrition::Options,
    lapses: lapses::Options,
    copies: copies::Options,
    units: units::Options,
    calls: callers::Options,
    logs: writers::Options,
    relation: relation::Options,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Work,
    Attrition,
    Lapses,
    Copies,
    Units,
    Calls,
    Logs,
    Streams,
    Pulls,
    Failover,
}

/// By the words that `--kind` takes.
const KINDS: [(&str, Kind); 10] = [
    ("work", Kind::Work),
    ("attrition", Kind::Attrition),
    ("lapses", Kind::Lapses),
    ("copies", Kind::Copies),
    ("units", Kind::Units),
    ("calls", Kind::Calls),
    ("logs", Kind::Logs),
    ("streams", Kind::Streams),
    ("pulls", Kind::Pulls),
    ("failover", Kind::Failover),
];

fn parse() -> Option<Args> {
    let mut args = Args {
        seed: None,
        runs: None,
        twice: false,
        kinds: KINDS.map(|(_, kind)| kind).to_vec(),
        work: run::Options::new(0),
        attrition: attrition::Options::new(0),
        lapses: lapses::Options::new(0),
        copies: copies::Options::new(0),
        units: units::Options::new(0),
        calls: callers::Options::new(0),
        logs: writers::Options::new(0),
        relation: relation::Options::new(relation::Story::Streams, 0),
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-v" => {
                (args.work.verbose, args.attrition.verbose) = (true, true);
                (args.copies.verbose, args.units.verbose) = (true, true);
                (args.lapses.verbose, args.relation.verbose) = (true, true);
            }
            "--twice" => args.twice = true,
            "--seed" => args.seed = Some(words.next()?.parse().ok()?),
            "--runs" => args.runs = Some(words.next()?.parse().ok()?),
            "--crashes" => args.work.crashes = words.next()?.parse().ok()?,
            "--operations" => args.work.operations = words.next()?.parse().ok()?,
            "--cuts" => {
                args.attrition.cuts = words.next()?.parse().ok()?;
                (args.copies.cuts, args.units.cuts) = (args.attrition.cuts, args.attrition.cuts);
                args.calls.cuts = args.attrition.cuts;
            }
            "--case" => args.attrition.only = Some(words.next()?.parse().ok()?),
            "--beyond" => args.attrition.beyond = true,
            "--kind" => {
                let word = words.next()?;
                if word != "all" {
                    let (_, kind) = KINDS.into_iter().find(|(name, _)| *name == word)?;
                    args.kinds = vec![kind];
                }
            }
            "--zdb" => {
                let dir = std::path::PathBuf::from(words.next()?);
                (args.work.zdb, args.attrition.zdb) = (Some(dir.clone()), Some(dir.clone()));
                (args.copies.zdb, args.units.zdb) = (Some(dir.clone()), Some(dir));
                args.work.faults = false;
            }
            _ => return None,
        }
    }
    Some(args)
}

/// What came of a run, to be compared with what comes of it again, and its cases.
fn once(args: &Args, kind: Kind, seed: u64) -> Result<(String, u64), String> {
    match kind {
        Kind::Work => told(run::run, run::Options { seed, ..args.work.clone() }, |told| told.crashes.into()),
        Kind::Attrition => {
            told(attrition::run, attrition::Options { seed, ..args.attrition.clone() }, |told| told.cases)
        }
        Kind::Lapses => {
            told(lapses::run, lapses::Options { seed, ..args.lapses.clone() }, |told| told.rounds)
        }
        Kind::Copies => told(copies::run, copies::Options { seed, ..args.copies.clone() }, |told| told.cuts),
        Kind::Units => told(units::run, units::Options { seed, ..args.units.clone() }, |told| told.cuts),
        Kind::Calls => {
            let options = callers::Options { seed, ..args.calls.clone() };
            told(callers::run, options, |told| told.cuts + told.deaths)
        }
        Kind::Logs => told(writers::run, writers::Options { seed, ..args.logs }, |told| told.crashes),
        Kind::Streams => related(args, relation::Story::Streams, seed),
        Kind::Pulls => related(args, relation::Story::Pulls, seed),
        Kind::Failover => related(args, relation::Story::Failover, seed),
    }
}

fn related(args: &Args, story: relation::Story, seed: u64) -> Result<(String, u64), String> {
    let options = relation::Options { story, seed, ..args.relation.clone() };
    told(relation::run, options, |told| told.cuts + told.kills)
}

fn told<O, T: Debug>(
    run: fn(&O) -> Result<T, String>,
    options: O,
    cases: fn(&T) -> u64,
) -> Result<(String, u64), String> {
    let tally = caught(|| run(&options))?;
    Ok((format!("{tally:?}"), cases(&tally)))
}

fn checked(args: &Args, kind: Kind, seed: u64) -> Result<(String, u64), String> {
    let first = once(args, kind, seed)?;
    if args.twice {
        let again = once(args, kind, seed)?;
        if again != first {
            return Err(format!("not deterministic: {}, then {}", first.0, again.0));
        }
    }
    Ok(first)
}

fn reproduce(args: &Args, kind: Kind, seed: u64) -> String {
    let how = match kind {
        Kind::Work => {
            format!("--kind work --crashes {} --operations {}", args.work.crashes, args.work.operations)
        }
        Kind::Attrition => {
            let beyond = if args.attrition.beyond { " --beyond" } else { "" };
            format!("--kind attrition --cuts {}{beyond}", args.attrition.cuts)
        }
        Kind::Lapses => "--kind lapses".to_owned(),
        Kind::Copies => format!("--kind copies --cuts {}", args.copies.cuts),
        Kind::Units => format!("--kind units --cuts {}", args.units.cuts),
        Kind::Calls => format!("--kind calls --cuts {}", args.calls.cuts),
        Kind::Logs => "--kind logs".to_owned(),
        Kind::Streams => "--kind streams".to_owned(),
        Kind::Pulls => "--kind pulls".to_owned(),
        Kind::Failover => "--kind failover".to_owned(),
    };
    format!("cargo run --profile ci -p sim -- --seed {seed} {how}")
}

fn main() -> ExitCode {
    let Some(args) = parse() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    if args.work.verbose {
        // What the engine has to say belongs between the operations.
        tracing_subscriber::fmt().without_time().with_writer(std::io::stdout).init();
    }
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64);
    let (first, runs) = match args.seed {
        Some(seed) => (seed, args.runs.unwrap_or(1)),
        None => (fresh(), args.runs.unwrap_or(100)),
    };
    let mut cases = 0;
    for seed in (0..runs).map(|n| first.wrapping_add(n)) {
        for &kind in &args.kinds {
            match checked(&args, kind, seed) {
                Ok((told, more)) => {
                    cases += more;
                    if runs == 1 {
                        println!("seed {seed}: {told}");
                    }
                }
                Err(why) => {
                    println!("seed {seed} failed, after {cases} good cases: {why}");
                    println!("reproduce: {}", reproduce(&args, kind, seed));
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    println!(
        "{runs} runs, {cases} power failures and harms to disks: nothing lost, nothing leaked, nothing wrong"
    );
    ExitCode::SUCCESS
}
