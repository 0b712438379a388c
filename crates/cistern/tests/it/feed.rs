//! The one stream of events: who comes back misses nothing or is told so, and a crowd of listeners
//! keeps nobody waiting.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::{Daemon, PATIENCE, Scratch, say};
use crate::https::Site;

/// A listener by the socket.
struct Listener {
    from: BufReader<UnixStream>,
    /// Of the last event.
    id: String,
}

impl Listener {
    fn begin(daemon: &Daemon, last: Option<&str>) -> Listener {
        let mut stream = UnixStream::connect(daemon.socket()).expect("a listening daemon");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let last = last.map(|last| format!("last-event-id: {last}\r\n")).unwrap_or_default();
        let request = format!("GET /v1/events/stream HTTP/1.1\r\nhost: x\r\n{last}\r\n");
        stream.write_all(request.as_bytes()).expect("sent");
        let mut from = BufReader::new(stream);
        let head: Vec<String> =
            (&mut from).lines().map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
        assert!(head[0].contains(" 200 "), "{head:?}");
        assert!(head.contains(&"content-type: text/event-stream".to_owned()), "{head:?}");
        Listener { from, id: String::new() }
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let len = self.from.read_line(&mut line).expect("it goes on");
        (len > 0).then(|| line.trim_end().to_owned())
    }

    /// The next event; `None` at the end.
    fn next(&mut self) -> Option<Value> {
        loop {
            let line = self.line()?;
            if let Some(id) = line.strip_prefix("id: ") {
                self.id = id.to_owned();
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(serde_json::from_str(data).expect("JSON"));
            }
        }
    }

    /// The first event that is looked for.
    fn until(&mut self, is_it: impl Fn(&Value) -> bool) -> Value {
        loop {
            let event = self.next().expect("it goes on");
            if is_it(&event) {
                return event;
            }
        }
    }
}

fn is_request(event: &Value, path: &str) -> bool {
    event["request"]["path"] == json!(path)
}

/// Whether a dataset's record of the pool's history was told.
fn is_of_dataset(event: &Value, name: &str) -> bool {
    let payload = event["pool"]["payload"].as_array();
    payload.is_some_and(|payload| payload.iter().any(|entry| entry[1] == json!(name)))
}

#[test]
fn all_that_happens_is_told_and_who_comes_back_goes_on() {
    let scratch = Scratch::new("feed");
    let mut daemon = Daemon::start(&scratch);
    let mut listener = Listener::begin(&daemon, None);
    assert_eq!(listener.next(), Some(json!({"resync": {"cause": "start"}})));
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let begun = listener.until(|event| event["job"]["kind"] == json!("pool.create"));
    assert_eq!(begun["job"]["state"], json!("running"));
    listener.until(|event| {
        event["job"]["kind"] == json!("pool.create") && event["job"]["state"] == json!("done")
    });
    daemon.zfs("create tank/a").done();
    listener.until(|event| is_of_dataset(event, "tank/a"));
    let request = listener.until(|event| is_request(event, "/v1/datasets"));
    assert_eq!((&request["request"]["verb"], &request["request"]["status"]), (&json!("POST"), &json!(200)));
    // What happens while nobody listens.
    let id = listener.id.clone();
    drop(listener);
    daemon.zfs("snapshot tank/a@s").done();
    assert_ne!(daemon.zfs("snapshot tank/none@s").status, 0);
    let mut listener = Listener::begin(&daemon, Some(&id));
    let first = listener.next().expect("an event");
    assert!(first.get("resync").is_none(), "{first}");
    listener.until(|event| is_request(event, "/v1/snapshots"));
    daemon.zfs("destroy tank/a@s").done();
    listener.until(|event| {
        assert!(!is_request(event, "/v1/snapshots"), "what is refused is no event: {event}");
        event["job"]["kind"] == json!("dataset.destroy") && event["job"]["state"] == json!("done")
    });
    // Another run of the daemon has other numbers.
    let id = listener.id.clone();
    let began = Instant::now();
    daemon.stop();
    assert!(began.elapsed() < Duration::from_secs(20), "a listener holds up no end");
    while listener.next().is_some() {}
    daemon.begin();
    let mut listener = Listener::begin(&daemon, Some(&id));
    assert_eq!(listener.next(), Some(json!({"resync": {"cause": "restarted"}})));
    daemon.stop();
}

