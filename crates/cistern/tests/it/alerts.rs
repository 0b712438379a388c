//! Alerts, from what is wrong to who is told: aiosmtpd, a webhook, rsyslog, NUT and smartctl are at
//! the other ends.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::daemon::{Daemon, PROGRAM, Scratch, free_port, program, text};
use crate::peers::pair;
use crate::policies::clock;
use crate::suspended::until;

/// Checks look each second.
pub const QUICK: [&str; 2] = ["--checks-every", "1s"];

/// A process that ends with the test.
pub struct Part(Child);

impl Drop for Part {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The other end of a route (tests/alerts/sink).
pub struct Sink {
    pub port: u16,
    file: String,
    _part: Part,
}

impl Sink {
    pub fn start(scratch: &Scratch, kind: &str, name: &str, more: &[&str]) -> Sink {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let python = root.join("target/tools/python/bin/python");
        assert!(python.exists(), "aiosmtpd is needed for this test: run scripts/setup test");
        let file = scratch.text(name);
        let mut command = Command::new(python);
        command.arg(root.join("tests/alerts/sink")).args([kind, &file]).args(more);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("python");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("a port");
        Sink { port: line.trim().parse().expect("a port"), file, _part: Part(child) }
    }

    /// What came.
    pub fn all(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    /// Waits for so many, and sees that no more come.
    #[track_caller]
    fn gets(&self, count: usize) -> Vec<Value> {
        until("messages come", || self.all().len() >= count);
        std::thread::sleep(Duration::from_secs(3));
        let all = self.all();
        assert_eq!(all.len(), count, "{all:#?}");
        all
    }
}

pub fn alert(daemon: &Daemon, words: &[&str]) -> Value {
    let words = [&["alert"], words, &["--json"]].concat();
    serde_json::from_str(&daemon.run(&words).done()).expect("JSON")
}

/// Kinds and subjects of what is open.
pub fn open(daemon: &Daemon) -> Vec<(String, String)> {
    let told = |alert: &Value| {
        let kind = alert["what"].as_object().and_then(|what| what.keys().next()).expect("a kind").clone();
        (kind, alert["subject"].as_str().expect("a subject").to_owned())
    };
    alert(daemon, &["list"]).as_array().expect("a list").iter().map(told).collect()
}

pub fn is_open(daemon: &Daemon, kind: &str) -> bool {
    open(daemon).iter().any(|(found, _)| found == kind)
}

pub fn check(daemon: &Daemon, name: &str) -> Value {
    let all = alert(daemon, &["checks"]);
    let found = all.as_array().expect("a list").iter().find(|check| check["name"] == name);
    found.cloned().unwrap_or(Value::Null)
}

pub fn notify(daemon: &Daemon, line: &str) {
    daemon.run(&[&["notify"], &line.split_whitespace().collect::<Vec<_>>()[..]].concat()).done();
}

/// Makes a dataset stale, and that at its worst: it gets no worse.
fn make_stale(daemon: &Daemon, dataset: &str) {
    std::thread::sleep(Duration::from_secs(5));
    daemon.zfs(&format!("set org.cistern:freshness=1s {dataset}")).done();
}

pub fn mail_route(daemon: &Daemon, sink: &Sink) {
    let to = "--from nas@example.org --to ops@example.org --to duty@example.org";
    notify(daemon, &format!("add mail mail --server 127.0.0.1:{} --tls none {to}", sink.port));
}

/// A disk fails, is told once by mail and webhook whatever kills the daemon, is replaced, and is
/// told once more.
#[test]
fn a_disk_that_fails_is_told_once_and_so_is_its_replacement() {
    let scratch = Scratch::new("alerts");
    let (mail, web) =
        (Sink::start(&scratch, "mail", "mail.json", &[]), Sink::start(&scratch, "http", "web.json", &[]));
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    let (a, b, c) = (scratch.image("a", 128), scratch.image("b", 128), scratch.image("c", 128));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    assert_eq!(daemon.run(&["alert", "list"]).done(), "nothing is wrong\n");
    mail_route(&daemon, &mail);
    notify(&daemon, &format!("add hook webhook --url http://127.0.0.1:{}/in?key=s3cr3t", web.port));
    assert_eq!(daemon.run(&["notify", "test", "mail"]).done(), "the other end has taken it\n");
    assert!(mail.gets(1)[0]["subject"].as_str().is_some_and(|it| it.ends_with("] test of route mail")));

    daemon.zpool(&format!("offline -f tank {b}")).done();
    let mails = mail.gets(2);
    let told = &mails[1];
    assert!(
        told["subject"].as_str().is_some_and(|it| it.contains(&format!("disk {b} of pool tank is FAULTED"))),
        "{told}"
    );
    assert_eq!(told["to"], json!(["ops@example.org", "duty@example.org"]));
    assert_eq!(told["auto"], "auto-generated");
    let hooks = web.gets(1);
    assert_eq!(
        (&hooks[0]["path"], &hooks[0]["body"]["severity"]),
        (&json!("/in?key=s3cr3t"), &json!("critical"))
    );
    assert_eq!(hooks[0]["key"], hooks[0]["body"]["id"]);
    assert_eq!(open(&daemon), [("disk-unhealthy".to_owned(), format!("tank {b}"))]);

    // Whoever starts again tells nothing twice, and knows who looks after it.
    daemon.run(&["alert", "ack", "1"]).done();
    daemon.kill();
    daemon.begin();
    until("it is looked again", || check(&daemon, "pools")["state"] == "good");
    let now = alert(&daemon, &["show", "1"]);
    assert_eq!((&now["acknowledged"]["by"], &now["cleared"]), (&json!("user number 0"), &Value::Null));

    daemon.zpool(&format!("replace tank {b} {c}")).done();
    let (mails, hooks) = (mail.gets(3), web.gets(2));
    assert!(mails[2]["subject"].as_str().is_some_and(|it| it.contains("over: ")), "{}", mails[2]);
    assert!(
        mails[2]["text"].as_str().is_some_and(|it| it.contains("the disk is no part of the pool any more"))
    );
    assert_eq!(hooks[1]["body"]["alert"]["cleared"]["cause"], "left-pool");
    assert_eq!(hooks[0]["body"]["key"], hooks[1]["body"]["key"]);
    assert!(open(&daemon).is_empty());
    assert_eq!(alert(&daemon, &["list", "--all"]).as_array().map(Vec::len), Some(1));

    // Another import makes a disk online: that it was repaired is not said.
    daemon.zpool(&format!("offline -f tank {c}")).done();
    until("it is open", || is_open(&daemon, "disk-unhealthy"));
    daemon.zpool(&format!("clear tank {c}")).done();
    until("it is over", || open(&daemon).is_empty());
    let last = alert(&daemon, &["list", "--all", "-n", "1"]);
    assert_eq!(last[0]["cleared"]["cause"], "online-again");
    daemon.stop();
}

/// Where nobody takes a message, or nobody says a word, others are told, data is served, and
/// nothing is lost over a kill.
#[test]
fn a_server_that_accepts_and_never_answers_holds_nobody_and_loses_nothing() {
    let scratch = Scratch::new("alerts-silent");
    let (silent, web) =
        (Sink::start(&scratch, "silent", "silent.json", &[]), Sink::start(&scratch, "http", "web.json", &[]));
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    let image = scratch.image("a", 256);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    mail_route(&daemon, &silent);
    notify(&daemon, &format!("add hook webhook --url http://127.0.0.1:{}/", web.port));
    daemon.zfs("create tank/home").done();
    make_stale(&daemon, "tank/home");
    let hooks = web.gets(1);
    assert_eq!(hooks[0]["body"]["alert"]["subject"], "tank/home");
    until("the mail is tried", || !silent.all().is_empty());
    let begun = Instant::now();
    daemon.zfs("create tank/other").done();
    assert!(begun.elapsed() < Duration::from_secs(5));
    let begun = Instant::now();
    let tested = daemon.run(&["notify", "test", "mail"]);
    assert!(tested.status == 1 && tested.err.contains("no answer within 20 s"), "{tested:?}");
    assert!(begun.elapsed() < Duration::from_secs(25));

    // The end of the program waits for it for some seconds, and no longer.
    daemon.kill();
    daemon.begin();
    let queued = |daemon: &Daemon| {
        let (_, routes) = daemon.ask("GET", "/v1/alert-routes", None);
        routes.as_array().expect("a list").iter().find(|it| it["route"]["name"] == "mail").expect("it")["queued"]
            .clone()
    };
    assert_eq!(queued(&daemon), 1, "it waits over a kill");
    // A server that answers is there in its place.
    let mail = Sink::start(&scratch, "mail", "mail.json", &[]);
    notify(&daemon, &format!("set mail --server 127.0.0.1:{}", mail.port));
    let mails = mail.gets(1);
    assert!(mails[0]["subject"].as_str().is_some_and(|it| it.contains("tank/home has no new snapshot")));
    until("nothing waits", || queued(&daemon) == 0);
    assert_eq!(web.all().len(), 1, "what was told is not told again");

    daemon.zfs("snapshot tank/home@now").done();
    daemon.zfs("set org.cistern:freshness=1d tank/home").done();
    assert_eq!(web.gets(2)[1]["body"]["alert"]["cleared"]["cause"], "within-limits");
    daemon.stop();
}

/// A route that is refused is tried again, and is an alert, which it is not told itself.
#[test]
fn a_route_that_fails_is_told_by_the_others_and_comes_back() {
    let scratch = Scratch::new("alerts-failing");
    let (bad, good) =
        (Sink::start(&scratch, "http", "bad.json", &[]), Sink::start(&scratch, "http", "good.json", &[]));
    fs::write(format!("{}.status", bad.file), "302").expect("written");
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    notify(&daemon, &format!("add bad webhook --url http://127.0.0.1:{}/x", bad.port));
    notify(&daemon, &format!("add good webhook --url http://127.0.0.1:{}/y", good.port));
    make_stale(&daemon, "tank");
    until("it is tried three times", || bad.all().len() >= 3);
    let told = good.gets(2);
    assert_eq!(told[1]["body"]["alert"]["what"]["route-failing"]["route"], "bad", "{told:#?}");
    let tried = bad.all();
    assert!(
        tried.iter().all(|it| it["path"] == "/x" && it["key"] == tried[0]["key"]),
        "no redirect is followed"
    );
    fs::remove_file(format!("{}.status", bad.file)).expect("removed");
    notify(&daemon, "set bad --enable");
    until("it arrives", || bad.all().last().is_some_and(|it| it["status"] == 200));
    until("the alert is over", || !is_open(&daemon, "route-failing"));
    daemon.stop();
}

/// A hundred at once are one message.
#[test]
fn many_at_once_are_one_message() {
    let scratch = Scratch::new("alerts-many");
    let (mail, web) =
        (Sink::start(&scratch, "mail", "mail.json", &[]), Sink::start(&scratch, "http", "web.json", &[]));
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 256))).done();
    mail_route(&daemon, &mail);
    notify(
        &daemon,
        &format!("add chat webhook --form mattermost --url http://127.0.0.1:{}/hooks/x", web.port),
    );
    let names: Vec<String> = (0..100).map(|n| format!("tank/fs{n}")).collect();
    let script: String =
        names.iter().map(|name| format!("{PROGRAM} zfs create {name} || exit 1\n")).collect();
    let mut shell = program("sh", 120);
    shell.args(["-c", &script]).env("CISTERN_SOCKET", daemon.socket());
    assert!(shell.status().expect("sh").success());
    make_stale(&daemon, "tank");
    until("all are open", || alert(&daemon, &["list", "-n", "1000"]).as_array().map(Vec::len) == Some(101));
    let mails = mail.gets(1);
    assert!(
        mails[0]["subject"].as_str().is_some_and(|it| it.contains("101 alerts, 0 worse, 0 over")),
        "{mails:#?}"
    );
    assert!(mails[0]["text"].as_str().is_some_and(|it| it.contains("… and 51 more.")));
    assert!(web.gets(1)[0]["body"]["attachments"][0]["text"].is_string());
    daemon.stop();
}

