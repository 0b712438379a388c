//! What checks look at: pools, disks, datasets, the machine and other appliances, with the bounds
//! of each look.

mod analytics;
mod datasets;
mod machine;
mod peers;
mod pools;
pub mod services;
mod smart;
mod ups;

use std::sync::Arc;
use std::time::Duration;

use api_types::AlertCheckName;

use super::Sights;
use super::desk::Desk;

/// Something that looks.
pub trait Look: Send {
    fn check(&self) -> AlertCheckName;
    /// Looks, and hands in what it has found.
    fn look(&mut self, desk: &Desk);
    /// How often, where all others do so often.
    fn every(&self, usual: Duration) -> Duration {
        usual
    }
    /// Seconds that a look may take before that is an alert.
    fn most(&self) -> u64 {
        30
    }
}

/// All there are.
pub fn all(sights: &Arc<Sights>) -> Vec<Box<dyn Look>> {
    vec![
        Box::new(pools::Pools(sights.clone())),
        Box::new(pools::Speeds::of(sights.clone())),
        Box::new(datasets::Datasets(sights.clone())),
        Box::new(smart::Disks::of(sights.clone())),
        Box::new(machine::Memory),
        Box::new(machine::Links),
        Box::new(machine::Certificate(sights.clone())),
        Box::new(machine::Clock::of(sights.clone())),
        Box::new(ups::Power::default()),
        Box::new(services::Services(sights.clone())),
        Box::new(peers::Peers(sights.clone())),
        Box::new(analytics::Analytics(sights.clone())),
    ]
}
