//! `cistern bench advise`: is the advisor right? Runs a load on a disk alone, asks what a device
//! would change, adds the device, runs the same load again, and prints what was predicted beside
//! what is measured.

use std::sync::Arc;
use std::time::{Duration, Instant};

use engine::rehearsal::Stage;
use engine_api::{Advice, AdviceQuestion, Finding};
use env::DeviceModel;
use load::{Fail, Share};

use super::loads;
use super::rehearse::median;
use super::rig::{Rig, SetUp};

/// Memory of the cache where a cache device is tried, and bytes of the file that is read: memory
/// holds a third of it.
const MEMORY: usize = 64 << 20;
const FILE: u64 = 192 << 20;
/// How long a cache device may take to be filled.
const WARM_UP: Duration = Duration::from_secs(120);
/// How long to read in order: enough for all of the file from the disk alone.
const A_WHILE: Duration = Duration::from_secs(3);
/// It is full when of so many reads less than one goes to the disk; seen over so long a time, with
/// so many readers.
const HARDLY: u64 = 200;
const WARMING_SPAN: Duration = Duration::from_secs(2);
const WARMING: usize = 2;

/// How often each load runs, and the advisor is asked: on which processors the kernel has a
/// connection's threads makes a difference. The median counts.
const TURNS: u32 = 3;