/// A thousand faults at once, and more, are one message of a bounded length; how many were left out
/// is told, a disk that fails among them is told as well, and clients do not notice.
#[test]
fn a_thousand_at_once_are_one_message_and_hide_nothing_critical() {
    let scratch = Scratch::in_memory("alerts-thousand");
    let (mail, web) =
        (Sink::start(&scratch, "mail", "mail.json", &[]), Sink::start(&scratch, "http", "web.json", &[]));
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    let (a, b) = (scratch.image("a", 512), scratch.image("b", 512));
    daemon.zpool(&format!("create -m none tank mirror {a} {b}")).done();
    mail_route(&daemon, &mail);
    let mut shell = program("sh", 300);
    shell.args(["-c", &format!("seq 1100 | xargs -P 4 -I N {PROGRAM} zfs create tank/N")]);
    assert!(shell.env("CISTERN_SOCKET", daemon.socket()).status().expect("sh").success());
    notify(&daemon, &format!("add hook webhook --url http://127.0.0.1:{}/", web.port));
    let before = daemon.resident();
    make_stale(&daemon, "tank");
    until("it is told", || !mail.all().is_empty() && !web.all().is_empty());
    until("how many are left out is told", || is_open(&daemon, "too-many-alerts"));
    let first = &mail.all()[0];
    let (subject, text) = (first["subject"].as_str().expect("one"), first["text"].as_str().expect("text"));
    assert!(
        subject.contains("1000 alerts, 0 worse") || subject.contains("1001 alerts, 0 worse"),
        "{subject}"
    );
    assert!(text.contains("… and 95") && text.len() < 8 << 10, "{text}");
    let listed = alert(&daemon, &["list", "-n", "2000"]);
    let listed = listed.as_array().expect("a list");
    let left_out = listed.iter().find_map(|it| it["what"]["too-many-alerts"]["left_out"].as_u64());
    assert_eq!((listed.len(), left_out), (1_001, Some(101)));
    assert!(mail.all().len() <= 2 && web.all().len() <= 2, "{:?}", mail.all());
    let begun = Instant::now();
    daemon.zfs("create tank/while").done();
    assert!(begun.elapsed() < Duration::from_secs(10));
    daemon.zpool(&format!("offline -f tank {b}")).done();
    until("the disk is told", || {
        web.all().iter().any(|it| it["body"]["title"].as_str().is_some_and(|it| it.contains("is FAULTED")))
    });
    assert!(daemon.resident() < before + (64 << 20), "{before} {}", daemon.resident());
    daemon.zfs("set org.cistern:freshness=off tank").done();
    // The check of datasets rests for a hundred times as long as it looks.
    let begun = Instant::now();
    while open(&daemon).len() > 1 {
        assert!(begun.elapsed() < Duration::from_secs(300), "they are not over");
        std::thread::sleep(Duration::from_secs(1));
    }
    until("that is told", || {
        mail.all()
            .iter()
            .any(|it| it["subject"].as_str().is_some_and(|it| it.contains(" 100") && it.contains(" over")))
    });
    assert!(mail.all().len() <= 6, "{:?}", mail.all().iter().map(|it| &it["subject"]).collect::<Vec<_>>());
    daemon.stop();
}

