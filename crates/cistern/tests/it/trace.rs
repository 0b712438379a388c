//! `cistern trace`: clients that others wrote ask, and what is told of each request is what it was;
//! who does not listen costs a bound.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use load::{Blocks, Crowd, Initiator, Unit, Work};
use serde_json::Value;

use crate::daemon::{Daemon, PATIENCE, Scratch, say, timed};
use crate::iscsi::{LISTEN, portal};
use crate::libnfs::Client;
use crate::metrics::{number, served};

/// A trace by the command.
pub struct Trace {
    child: Child,
    from: BufReader<ChildStdout>,
}

impl Trace {
    /// It has begun when this returns.
    pub fn begin(daemon: &Daemon, words: &[&str]) -> Trace {
        let mut command = daemon.command(&["trace", "--json"]);
        let mut child = command.args(words).stdout(Stdio::piped()).spawn().expect("it starts");
        let from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut trace = Trace { child, from };
        let first = trace.next().expect("it begins");
        assert!(first["began"]["seconds"].as_u64().is_some(), "{first}");
        trace
    }

    fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        let len = self.from.read_line(&mut line).expect("it goes on");
        (len > 0).then(|| serde_json::from_str(&line).expect("JSON"))
    }

    /// All requests until it ends by itself, and why it did.
    pub fn rest(mut self) -> (Vec<Value>, Value) {
        let (mut requests, mut why) = (Vec::new(), Value::Null);
        while let Some(event) = self.next() {
            match (event.get("request"), event.get("ended")) {
                (Some(request), _) => requests.push(request.clone()),
                (_, Some(ended)) => why = ended["why"].clone(),
                _ => panic!("{event}"),
            }
        }
        assert!(self.child.wait().expect("it ends").success());
        (requests, why)
    }
}

/// Stages are the whole time of each.
fn add_up(requests: &[Value]) {
    for request in requests {
        let stages = request["stages"].as_object().expect("stages");
        assert_eq!(stages.values().map(number).sum::<u64>(), number(&request["took"]), "{request}");
        assert!(number(&request["took"]) > 0);
    }
}

fn stage(request: &Value, name: &str) -> u64 {
    number(&request["stages"][name])
}

fn first<'a>(requests: &'a [Value], operation: &str, part: &str, is: &str) -> &'a Value {
    let found = requests.iter().find(|one| one["operation"] == operation && one[part] == is);
    found.unwrap_or_else(|| panic!("no {operation} with {part} {is} in {requests:?}"))
}

