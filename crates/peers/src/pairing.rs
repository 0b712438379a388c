//! Two appliances become peers by a code that one shows and that is typed on the other.
//!
//! Both run SPAKE2 over the connection, with the code as password and the two fingerprints that
//! this connection has shown as identities. Who stands between them has shown each another
//! certificate, so the two come to other keys, and neither proof is right. From what goes over the
//! wire a code cannot be guessed: each guess takes a try, and there are [`TRIES`].
//!
//! Source: RFC 9382; crate `spake2`, which has the group of its section 6 as magic-wormhole does.

use api_types::Fingerprint;
use sha2::{Digest, Sha256};
use spake2::{Ed25519Group, Identity, Password, Spake2};
use subtle::ConstantTimeEq;

/// Of a code.
pub const TRIES: u32 = 3;
/// Seconds for which a code is good.
pub const GOOD_FOR: i64 = 15 * 60;
/// What people type has no I, O, 0 and 1.
const TYPED: &[u8; 32] = b"23456789ABCDEFGHJKLMNPQRSTUVWXYZ";
/// Of a code: 50 bits.
const CHARS: usize = 10;
const GROUP: usize = 5;

/// A code for a person, of random bytes.
pub fn code(fill: impl FnOnce(&mut [u8])) -> String {
    let mut bytes = [0; CHARS];
    fill(&mut bytes);
    let chars: Vec<char> = bytes.iter().map(|byte| char::from(TYPED[usize::from(byte % 32)])).collect();
    let groups: Vec<String> = chars.chunks(GROUP).map(|group| group.iter().collect()).collect();
    groups.join("-")
}

/// One side, which has sent its message and waits for the other's.
pub struct Begun {
    state: Spake2<Ed25519Group>,
    fingerprints: Vec<u8>,
}

/// A key that both may have come to.
pub struct Key {
    key: Vec<u8>,
    fingerprints: Vec<u8>,
}

/// Which side is it?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// It has typed the code.
    Joins,
    /// It has shown the code.
    Invites,
}

/// Begins, with what the two sides have shown. Gives the message for the other side.
pub fn begin(side: Side, code: &str, joins: Fingerprint, invites: Fingerprint) -> (Begun, Vec<u8>) {
    // Hyphens, blanks and small letters make no difference.
    let plain = code.chars().filter(|it| *it != '-' && !it.is_whitespace());
    let password = Password::new(plain.map(|it| it.to_ascii_uppercase()).collect::<String>());
    let (a, b) = (Identity::new(&joins.0), Identity::new(&invites.0));
    let (state, message) = match side {
        Side::Joins => Spake2::start_a(&password, &a, &b),
        Side::Invites => Spake2::start_b(&password, &a, &b),
    };
    (Begun { state, fingerprints: [joins.0, invites.0].concat() }, message)
}

impl Begun {
    /// With the other side's message. `None`: it is none.
    pub fn finish(self, message: &[u8]) -> Option<Key> {
        let Begun { state, fingerprints } = self;
        let key = state.finish(message).ok()?;
        Some(Key { key, fingerprints })
    }
}

impl Key {
    /// What only who has this key can show, by side.
    pub fn proof(&self, side: Side) -> [u8; 32] {
        let label = match side {
            Side::Joins => "cistern peer joins",
            Side::Invites => "cistern peer invites",
        };
        let mut proof = Sha256::new();
        // All but the label are of one length.
        proof.update(&self.key);
        proof.update(&self.fingerprints);
        proof.update(label);
        proof.finalize().into()
    }

    /// Whether the other side has shown that it has this key.
    pub fn is_proved(&self, side: Side, proof: &[u8; 32]) -> bool {
        self.proof(side).ct_eq(proof).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Fingerprint = Fingerprint([1; 32]);
    const B: Fingerprint = Fingerprint([2; 32]);
    const OTHER: Fingerprint = Fingerprint([3; 32]);

    /// Whether each side takes the other for a peer: joins, invites.
    fn pair(
        typed: &str,
        shown: &str,
        (a, b): (Fingerprint, Fingerprint),
        (x, y): (Fingerprint, Fingerprint),
    ) -> (bool, bool) {
        let (joins, to_b) = begin(Side::Joins, typed, a, b);
        let (invites, to_a) = begin(Side::Invites, shown, x, y);
        let (joins, invites) = (joins.finish(&to_a).expect("a"), invites.finish(&to_b).expect("b"));
        (
            joins.is_proved(Side::Invites, &invites.proof(Side::Invites)),
            invites.is_proved(Side::Joins, &joins.proof(Side::Joins)),
        )
    }

    #[test]
    fn the_code_and_both_fingerprints_have_to_be_the_same() {
        let code = code(|bytes| bytes.fill(7));
        assert_eq!(code, "99999-99999");
        assert_eq!(pair("99999 99999", &code, (A, B), (A, B)), (true, true));
        assert_eq!(pair("99999-99998", &code, (A, B), (A, B)), (false, false));
        // Somebody between them shows each his own certificate.
        assert_eq!(pair(&code, &code, (A, OTHER), (OTHER, B)), (false, false));
        assert_eq!(pair(&code, &code, (A, OTHER), (A, B)), (false, false));
    }

    #[test]
    fn what_is_sent_back_or_is_garbage_proves_nothing() {
        let (joins, message) = begin(Side::Joins, "c", A, B);
        assert!(joins.finish(&message).is_none());
        for garbage in [&b""[..], &[0; 33], &[0xff; 33], &[b'B'; 33], &[b'B'; 4_000]] {
            let (joins, _) = begin(Side::Joins, "c", A, B);
            // What happens to be a point leads to a key that the other side has not got.
            let key = joins.finish(garbage);
            assert!(key.is_none_or(|key| !key.is_proved(Side::Invites, &[0; 32])));
        }
        let (joins, to_b) = begin(Side::Joins, "c", A, B);
        let (invites, to_a) = begin(Side::Invites, "c", A, B);
        let (joins, invites) = (joins.finish(&to_a).expect("a"), invites.finish(&to_b).expect("b"));
        assert!(!joins.is_proved(Side::Invites, &joins.proof(Side::Joins)));
        assert!(!invites.is_proved(Side::Joins, &invites.proof(Side::Invites)));
    }
}
