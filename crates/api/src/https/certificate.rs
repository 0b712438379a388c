//! The certificate that HTTPS shows: made at the first start, renewed, and replaced by an
//! administrator.
//!
//! Who makes none gets one that signs itself; people compare its fingerprint. It is renewed
//! [`RENEWED_BEFORE`] its end. One that an administrator has put there is never touched.
//!
//! The two files are replaced one after the other, the certificate first, and both are written
//! under another name before. So a kill leaves a certificate whose key is still under that name,
//! and whoever reads them next puts it in its place.
//!
//! Invariants:
//! - What is shown was checked: the key is the certificate's, all certificates of the chain can be
//!   read, and the first one is not past its end.
//! - The key is readable for its owner alone, and is never logged.

mod files;

use api_types::CertificateInfo;
use files::{Pair, look, read, replace};
use machine::Outside;
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, date_time_ymd};
use sha2::{Digest, Sha256};
use sockets::lock;
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;
use tokio_rustls::rustls;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;

const DAY: i64 = 24 * 60 * 60;
/// How long one that is made here lasts: as long as browsers take any.
const LASTS: i64 = 397 * DAY;
const RENEWED_BEFORE: i64 = 30 * DAY;
/// A clock of a client may be behind ours.
const SLACK: i64 = DAY;
/// The subject of those that are made here.
const OURS: &str = "Cistern appliance";
/// Certificates of a chain.
const MOST: usize = 16;

/// What is wrong with a certificate and its key.
#[derive(Debug)]
pub enum Unfit {
    /// A file of them, which says which, cannot be read or written.
    Io(PathBuf, io::Error),
    NoCertificate,
    /// A certificate is no PEM or no X.509.
    Unreadable,
    TooMany,
    /// It was valid until then, in seconds since 1970.
    Expired(i64),
    NoKey,
    /// It is of a kind that is not known, or too weak.
    BadKey,
    /// The key is of another certificate.
    OtherKey,
    /// None could be made.
    NotMade(rcgen::Error),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unfit::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Unfit::NoCertificate => write!(f, "there is no certificate in it"),
            Unfit::Unreadable => write!(f, "a certificate cannot be read"),
            Unfit::TooMany => write!(f, "a chain has at most {MOST} certificates"),
            Unfit::Expired(end) => write!(f, "the certificate has expired ({end} seconds after 1970)"),
            Unfit::NoKey => write!(f, "there is no private key in it"),
            Unfit::BadKey => write!(f, "the private key cannot be used"),
            Unfit::OtherKey => write!(f, "the private key is not that of the certificate"),
            Unfit::NotMade(error) => write!(f, "no certificate could be made: {error}"),
        }
    }
}

/// A certificate with its key, as it is shown.
struct Shown {
    key: Arc<CertifiedKey>,
    info: CertificateInfo,
    /// It was made here.
    is_ours: bool,
}

/// The certificate that is shown now.
pub struct Certificates {
    folder: PathBuf,
    /// Of this machine.
    names: Vec<String>,
    outside: Arc<dyn Outside>,
    /// Held by who puts another one there, while files are written: so those and what is shown are
    /// one, and no handshake waits for a disk.
    changing: Mutex<()>,
    shown: RwLock<Arc<Shown>>,
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificates").field("folder", &self.folder).finish_non_exhaustive()
    }
}

impl Certificates {
    /// Reads the certificate of a folder, which need not be there; makes one where there is none,
    /// and in place of one of ours that ends soon.
    pub fn open(
        folder: PathBuf,
        names: Vec<String>,
        outside: Arc<dyn Outside>,
    ) -> Result<Certificates, Unfit> {
        let now = outside.now();
        let is_due = |shown: &Shown| shown.is_ours && shown.info.not_after - now < RENEWED_BEFORE;
        let shown = match read(&folder, &|pair| shown(pair).is_ok())? {
            Some(pair) => Some(shown(&pair)?).filter(|shown| !is_due(shown)),
            None => None,
        };
        let shown = match shown {
            Some(shown) => shown,
            None => make(&folder, &names, now)?,
        };
        if shown.info.not_after <= now {
            tracing::warn!(end = shown.info.not_after, "the certificate of HTTPS has expired");
        }
        let shown = RwLock::new(Arc::new(shown));
        Ok(Certificates { folder, names, outside, changing: Mutex::new(()), shown })
    }

