//! What a handshake shows: the certificate, or the proof that a name leads here.
//!
//! An authority that is asked for a certificate connects to the name, offers [`PROTOCOL`] and
//! nothing else, and wants to see a certificate that signs itself and carries a digest that only
//! this daemon can know (TLS-ALPN-01, RFC 8737). After that the connection ends: nothing is served
//! on it.
//!
//! Invariant: a proof is there while its order is under way, and nobody who asks for anything else
//! is shown one.

use super::certificate::{Certificates, Unfit};
use rcgen::{CertificateParams, CustomExtension, DistinguishedName, KeyPair};
use sockets::lock;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use tokio_rustls::rustls::crypto::ring::sign::any_supported_type;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert};
use tokio_rustls::rustls::sign::CertifiedKey;

/// As ALPN names it.
pub const PROTOCOL: &[u8] = b"acme-tls/1";

/// Proofs, by name. There are no more than names in one order.
#[derive(Default)]
pub struct Challenges(Mutex<HashMap<String, Arc<CertifiedKey>>>);

/// A proof, which is shown until it is dropped.
pub struct Proof {
    challenges: Arc<Challenges>,
    name: String,
    shown: Arc<CertifiedKey>,
}

impl Challenges {
    /// Has a proof shown for a name: the SHA-256 of a key authorization (RFC 8555, section 8.1).
    pub fn prove(self: &Arc<Self>, name: &str, digest: &[u8]) -> Result<Proof, Unfit> {
        let name = name.to_ascii_lowercase();
        let mut params = CertificateParams::new([name.clone()]).map_err(Unfit::NotMade)?;
        params.distinguished_name = DistinguishedName::new();
        params.custom_extensions = vec![CustomExtension::new_acme_identifier(digest)];
        let key = KeyPair::generate().map_err(Unfit::NotMade)?;
        let certificate = params.self_signed(&key).map_err(Unfit::NotMade)?;
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let key = any_supported_type(&key).map_err(|_| Unfit::BadKey)?;
        // Nothing here reads it: whoever does not know its extension has to refuse it.
        let shown = Arc::new(CertifiedKey::new(vec![certificate.der().clone()], key));
        lock(&self.0).insert(name.clone(), shown.clone());
        Ok(Proof { challenges: self.clone(), name, shown })
    }
}

impl Drop for Proof {
    fn drop(&mut self) {
        let mut all = lock(&self.challenges.0);
        // An order that came later has one of its own.
        if all.get(&self.name).is_some_and(|other| Arc::ptr_eq(other, &self.shown)) {
            all.remove(&self.name);
        }
    }
}

/// What handshakes are answered with.
pub struct Answers {
    pub certificates: Arc<Certificates>,
    pub challenges: Arc<Challenges>,
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers").field("certificates", &self.certificates).finish_non_exhaustive()
    }
}

impl ResolvesServerCert for Answers {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let wants_proof = hello.alpn().is_some_and(|offered| offered.eq([PROTOCOL]));
        match wants_proof {
            true => lock(&self.challenges.0).get(hello.server_name()?).cloned(),
            false => Some(self.certificates.key()),
        }
    }
}
