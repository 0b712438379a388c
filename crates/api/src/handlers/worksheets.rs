//! Worksheets: kept, changed, and opened, which has their drill-downs run.

use api_types::{
    DrillDown, DrillDownFound, PANE_ALERT_SECONDS, PaneAlert, PaneHistoryQuery, PaneMeasure, Worksheet,
    WorksheetAdd, WorksheetChange, WorksheetOpen, WorksheetPane,
};
use axum::Json;
use axum::extract::{ConnectInfo, State};

use super::accounts::Answer;
use super::analytics::owner;
use super::pools::{Asked, query};
use crate::analytics;
use crate::app::{Body, Shared, parse, patient};
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::drill_downs::wall;
use crate::kept_panes;
use crate::path::Path;
use crate::problem::Refusal;

/// Of what somebody asks for now; what a pane asks for is judged first.
fn kept(asker: &Asker, name: String, panes: Vec<WorksheetPane>) -> Result<Worksheet, Unserved> {
    if panes.is_empty() {
        return Err(analytics::refused("a worksheet has one pane at the least").into());
    }
    for pane in &panes {
        analytics::check(&pane.by)?;
        pane.alert.as_ref().map_or(Ok(()), |alert| check_alert(pane, alert))?;
    }
    Ok(Worksheet { name, panes, changed: wall(), by: owner(asker) })
}

/// Refuses an alert that makes no sense.
fn check_alert(pane: &WorksheetPane, alert: &PaneAlert) -> Result<(), Refusal> {
    let (least, most) = PANE_ALERT_SECONDS;
    let why = match &alert.values {
        _ if !(least..=most).contains(&alert.seconds) => {
            format!("an alert looks at {least} to {most} seconds")
        }
        Some(_) if alert.measure == PaneMeasure::P99 => {
            "latencies are of a whole pane: give it a filter that takes these values alone".to_owned()
        }
        Some(values) if values.len() != pane.by.len() => {
            format!("the pane is by {}, and so are the values of its alert", pane.by.len())
        }
        _ => return Ok(()),
    };
    Err(analytics::refused(why))
}

pub async fn list(State(app): State<Shared>) -> Answer<Vec<Worksheet>> {
    app.accounts()?.quick(machine::Machine::worksheets).await.map(Json)
}

/// One of them, for whoever asks for it and for its tag.
pub async fn find(app: &Shared, name: String) -> Result<Worksheet, Unserved> {
    app.accounts()?.quick(move |machine| machine.worksheet(&name)).await
}

pub async fn one(State(app): State<Shared>, Path(name): Path<String>) -> Answer<Worksheet> {
    find(&app, name).await.map(Json)
}

pub async fn add(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    body: Body,
) -> Answer<Worksheet> {
    let WorksheetAdd { name, panes } = parse(body)?;
    let new = kept(&asker, name, panes)?;
    app.accounts()?.quick(move |machine| machine.add_worksheet(&new).map(|()| new)).await.map(Json)
}

pub async fn change(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    body: Body,
) -> Answer<Worksheet> {
    let WorksheetChange { panes } = parse(body)?;
    let changed = kept(&asker, name, panes)?;
    let change = move |machine: &machine::Machine| machine.change_worksheet(&changed).map(|()| changed);
    app.accounts()?.quick(change).await.map(Json)
}

pub async fn remove(State(app): State<Shared>, Path(name): Path<String>) -> Answer<()> {
    app.accounts()?.quick(move |machine| machine.remove_worksheet(&name)).await.map(Json)
}

/// What a pane that is kept found.
pub async fn history(
    State(app): State<Shared>,
    Path(name): Path<String>,
    asked: Asked<PaneHistoryQuery>,
) -> Answer<DrillDownFound> {
    let asked = query(asked)?;
    let worksheet = find(&app, name).await?;
    let read = move |app: &crate::app::App| kept_panes::read(app, &worksheet, asked);
    Ok(patient(app, read).await.map(Json)?)
}

pub async fn open(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(name): Path<String>,
    body: Body,
) -> Answer<Vec<DrillDown>> {
    let WorksheetOpen { seconds } = parse(body)?;
    let (worksheet, owner) = (find(&app, name).await?, owner(&asker));
    let open = move |app: &crate::app::App| analytics::open(app, &worksheet, seconds, &owner);
    Ok(patient(app, open).await.map(Json)?)
}
