//! The source as the checks see it: the modules of each crate, parsed, without what is there for
//! tests alone.
//!
//! Modules are found as the compiler finds them, from `lib.rs` or `main.rs` along `mod` items. A
//! file that no module names is no part of the program: it is [`Crate::forgotten`].

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use quote::ToTokens;
use syn::{Attribute, Item};

/// Names from the root of a crate down; empty is the root.
pub type ModulePath = Vec<String>;

pub struct Module {
    pub path: ModulePath,
    pub file: PathBuf,
    /// Of this module alone: what is in `mod` items below it is there as modules of their own.
    pub items: Vec<Item>,
}

/// One crate of the workspace.
pub struct Crate {
    pub name: String,
    pub modules: Vec<Module>,
    /// Rust files below `src` that no module of the program or of its tests names.
    pub forgotten: Vec<PathBuf>,
}

/// What the Rust files below `src` have, each parsed once.
type Files = BTreeMap<PathBuf, Vec<Item>>;

/// All crates, in the order of their names.
pub fn crates(root: &Path) -> Vec<Crate> {
    sorted_entries(&root.join("crates")).iter().map(|dir| parse(dir)).collect()
}

fn parse(dir: &Path) -> Crate {
    let src = dir.join("src");
    let files: Files = rust_files(&src).into_iter().map(|file| (file.clone(), items_of(&file))).collect();
    let mut modules = Vec::new();
    for entry in ["lib.rs", "main.rs"] {
        let file = src.join(entry);
        if let Some(items) = files.get(&file) {
            follow(Vec::new(), &file, &src, items.clone(), &files, &mut modules);
        }
    }
    Crate { name: file_name(dir), modules, forgotten: forgotten(&files) }
}

/// Adds a module and all below it. `below` is the folder where its own `mod` items are looked for.
fn follow(
    path: ModulePath,
    file: &Path,
    below: &Path,
    items: Vec<Item>,
    files: &Files,
    modules: &mut Vec<Module>,
) {
    let (children, items): (Vec<Item>, Vec<Item>) =
        items.into_iter().filter(|item| !is_for_tests(item)).partition(|item| matches!(item, Item::Mod(_)));
    modules.push(Module { path: path.clone(), file: file.to_owned(), items });
    for child in children {
        let Item::Mod(child) = child else { continue };
        let name = child.ident.to_string();
        let child_path = [path.clone(), vec![name.clone()]].concat();
        match child.content {
            Some((_, items)) => follow(child_path, file, &below.join(&name), items, files, modules),
            None => {
                let file = match path_attribute(&child.attrs) {
                    Some(named) => file.with_file_name(named),
                    None => below.join(format!("{name}.rs")),
                };
                // One that is elsewhere is not among them.
                let items = files.get(&file).cloned().unwrap_or_else(|| items_of(&file));
                follow(child_path, &file, &below.join(&name), items, files, modules);
            }
        }
    }
}

fn items_of(file: &Path) -> Vec<Item> {
    syn::parse_file(&read(file)).unwrap_or_else(|error| panic!("{}: {error}", file.display())).items
}

fn path_attribute(attrs: &[Attribute]) -> Option<String> {
    let attribute = attrs.iter().find(|attr| attr.path().is_ident("path"))?;
    let text = attribute.meta.require_name_value().ok()?.value.to_token_stream().to_string();
    Some(text.trim_matches('"').to_owned())
}

fn is_for_tests(item: &Item) -> bool {
    let attrs = match item {
        Item::Mod(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Const(item) => &item.attrs,
        _ => return false,
    };
    attrs
        .iter()
        .any(|attr| attr.path().is_ident("cfg") && attr.to_token_stream().to_string().contains("cfg (test)"))
}

fn forgotten(files: &Files) -> Vec<PathBuf> {
    let named: BTreeSet<String> = files.values().flat_map(|items| modules_named_in(items)).collect();
    let is_named = |file: &Path| {
        let stem = file.file_stem().unwrap_or_default().to_string_lossy();
        ["lib", "main"].contains(&&*stem) || named.contains(&*stem)
    };
    files.keys().filter(|file| !is_named(file)).cloned().collect()
}

fn modules_named_in(items: &[Item]) -> Vec<String> {
    let mut names = Vec::new();
    for item in items {
        let Item::Mod(module) = item else { continue };
        names.push(module.ident.to_string());
        names.extend(path_attribute(&module.attrs).map(|file| file.trim_end_matches(".rs").to_owned()));
        names.extend(module.content.iter().flat_map(|(_, items)| modules_named_in(items)));
    }
    names
}

/// All Rust files below a folder, in order.
pub fn rust_files(dir: &Path) -> Vec<PathBuf> {
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

/// Whether a file is there for tests alone, by its place.
pub fn is_test_file(shown: &str) -> bool {
    shown.ends_with("tests.rs") || shown.contains("/tests/") || shown.contains("/benches/")
}

/// How a file is called in what is told: from the root of the workspace.
pub fn shown(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).display().to_string()
}

pub fn sorted_entries(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

pub fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

pub fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}