/// A program that does not end is an alert of its own, and all others look on.
#[test]
fn a_smartctl_that_hangs_is_told_and_stops_nobody() {
    let scratch = Scratch::new("alerts-smart");
    let image = scratch.image("a", 128);
    let disk = Loop::of(&image);
    let mut daemon = Daemon::start_with(&scratch, "state", &[&QUICK[..], &["--search", "/dev"]].concat());
    daemon.zpool(&format!("create -m none tank {}", disk.0)).done();
    // The real one knows nothing of such a device, which is no trouble.
    until("smartctl was asked", || {
        check(&daemon, "smart")["why"].as_str().is_some_and(|why| why.contains("Unable to detect"))
    });
    assert_eq!(check(&daemon, "smart")["state"], "off");
    daemon.stop();
    let folder = scratch.folder("bin");
    fs::write(folder.join("smartctl"), "#!/bin/sh\nexec sleep 600\n").expect("written");
    drop(Command::new("chmod").args(["+x", &text(&folder.join("smartctl"))]).status());
    let path = format!("{}:{}", text(&folder), std::env::var("PATH").unwrap_or_default());
    let extra = [&QUICK[..], &["--search", "/dev"]].concat();
    let mut daemon = Daemon::start_under(&scratch, "state", &extra, &[("PATH", path)]);
    until("it is told", || {
        let check = check(&daemon, "smart");
        check["state"] == "failed"
            && check["why"].as_str().is_some_and(|why| why.contains("did not end within 20 s"))
    });
    for name in ["pools", "datasets", "memory", "network"] {
        assert_eq!(check(&daemon, name)["state"], "good", "{name}");
    }
    daemon.stop();
}

