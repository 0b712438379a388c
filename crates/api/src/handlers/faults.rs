//! Faults that an operator asks for.

use crate::app::{App, Body, Shared, blocking, parse};
use crate::problem::{of_error, problem};
use api_types::{ActiveFault, Condemn, DeviceFault, FaultCancel, FaultEffect, FaultIo, kind};
use axum::extract::{Path, State};
use axum::response::Response;

pub async fn list(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(active(app))).await
}

fn active(app: &App) -> Vec<ActiveFault> {
    let shown = |active: engine_api::ActiveFault| ActiveFault {
        id: active.id,
        fault: to_wire(active.fault),
        matched: active.matched,
        injected: active.injected,
    };
    app.engine.injected().into_iter().map(shown).collect()
}

pub async fn inject(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<DeviceFault>(body);
    blocking(app, move |app| {
        let fault = request?;
        let id = app.engine.inject(&of_wire(&fault)).map_err(|error| of_error(&error))?;
        Ok(ActiveFault { id, fault, matched: 0, injected: 0 })
    })
    .await
}

pub async fn cancel(State(app): State<Shared>, body: Body) -> Response {
    let request = parse::<FaultCancel>(body);
    blocking(app, move |app| {
        let FaultCancel { id } = request?;
        if app.engine.cancel_fault(id) {
            Ok(active(app))
        } else {
            Err(problem(kind::NOT_FOUND, "No such file or directory"))
        }
    })
    .await
}

pub async fn condemn(State(app): State<Shared>, Path(name): Path<String>, body: Body) -> Response {
    let request = parse::<Condemn>(body);
    blocking(app, move |app| {
        let Condemn { guid, fault } = request?;
        let how = if fault { engine_api::Condemn::Fault } else { engine_api::Condemn::Degrade };
        app.engine.condemn(&name, guid, how).map_err(|error| of_error(&error))
    })
    .await
}

fn of_wire(fault: &DeviceFault) -> engine_api::DeviceFault {
    engine_api::DeviceFault {
        pool: fault.pool.clone(),
        guid: fault.guid,
        io: match fault.io {
            FaultIo::Read => engine_api::FaultIo::Read,
            FaultIo::Write => engine_api::FaultIo::Write,
            FaultIo::Flush => engine_api::FaultIo::Flush,
            FaultIo::Trim => engine_api::FaultIo::Trim,
            FaultIo::All => engine_api::FaultIo::All,
        },
        effect: match fault.effect {
            FaultEffect::Io => engine_api::FaultEffect::Io,
            FaultEffect::Missing => engine_api::FaultEffect::Missing,
            FaultEffect::Corrupt => engine_api::FaultEffect::Corrupt,
            FaultEffect::Ignore => engine_api::FaultEffect::Ignore,
            FaultEffect::Delay(nanos) => engine_api::FaultEffect::Delay(nanos),
        },
        rate: fault.rate,
    }
}

fn to_wire(fault: engine_api::DeviceFault) -> DeviceFault {
    DeviceFault {
        pool: fault.pool,
        guid: fault.guid,
        io: match fault.io {
            engine_api::FaultIo::Read => FaultIo::Read,
            engine_api::FaultIo::Write => FaultIo::Write,
            engine_api::FaultIo::Flush => FaultIo::Flush,
            engine_api::FaultIo::Trim => FaultIo::Trim,
            engine_api::FaultIo::All => FaultIo::All,
        },
        effect: match fault.effect {
            engine_api::FaultEffect::Io => FaultEffect::Io,
            engine_api::FaultEffect::Missing => FaultEffect::Missing,
            engine_api::FaultEffect::Corrupt => FaultEffect::Corrupt,
            engine_api::FaultEffect::Ignore => FaultEffect::Ignore,
            engine_api::FaultEffect::Delay(nanos) => FaultEffect::Delay(nanos),
        },
        rate: fault.rate,
    }
}
