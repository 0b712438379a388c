//! A month in the life of an appliance, in minutes: clients write by NFS and iSCSI, snapshots of
//! five levels come and go, scrubs run, a disk weakens, is faulted, told of once and replaced, and
//! a report comes each week.
//!
//! Time is accelerated by `cistern serve --trial`: the calendar of the services leaps to when the
//! next of them has something to do, whenever all are at rest. A library that makes all clocks of a
//! process run faster (libfaketime) would not do: to go through a month in minutes it makes a
//! millisecond of a disk ten seconds, so each I/O looks slow, each run of a service like one that
//! hangs, and each deadline is missed. Here disks, clients, checks and mail have the time that they
//! take; what is left out is the time in which nothing would have happened. So a month is the same
//! on a slow machine, and takes longer.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use load::{Initiator, Unit};
use serde_json::{Value, json};
use stdx::prng::Prng;

use crate::alerts::{Sink, alert, mail_route, notify};
use crate::daemon::{Daemon, Scratch, say};
use crate::iscsi::{LISTEN, portal};
use crate::libnfs::Client;
use crate::reports::report_in_days;
use crate::suspended::{until, zinject};
use crate::zdb::assert_clean;

const DAY: i64 = 86_400;
/// Levels of snapshots, and how many of each are kept.
const LEVELS: [(&str, usize); 5] =
    [("often:30m", 8), ("hourly", 12), ("daily", 14), ("weekly", 3), ("monthly", 1)];
/// Files that are written again and again, and blocks of the volume.
const FILES: u64 = 24;
const BLOCKS: u64 = 64;
const BLOCK: usize = 64 << 10;
/// Real time that a day may take on a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

type Files = BTreeMap<String, Vec<u8>>;
type Blocks = BTreeMap<u64, Vec<u8>>;

/// What the clients have written, and read again.
struct Life {
    daemon: Daemon,
    nfs: Client,
    iscsi: Initiator,
    unit: Unit,
    random: Prng,
    files: Files,
    blocks: Blocks,
    began: i64,
}

impl Life {
    fn json(&self, words: &[&str]) -> Value {
        serde_json::from_str(&self.daemon.run(&[words, &["--json"]].concat()).done()).expect("JSON")
    }

    /// What time it is by the calendar.
    fn now(&self) -> i64 {
        let (_, clock) = self.daemon.ask("GET", "/v1/service-clock", None);
        assert_eq!(clock["dispute"], Value::Null, "the calendar is believed");
        clock["believed"].as_i64().expect("a time")
    }

    /// Some data, of which half is noise.
    fn data(&mut self, len: usize) -> Vec<u8> {
        let mut data = vec![b'.'; len];
        self.random.fill(&mut data[..len / 2]);
        data
    }

    /// Clients write a file and a block.
    fn write(&mut self) {
        let (file, block) = (self.random.below(FILES), self.random.below(BLOCKS));
        let (name, len) = (format!("file {file}"), self.random.below(100_000) as usize);
        let data = self.data(len);
        if self.files.contains_key(&name) {
            self.nfs.unlink(&name).expect("removed");
        }
        self.nfs.write_file(&name, 0o644, &data).expect("written");
        self.files.insert(name, data);
        let data = self.data(BLOCK);
        self.iscsi.write(&self.unit, block * BLOCK as u64, &data).expect("written");
        self.blocks.insert(block, data);
    }

    /// Works until a day of the month.
    #[track_caller]
    fn until_day(&mut self, day: f64) {
        let (until, begun) = (self.began + (day * DAY as f64) as i64, Instant::now());
        let before = self.now();
        while self.now() < until {
            self.write();
            std::thread::sleep(Duration::from_millis(100));
            let days = (until - before) as f64 / DAY as f64;
            assert!(begun.elapsed() < PATIENCE.mul_f64(days.max(1.0)), "the calendar stands");
        }
        say(&format!("day {day} after {:?}", begun.elapsed()));
    }

