//! The HTTPS listener: TLS 1.2 and 1.3, HTTP/1.1 and HTTP/2.
//!
//! A stranger can make connections and say nothing. So there are so many at the most, and fewer of
//! them from one place; a handshake has a time, and of one place only some are under way at once,
//! so its others wait for them. Who comes when there is no place is sent away at once: before the
//! handshake nothing can be said. All of it runs on threads of its own ([`crate::server`]), so
//! whatever comes here, the Unix socket is served.
//!
//! Invariants:
//! - No memory is held for a connection that has no place.
//! - A connection is served once its handshake is done, and never without one.

pub mod certificate;
pub mod challenges;
pub mod place;

use crate::connection::{self, Manner};
use api_types::Fingerprint;
use axum::Router;
use challenges::Answers;
use peers::ahead::Ahead;
use peers::tls::PROTOCOL;
use place::{Place, Places};
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{Acceptor, NoServerSessionStorage};
use tokio_rustls::rustls::{self, ServerConfig};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, TlsAcceptor};

/// How long a handshake may take, the wait for its turn included.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// Where the kernel has no descriptors left, others have to close some first.
const PAUSE: Duration = Duration::from_secs(1);
/// What is spoken, as ALPN names it.
const HTTP2: &[u8] = b"h2";
const HTTP1: &[u8] = b"http/1.1";

/// Where a request comes from, and the place of its connection; in its extensions.
#[derive(Clone)]
pub struct Peer {
    pub address: IpAddr,
    pub place: Arc<Place>,
}

/// Other appliances, who come by the same port and speak another protocol.
#[derive(Clone)]
pub struct Neighbours {
    pub config: Arc<ServerConfig>,
    pub router: Router,
}

/// Another appliance that has come, and the place of its connection; in the extensions of its
/// requests.
#[derive(Clone)]
pub struct Comer {
    pub fingerprint: Fingerprint,
    pub address: IpAddr,
    pub place: Arc<Place>,
}

/// How TLS is spoken with the certificates that are kept. A client that comes again makes a whole
/// handshake: so it sees the certificate of today, and nothing is kept for it.
pub fn acceptor(answers: Answers) -> Result<TlsAcceptor, rustls::Error> {
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(answers));
    config.alpn_protocols = vec![HTTP2.to_vec(), HTTP1.to_vec(), challenges::PROTOCOL.to_vec()];
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// Takes connections until the sender of `stop` is dropped, and returns when the last one has
/// ended. `friends` are places where somebody was let in before.
pub async fn listen(
    listener: TcpListener,
    friends: Vec<IpAddr>,
    acceptor: TlsAcceptor,
    (router, neighbours): (Router, Option<Neighbours>),
    mut stop: watch::Receiver<()>,
) {
    let places = Arc::new(Places::new(friends));
    let (alive, mut ended) = mpsc::channel::<Infallible>(1);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = stop.changed() => break,
        };
        let (stream, address) = match accepted {
            Ok(accepted) => accepted,
            Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
            Err(error) => {
                tracing::error!(%error, "nobody can come in by HTTPS");
                sleep(PAUSE).await;
                continue;
            }
        };
        let Some(place) = places.enter(address.ip()) else {
            tracing::debug!(%address, "no place by HTTPS");
            continue;
        };
        let (acceptor, stop, alive) = (acceptor.clone(), stop.clone(), alive.clone());
        let routers = (router.clone(), neighbours.clone());
        tokio::spawn(async move {
            take((stream, address), Arc::new(place), &acceptor, routers, stop).await;
            drop(alive);
        });
    }
    drop((listener, alive));
    // None is ever sent: it ends when the last connection has let go.
    let _: Option<Infallible> = ended.recv().await;
}

async fn take(
    (stream, address): (TcpStream, SocketAddr),
    place: Arc<Place>,
    acceptor: &TlsAcceptor,
    (router, neighbours): (Router, Option<Neighbours>),
    stop: watch::Receiver<()>,
) {
    let handshake = async {
        stream.set_nodelay(true)?;
        sockets::notice_gone(&stream)?;
        let _turn = place.turn().await;
        let greeted = LazyConfigAcceptor::new(Acceptor::default(), Ahead::new(stream)).await?;
        let is_peer = greeted.client_hello().alpn().is_some_and(|mut all| all.any(|it| it == PROTOCOL));
        let config = neighbours.as_ref().filter(|_| is_peer).map_or(acceptor.config(), |it| &it.config);
        greeted.into_stream(config.clone()).await
    };
    let stream = match timeout(HANDSHAKE, handshake).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => {
            tracing::debug!(%address, %error, "a handshake failed");
            return;
        }
        Err(_) => {
            tracing::debug!(%address, "a handshake took too long");
            return;
        }
    };
    let manner = match stream.get_ref().1.alpn_protocol() {
        Some(HTTP2) => Manner::Http2,
        // Whoever asks so has seen the certificate, and wants no more.
        Some(challenges::PROTOCOL) => return,
        Some(PROTOCOL) => {
            return neighbour((stream, address.ip().to_canonical()), place, neighbours, stop).await;
        }
        _ => Manner::Http1,
    };
    let peer = Peer { address: address.ip().to_canonical(), place: place.clone() };
    let tell = move |extensions: &mut axum::http::Extensions| {
        extensions.insert(peer.clone());
    };
    connection::serve(stream, router, tell, || place.is_known(), manner, stop).await;
}

/// Serves another appliance.
async fn neighbour(
    (stream, address): (TlsStream<Ahead<TcpStream>>, IpAddr),
    place: Arc<Place>,
    neighbours: Option<Neighbours>,
    stop: watch::Receiver<()>,
) {
    // There is always a certificate: the handshake has taken none without.
    let shown = peers::tls::of_client(stream.get_ref().1.peer_certificates());
    let (Some(Neighbours { router, .. }), Some(fingerprint)) = (neighbours, shown) else { return };
    let comer = Comer { fingerprint, address, place: place.clone() };
    let tell = move |extensions: &mut axum::http::Extensions| {
        extensions.insert(comer.clone());
    };
    connection::serve(stream, router, tell, || place.is_known(), Manner::Http1, stop).await;
}