    pub fn info(&self) -> CertificateInfo {
        self.shown().info.clone()
    }

    fn shown(&self) -> Arc<Shown> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn show(&self, new: Shown) -> CertificateInfo {
        let info = new.info.clone();
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(new);
        info
    }

    /// What handshakes begin with.
    pub fn key(&self) -> Arc<CertifiedKey> {
        self.shown().key.clone()
    }

    /// Whether a name is one that the certificate is for.
    pub fn is_for(&self, name: &str) -> bool {
        self.shown().info.names.iter().any(|known| covers(known, name))
    }

    /// Shows another one from now on, if it is fit.
    pub fn set(&self, certificate: &str, key: &str) -> Result<CertificateInfo, Unfit> {
        let pair = Pair { certificate: certificate.to_owned(), key: key.to_owned() };
        let new = shown(&pair)?;
        if new.info.not_after <= self.outside.now() {
            return Err(Unfit::Expired(new.info.not_after));
        }
        let _changing = lock(&self.changing);
        replace(&self.folder, &pair)?;
        Ok(self.show(new))
    }

    /// Makes another one where it was made here and ends soon. To be called now and then; may wait
    /// for a disk.
    pub fn renew(&self) -> Result<(), Unfit> {
        let now = self.outside.now();
        let _changing = lock(&self.changing);
        let shown = self.shown();
        if shown.is_ours && shown.info.not_after - now < RENEWED_BEFORE {
            let new = self.show(make(&self.folder, &self.names, now)?);
            tracing::info!(fingerprint = new.fingerprint, "the certificate of HTTPS was renewed");
        }
        Ok(())
    }
}

/// A certificate and its key, which were checked, as files and for who keeps copies of them.
pub struct KeptCertificate {
    pair: Pair,
    /// SHA-256 of the certificate.
    pub fingerprint: String,
}

impl KeptCertificate {
    /// Checks a certificate and its key, in PEM; its end is not looked at.
    pub fn new(certificate: String, key: String) -> Result<KeptCertificate, Unfit> {
        let pair = Pair { certificate, key };
        let fingerprint = shown(&pair)?.info.fingerprint;
        Ok(KeptCertificate { pair, fingerprint })
    }

    /// Of a folder. `None`: there is none. While another one takes its place, the two files may not
    /// belong together.
    pub fn read(folder: &Path) -> Result<Option<KeptCertificate>, Unfit> {
        let pair = look(folder)?;
        pair.map(|Pair { certificate, key }| KeptCertificate::new(certificate, key)).transpose()
    }

    /// Puts it into a folder, which need not be there.
    pub fn write(&self, folder: &Path) -> Result<(), Unfit> {
        replace(folder, &self.pair)
    }

    pub fn certificate(&self) -> &str {
        &self.pair.certificate
    }

    pub fn key(&self) -> &str {
        &self.pair.key
    }
}

/// Makes a certificate that signs itself, and keeps it.
fn make(folder: &Path, of_machine: &[String], now: i64) -> Result<Shown, Unfit> {
    let mut names: Vec<String> = of_machine.iter().filter(|name| is_host_name(name)).cloned().collect();
    names.extend(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
    // `localhost` may be what the machine is called.
    let mut seen = HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    let mut params = CertificateParams::new(names).map_err(Unfit::NotMade)?;
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, OURS);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let at = |seconds: i64| date_time_ymd(1970, 1, 1) + Duration::from_secs(seconds.max(0).unsigned_abs());
    params.not_before = at(now - SLACK);
    params.not_after = at(now - SLACK + LASTS);
    let key = KeyPair::generate().map_err(Unfit::NotMade)?;
    let certificate = params.self_signed(&key).map_err(Unfit::NotMade)?;
    let pair = Pair { certificate: certificate.pem(), key: key.serialize_pem() };
    let shown = shown(&pair)?;
    replace(folder, &pair)?;
    Ok(shown)
}

