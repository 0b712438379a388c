//! `make bench`: Cistern beside its peers on this machine, on the same disk, by the same client, in
//! one run.
//!
//! `parts` runs what is wanted, one part after the other. `suite` says what the servers and mounts
//! are measured by, `contenders` starts who is measured, `measure` runs the rounds in turn and
//! takes medians; each other part has a module of its own. `results` keeps what was measured,
//! `report` and `chart` print it and put it into docs/performance.md.
//!
//! Servers, mounts and ports belong to namespaces that `scripts/bench` makes (as root), and end
//! with them.

mod api;
mod chart;
mod cold;
mod command_line;
mod contenders;
mod datasets;
mod engine_alone;
mod fuse_peers;
mod http;
mod iscsi;
mod kernels;
mod lab;
mod looks;
mod machine;
mod measure;
mod memory;
mod openzfs;
mod options;
mod ours;
mod parts;
mod peers;
mod pool_file;
mod process;
mod replication;
mod report;
mod results;
mod scans;
mod services;
mod suite;
mod trees;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use command_line::Parsed;
use load::Fail;
use options::Options;

/// As the daemon has it: the engine is measured in this process too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match command_line::parse(&args) {
        Parsed::Run(options) => run(&options),
        Parsed::Docs(dir) => write_docs(&dir),
        Parsed::Engine(work, image) => engine_alone::in_this_process(&work, &image),
        Parsed::Help => {
            print!("{}", command_line::HELP);
            Ok(())
        }
        Parsed::Wrong(why) => {
            eprintln!("bench: {why}\n{}", command_line::HELP);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &Options) -> Result<(), Fail> {
    fs::create_dir_all(&options.dir)?;
    let dir = options.dir.canonicalize()?;
    let options = &Options { dir: dir.clone(), ..options.clone() };
    let about = machine::describe(&dir, options);
    println!("{about}\n");
    contenders::clear(&dir)?;
    let failed = parts::run(options, &about);
    contenders::clear(&dir)?;
    if options.is_docs {
        write_docs(&dir)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

/// Puts the last results into docs/performance.md, with their charts beside it.
fn write_docs(dir: &Path) -> Result<(), Fail> {
    let page = Path::new("docs/performance.md");
    let mut text = fs::read_to_string(page)?;
    for results in results::load_all(dir, &parts::all())? {
        if let Some(chart) = chart::draw(&results) {
            fs::create_dir_all("docs/charts")?;
            fs::write(format!("docs/charts/{}.svg", results.part), chart)?;
        }
        text = report::put(&text, &results)?;
    }
    fs::write(page, text)?;
    println!("docs/performance.md and docs/charts are rewritten");
    Ok(())
}

#[cfg(test)]
mod tests;
