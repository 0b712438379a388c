//! Who sends a request over HTTPS: looked at before all routes.
//!
//! A request is for this machine (`Host`), and shows a token (`Authorization: Bearer …`), the
//! cookie of a session, or nothing. Who shows a token that is not valid is refused; who shows a
//! session that has ended is a stranger, as he who shows nothing: the routes say what is for
//! strangers. Whatever is answered has the headers that browsers are to have.
//!
//! Invariants:
//! - A request that a browser may have been led to send, which is one without a token, changes
//!   something only if no other site sent it ([`origin`]), its body says that it is JSON, and, with
//!   a session, it repeats the session's secret for this, which no other site can know.
//! - No header allows another site to read an answer.

use crate::accounts::Accounts;
use crate::audit::{Asked, Auditor};
use crate::caller::Asker;
use crate::denied::{Unserved, unauthenticated};
use crate::https::Peer;
use crate::https::certificate::Certificates;
use crate::problem::refuse;
use crate::{cookie, origin};
use api_types::{kind, routes};
use axum::body::HttpBody;
use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use machine::{Credential, RelyingParty};
use std::net::IpAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq;

const CSRF: &str = "x-csrf-token";
const BEARER: &str = "bearer";
const JSON: &str = "application/json";
/// What the body of a stream may be instead: no form of a page can send it.
const STREAM: &str = "application/octet-stream";
/// How long a browser comes by HTTPS alone: a year.
const STRICT_TRANSPORT: &str = "max-age=31536000";

/// This machine as the browser of a request sees it; in the extensions of the request. `None`: by
/// an address.
#[derive(Clone)]
pub struct Site(pub Option<RelyingParty>);

/// What it takes to know who asks.
pub struct Front {
    pub accounts: Arc<Accounts>,
    pub certificates: Arc<Certificates>,
    pub auditor: Auditor,
}

/// Lets a request through with who sends it, or refuses it.
pub async fn identify(State(front): State<Arc<Front>>, mut request: Request, next: Next) -> Response {
    let Some(Peer { address, place }) = request.extensions().get::<Peer>().cloned() else {
        return refuse(kind::INTERNAL, "a connection without an address").into_response();
    };
    let shown = front.shown(&request);
    let found = match shown {
        Ok((shown, site)) => {
            request.extensions_mut().insert(site);
            front.asker(shown, address).await
        }
        Err(why) => Err(why),
    };
    let found = found.and_then(|asker| match asker.identity() {
        Some(identity) if !place.let_in(identity.uid) => Err(too_many()),
        _ => Ok(asker),
    });
    let mut answer = match found {
        Ok(asker) => {
            request.extensions_mut().insert(ConnectInfo(asker));
            next.run(request).await
        }
        Err(why) => {
            let mut answer = why.into_response();
            if let Some(asked) = Asked::of(&request) {
                // Not the one whose cookie it was: another site may have sent it.
                front.auditor.begin(asked, Asker::stranger(address)).answered(&mut answer).await;
            }
            answer
        }
    };
    protect(answer.headers_mut(), front.certificates.info().self_signed);
    answer
}

/// What a request shows of who sends it.
enum Shown {
    Token(String),
    /// The secret, and the repeated one where the request changes something.
    Session(String, Option<Repeated>),
    Nothing,
}

/// Header `X-CSRF-Token` of a request that needs it.
struct Repeated(Option<String>);

impl Front {
    /// What a request shows, and by which name it has come.
    fn shown(&self, request: &Request) -> Result<(Shown, Site), Unserved> {
        let headers = request.headers();
        let authority = origin::authority(request.uri(), headers);
        let authority = authority.filter(|authority| self.is_ours(authority)).ok_or_else(misdirected)?;
        let site = Site(origin::relying_party(&authority));
        if let Some(token) = bearer(headers)? {
            return Ok((Shown::Token(token.to_owned()), site));
        }
        let changes = ![Method::GET, Method::HEAD].contains(request.method());
        if changes && !origin::is_same_site(headers, &authority) {
            return Err(cross_site("another site had it sent"));
        }
        if changes && !request.body().is_end_stream() && !is_data(headers, request.uri().path()) {
            return Err(refuse(kind::BAD_REQUEST, format!("the body has to be of type {JSON}")).into());
        }
        let shown = match cookie::session(headers) {
            Some(secret) => {
                let value = headers.get(CSRF).and_then(|value| value.to_str().ok());
                Shown::Session(secret.to_owned(), changes.then(|| Repeated(value.map(str::to_owned))))
            }
            None => Shown::Nothing,
        };
        Ok((shown, site))
    }

    fn is_ours(&self, authority: &str) -> bool {
        origin::host(authority).is_some_and(|host| origin::is_literal(host) || self.certificates.is_for(host))
    }

