//! What every request of a route passes on its way to its handler, and its answer on the way back.
//!
//! Who may not send it is refused ([`crate::rights`]). Of a change: who sends it again is answered
//! as the first time ([`crate::repeat`]); what it relies on has to be so ([`crate::precondition`]);
//! that it was done, the feed tells. An answer to a GET gets its tag ([`crate::etag`]).
//!
//! Invariant: what is told by the feed was done just now, and by this request.

use crate::app::Shared;
use crate::caller::{Asker, known};
use crate::etag::{self, Tags};
use crate::feed::Whom;
use crate::precondition::{Subject, UnderWay, held};
use crate::repeat;
use crate::rights::{Bodies, Right, admit};
use api_types::routes;
use axum::extract::{ConnectInfo, Request};
use axum::http::header;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;

/// What belongs to a route.
pub struct Gate {
    pub right: Right,
    /// Whom it is told that a change was made.
    pub whom: Whom,
    /// Its requests may have an `Idempotency-Key`.
    pub takes_keys: bool,
    /// What `If-Match` names.
    pub subject: Option<Subject>,
    pub common: Arc<Common>,
}

/// What belongs to all of them.
pub struct Common {
    pub app: Shared,
    pub bodies: Bodies,
    pub under_way: UnderWay,
}

/// Has a request handled if it may be, and it known who asks meanwhile.
pub async fn pass(
    gate: Arc<Gate>,
    ConnectInfo(asker): ConnectInfo<Asker>,
    request: Request,
    next: Next,
) -> Response {
    let Common { app, bodies, .. } = &*gate.common;
    let (request, _room) = match admit((gate.right, bodies), &asker, request).await {
        Ok(admitted) => admitted,
        Err(why) => return why.into_response(),
    };
    known(asker.actor.clone(), async {
        if etag::is_for(request.method()) {
            let tags = Tags::of(request.headers(), header::IF_NONE_MATCH);
            return etag::tagged(tags, next.run(request).await).await;
        }
        let handle = |request| change(&gate, &asker, request, next);
        repeat::once((app, gate.takes_keys), &asker, request, handle).await
    })
    .await
}

/// Has a change made.
async fn change(gate: &Gate, asker: &Asker, request: Request, next: Next) -> Response {
    let Common { app, under_way, .. } = &*gate.common;
    let path = request.uri().path();
    let told = (!routes::is_stream(path) && !routes::is_typing(path))
        .then(|| (request.method().to_string(), request.uri().path().to_owned()));
    let answer = held((app, gate.subject, under_way), asker, request, next).await;
    if let Some((verb, path)) = told.filter(|_| answer.status().is_success()) {
        app.feed.request(&verb, &path, answer.status().as_u16(), gate.whom);
    }
    answer
}
