//! `make bench`: Cistern beside its peers on this machine, on the same disk, by the same client, in
//! one run.
//!
//! `suite` says what is measured, `contenders` starts who is measured, `measure` runs the rounds in
//! turn and takes medians, `results` keeps them, `report` and `chart` print them and put them into
//! docs/performance.md.
//!
//! Servers, mounts and ports belong to namespaces that `scripts/bench` makes (as root), and end
//! with them.

mod chart;
mod cold;
mod contenders;
mod datasets;
mod engine_alone;
mod fuse_peers;
mod iscsi;
mod kernels;
mod lab;
mod machine;
mod measure;
mod memory;
mod openzfs;
mod options;
mod ours;
mod peers;
mod pool_file;
mod report;
mod results;
mod scans;
mod suite;
mod trees;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use load::Fail;
use options::{Options, Parsed};
use results::{COMPARED, MEASURED, Results};

/// As the daemon has it: the engine is measured in this process too.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let done = match options::parse(&args) {
        Parsed::Run(options) => run(&options),
        Parsed::Docs(dir) => write_docs(&dir),
        Parsed::Engine(work, image) => engine_alone::in_this_process(&work, &image),
        Parsed::Help => {
            print!("{}", options::HELP);
            Ok(())
        }
        Parsed::Wrong(why) => {
            eprintln!("bench: {why}\n{}", options::HELP);
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
    let failed = parts(options, &about);
    contenders::clear(&dir)?;
    if options.is_docs {
        write_docs(&dir)?;
    }
    if failed.is_empty() { Ok(()) } else { Err(failed.join("; ").into()) }
}

/// Each part with what it needs, one after the other; its tables are printed when it is done. Says
/// which failed, and why.
fn parts(options: &Options, about: &str) -> Vec<String> {
    let mut failed = Vec::new();
    let mut finish = |part: &str, measured: Result<Results, Fail>| {
        let kept = measured.and_then(|mut results| {
            if options.before.is_some() {
                let mean =
                    results.mean_ratio().map(|mean| format!("Geometric mean of the ratios: {mean:.3}"));
                results.notes.extend(mean);
                results.save(&options.dir, COMPARED)?;
            } else {
                results.save(&options.dir, MEASURED)?;
            }
            print!("{}", report::part(&results));
            Ok(())
        });
        failed.extend(kept.err().map(|error| format!("{part}: {error}")));
    };
    let (over_nfs, locally) = suite::split(&options.parts);
    let wants = |part: &str| options.parts.iter().any(|wanted| wanted == part);
    let (needs_memory, needs_trees) = (wants(memory::PART), wants(trees::PART));
    if !over_nfs.is_empty() || !locally.is_empty() || needs_memory || needs_trees {
        match contenders::start(options, !over_nfs.is_empty(), !locally.is_empty() || needs_trees) {
            Ok(mut all) => {
                for part in over_nfs {
                    finish(part.name, measure::part(part, &all.nfs, &all, options, about));
                }
                for part in locally {
                    finish(part.name, measure::part(part, &all.local, &all, options, about));
                }
                if needs_trees {
                    finish(trees::PART, trees::measure(&all, options, about));
                }
                if needs_memory {
                    finish(memory::PART, memory::measure(&mut all.ours, &options.dir, about));
                }
            }
            Err(error) => finish("the servers", Err(error)),
        }
    }
    if wants(cold::PART) {
        finish(cold::PART, cold::measure(options, about));
    }
    if wants(iscsi::PART) {
        finish(iscsi::PART, iscsi::measure(options, about));
    }
    if wants(engine_alone::PART) {
        finish(engine_alone::PART, engine_alone::measure(options, about));
    }
    if wants(scans::PART) {
        finish(scans::PART, scans::measure(about));
    }
    if wants(datasets::PART) {
        finish(datasets::PART, datasets::measure(options, about));
    }
    if wants(kernels::PART) {
        finish(kernels::PART, kernels::measure(options, about));
    }
    failed
}

/// Puts the last results into docs/performance.md, with their charts beside it.
fn write_docs(dir: &Path) -> Result<(), Fail> {
    let page = Path::new("docs/performance.md");
    let mut text = fs::read_to_string(page)?;
    for results in results::load_all(dir)? {
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
