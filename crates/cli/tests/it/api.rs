//! The socket and the wire: who may connect, what a bad request gets, how long work is waited for.

use crate::fake::FakeEngine;
use crate::{Daemon, no_jobs};
use appliance::Appliance;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// One request, byte for byte: status and body.
fn raw(daemon: &Daemon, request: &str) -> (u16, serde_json::Value) {
    let mut stream = UnixStream::connect(daemon.folder.join("cistern.sock")).expect("a listening daemon");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
    // A server that refuses a body needs not read all of it; what counts is that it answered.
    let _ = stream.write_all(request.as_bytes());
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8(answer).expect("UTF-8");
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).expect("a status line");
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}")))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n")
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn everybody_may_connect_and_a_stale_socket_is_replaced() {
    let mut daemon = Daemon::start(FakeEngine::default());
    let server = daemon.server.take().expect("running");
    let socket = daemon.folder.join("cistern.sock");
    let mode = |path| std::fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode(&socket), 0o666);
    let serve = || {
        let config = super::config(socket.clone());
        let (engine, local) = (daemon.engine.clone(), daemon.mounts.clone());
        let appliance = Appliance::new(engine, local, false);
        api::serve(config, appliance, daemon.mounts.clone(), no_jobs())
    };
    let again = serve();
    assert_eq!(again.map(|_| ()).expect_err("one is enough").kind(), std::io::ErrorKind::AddrInUse);
    server.stop();
    assert!(!socket.exists());
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("a socket that nobody listens on"));
    assert!(socket.exists());
    let second = serve().expect("the stale one is replaced");
    assert_eq!(daemon.zpool("list").status, 0);
    second.stop();
}

#[test]
fn without_a_daemon_every_command_says_how_to_start_one() {
    let mut daemon = Daemon::start(FakeEngine::default());
    drop(daemon.server.take());
    for ran in [daemon.zpool("list"), daemon.zfs("list"), daemon.zpool("export x"), daemon.zfs("mount")] {
        assert_eq!(ran.status, 1);
        assert!(ran.err.starts_with("The Cistern daemon is not running (no answer on /"), "{ran:?}");
        assert!(ran.err.contains("cistern serve --state DIR"), "{ran:?}");
    }
}

#[test]
fn bad_requests_are_problems() {
    let daemon = Daemon::with_tank();
    let cases = [
        (get("/v1/nonsense"), 400, "/problems/bad-request"),
        (post("/v1/version", ""), 400, "/problems/bad-request"),
        (post("/v1/pools", "{nonsense"), 400, "/problems/bad-request"),
        (post("/v1/pools", "{\"nam\":\"x\"}"), 400, "/problems/bad-request"),
        (post("/v1/pools", &" ".repeat(2 << 20)), 400, "/problems/bad-request"),
        (get("/v1/datasets?rot=tank"), 400, "/problems/bad-request"),
        (get("/v1/datasets?roots=tank&kinds=hat"), 422, "/problems/invalid"),
        (get("/v1/datasets?roots=tank%2Fno"), 404, "/problems/not-found"),
        (get("/v1/pools/no"), 404, "/problems/not-found"),
        (get("/v1/jobs/99999"), 404, "/problems/not-found"),
        (get("/v1/jobs/abc"), 404, "/problems/not-found"),
        (post("/v1/jobs/99999/cancel", ""), 404, "/problems/not-found"),
        (post("/v1/jobs/abc/cancel", ""), 404, "/problems/not-found"),
    ];
    for (request, status, kind) in cases {
        let line = request.lines().next().unwrap_or_default().to_owned();
        let (got, problem) = raw(&daemon, &request);
        assert_eq!(
            (got, problem["type"].as_str(), problem["status"].as_u64()),
            (status, Some(kind), Some(u64::from(status))),
            "{line}"
        );
        assert!(problem["title"].is_string() && problem["detail"].is_string(), "{line}");
    }
}

