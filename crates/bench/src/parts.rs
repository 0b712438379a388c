//! The parts that can be measured: their names, and each with what it needs.

use load::Fail;

use crate::options::Options;
use crate::results::{COMPARED, MEASURED, Results};
use crate::{
    api, cold, contenders, datasets, engine_alone, iscsi, kernels, looks, measure, memory, replication,
    report, scans, services, suite, trees,
};

/// Names of all parts, in the order in which they run.
pub fn all() -> Vec<String> {
    let served = suite::PARTS.iter().map(|part| part.name);
    let alone = [
        trees::PART,
        cold::PART,
        memory::PART,
        api::PART,
        services::PART,
        replication::PART,
        iscsi::PART,
        looks::PART,
        engine_alone::PART,
        scans::PART,
        datasets::PART,
        kernels::PART,
    ];
    served.chain(alone).map(str::to_owned).collect()
}

/// Those that measure another build beside.
pub fn of_builds() -> Vec<String> {
    suite::PARTS.iter().map(|part| part.name).chain([trees::PART, iscsi::PART]).map(str::to_owned).collect()
}

/// Each part with what it needs, one after the other; its tables are printed when it is done. Says
/// which failed, and why.
pub fn run(options: &Options, about: &str) -> Vec<String> {
    let mut failed = Vec::new();
    let mut finish = |part: &str, measured: Result<Results, Fail>, folder: &str| {
        let kept = measured.and_then(|results| {
            results.save(&options.dir, folder)?;
            print!("{}", report::part(&results));
            Ok(())
        });
        failed.extend(kept.err().map(|error| format!("{part}: {error}")));
    };
    if options.before.is_none() {
        measure_all(options, about, &mut |part, measured| finish(part, measured, MEASURED));
    } else {
        for (part, measured) in compare(options, about) {
            finish(&part, measured, COMPARED);
        }
    }
    failed
}

/// A part, and what was measured of it.
pub type Measured = (String, Result<Results, Fail>);

/// Two builds: half of the rounds each on the image that the other half gives to the other. Where a
/// file lies on a disk can count for more than the builds differ.
fn compare(options: &Options, about: &str) -> Vec<Measured> {
    let half = |is_swapped, rounds: usize| {
        let options = Options { is_swapped, rounds: rounds.max(1), ..options.clone() };
        let mut measured = Vec::new();
        match contenders::make_room(&options) {
            Ok(()) => measure_all(&options, about, &mut |part, results| {
                measured.push((part.to_owned(), results));
            }),
            Err(error) => measured.push(("the servers".to_owned(), Err(error))),
        }
        measured
    };
    let first = half(false, options.rounds.div_ceil(2));
    joined(first, half(true, options.rounds / 2))
}

/// Each part of both halves; one that a half could not measure has failed.
pub fn joined(first: Vec<Measured>, mut second: Vec<Measured>) -> Vec<Measured> {
    let missing = || -> Result<Results, Fail> { Err("only half of its rounds were run".into()) };
    let mut all = Vec::new();
    for (part, measured) in first {
        let same = second.iter().position(|(other, _)| *other == part);
        let other = same.map_or_else(missing, |at| second.remove(at).1);
        let both = measured.and_then(|first| {
            let mut results = first.mean_with(&other?);
            let mean = results.mean_ratio().map(|mean| format!("Geometric mean of the ratios: {mean:.3}"));
            results.notes.extend(mean);
            Ok(results)
        });
        all.push((part, both));
    }
    all.extend(second.into_iter().map(|(part, measured)| (part, measured.and_then(|_| missing()))));
    all
}

fn measure_all(options: &Options, about: &str, finish: &mut dyn FnMut(&str, Result<Results, Fail>)) {
    let (over_nfs, locally) = suite::split(&options.parts);
    let wants = |part: &str| options.parts.iter().any(|wanted| wanted == part);
    let needs_trees = wants(trees::PART);
    let (needs_memory, needs_api, needs_services) =
        (wants(memory::PART), wants(api::PART), wants(services::PART));
    let needs_replication = wants(replication::PART);
    let is_served = !over_nfs.is_empty() || needs_memory || needs_api || needs_services || needs_replication;
    if is_served || !locally.is_empty() || needs_trees {
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
                if needs_api {
                    finish(api::PART, api::measure(&mut all.ours, about));
                }
                if needs_services {
                    finish(services::PART, services::measure(&mut all.ours, options, about));
                }
                if needs_replication {
                    finish(replication::PART, replication::measure(&mut all.ours, options, about));
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
    if wants(looks::PART) {
        finish(looks::PART, looks::measure(options, about));
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
}
