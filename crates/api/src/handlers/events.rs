//! Events: what has happened, and what is going to.

use super::pools::{Asked, query};
use crate::app::{Shared, answer, apart, prompt};
use crate::problem::refuse;
use api_types::{EventsCleared, EventsQuery, kind};
use axum::extract::State;
use axum::response::Response;
use tokio::sync::oneshot;

/// Longest time that a client may ask us to hold its request.
const WAIT_MAX_MS: u64 = 30_000;

pub async fn list(State(app): State<Shared>, asked: Asked<EventsQuery>) -> Response {
    let (tell, told) = oneshot::channel();
    let begun = apart(app, move |app| {
        let found = query(asked).map(|EventsQuery { after, wait_ms }| {
            app.engine().diagnostics().zevents(after, wait_ms.min(WAIT_MAX_MS) * 1_000_000)
        });
        // Who asked may have gone.
        drop(tell.send(found));
    });
    if let Err(why) = begun {
        return answer::<()>(Err(why));
    }
    answer(told.await.unwrap_or_else(|_| Err(refuse(kind::INTERNAL, "a fault of ours".to_owned()))))
}

pub async fn clear(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(EventsCleared { cleared: app.engine().diagnostics().clear_zevents() })).await
}
