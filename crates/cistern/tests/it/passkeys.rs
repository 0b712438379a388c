//! Security keys as a second factor, with a security key of software and a reader of options that
//! others wrote (tests/passkeys).

use std::fs::{self, File};
use std::path::Path;

use serde_json::{Value, json};

use crate::daemon::{Ran, Scratch, program, text};
use crate::https::{Answer, PASSWORD, Session, Site};

/// A browser at the machine's name, with a key.
struct Browser<'a> {
    site: &'a Site,
    scratch: &'a Scratch,
    /// Where the key is kept.
    key: String,
}

impl Browser<'_> {
    fn host(&self) -> String {
        format!("localhost:{}", self.site.port)
    }

    fn post(&self, path: &str, headers: &[&str], body: &Value) -> Answer {
        let host = format!("Host: {}", self.host());
        self.site.post(path, &[headers, &[&host]].concat(), body)
    }

    /// What the browser gives for these options at such an origin.
    fn gives(&self, verb: &str, options: &Value, origin: &str) -> Value {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join("target/tools/python/bin/python");
        let asked = self.scratch.text("options");
        fs::write(&asked, options.to_string()).expect("written");
        let mut run = program(&text(&python), 60);
        run.arg(root.join("tests/passkeys/authenticator.py")).args([&*self.key, verb, origin]);
        let given = Ran::of(run.stdin(File::open(asked).expect("it is there"))).done();
        serde_json::from_str(&given).expect("JSON")
    }

    fn origin(&self) -> String {
        format!("https://{}", self.host())
    }

    fn login(&self, more: Value) -> Answer {
        let mut login = json!({"name": "ada", "password": PASSWORD});
        let members = login.as_object_mut().expect("an object");
        members.extend(more.as_object().expect("an object").clone());
        self.post("/v1/login", &[], &login)
    }

    /// The options that a login is answered with.
    fn asked(&self) -> Value {
        let answer = self.login(json!({})).is(401);
        assert_eq!(answer.problem(), "/problems/second-factor-needed");
        answer.json()["second_factors"]["key"].clone()
    }

    fn shows(&self) -> Value {
        self.gives("get", &self.asked(), &self.origin())
    }

    /// Makes a key, and gives the answer to it.
    fn make(&self, bearer: &str, name: &str, begin: &Value, origin: &str) -> Answer {
        let options = self.post("/v1/users/ada/keys", &[bearer], begin).is(200).json();
        let credential = self.gives("create", &options, origin);
        let confirm = json!({"name": name, "credential": credential});
        self.post("/v1/users/ada/keys/confirm", &[bearer], &confirm)
    }
}