    /// All services rest, and so does the calendar. Nothing that was due is left undone.
    #[track_caller]
    fn rest(&self) {
        for _ in 0..100 {
            // In this order: there is nobody left for whom the calendar could leap past 'home'.
            for service in ["scrub", "home"] {
                self.daemon.run(&["svc", "disable", service]).done();
            }
            // What is under way stops at its next step.
            std::thread::sleep(Duration::from_millis(300));
            let due = &self.json(&["svc", "plan", "home"])["snapshots"]["plans"][0];
            if due["groups"] == json!([]) && due["destroys"] == json!([]) {
                return;
            }
            self.go_on();
            std::thread::sleep(Duration::from_millis(200));
        }
        panic!("the services have always something to do");
    }

    fn go_on(&self) {
        for service in ["home", "scrub"] {
            self.daemon.run(&["svc", "enable", service]).done();
        }
    }

    /// The names of the snapshots of a dataset, without it.
    fn snapshots(&self, dataset: &str) -> BTreeSet<String> {
        let listed = self.daemon.zfs(&format!("list -H -o name -t snapshot -d 1 {dataset}")).done();
        listed.lines().map(|name| name.split('@').nth(1).expect("a snapshot").to_owned()).collect()
    }

    /// All files of a file system are what they should be.
    #[track_caller]
    fn files_are(&self, dataset: &str, files: &BTreeMap<String, Vec<u8>>) {
        let at = self.daemon.zfs(&format!("get -H -o value mountpoint {dataset}")).done();
        let client = Client::mount(&self.daemon, at.trim()).expect("mounted");
        let listed = client.list("/").expect("listed");
        let names: BTreeSet<String> = listed
            .into_iter()
            .map(|listed| String::from_utf8(listed.name).expect("a name"))
            .filter(|name| !name.starts_with('.'))
            .collect();
        assert_eq!(names, files.keys().cloned().collect(), "{dataset}");
        for (name, data) in files {
            assert!(client.read_file(name).expect("read") == *data, "{dataset}: {name}");
        }
    }

    /// All blocks of a volume are what they should be.
    #[track_caller]
    fn blocks_are(&self, volume: &str, blocks: &BTreeMap<u64, Vec<u8>>) {
        let unit = unit(&self.daemon, volume);
        let mut initiator = Initiator::log_in(&unit).expect("a session");
        for (block, data) in blocks {
            let read = initiator.read(&unit, block * BLOCK as u64, BLOCK);
            assert!(read.expect("read") == *data, "{volume}: block {block}");
        }
    }
}

fn unit(daemon: &Daemon, volume: &str) -> Unit {
    let url = format!("iscsi://{}/iqn.2026-01.org.cistern:{}/0", portal(daemon), volume.replace('/', ":"));
    Unit::parse(&url).expect("a place")
}

fn begin(scratch: &Scratch, mail: &Sink, web: &Sink) -> Life {
    let extra = [&["--trial", "--checks-every", "1s"], &LISTEN[..]].concat();
    let daemon = Daemon::start_with(scratch, "state", &extra);
    let (a, b) = (scratch.image("a", 512), scratch.image("b", 512));
    daemon.zpool(&format!("create -O compression=lz4 -m {} tank mirror {a} {b}", scratch.text("mnt"))).done();
    daemon.zfs("create -o sharenfs=rw,no_root_squash,insecure tank/home").done();
    daemon.zfs("create -s -V 16M -o cistern:iscsi=on tank/disk").done();
    mail_route(&daemon, mail);
    notify(&daemon, &format!("add hook webhook --url http://127.0.0.1:{}/in", web.port));
    // Other tests load this machine meanwhile.
    daemon.run(&["alert", "settings", "slow_disk=100000", "memory=0"]).done();
    let mut create = vec!["svc", "create", "auto-snap", "home", "--target", "tank", "--recursive"];
    let levels = LEVELS.map(|(name, kept)| format!("--level={name}={kept}"));
    create.extend(levels.iter().map(String::as_str));
    // Names by the minute: what is made a second later than it was due has the same.
    create.extend(["--naming", "zfs-auto-snapshot", "--stale-after", "1d"]);
    daemon.run(&create).done();
    daemon.run(&["svc", "create", "auto-scrub", "scrub", "--schedule", "weekly@wednesday 02:00"]).done();
    let nfs = Client::mount(&daemon, &format!("{}/home", scratch.text("mnt"))).expect("mounted");
    let unit = unit(&daemon, "tank/disk");
    let iscsi = Initiator::log_in(&unit).expect("a session");
    let (files, blocks) = (BTreeMap::new(), BTreeMap::new());
    let mut life = Life { daemon, nfs, iscsi, unit, random: Prng::new(28), files, blocks, began: 0 };
    life.began = life.now();
    // The fourth week ends within the month.
    report_in_days(&life.daemon, 3);
    life
}

