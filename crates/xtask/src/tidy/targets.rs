//! Targets of tests that `scripts/test` does not run: it names them, so that all are built in one
//! and the same way.

use std::path::Path;

use super::source::{read, sorted_entries};

pub const SCRIPT: &str = "scripts/test";

pub fn forgotten(root: &Path) -> Vec<String> {
    let script = read(&root.join(SCRIPT));
    let manifests = sorted_entries(&root.join("crates")).into_iter().map(|folder| folder.join("Cargo.toml"));
    let targets = manifests.flat_map(|manifest| targets(&read(&manifest)));
    let mut unnamed: Vec<String> = targets.filter(|target| !names(&script, target)).collect();
    unnamed.sort_unstable();
    unnamed.dedup();
    unnamed.into_iter().map(|target| format!("{SCRIPT}: does not run the tests of '{target}'")).collect()
}

/// Whether a script runs a target.
pub fn names(script: &str, target: &str) -> bool {
    let words: Vec<&str> = script.split_whitespace().collect();
    words.windows(2).any(|pair| pair == ["--test", target])
}

/// Names of the targets of tests in a manifest.
pub fn targets(manifest: &str) -> Vec<String> {
    let sections = manifest.split("\n[").filter_map(|section| section.strip_prefix("[test]]"));
    let name = |section: &str| {
        let line = section.lines().find_map(|line| line.strip_prefix("name = \""))?;
        Some(line.trim_end_matches('"').to_owned())
    };
    sections.filter_map(name).collect()
}
