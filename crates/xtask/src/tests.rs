use crate::mutants::{self, MUTANTS};
use crate::tidy::debts::{self, Finding};
use crate::tidy::docs::{self, Mention};
use crate::tidy::source::{Crate, Module};
use crate::tidy::{self, columns, decisions, functions, imports, modules, shape, targets, unused, words};

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
    assert_eq!(imports::dependencies(manifest), ["engine", "stdx"]);
    assert_eq!(imports::forbidden_imports("nfs", manifest), ["nfs may not import engine"]);
    assert_eq!(imports::forbidden_imports("nowhere", manifest), ["nowhere is not in the table of crates"]);
}

#[test]
fn banned_words_are_found_outside_their_crate_only() {
    let line = "    let now = std::time::Instant::now();\n";
    assert_eq!(words::banned_words("dmu", "dmu/src/x.rs", line).len(), 1);
    assert!(words::banned_words("env", "env/src/x.rs", line).is_empty());
    assert!(words::banned_words("dmu", "dmu/src/x.rs", "// Instant::now is banned\n").is_empty());
}

#[test]
fn a_module_without_a_head_and_a_file_too_long_are_found() {
    assert_eq!(shape::shape("a.rs", "fn f() {}\n").len(), 1);
    assert!(shape::shape("a.rs", "//! Idea.\n").is_empty());
    assert_eq!(shape::shape("a.rs", &format!("//! Idea.\n{}", "\n".repeat(1000))).len(), 1);
}

/// A crate of modules: path from the root, and source.
fn krate(name: &str, modules: &[(&str, &str)]) -> Crate {
    let module = |(path, source): &(&str, &str)| Module {
        path: path.split("::").filter(|name| !name.is_empty()).map(str::to_owned).collect(),
        file: format!("{path}.rs").into(),
        items: syn::parse_file(source).expect("it is Rust").items,
    };
    Crate { name: name.to_owned(), modules: modules.iter().map(module).collect(), forgotten: Vec::new() }
}

#[test]
fn a_circle_of_modules_is_found() {
    let straight = [("", ""), ("a", "use crate::b::B;"), ("b", "pub struct B;"), ("b::c", "use super::B;")];
    assert!(modules::circles(&krate("x", &straight)).is_empty());
    // By way of a module below, a path in an expression, and one inside of a macro.
    let around = [
        ("", ""),
        ("a", "use crate::b::c::C;"),
        ("b", ""),
        ("b::c", "fn f() { crate::d::g() }"),
        ("d", "fn g() { assert!(crate::a::h()) }"),
    ];
    assert_eq!(modules::circles(&krate("x", &around)), [["x::a", "x::b", "x::d"]]);
    let inside = [("", ""), ("m", ""), ("m::a", "use super::b::B;"), ("m::b", "use crate::m::a::A;")];
    assert_eq!(modules::circles(&krate("x", &inside)), [["x::m::a", "x::m::b"]]);
}

#[test]
fn a_name_that_is_passed_on_belongs_to_where_it_is_defined() {
    let lib = "mod error; mod a; pub use error::{Error as Wrong, Result}; use a::A;";
    let passed_on = [("", lib), ("error", "use crate::A;"), ("a", "use crate::Wrong;")];
    assert_eq!(modules::circles(&krate("x", &passed_on)), [["x::a", "x::error"]]);
    let own = [("", "pub struct A;"), ("error", "use crate::A;"), ("a", "use crate::error::E;")];
    assert!(modules::circles(&krate("x", &own)).is_empty());
}

#[test]
fn the_length_of_a_function_is_that_from_its_name_to_its_brace() {
    let body = "    let _ = 1;\n".repeat(99);
    let source =
        format!("struct S;\nimpl S {{\n/// Long.\npub fn long()\n{{\n{body}}}\n}}\nfn short() {{}}\n");
    let mut lengths = functions::Lengths::default();
    syn::visit::visit_file(&mut lengths, &syn::parse_file(&source).expect("it is Rust"));
    assert_eq!(lengths.functions, [("long".to_owned(), 102), ("short".to_owned(), 1)]);
}