/// A loop device, gone with the value.
struct Loop(String);

impl Loop {
    fn of(image: &str) -> Loop {
        let out = program("losetup", 20).args(["--find", "--show", image]).output().expect("losetup");
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        Loop(String::from_utf8_lossy(&out.stdout).trim().to_owned())
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        drop(Command::new("losetup").args(["-d", &self.0]).status());
    }
}

/// A clock that goes back an hour is told, and changes nothing else.
#[test]
fn a_clock_that_goes_back_is_told_and_nothing_else_happens() {
    let scratch = Scratch::new("alerts-clock");
    let set = |seconds: i64| fs::write(scratch.path("clock"), format!("{seconds:+}")).expect("written");
    set(0);
    let web = Sink::start(&scratch, "http", "web.json", &[]);
    let mut daemon = Daemon::start_under(&scratch, "state", &QUICK, &clock(&scratch));
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    daemon.zfs("snapshot tank@now").done();
    daemon.zfs("set org.cistern:freshness=30m tank").done();
    notify(&daemon, &format!("add hook webhook --url http://127.0.0.1:{}/", web.port));
    until("the clock was seen", || check(&daemon, "clock")["state"] == "good");
    set(-3_600);
    let told = web.gets(1);
    let jump = told[0]["body"]["alert"]["what"]["clock-jumped"]["seconds"].as_i64().expect("seconds");
    assert!((-3_700..-3_500).contains(&jump), "{told:#?}");
    assert_eq!(open(&daemon), [("clock-jumped".to_owned(), "clock".to_owned())]);
    daemon.stop();
}

