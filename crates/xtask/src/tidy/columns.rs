//! Comments that are too wide to be read.

use std::path::Path;

use super::source::{read, rust_files, shown};

/// Of a line that has nothing but a comment, its indentation counted.
pub const MAX: usize = 100;

/// The lines of a crate that are wider.
pub fn wide(root: &Path, crate_dir: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for file in rust_files(crate_dir) {
        let lines = wide_lines(&read(&file));
        found.extend(lines.into_iter().map(|number| format!("{}:{number}", shown(root, &file))));
    }
    found
}

/// Their numbers, from 1. Drawings and tables are let pass, and what has no blank to be broken at:
/// addresses.
pub fn wide_lines(text: &str) -> Vec<usize> {
    let (mut wide, mut in_drawing) = (Vec::new(), false);
    for (number, line) in text.lines().enumerate() {
        let Some(comment) =
            line.trim_start().strip_prefix("//").map(|it| it.trim_start_matches(['/', '!']).trim())
        else {
            in_drawing = false;
            continue;
        };
        if comment.starts_with("```") {
            in_drawing = !in_drawing;
        }
        let may_be_broken = !in_drawing && !comment.starts_with('|') && comment.contains(' ');
        if may_be_broken && line.chars().count() > MAX {
            wide.push(number + 1);
        }
    }
    wide
}
