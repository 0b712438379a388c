//! Requests that are sent again: header `Idempotency-Key`.
//!
//! Who does not know whether a change was made, for the answer did not come, sends it again with
//! the same key and is answered as the first time. Keys belong to who asks: an account, or a user
//! of this machine. They are in the machine's database (`machine::Claim`), so that a restart
//! forgets none.
//!
//! An answer that says to try again later is not kept, for nothing was done.
//!
//! Invariants: no request with a key is carried out as if it had none. A key that was claimed is
//! answered, given back or lost, whatever becomes of the request.

use crate::accounts::Accounts;
use crate::app::Shared;
use crate::caller::Asker;
use crate::denied::Unserved;
use crate::problem::{defect, refuse};
use crate::rights::BODY_MAX;
use api_types::{PROBLEM_MEDIA_TYPE, Problem, kind};
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use machine::{Claim, KeptAnswer, Keyed, LONGEST_ANSWER, Machine};
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

pub const KEY: &str = "idempotency-key";
/// Bytes of a key.
pub const LONGEST: usize = 255;
/// Says of an answer that it is that of an earlier request.
const REPLAYED: &str = "idempotent-replayed";
/// How long a body may take to come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Has a request handled, or answered as it was the first time. `takes_keys`: it is one of those
/// that may have a key.
pub async fn once<F: Future<Output = Response>>(
    (app, takes_keys): (&Shared, bool),
    asker: &Asker,
    request: Request,
    handle: impl FnOnce(Request) -> F,
) -> Response {
    let key = match key(request.headers()) {
        Ok(Some(key)) => key,
        Ok(None) => return handle(request).await,
        Err(why) => return why.into_response(),
    };
    if !takes_keys {
        return refuse(kind::BAD_REQUEST, "this request takes no Idempotency-Key").into_response();
    }
    let claimed = async {
        let accounts = app.accounts()?.clone();
        let (keyed, request) = known_by(asker, &key, request).await?;
        let asked = keyed.clone();
        let claim = accounts.quick(move |machine| machine.claim(&asked)).await?;
        Ok::<_, Unserved>((accounts, keyed, request, claim))
    };
    let (accounts, keyed, request, claim) = match claimed.await {
        Ok(claimed) => claimed,
        Err(why) => return why.into_response(),
    };
    match claim {
        Claim::New => {}
        Claim::Answered(answer) => return again(answer),
        Claim::Taken => {
            let why = "another request had this Idempotency-Key";
            return refuse(kind::KEY_REUSED, why).into_response();
        }
        Claim::Running => {
            let why = "the request with this Idempotency-Key is under way; ask again later";
            return refuse(kind::IN_PROGRESS, why).into_response();
        }
        Claim::Interrupted => {
            let why = "the daemon ended while it carried this request out; look what came of it";
            return refuse(kind::INTERRUPTED, why).into_response();
        }
    }
    let claimed = Claimed { accounts: Some((accounts, keyed)) };
    claimed.keep(handle(request).await).await
}

/// A key that is this request's. Dropped, its answer is lost.
struct Claimed {
    accounts: Option<(Arc<Accounts>, Keyed)>,
}

impl Claimed {
    /// Keeps an answer before it is sent.
    async fn keep(mut self, answer: Response) -> Response {
        let (head, body) = answer.into_parts();
        let bytes = match to_bytes(body, usize::MAX).await {
            Ok(bytes) => bytes,
            Err(error) => return defect(&error).into_response(),
        };
        let Some((accounts, keyed)) = self.accounts.take() else {
            return Response::from_parts(head, Body::from(bytes));
        };
        let (status, is_kept) = (head.status, is_kept(head.status, &bytes));
        let kept = (bytes.len() <= LONGEST_ANSWER).then(|| bytes.to_vec());
        let keep = move |machine: &Machine| match is_kept {
            true => machine.keep_answer(&keyed, &KeptAnswer { status: status.as_u16(), body: kept }),
            false => machine.give_back(&keyed),
        };
        // It was done: a database that cannot be written any more is no reason to say otherwise.
        if accounts.quick(keep).await.is_err() {
            tracing::error!("the answer to a request with an Idempotency-Key was not kept");
        }
        Response::from_parts(head, Body::from(bytes))
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        let Some((accounts, keyed)) = self.accounts.take() else { return };
        // Where there is no runtime any more, the next start says it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime
                .spawn(async move { drop(accounts.quick(move |machine| machine.lose_answer(&keyed)).await) });
        }
    }
}

/// Whether an answer says more than that nothing can be done now.
fn is_kept(status: StatusCode, body: &[u8]) -> bool {
    let later = [kind::BUSY, kind::UNAVAILABLE, kind::THROTTLED, kind::SUSPENDED, kind::UNAUTHENTICATED];
    let is_refused = !status.is_success();
    let problem = is_refused.then(|| serde_json::from_slice::<Problem>(body).ok()).flatten();
    problem.is_none_or(|problem| !later.contains(&problem.kind.as_str()))
}

