//! What the daemon counts, beside what those who caused it count themselves: loads over NFS, iSCSI,
//! NBD and a local mount, by programs that others wrote where there are any; and the endpoint,
//! judged by promtool and scraped by Prometheus.

use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use load::{Blocks, Crowd, Share, Work};
use serde_json::Value;

use crate::daemon::{Daemon, PATIENCE, Ran, Scratch, free_port, program, text, timed};
use crate::https::Site;
use crate::iscsi::{LISTEN, portal};

/// How far apart two counts of the same may be.
const PERMILLE: u64 = 20;

#[track_caller]
fn agree(what: &str, ours: u64, theirs: u64) {
    assert!(theirs > 0 && ours.abs_diff(theirs) * 1000 <= theirs * PERMILLE, "{what}: {ours}, not {theirs}");
}

pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// A share with room for loads: `/srv/a` of a new pool of so many MiB.
pub fn served(daemon: &Daemon, scratch: &Scratch, mib: u64) -> Share {
    let image = scratch.image("a", mib);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    daemon.zfs("create -o mountpoint=/srv/a -o sharenfs=rw,no_root_squash,insecure tank/a").done();
    let server: SocketAddr = format!("{}:{}", daemon.host, daemon.port).parse().expect("an address");
    Share::new(server, "/srv/a")
}

/// All statistics, as a command gives them.
fn counts(daemon: &Daemon) -> Value {
    let out = daemon.run(&["fsstat", "-j"]).done();
    serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"))
}

/// An entry of a list of such.
fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let found = list["each"].as_array().and_then(|each| each.iter().find(|one| one["name"] == name));
    found.unwrap_or_else(|| panic!("{name} is not in {list}"))
}

/// A row of a command's output for programs, by its first or last field.
fn row(out: &str, name: &str) -> Vec<String> {
    let rows = out.lines().map(|line| line.split('\t').map(str::to_owned).collect::<Vec<_>>());
    let is_it = |row: &Vec<String>| row.iter().any(|field| field == name);
    rows.into_iter().find(is_it).unwrap_or_else(|| panic!("{name} is not in\n{out}"))
}

fn field(row: &[String], at: usize) -> u64 {
    row[at].parse().unwrap_or_else(|error| panic!("{error}: {row:?}"))
}

