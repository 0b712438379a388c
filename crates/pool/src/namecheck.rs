//! Names of datasets: which are valid, and which the pool keeps for itself. Nothing is looked up.
//!
//! Source: module/zcommon/zfs_namecheck.c (rules and their order).

use refusal::NameFault;

/// Longest name of a dataset, in bytes.
pub(crate) const MAX_NAME: usize = 255;
/// Levels a name may have.
pub(crate) const MAX_DEPTH: usize = 50;

/// The hidden clone that a receive into a dataset writes to.
pub(crate) const RECEIVE_CLONE: &str = "%recv";

/// Names that no user gives: the pool's own directories, and clones that live as long as one
/// operation.
pub(crate) fn is_hidden(name: &str) -> bool {
    name.starts_with(['$', '%'])
}

/// Why this is no name for a new file system.
pub(crate) fn check_filesystem(name: &str) -> Result<(), NameFault> {
    check_spelling(name)?;
    if name.split('/').count() > MAX_DEPTH {
        return Err(NameFault::TooDeep);
    }
    Ok(())
}

/// The same, however deep.
pub(crate) fn check_spelling(name: &str) -> Result<(), NameFault> {
    if let Some(sign) = ['@', '#'].into_iter().find(|sign| name.contains(*sign)) {
        return Err(NameFault::Unexpected(sign));
    }
    check_entity(name)
}

/// Why this is no name for a snapshot (`@`) or bookmark (`#`) of a dataset.
pub(crate) fn check_point(name: &str, delimiter: char) -> Result<(), NameFault> {
    let other = if delimiter == '@' { '#' } else { '@' };
    if name.contains(other) {
        return Err(NameFault::Unexpected(other));
    }
    if !name.contains(delimiter) {
        return Err(NameFault::Missing(delimiter));
    }
    check_entity(name)
}

/// The rules for names of all kinds, component by component (`entity_namecheck`).
fn check_entity(name: &str) -> Result<(), NameFault> {
    if name.contains('%') {
        return Err(NameFault::Percent);
    }
    if name.len() > MAX_NAME {
        return Err(NameFault::TooLong);
    }
    if name.starts_with('/') {
        return Err(NameFault::LeadingSlash);
    }
    let (mut rest, mut is_point) = (name, false);
    loop {
        let end = rest.find(['/', '@', '#']).unwrap_or(rest.len());
        let (part, sign) = (&rest[..end], rest[end..].chars().next());
        if sign.is_none() && name.ends_with('/') {
            return Err(NameFault::TrailingSlash);
        }
        if let Some(bad) = part.chars().find(|c| !is_valid(*c)) {
            return Err(NameFault::Character(bad));
        }
        match (sign, part) {
            (None | Some('/'), ".") => return Err(NameFault::SelfReference),
            (None | Some('/'), "..") => return Err(NameFault::ParentReference),
            (Some('@' | '#'), _) if is_point => return Err(NameFault::SeveralDelimiters),
            _ if part.is_empty() => return Err(NameFault::EmptyComponent),
            (None, _) => return Ok(()),
            (Some('/'), _) if is_point => return Err(NameFault::TrailingSlash),
            (Some(sign), _) => is_point |= sign != '/',
        }
        rest = &rest[end + 1..];
    }
}

fn is_valid(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | ':' | ' ')
}

/// The name one level up.
pub(crate) fn parent_of(name: &str) -> Option<&str> {
    name.rsplit_once('/').map(|(parent, _)| parent)
}

/// The last part of a name.
pub(crate) fn last_of(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests;
