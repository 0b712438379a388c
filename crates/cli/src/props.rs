//! Properties on the command line: lists of them to show, values to set, and how a value looks.

use crate::clock;
use crate::fail::{Stop, fail, usage};
use crate::human::{nicebytes, nicenum};
use api_types::{
    DATASET_PROPERTIES, POOL_PROPERTIES, PropKind, PropValue, PropertyChange, PropertyDef, Source,
    dataset_property, is_dataset_at_property, is_feature_property, is_user_property, pool_property,
};

/// Whose properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    Dataset,
    Pool,
}

/// A property that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    /// `None`: a user property, a feature, `userused@…`.
    pub def: Option<&'static PropertyDef>,
}

impl Column {
    pub fn heading(&self) -> String {
        self.def.map_or_else(|| self.name.to_uppercase(), |def| def.column.to_owned())
    }
    pub fn right_aligned(&self) -> bool {
        self.def.map_or_else(|| is_dataset_at_property(&self.name), PropertyDef::right_aligned)
    }
    /// At least as wide as every value that it may take where these are few, as five digits of a
    /// number, and as its heading (module/zcommon/zprop_common.c, `zprop_width`).
    pub fn min_width(&self, domain: Domain) -> usize {
        let Some(def) = self.def else { return self.name.len() };
        let values = match (domain, def.name) {
            // Its number in the one table is that of `health` in the other, which 2.1 to 2.3 take
            // for it.
            (Domain::Dataset, "referenced") => 8,
            (Domain::Pool, "health") => 8,
            (Domain::Dataset, "compression") => "zstd-fast-1000".len(),
            (Domain::Dataset, "dedup") => "blake3,verify".len(),
            _ if def.right_aligned() => 5,
            _ if def.values.contains(['<', '[']) || !def.values.contains('|') => 0,
            _ => def.values.split('|').map(|value| value.trim().len()).max().unwrap_or(0),
        };
        values.max(def.column.len())
    }
}

/// How a volume is shared by iSCSI. OpenZFS has no such property: it is a user's, so that others
/// carry it along.
pub const ISCSI: &str = "cistern:iscsi";

/// A property's name as the daemon knows it: `shareiscsi` is what it was called for years.
pub fn proper(name: &str) -> &str {
    if name == "shareiscsi" { ISCSI } else { name }
}

/// One property by name, alias or pattern.
pub fn column(domain: Domain, name: &str) -> Option<Column> {
    let name = proper(name);
    let def = match domain {
        Domain::Dataset => dataset_property(name),
        Domain::Pool => pool_property(name),
    };
    let special = match domain {
        Domain::Dataset => is_user_property(name) || is_dataset_at_property(name),
        Domain::Pool => is_feature_property(name) || is_user_property(name),
    };
    match def {
        Some(def) => Some(Column { name: def.name.to_owned(), def: Some(def) }),
        None => special.then(|| Column { name: name.to_owned(), def: None }),
    }
}

/// A comma-separated list of properties. A name that means nothing ends the command.
pub fn columns(domain: Domain, list: &str) -> Result<Vec<Column>, Stop> {
    if list.is_empty() {
        return usage("bad property list: no properties specified");
    }
    if list == "all" {
        let table = match domain {
            Domain::Dataset => DATASET_PROPERTIES,
            Domain::Pool => POOL_PROPERTIES,
        };
        let shown = table.iter().filter(|def| !def.hidden || def.name == "name");
        let mut all: Vec<Column> = shown.filter_map(|def| column(domain, def.name)).collect();
        // The name is what a line begins with, wherever the table has it.
        all.sort_by_key(|one| one.name != "name");
        return Ok(all);
    }
    let mut found = Vec::new();
    for name in list.split(',') {
        match column(domain, name) {
            Some(one) => found.push(one),
            None if domain == Domain::Dataset && name == "space" => {
                const SPACE: &str =
                    "name,available,used,usedbysnapshots,usedbydataset,usedbyrefreservation,usedbychildren";
                found.extend(columns(domain, SPACE)?);
            }
            None => return usage(format!("bad property list: invalid property '{name}'")),
        }
    }
    Ok(found)
}