#[test]
fn what_nfs_clients_count_is_what_nfsstat_and_fsstat_tell() {
    let scratch = Scratch::new("metrics-nfs");
    let mut daemon = Daemon::start(&scratch);
    let share = served(&daemon, &scratch, 512);
    let blocks = Blocks { block: 4096, size: 16 << 20, is_random: true };
    let crowd = Crowd::new(8, Duration::from_secs(3)).over(2);
    share
        .run(Work::Write { blocks: Blocks { is_random: false, ..blocks }, is_sync: false }, &crowd)
        .expect("filled");

    let before = counts(&daemon);
    // A look that begins before the load and ends after it.
    let mut top = daemon.command(&["top", "-j", "-i", "12", "-n", "1"]);
    let top = top.stdout(Stdio::piped()).spawn().expect("it starts");
    std::thread::sleep(Duration::from_millis(500));
    let write = share.run(Work::Write { blocks, is_sync: true }, &crowd).expect("written");
    let read = share.run(Work::Read { blocks }, &crowd).expect("read");
    let after = counts(&daemon);
    let since = |pointer: &str| {
        let at = |counts: &Value| counts.pointer(pointer).map_or(0, number);
        at(&after) - at(&before)
    };
    let (client, files) = ("/nfs/clients/each/0", "/file_systems/each/0");
    agree("writes by client", since(&format!("{client}/calls/write")), write.operations);
    agree("reads by client", since(&format!("{client}/calls/read")), read.operations);
    agree("bytes written", since(&format!("{client}/write_bytes")), write.bytes);
    agree("bytes read", since(&format!("{client}/read_bytes")), read.bytes);
    agree("writes of the file system", since(&format!("{files}/writes")), write.operations);
    agree("reads of the file system", since(&format!("{files}/reads")), read.operations);
    agree("bytes read of the file system", since(&format!("{files}/read_bytes")), read.bytes);

    let out = top.wait_with_output().expect("it ends");
    let seen: Value = serde_json::from_slice(&out.stdout).expect("JSON");
    let seen = named(&seen["nfs"]["clients"], "127.0.0.1");
    agree("writes that top saw", number(&seen["calls"]["write"]), write.operations);
    agree("reads that top saw", number(&seen["calls"]["read"]), read.operations);

    // By programs that others wrote.
    let data: Vec<u8> = (0..8u32 << 20).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    fs::write(scratch.path("data"), &data).expect("written");
    let url = format!(
        "nfs://{}/srv/a/copy?version=3&nfsport={}&mountport={}&uid=0&gid=0",
        daemon.host, daemon.port, daemon.port
    );
    let before = daemon.run(&["nfsstat", "-H", "-p", "-l"]).done();
    Ran::of(program("nfs-cp", 60).arg(scratch.path("data")).arg(&url)).done();
    let copied = Ran::of(program("nfs-cat", 60).arg(&url).stdout(Stdio::piped())).status;
    assert_eq!(copied, 0);
    let after = daemon.run(&["nfsstat", "-H", "-p", "-l"]).done();
    let [before, after] = [before, after].map(|out| row(&out, "127.0.0.1"));
    agree("bytes that nfs-cp wrote", field(&after, 5) - field(&before, 5), data.len() as u64);
    agree("bytes that nfs-cat read", field(&after, 3) - field(&before, 3), data.len() as u64);

    // For people.
    let shown = daemon.run(&["nfsstat"]).done();
    assert!(shown.contains("Server nfs:") && shown.contains("readdirplus"), "{shown}");
    let shown = daemon.run(&["fsstat", "/srv/a"]).done();
    assert!(shown.contains("remov") && shown.trim_end().ends_with(" tank/a"), "{shown}");
    daemon.stop();
}

#[test]
fn what_initiators_count_is_what_iscsistat_tells() {
    let scratch = Scratch::new("metrics-iscsi");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let image = scratch.image("a", 512);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    daemon.zfs("create -V 64M tank/v").done();
    daemon.zfs("set shareiscsi=on tank/v").done();
    let url = format!("iscsi://{}/iqn.2026-01.org.cistern:tank:v/0", portal(&daemon));
    let bench = |more: &[&str], url: &str| {
        let words = ["bench", "-f", "raw", "-c", "4000", "-s", "8192", "-d", "8", "-S", "8192"];
        let words = [&words[..], more, &[url]].concat();
        Ran::of(program("qemu-img", 120).args(words)).done()
    };
    timed("qemu-img bench over iSCSI", || {
        bench(&["-w"], &url);
        bench(&[], &url);
    });
    let out = daemon.run(&["iscsistat", "-H", "-p"]).done();
    // qemu has a name of its own for each virtual machine.
    let row = row(&out, out.split('\t').next().unwrap_or_default());
    agree("reads", field(&row, 1), 4000);
    agree("bytes read", field(&row, 2), 4000 * 8192);
    agree("writes", field(&row, 4), 4000);
    agree("bytes written", field(&row, 5), 4000 * 8192);
    let before = daemon.run(&["iscsistat", "-v", "-H", "-p"]).done();
    let before = self::row(&before, "tank/v");
    agree("reads of the volume", field(&before, 1), 4000);
    agree("bytes written to the volume", field(&before, 5), 4000 * 8192);

    // The same volume as a network block device.
    let nbd = format!("nbd+unix:///tank/v?socket={}", text(&daemon.state.join("nbd.sock")));
    bench(&["-w"], &nbd);
    let after = daemon.run(&["iscsistat", "-v", "-H", "-p"]).done();
    let after = self::row(&after, "tank/v");
    agree("writes by nbd", field(&after, 4) - field(&before, 4), 4000);
    let nbd = counts(&daemon)["nbd"].clone();
    agree("requests of nbd", number(&nbd["requests"]["write"]), 4000);
    agree("bytes of nbd", number(&nbd["write_bytes"]), 4000 * 8192);

    // Who has gone is still counted; sessions are not.
    assert_eq!(daemon.run(&["iscsi", "sessions", "-H"]).done(), "");
    let shown = daemon.run(&["top", "--once", "-v", "disks"]).done();
    assert!(shown.contains("DISK") && shown.contains("tank"), "{shown}");
    daemon.stop();
}