#[test]
fn long_work_is_a_job_that_can_be_waited_for() {
    let daemon = Daemon::with_tank();
    *daemon.engine.delay.lock().expect("unpoisoned") = Duration::from_millis(600);
    let (status, job) = raw(&daemon, &post("/v1/pools/tank/export", "{}"));
    assert_eq!(
        (status, job["state"].as_str(), job["kind"].as_str()),
        (202, Some("running"), Some("pool.export"))
    );
    assert_eq!((&job["progress"]["step"], &job["cancellable"]), (&"exporting tank".into(), &false.into()));
    let cancel = post(&format!("/v1/jobs/{}/cancel", job["id"]), "");
    let (status, refused) = raw(&daemon, &cancel);
    assert_eq!((status, refused["refused"]["reason"]["job"].as_str()), (409, Some("not-cancellable")));
    let (_, ended) = raw(&daemon, &get(&format!("/v1/jobs/{}?wait_ms=20000", job["id"])));
    assert_eq!(ended["state"], "done");
    let (_, all) = raw(&daemon, &get("/v1/jobs"));
    assert!(all.as_array().is_some_and(|jobs| jobs.len() == 2), "{all}");
    let (status, failed) = raw(&daemon, &post("/v1/pools/tank/export", "{}"));
    assert_eq!((status, failed["state"].as_str()), (202, Some("failed")));
    assert_eq!(failed["problem"]["type"], "/problems/not-found");
    let (status, refused) = raw(&daemon, &cancel);
    let detail = format!("cannot cancel job {}: it has ended", job["id"]);
    assert_eq!((status, refused["detail"].as_str()), (409, Some(&*detail)));
}

#[test]
fn an_import_that_is_cancelled_mounts_no_more() {
    let daemon = Daemon::with_tank();
    for name in ["tank/a", "tank/b"] {
        assert_eq!(daemon.zfs(&format!("create {name}")).status, 0);
    }
    assert_eq!(daemon.zpool("export tank").status, 0);
    let held = daemon.mounts.gate.lock().expect("unpoisoned");
    let (status, mut job) = raw(&daemon, &post("/v1/imports", "{\"which\":\"tank\"}"));
    assert_eq!(status, 202);
    while job["state"] == "running" && job["progress"]["step"] != "mounting tank" {
        (_, job) = raw(&daemon, &get(&format!("/v1/jobs/{}?wait_ms=100", job["id"])));
    }
    assert_eq!((job["state"].as_str(), &job["cancellable"]), (Some("running"), &true.into()));
    let (status, asked) = raw(&daemon, &post(&format!("/v1/jobs/{}/cancel", job["id"]), ""));
    assert_eq!((status, asked["state"].as_str()), (200, Some("running")), "{asked}");
    drop(held);
    let ended = loop {
        let (_, now) = raw(&daemon, &get(&format!("/v1/jobs/{}?wait_ms=20000", job["id"])));
        if now["state"] != "running" {
            break now;
        }
    };
    let problem = &ended["problem"];
    assert_eq!((&ended["state"], &problem["type"]), (&"failed".into(), &"/problems/cancelled".into()));
    let detail = problem["detail"].as_str().unwrap_or_default();
    let (start, end) = ("cannot mount 'tank", "': the job was cancelled");
    assert!(detail.starts_with(start) && detail.ends_with(end), "{detail}");
    // The pool is there, and of three mounts at most the one that was under way.
    let mounted = daemon.mounts.list();
    assert!(mounted.len() <= 1, "{mounted:?}");
    assert!(daemon.zpool("list").out.contains("tank"));
}

#[test]
fn colours_and_progress_are_for_terminals() {
    let daemon = Daemon::with_tank();
    let status = daemon.run_on(cli::Program::Zpool, "status", true).out;
    assert!(status.starts_with("  \x1b[1mpool:\x1b[0m tank\n"), "{status:?}");
    *daemon.engine.delay.lock().expect("unpoisoned") = Duration::from_millis(600);
    let ran = daemon.run_on(cli::Program::Zpool, "export tank", true);
    let line = "exporting tank …";
    let blank = " ".repeat(line.chars().count());
    assert_eq!((ran.status, ran.err), (0, format!("\r{line}\r{blank}\r")));
}

#[test]
fn what_can_be_set_is_told() {
    let daemon = Daemon::start(FakeEngine::default());
    let (_, tables) = raw(&daemon, &get("/v1/properties"));
    let atime = tables["datasets"].as_array().and_then(|rows| rows.iter().find(|row| row["name"] == "atime"));
    let expected = serde_json::json!({
        "name": "atime", "values": "on | off", "default": "on", "edit": "always", "inherit": true, "kind": "text"
    });
    assert_eq!(atime, Some(&expected));
}