/// What is done, and what would be added.
struct Case {
    name: &'static str,
    load: Load,
    device: &'static str,
    model: DeviceModel,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Load {
    /// One writer, 4 KiB at a time.
    Single,
    /// Many writers of small files.
    Many,
    /// Random reads of 16 KiB, by so many readers.
    Reads(usize),
}

impl Case {
    const fn new(name: &'static str, load: Load, device: &'static str, model: DeviceModel) -> Case {
        Case { name, load, device, model }
    }
}

const CASES: &[Case] = &[
    Case::new("1 writer, 4 KiB", Load::Single, "log SSD", DeviceModel::consumer_ssd()),
    Case::new("1 writer, 4 KiB", Load::Single, "RAM log", DeviceModel::ram_log()),
    Case::new("small files", Load::Many, "log SSD", DeviceModel::consumer_ssd()),
    Case::new("small files", Load::Many, "RAM log", DeviceModel::ram_log()),
    Case::new("1 reader, 16 KiB", Load::Reads(1), "cache SSD", DeviceModel::consumer_ssd()),
    Case::new("8 readers, 16 KiB", Load::Reads(8), "cache SSD", DeviceModel::consumer_ssd()),
];

/// How to measure.
pub struct Options {
    pub json: bool,
    pub span: Duration,
    pub only: String,
    pub writers: usize,
    /// Where the advisor rehearses.
    pub stage: Option<Arc<dyn Stage>>,
}

/// Operations a second.
struct Figures {
    before: f64,
    predicted: f64,
    measured: f64,
}

impl Figures {
    /// How far the prediction is from what came, as a share of that.
    fn error(&self) -> f64 {
        self.predicted / self.measured.max(1e-9) - 1.0
    }
}

pub fn run(options: &Options) -> Result<(), Fail> {
    let wanted = |case: &&Case| case.name.contains(&options.only) || case.device.contains(&options.only);
    let chosen: Vec<&Case> = CASES.iter().filter(wanted).collect();
    if chosen.is_empty() {
        return Err(format!("nothing has '{}' in its name", options.only).into());
    }
    if !options.json {
        println!(
            "{:<19} {:<10} {:>10} {:>12} {:>11} {:>7}",
            "load on one disk", "adding", "alone /s", "predicted /s", "measured /s", "off by"
        );
    }
    for case in chosen {
        let (figures, finding) = try_out(case, options)?;
        let Figures { before, predicted, measured } = figures;
        let percent = 100.0 * figures.error();
        if options.json {
            println!(
                "{{\"load\":\"{}\",\"device\":\"{}\",\"alone\":{before:.1},\"predicted\":{predicted:.1},\"measured\":{measured:.1},\"off_percent\":{percent:.1}{}}}",
                case.name,
                case.device,
                finding
                    .figures
                    .iter()
                    .map(|(name, value)| format!(",\"{name}\":{value:.1}"))
                    .collect::<String>()
            );
        } else {
            println!(
                "{:<19} {:<10} {before:>10.0} {predicted:>12.0} {measured:>11.0} {percent:>+6.0}%",
                case.name, case.device
            );
            println!("    \"{}\"", finding.text);
        }
    }
    Ok(())
}

/// Without the device, what is said, and with the device.
fn try_out(case: &Case, options: &Options) -> Result<(Figures, Finding), Fail> {
    let alone = SetUp::of_disks("alone", 1);
    let is_log = !matches!(case.load, Load::Reads(_));
    let with = match is_log {
        true => SetUp { name: "with", log: Some(case.model), ..alone },
        false => SetUp { name: "with", cache: Some(case.model), ..alone },
    };
    let factor_name = if is_log { "predicted_commit_factor" } else { "predicted_device_read_factor" };
    let rig = rig(&alone, case, options)?;
    let load = Prepared::new(&rig, case, options)?;
    let (mut before, mut factors, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    for turn in 0..TURNS {
        before.push(load.run(turn)?);
        let (factor, finding) = found(rig.pool()?.advise(&question(&case.model, is_log))?, factor_name)?;
        factors.push(factor);
        findings.push(finding);
    }
    rig.take_down()?;
    let rig = self::rig(&with, case, options)?;
    let load = Prepared::new(&rig, case, options)?;
    let measured = (0..TURNS).map(|turn| load.run(turn)).collect::<Result<_, Fail>>()?;
    rig.take_down()?;
    let before = median(before);
    let factor = median(factors.clone());
    let said = factors.iter().position(|&other| other == factor).unwrap_or(0);
    let figures = Figures { before, predicted: before * factor, measured: median(measured) };
    Ok((figures, findings.swap_remove(said)))
}

fn found(advice: Advice, figure: &str) -> Result<(f64, Finding), Fail> {
    let has = |finding: &Finding| finding.figures.iter().any(|(name, _)| *name == figure);
    let factor = advice.figure(figure);
    let said: Vec<&str> = advice.findings.iter().map(|finding| finding.text.as_str()).collect();
    let nothing = format!("the advisor says nothing: {}", said.join(" / "));
    let finding = advice.findings.into_iter().find(has);
    factor.zip(finding).ok_or_else(|| nothing.into())
}

/// What the operator knows of the device: its data sheet.
fn question(model: &DeviceModel, is_log: bool) -> AdviceQuestion {
    let transfer = |bytes: u64, rate: u64| bytes * 1_000_000_000 / rate.max(1);
    if is_log {
        let write = model.write_latency.0 + transfer(4096, model.link_rate);
        let flush = if model.keeps_cache { 0 } else { model.flush_latency.0 };
        return AdviceQuestion { log_latency: Some(write + flush), ..AdviceQuestion::default() };
    }
    let read = model.read_latency.0 + transfer(16 << 10, model.link_rate.min(model.media_rate));
    AdviceQuestion { cache_size: Some(4 << 30), cache_latency: Some(read), ..AdviceQuestion::default() }
}

fn rig(set_up: &SetUp, case: &Case, options: &Options) -> Result<Rig, Fail> {
    let stage = options.stage.clone();
    let engine = match case.load {
        Load::Reads(_) => engine::Options { cache: MEMORY, stage, ..engine::Options::default() },
        Load::Single | Load::Many => engine::Options { stage, ..engine::Options::default() },
    };
    Rig::with_options(set_up, engine)
}

/// A load on a set-up, with what it needs.
struct Prepared<'a> {
    rig: &'a Rig,
    case: &'a Case,
    options: &'a Options,
    /// Has the file to be read.
    file: Option<Share>,
}

impl Prepared<'_> {
    fn new<'a>(rig: &'a Rig, case: &'a Case, options: &'a Options) -> Result<Prepared<'a>, Fail> {
        let file = matches!(case.load, Load::Reads(_)).then(|| file_to_read(rig)).transpose()?;
        Ok(Prepared { rig, case, options, file })
    }

    /// Operations a second.
    fn run(&self, turn: u32) -> Result<f64, Fail> {
        let span = self.options.span / TURNS;
        let outcome = match (self.case.load, &self.file) {
            (Load::Reads(readers), Some(share)) => loads::random_reads(share, FILE, readers, span, turn)?,
            (Load::Single, _) => loads::synchronous_writes(&self.rig.share("standard")?, span)?,
            _ => loads::small_files(&self.rig.share("standard")?, self.options.writers, span)?,
        };
        Ok(outcome.rate())
    }
}

fn file_to_read(rig: &Rig) -> Result<Share, Fail> {
    let share = rig.share_with(&[("recordsize", "16K"), ("sync", "disabled")])?;
    loads::fill(&share, FILE)?;
    rig.settle()?;
    if rig.has_cache_device()? {
        warm_up(rig, &share)?;
    }
    Ok(share)
}

/// Reads until the cache device holds what memory cannot, as it would after a day: what was read in
/// order is not worth its space to it, so the rest comes by reading in disorder, until hardly
/// anything goes to the disk.
fn warm_up(rig: &Rig, share: &Share) -> Result<(), Fail> {
    let begun = Instant::now();
    loads::read_all(share, FILE, A_WHILE)?;
    let mut turn = 0;
    loop {
        turn += 1;
        let before = rig.usage().disk_reads;
        let read = loads::random_reads(share, FILE, WARMING, WARMING_SPAN, turn)?.operations;
        let missed = rig.usage().disk_reads - before;
        if missed * HARDLY < read {
            return Ok(());
        }
        if begun.elapsed() > WARM_UP {
            let limit = WARM_UP.as_secs();
            return Err(format!("after {limit} s {missed} of {read} reads still go to the disk").into());
        }
    }
}

#[cfg(test)]
mod tests;
