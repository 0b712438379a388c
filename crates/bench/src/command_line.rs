//! The command line.

use std::path::PathBuf;
use std::time::Duration;

use crate::options::Options;
use crate::parts;

pub const HELP: &str = "\
usage: bench [options]         measure (scripts/bench builds everything and makes the namespaces)
       bench docs [--dir DIR]  put the last results into docs/performance.md again

  --dir DIR        on the disk to be measured, with 20 GiB free     (default: var-bench)
  --part A,B       only these: nfs, sync, files, local, trees, cold, memory, api, services,
                   replication, iscsi, looks, engine, scrub, datasets, kernels
  --only TEXT      only rows with this in their name (of datasets, only steps)
  --rounds N       repeat each measurement and take the median      (default: 3)
  --seconds S      how long each lasts at the most, some four times  (default: 1.2)
  --before FILE    measure this other build of cistern beside the new one, in the place of the peers,
                   in nfs, sync, files, local, trees and iscsi: has a change made anything slower?
                   Half of the rounds are run with each other's images; two rounds at the least
  --docs           afterwards rewrite tables and charts of docs/performance.md

examples:
  make bench                              all of it, 30 minutes
  make bench PART=sync ROUNDS=5           synchronous writes over NFS
  make bench PART=local ONLY='4 KiB'
  make bench DOCS=1                       and rewrite docs/performance.md
  make bench BEFORE=/tmp/before/cistern   beside the program of before a change
";

/// What a command line comes to.
#[derive(Debug, PartialEq)]
pub enum Parsed {
    Run(Options),
    /// Results of that folder into the documents.
    Docs(PathBuf),
    /// What `engine_alone` starts: work and image file.
    Engine(String, PathBuf),
    Help,
    Wrong(String),
}

pub fn parse(args: &[String]) -> Parsed {
    if let [word, work, image] = args
        && word == "engine"
    {
        return Parsed::Engine(work.clone(), image.into());
    }
    let is_docs_only = args.first().is_some_and(|word| word == "docs");
    match options(&args[usize::from(is_docs_only)..]) {
        Ok(None) => Parsed::Help,
        Ok(Some(options)) if is_docs_only => Parsed::Docs(options.dir),
        Ok(Some(options)) => Parsed::Run(options),
        Err(why) => Parsed::Wrong(why),
    }
}

/// `None`: help is wanted.
fn options(args: &[String]) -> Result<Option<Options>, String> {
    let mut options = Options {
        dir: "var-bench".into(),
        parts: Vec::new(),
        only: String::new(),
        rounds: 3,
        span: Duration::from_millis(1200),
        is_docs: false,
        before: None,
        is_swapped: false,
    };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or(format!("{arg} wants a value"));
        match arg.as_str() {
            "--dir" => options.dir = value()?.into(),
            "--part" => options.parts = wanted(value()?)?,
            "--only" => options.only = value()?.clone(),
            "--rounds" => {
                options.rounds = value()?.parse().ok().filter(|n| *n > 0).ok_or("--rounds wants a number")?;
            }
            "--seconds" => {
                let seconds = value()?.parse().ok().filter(|s| (0.05..=600.0).contains(s));
                options.span = Duration::from_secs_f64(seconds.ok_or("--seconds wants a number")?);
            }
            "--before" => options.before = Some(value()?.into()),
            "--docs" => options.is_docs = true,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unrecognized option '{arg}'")),
        }
    }
    if options.is_docs && !options.only.is_empty() {
        return Err("--docs wants whole parts, without --only".to_owned());
    }
    if options.before.is_some() && options.is_docs {
        return Err("--docs wants peers, not --before".to_owned());
    }
    let known = if options.before.is_some() { parts::of_builds() } else { parts::all() };
    if options.parts.is_empty() {
        options.parts = known;
    } else if let Some(other) = options.parts.iter().find(|part| !known.contains(part)) {
        return Err(format!("{other} measures no other build: {}", known.join(", ")));
    }
    Ok(Some(options))
}

fn wanted(list: &str) -> Result<Vec<String>, String> {
    let known = parts::all();
    let wanted: Vec<&str> = list.split(',').map(str::trim).collect();
    if let Some(other) = wanted.iter().find(|part| !known.iter().any(|name| name == *part)) {
        return Err(format!("there is no part '{other}': {}", known.join(", ")));
    }
    Ok(known.into_iter().filter(|name| wanted.contains(&name.as_str())).collect())
}
