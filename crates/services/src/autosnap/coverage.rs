//! Which datasets a policy covers.
//!
//! A target is a dataset by its guid; its name says which one where there is no dataset of that
//! guid, or none is known yet. So a target follows a dataset that is renamed, and takes one that
//! was made anew under its name. Of several targets that a dataset is in, the one with the longest
//! name decides; of two with the same, the first.
//!
//! Invariant: the work is that of the datasets times the depth of their names.

use std::collections::{BTreeMap, BTreeSet};

use api_types::{SnapFinding, SnapTarget};

/// What is to be known of a dataset to say whether it is covered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    pub guid: u64,
}

/// Which datasets are covered, and by which target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// guid of a dataset → index of its target. What one target covers in a pool is made in one
    /// group.
    pub datasets: BTreeMap<u64, usize>,
    pub findings: Vec<SnapFinding>,
    /// The targets with the guids and names that their datasets have now, to be kept.
    pub targets: Vec<SnapTarget>,
}

/// Matches targets with all the datasets of the pools that are imported. A dataset whose pool is
/// not imported is gone, until it is back.
pub fn cover(targets: &[SnapTarget], datasets: &[Named]) -> Coverage {
    let by_guid: BTreeMap<u64, &str> = datasets.iter().map(|it| (it.guid, it.name.as_str())).collect();
    let by_name: BTreeMap<&str, u64> = datasets.iter().map(|it| (it.name.as_str(), it.guid)).collect();
    let mut coverage = Coverage::default();
    // Name of a dataset → the target that it is the root of.
    let mut roots: BTreeMap<String, usize> = BTreeMap::new();
    for (index, target) in targets.iter().enumerate() {
        let known = target.guid.and_then(|guid| by_guid.get_key_value(&guid));
        let named = || by_name.get(target.dataset.as_str()).map(|guid| (guid, &by_guid[guid]));
        let Some((guid, name)) = known.or_else(named) else {
            coverage.findings.push(SnapFinding::TargetGone { dataset: target.dataset.clone() });
            coverage.targets.push(target.clone());
            continue;
        };
        let now = renamed(target, *guid, name);
        if now.dataset != target.dataset {
            let (from, to) = (target.dataset.clone(), now.dataset.clone());
            coverage.findings.push(SnapFinding::TargetRenamed { from, to });
        }
        if roots.contains_key(&now.dataset) {
            let (dataset, other) = (now.dataset.clone(), now.dataset.clone());
            coverage.findings.push(SnapFinding::TargetsOverlap { dataset, other });
        } else {
            roots.insert(now.dataset.clone(), index);
        }
        coverage.targets.push(now);
    }
    let excluded: Vec<BTreeSet<&str>> =
        coverage.targets.iter().map(|it| it.exclude.iter().map(String::as_str).collect()).collect();
    for dataset in datasets {
        if let Some(index) = covering(&dataset.name, &roots, &coverage.targets, &excluded) {
            coverage.datasets.insert(dataset.guid, index);
        }
    }
    let nested = roots.keys().filter_map(|name| {
        let parent = name.rsplit_once('/')?.0;
        let outer = covering(parent, &roots, &coverage.targets, &excluded)?;
        let target = &coverage.targets[outer];
        let (dataset, other) = (name.clone(), target.dataset.clone());
        target.recursive.then_some(SnapFinding::TargetsOverlap { dataset, other })
    });
    coverage.findings.extend(nested);
    coverage
}

/// A target under the name that its dataset has now. What it excludes moves with it.
fn renamed(target: &SnapTarget, guid: u64, name: &str) -> SnapTarget {
    let below = |excluded: &String| match excluded.strip_prefix(&target.dataset) {
        Some(rest) if rest.starts_with('/') => format!("{name}{rest}"),
        _ => excluded.clone(),
    };
    SnapTarget {
        dataset: name.to_owned(),
        guid: Some(guid),
        recursive: target.recursive,
        exclude: target.exclude.iter().map(below).collect(),
    }
}

/// The target that a dataset is in: of the nearest root above it that has it.
fn covering(
    dataset: &str,
    roots: &BTreeMap<String, usize>,
    targets: &[SnapTarget],
    excluded: &[BTreeSet<&str>],
) -> Option<usize> {
    let mut above = Some(dataset);
    while let Some(name) = above {
        if let Some(index) = roots.get(name) {
            let target = &targets[*index];
            let is_in = name == dataset
                || (target.recursive && !is_excluded(dataset, &target.dataset, &excluded[*index]));
            if is_in {
                return Some(*index);
            }
        }
        above = name.rsplit_once('/').map(|(parent, _)| parent);
    }
    None
}

/// Whether it, or something above it and below the root, is among these.
fn is_excluded(dataset: &str, root: &str, excluded: &BTreeSet<&str>) -> bool {
    let mut above = Some(dataset);
    while let Some(name) = above.filter(|name| *name != root) {
        if excluded.contains(name) {
            return true;
        }
        above = name.rsplit_once('/').map(|(parent, _)| parent);
    }
    false
}

#[cfg(test)]
mod tests;
