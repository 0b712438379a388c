//! What the API needs of the program that it is part of, beside its appliance.

use std::sync::Arc;

use analytics::Observer;
use api_types::{Disk, IscsiSession, ProgramStatistics};
use engine_api::Result;

pub trait Program: Send + Sync {
    /// What the daemon logs, which is `wanted` from now on where that is given. `Invalid` says what
    /// makes no sense.
    fn log_filter(&self, wanted: Option<&str>) -> Result<String>;
    /// What its servers count, and what it takes of the machine.
    fn statistics(&self) -> ProgramStatistics {
        ProgramStatistics::default()
    }
    /// Shows the requests of clients to who looks at them.
    fn observer(&self) -> Arc<Observer> {
        Arc::default()
    }
    /// Disks of the machine, by path. An error where the operating system does not tell.
    fn disks(&self) -> Result<Vec<Disk>> {
        Ok(Vec::new())
    }
    /// Sessions of iSCSI initiators; none where no iSCSI is served.
    fn iscsi_sessions(&self) -> Vec<IscsiSession> {
        Vec::new()
    }
}
