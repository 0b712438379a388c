//! The properties of datasets and of pools, each of them defined once: name, heading, type, values,
//! default, who sets it, which datasets have it, how it reads. Defaults, checks, usage texts,
//! columns and what a form needs all come from these rows.
//!
//! A property is a variant of [`DatasetProperty`] or [`PoolProperty`] and has one row. The engine
//! matches by the variant where the value is, with an arm for each: a new row does not compile
//! until it has one (what bookmarks have stands apart, in `describe_bookmark`).
//!
//! No name or heading stands for two properties of a table. The rows are in the order of `get all`.
//! The number of a word is the one that a property ZAP has. Sources: module/zcommon/zfs_prop.c,
//! zpool_prop.c, zprop_common.c, include/sys/fs/zfs.h.

use crate::{DatasetKind, PropKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Makes the enumeration of the properties of one table from their rows.
macro_rules! properties {
    ($(#[$doc:meta])* $id:ident { $($variant:ident = $row:expr,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $id { $($variant,)+ }

        impl $id {
            /// All of them, in the order of `get all`.
            pub const ALL: &'static [$id] = &[$($id::$variant,)+];

            /// All that is known of it.
            pub fn row(self) -> &'static PropertyDef {
                static ROWS: &[PropertyDef] = &[$($row,)+];
                &ROWS[self as usize]
            }

            /// By its name, or by its heading in small letters: `avail`, `refer`, `cap`.
            pub fn named(name: &str) -> Option<$id> {
                let by_name = Self::ALL.iter().find(|prop| prop.row().name == name);
                by_name.or_else(|| Self::ALL.iter().find(|prop| prop.row().is_headed(name))).copied()
            }

            /// The rows that everybody is shown, in the order of their names: that of usage texts
            /// and forms.
            pub fn listed() -> Vec<&'static PropertyDef> {
                let rows = Self::ALL.iter().map(|prop| prop.row());
                let mut listed: Vec<&'static PropertyDef> = rows.filter(|row| row.is_listed()).collect();
                listed.sort_unstable_by_key(|row| row.name);
                listed
            }
        }
    };
}

mod dataset;
mod pool;
pub use dataset::{DEFAULT_VOLBLOCKSIZE, DatasetProperty};
pub use pool::PoolProperty;

/// Words and their numbers.
type Words = &'static [(&'static str, u64)];

const BOOLEAN: Words = &[("off", 0), ("on", 1)];

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropType {
    /// With the default.
    Number(u64),
    /// A number or `none`, which is the default: with the number that stands for it.
    Limit(u64),
    /// With the default, if there is one.
    Text(Option<&'static str>),
    /// One of these words, stored as its number; the first word of a number is the one shown. With
    /// the default.
    Choice(u64, Words),
}

/// Who sets it, and whether children get it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// Computed.
    ReadOnly,
    /// Set for one dataset only.
    Own,
    /// Set here or on an ancestor.
    Inherit,
    /// Set at creation, inherited then.
    Once,
    /// Set at creation, for one dataset only.
    OnceOwn,
}

/// When a property may be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Edit {
    Never,
    /// When the dataset or pool is made, and never again.
    AtCreation,
    Always,
}

/// How people read a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    Text,
    /// Bytes: 1.50G.
    Size,
    /// Bytes, few of them with their unit: 512B.
    Bytes,
    Count,
    /// A number that stands for something, and is never shortened.
    Identifier,
    /// Hundredths: 1.00x.
    Ratio,
    Percent,
    /// Seconds since 1970.
    Time,
}

impl Reads {
    /// As the API tells it.
    pub fn kind(self) -> PropKind {
        match self {
            Reads::Text => PropKind::Text,
            Reads::Size | Reads::Bytes => PropKind::Size,
            Reads::Count | Reads::Identifier => PropKind::Count,
            Reads::Ratio => PropKind::Ratio,
            Reads::Percent => PropKind::Percent,
            Reads::Time => PropKind::Time,
        }
    }
}

/// Who is shown a property.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Everybody: `get all`, usage texts and forms have it.
    Listed,
    /// Whoever names it.
    ByName,
    /// Nobody at the command line: pools and streams of other software have it.
    Nowhere,
}

/// Which numbers a value may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NumberRange {
    least: u64,
    most: u64,
    is_power_of_two: bool,
    /// 0 is one of them, too.
    or_zero: bool,
}

/// The options of a mount that say that a property is on or off
/// (lib/libzfs/os/linux/libzfs_mount_os.c, `option_map`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MountWords {
    pub on: &'static [&'static str],
    pub off: &'static [&'static str],
}

/// One row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PropertyDef {
    pub name: &'static str,
    /// Heading of its column in a list.
    pub column: &'static str,
    pub kind: PropType,
    pub setting: Setting,
    /// The datasets that have it; empty for a pool's.
    pub kinds: &'static [DatasetKind],
    pub reads: Reads,
    pub shown: Shown,
    /// What it may be, in words; empty where that can't be said.
    pub values: &'static str,
    /// What it reads unless set, where that is not the default of its type.
    default: Option<&'static str>,
    range: Option<NumberRange>,
    /// The feature of the pool that every value but the default needs.
    pub needs: Option<&'static str>,
    /// Least width of its column, where its values do not tell. That of `health` is also that of
    /// `referenced`, whose number is the same in the other table, for OpenZFS 2.1 to 2.3.
    pub width: Option<usize>,
    /// `None`: it does not say how a file system is mounted.
    pub mount: Option<MountWords>,
}

