//! Security keys, with an authenticator of the tests. Those of others are in the tests of
//! `keys::proof`, as vectors, and in those of the program.

use api_types::{
    Assertion, AssertionResponse, Attestation, AttestationResponse, AuditRecord, CreationOptions, KeyMade,
    RequestOptions, SecurityKey,
};
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair};
use sha2::{Digest, Sha256};

use super::*;
use crate::secret::base64_url;

const HOST: &str = "shelf.example";
const ORIGIN: &str = "https://shelf.example:8443";

enum Pair {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
}

/// A browser with a key.
struct Key {
    pair: Pair,
    id: Vec<u8>,
    counter: u32,
    /// How much a use adds to the counter.
    step: u32,
    origin: &'static str,
}

impl Key {
    fn new(number: u8) -> Key {
        let (random, way) = (SystemRandom::new(), &ECDSA_P256_SHA256_ASN1_SIGNING);
        let made = EcdsaKeyPair::generate_pkcs8(way, &random).expect("a key");
        let pair = EcdsaKeyPair::from_pkcs8(way, made.as_ref(), &random).expect("a key");
        Key { pair: Pair::Es256(pair), id: vec![number; 32], counter: 1, step: 1, origin: ORIGIN }
    }

    fn eddsa(number: u8) -> Key {
        let pair = Ed25519KeyPair::from_seed_unchecked(&[number; 32]).expect("a key");
        Key { pair: Pair::EdDsa(pair), ..Key::new(number) }
    }

