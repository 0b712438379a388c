//! Traces of requests.

use api_types::TraceRequest;
use axum::body::Body as AnswerBody;
use axum::extract::State;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use tokio::sync::mpsc;

use crate::app::{Body, Shared, apart, parse, patient};
use crate::denied::Unserved;
use crate::feed::EVENT_STREAM;
use crate::flow::Pieces;
use crate::trace;

pub async fn begin(State(app): State<Shared>, body: Body) -> Response {
    let request: TraceRequest = match parse(body) {
        Ok(request) => request,
        Err(why) => return why.into_response(),
    };
    let wanted = request.filter.clone();
    let filter = match patient(app.clone(), move |app| trace::filter(app, &wanted)).await {
        Ok(filter) => filter,
        Err(why) => return why.into_response(),
    };
    let Ok(place) = app.traces.clone().try_acquire_owned() else {
        return Unserved::no_room("too many traces are running already").into_response();
    };
    let (to, pieces) = mpsc::channel(1);
    let begun = apart(app, move |app| {
        let _place = place;
        trace::tell(app, &request, filter, &to);
    });
    if let Err(why) = begun {
        return why.into_response();
    }
    let media_type = HeaderValue::from_static(EVENT_STREAM);
    let headers =
        [(header::CONTENT_TYPE, media_type), (header::CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    (headers, AnswerBody::new(Pieces(pieces))).into_response()
}
