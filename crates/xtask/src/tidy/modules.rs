//! Circles of imports inside a crate: modules with one parent that need each other, directly or
//! around.
//!
//! A module and the modules below it are one thing to those beside it: what `spa::import` uses,
//! `spa` uses. So each level of the tree is looked at by itself, and what a module takes from its
//! own parent (`super::Name`) makes no circle. A name that a parent only passes on (`use`, with or
//! without `pub`) belongs to the module that it comes from.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{Item, UseTree};

use super::source::{Crate, Module, ModulePath};

/// Modules of one parent that form a circle, by their full names (`pool::spa`), in order.
pub type Circle = Vec<String>;

/// All circles of a crate, those of the upper levels first.
pub fn circles(krate: &Crate) -> Vec<Circle> {
    let mut levels: BTreeMap<ModulePath, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
    for Import { from, to, .. } in imports(krate) {
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if let (Some(user), Some(used)) = (from.get(common), to.get(common)) {
            let level = levels.entry(from[..common].to_vec()).or_default();
            level.entry(user.clone()).or_default().insert(used.clone());
        }
    }
    let mut circles = Vec::new();
    for (parent, uses) in levels {
        let prefix = [vec![krate.name.clone()], parent].concat().join("::");
        let all = strongly_connected(&uses);
        circles.extend(
            all.into_iter().map(|circle| circle.iter().map(|name| format!("{prefix}::{name}")).collect()),
        );
    }
    circles
}

/// Groups of two or more that reach each other. A level has some dozens of modules, so each is
/// simply walked from.
fn strongly_connected(uses: &BTreeMap<String, BTreeSet<String>>) -> Vec<Vec<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|from| (from, reach(uses, from))).collect();
    let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
    for (from, reach) in &reached {
        let back = |to: &&String| reached.get(*to).is_some_and(|there| there.contains(from));
        let group: Vec<String> = reach.iter().filter(|to| back(to)).map(|to| (*to).clone()).collect();
        if group.len() > 1 {
            groups.insert(group);
        }
    }
    groups.into_iter().collect()
}

fn reach<'a>(uses: &'a BTreeMap<String, BTreeSet<String>>, from: &'a String) -> BTreeSet<&'a String> {
    let (mut seen, mut left) = (BTreeSet::new(), vec![from]);
    while let Some(next) = left.pop() {
        left.extend(uses.get(next).into_iter().flatten().filter(|used| seen.insert(*used)));
    }
    seen
}

/// Why a crate has its circles, a line each: which module takes which name from which other one of
/// its circle. For whoever unties it.
pub fn reasons(krate: &Crate) -> Vec<String> {
    let circles = circles(krate);
    let named = |path: &[String]| format!("{}::{}", krate.name, path.join("::"));
    let mut lines = BTreeSet::new();
    for Import { from, to, name } in imports(krate) {
        let common = from.iter().zip(&to).take_while(|(a, b)| a == b).count();
        if from.len() == common || to.len() == common {
            continue;
        }
        let (user, used) = (named(&from[..=common]), named(&to[..=common]));
        if circles.iter().any(|circle| circle.contains(&user) && circle.contains(&used)) {
            lines.insert(format!("{user} -> {used}: {} takes {name}", named(&from)));
        }
    }
    lines.into_iter().collect()
}

/// What one module takes of another: the path of the module that uses, that of the module where
/// what it names is defined, and the name as an absolute path.
struct Import {
    from: ModulePath,
    to: ModulePath,
    name: String,
}

fn imports(krate: &Crate) -> Vec<Import> {
    let tree = Tree::of(krate);
    let mut imports = Vec::new();
    for module in &krate.modules {
        let mut named = Named::default();
        module.items.iter().for_each(|item| named.visit_item(item));
        named.paths.extend(uses_of(module).into_iter().map(|(_, path)| path));
        let targets = named.paths.iter().filter_map(|path| tree.absolute(&module.path, path));
        imports.extend(targets.map(|path| Import {
            from: module.path.clone(),
            to: tree.definer(&path, 0),
            name: path.join("::"),
        }));
    }
    imports
}

