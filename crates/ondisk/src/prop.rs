//! The properties of datasets and of pools: every native one, what it may be, and how its value is
//! stored.
//!
//! Numbers and choices are stored as one 64-bit number under the property's name in a property ZAP,
//! texts as bytes. The tables are in the order in which `zfs get all` and `zpool get all` print.
//!
//! Suffixes of a stored name tell what happened to it rather than its value: see
//! [`SUFFIX_RECEIVED`] and kin. Sources: module/zcommon/zfs_prop.c, zpool_prop.c,
//! include/sys/fs/zfs.h, module/zfs/dsl_prop.c.

mod choices;
mod dataset;
mod pool;
mod userspace;

pub use choices::*;
pub use dataset::DATASET;
pub use pool::POOL;
pub use userspace::{Spender, UserspaceProp};

/// A value that came with a stream; a local one hides it.
pub const SUFFIX_RECEIVED: &str = "$recvd";
/// The property is inherited although a value was received.
pub const SUFFIX_INHERIT: &str = "$inherit";
/// A value that older software must not see under the plain name ("ignored if unknown").
pub const SUFFIX_IUV: &str = "$iuv";
/// In the property ZAP of a dataset that has received properties at all.
pub const HAS_RECEIVED: &str = "$hasrecvd";
/// "No limit" of limits whose 0 means zero.
pub const UNLIMITED: u64 = u64::MAX;
/// Longest name and longest text value of a property, in bytes.
pub const MAX_NAME: usize = 256;
pub const MAX_TEXT: usize = 8192;

/// `zfs_type_t` bits: which kinds of datasets have a property.
pub const FILESYSTEM: u8 = 1;
pub const SNAPSHOT: u8 = 2;
pub const VOLUME: u8 = 4;
pub const BOOKMARK: u8 = 16;

/// What a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PropType {
    /// With the default.
    Number(u64),
    /// With the default, if there is one.
    Text(Option<&'static str>),
    /// One of these words, stored as its number; the first word of a number is the one shown. With
    /// the default.
    Choice(u64, &'static [(&'static str, u64)]),
}

/// Who sets it, and whether children get it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// How people see the number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Render {
    /// Bytes: 1.50G.
    Size,
    Count,
    /// Hundredths: 1.00x.
    Ratio,
    Percent,
    /// Seconds since 1970.
    Time,
    Text,
}

/// One property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prop {
    pub name: &'static str,
    /// Heading of its column in a list.
    pub column: &'static str,
    pub kind: PropType,
    pub setting: Setting,
    /// Kinds of datasets that have it: [`FILESYSTEM`] and kin; 0 for a pool's.
    pub types: u8,
    pub render: Render,
    /// Its column is flush right.
    pub right: bool,
    /// Left out of `get all`.
    pub hidden: bool,
    /// What it may be, in words.
    pub values: &'static str,
}

impl Prop {
    const fn new(
        name: &'static str,
        column: &'static str,
        kind: PropType,
        setting: Setting,
        types: u8,
    ) -> Prop {
        let number = matches!(kind, PropType::Number(_));
        let render = if number { Render::Size } else { Render::Text };
        Prop { name, column, kind, setting, types, render, right: number, hidden: false, values: "" }
    }

    const fn values(self, values: &'static str) -> Prop {
        Prop { values, ..self }
    }

    const fn render(self, render: Render) -> Prop {
        Prop { render, ..self }
    }

    const fn left(self) -> Prop {
        Prop { right: false, ..self }
    }

    const fn hidden(self) -> Prop {
        Prop { hidden: true, ..self }
    }

    /// Only the program writes it.
    pub const fn is_readonly(&self) -> bool {
        matches!(self.setting, Setting::ReadOnly)
    }

    pub const fn is_once(&self) -> bool {
        matches!(self.setting, Setting::Once | Setting::OnceOwn)
    }

    /// Children have the value, unless they have their own.
    pub const fn is_inherited(&self) -> bool {
        matches!(self.setting, Setting::Inherit | Setting::Once)
    }

    /// Whether datasets of these kinds have it.
    pub const fn is_of(&self, types: u8) -> bool {
        self.types & types != 0
    }

    /// The default of a number or a choice.
    pub const fn default_number(&self) -> Option<u64> {
        match self.kind {
            PropType::Number(n) | PropType::Choice(n, _) => Some(n),
            PropType::Text(_) => None,
        }
    }

    /// The number a word of a choice stands for.
    pub fn number_of(&self, word: &str) -> Option<u64> {
        let PropType::Choice(_, words) = self.kind else { return None };
        words.iter().find(|(w, _)| *w == word).map(|(_, number)| *number)
    }

    /// The word that shows a number of a choice.
    pub fn word_of(&self, number: u64) -> Option<&'static str> {
        let PropType::Choice(_, words) = self.kind else { return None };
        words.iter().find(|(_, n)| *n == number).map(|(word, _)| *word)
    }
}

/// A native property of datasets, by its name or its column's in small letters (zprop_common.c,
/// `propname_match`).
pub fn dataset_prop(name: &str) -> Option<&'static Prop> {
    find(DATASET, name)
}

/// A native property of pools.
pub fn pool_prop(name: &str) -> Option<&'static Prop> {
    find(POOL, name)
}

fn find(table: &'static [Prop], name: &str) -> Option<&'static Prop> {
    table
        .iter()
        .find(|prop| prop.name == name)
        .or_else(|| table.iter().find(|prop| !prop.hidden && prop.column.to_ascii_lowercase() == name))
}

/// A user's property: a name with a colon, of the characters that names may have.
pub fn is_user_prop(name: &str) -> bool {
    let valid = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_.:".contains(&c);
    name.contains(':') && name.bytes().all(valid)
}

#[cfg(test)]
mod tests;
