//! Faults that an operator asks for.

use crate::app::{App, Body, Shared, blocking, parse};
use crate::problem::{Refusal, refuse};
use api_types::{ActiveFault, Condemn, Fault, FaultCancel, kind};
use axum::extract::{Path, State};
use axum::response::Response;

pub async fn list(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(active(app))).await
}

fn active(app: &App) -> Vec<ActiveFault> {
    app.engine().diagnostics().injected()
}

pub async fn inject(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<Fault>(body);
    blocking(app, move |app| Ok(app.engine().diagnostics().inject(&request?)?)).await
}

pub async fn cancel(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<FaultCancel>(body);
    blocking(app, move |app| {
        let FaultCancel { id } = request?;
        if app.engine().diagnostics().cancel_fault(id) {
            Ok(active(app))
        } else {
            Err(refuse(kind::NOT_FOUND, "No such file or directory"))
        }
    })
    .await
}

pub async fn condemn(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Condemn>(body);
    blocking(app, move |app| {
        let Condemn { guid, fault } = request?;
        let how = if fault { engine_api::Condemn::Fault } else { engine_api::Condemn::Degrade };
        app.engine().diagnostics().condemn(&name, guid, how).map_err(Refusal::from)
    })
    .await
}