/// A peer whose clock is wrong is told, with by how much, and over once it is right; one that is
/// not there is asked again and again, which is no failure of the check.
#[test]
fn a_peer_is_looked_at_too() {
    let scratch = Scratch::new("alerts-peer");
    let set = |seconds: i64| fs::write(scratch.path("clock"), format!("{seconds:+}")).expect("written");
    set(-3_600);
    let https = |port: u16| format!("127.0.0.1:{port}");
    let (there, here) = (free_port("127.0.0.1"), free_port("127.0.0.1"));
    let mut south = Daemon::start_under(&scratch, "south", &["--https", &https(there)], &clock(&scratch));
    let mut north = Daemon::start_with(&scratch, "north", &["--https", &https(here), QUICK[0], QUICK[1]]);
    until("it was looked", || check(&north, "peers")["state"] == "off");
    pair(&north, &south, "dozer/north");
    until("the clock is told", || is_open(&north, "peer-clock"));
    assert_eq!(open(&north), [("peer-clock".to_owned(), "peer south".to_owned())]);
    let ahead = alert(&north, &["list"])[0]["what"]["peer-clock"]["ahead"].as_i64().expect("seconds");
    assert!((-3_700..-3_500).contains(&ahead), "{ahead}");
    set(0);
    until("it is over", || open(&north).is_empty());
    south.stop();
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(check(&north, "peers")["state"], "good");
    assert!(open(&north).is_empty(), "who is away for two minutes is no alert yet");
    north.stop();
}

/// A UPS whose battery is nearly empty has the daemon export its pools and end.
#[test]
fn an_empty_battery_ends_the_daemon_in_order() {
    let scratch = Scratch::new("alerts-ups");
    let web = Sink::start(&scratch, "http", "web.json", &[]);
    let mut ups = Nut::start(&scratch);
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    notify(&daemon, &format!("add hook webhook --url http://127.0.0.1:{}/", web.port));
    daemon.run(&["alert", "settings", &format!("ups=nosuch@127.0.0.1:{}", ups.port)]).done();
    until("it is refused", || check(&daemon, "ups")["state"] == "failed");
    assert!(check(&daemon, "ups")["why"].as_str().is_some_and(|why| why.contains("UNKNOWN-UPS")));
    daemon.run(&["alert", "settings", &format!("ups=dummy@127.0.0.1:{}", ups.port)]).done();
    until("it is seen", || check(&daemon, "ups")["state"] == "good");
    ups.set("OB DISCHRG", 40);
    until("it is told", || is_open(&daemon, "ups-on-battery"));
    let battery = alert(&daemon, &["list"])[0]["what"]["ups-on-battery"]["charge"].clone();
    assert_eq!(battery, 40);
    ups.set("OB DISCHRG LB", 3);
    daemon.has_stopped();
    assert!(daemon.log().contains("all pools exported"), "{}", daemon.log());
    let told = web.all();
    let last = told.last().expect("a message");
    assert!(told.iter().any(|it| it["body"]["alert"]["what"]["ups-low"].is_object()), "{last}");
}

