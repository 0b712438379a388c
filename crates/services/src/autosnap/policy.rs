//! A policy that was checked, ready to be planned with.

use api_types::{AutoSnapPolicy, SnapFault, SnapFinding};

use crate::schedule::Zones;

#[derive(Clone, Debug)]
pub struct Policy {}

impl Policy {
    /// `id`: of the service. All faults there are.
    pub fn new(id: &str, policy: &AutoSnapPolicy, zones: Zones<'_>) -> Result<Policy, Vec<SnapFault>> {
        todo!()
    }

    /// What is odd about it.
    pub fn findings(&self) -> &[SnapFinding] {
        todo!()
    }
}
