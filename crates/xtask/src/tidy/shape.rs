//! How long a file may be, and that it says what it is for.

const MAX_LINES: usize = 1000;

/// Length, and a first line that says what the module is for.
pub fn shape(shown: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        found.push(format!("{shown}: {lines} lines, more than {MAX_LINES}"));
    }
    if !text.starts_with("//!") {
        found.push(format!("{shown}: does not begin with what it is for (//!)"));
    }
    found
}