#[test]
fn requests_of_nfs_are_told_with_names_and_stages_and_filters_take_what_they_say() {
    let scratch = Scratch::new("trace-nfs");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    for name in ["a", "b"] {
        let share = "-o sharenfs=rw,no_root_squash,insecure -o compression=off";
        daemon.zfs(&format!("create -o mountpoint=/srv/{name} {share} tank/{name}")).done();
    }
    let client = Client::mount(&daemon, "/srv/a").expect("mounted");
    let other = Client::mount(&daemon, "/srv/b").expect("mounted");
    client.mkdir("/dir", 0o755).expect("made");
    let data: Vec<u8> = (0..1u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();

    let all = Trace::begin(&daemon, &["-t", "4s"]);
    let reads = Trace::begin(&daemon, &["-t", "4s", "-o", "read", "-d", "tank/a", "-u", "0", "-b", "64K"]);
    let cold = Trace::begin(&daemon, &["-t", "4s", "-w", "disk", "-c", "127.0.0.1", "-p", "nfs"]);
    let none = Trace::begin(&daemon, &["-t", "4s", "-c", "192.0.2.1"]);
    let slow = Trace::begin(&daemon, &["-t", "4s", "-s", "1m"]);
    client.write_file("/dir/file", 0o644, &data).expect("written");
    let open = client.open("/dir/file", libc::O_RDWR).expect("opened");
    open.write(4096, &data[..8192]).expect("written");
    open.sync().expect("synced");
    assert_eq!(open.read(0, 64 << 10).expect("read").len(), 64 << 10);
    daemon.zpool("sync tank").done();
    daemon.ask("POST", "/v1/cache/drop", Some("null"));
    assert_eq!(open.read(256 << 10, 256 << 10).expect("read").len(), 256 << 10);
    assert_eq!(open.read(256 << 10, 256 << 10).expect("read").len(), 256 << 10);
    other.write_file("/else", 0o644, b"else").expect("written");
    // A name is what it is when it is shown, however the file was called when it was asked for.
    client.rename("/dir/file", "/dir/renamed").expect("renamed");

    let (requests, why) = all.rest();
    assert_eq!(why, "time");
    add_up(&requests);
    let written = first(&requests, "WRITE", "dataset", "tank/a");
    assert_eq!((&written["client"], &written["user"]), (&Value::from("127.0.0.1"), &Value::from("0")));
    let files: BTreeSet<&str> = requests
        .iter()
        .filter(|one| one["operation"] == "WRITE")
        .filter_map(|one| one["file"].as_str())
        .collect();
    assert!(
        files.contains("/else") && (files.contains("/dir/file") || files.contains("/dir/renamed")),
        "{files:?}"
    );
    let commit = first(&requests, "COMMIT", "dataset", "tank/a");
    assert!(stage(commit, "log") + stage(commit, "group") > 0, "a commit waits for stable storage: {commit}");
    let looked = first(&requests, "LOOKUP", "name", "dir");
    assert_eq!((&looked["file"], &looked["dataset"]), (&Value::from("/"), &Value::from("tank/a")));
    let renamed = first(&requests, "RENAME", "name", "file");
    assert!(stage(renamed, "engine") > 0 && renamed["file"] == "/dir", "{renamed}");
    let read_at = |from: u64| -> Vec<&Value> {
        let is_it = |one: &&Value| one["operation"] == "READ" && one["offset"].as_u64() >= Some(from);
        requests.iter().filter(is_it).collect()
    };
    let served: BTreeSet<&str> = read_at(256 << 10).iter().filter_map(|one| one["served"].as_str()).collect();
    assert_eq!(served, BTreeSet::from(["cache", "disk"]), "first from disk, then from the cache");
    let from_disk = read_at(256 << 10).into_iter().find(|one| one["served"] == "disk").expect("one").clone();
    assert!(stage(&from_disk, "disk") > 0 && number(&from_disk["blocks"]["disk"]) > 0, "{from_disk}");
    let early = requests.iter().find(|one| one["operation"] == "READ" && one["offset"] == 0).expect("one");
    assert!(number(&early["blocks"]["overlay"]) > 0, "it was on no disk yet: {early}");

    let (filtered, _) = reads.rest();
    let wanted = requests.iter().filter(|one| {
        one["operation"] == "READ" && one["dataset"] == "tank/a" && one["bytes"].as_u64() >= Some(64 << 10)
    });
    assert_eq!(filtered.len(), wanted.count());
    assert!(!filtered.is_empty());
    let (cold, _) = cold.rest();
    assert!(!cold.is_empty() && cold.iter().all(|one| one["served"] == "disk"));
    assert_eq!((none.rest().0.len(), slow.rest().0.len()), (0, 0));

    // Names come from the file system itself: the next daemon knows them, and follows a file by
    // what it is and not by how it is called.
    daemon.stop();
    daemon.begin();
    let client = Client::mount(&daemon, "/srv/a").expect("mounted");
    let open = client.open("/dir/renamed", libc::O_RDWR).expect("opened");
    let file = Trace::begin(&daemon, &["-n", "1", "-d", "tank/a", "-f", "/dir/renamed", "-o", "READ"]);
    client.rename("/dir/renamed", "/now").expect("renamed");
    open.read(0, 4096).expect("read");
    let (requests, why) = file.rest();
    assert_eq!((&requests[0]["file"], why), (&Value::from("/now"), Value::from("count")));

    let refused = daemon.run(&["trace", "-d", "tank/a", "-f", "/nothing"]);
    assert_eq!(refused.status, 1);
    assert!(refused.err.contains("there is no file '/nothing' in tank/a"), "{}", refused.err);
    daemon.stop();
}

#[test]
fn commands_of_iscsi_are_told_by_volume_and_initiator() {
    let scratch = Scratch::new("trace-iscsi");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let image = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    for name in ["v", "w"] {
        daemon.zfs(&format!("create -s -V 64M -o cistern:iscsi=on tank/{name}")).done();
    }
    let unit = |name: &str| {
        Unit::parse(&format!("iscsi://{}/iqn.2026-01.org.cistern:tank:{name}/0", portal(&daemon)))
            .expect("a unit")
    };
    let (v, w) = (unit("v"), unit("w"));
    let mut initiator = Initiator::log_in(&v).expect("a session");
    let mut second = Initiator::log_in(&w).expect("a session");
    let all = Trace::begin(&daemon, &["-t", "3s", "-p", "iscsi"]);
    let one = Trace::begin(&daemon, &["-t", "3s", "-d", "tank/v", "-o", "write"]);
    initiator.write(&v, 8192, &[7; 8192]).expect("written");
    initiator.flush(&v).expect("flushed");
    assert_eq!(initiator.read(&v, 8192, 8192).expect("read").len(), 8192);
    initiator.unmap(&v, 0, 8192).expect("unmapped");
    second.write(&w, 0, &[9; 4096]).expect("written");
    let (requests, _) = all.rest();
    add_up(&requests);
    let write = first(&requests, "WRITE", "dataset", "tank/v");
    assert_eq!((number(&write["offset"]), number(&write["bytes"])), (8192, 8192));
    assert!(write["client"].as_str().is_some_and(|name| name.starts_with("iqn.")), "{write}");
    let flush = first(&requests, "SYNCHRONIZE CACHE", "dataset", "tank/v");
    assert!(stage(flush, "log") + stage(flush, "group") > 0, "{flush}");
    let read = first(&requests, "READ", "dataset", "tank/v");
    assert!(number(&read["blocks"]["overlay"]) > 0 || read["served"] == "cache", "{read}");
    first(&requests, "UNMAP", "dataset", "tank/v");
    first(&requests, "WRITE", "dataset", "tank/w");
    let (requests, _) = one.rest();
    assert_eq!(requests.len(), 1);
    daemon.stop();
}

/// A trace by the socket, of which nothing is read until `rest`.
struct Silent(UnixStream);

impl Silent {
    /// The status where it is refused.
    fn begin(daemon: &Daemon, body: &str) -> Result<Silent, u16> {
        let mut stream = UnixStream::connect(daemon.socket()).expect("a listening daemon");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time");
        let length = body.len();
        let head = format!(
            "POST /v1/trace HTTP/1.0\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes()).expect("sent");
        // The head of the answer, and its first event: from then on it looks.
        let (mut begun, mut byte) = (Vec::new(), [0]);
        while !begun.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).expect("an answer");
            begun.extend(byte);
        }
        let head = String::from_utf8_lossy(&begun);
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        if status != 200 {
            return Err(status);
        }
        while !begun.ends_with(b"}}\n\n") {
            stream.read_exact(&mut byte).expect("it begins");
            begun.extend(byte);
        }
        Ok(Silent(stream))
    }

    /// Requests that it tells of, and that it says are missing.
    fn rest(mut self) -> (u64, u64) {
        let mut text = String::new();
        self.0.read_to_string(&mut text).expect("it ends");
        let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let events: Vec<Value> = events.map(|event| serde_json::from_str(event).expect("JSON")).collect();
        let told = events.iter().filter(|event| event.get("request").is_some()).count() as u64;
        let lost = events.iter().filter_map(|event| event["lost"]["requests"].as_u64()).sum();
        (told, lost)
    }
}