/// Network UPS Tools, with its driver that reads a file.
struct Nut {
    port: u16,
    folder: String,
    parts: Vec<Part>,
}

impl Nut {
    fn start(scratch: &Scratch) -> Nut {
        let folder = text(&scratch.folder("nut"));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("bound").port();
        drop(listener);
        let write = |name: &str, text: String| fs::write(format!("{folder}/{name}"), text).expect("written");
        write(
            "ups.conf",
            format!(
                "maxretry = 1\n[dummy]\n  driver = dummy-ups\n  port = {folder}/dummy.dev\n  mode = dummy-loop\n"
            ),
        );
        write("upsd.conf", format!("LISTEN 127.0.0.1 {port}\nSTATEPATH {folder}\n"));
        write("upsd.users", String::new());
        let mut nut = Nut { port, folder, parts: Vec::new() };
        nut.set("OL", 100);
        drop(Command::new("chmod").args(["-R", "go-rwx", &nut.folder]).status());
        let begin = |program: &str, args: &[&str], folder: &str| {
            let log =
                fs::File::options().create(true).append(true).open(format!("{folder}/log")).expect("a log");
            let mut command = Command::new(program);
            command.args(args).env("NUT_CONFPATH", folder).env("NUT_STATEPATH", folder);
            command.env("NUT_ALTPIDPATH", folder).env("NUT_PIDPATH", folder);
            command.stdin(Stdio::null()).stdout(log.try_clone().expect("a log")).stderr(log);
            Part(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")))
        };
        let folder = nut.folder.clone();
        nut.parts.push(begin("/lib/nut/dummy-ups", &["-a", "dummy", "-u", "root", "-F"], &folder));
        nut.parts.push(begin("/lib/nut/upsd", &["-u", "root", "-F"], &folder));
        until("NUT answers", || {
            let mut ask = program("upsc", 10);
            ask.arg(format!("dummy@127.0.0.1:{port}"));
            ask.output().is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("ups.status"))
        });
        nut
    }

    fn set(&mut self, status: &str, charge: u32) {
        let text = format!("ups.status: {status}\nbattery.charge: {charge}\nbattery.runtime: 600\nTIMER 1\n");
        let file = format!("{}/dummy.dev", self.folder);
        fs::write(format!("{file}.new"), text)
            .and_then(|()| fs::rename(format!("{file}.new"), file))
            .expect("written");
    }
}

