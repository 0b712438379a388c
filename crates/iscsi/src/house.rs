//! What all connections of a server share: what is served, who has a session, and what strangers
//! may try.

use std::sync::Arc;

use crate::catalogue::Catalogue;
use crate::guard::Guard;
use crate::sessions::Sessions;

/// See the module.
pub struct House {
    pub catalogue: Arc<Catalogue>,
    pub sessions: Arc<Sessions>,
    pub guard: Guard,
    /// Gives numbers that nobody can guess, for challenges.
    pub random: Arc<dyn Fn() -> u64 + Send + Sync>,
}
