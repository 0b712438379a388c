//! Sets of features that pools are to keep to: property `compatibility`.
//!
//! A set is a file of names of features in `/etc/zfs/compatibility.d` or
//! `/usr/share/zfs/compatibility.d`, or elsewhere by its whole path. The sets that new pools are
//! made from are known without files. Of several sets a pool gets what all have.
//!
//! Sources: lib/libzfs/libzfs_pool.c (`zpool_load_compat`), zpool-features(7).

use std::path::Path;

use engine_api::PropertyChange;
use ondisk::feature::{self, Feature};
use refusal::PropertyFault;

/// The set of features that new pools get, unless told otherwise.
const DEFAULT: &str = "openzfs-2.1-linux";
/// Where a set lies whose name is no whole path: the administrator's before the system's.
const FOLDERS: [&str; 2] = ["/etc/zfs/compatibility.d", "/usr/share/zfs/compatibility.d"];
/// Bytes of a file (`ZPOOL_COMPAT_MAXSIZE`).
const SIZE_MAX: u64 = 16 << 10;

/// Names of the features that all of these sets have; `Err` says why one is none.
pub(super) fn members(sets: Option<&str>) -> Result<Vec<&'static str>, PropertyFault> {
    let sets = match sets {
        None | Some("off" | "") => DEFAULT,
        Some(sets) => sets,
    };
    let mut common: Option<Vec<&'static str>> = None;
    for set in sets.split(',') {
        let names = one(set)?;
        common = Some(match common {
            None => names,
            Some(common) => common.into_iter().filter(|name| names.contains(name)).collect(),
        });
    }
    Ok(common.unwrap_or_default())
}

/// Whether a value may be given to the property.
pub(super) fn check(props: &[PropertyChange]) -> Result<(), PropertyFault> {
    let sets = props.iter().filter(|prop| prop.name == "compatibility");
    sets.into_iter().try_for_each(|prop| members(Some(&prop.value)).map(drop))
}

fn one(set: &str) -> Result<Vec<&'static str>, PropertyFault> {
    let read = FOLDERS.iter().find_map(|folder| {
        let path = Path::new(folder).join(set);
        env::text::read(&path, SIZE_MAX).ok().map(|text| (text, path))
    });
    match (read, feature::compatibility_set(set)) {
        (Some((text, path)), _) => parse(&text, set, path.starts_with(FOLDERS[1])),
        (None, Some(names)) => Ok(names),
        (None, None) => Err(unreadable(set)),
    }
}

fn unreadable(set: &str) -> PropertyFault {
    PropertyFault::UnreadableSet { set: set.to_owned() }
}

/// Words apart by commas and space, a comment behind `#`. A word that is no feature is a mistake,
/// but where the system's own set is newer than this program.
fn parse(text: &str, set: &str, is_of_system: bool) -> Result<Vec<&'static str>, PropertyFault> {
    if !text.ends_with('\n') {
        return Err(unreadable(set));
    }
    let mut names = Vec::new();
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default());
    for word in lines.flat_map(|line| line.split([',', ' ', '\t'])).filter(|word| !word.is_empty()) {
        match feature::by_name(word) {
            Some(Feature { name, .. }) => names.push(*name),
            None if is_of_system => {}
            None => {
                return Err(PropertyFault::UnknownInSet { set: set.to_owned(), word: word.to_owned() });
            }
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests;
