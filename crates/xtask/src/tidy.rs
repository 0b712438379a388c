//! The rules of ARCHITECTURE.md that a compiler does not hold: which crate may import which, who
//! may name the operating system, who may touch bytes, that modules form no circles, how long
//! files, functions and comments may be, that nothing decides by the text of a message, that
//! nothing is public for nobody, that documents lead somewhere, and that all tests are run.
//!
//! Every check is a pure function over source, so that its own tests can show it failing. What was
//! there before its rule came is in [`debts`].

pub mod columns;
pub mod debts;
pub mod decisions;
pub mod docs;
pub mod functions;
pub mod imports;
pub mod modules;
pub mod shape;
pub mod source;
pub mod targets;
pub mod unused;
pub mod words;

use std::path::{Path, PathBuf};

use debts::Finding;
use source::{Crate, file_name, is_test_file, read, rust_files, shown, sorted_entries};

pub fn workspace_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the workspace has a root")
}

/// Every breach, a line each; empty is good.
pub fn check(root: &Path) -> Vec<String> {
    let mut problems = Vec::new();
    for crate_dir in sorted_entries(&root.join("crates")) {
        let name = file_name(&crate_dir);
        problems.extend(imports::forbidden_imports(&name, &read(&crate_dir.join("Cargo.toml"))));
        problems.extend(
            columns::wide(root, &crate_dir).into_iter().map(|line| format!("{line}: too wide a comment")),
        );
        for file in rust_files(&crate_dir.join("src")) {
            let (shown, text) = (shown(root, &file), read(&file));
            if !is_test_file(&shown) {
                problems.extend(words::banned_words(&name, &shown, &text));
                problems.extend(shape::shape(&shown, &text));
            }
        }
    }
    let crates = source::crates(root);
    let forgotten = crates.iter().flat_map(|krate| &krate.forgotten);
    problems.extend(forgotten.map(|file| format!("{}: no module names it", file.display())));
    problems.extend(docs::stale_paths(root));
    problems.extend(targets::forgotten(root));
    match debts::load(root) {
        Ok(debts) => problems.extend(debts::compare(&findings(root, &crates), &debts)),
        Err(error) => problems.push(error),
    }
    problems
}

/// What may be there as far as it is listed.
fn findings(root: &Path, crates: &[Crate]) -> Vec<Finding> {
    let names = unused::names(root, crates);
    let of = |krate: &Crate| {
        let circles = modules::circles(krate).into_iter().flat_map(|circle| {
            let size = circle.len();
            circle.into_iter().map(move |module| Finding::new("circle", module, size))
        });
        let mut found: Vec<Finding> = circles.collect();
        found.extend(functions::long(root, krate));
        found.extend(decisions::by_text(root, krate));
        found.extend(unused::unused(root, krate, &names));
        found
    };
    crates.iter().flat_map(of).collect()
}

/// The imports that make the circles of some crates, of all where none is named.
pub fn circles(root: &Path, names: &[String]) -> Vec<String> {
    let crates = source::crates(root);
    let wanted = crates.iter().filter(|krate| names.is_empty() || names.contains(&krate.name));
    wanted.flat_map(modules::reasons).collect()
}

/// Lowers the list of debts to what there is now.
pub fn lower(root: &Path) -> Result<(), String> {
    let path = root.join(debts::FILE);
    let text = debts::lowered(&read(&path), &findings(root, &source::crates(root)))?;
    std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
}
