//! What a browser and an authenticator say, read and checked (Web Authentication Level 3, sections
//! 6 and 7).
//!
//! Why by ourselves: two algorithms are wanted, and no attestation. Of the crates that do more,
//! webauthn-rs-core brings 130 others, a release candidate of RSA among them, and webauthn_rp
//! brings 80, with RSA and P-384. `ring` is in the program already, for TLS, and `minicbor` brings
//! nothing.
//!
//! Attestation is asked for as `none`, and what comes is not looked at: nothing is decided by who
//! made an authenticator.
//!
//! Invariants: whatever is read has a bound before it is decoded. CBOR is read from the bytes as
//! they are, without allocation and recursion; what has indefinite lengths inside of others, which
//! no authenticator writes, is refused. Every byte has a meaning: what is left over is refused.

use api_types::{Assertion, AssertionResponse, Attestation};
use minicbor::Decoder;
use minicbor::data::Type;
use ring::signature::{ECDSA_P256_SHA256_ASN1, ED25519, UnparsedPublicKey, VerificationAlgorithm};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::fault::KeyFault;
use crate::secret;

/// Bytes of what is read.
const MOST_CLIENT_DATA: usize = 4 << 10;
const MOST_AUTHENTICATOR_DATA: usize = 4 << 10;
/// With certificates, which some authenticators send all the same.
const MOST_ATTESTATION: usize = 32 << 10;
const MOST_SIGNATURE: usize = 256;
/// As the specification has it.
const MOST_CREDENTIAL: usize = 1_023;
/// Members of a map.
const MOST_MEMBERS: u64 = 16;
/// Bits of the flags: somebody was there; the key may be copied, and is; a key and extensions
/// follow.
const PRESENT: u8 = 1;
const MAY_BE_BACKED_UP: u8 = 1 << 3;
const IS_BACKED_UP: u8 = 1 << 4;
const HAS_KEY: u8 = 1 << 6;
const HAS_EXTENSIONS: u8 = 1 << 7;
const AAGUID: usize = 16;
/// Bytes of a coordinate of P-256, and of a key of Ed25519.
const COORDINATE: usize = 32;
/// What a point of two coordinates begins with (SEC 1).
const UNCOMPRESSED: u8 = 4;

pub(crate) const KIND: &str = "public-key";

/// This machine as a browser sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelyingParty {
    /// The host name.
    pub id: String,
    /// With `https://`, and the port where it is not that of HTTPS.
    pub origin: String,
}

/// What a browser was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Create,
    Get,
}

impl Deed {
    fn word(self) -> &'static str {
        match self {
            Deed::Create => "webauthn.create",
            Deed::Get => "webauthn.get",
        }
    }
}

/// How a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Algorithm {
    Es256,
    EdDsa,
}

impl Algorithm {
    pub(crate) const ALL: [Algorithm; 2] = [Algorithm::Es256, Algorithm::EdDsa];

    /// As COSE has it.
    pub(crate) fn number(self) -> i32 {
        match self {
            Algorithm::Es256 => -7,
            Algorithm::EdDsa => -8,
        }
    }

    pub(crate) fn of(number: i64) -> Option<Algorithm> {
        Algorithm::ALL.into_iter().find(|it| i64::from(it.number()) == number)
    }

    /// The type of its keys, and their curve, as COSE has them.
    fn shape(self) -> (i64, i64) {
        match self {
            Algorithm::Es256 => (2, 1),
            Algorithm::EdDsa => (1, 6),
        }
    }

    fn of_ring(self) -> &'static dyn VerificationAlgorithm {
        match self {
            Algorithm::Es256 => &ECDSA_P256_SHA256_ASN1,
            Algorithm::EdDsa => &ED25519,
        }
    }
}

/// As `ring` reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PublicKey {
    pub(crate) algorithm: Algorithm,
    pub(crate) bytes: Vec<u8>,
}

/// A key that was made.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Made {
    pub(crate) credential: Vec<u8>,
    pub(crate) public: PublicKey,
    pub(crate) counter: u32,
}

impl From<minicbor::decode::Error> for KeyFault {
    fn from(_: minicbor::decode::Error) -> KeyFault {
        KeyFault::Unreadable
    }
}