#[test]
fn who_does_not_listen_holds_a_bound_and_hears_how_many_he_missed() {
    let scratch = Scratch::new("trace-silent");
    let mut daemon = Daemon::start(&scratch);
    let share = served(&daemon, &scratch, 256);
    let blocks = Blocks { block: 4096, size: 16 << 20, is_random: true };
    let crowd = Crowd::new(8, Duration::from_secs(3)).over(2);
    let fill = Work::Write { blocks: Blocks { is_random: false, ..blocks }, is_sync: false };
    share.run(fill, &crowd).expect("filled");
    share.run(Work::Read { blocks }, &crowd).expect("read");
    let before = daemon.resident();
    let silent =
        Silent::begin(&daemon, r#"{"filter":{"operation":"read"},"seconds":30}"#).expect("it begins");
    let begun = Instant::now();
    let read =
        timed("reads while nobody listens", || share.run(Work::Read { blocks }, &crowd).expect("read"));
    // Ring, pieces under way, and what the system holds of them.
    let more = daemon.resident().saturating_sub(before);
    say(&format!("{} reads, {} KiB more", read.operations, more >> 10));
    assert!(more < 32 << 20, "{more} bytes more");
    let (told, lost) = silent.rest();
    assert!(begun.elapsed() < Duration::from_secs(60));
    assert!(lost > 0, "all {told} of {} were taken: nothing was tried", read.operations);
    assert!(
        (told + lost).abs_diff(read.operations) * 1000 <= read.operations * 5,
        "{told} and {lost} of {}",
        read.operations
    );

    // No more than so many at a time, and who has gone makes room.
    let body = r#"{"seconds":30}"#;
    let some: Vec<Silent> = (0..8).map(|_| Silent::begin(&daemon, body).expect("it begins")).collect();
    assert_eq!(Silent::begin(&daemon, body).err(), Some(503));
    drop(some);
    let begun = Instant::now();
    while Silent::begin(&daemon, body).is_err() {
        assert!(begun.elapsed() < PATIENCE, "nobody makes room");
        std::thread::sleep(Duration::from_millis(100));
    }
    daemon.stop();
}
