//! Names of datasets: which are valid, and what they lead to.
//!
//! Sources: module/zcommon/zfs_namecheck.c (rules and their order), lib/libzfs/libzfs_dataset.c
//! (texts).

use std::sync::Arc;

use ondisk::dsl_dataset::DslDatasetPhys;

use super::dir::Dir;
use super::list::DatasetKind;
use super::{Dsl, LongHold};
use crate::{PoolError, Result};

/// Longest name of a dataset, in bytes.
pub const MAX_NAME: usize = 255;
/// Levels a name may have.
pub const MAX_DEPTH: usize = 50;

/// What a name leads to.
#[derive(Clone)]
pub(crate) struct Found {
    pub dir: Arc<Dir>,
    /// Object of the dataset.
    pub object: u64,
    pub phys: DslDatasetPhys,
}

impl Found {
    pub fn is_snapshot(&self) -> bool {
        self.phys.is_snapshot()
    }
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

impl Dsl {
    /// The directory of this name; `NotFound` also when the pool has another name.
    pub(crate) fn find_dir(&self, name: &str) -> Result<Arc<Dir>> {
        let mut parts = name.split('/');
        if parts.next() != Some(self.parts.name().as_str()) {
            return Err(PoolError::NotFound);
        }
        let mut dir = self.root()?;
        for part in parts {
            if part.starts_with('$') {
                return Err(PoolError::NotFound);
            }
            let object = self.mos.find(dir.phys().child_dir_zapobj, part)?.ok_or(PoolError::NotFound)?;
            dir = self.child_dir(&dir, part, object)?;
        }
        Ok(dir)
    }

    /// A file system, volume or snapshot by its name.
    pub(crate) fn find(&self, name: &str) -> Result<Found> {
        let (head, snap) = name.split_once('@').map_or((name, None), |(head, snap)| (head, Some(snap)));
        let dir = self.find_dir(head)?;
        let object = dir.phys().head_dataset_obj;
        if object == 0 {
            return Err(PoolError::NotFound);
        }
        let phys = self.mos.dataset(object)?;
        let Some(snap) = snap else { return Ok(Found { dir, object, phys }) };
        let object = self.mos.find(phys.snapnames_zapobj, snap)?.ok_or(PoolError::NotFound)?;
        let phys = self.mos.dataset(object)?;
        Ok(Found { dir, object, phys })
    }

    /// The name of a dataset's object.
    pub fn dataset_name(&self, object: u64) -> Result<String> {
        let phys = self.mos.dataset(object)?;
        let dir = self.dir(phys.dir_obj)?;
        if !phys.is_snapshot() {
            return Ok(dir.name());
        }
        let head = self.mos.dataset(dir.phys().head_dataset_obj)?;
        let names = self.mos.entries(head.snapnames_zapobj)?;
        let name = names.into_iter().find(|(_, value)| value.first() == object);
        let (name, _) = name.ok_or(PoolError::NotFound)?;
        Ok(format!("{}@{name}", dir.name()))
    }

    /// The object of a file system, volume or snapshot.
    pub fn object_of(&self, name: &str) -> Result<u64> {
        let _config = self.reading();
        Ok(self.find(name)?.object)
    }

    /// Opens a dataset by its object, to use it.
    pub fn open_by_object(&self, object: u64) -> Result<LongHold> {
        let _config = self.reading();
        Ok(LongHold::on(self.open_object(object)?))
    }

    /// Lets go of an open dataset that nobody uses.
    pub fn close_if_idle(&self, object: u64) {
        let _config = self.reading();
        self.close_idle(object);
    }

    /// Opens a file system, volume or snapshot, to use it.
    pub fn open_dataset(&self, name: &str) -> Result<LongHold> {
        let _config = self.reading();
        let found = self.find(name)?;
        Ok(LongHold::on(self.open_object(found.object)?))
    }

    /// Its kind; opens the object set, for only that knows.
    pub(crate) fn kind_of(&self, found: &Found) -> Result<DatasetKind> {
        if found.is_snapshot() {
            return Ok(DatasetKind::Snapshot);
        }
        self.head_kind(found.object, &found.phys)
    }
}

#[cfg(test)]
mod tests;