/// Messages that are about a disk.
fn of_disk(all: &[Value], title: &dyn Fn(&Value) -> String) -> Vec<String> {
    all.iter().map(title).filter(|title| title.contains("disk ")).collect()
}

#[test]
fn a_month_in_the_life() {
    let scratch = Scratch::in_memory("month");
    let (mail, web) =
        (Sink::start(&scratch, "mail", "mail.json", &[]), Sink::start(&scratch, "http", "web.json", &[]));
    let mut life = begin(&scratch, &mail, &web);
    life.until_day(5.0);
    life.rest();
    reports_are(&mail, 1);
    life.go_on();
    let early = life.daemon.resident();

    // A disk weakens: half of its writes fail. It is judged, and told of.
    life.until_day(12.0);
    life.rest();
    reports_are(&mail, 2);
    life.go_on();
    let (b, c) = (scratch.text("disks/b.img"), scratch.image("c", 512));
    zinject(&life.daemon, &format!("-d {b} -e io -T write -f 50 tank")).done();
    let begun = Instant::now();
    let is_faulted = |life: &Life| {
        let open = alert(&life.daemon, &["list"]);
        open.as_array().expect("a list").iter().any(|it| it["what"]["disk-unhealthy"].is_object())
    };
    while !is_faulted(&life) {
        life.write();
        assert!(
            begun.elapsed() < PATIENCE,
            "the disk is not judged: {}",
            life.daemon.zpool("status tank").done()
        );
    }
    zinject(&life.daemon, "-c all").done();
    life.until_day(15.0);
    life.daemon.zpool(&format!("replace tank {b} {c}")).done();
    life.daemon.zpool("wait -t replace tank").done();

    // What stands now will be read from a snapshot of tonight.
    life.rest();
    let (files, blocks) = (life.files.clone(), life.blocks.clone());
    let before = life.snapshots("tank/home");
    life.go_on();
    let mut older = None;
    let begun = Instant::now();
    while older.is_none() {
        let is_new = |name: &&String| name.contains("_daily-") && !before.contains(*name);
        older = life.snapshots("tank/home").iter().find(is_new).cloned();
        assert!(begun.elapsed() < PATIENCE, "no snapshot is made");
    }
    let older = older.expect("found");

    // What the service says that it will do in the last week is what it does.
    life.until_day(22.0);
    life.rest();
    reports_are(&mail, 3);
    let (planned_at, planned) =
        (life.snapshots("tank/home"), life.json(&["svc", "plan", "home", "--days", "7"]));
    life.go_on();
    life.until_day(28.0);
    life.rest();
    reports_are(&mail, 4);
    let (end, late) = (life.now(), life.daemon.resident());
    snapshots_are_as_planned(&life, planned_at, &planned, end);
    files_and_blocks_are_exact(&life, &older, (&files, &blocks));
    // The new disk has all, and it is good.
    life.daemon.zpool("scrub tank").done();
    life.daemon.zpool("wait -t scrub tank").done();
    let status = life.daemon.zpool("status tank").done();
    assert!(
        status.contains("scan: scrub repaired 0B in ") && status.contains(" with 0 errors on "),
        "{status}"
    );
    disk_was_told_once(&mail, &web, &b);
    reports_came(&mail, &web);
    assert!(late < early + (96 << 20), "{early} bytes of memory after five days, {late} after a month");
    let Life { mut daemon, nfs, iscsi, .. } = life;
    drop((nfs, iscsi));
    daemon.stop();
    // It is no part of the pool any more.
    scratch.put_away(&["b"]);
    assert_clean(&scratch.path("disks"), "tank");
}

