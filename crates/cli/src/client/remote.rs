//! A daemon on another machine: its address, whose certificate is taken for its own, and by what we
//! are let in.
//!
//! Invariant: nothing is sent before the certificate is the right one.

use std::fmt;
use std::io;
use std::net::ToSocketAddrs;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use hyper::header::{AUTHORIZATION, COOKIE, HeaderMap, HeaderValue};
use socket2::{SockRef, TcpKeepalive};
use stdx::os_error::words;
use tokio::net::TcpStream;
use tokio::time;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, Error};

use api_types::Fingerprint;

use super::line::{Line, Transport};
use super::tls::{self, Trust, Verifier};

pub const USUAL_PORT: u16 = 8443;
/// How long one of its addresses may take to answer, and the handshake after it.
const PATIENCE: Duration = Duration::from_secs(10);
/// A machine that is gone is found out after about two minutes without a word.
const KEEPALIVE: TcpKeepalive = TcpKeepalive::new()
    .with_time(Duration::from_secs(60))
    .with_interval(Duration::from_secs(15))
    .with_retries(4);
const CSRF: &str = "x-csrf-token";
/// The cookie of a session.
const SESSION: &str = "__Host-cistern";

/// `HOST:PORT`; a host's address of IPv6 stands in brackets.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Address {
    host: String,
    port: u16,
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

impl FromStr for Address {
    type Err = String;

    /// The port is 8443 where none is given. `https://` before it and a slash behind it say nothing
    /// more.
    fn from_str(text: &str) -> Result<Address, String> {
        let bad = || format!("'{text}' is no HOST[:PORT]");
        let bare = text.strip_prefix("https://").unwrap_or(text);
        let bare = bare.strip_suffix('/').unwrap_or(bare);
        let (host, port) = match bare.strip_prefix('[').map(|rest| rest.split_once(']')) {
            Some(Some((host, ""))) => (host, None),
            Some(Some((host, port))) => (host, Some(port.strip_prefix(':').ok_or_else(bad)?)),
            Some(None) => return Err(bad()),
            // A bare address of IPv6 has no port.
            None if bare.matches(':').count() > 1 => (bare, None),
            None => bare.split_once(':').map_or((bare, None), |(host, port)| (host, Some(port))),
        };
        let port = port.map_or(Ok(USUAL_PORT), |port| port.parse().map_err(|_| bad()))?;
        match ServerName::try_from(host) {
            Ok(_) if port != 0 => Ok(Address { host: host.to_lowercase(), port }),
            _ => Err(bad()),
        }
    }
}

/// By what we are let in. It is never shown.
#[derive(Clone)]
pub enum Credential {
    Nothing,
    Token(String),
    Session { cookie: String, csrf: String },
}

impl Credential {
    /// Of the session that an answer begins.
    pub fn of_session(headers: &HeaderMap, csrf: &str) -> Option<Credential> {
        let cookies = headers.get_all("set-cookie").iter().filter_map(|cookie| cookie.to_str().ok());
        let pairs = cookies.filter_map(|cookie| cookie.split(';').next()?.split_once('='));
        let mut found = pairs.filter(|(name, _)| name.trim() == SESSION);
        let (_, secret) = found.next()?;
        Some(Credential::Session { cookie: format!("{SESSION}={secret}"), csrf: csrf.to_owned() })
    }

    /// Adds what a request carries. `None`: it is no text for a header.
    fn put(&self, headers: &mut HeaderMap) -> Option<()> {
        let secret = |text: &str| {
            let mut value = HeaderValue::from_str(text).ok()?;
            value.set_sensitive(true);
            Some(value)
        };
        match self {
            Credential::Nothing => {}
            Credential::Token(token) => {
                headers.insert(AUTHORIZATION, secret(&format!("Bearer {token}"))?);
            }
            Credential::Session { cookie, csrf } => {
                headers.insert(COOKIE, secret(cookie)?);
                headers.insert(CSRF, secret(csrf)?);
            }
        }
        Some(())
    }
}

/// Why the other machine cannot be talked to.
#[derive(Debug)]
pub enum Unreached {
    /// Its name stands for nothing, or nobody listens there.
    Io(io::Error),
    Silent,
    /// What answers there speaks no TLS.
    NoTls,
    /// The certificate is another one than the one that is known.
    Changed {
        known: Fingerprint,
        seen: Fingerprint,
    },
    /// This machine's roots do not vouch for the certificate.
    Untrusted {
        seen: Fingerprint,
        why: String,
    },
    Tls(String),
}

#[derive(Clone)]
pub struct Remote {
    address: Address,
    trust: Trust,
    config: Arc<ClientConfig>,
    verifier: Arc<Verifier>,
    credential: Credential,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Remote");
        shown.field("address", &self.address).field("trust", &self.trust).finish_non_exhaustive()
    }
}

impl Remote {
    pub fn new(address: Address, trust: Trust, credential: Credential) -> Result<Remote, Unreached> {
        let (config, verifier) = tls::config(trust).map_err(|error| Unreached::Tls(error.to_string()))?;
        Ok(Remote { address, trust, config, verifier, credential })
    }

    /// The same machine, let in by something else.
    pub fn with(&self, credential: Credential) -> Remote {
        Remote { credential, ..self.clone() }
    }

    pub fn address(&self) -> &Address {
        &self.address
    }

    pub fn has_token(&self) -> bool {
        matches!(self.credential, Credential::Token(_))
    }