/// The modules of a crate, and what each passes on: name → path as it is written there.
struct Tree {
    passed_on: BTreeMap<ModulePath, BTreeMap<String, Vec<String>>>,
}

impl Tree {
    fn of(krate: &Crate) -> Tree {
        let passed_on =
            krate.modules.iter().map(|it| (it.path.clone(), uses_of(it).into_iter().collect())).collect();
        Tree { passed_on }
    }

    fn is_module(&self, path: &[String]) -> bool {
        self.passed_on.contains_key(path)
    }

    /// A path from the crate's root; `None` for what is of another crate.
    fn absolute(&self, module: &[String], path: &[String]) -> Option<Vec<String>> {
        let (mut base, mut rest) = (module.to_vec(), path);
        match rest.first()?.as_str() {
            "crate" => (base, rest) = (Vec::new(), &rest[1..]),
            "self" => rest = &rest[1..],
            "super" => {}
            child if self.is_module(&[module, &[child.to_owned()]].concat()) => {}
            _ => return None,
        }
        while rest.first().is_some_and(|name| name == "super") {
            base.pop()?;
            rest = &rest[1..];
        }
        Some([base.as_slice(), rest].concat())
    }

    /// The module in which the item of an absolute path is defined. Names that are passed on in a
    /// circle end somewhere.
    fn definer(&self, path: &[String], depth: usize) -> ModulePath {
        let within = (0..=path.len()).rev().find(|len| self.is_module(&path[..*len])).unwrap_or(0);
        let (module, rest) = path.split_at(within);
        let passed_on = rest.first().and_then(|name| self.passed_on.get(module)?.get(name));
        match passed_on.and_then(|from| self.absolute(module, from)) {
            Some(from) if depth < 8 => self.definer(&[from.as_slice(), &rest[1..]].concat(), depth + 1),
            _ => module.to_vec(),
        }
    }
}

/// What a module's `use` items bring in: the name it has here, and its path as written.
fn uses_of(module: &Module) -> Vec<(String, Vec<String>)> {
    let mut uses = Vec::new();
    for item in &module.items {
        if let Item::Use(item) = item {
            flatten(&item.tree, &mut Vec::new(), &mut uses);
        }
    }
    uses
}

fn flatten(tree: &UseTree, before: &mut Vec<String>, uses: &mut Vec<(String, Vec<String>)>) {
    let with = |name: String| [before.as_slice(), &[name]].concat();
    match tree {
        UseTree::Path(path) => {
            before.push(path.ident.to_string());
            flatten(&path.tree, before, uses);
            before.pop();
        }
        UseTree::Group(group) => group.items.iter().for_each(|tree| flatten(tree, before, uses)),
        UseTree::Name(name) if name.ident == "self" => {
            uses.push((before.last().cloned().unwrap_or_default(), before.clone()));
        }
        UseTree::Name(name) => uses.push((name.ident.to_string(), with(name.ident.to_string()))),
        UseTree::Rename(rename) => uses.push((rename.rename.to_string(), with(rename.ident.to_string()))),
        UseTree::Glob(_) => uses.push(("*".to_owned(), before.clone())),
    }
}

/// Paths in code that begin with `crate`, `self` or `super`, those inside of macros among them.
#[derive(Default)]
struct Named {
    paths: Vec<Vec<String>>,
}

impl Named {
    fn add(&mut self, path: Vec<String>) {
        if path.len() > 1 && ["crate", "self", "super"].contains(&path[0].as_str()) {
            self.paths.push(path);
        }
    }

    fn scan(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(ident) => {
                    if colons != 2 {
                        self.add(std::mem::take(&mut path));
                    }
                    path.push(ident.to_string());
                    colons = 0;
                }
                other => {
                    self.add(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.scan(group.stream());
                    }
                }
            }
        }
        self.add(path);
    }
}

impl<'ast> Visit<'ast> for Named {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        self.scan(mac.tokens.to_token_stream());
    }
}