/// What the browser says of what it did: read, not checked.
pub(crate) struct Said {
    text: Vec<u8>,
    pub(crate) challenge: Vec<u8>,
    origin: String,
}

#[derive(Deserialize)]
struct ClientData {
    #[serde(rename = "type")]
    deed: String,
    challenge: String,
    origin: String,
    #[serde(rename = "crossOrigin")]
    cross_origin: Option<bool>,
    #[serde(rename = "topOrigin")]
    top_origin: Option<String>,
}

/// Reads it. It has to be about such a deed, in a page of its own.
pub(crate) fn said(encoded: &str, deed: Deed) -> Result<Said, KeyFault> {
    let text = decoded(encoded, MOST_CLIENT_DATA)?;
    let data: ClientData = serde_json::from_slice(&text).map_err(|_| KeyFault::Unreadable)?;
    if data.deed != deed.word() {
        return Err(KeyFault::Unreadable);
    }
    if data.cross_origin == Some(true) || data.top_origin.is_some() {
        return Err(KeyFault::OtherSite);
    }
    let challenge = decoded(&data.challenge, MOST_CLIENT_DATA)?;
    Ok(Said { text, challenge, origin: data.origin })
}

/// The bytes of a key's name.
pub(crate) fn credential(encoded: &str) -> Result<Vec<u8>, KeyFault> {
    decoded(encoded, MOST_CREDENTIAL)
}

/// The key that was made at a site.
pub(crate) fn made(said: &Said, credential: &Attestation, site: &RelyingParty) -> Result<Made, KeyFault> {
    let object = decoded(&credential.response.attestation_object, MOST_ATTESTATION)?;
    let data = authenticator_data(&object)?;
    let shown = shown(data, said, site)?;
    let (name, public) = shown.key.ok_or(KeyFault::Unreadable)?;
    if credential.kind != KIND || self::credential(&credential.id)? != name {
        return Err(KeyFault::Unreadable);
    }
    Ok(Made { credential: name.to_vec(), public, counter: shown.counter })
}

/// Checks that a key was used at a site. Gives its counter.
pub(crate) fn used(
    said: &Said,
    assertion: &Assertion,
    site: &RelyingParty,
    public: &PublicKey,
) -> Result<u32, KeyFault> {
    let AssertionResponse { authenticator_data, signature, .. } = &assertion.response;
    if assertion.kind != KIND {
        return Err(KeyFault::Unreadable);
    }
    let mut signed = decoded(authenticator_data, MOST_AUTHENTICATOR_DATA)?;
    let signature = decoded(signature, MOST_SIGNATURE)?;
    let counter = shown(&signed, said, site)?.counter;
    signed.extend(Sha256::digest(&said.text));
    let key = UnparsedPublicKey::new(public.algorithm.of_ring(), &public.bytes);
    key.verify(&signed, &signature).map_err(|_| KeyFault::Signature)?;
    Ok(counter)
}

/// The part of an attestation that counts.
fn authenticator_data(object: &[u8]) -> Result<&[u8], KeyFault> {
    let mut cbor = Decoder::new(object);
    let mut data = None;
    for _ in 0..members(&mut cbor)? {
        match cbor.str()? {
            "authData" => put(&mut data, cbor.bytes()?)?,
            _ => cbor.skip()?,
        }
    }
    if cbor.position() != object.len() {
        return Err(KeyFault::Unreadable);
    }
    data.ok_or(KeyFault::Unreadable)
}

/// What an authenticator says.
struct Shown<'a> {
    counter: u32,
    /// The name of a key that was made, and the key.
    key: Option<(&'a [u8], PublicKey)>,
}

