//! What clients know a dataset by, and a replica may take over from its original: the guids in file
//! handles and in names of units, and what seals the handles.
//!
//! A dataset has it of its own: the guids of its pool and its own. A replica keeps that of its
//! original as well, as a property that was set on it itself, [`api_types::IDENTITY`], and goes by
//! it once it was promoted. On disk: `STATE POOL DATASET KEY`, with `asleep` or `live`, two guids,
//! and 64 digits, or `-` where handles are not sealed.

use std::fmt::Write as _;

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub pool_guid: u64,
    pub dataset_guid: u64,
    /// What seals the handles; `None`: nothing does, or it is not shown.
    pub key: Option<HandleKey>,
}

/// What seals the handles of a pool, and proves nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct HandleKey([u8; 32]);

/// Tells this use of a pool's secret from any other.
const PURPOSE: &str = "cistern 2026-11 NFS file handles";

impl HandleKey {
    /// Of a pool with this secret, which does not follow from the key.
    pub fn of(secret: &[u8; 32]) -> HandleKey {
        HandleKey(blake3::derive_key(PURPOSE, secret))
    }

    /// As [`HandleKey::bytes`] gave it.
    pub fn from_bytes(bytes: [u8; 32]) -> HandleKey {
        HandleKey(bytes)
    }

    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl std::fmt::Debug for HandleKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HandleKey")
    }
}

impl Identity {
    /// The guids of pool and dataset.
    pub fn guids(&self) -> (u64, u64) {
        (self.pool_guid, self.dataset_guid)
    }
}

/// The identity of another that a dataset keeps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopted {
    pub identity: Identity,
    /// Clients are to know the dataset by it.
    pub is_live: bool,
}

const LIVE: &str = "live";
const ASLEEP: &str = "asleep";

impl Adopted {
    /// The value of the property.
    pub fn written(&self) -> String {
        let Identity { pool_guid, dataset_guid, key } = &self.identity;
        let state = if self.is_live { LIVE } else { ASLEEP };
        let mut value = format!("{state} {pool_guid} {dataset_guid} ");
        match key {
            None => value.push('-'),
            Some(HandleKey(key)) => {
                for byte in key {
                    // A string takes it.
                    let _ = write!(value, "{byte:02x}");
                }
            }
        }
        value
    }

    /// What a value of the property says, with its key or [without](without_key). `None`: nothing.
    pub fn parse(value: &str) -> Option<Adopted> {
        let mut words = value.split(' ');
        let is_live = match words.next()? {
            LIVE => true,
            ASLEEP => false,
            _ => return None,
        };
        let guid = |word: Option<&str>| word?.parse().ok().filter(|guid| *guid != 0);
        let (pool_guid, dataset_guid) = (guid(words.next())?, guid(words.next())?);
        let key = match words.next() {
            None | Some("-") => None,
            Some(digits) => Some(HandleKey(key(digits)?)),
        };
        let identity = Identity { pool_guid, dataset_guid, key };
        words.next().is_none().then_some(Adopted { identity, is_live })
    }
}

/// A value of the property as it is shown.
pub fn without_key(value: &str) -> String {
    value.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

fn key(digits: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if digits.len() != 2 * key.len() || !is_hex {
        return None;
    }
    for (byte, at) in key.iter_mut().zip((0..).step_by(2)) {
        *byte = u8::from_str_radix(&digits[at..at + 2], 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_makes_no_sense_is_nothing() {
        let key = Some(HandleKey([0xa5; 32]));
        let identity = Identity { pool_guid: 7, dataset_guid: u64::MAX, key };
        let one = Adopted { identity: identity.clone(), is_live: true };
        assert_eq!(Adopted::parse(&one.written()), Some(one.clone()));
        let bare = Adopted { identity: Identity { key: None, ..identity }, is_live: false };
        assert_eq!(Adopted::parse(&bare.written()), Some(bare.clone()));
        assert_eq!(without_key(&one.written()), "live 7 18446744073709551615");
        let shown = Adopted::parse(&without_key(&one.written()));
        assert_eq!(shown, Some(Adopted { is_live: true, ..bare }));
        let long = format!("live 7 8 {}", "é".repeat(32));
        let bad = ["", "7 8 -", "live", "live 7", "live 0 8 -", "live 7 0 -", "live 7 8 - -", "live 7 8 xy"];
        for bad in bad.into_iter().chain(["live -7 8 -", "live  7 8 -", "awake 7 8 -", long.as_str()]) {
            assert_eq!(Adopted::parse(bad), None, "{bad}");
        }
        assert!(!format!("{one:?}").contains("165"), "a key is in no log");
    }
}