/// What would be told of a certificate and its key, if they are fit to be shown; its end is not
/// looked at.
pub fn examine(certificate: &str, key: &str) -> Result<CertificateInfo, Unfit> {
    let pair = Pair { certificate: certificate.to_owned(), key: key.to_owned() };
    Ok(shown(&pair)?.info)
}

/// What a certificate can be for: letters, digits, hyphens and dots.
fn is_host_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 253
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
}

/// Checks a certificate and its key; its end is not looked at.
fn shown(pair: &Pair) -> Result<Shown, Unfit> {
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(pair.certificate.as_bytes()).take(MOST + 1).collect();
    let chain = chain.map_err(|_| Unfit::Unreadable)?;
    if chain.len() > MOST {
        return Err(Unfit::TooMany);
    }
    for certificate in &chain {
        parsed(certificate)?;
    }
    let first = chain.first().ok_or(Unfit::NoCertificate)?;
    let (info, is_ours) = told(first)?;
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).map_err(|_| Unfit::NoKey)?;
    let key = CertifiedKey::from_der(chain, key, &ring::default_provider());
    let key = key.map_err(|error| match error {
        rustls::Error::InconsistentKeys(_) => Unfit::OtherKey,
        rustls::Error::InvalidCertificate(_) => Unfit::Unreadable,
        _ => Unfit::BadKey,
    })?;
    Ok(Shown { key: Arc::new(key), info, is_ours })
}

fn parsed<'a>(certificate: &'a CertificateDer<'_>) -> Result<X509Certificate<'a>, Unfit> {
    match x509_parser::parse_x509_certificate(certificate) {
        Ok(([], parsed)) => Ok(parsed),
        _ => Err(Unfit::Unreadable),
    }
}

/// What is told of a certificate, and whether it was made here.
fn told(certificate: &CertificateDer<'_>) -> Result<(CertificateInfo, bool), Unfit> {
    let parsed = parsed(certificate)?;
    let alternative = parsed.subject_alternative_name().map_err(|_| Unfit::Unreadable)?;
    let names =
        alternative.iter().flat_map(|found| &found.value.general_names).filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            GeneralName::IPAddress(bytes) => address(bytes).map(|address| address.to_string()),
            _ => None,
        });
    let names = names.collect();
    let self_signed = parsed.issuer().as_raw() == parsed.subject().as_raw();
    let is_ours = self_signed && parsed.subject().iter_common_name().any(|name| name.as_str() == Ok(OURS));
    let digest = Sha256::digest(certificate.as_ref());
    let pairs: Vec<String> = digest.iter().map(|byte| format!("{byte:02X}")).collect();
    let info = CertificateInfo {
        fingerprint: pairs.join(":"),
        names,
        not_before: parsed.validity().not_before.timestamp(),
        not_after: parsed.validity().not_after.timestamp(),
        issuer: parsed.issuer().to_string(),
        self_signed,
    };
    Ok((info, is_ours))
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let of_four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    // Neither four bytes nor sixteen are no address.
    of_four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from)).ok()
}

/// Whether a name of a certificate stands for `name`. A star stands for one label (RFC 6125).
fn covers(known: &str, name: &str) -> bool {
    match known.strip_prefix("*.") {
        Some(rest) => name.split_once('.').is_some_and(|(first, below)| {
            !first.is_empty() && !rest.is_empty() && below.eq_ignore_ascii_case(rest)
        }),
        None => known.eq_ignore_ascii_case(name),
    }
}

#[cfg(test)]
mod tests;
