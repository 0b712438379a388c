//! HTTPS to an authority: one request a connection, over TLS, with bounds.
//!
//! The authority is named by an administrator, but what answers may be anybody, and may mean no
//! good: it may be silent, talk without end, send elsewhere, or answer nonsense.
//!
//! Invariants:
//! - Nothing is asked by plain HTTP, and no redirection is followed.
//! - A request, from the look-up of the name to the last byte, takes no longer and gives no more
//!   than [`Bounds`] say.
//! - What `instant_acme` would compute with unchecked does not reach it: `Retry-After`, which may
//!   name any number of seconds, and a directory without URLs.

use axum::body::Bytes;
use axum::http::header::{HOST, RETRY_AFTER};
use axum::http::uri::Scheme;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, Uri};
use http_body::Body;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use instant_acme::{BodyWrapper, BytesResponse, Error, HttpClient};
use sockets::lock;
use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Bytes of the head of an answer.
const HEAD: usize = 64 << 10;
/// Addresses of one name that are tried.
const ADDRESSES: usize = 8;
/// Certificates in a file of roots.
const ROOTS: usize = 1_024;
const PORT: u16 = 443;
/// URLs that a directory has to have.
const WANTED: [&str; 3] = ["newNonce", "newAccount", "newOrder"];

/// What a request may take.
#[derive(Clone, Copy)]
pub struct Bounds {
    /// Of it all.
    pub time: Duration,
    /// To get a connection to one address.
    pub connect: Duration,
    /// Bytes of the body of an answer.
    pub body: usize,
}

impl Bounds {
    pub const USUAL: Bounds =
        Bounds { time: Duration::from_secs(30), connect: Duration::from_secs(8), body: 256 << 10 };
}

/// What went wrong with a request.
#[derive(Debug)]
pub enum Trouble {
    /// It is no URL of HTTPS.
    BadUrl(String),
    Unreachable(String, String),
    /// TLS did not come about: a certificate that is not trusted, mostly.
    NoTls(String, String),
    Broken(String, String),
    /// It took longer than this.
    Silent(Duration),
    Redirected,
    /// The answer has more bytes than this.
    TooLarge(usize),
    /// A refusal without words.
    Status(StatusCode),
    /// What should be a directory is none.
    NoDirectory,
    /// The roots that were given cannot be read.
    BadRoots,
    /// This machine trusts nobody.
    NoRoots,
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trouble::BadUrl(url) => write!(f, "'{url}' is no URL of HTTPS"),
            Trouble::Unreachable(host, why) => write!(f, "{host} cannot be reached: {why}"),
            Trouble::NoTls(host, why) => write!(f, "no TLS with {host}: {why}"),
            Trouble::Broken(host, why) => write!(f, "{host} broke off: {why}"),
            Trouble::Silent(time) => write!(f, "there was no whole answer within {} s", time.as_secs()),
            Trouble::Redirected => write!(f, "it sends elsewhere, and that is not followed"),
            Trouble::TooLarge(most) => write!(f, "the answer has more than {most} bytes"),
            Trouble::Status(status) => write!(f, "the answer is {status}, and says no more"),
            Trouble::NoDirectory => write!(f, "what is there is no directory of ACME"),
            Trouble::BadRoots => write!(f, "the roots that were given cannot be read"),
            Trouble::NoRoots => write!(f, "this machine trusts no authority: it lacks ca-certificates"),
        }
    }
}

impl std::error::Error for Trouble {}

/// A client for one directory.
#[derive(Clone)]
pub struct Http(Arc<Inner>);

struct Inner {
    tls: Arc<ClientConfig>,
    directory: Uri,
    bounds: Bounds,
    /// What the last refusal said about when to come again.
    later: Mutex<Option<i64>>,
}

impl Http {
    /// With whose certificates the directory may show, as PEM; `None`: whom this machine trusts.
    /// Reads files.
    pub fn new(directory: &str, roots: Option<&str>, bounds: Bounds) -> Result<Http, Trouble> {
        let store = match roots {
            Some(pem) => read_roots(pem).ok_or(Trouble::BadRoots)?,
            None => system_roots(),
        };
        if store.is_empty() {
            return Err(Trouble::NoRoots);
        }
        let directory: Uri = directory.parse().map_err(|_| Trouble::BadUrl(directory.to_owned()))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|error| Trouble::NoTls(directory.to_string(), error.to_string()))?;
        let tls = Arc::new(builder.with_root_certificates(store).with_no_client_auth());
        Ok(Http(Arc::new(Inner { tls, directory, bounds, later: Mutex::new(None) })))
    }

    /// Seconds for which the authority wanted to be left alone when it refused something.
    pub fn later(&self) -> Option<i64> {
        *lock(&self.0.later)
    }
}

impl HttpClient for Http {
    fn request(
        &self,
        request: Request<BodyWrapper<Bytes>>,
    ) -> Pin<Box<dyn Future<Output = Result<BytesResponse, Error>> + Send>> {
        let inner = self.0.clone();
        Box::pin(async move {
            let time = inner.bounds.time;
            let answer = timeout(time, inner.ask(request)).await.unwrap_or(Err(Trouble::Silent(time)));
            answer.map_err(|trouble| Error::Other(Box::new(trouble)))
        })
    }
}

