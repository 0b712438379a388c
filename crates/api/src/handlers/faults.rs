//! Faults that an operator asks for.

use crate::app::{App, Body, Shared, blocking, posted};
use crate::path::Path;
use crate::problem::{Refusal, refuse};
use api_types::{ActiveFault, Condemn, Fault, FaultCancel, kind};
use axum::extract::State;
use axum::response::Response;

pub async fn list(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(active(app))).await
}

fn active(app: &App) -> Vec<ActiveFault> {
    app.engine().diagnostics().injected()
}

pub async fn inject(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, fault: Fault| Ok(app.engine().diagnostics().inject(&fault)?)).await
}

pub async fn cancel(State(app): State<Shared>, body: Body) -> Response {
    posted(app, body, |app, FaultCancel { id }| match app.engine().diagnostics().cancel_fault(id) {
        true => Ok(active(app)),
        false => Err(refuse(kind::NOT_FOUND, "No such file or directory")),
    })
    .await
}

pub async fn condemn(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    posted(app, body, move |app, Condemn { guid, fault }| {
        let how = if fault { engine_api::Condemn::Fault } else { engine_api::Condemn::Degrade };
        app.engine().diagnostics().condemn(&name, guid, how).map_err(Refusal::from)
    })
    .await
}
