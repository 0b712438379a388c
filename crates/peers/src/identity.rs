//! By what this appliance is known: a certificate that signs itself, made once.

use api_types::Fingerprint;
use machine::{Fault, PeerKey};
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair, date_time_ymd};
use sha2::{Digest, Sha256};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The subject of all of them: what an appliance is called is no secret, and is no proof.
const SUBJECT: &str = "Cistern appliance";

/// A certificate and its key.
#[derive(Debug)]
pub struct Identity {
    pub certificate: CertificateDer<'static>,
    pub(crate) key: PrivateKeyDer<'static>,
    pub fingerprint: Fingerprint,
}

/// Of a certificate that is shown.
pub fn fingerprint(certificate: &[u8]) -> Fingerprint {
    Fingerprint(Sha256::digest(certificate).into())
}

/// A new one. It does not end: who is to be a peer no more is removed.
pub fn make() -> Result<PeerKey, Fault> {
    let unmade = |error: rcgen::Error| Fault::Defect(error.to_string());
    let mut params = CertificateParams::new(Vec::new()).map_err(unmade)?;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, SUBJECT);
    params.not_before = date_time_ymd(1970, 1, 1);
    params.not_after = date_time_ymd(9999, 12, 31);
    let key = KeyPair::generate().map_err(unmade)?;
    let certificate = params.self_signed(&key).map_err(unmade)?;
    Ok(PeerKey { certificate: certificate.pem(), key: key.serialize_pem() })
}

impl Identity {
    /// # Errors
    /// [`Fault::Damaged`]: that is no certificate, or no key.
    pub fn of(kept: &PeerKey) -> Result<Identity, Fault> {
        let unread = |_| Fault::Damaged("the certificate for peers cannot be read".to_owned());
        let certificate = CertificateDer::from_pem_slice(kept.certificate.as_bytes()).map_err(unread)?;
        let key = PrivateKeyDer::from_pem_slice(kept.key.as_bytes()).map_err(unread)?;
        let fingerprint = fingerprint(&certificate);
        Ok(Identity { certificate, key, fingerprint })
    }
}
