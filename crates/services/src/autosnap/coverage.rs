//! Which datasets a policy covers.

use std::collections::BTreeMap;

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
    /// guid of a dataset → index of its target. What one target covers in a pool is made in one group.
    pub datasets: BTreeMap<u64, usize>,
    pub findings: Vec<SnapFinding>,
    /// The targets with the guids and names that their datasets have now, to be kept.
    pub targets: Vec<SnapTarget>,
}

/// Matches targets with all the datasets of the pools that are imported. A dataset whose pool is
/// not imported is gone, until it is back.
pub fn cover(targets: &[SnapTarget], datasets: &[Named]) -> Coverage {
    todo!()
}