/// The key of a request.
fn key(headers: &HeaderMap) -> Result<Option<String>, Unserved> {
    let mut values = headers.get_all(KEY).iter();
    let Some(value) = values.next() else { return Ok(None) };
    let key = value.to_str().ok().map(str::trim).filter(|key| !key.is_empty() && key.len() <= LONGEST);
    match key {
        Some(key) if values.next().is_none() => Ok(Some(key.to_owned())),
        _ => {
            let why =
                format!("an Idempotency-Key has 1 to {LONGEST} bytes of visible ASCII, and there is one");
            Err(refuse(kind::BAD_REQUEST, why).into())
        }
    }
}

/// The request with all of its body, and what it is known by.
async fn known_by(asker: &Asker, key: &str, request: Request) -> Result<(Keyed, Request), Unserved> {
    let (head, body) = request.into_parts();
    let unread = |why: &str| Unserved::from(refuse(kind::BAD_REQUEST, format!("request body: {why}")));
    let bytes = match timeout(PATIENCE, to_bytes(body, BODY_MAX)).await {
        Ok(bytes) => bytes.map_err(|error| unread(&error.to_string()))?,
        Err(_) => return Err(unread("it does not come")),
    };
    let mut said = Sha256::new();
    let conditions: Vec<&[u8]> =
        head.headers.get_all(header::IF_MATCH).iter().map(HeaderValue::as_bytes).collect();
    let target = head.uri.path_and_query().map_or("", |target| target.as_str());
    for part in [head.method.as_str().as_bytes(), target.as_bytes(), &conditions.join(&b'\n'), &bytes] {
        said.update((part.len() as u64).to_le_bytes());
        said.update(part);
    }
    let keyed = Keyed { who: whose(asker), key: Sha256::digest(key).into(), request: said.finalize().into() };
    Ok((keyed, Request::from_parts(head, Body::from(bytes))))
}

/// Whose keys those are that somebody sends.
fn whose(asker: &Asker) -> String {
    let door = if asker.identity().is_some() { "account" } else { "user" };
    format!("{door} {}", asker.actor.user)
}

/// The answer of the first time.
fn again(answer: KeptAnswer) -> Response {
    let Some(body) = answer.body else {
        let why = format!("it was answered with {}; the answer was too long to be kept", answer.status);
        return refuse(kind::ANSWER_NOT_KEPT, why).into_response();
    };
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_done = status.is_success();
    let media_type = HeaderValue::from_static(if is_done { "application/json" } else { PROBLEM_MEDIA_TYPE });
    let mut response = (status, [(header::CONTENT_TYPE, media_type)], body).into_response();
    response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use stdx::behalf::Actor;

    fn asked(key: &str, path: &str, body: &'static str) -> Keyed {
        let request = Request::builder().method("POST").uri(path).body(Body::from(body)).expect("a request");
        let asker = Asker::local(Arc::new(Actor::itself()));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        runtime.block_on(known_by(&asker, key, request)).expect("it comes").0
    }

    #[test]
    fn another_request_is_told_from_the_same_one() {
        let first = asked("k", "/v1/datasets", "{}");
        assert_eq!(first, asked("k", "/v1/datasets", "{}"));
        let key = asked("l", "/v1/datasets", "{}");
        assert!(key.key != first.key && key.request == first.request);
        for (path, body) in [("/v1/datasets", "{ }"), ("/v1/datasets?x=1", "{}"), ("/v1/dataset", "s{}")] {
            let other = asked("k", path, body);
            assert!(other.request != first.request && other.key == first.key, "{path} {body}");
        }
        let stranger = Asker::stranger(IpAddr::from([192, 0, 2, 1]));
        assert_ne!(whose(&stranger), whose(&Asker::local(Arc::new(Actor::itself()))));
    }

    #[test]
    fn a_key_is_one_short_text() {
        let key = |values: &[&[u8]]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(KEY, HeaderValue::from_bytes(value).expect("a value"));
            }
            key(&headers)
        };
        assert_eq!(key(&[]), Ok(None));
        assert_eq!(key(&[b"a b"]), Ok(Some("a b".into())));
        let longest = vec![b'k'; LONGEST];
        assert!(key(&[&longest]).is_ok_and(|key| key.is_some()));
        let longer = vec![b'k'; LONGEST + 1];
        for wrong in [&[&b""[..]][..], &[&longer], &[b"a", b"a"], &[b"\xff"]] {
            assert!(key(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn what_was_not_tried_is_not_kept() {
        let kept = |kind: &str| {
            let problem = refuse(kind, "no").0;
            let status = StatusCode::from_u16(problem.status).expect("a status");
            is_kept(status, &serde_json::to_vec(&problem).expect("JSON"))
        };
        assert!(is_kept(StatusCode::ACCEPTED, b"{}") && is_kept(StatusCode::OK, b""));
        assert!(
            [kind::EXISTS, kind::INVALID, kind::PRECONDITION_FAILED, kind::INTERNAL].into_iter().all(kept)
        );
        assert!(![kind::BUSY, kind::UNAVAILABLE, kind::SUSPENDED].into_iter().any(kept));
    }
}