    /// What every request carries. `None`: the token is no text for a header.
    pub fn headers(&self, headers: &mut HeaderMap) -> Option<()> {
        self.credential.put(headers)
    }

    /// Connects to the first of its addresses that answers.
    pub async fn reach(&self) -> Result<TcpStream, Unreached> {
        let addresses = (self.address.host.as_str(), self.address.port).to_socket_addrs();
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "it has no address");
        for address in addresses.map_err(Unreached::Io)? {
            match time::timeout(PATIENCE, TcpStream::connect(address)).await {
                Ok(Ok(stream)) => return prepared(stream).map_err(Unreached::Io),
                Ok(Err(error)) => failure = error,
                Err(_) => failure = io::ErrorKind::TimedOut.into(),
            }
        }
        Err(Unreached::Io(failure))
    }

    /// TLS on it, with the right certificate.
    pub async fn secure(&self, stream: TcpStream) -> Result<Line, Unreached> {
        let bad_name = |_| Unreached::Tls("its name is no name of a machine".into());
        let name = ServerName::try_from(self.address.host.clone()).map_err(bad_name)?;
        let shaken = TlsConnector::from(self.config.clone()).connect(name, stream);
        match time::timeout(PATIENCE, shaken).await {
            Ok(Ok(stream)) => Ok(Line::new(Transport::Tls(Box::new(stream)))),
            Ok(Err(error)) => Err(self.told(error)),
            Err(_) => Err(Unreached::Silent),
        }
    }

    fn told(&self, error: io::Error) -> Unreached {
        match error.get_ref().and_then(|error| error.downcast_ref::<Error>()) {
            Some(Error::InvalidMessage(_)) => Unreached::NoTls,
            Some(Error::InvalidCertificate(why)) => match (self.trust, self.verifier.seen()) {
                (Trust::Known(known), Some(seen)) if known != seen => Unreached::Changed { known, seen },
                (Trust::System, Some(seen)) => Unreached::Untrusted { seen, why: why.to_string() },
                _ => Unreached::Tls(why.to_string()),
            },
            Some(other) => Unreached::Tls(other.to_string()),
            None if error.kind() == io::ErrorKind::UnexpectedEof => {
                Unreached::Tls("it closed the connection before the handshake was done".into())
            }
            None => Unreached::Io(error),
        }
    }
}

fn prepared(stream: TcpStream) -> io::Result<TcpStream> {
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&KEEPALIVE)?;
    Ok(stream)
}

impl Unreached {
    /// Says it, of the machine at that address.
    pub fn sentence(&self, at: &Address) -> String {
        match self {
            Unreached::Io(error) => format!("cannot reach the Cistern daemon at {at}: {}", words(error)),
            Unreached::Silent => {
                format!(
                    "cannot reach the Cistern daemon at {at}: no word from it for {} seconds",
                    PATIENCE.as_secs()
                )
            }
            Unreached::NoTls => {
                format!("cannot reach the Cistern daemon at {at}: what answers there speaks no TLS")
            }
            Unreached::Tls(why) => format!("cannot reach the Cistern daemon at {at}: {why}"),
            Unreached::Changed { known, seen } => format!(
                "The certificate of {at} has changed; nothing was sent.\n\
                 SHA-256 that is known: {known}\n\
                 SHA-256 that it shows: {seen}\n\
                 Somebody may stand between you and it. If its certificate was replaced, compare the second fingerprint with \
                 what 'cistern certificate show' says on that machine, then run 'cistern login {at}' again."
            ),
            Unreached::Untrusted { seen, why } => format!(
                "This machine does not trust the certificate of {at}, and nothing was sent: {why}.\n\
                 SHA-256 that it shows: {seen}\n\
                 Compare the fingerprint with what 'cistern certificate show' says on that machine, then run \
                 'cistern login {at}'."
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_port_and_one_spelling() {
        for (text, shown) in [
            ("nas", "nas:8443"),
            ("NAS.example:1", "nas.example:1"),
            ("https://nas.example/", "nas.example:8443"),
            ("192.0.2.7:443", "192.0.2.7:443"),
            ("::1", "[::1]:8443"),
            ("[fe80::1]:443", "[fe80::1]:443"),
            ("[::1]", "[::1]:8443"),
        ] {
            assert_eq!(
                text.parse::<Address>().map(|address| address.to_string()),
                Ok(shown.to_owned()),
                "{text}"
            );
        }
        for bad in
            ["", ":1", "nas:", "nas:0", "nas:65536", "nas:x", "[::1", "[::1]1", "na s", "a/b", "http://nas"]
        {
            assert!(bad.parse::<Address>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_session_is_taken_from_its_cookie_alone() {
        let mut headers = HeaderMap::new();
        headers.append("set-cookie", HeaderValue::from_static("other=1; Path=/"));
        assert!(Credential::of_session(&headers, "c").is_none());
        headers.append("set-cookie", HeaderValue::from_static("__Host-cistern=abc; Path=/; Secure"));
        let mut sent = HeaderMap::new();
        Credential::of_session(&headers, "token")
            .and_then(|session| session.put(&mut sent))
            .expect("a session");
        assert_eq!(sent["cookie"], "__Host-cistern=abc");
        assert_eq!(sent["x-csrf-token"], "token");
        assert!(Credential::Token("a\nb".into()).put(&mut sent).is_none());
    }
}