impl Inner {
    async fn ask(&self, mut request: Request<BodyWrapper<Bytes>>) -> Result<BytesResponse, Trouble> {
        let uri = request.uri().clone();
        let is_directory = uri == self.directory;
        let place = Place::of(&uri)?;
        let stream = self.connect(&place).await?;
        let name = ServerName::try_from(place.host.clone()).map_err(|_| Trouble::BadUrl(uri.to_string()))?;
        let no_tls = |error: std::io::Error| Trouble::NoTls(place.host.clone(), error.to_string());
        let stream = TlsConnector::from(self.tls.clone()).connect(name, stream).await.map_err(no_tls)?;
        let broken = |error: hyper::Error| Trouble::Broken(place.host.clone(), error.to_string());
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(HEAD).handshake(TokioIo::new(stream)).await.map_err(broken)?;
        *request.uri_mut() = place.path;
        request.headers_mut().insert(HOST, place.authority);
        let exchange = async {
            let answer = sender.send_request(request).await.map_err(broken)?;
            let (mut parts, body) = answer.into_parts();
            self.note_later(parts.status, &mut parts.headers);
            if parts.status.is_redirection() {
                return Err(Trouble::Redirected);
            }
            let body = collect(body, self.bounds.body).await?;
            Ok((parts, body))
        };
        let drive = async {
            // What is wrong with it the exchange is told, too; what has come is still read there.
            drop(connection.await);
            pending::<Infallible>().await
        };
        let (parts, body) = tokio::select! {
            answer = exchange => answer?,
            never = drive => match never {},
        };
        let is_refusal = parts.status.is_client_error() || parts.status.is_server_error();
        if is_refusal && (is_directory || !is_object(&body)) {
            return Err(Trouble::Status(parts.status));
        }
        if is_directory && !has_urls(&body) {
            return Err(Trouble::NoDirectory);
        }
        Ok(BytesResponse { parts, body: Box::new(body) })
    }

    async fn connect(&self, place: &Place) -> Result<TcpStream, Trouble> {
        let unreachable = |why: String| Trouble::Unreachable(place.host.clone(), why);
        let found = lookup_host((place.host.as_str(), place.port)).await;
        let found: Vec<SocketAddr> =
            found.map_err(|error| unreachable(error.to_string()))?.take(ADDRESSES).collect();
        let mut why = "it has no address".to_owned();
        for address in found {
            match timeout(self.bounds.connect, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => why = error.to_string(),
                Err(_) => "it does not answer".clone_into(&mut why),
            }
        }
        Err(unreachable(why))
    }

    /// Takes `Retry-After` out of an answer.
    fn note_later(&self, status: StatusCode, headers: &mut HeaderMap) {
        let asked = headers.remove(RETRY_AFTER);
        if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status) {
            // A date says less than our own pauses do: that is passed over.
            let seconds = asked.and_then(|value| value.to_str().ok()?.trim().parse().ok());
            *lock(&self.later) = seconds;
        }
    }
}

/// Where a request goes.
struct Place {
    host: String,
    port: u16,
    authority: HeaderValue,
    path: Uri,
}

impl Place {
    fn of(uri: &Uri) -> Result<Place, Trouble> {
        let bad = || Trouble::BadUrl(uri.to_string());
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'));
        let authority = authority.filter(|_| uri.scheme() == Some(&Scheme::HTTPS)).ok_or_else(bad)?;
        let host = authority.host().trim_start_matches('[').trim_end_matches(']').to_owned();
        if host.is_empty() {
            return Err(bad());
        }
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        Ok(Place {
            host,
            port: authority.port_u16().unwrap_or(PORT),
            authority: HeaderValue::from_str(authority.as_str()).map_err(|_| bad())?,
            path: path.parse().map_err(|_| bad())?,
        })
    }
}

/// Whether a text is a URL of HTTPS.
pub fn is_https(text: &str) -> bool {
    text.parse::<Uri>().is_ok_and(|uri| Place::of(&uri).is_ok())
}

/// Whether a text has certificates that can be roots, all of which can be read.
pub fn are_roots(pem: &str) -> bool {
    read_roots(pem).is_some_and(|roots| !roots.is_empty())
}

fn read_roots(pem: &str) -> Option<RootCertStore> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).take(ROOTS) {
        // What cannot be read is the same to whoever asks: they are not roots.
        store.add(certificate.ok()?).ok()?;
    }
    Some(store)
}

/// Those of this machine. One that cannot be read vouches for nobody.
fn system_roots() -> RootCertStore {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    store
}

async fn collect(mut body: Incoming, most: usize) -> Result<Bytes, Trouble> {
    let mut whole = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|error| Trouble::Broken("the authority".to_owned(), error.to_string()))?;
        let Ok(data) = frame.into_data() else { continue };
        if whole.len() + data.len() > most {
            return Err(Trouble::TooLarge(most));
        }
        whole.extend_from_slice(&data);
    }
    Ok(Bytes::from(whole))
}

fn is_object(body: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(body).is_ok_and(|value| value.is_object())
}

/// Whether a directory has the URLs that it takes.
fn has_urls(body: &[u8]) -> bool {
    let Ok(directory) = serde_json::from_slice::<serde_json::Value>(body) else { return false };
    WANTED.iter().all(|name| directory[*name].as_str().is_some_and(is_https))
}
