//! Changes that are made on a condition, and requests that are sent again: nothing is changed that
//! somebody else has changed since, and nothing is done twice.

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::Scratch;
use crate::https::{Answer, Site};

const SETTINGS: &str = "/v1/datasets/tank%2Fa/properties";

fn tag(answer: &Answer) -> String {
    answer.header("etag").unwrap_or_else(|| panic!("a tag: {answer:?}")).to_owned()
}

fn tag_of(site: &Site, path: &str) -> String {
    tag(&site.get(path, &[&site.bearer()]).is(200))
}

fn if_match(tag: &str) -> String {
    format!("If-Match: {tag}")
}

fn set(name: &str, value: &str) -> Value {
    json!({"props": [{"name": name, "value": value}]})
}

#[test]
fn a_change_is_made_only_while_the_thing_is_as_it_was_read() {
    let scratch = Scratch::new("if-match");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let who = site.bearer();
    let first = tag_of(&site, SETTINGS);
    let known = format!("If-None-Match: \"x\", W/{first}");
    let answer = site.get(SETTINGS, &[&who, &known]).is(304);
    assert_eq!((tag(&answer), &*answer.body), (first.clone(), ""));
    let change = |condition: &str, value: &str| {
        site.post(SETTINGS, &[&who, condition], &set("compression", value)).status
    };
    let refused = site.post(SETTINGS, &[&who, "If-Match: \"x\""], &set("compression", "off")).is(412);
    assert_eq!(refused.problem(), "/problems/precondition-failed");
    assert_eq!(change(&if_match(&format!("\"x\", {first}")), "lz4"), 200);
    assert_eq!(change(&if_match(&first), "gzip"), 412, "it was changed since");
    assert_eq!(change(&if_match(&format!("W/{}", tag_of(&site, SETTINGS))), "gzip"), 412, "no strong tag");
    assert_eq!(site.daemon.zfs("get -H -o value compression tank/a").done(), "lz4\n");
    assert_eq!(change("If-Match: *", "gzip"), 200);
    // What is inherited counts, space that is used does not.
    let before = tag_of(&site, SETTINGS);
    site.daemon.zfs("snapshot tank/a@s").done();
    site.daemon.zfs("create tank/a/below").done();
    assert_eq!(tag_of(&site, SETTINGS), before);
    site.daemon.zfs("set atime=off tank").done();
    assert_eq!(change(&if_match(&before), "zle"), 412);
    // A job is not even begun.
    let jobs = || site.get("/v1/jobs", &[&who]).is(200).json().as_array().map(Vec::len);
    let before_jobs = jobs();
    let destroy = "/v1/datasets/tank%2Fa%2Fbelow/destroy";
    site.post(destroy, &[&who, &if_match(&before)], &json!({})).is(412);
    assert_eq!(jobs(), before_jobs);
    let own = tag_of(&site, "/v1/datasets/tank%2Fa%2Fbelow/properties");
    site.post(destroy, &[&who, &if_match(&own)], &json!({})).is(202);
    site.post(destroy, &[&who, &if_match(&own)], &json!({})).is(404);
    // Pools and accounts.
    let settings = "/v1/pools/tank/properties?settable=true";
    let pool = tag_of(&site, settings);
    let comment = |tag: &str, text: &str| {
        site.post("/v1/pools/tank/properties", &[&who, &if_match(tag)], &set("comment", text)).status
    };
    assert_eq!([comment(&pool, "one"), comment(&pool, "two")], [200, 412]);
    assert_eq!(comment(&tag_of(&site, settings), "three"), 200);
    site.add_user("eve", "operator");
    let account = tag_of(&site, "/v1/users/eve");
    let change = |tag: &str, role: &str| {
        site.post("/v1/users/eve/change", &[&who, &if_match(tag)], &json!({"role": role})).status
    };
    assert_eq!([change(&account, "read-only"), change(&account, "administrator")], [200, 412]);
    assert_eq!(site.get("/v1/users/eve", &[&who]).is(200).json()["role"], json!("read-only"));
    // What has no tag takes no condition.
    site.post("/v1/snapshots", &[&who, "If-Match: *"], &json!({"names": ["tank/a@t"]})).is(400);
    assert_eq!(site.daemon.zfs("list -H -o name -t snapshot -r tank").done(), "tank/a@s\n");
}

const WRITERS: u64 = 4;
const EACH: u64 = 5;

