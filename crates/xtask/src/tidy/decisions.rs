//! Decisions by the text of a message. What was refused is data: a kind and its parameters;
//! sentences are for people.
//!
//! Found is what compares (`starts_with`, `contains`, `==`, …) the `detail` of a problem, a warning
//! or sentence by that name, or what an error's `to_string()` says. Tests may: they pin sentences.

use std::path::Path;

use quote::ToTokens;
use syn::visit::{self, Visit};
use syn::{BinOp, Expr};

use super::debts::Finding;
use super::source::{Crate, shown};

const COMPARING: &[&str] = &[
    "starts_with",
    "ends_with",
    "contains",
    "strip_prefix",
    "strip_suffix",
    "find",
    "rfind",
    "split_once",
    "eq",
];

/// What holds a text for people, by the names that it has.
const MESSAGES: &[&str] = &["detail", "warning", "warnings", "sentence", "sentences"];

pub fn by_text(root: &Path, krate: &Crate) -> Vec<Finding> {
    let mut found = Vec::new();
    for module in &krate.modules {
        let mut decisions = Decisions::default();
        module.items.iter().for_each(|item| decisions.visit_item(item));
        if decisions.count > 0 {
            found.push(Finding::new("decides-by-text", shown(root, &module.file), decisions.count));
        }
    }
    found
}

#[derive(Default)]
pub struct Decisions {
    pub count: usize,
}

/// Whether an expression is what a message says.
fn is_message(expr: &Expr) -> bool {
    match expr {
        Expr::Path(path) => is_name(&path.path),
        Expr::Field(field) => is_name(&field.member),
        Expr::MethodCall(call) if call.method == "to_string" => is_error(&call.receiver),
        Expr::MethodCall(call) => {
            ["as_str", "as_ref", "trim"].iter().any(|it| call.method == it) && is_message(&call.receiver)
        }
        Expr::Reference(reference) => is_message(&reference.expr),
        Expr::Paren(paren) => is_message(&paren.expr),
        _ => false,
    }
}

fn is_name(name: &impl ToTokens) -> bool {
    MESSAGES.contains(&name.to_token_stream().to_string().as_str())
}

/// By the names that errors have.
fn is_error(expr: &Expr) -> bool {
    let text = expr.to_token_stream().to_string();
    ["error", "err", "problem", "refusal", "why"]
        .iter()
        .any(|name| text == *name || text.ends_with(&format!(". {name}")))
}

impl<'ast> Visit<'ast> for Decisions {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if COMPARING.iter().any(|name| call.method == name) && is_message(&call.receiver) {
            self.count += 1;
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if matches!(binary.op, BinOp::Eq(_) | BinOp::Ne(_))
            && (is_message(&binary.left) || is_message(&binary.right))
        {
            self.count += 1;
        }
        visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_match(&mut self, matched: &'ast syn::ExprMatch) {
        if is_message(&matched.expr) {
            self.count += 1;
        }
        visit::visit_expr_match(self, matched);
    }
}