    async fn asker(&self, shown: Shown, address: IpAddr) -> Result<Asker, Unserved> {
        match shown {
            Shown::Nothing => Ok(Asker::stranger(address)),
            Shown::Token(secret) => {
                let found = self.accounts.quick(move |machine| machine.token(&secret)).await?;
                found.map(|identity| Asker::known(identity, address)).ok_or_else(unauthenticated)
            }
            Shown::Session(secret, repeated) => {
                let found = self.accounts.quick(move |machine| machine.session(&secret)).await?;
                let Some(identity) = found else { return Ok(Asker::stranger(address)) };
                if let Some(repeated) = repeated {
                    check(&repeated, &identity.by)?;
                }
                Ok(Asker::known(identity, address))
            }
        }
    }
}

/// Whether the secret was repeated that the session has for this.
fn check(Repeated(value): &Repeated, by: &Credential) -> Result<(), Unserved> {
    let Credential::Session { csrf, .. } = by else { return Err(unauthenticated()) };
    let is_right = value.as_ref().is_some_and(|value| value.as_bytes().ct_eq(csrf.as_bytes()).into());
    match is_right {
        true => Ok(()),
        false => Err(cross_site("header X-CSRF-Token is not that of the session")),
    }
}

/// The token that a request shows. Where a header says something else, nobody is let in by it.
fn bearer(headers: &HeaderMap) -> Result<Option<&str>, Unserved> {
    let mut values = headers.get_all(header::AUTHORIZATION).iter();
    let (first, second) = (values.next(), values.next());
    let Some(value) = first else { return Ok(None) };
    let words = value.to_str().ok().and_then(|value| value.split_once(' '));
    match words {
        Some((scheme, token)) if second.is_none() && scheme.eq_ignore_ascii_case(BEARER) => {
            Ok(Some(token.trim()))
        }
        _ => Err(unauthenticated()),
    }
}

/// Whether the body is said to be what no form of a page can send.
fn is_data(headers: &HeaderMap, path: &str) -> bool {
    let value = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = value.split(';').next().unwrap_or_default().trim();
    media_type.eq_ignore_ascii_case(JSON)
        || path == routes::RECEIVE && media_type.eq_ignore_ascii_case(STREAM)
}

fn misdirected() -> Unserved {
    refuse(kind::MISDIRECTED, "header Host names another machine; use a name of the certificate").into()
}

fn too_many() -> Unserved {
    Unserved::no_room("this account has too many connections")
}

fn cross_site(detail: &str) -> Unserved {
    refuse(kind::CROSS_SITE, detail).into()
}

/// What a browser is told of every answer.
fn protect(headers: &mut HeaderMap, self_signed: bool) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // The console's files have their own.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    let nothing = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(nothing);
    // Who has to accept the certificate by hand could not any more.
    if !self_signed {
        headers.insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT_TRANSPORT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::origin::tests::headers;

    #[test]
    fn a_token_is_shown_in_one_way_alone() {
        let of = |lines: &[(&'static str, &'static str)]| {
            bearer(&headers(lines)).map(|token| token.map(str::to_owned))
        };
        assert_eq!(of(&[]), Ok(None));
        let token = Ok(Some("cistern_1_x".to_owned()));
        assert_eq!(of(&[("authorization", "Bearer cistern_1_x")]), token);
        assert_eq!(of(&[("authorization", "bearer cistern_1_x ")]), token);
        for wrong in ["cistern_1_x", "Basic YTpi", "Bearer", ""] {
            assert!(of(&[("authorization", wrong)]).is_err(), "{wrong}");
        }
        assert!(of(&[("authorization", "Bearer a"), ("authorization", "Bearer b")]).is_err());
    }

    #[test]
    fn a_session_changes_something_only_with_its_secret_for_that() {
        let by = Credential::Session { id: 1, csrf: "abc".into() };
        let is_fine = |value: Option<&str>| check(&Repeated(value.map(str::to_owned)), &by).is_ok();
        assert!(is_fine(Some("abc")));
        for wrong in [None, Some(""), Some("ab"), Some("abd"), Some("abcd")] {
            assert!(!is_fine(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn no_form_of_a_page_passes_for_data() {
        let is_fine = |value: &'static str, path| is_data(&headers(&[("content-type", value)]), path);
        assert!(is_fine("application/json", routes::USERS));
        assert!(is_fine("Application/JSON; charset=utf-8", routes::USERS));
        assert!(is_fine("application/octet-stream", routes::RECEIVE));
        for form in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
            assert!(!is_fine(form, routes::USERS) && !is_fine(form, routes::RECEIVE), "{form}");
        }
        assert!(!is_fine("application/octet-stream", routes::USERS));
        assert!(!is_data(&HeaderMap::new(), routes::USERS));
    }

    #[test]
    fn a_browser_is_told_to_come_by_https_alone_where_it_can() {
        let told = |self_signed| {
            let mut headers = HeaderMap::new();
            protect(&mut headers, self_signed);
            headers
        };
        assert!(!told(true).contains_key("strict-transport-security"));
        let told = told(false);
        assert!(told.contains_key("strict-transport-security"));
        assert_eq!(told["x-content-type-options"], "nosniff");
        assert!(!told.keys().any(|name| name.as_str().starts_with("access-control")));
    }
}
