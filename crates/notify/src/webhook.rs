//! A webhook: one POST, over a connection of its own.

use std::future::poll_fn;
use std::pin::Pin;

use alerts::forms::{Beside, body};
use alerts::message::Message;
use api_types::{WebhookForm, WebhookRoute};
use http_body::Body;
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue, USER_AGENT};
use hyper::{Request, Uri};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::Failure;
use crate::tls::config;

/// Bytes of the head and of the body of an answer.
const HEAD: usize = 16 << 10;
const ANSWER: usize = 64 << 10;

/// Where a webhook is.
struct Place {
    is_tls: bool,
    host: String,
    port: u16,
    authority: String,
    path: String,
}

impl Place {
    fn of(url: &str) -> Option<Place> {
        let uri: Uri = url.parse().ok()?;
        let is_tls = match uri.scheme_str()? {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        let path = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        let port = authority.port_u16().unwrap_or(if is_tls { 443 } else { 80 });
        (!host.is_empty()).then(|| Place { is_tls, host, port, authority: authority.to_string(), path })
    }
}

/// Whether a text is the URL of a webhook.
pub fn is_url(text: &str) -> bool {
    Place::of(text).is_some()
}

/// What may be told of a URL: whatever stands behind the host may be a secret. `None`: it is no
/// URL.
pub fn host_of(url: &str) -> Option<String> {
    let place = Place::of(url)?;
    let scheme = if place.is_tls { "https" } else { "http" };
    Some(format!("{scheme}://{}/…", place.authority))
}

pub async fn send(route: &WebhookRoute, secret: Option<&str>, message: &Message) -> Result<(), Failure> {
    let bad = || Failure::Here("its URL is none of HTTP or HTTPS".to_owned());
    let mut place = Place::of(&route.url).ok_or_else(bad)?;
    let mut topic = String::new();
    if route.form == WebhookForm::Ntfy {
        // Messages as JSON go to the root.
        let path = place.path.split('?').next().unwrap_or_default().trim_matches('/').to_owned();
        let (above, last) = path.rsplit_once('/').unwrap_or(("", &path));
        last.clone_into(&mut topic);
        place.path = if above.is_empty() { "/".to_owned() } else { format!("/{above}/") };
    }
    let text =
        body(route.form, message, Beside { secret, topic: &topic, template: route.template.as_deref() });
    let here = |error: &dyn std::fmt::Display| Failure::Here(error.to_string());
    let mut request = Request::post(place.path.as_str())
        .header(HOST, place.authority.as_str())
        .header(USER_AGENT, concat!("cistern/", env!("CARGO_PKG_VERSION")))
        .header(CONTENT_TYPE, "application/json")
        .header("Idempotency-Key", message.id.as_str())
        .body(text)
        .map_err(|error| here(&error))?;
    if let Some(secret) = secret.filter(|_| route.form != WebhookForm::Pagerduty) {
        let mut value = HeaderValue::from_str(&format!("Bearer {secret}")).map_err(|error| here(&error))?;
        value.set_sensitive(true);
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    let unreachable = |error: std::io::Error| Failure::Unreachable(error.to_string());
    let stream = TcpStream::connect((place.host.as_str(), place.port)).await.map_err(unreachable)?;
    if !place.is_tls {
        return exchange(stream, request).await;
    }
    let name = ServerName::try_from(place.host).map_err(|_| bad())?;
    let connector = TlsConnector::from(config(route.roots.as_deref())?);
    let stream = connector.connect(name, stream).await.map_err(unreachable)?;
    exchange(stream, request).await
}

async fn exchange(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    request: Request<String>,
) -> Result<(), Failure> {
    let broken = |error: hyper::Error| Failure::Unreachable(error.to_string());
    let (mut sender, connection) =
        http1::Builder::new().max_buf_size(HEAD).handshake(TokioIo::new(stream)).await.map_err(broken)?;
    // It ends with the runtime.
    tokio::spawn(connection);
    let answer = sender.send_request(request).await.map_err(broken)?;
    let status = answer.status();
    pass_over(answer.into_body()).await;
    match status {
        status if status.is_success() => Ok(()),
        status if status.is_redirection() => {
            Err(Failure::Refused(format!("{status}: it sends elsewhere, and that is not followed")))
        }
        status => Err(Failure::Refused(format!("the answer is {status}"))),
    }
}

/// Reads what comes, up to a bound: an answer that is cut off would look like a fault of ours at
/// the other end.
async fn pass_over(mut body: Incoming) {
    let mut left = ANSWER;
    while let Some(Ok(frame)) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let len = frame.into_data().map_or(0, |data: Bytes| data.len());
        match left.checked_sub(len) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