#[test]
fn a_key_is_made_and_asked_for_until_it_is_removed() {
    let scratch = Scratch::new("passkeys");
    let site = Site::start(&scratch);
    let bearer = site.bearer();
    let browser = Browser { site: &site, scratch: &scratch, key: scratch.text("key") };
    let own = json!({"password": PASSWORD});
    // Not by an address, not for others, not without the password.
    let refused = site.post("/v1/users/ada/keys", &[&bearer], &own).is(422);
    assert!(refused.json()["detail"].as_str().is_some_and(|it| it.contains("host name")), "{refused:?}");
    let reader = site.user("bob", "read-only", None);
    browser.post("/v1/users/ada/keys", &[&reader], &own).is(403);
    browser.post("/v1/users/bob/keys", &[&bearer], &own).is(422);
    browser.post("/v1/users/ada/keys", &[&bearer], &json!({"password": "wrong horse"})).is(401);
    let far = browser.make(&bearer, "blue", &own, "https://evil.example").is(422);
    assert_eq!(far.problem(), "/problems/invalid");
    let made = browser.make(&bearer, "blue", &own, &browser.origin()).is(200).json();
    assert_eq!((&made["key"]["name"], &made["key"]["host"]), (&json!("blue"), &json!("localhost")));
    let codes = made["codes"].as_array().expect("recovery codes").clone();
    assert_eq!(codes.len(), 10);
    // A second one takes the first one.
    let second = Browser { key: scratch.text("second"), ..browser };
    let begun = second.post("/v1/users/ada/keys", &[&bearer], &own).is(401).json();
    let assertion = browser.gives("get", &begun["second_factors"]["key"], &browser.origin());
    let both = json!({"password": PASSWORD, "assertion": assertion});
    let made = second.make(&bearer, "red", &both, &second.origin()).is(200).json();
    assert_eq!(made["codes"], json!([]));

    let wrong = browser.login(json!({"password": "wrong horse battery"})).is(401).json();
    assert!(wrong["second_factors"].is_null(), "a stranger learns nothing: {wrong}");
    for browser in [&browser, &second] {
        let shown = browser.shows();
        let session = Session::of(&browser.login(json!({"assertion": shown})).is(200));
        site.get("/v1/me", &[&session.cookie]).is(200);
        assert_eq!(browser.login(json!({"assertion": shown})).is(401).problem(), "/problems/unauthenticated");
    }
    // A page of another site has the browser show it.
    let lured = browser.gives("get", &browser.asked(), "https://evil.example");
    browser.login(json!({"assertion": lured})).is(401);
    // By an address no key counts, and a code does.
    let by_address = json!({"name": "ada", "password": PASSWORD});
    let answer = site.post("/v1/login", &[], &by_address).is(401).json();
    assert_eq!(answer["second_factors"], json!({"totp": false, "key": null}));
    let by_code = json!({"name": "ada", "password": PASSWORD, "second": codes[0]});
    site.post("/v1/login", &[], &by_code).is(200);

    let listed = site.daemon.run(&["user", "keys", "ada", "-H"]).done();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split('\t').nth(1)).collect();
    assert_eq!(names, ["blue", "red"], "{listed}");
    let shown = browser.shows();
    let id = listed.split('\t').next().expect("a number").to_owned();
    site.daemon.run(&["user", "keys", "ada", "remove", &id]).done();
    browser.login(json!({"assertion": shown})).is(401);
    site.daemon.run(&["user", "change", "ada", "--drop-keys"]).done();
    browser.login(json!({})).is(200);
    let log = site.daemon.log();
    assert!(!log.contains(PASSWORD) && !log.contains(codes[1].as_str().expect("a code")));
}

#[test]
fn a_copy_of_a_key_is_refused_and_noted() {
    let scratch = Scratch::new("passkeys-copy");
    let mut site = Site::start(&scratch);
    let bearer = site.bearer();
    let copy = scratch.text("copy");
    {
        let browser = Browser { site: &site, scratch: &scratch, key: scratch.text("key") };
        browser.make(&bearer, "k", &json!({"password": PASSWORD}), &browser.origin()).is(200);
        fs::copy(&browser.key, &copy).expect("copied");
        for _ in 0..2 {
            browser.login(json!({"assertion": browser.shows()})).is(200);
        }
        let thief = Browser { key: copy.clone(), ..browser };
        let refused = thief.login(json!({"assertion": thief.shows()})).is(401);
        assert_eq!(refused.problem(), "/problems/unauthenticated");
    }
    // Keys are in the database, and challenges are not.
    let before = Browser { site: &site, scratch: &scratch, key: scratch.text("key") }.shows();
    site.restart(true);
    let browser = Browser { site: &site, scratch: &scratch, key: scratch.text("key") };
    browser.login(json!({"assertion": before})).is(401);
    browser.login(json!({"assertion": browser.shows()})).is(200);
    let records = site.get("/v1/audit?user=ada&verb=COPIED", &[&bearer]).is(200).json();
    let records = records.as_array().expect("a list");
    assert_eq!(records.len(), 1, "{records:?}");
    let target = records[0]["target"].as_str().expect("a text");
    assert_eq!(target, "key 1: its counter went back from 2 to 1");
    // Whatever is sent instead of what a browser sends is refused.
    for seed in 0..12 {
        let mut shown = browser.shows();
        let members = ["clientDataJSON", "authenticatorData", "signature"];
        let member = members[seed % members.len()];
        let text = shown["response"][member].as_str().expect("a text").to_owned();
        let at = (seed * 7) % text.len();
        let hurt = match seed % 2 {
            0 => text[..at].to_owned(),
            _ => {
                format!("{}{}{}", &text[..at], if &text[at..=at] == "A" { "B" } else { "A" }, &text[at + 1..])
            }
        };
        shown["response"][member] = json!(hurt);
        browser.login(json!({"assertion": shown})).is(401);
        // A right one ends the wait that comes after many.
        browser.login(json!({"assertion": browser.shows()})).is(200);
    }
}
