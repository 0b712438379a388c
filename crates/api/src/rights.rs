//! Who may send which request, at the door of each route.
//!
//! A route is for everybody, for administrators, or for whom permissions were delegated to. That a
//! caller has those that his request takes is decided where it is carried out, for only there it
//! is known what it comes to (`engine`'s `rights`). What a guest sends is small, and comes soon:
//! until it is whole it holds nothing but a connection.

use crate::caller::{Asker, known};
use crate::problem::{Refusal, refuse};
use api_types::{kind, routes};
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::time::Duration;
use tokio::time::timeout;

/// Largest request of a guest, in bytes, and how long it may take to come; but for streams.
const GUEST_BODY_MAX: usize = 256 << 10;
const GUEST_BODY_PATIENCE: Duration = Duration::from_secs(30);

/// Whom a route is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Right {
    Anyone,
    /// Who has the permissions that the request takes; administrators have all.
    Delegated,
    Administrator,
}

/// Lets a request in, or refuses it, and has it known who asks while it is handled.
pub async fn admit(
    right: Right,
    ConnectInfo(asker): ConnectInfo<Asker>,
    request: Request,
    next: Next,
) -> Response {
    let is_administrator = asker.0.is_administrator;
    if right == Right::Administrator && !is_administrator {
        return denied();
    }
    let is_stream = [routes::SEND, routes::RECEIVE].contains(&request.uri().path());
    let request = match is_administrator || is_stream {
        true => request,
        false => match whole(request).await {
            Ok(request) => request,
            Err(why) => return why.into_response(),
        },
    };
    known(asker, next.run(request)).await
}

pub fn denied() -> Response {
    refuse(kind::DENIED, "permission denied").into_response()
}

/// The request with all of its body.
async fn whole(request: Request) -> Result<Request, Refusal> {
    let (head, body) = request.into_parts();
    let unread = |why: String| refuse(kind::BAD_REQUEST, format!("request body: {why}"));
    match timeout(GUEST_BODY_PATIENCE, to_bytes(body, GUEST_BODY_MAX)).await {
        Ok(Ok(bytes)) => Ok(Request::from_parts(head, Body::from(bytes))),
        Ok(Err(error)) => Err(unread(error.to_string())),
        Err(_) => Err(unread("it does not come".into())),
    }
}
