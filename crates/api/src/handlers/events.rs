//! Events: what has happened, and what is going to.

use super::pools::query;
use crate::app::{Shared, blocking};
use api_types::{Event, EventValue, EventsCleared, EventsQuery};
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::response::Response;
use engine_api::{Zevent, ZeventValue};

/// Longest time that a client may ask us to hold its request.
const WAIT_MAX_MS: u64 = 30_000;

pub async fn list(State(app): State<Shared>, asked: Result<Query<EventsQuery>, QueryRejection>) -> Response {
    blocking(app, move |app| {
        let EventsQuery { after, wait_ms } = query(asked)?;
        let events = app.engine.diagnostics().zevents(after, wait_ms.min(WAIT_MAX_MS) * 1_000_000);
        Ok(events.into_iter().map(event).collect::<Vec<_>>())
    })
    .await
}

pub async fn clear(State(app): State<Shared>) -> Response {
    blocking(app, |app| Ok(EventsCleared { cleared: app.engine.diagnostics().clear_zevents() })).await
}

fn event(event: Zevent) -> Event {
    let value = |value| match value {
        ZeventValue::Number(number) => EventValue::Number(number),
        ZeventValue::Text(text) => EventValue::Text(text),
    };
    Event {
        eid: event.eid,
        time: event.time,
        class: event.class,
        payload: event.payload.into_iter().map(|(name, of)| (name, value(of))).collect(),
    }
}
