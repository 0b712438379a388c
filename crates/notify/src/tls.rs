//! Whose certificates are trusted.

use std::sync::Arc;

use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use crate::Failure;

/// Certificates in a list of roots.
const MOST: usize = 1_024;

/// Whether a text has certificates that can be roots, all of which can be read.
pub fn are_roots(pem: &str) -> bool {
    read(pem).is_some_and(|roots| !roots.is_empty())
}

/// With the roots that are given; else those that this machine trusts.
pub fn config(roots: Option<&str>) -> Result<Arc<ClientConfig>, Failure> {
    let store = match roots {
        Some(pem) => read(pem).ok_or_else(|| Failure::Here("its roots cannot be read".to_owned()))?,
        None => {
            let mut store = RootCertStore::empty();
            store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
            store
        }
    };
    if store.is_empty() {
        return Err(Failure::Here("this machine trusts no authority: it lacks ca-certificates".to_owned()));
    }
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::Here(error.to_string()))?;
    Ok(Arc::new(builder.with_root_certificates(store).with_no_client_auth()))
}

fn read(pem: &str) -> Option<RootCertStore> {
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()).take(MOST) {
        // What cannot be read is the same to whoever asks: they are not roots.
        store.add(certificate.ok()?).ok()?;
    }
    Some(store)
}