/// Lines of syslog are what rsyslog takes them for.
#[test]
fn rsyslog_understands_what_it_is_sent() {
    let scratch = Scratch::new("alerts-syslog");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    drop(listener);
    let (config, file) = (scratch.text("rsyslog.conf"), scratch.text("lines"));
    let template = "%app-name%|%hostname%|%syslogseverity-text%|%structured-data%|%msg%\\n";
    fs::write(
        &config,
        format!(
            "module(load=\"imudp\")\nmodule(load=\"imtcp\")\ninput(type=\"imudp\" address=\"127.0.0.1\" port=\"{port}\")\n\
             input(type=\"imtcp\" address=\"127.0.0.1\" port=\"{port}\")\n\
             template(name=\"t\" type=\"string\" string=\"{template}\")\naction(type=\"omfile\" file=\"{file}\" template=\"t\")\n"
        ),
    )
    .expect("written");
    let mut command = Command::new("rsyslogd");
    command.args(["-n", "-f", &config, "-i", &scratch.text("rsyslog.pid")]).stdin(Stdio::null());
    let _rsyslog = Part(command.stderr(Stdio::null()).spawn().expect("rsyslogd"));
    until("rsyslog listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    notify(&daemon, &format!("add udp syslog --to udp:127.0.0.1:{port}"));
    notify(&daemon, &format!("add tcp syslog --to tcp:127.0.0.1:{port}"));
    make_stale(&daemon, "tank");
    let lines =
        || fs::read_to_string(&file).unwrap_or_default().lines().map(str::to_owned).collect::<Vec<_>>();
    until("both have come", || lines().len() >= 2);
    for line in lines() {
        assert!(line.starts_with("cistern|") && line.contains("|err|[alert@32473 id=\"alert-1-"), "{line}");
        assert!(
            line.contains("subject=\"tank\"]| tank has no new snapshot:")
                || line.contains("subject=\"tank\"]|tank has no new snapshot:"),
            "{line}"
        );
    }
    daemon.stop();
}

/// Mail over STARTTLS with a login, and neither secret is told by anybody.
#[test]
fn mail_goes_over_tls_with_a_login_and_no_secret_comes_back() {
    let scratch = Scratch::new("alerts-tls");
    let folder = text(&scratch.folder("tls"));
    let line = format!(
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj /CN=localhost \
         -addext basicConstraints=critical,CA:FALSE -addext subjectAltName=DNS:localhost -keyout {folder}/key.pem -out {folder}/cert.pem"
    );
    let made = program("openssl", 60).args(line.split_whitespace()).output().expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (cert, key) = (format!("{folder}/cert.pem"), format!("{folder}/key.pem"));
    let mail = Sink::start(&scratch, "mail", "mail.json", &[&cert, &key]);
    let mut daemon = Daemon::start_with(&scratch, "state", &QUICK);
    let add = |name: &str, more: &str, secret: &str| {
        let line = format!(
            "notify add {name} mail --server localhost:{} --from nas@example.org --to ops@example.org --user nas \
             --secret-stdin {more}",
            mail.port
        );
        let mut shell = program("sh", 60);
        let script = format!("echo {secret} | {PROGRAM} {line}");
        shell.args(["-c", &script]).env("CISTERN_SOCKET", daemon.socket());
        assert!(shell.status().expect("sh").success());
    };
    let roots = format!("--ca-file {cert}");
    add("good", &roots, "right");
    add("wrong", &roots, "wr0ng");
    add("stranger", "", "right");
    assert_eq!(daemon.run(&["notify", "test", "good"]).done(), "the other end has taken it\n");
    let sent = &mail.gets(1)[0];
    assert_eq!((&sent["tls"], &sent["login"]), (&json!(true), &json!(["nas", "right"])));
    let wrong = daemon.run(&["notify", "test", "wrong"]);
    assert!(wrong.status == 1 && wrong.err.contains("it was refused"), "{wrong:?}");
    let stranger = daemon.run(&["notify", "test", "stranger"]);
    assert!(stranger.status == 1 && stranger.err.contains("cannot be reached"), "{stranger:?}");
    notify(&daemon, "add hook webhook --url http://127.0.0.1:9/T0P/s3cr3t --form json");
    for path in ["/v1/alert-routes", "/v1/alert-routes/good", "/v1/alert-routes/hook"] {
        let (status, told) = daemon.ask("GET", path, None);
        let told = told.to_string();
        assert!(
            status == 200 && !told.contains("right") && !told.contains("wr0ng") && !told.contains("s3cr3t"),
            "{told}"
        );
    }
    // What is set again as it was told keeps what it has.
    notify(&daemon, "set hook --form slack");
    let (_, told) = daemon.ask("GET", "/v1/alert-routes/hook", None);
    assert_eq!(told["target"]["webhook"]["url"], "http://127.0.0.1:9/…");
    daemon.stop();
}

/// Who changes what another has changed meanwhile is told so, and nonsense is refused.
#[test]
fn routes_and_settings_are_changed_as_they_were_read_or_not_at_all() {
    let scratch = Scratch::new("alerts-routes");
    let mut daemon = Daemon::start(&scratch);
    notify(&daemon, "add log syslog");
    let refused = |body: &str| {
        let (status, why) = daemon.ask("POST", "/v1/alert-routes", Some(body));
        assert_eq!(status, 422, "{body}: {why}");
    };
    refused(r#"{"name": "a b", "target": {"syslog": "local"}}"#);
    refused(r#"{"name": "", "target": {"syslog": "local"}}"#);
    refused(r#"{"name": "x", "target": {"syslog": {"udp": "nowhere"}}}"#);
    refused(r#"{"name": "x", "target": {"webhook": {"url": "ftp://x/"}}}"#);
    refused(r#"{"name": "x", "target": {"webhook": {"url": "http://x/", "form": "pagerduty"}}}"#);
    refused(
        r#"{"name": "x", "target": {"webhook": {"url": "http://x/", "form": "template", "template": "{text}"}}}"#,
    );
    refused(r#"{"name": "x", "target": {"mail": {"server": "x", "from": "a@b.example", "to": []}}}"#);
    refused(
        r#"{"name": "x", "target": {"mail": {"server": "x y", "from": "a@b.example", "to": ["c@d.example"]}}}"#,
    );
    let (status, _) =
        daemon.ask("POST", "/v1/alert-routes", Some(r#"{"name": "log", "target": {"syslog": "local"}}"#));
    assert_eq!(status, 409);
    let (status, _) = daemon.ask("GET", "/v1/alert-routes/none", None);
    assert_eq!(status, 404);
    let tag = |path: &str| {
        let mut curl = program("curl", 20);
        curl.args(["-sS", "-D", "-", "-o", "/dev/null", "--unix-socket", &text(&daemon.socket())]);
        let out = curl.arg(format!("http://cistern{path}")).output().expect("curl");
        let head = String::from_utf8_lossy(&out.stdout).into_owned();
        let line = head.lines().find(|line| line.to_ascii_lowercase().starts_with("etag: ")).expect("a tag");
        line[6..].trim().to_owned()
    };
    let change = |path: &str, tag: &str, body: &str| {
        let mut curl = program("curl", 20);
        curl.args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket", &text(&daemon.socket())]);
        curl.args(["-H", &format!("If-Match: {tag}"), "--data-binary", body]);
        let out = curl.arg(format!("http://cistern{path}")).output().expect("curl");
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    for (read, path, body) in [
        ("/v1/alert-routes/log", "/v1/alert-routes/log/change", r#"{"least": "error"}"#),
        ("/v1/alert-settings", "/v1/alert-settings", r#"{"full_warning": 70}"#),
    ] {
        let before = tag(read);
        assert_eq!(change(path, &before, body), "200");
        assert_eq!(change(path, &before, body), "412", "{path}");
    }
    for bad in [r#"{"full_warning": 99}"#, r#"{"ups": "nowhere"}"#, r#"{"hot_disk": 500}"#] {
        assert_eq!(daemon.ask("POST", "/v1/alert-settings", Some(bad)).0, 422, "{bad}");
    }
    notify(&daemon, "remove log");
    assert_eq!(daemon.run(&["notify", "list"]).done(), "alerts are told to nobody (cistern notify add)\n");
    daemon.stop();
}

/// What a service is told to allow is looked at, for as long as it is enabled.
#[test]
fn a_dataset_without_the_snapshots_that_its_service_promises_is_told() {
    let scratch = Scratch::new("alerts-service");
    let daemon = Daemon::start_with(&scratch, "state", &QUICK);
    daemon.zpool(&format!("create -m none tank {}", scratch.image("a", 128))).done();
    daemon.zfs("create tank/home").done();
    let create = "svc create auto-snap home --target tank/home --level yearly=1 --stale-after 1s";
    daemon.run(&create.split(' ').collect::<Vec<_>>()).done();
    let snapshots = || daemon.zfs("list -H -o name -t snapshot -r tank").done();
    until("the first snapshot", || !snapshots().is_empty());
    std::thread::sleep(Duration::from_secs(3));
    assert!(!is_open(&daemon, "stale"), "nothing has changed since");
    daemon.zfs(&format!("destroy {}", snapshots().trim())).done();
    until("it is told", || is_open(&daemon, "stale"));
    let shown = daemon.run(&["alert", "list"]).done();
    let id = shown.lines().find(|line| line.contains("tank/home")).and_then(|line| line.split(' ').next());
    let shown = daemon.run(&["alert", "show", id.expect("a number")]).done();
    assert!(shown.contains("tank/home has no snapshot. Service home allows 1 s without one."), "{shown}");
    daemon.run(&["svc", "disable", "home"]).done();
    until("it is over", || !is_open(&daemon, "stale"));
}