#[test]
fn what_fio_counts_on_a_local_mount_is_what_fsstat_tells() {
    let scratch = Scratch::new("metrics-local");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", 512);
    let at = scratch.path("mnt");
    daemon.zpool(&format!("create -m {} tank {image}", text(&at))).done();
    daemon.zfs("mount -a").done();
    let name = text(&at);
    let look = |daemon: &Daemon| row(&daemon.run(&["fsstat", "-H", "-p", &name]).done(), "tank");
    // Past the page cache, so that the kernel answers nothing by itself.
    let fio = |options: &str| {
        let options = format!(
            "--name=job --filename={name}/file --size=32m --bs=16k --ioengine=psync --direct=1 \
             --fallocate=none --output-format=json {options}"
        );
        let out = Ran::of(program("fio", 120).args(options.split_whitespace())).done();
        let out: Value = serde_json::from_str(&out).unwrap_or_else(|error| panic!("{error}: {out}"));
        let job = &out["jobs"][0];
        let of = |how: &str| (number(&job[how]["total_ios"]), number(&job[how]["io_bytes"]));
        (of("read"), of("write"))
    };
    let before = look(&daemon);
    let (_, (writes, written)) = fio("--rw=write");
    let middle = look(&daemon);
    let ((reads, read), _) = fio("--rw=randread");
    let after = look(&daemon);
    agree("writes", field(&middle, 9) - field(&before, 9), writes);
    agree("bytes written", field(&middle, 10) - field(&before, 10), written);
    agree("reads", field(&after, 7) - field(&middle, 7), reads);
    agree("bytes read", field(&after, 8) - field(&middle, 8), read);
    let fuse = counts(&daemon)["fuse"].clone();
    assert_eq!(number(&fuse["mounts"]), 1);
    assert!(
        number(&fuse["requests"]["write"]) >= writes && number(&fuse["requests"]["lookup"]) > 0,
        "{fuse}"
    );
    for n in 0..20 {
        fs::write(at.join(format!("new{n}")), "").expect("made");
    }
    (0..5).for_each(|n| fs::remove_file(at.join(format!("new{n}"))).expect("removed"));
    let made = look(&daemon);
    assert_eq!((field(&made, 0) - field(&after, 0), field(&made, 1) - field(&after, 1)), (20, 5));
    // A new program counts anew.
    daemon.stop();
    daemon.begin();
    let anew = look(&daemon);
    assert!(field(&anew, 9) < field(&made, 9) && field(&anew, 0) == 0, "{anew:?}");
    daemon.stop();
}

/// Ends with its value.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// What Prometheus knows of an expression, as it is now.
fn query(port: u16, expression: &str) -> Vec<f64> {
    let mut curl = program("curl", 20);
    curl.args(["-sS", "-G", "--data-urlencode", &format!("query={expression}")]);
    let out = Ran::of(curl.arg(format!("http://127.0.0.1:{port}/api/v1/query")));
    let answer: Value = serde_json::from_str(&out.out).unwrap_or(Value::Null);
    let results = answer["data"]["result"].as_array().cloned().unwrap_or_default();
    results.iter().filter_map(|one| one["value"][1].as_str()?.parse().ok()).collect()
}

