//! Public items that nobody uses, or tests alone.
//!
//! An item counts as used when its name stands anywhere else in the code of the workspace. That
//! lets a twin by name hide one that is not used; it never accuses one that is.

use std::collections::BTreeMap;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Item, Visibility};

use super::debts::Finding;
use super::source::{Crate, is_test_file, read, rust_files, shown, sorted_entries};

/// How often a name stands in code: of the program, and in all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Uses {
    pub program: usize,
    pub all: usize,
}

/// Crates that are there for tests.
const FOR_TESTS: &[&str] = &["fuzzing", "model", "sim"];
/// Modules that are.
const TESTING: &str = "testing";

pub type Names = BTreeMap<String, Uses>;

/// Of all code of the workspace.
pub fn names(root: &Path, crates: &[Crate]) -> Names {
    let mut names = Names::new();
    for module in crates.iter().flat_map(|krate| &krate.modules) {
        module.items.iter().for_each(|item| count(item.to_token_stream(), true, &mut names));
    }
    for file in sorted_entries(&root.join("crates")).iter().flat_map(|dir| rust_files(dir)) {
        let tokens: Result<TokenStream, _> = read(&file).parse();
        let tokens = tokens.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
        count(tokens, false, &mut names);
    }
    names
}

pub fn count(tokens: TokenStream, program: bool, names: &mut Names) {
    for token in tokens {
        let mut add = |name: &str| {
            let uses = names.entry(name.to_owned()).or_default();
            *(if program { &mut uses.program } else { &mut uses.all }) += 1;
        };
        match token {
            TokenTree::Ident(ident) => add(&ident.to_string()),
            TokenTree::Group(group) => count(group.stream(), program, names),
            TokenTree::Literal(literal) => {
                named_in_format(&literal.to_string()).for_each(&mut add);
            }
            TokenTree::Punct(_) => {}
        }
    }
}

/// What a text for `format!` names: `{NAME}`, `{name:?}`.
fn named_in_format(literal: &str) -> impl Iterator<Item = &str> {
    let names = literal.split('{').skip(1).filter_map(|rest| rest.split([':', '}']).next());
    names.filter(|name| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_'))
}

pub fn unused(root: &Path, krate: &Crate, names: &Names) -> Vec<Finding> {
    let mut found = Vec::new();
    for module in &krate.modules {
        let file = shown(root, &module.file);
        if is_test_file(&file) {
            continue;
        }
        let for_tests =
            FOR_TESTS.contains(&krate.name.as_str()) || module.path.iter().any(|it| it == TESTING);
        let mut public = Public { constants: krate.name != "ondisk", names: Vec::new() };
        module.items.iter().for_each(|item| public.visit_item(item));
        for name in public.names {
            let uses = names.get(&name).copied().unwrap_or_default();
            if uses.all <= 1 {
                found.push(Finding::new("unused", format!("{file}:{name}"), 1));
            } else if uses.program <= 1 && !for_tests {
                found.push(Finding::new("for-tests-alone", format!("{file}:{name}"), 1));
            }
        }
    }
    found
}

/// The names of items that are `pub` as they stand.
struct Public {
    /// Constants too.
    constants: bool,
    names: Vec<String>,
}

impl Public {
    fn add(&mut self, visibility: &Visibility, name: &syn::Ident) {
        if matches!(visibility, Visibility::Public(_)) {
            self.names.push(name.to_string());
        }
    }
}

impl<'ast> Visit<'ast> for Public {
    fn visit_item(&mut self, item: &'ast Item) {
        match item {
            Item::Fn(item) => self.add(&item.vis, &item.sig.ident),
            Item::Struct(item) => self.add(&item.vis, &item.ident),
            Item::Enum(item) => self.add(&item.vis, &item.ident),
            Item::Union(item) => self.add(&item.vis, &item.ident),
            Item::Trait(item) => self.add(&item.vis, &item.ident),
            Item::Type(item) => self.add(&item.vis, &item.ident),
            Item::Const(item) if self.constants => self.add(&item.vis, &item.ident),
            Item::Static(item) => self.add(&item.vis, &item.ident),
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.vis, &item.sig.ident);
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        if self.constants {
            self.add(&item.vis, &item.ident);
        }
    }
}