    fn client_data(&self, deed: &str, challenge: &str) -> Vec<u8> {
        let origin = self.origin;
        format!(r#"{{"type":"webauthn.{deed}","challenge":"{challenge}","origin":"{origin}"}}"#).into_bytes()
    }

    fn data(&self, host: &str, flags: u8) -> Vec<u8> {
        [&*Sha256::digest(host), &[flags], &self.counter.to_be_bytes()].concat()
    }

    fn make(&self, options: &CreationOptions) -> Attestation {
        let public = match &self.pair {
            Pair::Es256(pair) => {
                let point = pair.public_key().as_ref();
                let before = [0xa5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20];
                [&before, &point[1..33], &[0x22, 0x58, 0x20], &point[33..]].concat()
            }
            Pair::EdDsa(pair) => {
                let before = [0xa4, 1, 1, 3, 0x27, 0x20, 6, 0x21, 0x58, 0x20];
                [&before, pair.public_key().as_ref()].concat()
            }
        };
        let length = u16::try_from(self.id.len()).expect("short").to_be_bytes();
        let data = [&*self.data(&options.rp.id, 0x41), &[0; 16], &length, &self.id, &public].concat();
        let length = u16::try_from(data.len()).expect("short").to_be_bytes();
        let object = [b"\xa3\x63fmt\x64none\x67attStmt\xa0\x68authData\x59", &length[..], &data].concat();
        let client_data = base64_url(&self.client_data("create", &options.challenge));
        let response = AttestationResponse { client_data, attestation_object: base64_url(&object) };
        Attestation { id: base64_url(&self.id), kind: "public-key".into(), response }
    }

    fn show(&mut self, options: &RequestOptions) -> Assertion {
        self.counter += self.step;
        let client_data = self.client_data("get", &options.challenge);
        let data = self.data(&options.rp_id, 1);
        let signed = [&*data, &Sha256::digest(&client_data)].concat();
        let signature = match &self.pair {
            Pair::Es256(pair) => pair.sign(&SystemRandom::new(), &signed).expect("signed").as_ref().to_vec(),
            Pair::EdDsa(pair) => pair.sign(&signed).as_ref().to_vec(),
        };
        let response = AssertionResponse {
            client_data: base64_url(&client_data),
            authenticator_data: base64_url(&data),
            signature: base64_url(&signature),
            user_handle: None,
        };
        Assertion { id: base64_url(&self.id), kind: "public-key".into(), response }
    }
}

fn site() -> RelyingParty {
    RelyingParty { id: HOST.into(), origin: ORIGIN.into() }
}

fn give(machine: &Machine, key: &Key) -> Result<KeyMade, Denied> {
    let options = machine.begin_key("ann", &site(), home())?;
    machine.confirm_key("ann", &format!("key {}", key.id[0]), &key.make(&options))
}

fn come(machine: &Machine, second: Option<Second<'_>>) -> Result<NewSession, Denied> {
    let (site, address) = (site(), home());
    machine.log_in(&LogIn { name: "ann", password: PASSWORD, second, address, site: Some(&site) })
}

/// What a login asks for.
fn asked(machine: &Machine) -> Option<RequestOptions> {
    match refusal(come(machine, None)) {
        Denied::SecondFactorNeeded(has) => has.key,
        other => panic!("{other:?}"),
    }
}

fn use_key(machine: &Machine, key: &mut Key) -> Result<NewSession, Denied> {
    let options = asked(machine).expect("a key is asked for");
    come(machine, Some(Second::Key(&key.show(&options))))
}

fn listed(machine: &Machine) -> Vec<SecurityKey> {
    machine.keys("ann").expect("read")
}

#[test]
fn a_key_is_given_asked_for_and_taken_away() {
    let (machine, world, _folder) = machine();
    for mut key in [Key::new(1), Key::eddsa(2)] {
        let KeyMade { key: made, codes } = give(&machine, &key).expect("kept");
        assert_eq!((made.host.as_str(), made.last_used, codes.len()), (HOST, None, 10));
        assert!(machine.user("ann").expect("there").has_keys);
        world.pass(60);
        let options = asked(&machine).expect("a key is asked for");
        assert_eq!((&*options.rp_id, options.allow_credentials.len()), (HOST, 1));
        assert_eq!(options.allow_credentials[0].id, base64_url(&key.id));
        use_key(&machine, &mut key).expect("let in");
        assert_eq!(listed(&machine)[0].last_used, Some(world.now()));
        assert_eq!(refusal(machine.remove_key("root", made.id)), Denied::NotFound);
        machine.remove_key("ann", made.id).expect("removed");
        assert_eq!(refusal(machine.remove_key("ann", made.id)), Denied::NotFound);
        login(&machine, "ann");
    }
    assert_eq!(refusal(machine.begin_key("nobody", &site(), home())), Denied::NotFound);
}

#[test]
fn a_key_that_is_removed_lets_nobody_in_who_was_asked_before() {
    let (machine, _world, _folder) = machine();
    let (mut first, second) = (Key::new(1), Key::new(2));
    let made = give(&machine, &first).expect("kept").key;
    assert!(give(&machine, &second).expect("kept").codes.is_empty(), "it has some");
    let shown = first.show(&asked(&machine).expect("asked"));
    machine.remove_key("ann", made.id).expect("removed");
    assert_eq!(refusal(come(&machine, Some(Second::Key(&shown)))), Denied::Wrong);
    let dropped = UserChange { drop_keys: true, ..UserChange::default() };
    assert!(!machine.change_user("ann", &dropped).expect("changed").has_keys);
    login(&machine, "ann");
}

#[test]
fn a_challenge_is_answered_once_in_time_and_by_its_account() {
    let (machine, world, _folder) = machine();
    let mut key = Key::new(1);
    let options = machine.begin_key("ann", &site(), home()).expect("begun");
    let made = key.make(&options);
    let unknown = Denied::BadKey(KeyFault::NoChallenge);
    assert_eq!(refusal(machine.confirm_key("root", "k", &made)), unknown);
    world.pass(299);
    machine.confirm_key("ann", "k", &made).expect("kept");
    assert_eq!(refusal(machine.confirm_key("ann", "again", &made)), unknown);
    let late = machine.begin_key("ann", &site(), home()).expect("begun");
    world.pass(300);
    assert_eq!(refusal(machine.confirm_key("ann", "late", &key.make(&late))), unknown);

    let shown = key.show(&asked(&machine).expect("asked"));
    come(&machine, Some(Second::Key(&shown))).expect("let in");
    assert_eq!(refusal(come(&machine, Some(Second::Key(&shown)))), Denied::Wrong, "replayed");
    let late = asked(&machine).expect("asked");
    world.pass(300);
    assert_eq!(refusal(come(&machine, Some(Second::Key(&key.show(&late))))), Denied::Wrong);
    // A wrong answer has used its challenge up.
    let options = asked(&machine).expect("asked");
    let mut wrong = key.show(&options);
    wrong.response.signature = base64_url(b"no signature");
    assert_eq!(refusal(come(&machine, Some(Second::Key(&wrong)))), Denied::Wrong);
    assert_eq!(refusal(come(&machine, Some(Second::Key(&key.show(&options))))), Denied::Wrong);
    // One that was drawn to make a key lets nobody in.
    let challenge = machine.begin_key("ann", &site(), home()).expect("begun").challenge;
    let shown = key.show(&RequestOptions { challenge, ..options });
    assert_eq!(refusal(come(&machine, Some(Second::Key(&shown)))), Denied::Wrong);
    // Five have failed in a row.
    world.pass(1);
    use_key(&machine, &mut key).expect("let in");
}

#[test]
fn a_key_of_another_site_or_account_is_none() {
    let (machine, _world, _folder) = machine();
    let far = Key { origin: "https://evil.example", ..Key::new(1) };
    assert_eq!(refusal(give(&machine, &far)), Denied::BadKey(KeyFault::OtherSite));
    let mut key = Key::new(1);
    give(&machine, &key).expect("kept");
    key.origin = "https://evil.example";
    assert_eq!(refusal(use_key(&machine, &mut key)), Denied::Wrong);
    key.origin = ORIGIN;
    use_key(&machine, &mut key).expect("let in");
    // By another name, and by an address, no key is asked for, and a code is.
    for other in [Some(RelyingParty { id: "other.example".into(), ..site() }), None] {
        let attempt =
            LogIn { name: "ann", password: PASSWORD, second: None, address: home(), site: other.as_ref() };
        let Denied::SecondFactorNeeded(has) = refusal(machine.log_in(&attempt)) else { panic!("it has one") };
        assert_eq!((has.totp, has.key), (false, None));
    }
    // A key is of one account.
    let options = machine.begin_key("root", &site(), home()).expect("begun");
    assert_eq!(refusal(machine.confirm_key("root", "mine", &key.make(&options))), Denied::Exists);
}

#[test]
fn who_shows_a_copy_of_a_key_is_refused_and_noted() {
    let (machine, _world, _folder) = machine();
    let mut key = Key::new(1);
    let id = give(&machine, &key).expect("kept").key.id;
    use_key(&machine, &mut key).expect("let in");
    let kept = key.counter;
    key.counter = 0;
    let refused = refusal(use_key(&machine, &mut key));
    assert_eq!(refused, Denied::CounterWentBack { key: id, kept, shown: 1 });
    key.counter = kept - 1;
    let refused = refusal(use_key(&machine, &mut key));
    assert_eq!(refused, Denied::CounterWentBack { key: id, kept, shown: kept }, "the same is no more");
    let filter = AuditFilter { user: Some("ann".into()), verb: Some("COPIED".into()) };
    let found: Vec<AuditRecord> = machine.audit(None, 10, &filter).expect("read");
    assert_eq!((found.len(), found[0].path.as_str()), (2, "/v1/users/ann/keys"));
    assert_eq!(found[1].target.as_deref(), Some("key 1: its counter went back from 2 to 1"));
    key.counter = kept;
    use_key(&machine, &mut key).expect("it counts on");
    // They are tries that failed.
    for _ in 0..5 {
        key.counter = 0;
        let refused = refusal(use_key(&machine, &mut key));
        assert!(matches!(refused, Denied::CounterWentBack { .. }), "{refused:?}");
    }
    let refused = refusal(come(&machine, None));
    assert!(matches!(refused, Denied::Throttled { .. }), "{refused:?}");
}

#[test]
fn a_key_that_does_not_count_is_taken_again_and_again() {
    let (machine, _world, _folder) = machine();
    let mut key = Key { counter: 0, step: 0, ..Key::eddsa(1) };
    give(&machine, &key).expect("kept");
    for _ in 0..3 {
        use_key(&machine, &mut key).expect("let in");
    }
    key.step = 1;
    use_key(&machine, &mut key).expect("it counts from now on");
    (key.counter, key.step) = (0, 0);
    let refused = refusal(use_key(&machine, &mut key));
    assert!(matches!(refused, Denied::CounterWentBack { kept: 1, shown: 0, .. }), "{refused:?}");
}

#[test]
fn sixteen_keys_are_the_bound_and_names_are_told_apart() {
    let (machine, _world, _folder) = machine();
    for number in 0..16 {
        give(&machine, &Key::eddsa(number)).expect("kept");
    }
    let begun = machine.begin_key("ann", &site(), home());
    assert_eq!(refusal(begun), Denied::TooMany(Limit::Keys));
    let last = listed(&machine)[15].id;
    machine.remove_key("ann", last).expect("removed");
    let options = machine.begin_key("ann", &site(), home()).expect("begun");
    assert_eq!(options.exclude_credentials.len(), 15);
    let made = Key::eddsa(100).make(&options);
    assert_eq!(refusal(machine.confirm_key("ann", "key 0", &made)), Denied::Exists);
    for name in ["", "a\nb", "x".repeat(65).as_str()] {
        let refused = refusal(machine.confirm_key("ann", name, &made));
        assert!(matches!(refused, Denied::BadName(_)), "{name:?}");
    }
}

#[test]
fn recovery_codes_stay_until_the_last_second_factor_is_gone() {
    let (machine, world, _folder) = machine();
    let codes = give(&machine, &Key::eddsa(1)).expect("kept").codes;
    come(&machine, Some(Second::Code(&codes[0].0))).expect("let in");
    assert_eq!(refusal(come(&machine, Some(Second::Code(&codes[0].0)))), Denied::Wrong, "used");
    let offer = machine.begin_totp("ann").expect("offered");
    let of_totp = machine.confirm_totp("ann", &super::letting_in::code(&offer.secret.0, &world));
    let of_totp = of_totp.expect("confirmed");
    assert_eq!(refusal(come(&machine, Some(Second::Code(&codes[1].0)))), Denied::Wrong, "replaced");
    let change = |drop_totp, drop_keys| {
        machine
            .change_user("ann", &UserChange { drop_totp, drop_keys, ..UserChange::default() })
            .expect("changed")
    };
    change(true, false);
    come(&machine, Some(Second::Code(&of_totp[0]))).expect("a key is left");
    change(false, true);
    login(&machine, "ann");
    give(&machine, &Key::eddsa(2)).expect("kept");
    assert_eq!(refusal(come(&machine, Some(Second::Code(&of_totp[1])))), Denied::Wrong, "they are gone");
}

#[test]
fn damaged_answers_of_keys_let_nobody_in_and_never_panic() {
    let (machine, world, _folder) = machine();
    let mut key = Key::eddsa(1);
    give(&machine, &key).expect("kept");
    let known = asked(&machine);
    assert!(known.is_some());
    for seed in 0..60 {
        let mut numbers = Prng::new(seed);
        let options = asked(&machine).expect("asked");
        let mut shown = key.show(&options);
        let AssertionResponse { client_data, authenticator_data, signature, .. } = &mut shown.response;
        let texts = [&mut shown.id, client_data, authenticator_data, signature];
        let text = texts.into_iter().nth(numbers.below(4) as usize).expect("one of four");
        match numbers.below(3) {
            0 => text.truncate(numbers.below(text.len() as u64) as usize),
            1 => text.insert(numbers.below(text.len() as u64) as usize, '='),
            _ => text.insert(0, 'A'),
        }
        assert_eq!(refusal(come(&machine, Some(Second::Key(&shown)))), Denied::Wrong, "seed {seed}");
        // Whoever fails waits; the next seed is not to.
        world.pass(2 * 60 * 60);
    }
    use_key(&machine, &mut key).expect("let in");
}
