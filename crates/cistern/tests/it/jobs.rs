//! Jobs when the daemon dies, and when nobody wants them any more. Long enough for both is the
//! import of a pool whose host has died: it waits some seconds for a sign of life.

use std::process::Stdio;

use serde_json::Value;

use crate::daemon::{Daemon, Scratch, text, timed};
use crate::delegation::{JOE, ask};
use crate::multihost::host;
use crate::suspended::until;
use crate::zdb::assert_clean;

/// What root is answered.
fn answer(daemon: &Daemon, verb: &str, path: &str, body: &str) -> Value {
    let answer = ask(daemon, 0, (verb, path, body));
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{verb} {path}: {error}: {answer}"))
}

fn job(daemon: &Daemon, id: u64) -> Value {
    answer(daemon, "GET", &format!("/v1/jobs/{id}"), "")
}

fn number(job: &Value) -> u64 {
    job["id"].as_u64().unwrap_or_else(|| panic!("no job: {job}"))
}

#[track_caller]
fn assert_failed(job: &Value, kind: &str, why: &Value) {
    let problem = &job["problem"];
    assert_eq!((&job["state"], &job["cancellable"]), (&"failed".into(), &false.into()), "{job}");
    assert_eq!((&problem["type"], &problem["refused"]["reason"]), (&kind.into(), why), "{job}");
}

#[test]
fn a_job_is_known_after_the_daemon_has_died_and_one_that_is_cancelled_ends() {
    let scratch = Scratch::new("jobs");
    let (mut one, a) = (host(&scratch, "one", 0x00c0_ffee), scratch.image("a", 128));
    one.zpool(&format!("create -m none -o multihost=on tank {a}")).done();
    one.kill();
    let (mut two, disks) = (host(&scratch, "two", 0x00de_cade), text(&scratch.path("disks")));

    let mut import = two.command(&["zpool", "import", "-f", "-d", &disks, "tank"]);
    let import = import.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("started");
    until("the import", || two.log().contains("watching for another host"));
    let running = answer(&two, "GET", "/v1/jobs", "")[0].clone();
    assert_eq!((&running["kind"], &running["state"]), (&"pool.import".into(), &"running".into()));
    two.kill();
    let ended = import.wait_with_output().expect("it ended");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(ended.status.code() == Some(1) && said.contains("lost the Cistern daemon"), "{said}");

    two.begin();
    let dead = job(&two, number(&running));
    let interrupted = serde_json::json!({"job": "interrupted"});
    assert_failed(&dead, "/problems/interrupted", &interrupted);
    assert_eq!((&dead["kind"], &dead["target"]), (&"pool.import".into(), &"tank".into()));
    assert!(dead["problem"]["detail"].as_str().is_some_and(|words| words.contains("zpool status")), "{dead}");

    // Another one has another number, and is cancelled by whoever sees it.
    let request = serde_json::json!({"which": "tank", "force": true, "search": [&disks]}).to_string();
    let begun = answer(&two, "POST", "/v1/imports", &request);
    assert_eq!((&begun["state"], &begun["cancellable"]), (&"running".into(), &true.into()), "{begun}");
    let id = number(&begun);
    assert!(id > number(&running));
    let cancel = format!("/v1/jobs/{id}/cancel");
    let refused = ask(&two, JOE, ("POST", &cancel, ""));
    assert!(refused.contains("/problems/not-found"), "{refused}");
    assert_eq!(number(&answer(&two, "POST", &cancel, "")), id);
    until("the end", || job(&two, id)["state"] != "running");
    let cancelled = serde_json::json!({"import": {"fault": "cancelled"}});
    assert_failed(&job(&two, id), "/problems/cancelled", &cancelled);
    assert_eq!(two.zpool("list -H").done(), "");
    assert_eq!(answer(&two, "POST", &cancel, "")["refused"]["reason"]["job"], "ended");

    // Both are known again, each as it ended.
    two.kill();
    two.begin();
    assert_failed(&job(&two, id), "/problems/cancelled", &cancelled);
    assert_failed(&job(&two, number(&running)), "/problems/interrupted", &interrupted);
    // So is what one did that came to its end.
    let log = answer(&two, "GET", &format!("/v1/jobs/{id}/log"), "");
    let (line, began) = (&log["lines"][0], job(&two, id)["began"].as_u64());
    assert_eq!((&line["step"], &log["left_out"]), (&"importing tank".into(), &0.into()), "{log}");
    assert!(line["time"].as_u64() >= began && began.is_some(), "{log}");
    assert!(ask(&two, JOE, ("GET", &format!("/v1/jobs/{id}/log"), "")).contains("/problems/not-found"));
    let shown = two.run(&["job", "log", "-H", &id.to_string()]).done();
    assert!(shown.ends_with("\timporting tank\n"), "{shown}");
    // The pool is as it was.
    timed("taken", || two.zpool(&format!("import -f -d {disks} tank")).done());
    two.zpool("export tank").done();
    two.stop();
    assert_clean(&scratch.path("disks"), "tank");
}
