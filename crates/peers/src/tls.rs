//! TLS between peers: both sides show a certificate, and prove that they have its key. Whose it is
//! is decided by its fingerprint, and by nothing that stands in it.

use std::sync::{Arc, OnceLock};

use api_types::Fingerprint;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, WebPkiSupportedAlgorithms};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig,
    SignatureScheme,
};

use crate::identity::{Identity, fingerprint};

/// What peers speak, as ALPN names it.
pub const PROTOCOL: &[u8] = b"cistern-peer";

/// Looks at what the other side shows.
#[derive(Debug)]
pub(crate) struct Verifier {
    /// `None`: whoever it is, it is only to be known who.
    known: Option<Fingerprint>,
    seen: OnceLock<Fingerprint>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl Verifier {
    fn new(known: Option<Fingerprint>) -> Verifier {
        let algorithms = crypto::ring::default_provider().signature_verification_algorithms;
        Verifier { known, seen: OnceLock::new(), algorithms }
    }

    /// The first that was shown.
    pub fn seen(&self) -> Option<Fingerprint> {
        self.seen.get().copied()
    }

    fn look(&self, certificate: &CertificateDer<'_>) -> Result<(), Error> {
        let shown = fingerprint(certificate);
        self.seen.get_or_init(|| shown);
        match self.known {
            Some(known) if known != shown => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            _ => Ok(()),
        }
    }

    fn signed(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, certificate, signature, &self.algorithms)
    }
}

/// TLS 1.2 is not spoken.
fn old() -> Error {
    Error::General("peers speak TLS 1.3".to_owned())
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.look(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    /// Who it is, the requests ask: a stranger may become a peer.
    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(old())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.signed(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// How this machine is spoken to. Whoever comes shows a certificate; [`of_client`] says whose.
pub fn server(identity: &Identity) -> Result<Arc<ServerConfig>, Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(Verifier::new(None)))
        .with_single_cert(vec![identity.certificate.clone()], identity.key.clone_key())?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    // Each comes with a whole handshake, and nothing is kept for it.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

/// Who has come, of the certificates that it has shown.
pub fn of_client(shown: Option<&[CertificateDer<'_>]>) -> Option<Fingerprint> {
    Some(fingerprint(shown?.first()?))
}

/// How another machine is spoken to, and who looks at what it shows.
pub(crate) fn client(
    identity: &Identity,
    known: Option<Fingerprint>,
) -> Result<(Arc<ClientConfig>, Arc<Verifier>), Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let verifier = Arc::new(Verifier::new(known));
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(verifier.clone())
        .with_client_auth_cert(vec![identity.certificate.clone()], identity.key.clone_key())?;
    config.alpn_protocols = vec![PROTOCOL.to_vec()];
    config.enable_sni = false;
    Ok((Arc::new(config), verifier))
}
