//! Functions that are too long to be seen at once.

use std::path::Path;

use syn::visit::{self, Visit};
use syn::{Block, Signature};

use super::debts::Finding;
use super::source::{Crate, shown};

/// Lines from `fn` to the closing brace.
pub const MAX_LINES: usize = 100;

pub fn long(root: &Path, krate: &Crate) -> Vec<Finding> {
    let mut found = Vec::new();
    for module in &krate.modules {
        let mut lengths = Lengths::default();
        module.items.iter().for_each(|item| lengths.visit_item(item));
        let file = shown(root, &module.file);
        let long = lengths.functions.into_iter().filter(|(_, lines)| *lines > MAX_LINES);
        found.extend(long.map(|(name, lines)| Finding::new("function", format!("{file}:{name}"), lines)));
    }
    found
}

#[derive(Default)]
pub struct Lengths {
    pub functions: Vec<(String, usize)>,
}

impl Lengths {
    fn add(&mut self, signature: &Signature, block: &Block) {
        let from = signature.fn_token.span.start().line;
        let to = block.brace_token.span.close().end().line;
        self.functions.push((signature.ident.to_string(), to - from + 1));
    }
}

impl<'ast> Visit<'ast> for Lengths {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        item.default.iter().for_each(|block| self.add(&item.sig, block));
        visit::visit_trait_item_fn(self, item);
    }
}