/// More than the feed keeps.
const MANY: usize = 5_000;
const LISTENERS: usize = 200;

#[test]
fn two_hundred_listeners_hear_all_and_one_that_was_away_too_long_is_told_so() {
    let scratch = Scratch::new("feed-crowd");
    let mut daemon = Daemon::start(&scratch);
    let a = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {a}")).done();
    let mut away = Listener::begin(&daemon, None);
    away.next().expect("its begin");
    let id = away.id.clone();
    drop(away);
    let before = daemon.resident();
    let mut crowd: Vec<Listener> = (0..LISTENERS).map(|_| Listener::begin(&daemon, None)).collect();
    crowd.iter_mut().for_each(|listener| drop(listener.next().expect("its begin")));
    // These take nothing.
    let mut silent: Vec<Listener> = (0..LISTENERS / 8).map(|_| Listener::begin(&daemon, None)).collect();
    std::thread::scope(|scope| {
        let heard: Vec<_> = crowd
            .iter_mut()
            .map(|listener| {
                scope.spawn(|| {
                    listener.until(|event| is_request(event, "/v1/pools/tank/clear"));
                    Instant::now()
                })
            })
            .collect();
        let began = Instant::now();
        let mut stream = UnixStream::connect(daemon.socket()).expect("a listening daemon");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let request = b"POST /v1/cache/drop HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n";
        let mut answer = [0; 4096];
        for _ in 0..MANY {
            stream.write_all(request).expect("sent");
            let len = stream.read(&mut answer).expect("an answer");
            assert!(answer[..len].starts_with(b"HTTP/1.1 200"), "it is served");
        }
        let took = began.elapsed();
        let done = Instant::now();
        daemon.zpool("clear tank").done();
        let late =
            heard.into_iter().map(|heard| heard.join().expect("it hears all").duration_since(done)).max();
        let grown = daemon.resident().saturating_sub(before) >> 20;
        say(&format!(
            "{MANY} requests beside {LISTENERS} listeners in {took:?}, the last heard {late:?} later, {grown} MiB"
        ));
        assert!(grown < 64, "{grown} MiB");
    });
    let mut late = Listener::begin(&daemon, Some(&id));
    assert_eq!(late.next(), Some(json!({"resync": {"cause": "behind"}})));
    daemon.zfs("create tank/new").done();
    late.until(|event| is_of_dataset(event, "tank/new"));
    // Who took nothing has lost nothing but what is not kept.
    silent[0].until(|event| is_of_dataset(event, "tank/new"));
    daemon.stop();
}

#[test]
fn over_https_readers_listen_and_hear_nothing_of_accounts() {
    let scratch = Scratch::new("feed-https");
    let site = Site::start(&scratch);
    site.pool(&scratch);
    let reader = site.user("reader", "read-only", None);
    let listen = |who: &str| site.curl(&["-N", "--max-time", "3"], "/v1/events/stream", &[who], None);
    let id = |answer: &crate::https::Answer| {
        let lines: Vec<String> = answer.body.lines().map(str::to_owned).collect();
        let last = lines.iter().rev().find_map(|line| line.strip_prefix("id: ").map(str::to_owned));
        last.expect("an id")
    };
    let begin = listen(&reader);
    assert_eq!((begin.status, begin.header("content-type")), (200, Some("text/event-stream")));
    assert!(begin.body.contains(r#"{"resync":{"cause":"start"}}"#), "{begin:?}");
    let last = format!("Last-Event-ID: {}", id(&begin));
    site.add_user("eve", "operator");
    site.daemon.zfs("create tank/c").done();
    let hear = |who: &str| {
        site.curl(&["-N", "--max-time", "2"], "/v1/events/stream", &[who, &last], None).is(200).body
    };
    let heard = hear(&reader);
    assert!(heard.contains("tank/c") && !heard.contains("/v1/users"), "{heard}");
    let heard = hear(&site.bearer());
    assert!(heard.contains("tank/c") && heard.contains("/v1/users"), "{heard}");
    site.get("/v1/events/stream", &[]).is(401);
}
