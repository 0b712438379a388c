//! Names in a tree whose levels `/` divides, as those of datasets, and paths.

/// Whether a name is `top` or below it: `a/b` and `a/b/c` are at or below `a/b`, `a/bc` is not.
pub fn is_at_or_below(name: &str, top: &str) -> bool {
    name.strip_prefix(top).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
