//! The tables of properties: what exists, what may be set, how it is shown. Facts from OpenZFS's
//! module/zcommon/zfs_prop.c and zpool_prop.c. The engine validates values; these tables serve
//! usage texts, column headings and forms.

use crate::PropKind;
use serde::{Deserialize, Serialize};

mod table;
pub use table::{DATASET_PROPERTIES, POOL_PROPERTIES};

/// When a property may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    Never,
    /// When the dataset or pool is made, and never again.
    AtCreation,
    Always,
}

/// One row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyDef {
    pub name: &'static str,
    /// Heading of its column in a list.
    pub column: &'static str,
    /// What it may be, in words; empty where that can't be said.
    pub values: &'static str,
    /// What it is unless set; empty where there is none.
    pub default: &'static str,
    pub edit: Edit,
    pub inherit: bool,
    pub kind: PropKind,
    /// Not shown in usage texts.
    pub hidden: bool,
}

impl PropertyDef {
    /// Numbers stand to the right of their column; an enumeration or a date doesn't.
    pub fn right_aligned(&self) -> bool {
        self.name == "health"
            || matches!(self.kind, PropKind::Size | PropKind::Count | PropKind::Ratio | PropKind::Percent)
    }
}

/// A row as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyInfo {
    pub name: String,
    pub values: String,
    pub default: String,
    pub edit: Edit,
    pub inherit: bool,
    pub kind: PropKind,
}

/// `GET /v1/properties`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PropertyTables {
    pub datasets: Vec<PropertyInfo>,
    pub pools: Vec<PropertyInfo>,
}

impl PropertyTables {
    pub fn all() -> PropertyTables {
        let rows =
            |table: &[PropertyDef]| table.iter().filter(|row| !row.hidden).map(PropertyInfo::of).collect();
        PropertyTables { datasets: rows(DATASET_PROPERTIES), pools: rows(POOL_PROPERTIES) }
    }
}

impl PropertyInfo {
    fn of(row: &PropertyDef) -> PropertyInfo {
        PropertyInfo {
            name: row.name.to_owned(),
            values: row.values.to_owned(),
            default: row.default.to_owned(),
            edit: row.edit,
            inherit: row.inherit,
            kind: row.kind,
        }
    }
}

/// A dataset property by its name, or by the heading of its column in small letters, as OpenZFS
/// allows (`avail`, `refer`, `ratio`, …).
pub fn dataset_property(name: &str) -> Option<&'static PropertyDef> {
    find(DATASET_PROPERTIES, name)
}

/// A pool property, likewise (`alloc`, `cap`, `frag`, …).
pub fn pool_property(name: &str) -> Option<&'static PropertyDef> {
    find(POOL_PROPERTIES, name)
}

fn find(table: &'static [PropertyDef], name: &str) -> Option<&'static PropertyDef> {
    table
        .iter()
        .find(|row| row.name == name)
        .or_else(|| table.iter().find(|row| row.column.to_ascii_lowercase() == name))
}

/// A name that only means something to whoever set it: `module:property`.
pub fn is_user_property(name: &str) -> bool {
    name.len() < 256
        && name.contains(':')
        && !name.starts_with('-')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b":-_.+ ".contains(&byte))
}

/// `userused@…`, `written@…` and the like: one property per user, group, project or snapshot.
pub fn is_dataset_at_property(name: &str) -> bool {
    const STEMS: [&str; 3] = ["user", "group", "project"];
    const KINDS: [&str; 4] = ["used", "quota", "objused", "objquota"];
    match name.split_once(['@', '#']) {
        Some(("written", since)) => !since.is_empty(),
        Some((stem, _)) => {
            name.contains('@')
                && STEMS.iter().any(|who| stem.strip_prefix(who).is_some_and(|kind| KINDS.contains(&kind)))
        }
        None => false,
    }
}

/// `feature@…` and `unsupported@…` of a pool.
pub fn is_feature_property(name: &str) -> bool {
    name.starts_with("feature@") || name.starts_with("unsupported@")
}

#[cfg(test)]
mod tests;
