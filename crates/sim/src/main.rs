//! `sim --seed N` reproduces one run; `sim --runs N` tries so many fresh seeds.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use sim::run::{Options, run_caught};

const USAGE: &str =
    "usage: sim [--seed N | --runs N] [--crashes N] [--operations N] [--zdb DIR] [--twice] [-v]

  --seed N        one run; the same seed is always the same run
  --runs N        so many runs with fresh seeds (100)
  --crashes N     power failures a run (10)
  --operations N  operations between two of them, at the most (400)
  --zdb DIR       let no disk fail, write the disks to files in this folder in the end, and ask zdb
  --twice         run each seed twice and compare the traces
  -v              tell every operation

example: cargo run --profile ci -p sim -- --seed 42 -v
";

struct Args {
    seed: Option<u64>,
    runs: u64,
    twice: bool,
    options: Options,
}

fn parse() -> Option<Args> {
    let mut args = Args { seed: None, runs: 100, twice: false, options: Options::new(0) };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-v" => args.options.verbose = true,
            "--twice" => args.twice = true,
            "--seed" => args.seed = Some(words.next()?.parse().ok()?),
            "--runs" => args.runs = words.next()?.parse().ok()?,
            "--crashes" => args.options.crashes = words.next()?.parse().ok()?,
            "--operations" => args.options.operations = words.next()?.parse().ok()?,
            "--zdb" => {
                args.options.zdb = Some(words.next()?.into());
                args.options.faults = false;
            }
            _ => return None,
        }
    }
    Some(args)
}

fn main() -> ExitCode {
    let Some(args) = parse() else {
        eprint!("{USAGE}");
        return ExitCode::from(2);
    };
    let fresh = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_micros() as u64);
    let (first, runs) = args.seed.map_or_else(|| (fresh(), args.runs), |seed| (seed, 1));
    let mut crashes = 0;
    for seed in (0..runs).map(|n| first.wrapping_add(n)) {
        let options = Options { seed, ..args.options.clone() };
        let result =
            run_caught(&options).and_then(|summary| match args.twice.then(|| run_caught(&options)) {
                Some(again) if again != Ok(summary) => {
                    Err(format!("not deterministic: {summary:?}, then {again:?}"))
                }
                _ => Ok(summary),
            });
        match result {
            Ok(summary) => {
                crashes += summary.crashes;
                if runs == 1 {
                    println!("seed {seed}: {summary:?}");
                }
            }
            Err(why) => {
                println!("seed {seed} failed: {why}");
                let (crashes, operations) = (options.crashes, options.operations);
                println!(
                    "reproduce: cargo run --profile ci -p sim -- --seed {seed} --crashes {crashes} --operations {operations}"
                );
                return ExitCode::FAILURE;
            }
        }
    }
    println!("{runs} runs, {crashes} power failures: nothing lost, nothing leaked");
    ExitCode::SUCCESS
}