#[test]
fn a_decision_by_text_is_found() {
    let count = |source: &str| {
        let mut decisions = decisions::Decisions::default();
        syn::visit::visit_file(&mut decisions, &syn::parse_file(source).expect("it is Rust"));
        decisions.count
    };
    assert_eq!(count("fn f(p: P) -> bool { p.detail.starts_with(\"no such\") }"), 1);
    assert_eq!(count("fn f(p: P) -> bool { (&p.detail).trim() == TEXT }"), 1);
    assert_eq!(count("fn f(p: P) { match p.problem.detail.as_str() { _ => {} } }"), 1);
    assert_eq!(count("fn f(error: E) -> bool { error.to_string().contains(\"busy\") }"), 1);
    assert_eq!(count("fn f() { let it = |warning: &String| warning.starts_with(\"file\"); }"), 1);
    assert_eq!(count("fn f(c: C) -> bool { c.warnings.sentences.contains(&text()) }"), 1);
    assert_eq!(count("fn f(c: C) -> bool { c.warnings.reasons.contains(&Warning::Other) }"), 0);
    assert_eq!(count("fn f(p: P, n: u32) -> bool { p.kind == BUSY && n.to_string().len() > 1 }"), 0);
    assert_eq!(count("fn f(p: P) -> String { format!(\"x: {}\", p.detail) }"), 0);
}

#[test]
fn public_items_that_nobody_uses_are_found() {
    let source =
        "pub fn used() {} pub fn unused() {} fn private() {} pub const NAME: u8 = 1; pub fn tried() {}";
    let user = "fn g() { used(); format!(\"{NAME:?}\"); }";
    let test = "fn t() { tried() }";
    let krate = krate("x", &[("", source), ("g", user)]);
    let mut names = unused::Names::new();
    for (source, program) in [(source, true), (user, true), (source, false), (user, false), (test, false)] {
        unused::count(source.parse().expect("it is Rust"), program, &mut names);
    }
    let found = unused::unused("".as_ref(), &krate, &names);
    let shown: Vec<(&str, &str)> = found.iter().map(|it| (it.rule, it.subject.as_str())).collect();
    assert_eq!(shown, [("unused", ".rs:unused"), ("for-tests-alone", ".rs:tried")]);
}

#[test]
fn a_wide_comment_is_found_and_a_drawing_is_not() {
    let wide = "word ".repeat(25);
    let text = format!(
        "//! {wide}\nlet x = 1; // {wide}\n    /// fine\n/// ```text\n/// {wide}\n/// ```\n/// {wide}\n"
    );
    assert_eq!(columns::wide_lines(&text), [1, 7]);
    assert!(columns::wide_lines(&format!("// https://example.org/{}\n", "x".repeat(100))).is_empty());
}

#[test]
fn what_a_document_mentions_is_found() {
    let text = "See `pool/src/txg.rs`, `zfs list -o`, [map](../ARCHITECTURE.md#crates) and [web](https://x.org/a.md).\n```\n`a/b.rs`\n```\n";
    let code = Mention::Code("pool/src/txg.rs".to_owned());
    assert_eq!(docs::paths_in(text), [code, Mention::Link("../ARCHITECTURE.md".to_owned())]);
}

#[test]
fn a_target_of_tests_that_is_not_run_is_found() {
    let manifest = "[package]\nname = \"a\"\n\n[[bin]]\nname = \"b\"\n\n[[test]]\nname = \"it\"\npath = \"x\"\n\n[[test]]\nname = \"e2e\"\n";
    assert_eq!(targets::targets(manifest), ["it", "e2e"]);
    let script = "cargo test --test it --test e2e-more\n";
    assert_eq!([targets::names(script, "it"), targets::names(script, "e2e")], [true, false]);
}

#[test]
fn debts_may_only_fall() {
    let debts =
        debts::parse("# What is left.\nfunction a.rs:f 120\ncircle pool::spa 22\n").expect("it is a list");
    let found = |figure| {
        [
            Finding::new("function", "a.rs:f".to_owned(), figure),
            Finding::new("circle", "pool::spa".to_owned(), 22),
        ]
    };
    assert!(debts::compare(&found(120), &debts).is_empty());
    assert_eq!(
        debts::compare(&found(121), &debts),
        ["function: a.rs:f (121, and no more than 120 were left)"]
    );
    assert_eq!(debts::compare(&found(90)[..1], &debts).len(), 2, "both are less than listed");
    let new = [found(120).to_vec(), vec![Finding::new("circle", "pool::txg".to_owned(), 2)]].concat();
    assert_eq!(debts::compare(&new, &debts), ["circle: pool::txg (2)"]);
    let text = "# What is left.\nfunction a.rs:f 120\ncircle pool::spa 22\n";
    let lowered =
        debts::lowered(text, &[found(101).to_vec(), new.clone()].concat()[..1]).expect("it is a list");
    assert_eq!(lowered, "# What is left.\nfunction a.rs:f 101\n");
    assert!(debts::parse("function a.rs:f\n").is_err() && debts::parse("function a.rs:f many\n").is_err());
}
