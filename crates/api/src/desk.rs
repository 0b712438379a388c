//! What the API needs of whoever keeps alerts and tells them.

use api_types::{
    Alert, AlertCheck, AlertEvent, AlertReport, AlertReportSent, AlertRoute, AlertSettings, AlertsQuery,
    RouteAdd, RouteChange, RouteStatus, RouteTested,
};
use machine::{AlertPage, Denied, Fault};

/// Why something is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeskFault {
    Denied(Denied),
    /// What was given makes no sense; says why.
    Invalid(String),
}

impl From<Denied> for DeskFault {
    fn from(why: Denied) -> DeskFault {
        DeskFault::Denied(why)
    }
}

impl From<Fault> for DeskFault {
    fn from(fault: Fault) -> DeskFault {
        DeskFault::Denied(fault.into())
    }
}

/// Calls may wait for the disk of the machine's database, and for no pool.
/// [`AlertDesk::test_route`] waits for the other end, for some seconds.
pub trait AlertDesk: Send + Sync {
    /// Alerts with lower numbers than `before`, the newest first.
    fn alerts(&self, asked: &AlertsQuery, before: Option<u64>, limit: usize) -> Result<AlertPage, DeskFault>;
    fn alert(&self, id: u64) -> Result<Alert, DeskFault>;
    /// `None`: nobody looks after it any more.
    fn acknowledge(&self, id: u64, by: Option<&str>) -> Result<Alert, DeskFault>;
    fn clear(&self, id: u64, by: &str) -> Result<Alert, DeskFault>;
    fn checks(&self) -> Vec<AlertCheck>;
    fn settings(&self) -> AlertSettings;
    fn set_settings(&self, settings: AlertSettings) -> Result<(), DeskFault>;
    fn routes(&self) -> Result<Vec<RouteStatus>, DeskFault>;
    fn route(&self, name: &str) -> Result<AlertRoute, DeskFault>;
    fn add_route(&self, new: RouteAdd) -> Result<AlertRoute, DeskFault>;
    fn change_route(&self, name: &str, change: RouteChange) -> Result<AlertRoute, DeskFault>;
    fn remove_route(&self, name: &str) -> Result<(), DeskFault>;
    /// The report of the last week. It waits for pools.
    fn report(&self) -> Result<AlertReport, DeskFault>;
    /// Has the report sent. Gives the routes that it goes by.
    fn send_report(&self) -> Result<AlertReportSent, DeskFault>;
    fn test_route(&self, name: &str) -> Result<RouteTested, DeskFault>;
    /// Tells each turn of an alert from now on. To be called once.
    fn listen(&self, tell: Box<dyn Fn(AlertEvent) + Send + Sync>);
}
