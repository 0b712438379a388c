//! The web console over HTTPS: its files, and what browsers report of it.
//!
//! The files are for everybody: nothing secret is in them. The policy that goes with them
//! (Content-Security-Policy, level 3) allows what came from here and nothing else, no script or
//! style inside a page, and no text that becomes script (Trusted Types). A browser that keeps
//! something from happening reports it: each report is counted, by metric
//! `cistern_console_violations_total`, and the first ones are logged.
//!
//! Invariants:
//! - Reports are from strangers: so many are read at a time, each is small and comes soon, and the
//!   log gets no more than [`LOGGED`] of one run, each cut.
//! - A report changes nothing but that count, so it needs no session.

use crate::etag::Tags;
use crate::path::Path;
use crate::tally::Tally;
use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use console::{File, INDEX};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; font-src 'self'; frame-ancestors 'none'; base-uri 'none'; \
                      form-action 'self'; require-trusted-types-for 'script'; trusted-types 'none'; \
                      report-uri /console-reports";
/// Devices that pages may use: none.
const PERMISSIONS: &str = "camera=(), geolocation=(), microphone=(), payment=(), usb=()";
/// A name that says what is in it may be kept for a year; what may change is asked for again.
const LASTS: &str = "public, max-age=31536000, immutable";
const ASKED_AGAIN: &str = "no-cache";

/// Bytes of a report, how long it may take to come, and reports that come at a time.
const LONGEST: usize = 16 << 10;
const PATIENCE: Duration = Duration::from_secs(10);
const AT_A_TIME: usize = 8;
/// Reports that are logged, and bytes of each.
const LOGGED: u64 = 100;
const SHOWN: usize = 1 << 10;

/// The files. To be put behind what looks for whom a request is meant.
pub fn files() -> Router {
    let index = |headers: HeaderMap| async move { answer(console::file(INDEX), &headers) };
    let asset = |Path(path): Path<String>, headers: HeaderMap| async move {
        // What is not in a folder is served at its own address alone.
        answer(console::file(&format!("assets/{path}")), &headers)
    };
    Router::new().route("/", get(index)).route("/assets/{path}", get(asset))
}

fn answer(file: Option<&'static File>, asked: &HeaderMap) -> Response {
    let Some(file) = file else { return StatusCode::NOT_FOUND.into_response() };
    // What is no text names no encoding.
    let accepted = asked.get_all(header::ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    let accepted = accepted.collect::<Vec<_>>().join(",");
    let known = Tags::of(asked, header::IF_NONE_MATCH).is_some_and(|tags| tags.match_weakly(file.tag));
    let known = known && console::IS_BUILT;
    let (encoding, content) = file.content(&accepted);
    let mut answer = match known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => Body::from(Bytes::from_static(content)).into_response(),
    };
    if !console::IS_BUILT {
        *answer.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    }
    let headers = answer.headers_mut();
    let mut put = |name: HeaderName, value| headers.insert(name, HeaderValue::from_static(value));
    put(header::CONTENT_TYPE, file.media_type);
    put(header::CACHE_CONTROL, if file.lasts { LASTS } else { ASKED_AGAIN });
    put(header::ETAG, file.tag);
    put(header::VARY, "accept-encoding");
    put(header::CONTENT_SECURITY_POLICY, POLICY);
    put(header::REFERRER_POLICY, "no-referrer");
    put(HeaderName::from_static("cross-origin-opener-policy"), "same-origin");
    put(HeaderName::from_static("cross-origin-resource-policy"), "same-origin");
    put(HeaderName::from_static("permissions-policy"), PERMISSIONS);
    if let Some(encoding) = encoding {
        put(header::CONTENT_ENCODING, encoding);
    }
    answer
}

/// What takes reports.
#[derive(Clone)]
struct Reports {
    tally: Arc<Tally>,
    places: Arc<Semaphore>,
}

/// Where browsers report. For everybody.
pub fn reports(tally: Arc<Tally>) -> Router {
    let reports = Reports { tally, places: Arc::new(Semaphore::new(AT_A_TIME)) };
    Router::new().route("/console-reports", post(report)).with_state(reports)
}

async fn report(State(Reports { tally, places }): State<Reports>, request: Request) -> StatusCode {
    tally.report();
    if tally.reports() > LOGGED {
        return StatusCode::NO_CONTENT;
    }
    // Who finds no place is counted all the same.
    let Ok(_place) = places.try_acquire() else { return StatusCode::NO_CONTENT };
    if let Ok(Ok(body)) = timeout(PATIENCE, to_bytes(request.into_body(), LONGEST)).await {
        let shown = String::from_utf8_lossy(&body[..body.len().min(SHOWN)]);
        tracing::warn!(report = ?shown, "a browser kept the console from what its policy forbids");
    }
    StatusCode::NO_CONTENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::tests::headers;

    #[test]
    fn who_has_a_file_is_told_so_and_the_policy_goes_with_it() {
        let first = answer(console::file(INDEX), &headers(&[]));
        let tag = first.headers()[header::ETAG].clone();
        let policy = first.headers()[header::CONTENT_SECURITY_POLICY].to_str().expect("text").to_owned();
        assert!(!policy.contains("unsafe") && policy.contains("default-src 'none'"), "{policy}");
        assert_eq!(first.headers()[header::CACHE_CONTROL], ASKED_AGAIN);
        let mut asked = HeaderMap::new();
        asked.insert(header::IF_NONE_MATCH, tag);
        let again = answer(console::file(INDEX), &asked);
        assert_eq!(again.status() == StatusCode::NOT_MODIFIED, console::IS_BUILT);
        assert_eq!(answer(console::file("assets/none"), &asked).status(), StatusCode::NOT_FOUND);
    }

    #[test]
    fn reports_are_counted_and_few_are_read() {
        let run = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        run.block_on(async {
            let tally = Arc::<Tally>::default();
            let reports = Reports { tally: tally.clone(), places: Arc::new(Semaphore::new(1)) };
            for body in [vec![b'{'; 10], vec![b'x'; LONGEST + 1], vec![0xff; SHOWN * 2]] {
                let request = Request::new(Body::from(body));
                assert_eq!(report(State(reports.clone()), request).await, StatusCode::NO_CONTENT);
            }
            assert_eq!(tally.reports(), 3);
        });
    }
}
