//! Secrets that are drawn here: how they are made, written, hashed and compared.
//!
//! Invariants: each has 100 random bits or more, so a plain SHA-256 at rest can be neither guessed
//! nor looked up. Hashes are compared in constant time.

use data_encoding::BASE64URL_NOPAD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::Outside;

/// A SHA-256.
pub(crate) type Hash = [u8; 32];

/// Characters of a secret: 256 bits, 6 each.
const SECRET_CHARS: usize = 43;
/// What people type has no I, O, 0 and 1.
const TYPED: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Of a code that people type: 100 bits.
const CODE_CHARS: usize = 20;
const CODE_GROUP: usize = 5;

pub(crate) fn hash(secret: &str) -> Hash {
    Sha256::digest(secret.as_bytes()).into()
}

/// Takes the same time wherever the two differ.
pub(crate) fn equal(a: &Hash, b: &Hash) -> bool {
    a[..].ct_eq(&b[..]).into()
}

/// A secret for a program: 43 characters of base64url.
pub(crate) fn random(outside: &dyn Outside) -> String {
    let mut bytes = [0; 32];
    outside.fill(&mut bytes);
    base64_url(&bytes)
}

/// What a page sends back to show that it may read what the session was told. It follows from the
/// session's secret, and the secret does not follow from it.
pub(crate) fn csrf(secret: &str) -> String {
    base64_url(&hash(&format!("cistern csrf {secret}")))
}

/// A code for a person: four groups of five characters.
pub(crate) fn code(outside: &dyn Outside) -> String {
    let mut bytes = [0; CODE_CHARS];
    outside.fill(&mut bytes);
    let chars: Vec<char> = bytes.iter().map(|byte| char::from(TYPED[usize::from(byte % 32)])).collect();
    let groups: Vec<String> = chars.chunks(CODE_GROUP).map(|group| group.iter().collect()).collect();
    groups.join("-")
}

/// The hash of a code as a person types it: hyphens, blanks and small letters make no difference.
pub(crate) fn hash_typed(code: &str) -> Hash {
    let plain = code.chars().filter(|c| *c != '-' && !c.is_whitespace());
    hash(&plain.map(|c| c.to_ascii_uppercase()).collect::<String>())
}

/// What a program is given: kind, id and secret in one word.
pub(crate) fn join(kind: &str, id: i64, secret: &str) -> String {
    format!("{kind}_{id}_{secret}")
}

/// The id and the secret of a word that [`join`] could have made of this kind.
pub(crate) fn split<'a>(kind: &str, word: &'a str) -> Option<(i64, &'a str)> {
    let (id, secret) = word.strip_prefix(kind)?.strip_prefix('_')?.split_once('_')?;
    let id = Some(id).filter(|id| id.bytes().all(|byte| byte.is_ascii_digit()))?;
    // What is no number of 63 bits is no id.
    let id = id.parse().ok()?;
    (secret.len() == SECRET_CHARS).then_some((id, secret))
}

/// Base64 for URLs, without padding (RFC 4648, section 5).
pub(crate) fn base64_url(bytes: &[u8]) -> String {
    BASE64URL_NOPAD.encode(bytes)
}

/// The bytes of such a text, of which there may be so many; `None`: it is none, or has more.
pub(crate) fn from_base64_url(text: &str, most: usize) -> Option<Vec<u8>> {
    let longest = most.div_ceil(3) * 4;
    let text = Some(text.as_bytes()).filter(|text| text.len() <= longest)?;
    BASE64URL_NOPAD.decode(text).ok().filter(|bytes| bytes.len() <= most)
}

#[cfg(test)]
mod tests;
