//! Paths in documents that lead nowhere: links, and what stands in backticks and looks like a file
//! of this tree.

use std::path::Path;

use super::source::{file_name, read, shown, sorted_entries};

/// Endings by which something in backticks is a file of ours.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".svg"];
/// Folders in which a document may leave out the beginning: `pool/src/txg.rs`.
const BASES: &[&str] = &["", "crates", "docs"];

pub fn stale_paths(root: &Path) -> Vec<String> {
    let documents = [sorted_entries(root), sorted_entries(&root.join("docs"))].concat();
    let mut found = Vec::new();
    for document in documents.iter().filter(|path| file_name(path).ends_with(".md")) {
        let folder = document.parent().unwrap_or(root);
        for path in paths_in(&read(document)) {
            let exists = match &path {
                Mention::Link(link) => folder.join(link).exists(),
                Mention::Code(code) => BASES.iter().any(|base| root.join(base).join(code).exists()),
            };
            if !exists {
                found.push(format!("{}: leads nowhere: {}", shown(root, document), path.text()));
            }
        }
    }
    found
}

#[derive(Debug, PartialEq, Eq)]
pub enum Mention {
    /// Relative to the document.
    Link(String),
    /// In backticks.
    Code(String),
}

impl Mention {
    fn text(&self) -> &str {
        match self {
            Mention::Link(text) | Mention::Code(text) => text,
        }
    }
}

/// What a document mentions, outside of blocks of code.
pub fn paths_in(text: &str) -> Vec<Mention> {
    let mut found = Vec::new();
    for prose in text.split("```").step_by(2) {
        let code = prose.split('`').skip(1).step_by(2).filter(|code| is_path(code));
        found.extend(code.map(|code| Mention::Code(code.to_owned())));
        let links = prose.split("](").skip(1).filter_map(|rest| rest.split([')', '#', ' ']).next());
        let ours =
            links.filter(|link| !link.is_empty() && !link.contains("://") && !link.starts_with("mailto:"));
        found.extend(ours.map(|link| Mention::Link(link.to_owned())));
    }
    found
}

fn is_path(code: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    code.contains('/')
        && !code.starts_with('/')
        && code.chars().all(plain)
        && ENDINGS.iter().any(|ending| code.ends_with(ending))
}