/// Reads it. It has to be about that site, with somebody there.
fn shown<'a>(data: &'a [u8], said: &Said, site: &RelyingParty) -> Result<Shown<'a>, KeyFault> {
    let mut rest = data;
    let of_site = take::<32>(&mut rest)?;
    let [flags] = *take::<1>(&mut rest)?;
    let counter = take::<4>(&mut rest)?.iter().fold(0, |sum, byte| sum << 8 | u32::from(*byte));
    let has = |bit: u8| flags & bit != 0;
    if said.origin != site.origin || *of_site != secret::hash(&site.id) {
        return Err(KeyFault::OtherSite);
    }
    if !has(PRESENT) {
        return Err(KeyFault::NobodyThere);
    }
    if has(IS_BACKED_UP) && !has(MAY_BE_BACKED_UP) {
        return Err(KeyFault::Unreadable);
    }
    let key = if has(HAS_KEY) { Some(attested(&mut rest)?) } else { None };
    if has(HAS_EXTENSIONS) {
        let mut cbor = Decoder::new(rest);
        if cbor.datatype()? != Type::Map {
            return Err(KeyFault::Unreadable);
        }
        cbor.skip()?;
        rest = &rest[cbor.position()..];
    }
    match rest {
        [] => Ok(Shown { counter, key }),
        _ => Err(KeyFault::Unreadable),
    }
}

fn attested<'a>(rest: &mut &'a [u8]) -> Result<(&'a [u8], PublicKey), KeyFault> {
    take::<AAGUID>(rest)?;
    let [high, low] = take::<2>(rest)?.map(usize::from);
    let length = high << 8 | low;
    if length == 0 || length > MOST_CREDENTIAL {
        return Err(KeyFault::Unreadable);
    }
    let (name, after) = rest.split_at_checked(length).ok_or(KeyFault::Unreadable)?;
    let mut cbor = Decoder::new(after);
    let public = public_key(&mut cbor)?;
    *rest = &after[cbor.position()..];
    Ok((name, public))
}

/// A key of COSE (RFC 9052, section 7).
fn public_key(cbor: &mut Decoder<'_>) -> Result<PublicKey, KeyFault> {
    let (mut kind, mut algorithm, mut curve, mut x, mut y) = (None, None, None, None, None);
    for _ in 0..members(cbor)? {
        match cbor.i64()? {
            1 => put(&mut kind, cbor.i64()?)?,
            // It comes before what only some algorithms have.
            3 => put(&mut algorithm, Algorithm::of(cbor.i64()?).ok_or(KeyFault::Algorithm)?)?,
            -1 => put(&mut curve, cbor.i64()?)?,
            -2 => put(&mut x, coordinate(cbor)?)?,
            -3 => put(&mut y, coordinate(cbor)?)?,
            _ => cbor.skip()?,
        }
    }
    let algorithm = algorithm.ok_or(KeyFault::Algorithm)?;
    if (kind, curve) != (Some(algorithm.shape().0), Some(algorithm.shape().1)) {
        return Err(KeyFault::Algorithm);
    }
    let bytes = match (algorithm, x, y) {
        (Algorithm::Es256, Some(x), Some(y)) => [&[UNCOMPRESSED], x, y].concat(),
        (Algorithm::EdDsa, Some(x), None) => x.to_vec(),
        _ => return Err(KeyFault::Unreadable),
    };
    Ok(PublicKey { algorithm, bytes })
}

fn coordinate<'a>(cbor: &mut Decoder<'a>) -> Result<&'a [u8], KeyFault> {
    Some(cbor.bytes()?).filter(|bytes| bytes.len() == COORDINATE).ok_or(KeyFault::Unreadable)
}

/// How many members a map has.
fn members(cbor: &mut Decoder<'_>) -> Result<u64, KeyFault> {
    cbor.map()?.filter(|count| *count <= MOST_MEMBERS).ok_or(KeyFault::Unreadable)
}

/// Keeps what is said once.
fn put<T>(place: &mut Option<T>, value: T) -> Result<(), KeyFault> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(KeyFault::Unreadable),
    }
}

fn take<'a, const N: usize>(rest: &mut &'a [u8]) -> Result<&'a [u8; N], KeyFault> {
    let (taken, after) = rest.split_first_chunk::<N>().ok_or(KeyFault::Unreadable)?;
    *rest = after;
    Ok(taken)
}

fn decoded(encoded: &str, most: usize) -> Result<Vec<u8>, KeyFault> {
    secret::from_base64_url(encoded, most).ok_or(KeyFault::Unreadable)
}

#[cfg(test)]
mod tests;
