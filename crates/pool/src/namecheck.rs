//! Names of datasets: which are valid, and which the pool keeps for itself. Nothing is looked up.
//!
//! Sources: module/zcommon/zfs_namecheck.c (rules and their order), lib/libzfs/libzfs_dataset.c
//! (texts).

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

/// Why this is no name for a new file system; as `zfs create` puts it.
pub(crate) fn check_filesystem(name: &str) -> std::result::Result<(), String> {
    check_spelling(name)?;
    if name.split('/').count() > MAX_DEPTH {
        return Err("maximum name nesting depth exceeded".into());
    }
    Ok(())
}

/// The same, however deep.
pub(crate) fn check_spelling(name: &str) -> std::result::Result<(), String> {
    if name.contains('@') {
        return Err("snapshot delimiter '@' is not expected here".into());
    }
    if name.contains('#') {
        return Err("bookmark delimiter '#' is not expected here".into());
    }
    if name.contains('%') {
        return Err("invalid character % in name".into());
    }
    check_entity(name)
}

/// Why this is no name for a snapshot (`@`) or bookmark (`#`) of a dataset.
pub(crate) fn check_point(name: &str, delimiter: char) -> std::result::Result<(), String> {
    let (what, other) = if delimiter == '@' { ("snapshot", '#') } else { ("bookmark", '@') };
    if name.contains(other) {
        let other = if delimiter == '@' { "bookmark" } else { "snapshot" };
        let sign = if delimiter == '@' { '#' } else { '@' };
        return Err(format!("{other} delimiter '{sign}' is not expected here"));
    }
    if !name.contains(delimiter) {
        return Err(format!("missing '{delimiter}' delimiter in {what} name"));
    }
    if name.contains('%') {
        return Err("invalid character % in name".into());
    }
    check_entity(name)
}

/// The rules for names of all kinds, component by component (`entity_namecheck`).
fn check_entity(name: &str) -> std::result::Result<(), String> {
    if name.len() > MAX_NAME {
        return Err("name is too long".into());
    }
    if name.starts_with('/') {
        return Err("leading slash in name".into());
    }
    let (mut rest, mut is_point) = (name, false);
    loop {
        let end = rest.find(['/', '@', '#']).unwrap_or(rest.len());
        let (part, sign) = (&rest[..end], rest[end..].chars().next());
        if sign.is_none() && name.ends_with('/') {
            return Err("trailing slash in name".into());
        }
        if let Some(bad) = part.chars().find(|c| !is_valid(*c)) {
            return Err(format!("invalid character '{bad}' in name"));
        }
        match (sign, part) {
            (None | Some('/'), ".") => return Err("self reference, '.' is found in name".into()),
            (None | Some('/'), "..") => return Err("parent reference, '..' is found in name".into()),
            (Some('@' | '#'), _) if is_point => {
                return Err("multiple '@' and/or '#' delimiters in name".into());
            }
            _ if part.is_empty() => {
                return Err("empty component or misplaced '@' or '#' delimiter in name".into());
            }
            (None, _) => return Ok(()),
            (Some('/'), _) if is_point => return Err("trailing slash in name".into()),
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

#[cfg(test)]
mod tests;
