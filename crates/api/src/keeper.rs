//! What the API needs of whoever keeps the machine's state in a pool.

use api_types::{KeepIn, Keeping, StateRestore, StateRestored, StateVersion};
use engine_api::{Error, Result};

/// Where versions go, and why the last one was not written and since when.
pub struct Kept {
    pub keeping: Keeping,
    pub failure: Option<(i64, Error)>,
}

/// No call waits for the disks of a pool that is suspended.
pub trait StateKeeper: Send + Sync {
    fn status(&self) -> Result<Kept>;
    /// Versions go there from now on. It is waited a while for the first one.
    fn keep(&self, asked: &KeepIn) -> Result<Kept>;
    /// The newest first; of the pool that they go to where none is named.
    fn versions(&self, pool: Option<&str>) -> Result<Vec<StateVersion>>;
    fn restore(&self, asked: &StateRestore) -> Result<StateRestored>;
    /// Nothing is restored at the next start.
    fn cancel(&self) -> Result<Kept>;
}
