//! Properties: what a value may be, how it reads, and where it comes from.
//!
//! The tables are in `api-types`; how values are stored and inherited is [`crate::dsl`]'s business.
//! Here text becomes numbers and numbers text.
//!
//! Sources: lib/libzfs/libzfs_dataset.c (`zfs_valid_proplist`), libzfs_util.c
//! (`zprop_parse_value`).

mod check;

use api_types::{PropType, PropertyDef, Reads, Source};
use ondisk::version::newest_file_system;
use ondisk::znode;

pub(crate) use check::is_too_new;
pub use check::{AUTO, Checker, is_built, parse_pool_value};

/// A stored value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RawValue {
    Number(u64),
    Text(String),
}

impl RawValue {
    pub fn number(&self) -> Option<u64> {
        if let RawValue::Number(number) = self { Some(*number) } else { None }
    }

    pub fn text(&self) -> Option<&str> {
        if let RawValue::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn to_zap(&self) -> dmu::zap::Value {
        match self {
            RawValue::Number(number) => dmu::zap::Value::one(*number),
            RawValue::Text(text) => dmu::zap::Value::text(text),
        }
    }

    pub(crate) fn from_zap(value: &dmu::zap::Value) -> RawValue {
        match value.as_text() {
            Some(text) => RawValue::Text(text.to_owned()),
            None => RawValue::Number(value.first()),
        }
    }
}

/// Validated values for a dataset: those stored as properties, and those its content keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RawProps {
    pub local: Vec<(String, RawValue)>,
    /// `version`, `casesensitivity`, `normalization`, `utf8only`: given at creation.
    pub creation: Vec<(&'static str, u64)>,
}

impl RawProps {
    /// The number given for a property.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.local.iter().find(|(known, _)| known == name).and_then(|(_, value)| value.number())
    }
}

/// The effective properties of a file system, as its content and its servers use them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FsProps {
    pub(crate) values: Vec<(&'static str, RawValue, Source)>,
}

/// Kept in the content of a file system, with the values of a new one.
pub(crate) const CREATION: [(&str, u64); 4] =
    [("version", znode::VERSION), ("utf8only", 0), ("normalization", 0), ("casesensitivity", 0)];

impl FsProps {
    /// A number or the number of a choice; 0 for a name that has none.
    pub fn number(&self, name: &str) -> u64 {
        let found = self.values.iter().find(|(n, ..)| *n == name);
        found.and_then(|(_, value, _)| value.number()).unwrap_or(0)
    }

    pub fn is_on(&self, name: &str) -> bool {
        self.number(name) != 0
    }

    pub fn text(&self, name: &str) -> &str {
        let found = self.values.iter().find(|(n, ..)| *n == name);
        found.and_then(|(_, value, _)| value.text()).unwrap_or("")
    }

    pub fn source(&self, name: &str) -> Source {
        let found = self.values.iter().find(|(n, ..)| *n == name);
        found.map_or(Source::None, |(_, _, source)| source.clone())
    }

    /// With what the content of a new file system is to keep, in a pool of this version.
    pub(crate) fn with_creation(mut self, pool_version: u64, props: &RawProps) -> FsProps {
        for (name, newest) in CREATION {
            let default = if name == "version" { newest_file_system(pool_version) } else { newest };
            let given = props.creation.iter().find(|(n, _)| *n == name);
            let number = given.map_or(default, |(_, number)| *number);
            self.values.retain(|(n, ..)| *n != name);
            self.values.push((name, RawValue::Number(number), Source::None));
        }
        self
    }

    /// Where it is mounted under `altroot`: a path, or `none` or `legacy`. `name` is the dataset's.
    pub fn mountpoint(&self, name: &str, altroot: Option<&str>) -> String {
        mountpoint(self.text("mountpoint"), &self.source("mountpoint"), name, altroot)
    }
}

/// The path that a value of `mountpoint` means for this dataset (`dsl_get_mountpoint`).
pub fn mountpoint(value: &str, source: &Source, name: &str, altroot: Option<&str>) -> String {
    if !value.starts_with('/') {
        return value.to_owned();
    }
    let below = match source {
        Source::Inherited(from) => name.strip_prefix(from.as_str()).unwrap_or("").trim_start_matches('/'),
        Source::Default => name,
        _ => "",
    };
    let root = altroot.filter(|root| *root != "/").unwrap_or("");
    let base = if value == "/" && (!root.is_empty() || !below.is_empty()) { "" } else { value };
    if below.is_empty() { format!("{root}{base}") } else { format!("{root}{base}/{below}") }
}

/// The exact form of a stored value.
pub fn exact(row: &PropertyDef, value: &RawValue) -> String {
    match value {
        RawValue::Text(text) => text.clone(),
        RawValue::Number(number) => match row.kind {
            PropType::Choice(..) => row.word_of(*number).map_or_else(|| number.to_string(), str::to_owned),
            _ if row.reads == Reads::Ratio => format!("{}.{:02}", number / 100, number % 100),
            _ => number.to_string(),
        },
    }
}

/// The value of a property nobody set.
pub fn default_of(row: &PropertyDef) -> RawValue {
    match row.kind {
        PropType::Number(number) | PropType::Limit(number) | PropType::Choice(number, _) => {
            RawValue::Number(number)
        }
        PropType::Text(text) => RawValue::Text(text.unwrap_or("").to_owned()),
    }
}

#[cfg(test)]
mod tests;
