//! Alerts, the checks that find them, and the routes that they are told by.

use super::accounts::Answer;
use super::pools::{Asked, query};
use crate::app::{Body, Shared, parse, patient};
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::desk::{AlertDesk, DeskFault};
use crate::page::{MOST, Page, address};
use crate::path::Path;
use crate::problem::refuse;
use api_types::{
    Alert, AlertAcknowledge, AlertCheck, AlertReport, AlertReportSent, AlertRoute, AlertSettings,
    AlertsQuery, By, RouteStatus, RouteTested, kind, routes,
};
use axum::Json;
use axum::extract::{ConnectInfo, State};
use axum::response::{IntoResponse, Response};

/// Alerts in one answer, unless another number is asked for.
const PAGE: usize = 100;

/// Asks the desk on a blocking thread.
async fn ask<T: Send + 'static>(
    app: &Shared,
    work: impl FnOnce(&dyn AlertDesk) -> Result<T, DeskFault> + Send + 'static,
) -> Result<T, Unserved> {
    let desk = app.desk()?.clone();
    app.accounts()?.quick(move |_| work(&*desk)).await
}

/// Who asks, as an alert names him.
fn who(asker: &Asker) -> String {
    match (asker.identity(), asker.by()) {
        (Some(identity), _) => identity.user.clone(),
        (None, By::Socket { uid }) => format!("user number {uid}"),
        (None, _) => "somebody".to_owned(),
    }
}

/// What is no number is no alert's.
fn number(id: &str) -> Result<u64, Unserved> {
    id.parse().map_err(|_| machine::Denied::NotFound.into())
}

pub async fn list(State(app): State<Shared>, asked: Asked<AlertsQuery>) -> Response {
    page(&app, asked).await.into_response()
}

async fn page(app: &Shared, asked: Asked<AlertsQuery>) -> Result<Page<Alert>, Unserved> {
    let asked = query(asked)?;
    let before = match asked.after.as_str() {
        "" => None,
        text => Some(text.parse().map_err(|_| {
            refuse(kind::BAD_REQUEST, format!("'{text}' is no cursor that a list has given"))
        })?),
    };
    let limit = asked.limit.map_or(PAGE, |limit| (limit as usize).clamp(1, MOST));
    let wanted = asked.clone();
    let found = ask(app, move |desk| desk.alerts(&wanted, before, limit)).await?;
    let next = found.alerts.last().filter(|_| found.is_more).map(|last| {
        let (all, limit, after) = (asked.all.to_string(), limit.to_string(), last.id.to_string());
        let severity = asked.severity.word();
        let query = [("all", &*all), ("severity", severity), ("limit", &*limit), ("after", &*after)];
        address(routes::ALERTS, &query)
    });
    Ok(Page { items: found.alerts, next })
}

pub async fn one(State(app): State<Shared>, Path(id): Path<String>) -> Answer<Alert> {
    let id = number(&id)?;
    ask(&app, move |desk| desk.alert(id)).await.map(Json)
}

pub async fn acknowledge(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
    body: Body,
) -> Answer<Alert> {
    let (id, AlertAcknowledge { undo }) = (number(&id)?, parse(body)?);
    let by = (!undo).then(|| who(&asker));
    ask(&app, move |desk| desk.acknowledge(id, by.as_deref())).await.map(Json)
}

pub async fn clear(
    State(app): State<Shared>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    Path(id): Path<String>,
) -> Answer<Alert> {
    let (id, by) = (number(&id)?, who(&asker));
    ask(&app, move |desk| desk.clear(id, &by)).await.map(Json)
}

pub async fn checks(State(app): State<Shared>) -> Answer<Vec<AlertCheck>> {
    Ok(Json(app.desk()?.checks()))
}

pub async fn settings(State(app): State<Shared>) -> Answer<AlertSettings> {
    Ok(Json(app.desk()?.settings()))
}

pub async fn set_settings(State(app): State<Shared>, body: Body) -> Answer<AlertSettings> {
    let wanted: AlertSettings = parse(body)?;
    let set = move |desk: &dyn AlertDesk| desk.set_settings(wanted).map(|()| desk.settings());
    ask(&app, set).await.map(Json)
}

pub async fn route_list(State(app): State<Shared>) -> Answer<Vec<RouteStatus>> {
    ask(&app, |desk| desk.routes()).await.map(Json)
}

/// One route, for whoever asks for it and for its tag.
pub async fn find_route(app: &Shared, name: String) -> Result<AlertRoute, Unserved> {
    ask(app, move |desk| desk.route(&name)).await
}

pub async fn route(State(app): State<Shared>, Path(name): Path<String>) -> Answer<AlertRoute> {
    find_route(&app, name).await.map(Json)
}

pub async fn add_route(State(app): State<Shared>, body: Body) -> Answer<AlertRoute> {
    let new = parse(body)?;
    ask(&app, move |desk| desk.add_route(new)).await.map(Json)
}

pub async fn change_route(
    State(app): State<Shared>,
    Path(name): Path<String>,
    body: Body,
) -> Answer<AlertRoute> {
    let change = parse(body)?;
    ask(&app, move |desk| desk.change_route(&name, change)).await.map(Json)
}

pub async fn remove_route(State(app): State<Shared>, Path(name): Path<String>) -> Answer<()> {
    ask(&app, move |desk| desk.remove_route(&name)).await.map(Json)
}

/// It waits for the other end, so it takes none of the places of accounts.
pub async fn test_route(State(app): State<Shared>, Path(name): Path<String>) -> Answer<RouteTested> {
    let desk = app.desk()?.clone();
    let tested = patient(app, move |_| Ok(desk.test_route(&name))).await?;
    Ok(Json(tested?))
}

/// It asks the pools, so it takes none of the places of accounts.
pub async fn report(State(app): State<Shared>) -> Answer<AlertReport> {
    let desk = app.desk()?.clone();
    let told = patient(app, move |_| Ok(desk.report())).await?;
    Ok(Json(told?))
}

pub async fn send_report(State(app): State<Shared>) -> Answer<AlertReportSent> {
    ask(&app, |desk| desk.send_report()).await.map(Json)
}
