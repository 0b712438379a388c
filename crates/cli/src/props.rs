//! Properties on the command line: lists of them to show, values to set, and how a value looks.

use crate::clock;
use crate::fail::{Stop, fail, usage};
use crate::human::{nicebytes, nicenum};
use api_types::{
    DatasetProperty, PoolProperty, PropKind, PropType, PropValue, PropertyChange, PropertyDef, Reads, Shown,
    Source, is_dataset_at_property, is_feature_property, is_user_property,
};

/// Whose properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Domain {
    Dataset,
    Pool,
}

impl Domain {
    /// What is known of a property, by its name or alias. Those that only others have are unknown.
    pub fn definition(self, name: &str) -> Option<&'static PropertyDef> {
        let row = match self {
            Domain::Dataset => DatasetProperty::named(name).map(DatasetProperty::row),
            Domain::Pool => PoolProperty::named(name).map(PoolProperty::row),
        };
        row.filter(|row| row.shown != Shown::Nowhere)
    }
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
        self.def.map_or_else(|| is_dataset_at_property(&self.name), PropertyDef::is_right_aligned)
    }
    /// At least as wide as every value that it may take where these are few, as five digits of a
    /// number, and as its heading (module/zcommon/zprop_common.c, `zprop_width`).
    pub fn min_width(&self) -> usize {
        let Some(def) = self.def else { return self.name.len() };
        let values = match (def.width, def.kind) {
            (Some(width), _) => width,
            _ if def.is_right_aligned() => 5,
            (None, PropType::Choice(_, words)) if def.values.contains('[') => {
                words.iter().map(|(word, _)| word.len()).max().unwrap_or(0)
            }
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
    let special = match domain {
        Domain::Dataset => is_user_property(name) || is_dataset_at_property(name),
        Domain::Pool => is_feature_property(name) || is_user_property(name),
    };
    match domain.definition(name) {
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
        let listed = match domain {
            Domain::Dataset => DatasetProperty::listed(),
            Domain::Pool => PoolProperty::listed(),
        };
        // The name is what a line begins with.
        let names = std::iter::once("name").chain(listed.iter().map(|def| def.name));
        return Ok(names.filter_map(|name| column(domain, name)).collect());
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

/// A line of a list. A last column that is not aligned to the right is as long as its cell.
pub fn line(columns: &[Column], cells: &[String], widths: &[usize]) -> String {
    let cell = |(at, column): (usize, &Column)| match (&cells[at], widths[at]) {
        (cell, width) if column.right_aligned() => format!("{cell:>width$}"),
        (cell, _) if at + 1 == cells.len() => cell.clone(),
        (cell, width) => format!("{cell:<width$}"),
    };
    columns.iter().enumerate().map(cell).collect::<Vec<_>>().join("  ")
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

/// Most bytes of a list of clones, the last of which may be cut (`ZFS_MAXPROPLEN`).
const CLONES: usize = 4095;

/// The value for people, or with `-p` for programs (lib/libzfs/libzfs_dataset.c, `zfs_prop_get`).
pub fn show(domain: Domain, prop: &PropValue, literal: bool) -> String {
    let value = prop.value.as_str();
    if value.is_empty() {
        return "-".into();
    }
    let reads = |how: Reads| domain.definition(&prop.name).filter(|def| def.reads == how);
    match prop.kind {
        PropKind::Text if prop.name == "clones" => value[..value.floor_char_boundary(CLONES)].to_owned(),
        PropKind::Text => value.to_owned(),
        PropKind::Size if value == "none" => {
            if literal && reads(Reads::Bytes).is_some() { "0" } else { "none" }.into()
        }
        PropKind::Size | PropKind::Count if value == "0" && !literal && is_quota_of_somebody(&prop.name) => {
            "none".into()
        }
        PropKind::Size => number(value, literal, |size| match domain {
            Domain::Dataset if is_dataset_at_property(&prop.name) => nicebytes(size),
            _ => match reads(Reads::Bytes) {
                Some(def) if def.kind == PropType::Limit(size) => "none".into(),
                Some(_) => nicebytes(size),
                None => nicenum(size),
            },
        }),
        PropKind::Count => number(value, literal || reads(Reads::Identifier).is_some(), |count| {
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
