//! Which certificate of another machine is taken: one that this machine's roots vouch for, or the
//! one whose SHA-256 fingerprint is known.
//!
//! Invariant: whatever is taken, the other side proves that it has the certificate's key.

use std::fmt;
use std::sync::{Arc, OnceLock};

use api_types::{Fingerprint, NoFingerprint};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{self, CryptoProvider, WebPkiSupportedAlgorithms};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// A fingerprint as it is shown, or what is wrong with it.
pub fn fingerprint(text: &str) -> Result<Fingerprint, String> {
    let bad = |NoFingerprint| format!("'{text}' is no SHA-256 fingerprint: 64 hexadecimal digits");
    text.parse().map_err(bad)
}

fn of_certificate(certificate: &[u8]) -> Fingerprint {
    Fingerprint(Sha256::digest(certificate).into())
}

/// Whose certificate is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// One for the machine's name that the system's roots vouch for.
    System,
    Known(Fingerprint),
}

/// Looks at the certificate that a daemon shows.
pub struct Verifier {
    trust: Trust,
    /// For [`Trust::System`]; `None`: the system has no roots.
    roots: Option<Arc<WebPkiServerVerifier>>,
    algorithms: WebPkiSupportedAlgorithms,
    /// Of the first certificate that was shown.
    seen: OnceLock<Fingerprint>,
}

impl Verifier {
    pub fn seen(&self) -> Option<Fingerprint> {
        self.seen.get().copied()
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("trust", &self.trust)
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown = of_certificate(end_entity);
        self.seen.get_or_init(|| shown);
        match (self.trust, &self.roots) {
            (Trust::Known(known), _) if known == shown => Ok(ServerCertVerified::assertion()),
            (Trust::Known(_), _) => {
                Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
            }
            (Trust::System, Some(roots)) => {
                roots.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            (Trust::System, None) => Err(Error::InvalidCertificate(CertificateError::UnknownIssuer)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        crypto::verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// What TLS to another machine is spoken with, and who looks at its certificate.
pub fn config(trust: Trust) -> Result<(Arc<ClientConfig>, Arc<Verifier>), Error> {
    let provider = Arc::new(crypto::ring::default_provider());
    let roots = match trust {
        Trust::System => system_roots(&provider),
        Trust::Known(_) => None,
    };
    let algorithms = provider.signature_verification_algorithms;
    let verifier = Arc::new(Verifier { trust, roots, algorithms, seen: OnceLock::new() });
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    let builder = builder.dangerous().with_custom_certificate_verifier(verifier.clone());
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok((Arc::new(config), verifier))
}

/// What cannot be read of them vouches for nobody.
fn system_roots(provider: &Arc<CryptoProvider>) -> Option<Arc<WebPkiServerVerifier>> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return None;
    }
    WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build().ok()
}
