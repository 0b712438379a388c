//! Panes of worksheets that have an alert, which have their drill-downs run by being looked at.

use std::sync::Arc;
use std::time::{Duration, Instant};

use alerts::book::Finding;
use alerts::judge::analytics;
use api::WatchedPane;
use api_types::{AlertCheckName as Check, AlertKind, ClearCause};

use super::Look;
use crate::alerting::Sights;
use crate::alerting::desk::{Desk, Looked};

/// How often, at the most: what is looked at is of ten seconds at the least.
const OFTEN: Duration = Duration::from_secs(5);

pub struct Analytics(pub Arc<Sights>);

impl Look for Analytics {
    fn check(&self) -> Check {
        Check::Analytics
    }

    fn look(&mut self, desk: &Desk) {
        let begun = Instant::now();
        let gone = || Err("the management API has ended".to_owned());
        let (all, failure) = match (self.0.watched)().unwrap_or_else(gone) {
            Ok(all) => {
                let why = all.iter().find_map(|one| one.value.as_ref().err().map(|why| told(one, why)));
                (Some(all), why)
            }
            Err(why) => (None, Some(why)),
        };
        let findings = all.iter().flatten().filter_map(finding).collect();
        let off = all.as_ref().is_some_and(Vec::is_empty);
        let cause = |what: &AlertKind| {
            let AlertKind::PaneAbove { worksheet, pane, .. } = what else { return None };
            match all.as_ref()?.iter().find(|one| one.worksheet == *worksheet && one.pane == *pane) {
                None => Some(ClearCause::SwitchedOff),
                // Where it does not run, or not for long enough, nothing is known.
                Some(WatchedPane { value: Ok(Some(_)), .. }) => Some(ClearCause::WithinLimits),
                Some(_) => None,
            }
        };
        let off = off.then(|| "no pane of a worksheet has an alert".to_owned());
        desk.looked(Check::Analytics, Looked { findings, cause: &cause, failure, off }, begun.elapsed());
    }

    fn every(&self, usual: Duration) -> Duration {
        usual.min(OFTEN)
    }
}

fn told(pane: &WatchedPane, why: &str) -> String {
    format!("pane {} of worksheet {}: {why}", pane.pane, pane.worksheet)
}

fn finding(pane: &WatchedPane) -> Option<Finding> {
    let value = (*pane.value.as_ref().ok()?)?;
    analytics::pane(&pane.worksheet, pane.pane, &pane.alert, value)
}
