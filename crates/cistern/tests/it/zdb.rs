//! OpenZFS's own judgement of an exported pool.

use std::collections::BTreeMap;
use std::path::Path;

use crate::daemon::{Daemon, Ran, program, timed};

/// `zdb` shows its progress between carriage returns.
fn without_progress(text: &str) -> String {
    let lines = text.lines().map(|line| line.rsplit('\r').next().unwrap_or_default().trim_end());
    let is_progress = |line: &str| {
        line.is_empty() || line.starts_with("loading concrete vdev") || line.contains(" completed (")
    };
    lines.filter(|line| !is_progress(line)).map(|line| format!("{line}\n")).collect()
}

pub fn zdb(folder: &Path, words: &[&str]) -> Ran {
    let mut ran = Ran::of(program("zdb", 300).arg("-e").arg("-p").arg(folder).args(words));
    ran.err = without_progress(&ran.err);
    ran
}

/// Objects of every dataset of an exported pool, as `zdb -d` counts them.
pub fn object_counts(folder: &Path, pool: &str) -> BTreeMap<String, u64> {
    let listing = zdb(folder, &["-d", pool]).done();
    let mut counts = BTreeMap::new();
    for line in listing.lines().filter_map(|line| line.strip_prefix("Dataset ")) {
        let name = line.split(" [").next().expect("a first part");
        let objects = line.strip_suffix(" objects").and_then(|rest| rest.rsplit(' ').next());
        counts.insert(name.to_owned(), objects.and_then(|count| count.parse().ok()).expect("a count"));
    }
    assert!(counts.contains_key(pool), "{listing}");
    counts
}

/// Every block is read and verified, and what is allocated is exactly what is referenced.
#[track_caller]
pub fn assert_clean(folder: &Path, pool: &str) {
    timed(&format!("zdb -bcc {pool}"), || {
        let ran = zdb(folder, &["-bcc", pool]);
        let is_whole = ran.out.contains("No leaks (block sum matches space maps exactly)");
        let told = format!("zdb says of {pool} ({}):\n{}\n{}", ran.status, ran.out, ran.err);
        assert!(ran.status == 0 && is_whole && ran.err.is_empty(), "{told}");
        assert!(!ran.out.contains("Error counts") && !ran.out.contains("leaked space"), "{told}");
    });
}

/// Stops the daemon with Ctrl-C and lets zdb judge the pool on the images in `folder`.
#[track_caller]
pub fn stop_and_check(daemon: &mut Daemon, folder: &Path, pool: &str) {
    daemon.stop();
    assert_clean(folder, pool);
}
