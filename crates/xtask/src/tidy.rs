//! The rules of ARCHITECTURE.md that a compiler does not hold: which crate may import which, who may name the
//! operating system, who may touch bytes, how long a file may be, and that a module says what it is for.
//!
//! Every check is a pure function over text, so that its own tests can show it failing.

use std::fs;
use std::path::{Path, PathBuf};

/// Crate → what it may import of the workspace. ARCHITECTURE.md shows the same table.
const MAY_IMPORT: &[(&str, &[&str])] = &[
    ("stdx", &[]),
    ("engine-api", &[]),
    ("ondisk", &["stdx"]),
    ("codec", &["stdx"]),
    ("env", &["stdx"]),
    ("storage", &["ondisk", "codec", "env", "stdx"]),
    ("dmu", &["storage", "ondisk", "env", "stdx"]),
    ("pool", &["dmu", "storage", "ondisk", "codec", "env", "stdx"]),
    ("engine", &["engine-api", "pool", "dmu", "storage", "ondisk", "env", "stdx"]),
    ("model", &["engine-api", "stdx"]),
    ("sunrpc", &["sockets", "stdx"]),
    ("sockets", &["engine-api"]),
    ("nfs", &["sunrpc", "sockets", "engine-api", "stdx"]),
    ("fuse", &["engine-api", "stdx"]),
    ("scsi", &["engine-api"]),
    ("iscsi", &["scsi", "sockets", "engine-api"]),
    ("nbd", &["sockets", "engine-api"]),
    ("load", &["sunrpc", "iscsi", "stdx"]),
    ("api-types", &[]),
    ("api", &["engine-api", "api-types", "sockets", "stdx"]),
    ("cli", &["api-types", "stdx"]),
    (
        "sim",
        &["stdx", "env", "ondisk", "storage", "dmu", "pool", "engine", "engine-api", "scsi", "model", "nfs"],
    ),
    (
        "cistern",
        &[
            "engine",
            "engine-api",
            "env",
            "load",
            "nfs",
            "fuse",
            "iscsi",
            "nbd",
            "api",
            "api-types",
            "cli",
            "sockets",
            "stdx",
        ],
    ),
    ("bench", &["codec", "engine", "engine-api", "env", "load", "stdx"]),
    (
        "fuzzing",
        &["stdx", "ondisk", "codec", "sunrpc", "nfs", "scsi", "iscsi", "engine-api", "model", "api-types"],
    ),
    ("xtask", &[]),
];

/// (word, crates that may use it, why).
const BANNED: &[(&str, &[&str], &str)] = &[
    ("Instant::now", OUTSIDE_ENGINE, "time comes from env::Clock"),
    ("SystemTime::now", OUTSIDE_ENGINE, "time comes from env::Clock"),
    ("thread::spawn", OUTSIDE_ENGINE, "threads come from env::Driver"),
    ("std::fs", OUTSIDE_ENGINE, "disks come from env::Disks"),
    ("from_le_bytes", BYTES, "bytes on disk are ondisk's"),
    ("from_be_bytes", BYTES, "bytes on disk are ondisk's"),
    ("from_ne_bytes", BYTES, "bytes on disk are ondisk's"),
    ("todo!(", &[], "nothing is left for the next one"),
    ("unimplemented!(", &[], "nothing is left for the next one"),
    ("dbg!(", &[], "left over from debugging"),
    ("#[ignore", &[], "a test runs or is not there"),
];

const OUTSIDE_ENGINE: &[&str] = &[
    "env", "nfs", "sunrpc", "sockets", "fuse", "iscsi", "nbd", "load", "api", "cli", "cistern", "bench",
    "sim", "xtask",
];
const BYTES: &[&str] = &[
    "stdx", "ondisk", "codec", "env", "sunrpc", "nfs", "fuse", "scsi", "iscsi", "nbd", "load", "sim",
    "model", "cistern",
];

const MAX_LINES: usize = 1000;

pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// Every breach, a line each; empty is good.
pub fn check(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for crate_dir in sorted_entries(&root.join("crates")) {
        let name = file_name(&crate_dir);
        problems.extend(forbidden_imports(&name, &read(&crate_dir.join("Cargo.toml"))));
        for file in rust_files(&crate_dir.join("src")) {
            let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
            let text = read(&file);
            let is_test = shown.ends_with("tests.rs") || shown.contains("/tests/");
            if !is_test {
                problems.extend(banned_words(&name, &shown, &text));
                problems.extend(shape(&shown, &text));
            }
        }
    }
    problems
}

pub fn forbidden_imports(name: &str, manifest: &str) -> Vec<String> {
    let Some((_, allowed)) = MAY_IMPORT.iter().find(|(known, _)| *known == name) else {
        return vec![format!("{name} is not in the table of crates")];
    };
    dependencies(manifest)
        .into_iter()
        .filter(|dep| MAY_IMPORT.iter().any(|(known, _)| known == dep) && !allowed.contains(&dep.as_str()))
        .map(|dep| format!("{name} may not import {dep}"))
        .collect()
}

/// Names in `[dependencies]`; what tests need is theirs.
pub fn dependencies(manifest: &str) -> Vec<String> {
    manifest
        .lines()
        .skip_while(|line| line.trim() != "[dependencies]")
        .skip(1)
        .take_while(|line| !line.trim_start().starts_with('['))
        .filter_map(|line| line.split(['=', '.']).next())
        .map(|dep| dep.trim().to_string())
        .filter(|dep| !dep.is_empty() && !dep.starts_with('#'))
        .collect()
}

pub fn banned_words(name: &str, shown: &str, text: &str) -> Vec<String> {
    if name == "xtask" {
        return Vec::new(); // This file has to spell them.
    }
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("");
        for (word, allowed, why) in BANNED {
            if code.contains(word) && !allowed.contains(&name) {
                found.push(format!("{shown}:{}: {word}: {why}", number + 1));
            }
        }
    }
    found
}

/// Length, and a first line that says what the module is for.
pub fn shape(shown: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        found.push(format!("{shown}: {lines} lines, more than {MAX_LINES}"));
    }
    if !text.starts_with("//!") {
        found.push(format!("{shown}: does not begin with what it is for (//!)"));
    }
    found
}

fn rust_files(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for path in sorted_entries(dir) {
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            files.push(path);
        }
    }
    files
}

fn sorted_entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}
