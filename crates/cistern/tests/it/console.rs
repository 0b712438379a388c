//! The web console as it is served, and what it needs beside the API that was there: disks. What it
//! does in a browser, `scripts/console-test` shows.

use serde_json::{Value, json};

use crate::daemon::Scratch;
use crate::https::Site;

#[test]
fn its_first_page_is_for_everybody_and_its_policy_forbids_all_but_itself() {
    let scratch = Scratch::new("console-page");
    let site = Site::start(&scratch);
    let first = site.get("/", &[]);
    // A program that was built without it says so.
    let is_built = first.status == 200;
    assert!(is_built || first.status == 503 && first.body.contains("scripts/console"), "{first:?}");
    let policy = first.header("content-security-policy").expect("a policy");
    for wanted in
        ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "trusted-types 'none'"]
    {
        assert!(policy.contains(wanted), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(first.header("cache-control"), Some("no-cache"));
    assert_eq!(first.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(first.header("cross-origin-opener-policy"), Some("same-origin"));
    site.get("/", &["Host: evil.example"]).is(421);
    site.get("/assets/none", &[]).is(404);
    site.get("/assets/..%2Findex.html", &[]).is(404);
    // Answers of the API have the policy that they had.
    let answer = site.get("/v1/version", &[]).is(200);
    assert_eq!(answer.header("content-security-policy"), Some("default-src 'none'; frame-ancestors 'none'"));
    if is_built {
        its_files_are_kept_by_who_has_them(&site, &first.body, first.header("etag").expect("a tag"));
    }
}

fn its_files_are_kept_by_who_has_them(site: &Site, page: &str, tag: &str) {
    let again = site.get("/", &[&format!("If-None-Match: {tag}")]).is(304);
    assert!(again.body.is_empty() && again.header("etag") == Some(tag));
    let script = page.split('"').find(|part| part.ends_with(".js")).expect("a script");
    let script = site.get(script, &[]).is(200);
    assert_eq!(script.header("cache-control"), Some("public, max-age=31536000, immutable"));
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    let licences = site.get("/assets/licences.txt", &[]).is(200).body;
    assert!(licences.contains("react-dom ") && licences.contains("MIT"), "{licences}");
}

#[test]
fn reports_of_browsers_are_counted_whoever_sends_them() {
    let scratch = Scratch::new("console-reports");
    let site = Site::start(&scratch);
    let report = json!({"csp-report": {"violated-directive": "script-src"}}).to_string();
    let kind = "Content-Type: application/csp-report";
    for origin in ["Sec-Fetch-Site: same-origin", "Sec-Fetch-Site: cross-site"] {
        site.curl(&[], "/console-reports", &[kind, origin], Some(&report)).is(204);
    }
    let long = "x".repeat(100 << 10);
    site.curl(&[], "/console-reports", &[kind], Some(&long)).is(204);
    let metrics = site.get("/metrics", &[&site.bearer()]).is(200).body;
    assert!(metrics.contains("\ncistern_console_violations_total 3\n"), "{metrics}");
}

#[test]
fn disks_are_told_with_what_uses_them() {
    let scratch = Scratch::new("console-disks");
    let folder = scratch.folder("disks").display().to_string();
    let site = Site::start_with(&scratch, &["--search", &folder]);
    let [taken, free, small] = [("a", 256), ("b", 128), ("c", 1)].map(|(name, mib)| scratch.image(name, mib));
    site.daemon.zpool(&format!("create -m none tank {taken}")).done();
    let reader = site.user("rita", "read-only", None);
    let all = site.get("/v1/disks", &[&reader]).is(200).json();
    let of = |path: &str| all.as_array().expect("a list").iter().find(|disk| disk["path"] == path);
    let known = of(&taken).expect("that of the pool");
    assert_eq!(known["used"], json!({"pool": {"name": "tank"}}));
    assert_eq!((&known["kind"], &known["size"]), (&json!("file"), &json!(256 << 20)));
    assert_eq!(of(&free).expect("the free one")["used"], Value::Null);
    assert!(of(&small).is_none(), "too small for a pool");
    // The disk that this machine runs on, where it has one, is nobody's to take.
    let root = all.as_array().expect("a list").iter().find(|disk| disk["used"]["mounted"]["at"] == "/");
    assert!(root.is_none_or(|disk| disk["path"].as_str().is_some_and(|path| path.starts_with("/dev/"))));
    site.get("/v1/disks", &[]).is(401);
}
