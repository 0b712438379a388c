//! The test vectors of Web Authentication Level 3, section 16, and what becomes of them when they
//! are damaged. `vectors.txt` has a value a line: name, deed, member, bytes.

use std::collections::BTreeMap;

use api_types::{AssertionResponse, AttestationResponse};
use stdx::prng::Prng;

use super::*;
use crate::secret::base64_url;

type Values = BTreeMap<(&'static str, &'static str, &'static str), Vec<u8>>;

fn vectors() -> Values {
    let byte = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).expect("digits");
        u8::from_str_radix(text, 16).expect("digits")
    };
    let line = |line: &'static str| {
        let mut words = line.split(' ');
        let mut word = || words.next().expect("four words");
        let name = (word(), word(), word());
        (name, word().as_bytes().chunks(2).map(byte).collect())
    };
    include_str!("vectors.txt").lines().map(line).collect()
}

fn site() -> RelyingParty {
    RelyingParty { id: "example.org".into(), origin: "https://example.org".into() }
}

fn attestation(values: &Values, name: &'static str) -> Attestation {
    let text = |member| base64_url(&values[&(name, "create", member)]);
    let response = AttestationResponse {
        client_data: text("clientDataJSON"),
        attestation_object: text("attestationObject"),
    };
    Attestation { id: text("credential_id"), kind: KIND.into(), response }
}

fn assertion(values: &Values, name: &'static str) -> Assertion {
    let text = |member| base64_url(&values[&(name, "get", member)]);
    let response = AssertionResponse {
        client_data: text("clientDataJSON"),
        authenticator_data: text("authenticatorData"),
        signature: text("signature"),
        user_handle: None,
    };
    Assertion { id: base64_url(&values[&(name, "create", "credential_id")]), kind: KIND.into(), response }
}

fn read_made(credential: &Attestation, site: &RelyingParty) -> Result<Made, KeyFault> {
    made(&said(&credential.response.client_data, Deed::Create)?, credential, site)
}

fn read_used(assertion: &Assertion, site: &RelyingParty, public: &PublicKey) -> Result<u32, KeyFault> {
    used(&said(&assertion.response.client_data, Deed::Get)?, assertion, site, public)
}

const GOOD: [&str; 6] = ["es256", "es256-self", "es256-long-id", "es256-tpm", "es256-u2f", "eddsa"];

#[test]
fn the_vectors_of_the_specification_are_taken() {
    let values = vectors();
    for name in GOOD {
        let (credential, answer) = (attestation(&values, name), assertion(&values, name));
        let made = read_made(&credential, &site()).unwrap_or_else(|why| panic!("{name}: {why:?}"));
        assert_eq!(made.credential, values[&(name, "create", "credential_id")], "{name}");
        let is_eddsa = made.public.algorithm == Algorithm::EdDsa;
        assert_eq!((is_eddsa, made.counter), (name == "eddsa", 0), "{name}");
        for (deed, encoded) in
            [(Deed::Create, &credential.response.client_data), (Deed::Get, &answer.response.client_data)]
        {
            let verb = if deed == Deed::Create { "create" } else { "get" };
            let said = said(encoded, deed).expect("read");
            assert_eq!(said.challenge, values[&(name, verb, "challenge")], "{name} {verb}");
        }
        assert_eq!(read_used(&answer, &site(), &made.public), Ok(0), "{name}");
    }
}

#[test]
fn what_is_not_for_this_site_or_signed_otherwise_is_refused_by_its_reason() {
    let values = vectors();
    for (name, why) in [
        ("es256-cross-origin", KeyFault::OtherSite),
        ("es256-top-origin", KeyFault::OtherSite),
        ("rs256", KeyFault::Algorithm),
    ] {
        assert_eq!(read_made(&attestation(&values, name), &site()), Err(why), "{name}");
    }
    let credential = attestation(&values, "es256");
    let elsewhere = [("example.com", "https://example.org"), ("example.org", "https://example.org:8443")];
    for (id, origin) in elsewhere {
        let site = RelyingParty { id: id.into(), origin: origin.into() };
        assert_eq!(read_made(&credential, &site), Err(KeyFault::OtherSite), "{id} {origin}");
    }
    let key = |name| read_made(&attestation(&values, name), &site()).expect("read").public;
    let answer = assertion(&values, "es256");
    for other in ["es256-self", "eddsa"] {
        assert_eq!(read_used(&answer, &site(), &key(other)), Err(KeyFault::Signature), "{other}");
    }
    // What was made is not what was used, and the other way round.
    assert!(said(&answer.response.client_data, Deed::Create).is_err());
    assert!(said(&credential.response.client_data, Deed::Get).is_err());
    let other = Attestation { id: base64_url(b"another name"), ..credential };
    assert_eq!(read_made(&other, &site()), Err(KeyFault::Unreadable));
}