#[track_caller]
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}");
        std::thread::sleep(Duration::from_millis(250));
    }
}

#[test]
fn promtool_finds_nothing_and_prometheus_scrapes_through_restarts() {
    let scratch = Scratch::new("metrics-prometheus");
    let https = format!("127.0.0.1:{}", free_port("127.0.0.1"));
    let mut site = Site::start_with(&scratch, &["--https", &https]);
    site.pool(&scratch);
    site.daemon.zfs("set sharenfs=rw,no_root_squash,insecure mountpoint=/srv/a tank/a").done();
    site.daemon.zfs("create -V 16M tank/v").done();
    let token = site.user("prometheus", "read-only", None);

    let metrics = site.get("/metrics", &[&token]).is(200);
    assert_eq!(metrics.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    fs::write(scratch.path("metrics"), &metrics.body).expect("written");
    let file = fs::File::open(scratch.path("metrics")).expect("it is there");
    let judged = Ran::of(Command::new("promtool").args(["check", "metrics"]).stdin(file));
    assert_eq!((judged.status, judged.err.as_str(), judged.out.as_str()), (0, "", ""), "{}", metrics.body);
    for name in [
        "cistern_pool_health{pool=\"tank\",health=\"online\"} 1",
        "cistern_dataset_used_bytes{dataset=\"tank/a\"}",
    ] {
        assert!(metrics.body.contains(name), "{name} is missing in\n{}", metrics.body);
    }
    site.get("/metrics", &[]).is(401);

    let config = format!(
        "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n  - job_name: cistern\n    scheme: https\n    \
         authorization:\n      credentials: {}\n    tls_config:\n      ca_file: {}\n    static_configs:\n      \
         - targets: [\"{https}\"]\n",
        token.rsplit(' ').next().unwrap_or_default(),
        text(&site.daemon.state.join("tls/cert.pem"))
    );
    fs::write(scratch.path("prometheus.yml"), config).expect("written");
    let config = text(&scratch.path("prometheus.yml"));
    Ran::of(Command::new("promtool").args(["check", "config", &config])).done();
    let port = free_port("127.0.0.1");
    let log = fs::File::create(scratch.path("prometheus.log")).expect("a log");
    let prometheus = Command::new("prometheus")
        .args(["--config.file", &config, "--storage.tsdb.path", &text(&scratch.folder("tsdb"))])
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn();
    let _running = Running(prometheus.expect("prometheus is needed for this test"));

    let load = |daemon: &Daemon| {
        let server: SocketAddr = format!("{}:{}", daemon.host, daemon.port).parse().expect("an address");
        let blocks = Blocks { block: 4096, size: 4 << 20, is_random: false };
        let crowd = Crowd::new(4, Duration::from_secs(3));
        let work = Work::Write { blocks, is_sync: true };
        Share::new(server, "/srv/a").run(work, &crowd).expect("written").operations as f64
    };
    let written = "sum(cistern_nfs_requests_total{procedure=\"write\"})";
    wait_for("Prometheus scrapes", || query(port, "up") == [1.0]);
    let first = load(&site.daemon);
    wait_for("it sees the load", || query(port, written) == [first]);
    for kill in [false, true] {
        site.restart(kill);
        wait_for("it scrapes again", || query(port, written) == [0.0]);
        let more = load(&site.daemon);
        wait_for("it sees the next load", || query(port, written) == [more]);
    }
    // It knows that counts began anew: no rate is negative.
    assert!(query(port, "resets(cistern_nfs_requests_total{procedure=\"write\"}[10m])") == [2.0]);
    let negative = "count(increase({__name__=~\"cistern_.*_total\"}[10m]) < 0)";
    assert_eq!(query(port, negative), Vec::<f64>::new());
    assert_eq!(query(port, "changes(cistern_start_time_seconds[10m])"), [2.0]);
    assert!(query(port, "scrape_samples_scraped")[0] > 200.0);
}
