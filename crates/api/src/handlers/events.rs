//! Events: what has happened, and what is going to.

use super::pools::{Asked, query};
use crate::app::{Shared, answer, apart, prompt};
use crate::caller::asker;
use crate::denied::Unserved;
use crate::feed::EVENT_STREAM;
use crate::flow::Pieces;
use crate::problem::refuse;
use api_types::{EventStreamQuery, EventsCleared, EventsQuery, kind};
use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::oneshot;

const LAST_EVENT_ID: &str = "last-event-id";

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

pub async fn stream(
    State(app): State<Shared>,
    headers: HeaderMap,
    asked: Asked<EventStreamQuery>,
) -> Response {
    let EventStreamQuery { after } = match query(asked) {
        Ok(asked) => asked,
        Err(why) => return why.into_response(),
    };
    // What is no text is no id of ours, and says no less that something was taken.
    let last = headers.get(LAST_EVENT_ID).map(|last| last.to_str().unwrap_or("unknown"));
    let asker = asker();
    let Some(place) = app.feed.place(&asker) else {
        return Unserved::no_room("too many listen already").into_response();
    };
    let pieces = app.feed.listen(last.unwrap_or(&after), &asker, place);
    let media_type = HeaderValue::from_static(EVENT_STREAM);
    let is_new = HeaderValue::from_static("no-store");
    let headers = [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, is_new)];
    (headers, Body::new(Pieces(pieces))).into_response()
}

pub async fn clear(State(app): State<Shared>) -> Response {
    prompt(app, |app| Ok(EventsCleared { cleared: app.engine().diagnostics().clear_zevents() })).await
}