#[test]
fn who_is_not_there_and_what_is_left_over_is_refused() {
    let values = vectors();
    let public = read_made(&attestation(&values, "es256"), &site()).expect("read").public;
    let data = values[&("es256", "get", "authenticatorData")].clone();
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut data = data.clone();
        change(&mut data);
        let mut answer = assertion(&values, "es256");
        answer.response.authenticator_data = base64_url(&data);
        read_used(&answer, &site(), &public)
    };
    assert_eq!(with(&|data| data[32] &= !PRESENT), Err(KeyFault::NobodyThere));
    assert_eq!(with(&|data| data[32] = PRESENT | IS_BACKED_UP), Err(KeyFault::Unreadable));
    assert_eq!(with(&|data| data.push(0)), Err(KeyFault::Unreadable));
    assert_eq!(with(&|data| data[36] = 1), Err(KeyFault::Signature), "the counter is signed");
    // Extensions are passed over, however deep they say that they go.
    assert_eq!(with(&|data| data[32] |= HAS_EXTENSIONS), Err(KeyFault::Unreadable), "there are none");
    let deep = |byte: u8| {
        with(&|data| {
            data[32] |= HAS_EXTENSIONS;
            data.extend([0xa1, 0x61, b'x']);
            data.resize(MOST_AUTHENTICATOR_DATA, byte);
        })
    };
    for byte in [0x81, 0x9f, 0xa1, 0xbf, 0xc0, 0x9b, 0xbb] {
        assert_eq!(deep(byte), Err(KeyFault::Unreadable), "{byte:x}");
    }
    let extended = with(&|data| {
        data[32] |= HAS_EXTENSIONS;
        data.extend([0xa1, 0x61, b'x', 0xf5]);
    });
    assert_eq!(extended, Err(KeyFault::Signature), "read as a whole");
}

#[test]
fn too_long_is_not_decoded() {
    let values = vectors();
    let mut credential = attestation(&values, "es256");
    credential.response.attestation_object = "A".repeat(MOST_ATTESTATION * 2);
    assert_eq!(read_made(&credential, &site()), Err(KeyFault::Unreadable));
    assert!(said(&"A".repeat(MOST_CLIENT_DATA * 2), Deed::Get).is_err());
    let deep = base64_url(&[b'['; MOST_CLIENT_DATA]);
    assert!(said(&deep, Deed::Get).is_err());
}

#[test]
fn damaged_and_cut_bytes_are_refused_and_never_panic() {
    let values = vectors();
    for name in GOOD {
        let credential = attestation(&values, name);
        let public = read_made(&credential, &site()).expect("read").public;
        let object = &values[&(name, "create", "attestationObject")];
        for length in 0..object.len() {
            let mut cut = credential.clone();
            cut.response.attestation_object = base64_url(&object[..length]);
            assert!(read_made(&cut, &site()).is_err(), "{name}: {length}");
        }
        for seed in 0..2_000 {
            let mut numbers = Prng::new(seed);
            let mut damage = |bytes: &[u8]| {
                let mut bytes = bytes.to_vec();
                for _ in 0..=numbers.below(3) {
                    let at = numbers.below(bytes.len() as u64) as usize;
                    match numbers.below(4) {
                        0 => bytes[at] = bytes[at].wrapping_add(1),
                        1 => bytes[at] ^= 1 << numbers.below(8),
                        2 => drop(bytes.remove(at)),
                        _ => bytes.insert(at, numbers.below(256) as u8),
                    }
                }
                bytes
            };
            let mut hurt = credential.clone();
            hurt.response.attestation_object = base64_url(&damage(object));
            // It may be readable: another key then, or hurt where nobody looks.
            drop(read_made(&hurt, &site()));
            let mut answer = assertion(&values, name);
            let data = &values[&(name, "get", "authenticatorData")];
            let (hurt_data, signature) = (damage(data), damage(&values[&(name, "get", "signature")]));
            let is_whole = hurt_data == *data;
            answer.response.authenticator_data = base64_url(&hurt_data);
            assert!(is_whole || read_used(&answer, &site(), &public).is_err(), "{name}: seed {seed}");
            let mut answer = assertion(&values, name);
            let is_whole = signature == values[&(name, "get", "signature")];
            answer.response.signature = base64_url(&signature);
            assert!(is_whole || read_used(&answer, &site(), &public).is_err(), "{name}: seed {seed}");
            let text = damage(&values[&(name, "get", "clientDataJSON")]);
            let mut answer = assertion(&values, name);
            let is_whole = text == values[&(name, "get", "clientDataJSON")];
            answer.response.client_data = base64_url(&text);
            assert!(is_whole || read_used(&answer, &site(), &public).is_err(), "{name}: seed {seed}");
        }
    }
}
