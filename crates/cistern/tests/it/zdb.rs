//! OpenZFS's own judgement of an exported pool, and whether `cistern inspect` agrees.

use std::collections::BTreeMap;
use std::path::Path;

use crate::daemon::{Daemon, PROGRAM, Ran, program, timed};

/// `zdb` shows its progress between carriage returns.
fn without_progress(text: &str) -> String {
    let lines = text.lines().map(|line| line.rsplit('\r').next().unwrap_or_default().trim_end());
    let is_progress = |line: &str| {
        line.is_empty() || line.starts_with("loading concrete vdev") || line.contains(" completed (")
    };
    lines.filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

/// Of the pools in this folder.
pub fn zdb(folder: &Path, words: &[&str]) -> Ran {
    let zdb = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/zdb");
    let mut ran = Ran::of(program(zdb, 300).arg("-e").arg("-p").arg(folder).args(words));
    ran.err = without_progress(&ran.err);
    ran
}

/// Every block is read and verified, what is allocated is exactly what is referenced, and what is
/// there is what we see. Gives the number of objects of every dataset.
#[track_caller]
pub fn assert_clean(folder: &Path, pool: &str) -> BTreeMap<String, u64> {
    assert_readable(folder, pool);
    compare_datasets(folder, pool)
}

/// The first half of [`assert_clean`].
#[track_caller]
pub fn assert_readable(folder: &Path, pool: &str) {
    timed(&format!("zdb -bcc {pool}"), || {
        let ran = zdb(folder, &["-bcc", pool]);
        let is_whole = ran.out.contains("No leaks (block sum matches space maps exactly)");
        let told = format!("zdb says of {pool} ({}):\n{}\n{}", ran.status, ran.out, ran.err);
        assert!(ran.status == 0 && is_whole && ran.err.is_empty(), "{told}");
        assert!(!ran.out.contains("Error counts") && !ran.out.contains("leaked space"), "{told}");
    });
}

/// OpenZFS and our own inspection list the same datasets, of the same sizes and with as many
/// objects: these lines, by name.
#[track_caller]
pub fn assert_same_list(folder: &Path, pool: &str) -> BTreeMap<String, String> {
    let theirs = datasets(&zdb(folder, &["-d", pool]).done());
    let ours = datasets(&inspect(folder, pool, &["-d"]));
    assert!(theirs.keys().any(|name| name == pool), "zdb -d {pool}: {theirs:#?}");
    assert_eq!(ours, theirs, "cistern inspect -d and zdb -d of {pool}");
    theirs
}

/// The same; and as many objects can be read.
#[track_caller]
fn compare_datasets(folder: &Path, pool: &str) -> BTreeMap<String, u64> {
    let theirs = assert_same_list(folder, pool);
    let count = |(name, line): (&String, &String)| {
        let objects = line.strip_suffix(" objects").and_then(|rest| rest.rsplit(' ').next());
        let objects: u64 = objects.and_then(|count| count.parse().ok()).expect("a count");
        let listing = inspect(folder, pool, &["-o", name]);
        let numbers = listing.lines().filter_map(|line| line.split_whitespace().next()?.parse::<i64>().ok());
        // Negative are those that an object set has beside its objects, 0 is the one that they are
        // in.
        let read = numbers.filter(|number| *number > 0).count() as u64;
        assert_eq!(read, objects, "objects of {name}, read and counted");
        (name.clone(), objects)
    };
    theirs.iter().map(count).collect()
}

/// How many records of a kind zdb finds in the intent log of a dataset, in whatever state the pool
/// was left.
pub fn log_records(folder: &Path, dataset: &str, kind: &str) -> usize {
    let shown = zdb(folder, &["-iii", dataset]).done();
    shown.lines().filter(|line| line.trim_start().starts_with(kind) && line.contains(", txg ")).count()
}

/// Where the root of the newest group is, in bytes behind the labels of a pool's only disk: all its
/// copies.
pub fn newest_root(folder: &Path, pool: &str) -> Vec<u64> {
    let shown = zdb(folder, &["-uuuu", pool]).done();
    let root = shown.lines().find(|line| line.trim_start().starts_with("rootbp = ")).expect("a root");
    let copies = root.split("]=<0:").skip(1).filter_map(|rest| rest.split(':').next());
    copies.map(|offset| u64::from_str_radix(offset, 16).expect("hexadecimal")).collect()
}

/// The lines `Dataset NAME [KIND], ID …, cr_txg …, SIZE, … objects`, by name.
fn datasets(listing: &str) -> BTreeMap<String, String> {
    let lines = listing.lines().filter_map(|line| line.strip_prefix("Dataset "));
    let split = lines.map(|line| line.split_once(" [").expect("a kind"));
    split.map(|(name, rest)| (name.to_owned(), rest.to_owned())).collect()
}

fn inspect(folder: &Path, pool: &str, words: &[&str]) -> String {
    let mut command = program(PROGRAM, 300);
    Ran::of(command.args(["inspect", "--pool", pool]).args(words).arg(folder)).done()
}

/// Stops the daemon with Ctrl-C and lets zdb judge the pool on the images in `folder`.
#[track_caller]
pub fn stop_and_check(daemon: &mut Daemon, folder: &Path, pool: &str) -> BTreeMap<String, u64> {
    daemon.stop();
    assert_clean(folder, pool)
}