#[test]
fn no_change_of_many_at_once_is_lost() {
    let scratch = Scratch::new("if-match-race");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    site.daemon.zfs("set user:count=0 tank/a").done();
    let (who, lost) = (site.bearer(), AtomicU64::new(0));
    let count = |answer: &Answer| {
        let props = answer.json()["props"].clone();
        let found = props.as_array().and_then(|props| props.iter().find(|prop| prop["name"] == "user:count"));
        let value = found.and_then(|prop| prop["value"].as_str()).expect("a value");
        value.parse::<u64>().expect("a number")
    };
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut done = 0;
                while done < EACH {
                    let seen = site.get(SETTINGS, &[&who]).is(200);
                    let next = (count(&seen) + 1).to_string();
                    let answer =
                        site.post(SETTINGS, &[&who, &if_match(&tag(&seen))], &set("user:count", &next));
                    match answer.status {
                        200 => done += 1,
                        _ => {
                            answer.is(412);
                            lost.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            });
        }
    });
    assert_eq!(count(&site.get(SETTINGS, &[&who]).is(200)), WRITERS * EACH);
    assert!(lost.into_inner() > 0, "they have met");
}

fn key(key: &str) -> String {
    format!("Idempotency-Key: {key}")
}

fn is_again(answer: &Answer) -> bool {
    answer.header("idempotent-replayed") == Some("true")
}

#[test]
fn a_request_that_is_sent_again_is_answered_as_the_first_time() {
    let scratch = Scratch::new("idempotency");
    let mut site = Site::start(&scratch);
    site.pool(&scratch);
    let other = site.user("other", "administrator", None);
    let make = |site: &Site, who: &str, word: &str, name: &str| {
        site.post("/v1/datasets", &[who, &key(word)], &json!({"name": name}))
    };
    let who = site.bearer();
    let first = make(&site, &who, "one", "tank/new").is(200);
    assert!(!is_again(&first));
    let again = make(&site, &who, "one", "tank/new").is(200);
    assert!(is_again(&again) && again.json() == first.json(), "{again:?}");
    let reused = make(&site, &who, "one", "tank/newer").is(422);
    assert_eq!(reused.problem(), "/problems/key-reused");
    let refused = make(&site, &who, "two", "tank/new").is(409);
    let again = make(&site, &who, "two", "tank/new").is(409);
    assert!(is_again(&again) && !is_again(&refused) && again.json() == refused.json(), "{again:?}");
    assert!(!is_again(&make(&site, &other, "one", "tank/new").is(409)), "another's key");
    // A job is the same job.
    let scan = |site: &Site| {
        site.post("/v1/pools/tank/scan", &[&who, &key("scan")], &json!({"command": "scrub"})).is(202)
    };
    let job = scan(&site).json()["id"].clone();
    assert_eq!(scan(&site).json()["id"], job);
    // Neither a kill nor a stop forgets one.
    for kill in [true, false] {
        site.restart(kill);
        let again = make(&site, &who, "one", "tank/new").is(200);
        assert!(is_again(&again) && again.json() == first.json(), "{again:?}");
        assert_eq!(scan(&site).json()["id"], job);
    }
    // What has a secret in its answer, and what has no end, takes no key.
    let token = json!({"name": "more", "role": "read-only"});
    site.post("/v1/tokens", &[&who, &key("t")], &token).is(400);
    site.post("/v1/datasets", &[&who, &key(&"k".repeat(256))], &json!({"name": "tank/no"})).is(400);
    let listed = site.daemon.zfs("list -H -o name -r tank").done();
    assert_eq!(listed.lines().filter(|name| name.starts_with("tank/new")).count(), 1, "{listed}");
    // Nothing of keys or requests is in the database as it was sent.
    let snapshot = json!({"names": ["tank@s"], "history": "words of a body"});
    site.post("/v1/snapshots", &[&who, &key("words of a key")], &snapshot).is(200);
    site.daemon.stop();
    let database = fs::read(site.daemon.state.join("machine.db")).expect("it is there");
    let has = |text: &str| database.windows(text.len()).any(|window| window == text.as_bytes());
    assert!(has("account 2000000000"), "it is what is looked at");
    assert!(!has("words of a key") && !has("words of a body"));
}

#[test]
fn of_the_same_request_many_times_at_once_one_is_carried_out() {
    let scratch = Scratch::new("idempotency-race");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let who = site.bearer();
    let txgs: BTreeSet<String> = std::thread::scope(|scope| {
        let ask = || {
            let body = json!({"names": ["tank/a@once"]});
            loop {
                let answer = site.post("/v1/snapshots", &[&who, &key("race")], &body);
                if answer.status == 200 {
                    return answer.json()["txg"].to_string();
                }
                assert_eq!(answer.is(409).problem(), "/problems/in-progress");
                std::thread::sleep(Duration::from_millis(20));
            }
        };
        let asked: Vec<_> = (0..8).map(|_| scope.spawn(ask)).collect();
        asked.into_iter().map(|asked| asked.join().expect("it is answered")).collect()
    });
    assert_eq!(txgs.len(), 1, "all were told the same: {txgs:?}");
}
