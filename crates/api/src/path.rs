//! What a request's path names, where a handler takes it.

use axum::extract::{self, FromRequestParts};
use axum::http::request::Parts;

use crate::problem::{Refusal, refuse};
use api_types::kind;

/// The segment in braces. One that is no text is a problem, as all refusals are.
pub struct Path<T>(pub T);

impl<S: Send + Sync> FromRequestParts<S> for Path<String> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let found = extract::Path::from_request_parts(parts, state).await;
        let extract::Path(name) = found.map_err(|why| refuse(kind::BAD_REQUEST, why.body_text()))?;
        Ok(Path(name))
    }
}
