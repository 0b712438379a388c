//! The same for machines: one object with `devices` and `pools`.

use std::fmt::Write as _;
use std::io::{self, Write};

use ::pool::spa::labels::FoundPool;
use ::pool::verify::{Options as VerifyOptions, Report, verify};
use env::Env;
use ondisk::nvlist::{NvList, NvValue};

use super::catalog::{Catalog, kind_name};
use super::labels::state_name;
use super::open::{Device, Found, Opened, open};
use super::options::Options;
use super::verify::sentence;
use super::{CLEAN, PROBLEMS, text};

/// Everything that was asked for, in one line of JSON.
pub fn inspect(
    env: &Env,
    options: &Options,
    found: &Found,
    pools: &[&FoundPool],
    out: &mut dyn Write,
) -> io::Result<i32> {
    let mut status = if pools.is_empty() { PROBLEMS } else { CLEAN };
    let devices: Vec<NvList> = found.devices.iter().map(device).collect();
    let mut shown = Vec::new();
    for found in pools.iter().filter(|_| options.wants_pool()) {
        let mut entry = NvList::new();
        entry.set("name", found.config.name.as_str());
        entry.set("guid", found.guid);
        entry.set("state", state_name(found.config.state));
        match open(env, found) {
            Ok(opened) => {
                status = status.max(pool(options, &opened, &mut entry));
                opened.close();
            }
            Err(why) => {
                entry.set("error", why.as_str());
                entry.set("config", NvValue::NvList(found.config.pairs.clone()));
                status = PROBLEMS;
            }
        }
        shown.push(entry);
    }
    let whole = NvList::new()
        .with("devices", NvValue::NvListArray(devices))
        .with("pools", NvValue::NvListArray(shown));
    writeln!(out, "{}", object(&whole))?;
    Ok(status)
}

fn device(device: &Device) -> NvList {
    let labels: Vec<u64> = (0..4).filter(|&n| device.labels.configs[n as usize].is_some()).collect();
    let mut entry = NvList::new();
    entry.set("path", device.path.as_str());
    entry.set("size", device.size);
    entry.set("partition", device.base);
    entry.set("labels", NvValue::U64Array(labels));
    if let Some(config) = device.labels.config() {
        entry.set("config", NvValue::NvList(config.clone()));
    }
    let uberblocks = device.labels.uberblocks.iter().map(|uberblock| {
        NvList::new()
            .with("txg", uberblock.txg)
            .with("timestamp", uberblock.timestamp)
            .with("guid_sum", uberblock.guid_sum)
            .with("rootbp", text::blkptr(&uberblock.root_bp).as_str())
    });
    entry.set("uberblocks", NvValue::NvListArray(uberblocks.collect()));
    entry
}

fn pool(options: &Options, opened: &Opened, entry: &mut NvList) -> i32 {
    let space = opened.storage().space();
    entry.set("txg", opened.txg());
    entry.set("allocated", space.allocated);
    entry.set("capacity", space.capacity);
    entry.set("config", NvValue::NvList(opened.config()));
    let mut features = NvList::new();
    for (guid, count) in opened.pool.core().features.all() {
        features.set(guid, count);
    }
    entry.set("features", NvValue::NvList(features));
    let catalog = Catalog::read(opened);
    let datasets = catalog.datasets.iter().filter(|dataset| !dataset.is_hidden()).map(|dataset| {
        NvList::new()
            .with("name", dataset.name.as_str())
            .with("kind", kind_name(dataset.kind))
            .with("id", dataset.object)
            .with("creation_txg", dataset.phys.creation_txg)
            .with("referenced", dataset.phys.referenced_bytes)
            .with("objects", dataset.phys.bp.fill())
    });
    entry.set("datasets", NvValue::NvListArray(datasets.collect()));
    let mut status = if catalog.problems.is_empty() { CLEAN } else { PROBLEMS };
    if let Some(data) = options.verify {
        match verify(&opened.pool, VerifyOptions { data }, &mut |_, _| {}) {
            Ok(report) => {
                entry.set("verify", NvValue::NvList(verified(&report, &catalog)));
                status = status.max(if report.is_clean() { CLEAN } else { PROBLEMS });
            }
            Err(error) => {
                entry.set("verify", NvValue::NvList(NvList::new().with("error", error.to_string().as_str())));
                status = PROBLEMS;
            }
        }
    }
    status
}

fn verified(report: &Report, catalog: &Catalog) -> NvList {
    let names = catalog.names();
    let problems = report.problems.iter().map(|problem| sentence(problem, &names)).collect();
    let count = report.problems.len() as u64 + report.more_problems;
    NvList::new()
        .with("clean", NvValue::Bool(report.is_clean()))
        .with("allocated", report.allocated)
        .with("referenced", report.referenced)
        .with("bad_copies", report.bad_copies())
        .with("problem_count", count)
        .with("problems", NvValue::StringArray(problems))
}

fn object(list: &NvList) -> String {
    let pairs: Vec<String> =
        list.iter().map(|(name, value)| format!("{}:{}", string(name), json(value))).collect();
    format!("{{{}}}", pairs.join(","))
}

fn json(value: &NvValue) -> String {
    match value {
        NvValue::Flag => "true".into(),
        NvValue::NvList(list) => object(list),
        NvValue::NvListArray(lists) => array(lists.iter().map(object)),
        NvValue::String(text) => string(text),
        NvValue::StringArray(texts) => array(texts.iter().map(|text| string(text))),
        NvValue::Double(number) if !number.is_finite() => "null".into(),
        plain => match text::array(plain) {
            Some(items) => array(items.into_iter()),
            None => text::scalar(plain),
        },
    }
}

fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

fn string(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            letter if letter.is_control() => {
                let _ = write!(quoted, "\\u{:04x}", letter as u32);
            }
            letter => quoted.push(letter),
        }
    }
    quoted + "\""
}
