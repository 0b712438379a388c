//! The description of the management API, judged by programs that others wrote: whether it is
//! OpenAPI, and whether what a daemon answers is what it describes.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::daemon::{Daemon, PATIENCE, Ran, Scratch, program, say, text};

/// Everything that is described is asked for, at random and at its ends, by an administrator: pools
/// are made, imported and destroyed, properties set, faults asked for. No answer is a fault of the
/// daemon, and none is other than described.
#[test]
fn what_is_answered_is_what_is_described() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let python = root.join("target/tools/python/bin/python");
    assert!(python.exists(), "schemathesis is needed for this test: run scripts/setup test");

    let scratch = Scratch::new("openapi");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", 512);
    // Whatever becomes of mount points, they stay below a folder of the test.
    let altroot = text(&scratch.folder("root"));
    daemon.zpool(&format!("create -R {altroot} tank {image}")).done();
    daemon.zfs("create tank/a").done();
    daemon.zfs("create -V 16M tank/v").done();
    daemon.zfs("snapshot -r tank@snap").done();

    let mut judge = program(&text(&python), 280);
    judge.arg(root.join("tests/openapi/check")).arg(daemon.socket()).args(["tank", "tank/a"]);
    let ran = Ran::of(judge.current_dir(scratch.folder("here")));
    let log = daemon.log();
    if ran.status == 0 {
        daemon.stop();
    }
    // What the judge says last matters most, and the daemon would have its own last word otherwise.
    drop(daemon);
    let troubles: Vec<&str> = log.lines().filter(|line| !line.contains(" INFO ")).collect();
    assert_eq!(ran.status, 0, "{}\n{}\n{}", troubles.join("\n"), ran.err, ran.out);
    let told = ran.out.lines().filter(|line| line.contains(" operations, ") || line.contains(" generated, "));
    told.for_each(|line| say(line.trim()));
}

#[test]
fn a_name_that_is_no_text_is_a_problem_like_any_other() {
    let scratch = Scratch::new("openapi-path");
    let daemon = Daemon::start(&scratch);
    for path in ["/v1/pools/%FF", "/v1/datasets/a%C3%28/space", "/v1/jobs/%80"] {
        let mut stream = UnixStream::connect(daemon.socket()).expect("a listening daemon");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 400 "), "{path}: {answer}");
        assert!(answer.contains("content-type: application/problem+json"), "{path}: {answer}");
        assert!(answer.contains("\"/problems/bad-request\""), "{path}: {answer}");
    }
}

#[test]
fn who_is_answered_before_his_body_came_goes_on_with_the_connection() {
    let scratch = Scratch::new("openapi-early");
    let daemon = Daemon::start(&scratch);
    let mut stream = UnixStream::connect(daemon.socket()).expect("a listening daemon");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let answer = |stream: &mut UnixStream, status: &str| {
        let mut bytes = vec![0; 64 << 10];
        let len = stream.read(&mut bytes).expect("an answer");
        let text = String::from_utf8_lossy(&bytes[..len]);
        assert!(text.starts_with(&format!("HTTP/1.1 {status} ")), "{text}");
    };
    for _ in 0..3 {
        let head = "POST /v1/pools/x/export HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n\
            if-match: \"other\"\r\ncontent-length: 2\r\n\r\n";
        stream.write_all(head.as_bytes()).expect("sent");
        answer(&mut stream, "404");
        stream.write_all(b"{}").expect("the body is taken");
        stream.write_all(b"GET /v1/version HTTP/1.1\r\nhost: x\r\n\r\n").expect("sent");
        answer(&mut stream, "200");
    }
}