/// `name=value` behind an option.
pub fn assignment(text: &str, missing: &str) -> Result<PropertyChange, Stop> {
    match text.split_once('=') {
        Some((name, value)) => Ok(PropertyChange { name: proper(name).to_owned(), value: value.to_owned() }),
        None => usage(missing),
    }
}

/// Adds a value to a list in which each property may stand once.
pub fn add(list: &mut Vec<PropertyChange>, prop: PropertyChange) -> Result<(), Stop> {
    if list.iter().any(|known| known.name == prop.name) {
        return fail(format!("property '{}' specified multiple times", prop.name));
    }
    list.push(prop);
    Ok(())
}

/// Sizes that OpenZFS prints with a B where they are small (lib/libzfs/libzfs_dataset.c,
/// `zfs_prop_get`).
const IN_BYTES: [&str; 11] = [
    "referenced",
    "available",
    "used",
    "usedbysnapshots",
    "usedbydataset",
    "usedbyrefreservation",
    "usedbychildren",
    "quota",
    "refquota",
    "reservation",
    "refreservation",
];
/// Numbers that name something: shortened they would be useless.
const IDENTIFIERS: [&str; 9] =
    ["guid", "createtxg", "objsetid", "load_guid", "version", "pbkdf2iters", "keyguid", "ivsetguid", "txg"];

/// Most bytes of a list of clones, the last of which may be cut (`ZFS_MAXPROPLEN`).
const CLONES: usize = 4095;

/// The value for people, or with `-p` for programs.
pub fn show(domain: Domain, prop: &PropValue, literal: bool) -> String {
    let value = prop.value.as_str();
    if value.is_empty() {
        return "-".into();
    }
    match prop.kind {
        PropKind::Text if prop.name == "clones" => value[..value.floor_char_boundary(CLONES)].to_owned(),
        PropKind::Text => value.to_owned(),
        PropKind::Size if value == "none" => {
            let zero = literal && IN_BYTES.contains(&prop.name.as_str());
            if zero { "0" } else { "none" }.into()
        }
        PropKind::Size | PropKind::Count if value == "0" && !literal && is_quota_of_somebody(&prop.name) => {
            "none".into()
        }
        PropKind::Size => number(value, literal, |size| match domain {
            Domain::Dataset if is_dataset_at_property(&prop.name) => nicebytes(size),
            Domain::Dataset if IN_BYTES.contains(&prop.name.as_str()) => match size {
                0 if prop.name.contains("quota")
                    || prop.name.contains("reservation") && prop.name.len() < 15 =>
                {
                    "none".into()
                }
                size => nicebytes(size),
            },
            _ => nicenum(size),
        }),
        PropKind::Count => number(value, literal || IDENTIFIERS.contains(&prop.name.as_str()), |count| {
            if count == u64::MAX { "none".into() } else { nicenum(count) }
        }),
        PropKind::Ratio => ratio(value, literal),
        PropKind::Percent if literal => value.to_owned(),
        PropKind::Percent => format!("{value}%"),
        PropKind::Time => number(value, literal, clock::date),
    }
}

/// `userquota@…` and kin.
fn is_quota_of_somebody(name: &str) -> bool {
    name.split_once('@').is_some_and(|(stem, _)| stem.ends_with("quota"))
}

fn number(value: &str, literal: bool, nice: impl FnOnce(u64) -> String) -> String {
    match value.parse() {
        Ok(number) if !literal => nice(number),
        _ => value.to_owned(),
    }
}

/// The exact form is hundredths as a decimal, "1.39"; the whole number 139 is taken too.
fn ratio(value: &str, literal: bool) -> String {
    let decimal = match value.parse::<u64>() {
        Ok(hundredths) => format!("{}.{:02}", hundredths / 100, hundredths % 100),
        Err(_) => value.to_owned(),
    };
    if literal { decimal } else { format!("{decimal}x") }
}

/// Where a value comes from, as `get` prints it.
pub fn source(source: &Source) -> String {
    match source {
        Source::None => "-".into(),
        Source::Default => "default".into(),
        Source::Local => "local".into(),
        Source::Inherited(from) => format!("inherited from {from}"),
        Source::Received => "received".into(),
        Source::Temporary => "temporary".into(),
    }
}

#[cfg(test)]
mod tests;
