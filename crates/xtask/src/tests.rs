use crate::mutants::{self, MUTANTS};
use crate::tidy;

#[test]
fn the_tree_keeps_its_own_rules() {
    let problems = tidy::check(&tidy::workspace_root());
    assert!(problems.is_empty(), "\n{}", problems.join("\n"));
}

#[test]
fn every_mutant_has_its_place() {
    let missing = mutants::missing(&tidy::workspace_root());
    assert!(missing.is_empty(), "\n{}", missing.join("\n"));
}

#[test]
fn a_mutant_is_planted_behind_its_switch() {
    let planted = mutants::plant(&MUTANTS[0], MUTANTS[0].from);
    assert!(planted.contains(&format!("stdx::is_planted(\"{}\")", MUTANTS[0].name)), "{planted}");
    assert!(!planted.contains("PLANTED"), "{planted}");
}

#[test]
fn a_forbidden_import_is_found() {
    let manifest =
        "[dependencies]\nengine.workspace = true\nstdx.workspace = true\n[dev-dependencies]\nmodel = {}\n";
    assert_eq!(tidy::dependencies(manifest), ["engine", "stdx"]);
    assert_eq!(tidy::forbidden_imports("nfs", manifest), ["nfs may not import engine"]);
    assert_eq!(tidy::forbidden_imports("nowhere", manifest), ["nowhere is not in the table of crates"]);
}

#[test]
fn banned_words_are_found_outside_their_crate_only() {
    let line = "    let now = std::time::Instant::now();\n";
    assert_eq!(tidy::banned_words("dmu", "dmu/src/x.rs", line).len(), 1);
    assert!(tidy::banned_words("env", "env/src/x.rs", line).is_empty());
    assert!(tidy::banned_words("dmu", "dmu/src/x.rs", "// Instant::now is banned\n").is_empty());
}

#[test]
fn a_module_without_a_head_and_a_file_too_long_are_found() {
    assert_eq!(tidy::shape("a.rs", "fn f() {}\n").len(), 1);
    assert!(tidy::shape("a.rs", "//! Idea.\n").is_empty());
    assert_eq!(tidy::shape("a.rs", &format!("//! Idea.\n{}", "\n".repeat(1000))).len(), 1);
}