const fn row(
    name: &'static str,
    column: &'static str,
    kind: PropType,
    setting: Setting,
    kinds: &'static [DatasetKind],
) -> PropertyDef {
    let reads = match kind {
        PropType::Number(_) | PropType::Limit(_) => Reads::Size,
        PropType::Text(_) | PropType::Choice(..) => Reads::Text,
    };
    let (shown, values, default, range) = (Shown::Listed, "", None, None);
    let (needs, width, mount) = (None, None, None);
    PropertyDef {
        name,
        column,
        kind,
        setting,
        kinds,
        reads,
        shown,
        values,
        default,
        range,
        needs,
        width,
        mount,
    }
}

impl PropertyDef {
    const fn reads(self, reads: Reads) -> PropertyDef {
        PropertyDef { reads, ..self }
    }

    const fn shown(self, shown: Shown) -> PropertyDef {
        PropertyDef { shown, ..self }
    }

    const fn values(self, values: &'static str) -> PropertyDef {
        PropertyDef { values, ..self }
    }

    const fn default(self, text: &'static str) -> PropertyDef {
        PropertyDef { default: Some(text), ..self }
    }

    const fn range(self, range: NumberRange) -> PropertyDef {
        PropertyDef { range: Some(range), ..self }
    }

    const fn needs(self, feature: &'static str) -> PropertyDef {
        PropertyDef { needs: Some(feature), ..self }
    }

    const fn width(self, width: usize) -> PropertyDef {
        PropertyDef { width: Some(width), ..self }
    }

    const fn mount(self, on: &'static [&'static str], off: &'static [&'static str]) -> PropertyDef {
        PropertyDef { mount: Some(MountWords { on, off }), ..self }
    }

    pub fn edit(&self) -> Edit {
        match self.setting {
            Setting::ReadOnly => Edit::Never,
            Setting::Once | Setting::OnceOwn => Edit::AtCreation,
            Setting::Own | Setting::Inherit => Edit::Always,
        }
    }

    /// Children have the value, unless they have their own.
    pub fn is_inherited(&self) -> bool {
        matches!(self.setting, Setting::Inherit | Setting::Once)
    }

    /// Whether datasets of this kind have it.
    pub fn is_of(&self, kind: DatasetKind) -> bool {
        self.kinds.contains(&kind)
    }

    pub fn is_listed(&self) -> bool {
        self.shown == Shown::Listed
    }

    fn is_headed(&self, name: &str) -> bool {
        self.column.bytes().map(|byte| byte.to_ascii_lowercase()).eq(name.bytes())
    }

    /// Numbers stand to the right of their column, but not dates.
    pub fn is_right_aligned(&self) -> bool {
        matches!(self.kind, PropType::Number(_) | PropType::Limit(_)) && self.reads != Reads::Time
    }

    /// Whether a number is one that the value may be.
    pub fn admits(&self, number: u64) -> bool {
        let Some(range) = self.range else { return true };
        let fits = (range.least..=range.most).contains(&number);
        (number == 0 && range.or_zero) || (fits && (!range.is_power_of_two || number.is_power_of_two()))
    }

    /// The number that a word of a choice stands for.
    pub fn number_of(&self, word: &str) -> Option<u64> {
        let PropType::Choice(_, words) = self.kind else { return None };
        words.iter().find(|(known, _)| *known == word).map(|(_, number)| *number)
    }

    /// The word that shows a number of a choice.
    pub fn word_of(&self, number: u64) -> Option<&'static str> {
        let PropType::Choice(_, words) = self.kind else { return None };
        words.iter().find(|(_, known)| *known == number).map(|(word, _)| *word)
    }

    /// What it reads unless set; empty where nobody sets it.
    pub fn default_text(&self) -> String {
        match (self.default, self.kind) {
            (Some(text), _) => text.to_owned(),
            _ if self.edit() == Edit::Never => String::new(),
            (None, PropType::Number(number)) => number.to_string(),
            (None, PropType::Limit(_)) => "none".to_owned(),
            (None, PropType::Text(text)) => text.unwrap_or("").to_owned(),
            (None, PropType::Choice(number, _)) => self.word_of(number).unwrap_or("").to_owned(),
        }
    }
}

/// A row as it goes over the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PropertyInfo {
    pub name: String,
    pub values: String,
    pub default: String,
    pub edit: Edit,
    pub inherit: bool,
    pub kind: PropKind,
}

/// `GET /v1/properties`
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PropertyTables {
    pub datasets: Vec<PropertyInfo>,
    pub pools: Vec<PropertyInfo>,
}

impl PropertyTables {
    pub fn all() -> PropertyTables {
        let infos = |rows: Vec<&'static PropertyDef>| rows.into_iter().map(PropertyInfo::of).collect();
        PropertyTables { datasets: infos(DatasetProperty::listed()), pools: infos(PoolProperty::listed()) }
    }
}

impl PropertyInfo {
    fn of(row: &PropertyDef) -> PropertyInfo {
        PropertyInfo {
            name: row.name.to_owned(),
            values: row.values.to_owned(),
            default: row.default_text(),
            edit: row.edit(),
            inherit: row.is_inherited(),
            kind: row.reads.kind(),
        }
    }
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