/// What stood, with what was planned since, is what stands now; and of each level as many as it
/// keeps.
fn snapshots_are_as_planned(life: &Life, mut names: BTreeSet<String>, planned: &Value, end: i64) {
    let plans = planned["snapshots"]["plans"].as_array().expect("plans");
    let of_home = |it: &&Value| it["dataset"] == "tank/home";
    let name = |it: &Value| it["snapshot"].as_str().expect("a name").to_owned();
    for plan in plans.iter().filter(|plan| plan["at"].as_i64().is_some_and(|at| at <= end)) {
        let groups = plan["groups"].as_array().expect("groups").iter();
        let creates = groups.flat_map(|group| group["creates"].as_array().expect("some")).filter(of_home);
        names.extend(creates.map(name));
        for destroy in plan["destroys"].as_array().expect("some").iter().filter(of_home) {
            assert!(names.remove(&name(destroy)), "{destroy}");
        }
    }
    let now = life.snapshots("tank/home");
    assert_eq!(now, names, "{:?}", now.symmetric_difference(&names));
    for (level, kept) in LEVELS {
        let level = level.split(':').next().unwrap_or(level);
        let those = now.iter().filter(|name| name.contains(&format!("snap_{level}-"))).count();
        assert_eq!(those, kept, "{level}: {now:#?}");
    }
}

fn files_and_blocks_are_exact(life: &Life, older: &str, (files, blocks): (&Files, &Blocks)) {
    for (name, stamp, files, blocks) in
        [("now", "newest", &life.files, &life.blocks), ("then", older, files, blocks)]
    {
        let stamp = match stamp {
            "newest" => {
                life.daemon.zfs("snapshot -r tank@newest").done();
                "newest"
            }
            older => older,
        };
        life.daemon.zfs(&format!("clone tank/home@{stamp} tank/home-{name}")).done();
        life.daemon.zfs(&format!("set sharenfs=rw,no_root_squash,insecure tank/home-{name}")).done();
        life.files_are(&format!("tank/home-{name}"), files);
        life.daemon.zfs(&format!("clone -o cistern:iscsi=on tank/disk@{stamp} tank/disk-{name}")).done();
        life.blocks_are(&format!("tank/disk-{name}"), blocks);
    }
}

fn disk_was_told_once(mail: &Sink, web: &Sink, disk: &str) {
    let mails = of_disk(&mail.all(), &|mail| mail["subject"].as_str().unwrap_or_default().to_owned());
    let hooks = of_disk(&web.all(), &|hook| hook["body"]["title"].as_str().unwrap_or_default().to_owned());
    for told in [mails, hooks] {
        let faulted = format!("disk {disk} of pool tank is FAULTED");
        let raised = told.iter().filter(|it| it.contains(&faulted) && !it.contains("over: "));
        let over = told.iter().filter(|it| it.contains(&format!("over: {faulted}")));
        assert_eq!((raised.count(), over.count()), (1, 1), "{told:#?}");
    }
}

fn is_report(mail: &&Value) -> bool {
    mail["subject"].as_str().is_some_and(|it| it.contains("] week to "))
}

/// So many reports have come, while the calendar stands: what has a week is made in real time, and
/// of two weeks that are missed there is one report.
#[track_caller]
fn reports_are(mail: &Sink, wanted: usize) {
    until("the report of the week", || mail.all().iter().filter(is_report).count() == wanted);
}

fn reports_came(mail: &Sink, web: &Sink) {
    let mails = mail.all();
    let reports: Vec<&Value> = mails.iter().filter(is_report).collect();
    assert_eq!(reports.len(), 4, "{:?}", mails.iter().map(|mail| &mail["subject"]).collect::<Vec<_>>());
    for (nth, report) in reports.iter().enumerate() {
        let (html, text) = (report["html"].as_str().expect("a page"), report["text"].as_str().expect("text"));
        let pictures = report["pictures"].as_array().expect("pictures");
        assert_eq!(pictures.len(), 3, "{report}");
        for picture in pictures {
            assert!(
                html.contains(&format!("src=\"cid:{}\"", picture["name"].as_str().expect("a name"))),
                "{html}"
            );
            assert_eq!(picture["size"], json!([1_200, 300]));
        }
        let ids: BTreeSet<&str> = reports.iter().filter_map(|report| report["id"].as_str()).collect();
        assert_eq!(ids.len(), 4, "{ids:?}");
        assert!(
            text.contains("tank/home") && text.contains("snapshots made") && text.contains("in use: "),
            "{text}"
        );
        if nth == 3 {
            say(text);
        }
    }
    let hooks = web.all();
    assert_eq!(hooks.iter().filter(|hook| hook["body"]["turn"] == "report").count(), 4);
}
