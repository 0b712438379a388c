//! One device of a pool is slow: requests of a virtual machine's disk that are slow lead to it and
//! to no other.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::drill_downs::{begin, found};
use crate::metrics::number;
use crate::suspended::zinject;
use crate::trace::Trace;

/// What a device that is slow takes for each I/O, in milliseconds.
const DELAY: u64 = 40;

fn qemu_io(url: &str, commands: &[&str]) {
    let mut words = vec!["-f", "raw", "-t", "none"];
    commands.iter().for_each(|command| words.extend(["-c", command]));
    words.push(url);
    Ran::of(program("qemu-io", 120).args(words)).done();
}

/// Commands of qemu-io, one for each of so many blocks of 64 KiB.
fn each(command: &str, blocks: u64) -> Vec<String> {
    (0..blocks).map(|block| format!("{command} {}k 64k", 64 * block)).collect()
}

fn run(url: &str, command: &str) {
    let commands = each(command, 8);
    qemu_io(url, &commands.iter().map(String::as_str).collect::<Vec<_>>());
}

/// Operations by the value of the first dimension.
fn by_value(found: &Value) -> BTreeMap<String, u64> {
    let keys = found["keys"].as_array().expect("keys").iter();
    let pair = |key: &Value| {
        (key["values"][0].as_str().expect("text").to_owned(), number(&key["sum"]["operations"]))
    };
    keys.map(pair).collect()
}

/// By device, of requests that took at least half of the delay.
fn slow(daemon: &Daemon, operation: &str) -> u64 {
    let filter = json!({"dataset": "tank/v", "operation": operation, "slower_us": DELAY * 1_000 / 2});
    begin(daemon, &json!({"by": ["device"], "filter": filter, "seconds": 600}))
}

#[test]
fn slow_requests_lead_to_the_log_or_disk_that_they_waited_for() {
    let scratch = Scratch::new("slow-devices");
    let mut daemon = Daemon::start(&scratch);
    let [a, b, log] = ["a", "b", "log"].map(|name| scratch.image(name, 256));
    daemon.zpool(&format!("create -m none tank mirror {a} {b} log {log}")).done();
    daemon.zfs("create -o primarycache=none -V 32M tank/v").done();
    let url = daemon.run(&["volume", "attach", "tank/v"]).done().trim().to_owned();
    // The log of a volume begins with its first commit, which waits for its group.
    run(&url, "write -f -P 1");
    daemon.zpool("sync tank").done();

    let (on_log, on_a, on_b) = (format!("tank:{log}"), format!("tank:{a}"), format!("tank:{b}"));
    // The log device. From the latency to what served it, and from there to the device: by filters
    // that each key gives.
    zinject(&daemon, &format!("-q -d {log} -D {DELAY}:1 tank")).done();
    let writes = slow(&daemon, "write");
    let by_latency = begin(&daemon, &json!({"by": ["latency"], "filter": {"operation": "write"}}));
    let trace = Trace::begin(&daemon, &["-D", &on_log, "-n", "4", "-t", "60s"]);
    run(&url, "write -f -P 2");
    let (requests, why) = trace.rest();
    assert_eq!(why, "count");
    assert!(
        requests.iter().all(|one| one["device"] == on_log.as_str() && one["served"] == "log"),
        "{requests:?}"
    );
    let slowest = by_value(&found(&daemon, writes));
    assert!(slowest.keys().eq([&on_log]) && slowest[&on_log] >= 8, "{slowest:?}");
    let latencies = found(&daemon, by_latency);
    let class = latencies["keys"]
        .as_array()
        .expect("keys")
        .iter()
        .find(|key| number(&key["sum"]["time"]) / number(&key["sum"]["operations"]) >= DELAY * 1_000_000);
    let mut filter = class.expect("a class of slow writes")["filter"].clone();
    for (dimension, value) in [("file", "tank/v"), ("served", "log"), ("device", &on_log)] {
        let id = begin(&daemon, &json!({"by": [dimension], "filter": filter}));
        run(&url, "write -f -P 3");
        let found = found(&daemon, id);
        let key = found["keys"].as_array().expect("keys").iter().find(|key| key["values"][0] == value);
        filter = key.unwrap_or_else(|| panic!("{value} is not in {found}"))["filter"].clone();
    }
    assert_eq!((&filter["device"], &filter["dataset"]), (&json!(on_log), &json!("tank/v")));

    // A side of the mirror, where there is no log device any more: writes and reads.
    zinject(&daemon, "-c all").done();
    daemon.zpool(&format!("remove tank {log}")).done();
    run(&url, "write -f -P 4");
    daemon.zpool("sync tank").done();
    zinject(&daemon, &format!("-q -d {a} -D {DELAY}:1 tank")).done();
    let (writes, reads) = (slow(&daemon, "write"), slow(&daemon, "read"));
    let all = begin(&daemon, &json!({"by": ["device"], "filter": {"operation": "read"}}));
    run(&url, "write -f -P 5");
    daemon.zpool("sync tank").done();
    (0..4).for_each(|_| run(&url, "read -P 5"));
    let slowest = by_value(&found(&daemon, writes));
    assert!(slowest.keys().eq([&on_a]) && slowest[&on_a] >= 8, "{slowest:?}");
    // A mirror is read where it is quicker, so there may be few that were slow.
    let slowest = by_value(&found(&daemon, reads));
    assert!(slowest.keys().all(|device| *device == on_a), "{slowest:?}");
    let read = by_value(&found(&daemon, all));
    assert!(read.contains_key(&on_a) || read.contains_key(&on_b), "{read:?}");
    zinject(&daemon, "-c all").done();

    // A name that is none.
    let refused = daemon.run(&["trace", "-D", "tank:none"]);
    assert!(
        refused.status == 1 && refused.err.contains("there is no leaf vdev 'tank:none'"),
        "{}",
        refused.err
    );
    daemon.stop();
}
