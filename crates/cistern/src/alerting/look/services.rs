//! Services that look after data: those of `cistern svc`, by their states, and who writes versions
//! of the machine's state into a pool, as it reports.

use std::sync::Arc;
use std::time::Instant;

use alerts::book::Finding;
use api_types::{
    AlertCheckName as Check, AlertKind, ClearCause, Service, ServiceState, Severity, StateCause,
};

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};

/// What the writer of versions is called.
const KEEP: &str = "config-keep";

pub struct Services(pub Arc<Sights>);

impl Look for Services {
    fn check(&self) -> Check {
        Check::Services
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        self.report_keeper(desk);
        let all = self.0.services.all();
        let lags = self.0.services.lags();
        let mut findings: Vec<Finding> = all.iter().filter_map(finding).collect();
        findings.extend(lags.iter().map(|lag| Finding::new(Severity::Warning, lag.clone())));
        let cause = |what: &AlertKind| match what {
            AlertKind::ServiceFailed { service, .. } if service != KEEP => match state(&all, service) {
                // How it ends is not known yet.
                Some(ServiceState::Running) => None,
                Some(ServiceState::Disabled) | None => Some(ClearCause::SwitchedOff),
                Some(ServiceState::Online | ServiceState::Degraded | ServiceState::Maintenance) => {
                    Some(ClearCause::NotFound)
                }
            },
            AlertKind::ReplicaLags { service, .. } => match state(&all, service) {
                Some(ServiceState::Disabled) | None => Some(ClearCause::SwitchedOff),
                Some(_) => Some(ClearCause::WithinLimits),
            },
            _ => None,
        };
        let looked = Looked { findings, cause: &cause, failure: None, off: None };
        desk.looked(Check::Services, looked, begun.elapsed());
    }
}

impl Services {
    fn report_keeper(&self, desk: &Desk) {
        let why = match self.0.keeper.status() {
            Ok(kept) => kept.failure.map(|(_, error)| error.to_string()),
            Err(error) => Some(error.to_string()),
        };
        let failed = |why| AlertKind::ServiceFailed { service: KEEP.to_owned(), why };
        match why {
            Some(why) => desk.report(&Finding::new(Severity::Error, failed(why))),
            None => desk.withdraw(&failed(String::new())),
        }
    }
}

fn state(all: &[Service], id: &str) -> Option<ServiceState> {
    all.iter().find(|service| service.id == id).map(|service| service.state)
}

fn finding(service: &Service) -> Option<Finding> {
    let severity = match service.state {
        ServiceState::Maintenance => Severity::Error,
        ServiceState::Degraded => Severity::Warning,
        ServiceState::Disabled | ServiceState::Online | ServiceState::Running => return None,
    };
    let what = AlertKind::ServiceFailed { service: service.id.clone(), why: trouble(service)? };
    Some(Finding::new(severity, what))
}

/// Why a service is not well; `None`: it is, or is disabled.
pub fn trouble(service: &Service) -> Option<String> {
    if !matches!(service.state, ServiceState::Degraded | ServiceState::Maintenance) {
        return None;
    }
    Some(match &service.cause {
        StateCause::Failed { failure, .. } => format!("{}: {}", failure.subject, failure.problem.detail),
        StateCause::Interrupted => "the program ended while it ran".to_owned(),
        StateCause::Asked | StateCause::Began { .. } | StateCause::Ended => {
            "not all of its work is done".to_owned()
        }
    })
}
