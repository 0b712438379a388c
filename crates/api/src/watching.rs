//! Panes of worksheets that have an alert: their drill-downs run for as long as they do, and what
//! they found lately is told to who judges it.

use api_types::{PaneAlert, WorksheetPane};

use crate::analytics;
use crate::app::App;
use crate::drill_downs::wall;

/// Seconds that a drill-down goes on when nobody says any more that its alert is there.
const LEASH: u64 = 120;

/// What is known of a pane with an alert.
pub struct WatchedPane {
    pub worksheet: String,
    /// The first is 1.
    pub pane: u64,
    pub alert: PaneAlert,
    /// What it looks at. Nothing: it does not run for long enough yet. An error says why it does
    /// not run.
    pub value: Result<Option<u64>, String>,
}

/// All that there are; an error where that cannot be told.
pub fn watch(app: &App) -> Result<Vec<WatchedPane>, String> {
    let accounts = app.accounts().map_err(|why| why.refusal().0.detail)?;
    let worksheets = accounts.machine().worksheets().map_err(|fault| fault.to_string())?;
    let mut all = Vec::new();
    for worksheet in worksheets {
        for (pane, at) in worksheet.panes.into_iter().zip(1..) {
            let Some(alert) = pane.alert.clone() else { continue };
            let value = value(app, &worksheet.name, &pane, &alert);
            all.push(WatchedPane { worksheet: worksheet.name.clone(), pane: at, alert, value });
        }
    }
    Ok(all)
}

fn value(app: &App, worksheet: &str, pane: &WorksheetPane, alert: &PaneAlert) -> Result<Option<u64>, String> {
    let now = wall();
    let owner = format!("an alert of worksheet {worksheet}");
    let found = analytics::watch(app, pane, LEASH, owner)
        .and_then(|running| analytics::found(app, running.id, now.saturating_sub(alert.seconds)))
        .map_err(|why| why.0.detail)?;
    Ok(analytics::measured(&found, alert, now))
}
