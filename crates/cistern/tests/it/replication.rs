//! Replication from one pool to another: exact to the byte, over kills, full, read-only and absent
//! targets, names of any kind, and replicas that somebody has changed.

use std::fs;
use std::time::Duration;

use serde_json::Value;
use stdx::prng::Prng;

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::libnfs::Client;
use crate::services::{shown, state, svc};
use crate::suspended::until;
use crate::zdb::assert_clean;

/// Has a service look, and waits until it has.
pub fn run(daemon: &Daemon, name: &str) {
    let began = |service: &Value| service["last"]["ended"].as_i64().unwrap_or(0);
    let before = began(&shown(daemon, name));
    // A run is told apart from the one before by its second.
    std::thread::sleep(Duration::from_millis(1_100));
    svc(daemon, &["run", name]).done();
    until("the run", || {
        let now = shown(daemon, name);
        now["state"] != "running" && began(&now) > before
    });
}

/// A service that looks when it is told to, and once at first.
pub fn create(daemon: &Daemon, name: &str, from: &str, to: &str, more: &[&str]) {
    let words = ["create", "auto-sync", name, "--from", from, "--to", to, "--schedule", "yearly"];
    svc(daemon, &[&words[..], more].concat()).done();
}

/// The snapshots of a dataset, by guid and name.
pub fn snapshots(daemon: &Daemon, dataset: &str) -> Vec<(String, String)> {
    let listed = daemon.run(&["zfs", "list", "-H", "-t", "snapshot", "-o", "guid,name", "-d", "1", dataset]);
    let short = |line: &str| {
        let (guid, name) = line.split_once('\t').expect("two fields");
        (guid.to_owned(), name.split_once('@').expect("a snapshot").1.to_owned())
    };
    // Of what is not there, none.
    listed.out.lines().map(short).collect()
}

/// The service's snapshots of a dataset, oldest first.
pub fn own(daemon: &Daemon, dataset: &str) -> Vec<String> {
    let all = snapshots(daemon, dataset);
    all.into_iter().filter(|(_, name)| name.starts_with("sync-")).map(|(guid, _)| guid).collect()
}

pub fn value(daemon: &Daemon, property: &str, of: &str) -> String {
    daemon.run(&["zfs", "get", "-Hp", "-o", "value", property, of]).done().trim().to_owned()
}

pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    Prng::new(seed).fill(&mut bytes);
    bytes
}

/// Two pools, each in a folder of its own.
pub fn pools(scratch: &Scratch, daemon: &Daemon, mib: (u64, u64)) {
    let (a, b) = (scratch.image_in("one", "a", mib.0), scratch.image_in("two", "b", mib.1));
    daemon.zpool(&format!("create -m none tank {a}")).done();
    daemon.zpool(&format!("create -m none backup {b}")).done();
}

pub fn share(daemon: &Daemon, scratch: &Scratch, dataset: &str) -> Client {
    let at = scratch.text(&dataset.replace('/', "-"));
    daemon.zfs(&format!("set mountpoint={at} {dataset}")).done();
    daemon.zfs(&format!("set sharenfs=rw,no_root_squash,insecure {dataset}")).done();
    Client::mount(daemon, &at).expect("mounted")
}

#[test]
fn a_replica_is_exact_and_stays_so() {
    let scratch = Scratch::new("replication");
    let mut daemon = Daemon::start(&scratch);
    pools(&scratch, &daemon, (512, 512));
    daemon.zfs("create -o compression=lz4 -o exec=off tank/home").done();
    daemon.zfs("create -s -V 32M tank/home/vol").done();
    // No shell, no option, no pattern: names as they are.
    let odd = "tank/home/-o readonly:off .x";
    daemon.run(&["zfs", "create", "--", odd]).done();
    let client = share(&daemon, &scratch, "tank/home");
    let large = noise(1, 5 << 20);
    client.write_file("/large", 0o640, &large).expect("written");
    client.write_file("/gone", 0o644, b"gone").expect("written");
    let url = daemon.run(&["volume", "attach", "tank/home/vol"]).done().trim().to_owned();
    let disk = scratch.path("disk.raw");
    fs::write(&disk, [noise(2, 3 << 20), vec![0; 29 << 20]].concat()).expect("written");
    Ran::of(program("nbdcopy", 120).args(["--flush"]).arg(&disk).arg(&url)).done();

    create(&daemon, "away", "tank/home", "backup/home", &["--recursive", "--keep", "2"]);
    until("the first replicas", || {
        let status = shown(&daemon, "away");
        let replicas = status["sync"]["replicas"].as_array().expect("a list").clone();
        replicas.len() == 3 && replicas.iter().all(|it| !it["current"].is_null())
    });
    until("the end of the run", || state(&daemon, "away") == "online");
    // All of one moment.
    let group = |dataset: &str| {
        daemon.run(&["zfs", "list", "-H", "-t", "snapshot", "-o", "createtxg", "-d", "1", dataset]).done()
    };
    assert!(group("tank/home") == group(odd) && group(odd) == group("tank/home/vol"), "{}", group(odd));
    let there = odd.replace("tank", "backup");
    for (of, to) in [("tank/home", "backup/home"), (odd, there.as_str())] {
        assert_eq!(snapshots(&daemon, of), snapshots(&daemon, to));
        assert_eq!(value(&daemon, "readonly", to), "on");
        assert_eq!(value(&daemon, "canmount", to), "noauto");
        assert_eq!(value(&daemon, "org.cistern:replica", to), format!("away {}", value(&daemon, "guid", of)));
    }
    // What says how data is written goes along, and what mounts, runs or shares does not.
    assert_eq!(value(&daemon, "compression", "backup/home"), "lz4");
    assert_eq!(value(&daemon, "sharenfs", "backup/home"), "off");
    assert_eq!(value(&daemon, "mountpoint", "backup/home"), "none");
    assert_eq!(value(&daemon, "exec", "backup/home"), "on");

    // What changes follows, and only that is kept which is to be.
    client.write_file("/small", 0o600, b"small").expect("written");
    client.unlink("/gone").expect("removed");
    // A snapshot of this second is new enough.
    std::thread::sleep(Duration::from_millis(1_100));
    let planned = svc(&daemon, &["plan", "away"]).done();
    assert!(planned.contains("make     tank/home@sync-away-"), "{planned}");
    assert!(planned.contains("  to backup/home, from @sync-away-"), "{planned}");
    assert!(planned.contains(&format!("nothing  {there} has all of {odd}")), "{planned}");
    for turn in 0..3_u8 {
        client.write_file("/turn", 0o600, &[turn; 1_000]).expect("written");
        run(&daemon, "away");
        assert_eq!(state(&daemon, "away"), "online", "{}", svc(&daemon, &["show", "away"]).out);
    }
    assert_eq!((own(&daemon, "tank/home").len(), own(&daemon, "backup/home").len()), (1, 2));
    assert_eq!(own(&daemon, odd).len(), 1, "what has not changed gets no more");
    let copy = share(&daemon, &scratch, "backup/home");
    assert!(copy.read_file("/large").expect("read") == large);
    assert_eq!(copy.read_file("/small").expect("read"), b"small");
    assert_eq!(copy.read_file("/turn").expect("read"), [2; 1_000]);
    assert!(copy.read_file("/gone").is_err());
    assert!(copy.write_file("/mine", 0o644, b"mine").is_err(), "a replica refuses writes");
    let url = daemon.run(&["volume", "attach", "backup/home/vol"]).done().trim().to_owned();
    Ran::of(program("nbdcopy", 120).arg(&url).arg(scratch.path("back.raw"))).done();
    assert!(fs::read(scratch.path("back.raw")).expect("read") == fs::read(&disk).expect("read"));

    // A source that is renamed is the same source.
    drop(client);
    daemon.zfs("rename tank/home tank/house").done();
    svc(&daemon, &["set", "away", "--keep", "3"]).done();
    until("the new name", || shown(&daemon, "away")["spec"]["source"]["dataset"] == "tank/house");
    let client = share(&daemon, &scratch, "tank/house");
    client.write_file("/turn", 0o600, &[9; 1_000]).expect("written");
    run(&daemon, "away");
    assert_eq!(copy.read_file("/turn").expect("read"), [9; 1_000]);
    drop((client, copy));
    daemon.stop();
    assert_clean(&scratch.path("one"), "tank");
    assert_clean(&scratch.path("two"), "backup");
}

#[test]
fn what_breaks_off_goes_on_and_piles_up_nothing() {
    let scratch = Scratch::new("replication-breaks");
    let mut daemon = Daemon::start(&scratch);
    pools(&scratch, &daemon, (1_024, 1_024));
    daemon.zfs("create tank/a").done();
    let client = share(&daemon, &scratch, "tank/a");
    let part = noise(7, 16 << 20);
    for number in 0..6 {
        client.write_file(&format!("/f{number}"), 0o644, &part[number..]).expect("written");
    }
    drop(client);
    // Killed in the middle of a stream, and stopped there.
    create(&daemon, "s", "tank/a", "backup/a", &[]);
    let is_sending = |daemon: &Daemon| {
        shown(daemon, "s")["sync"]["sending"]["bytes"].as_u64().is_some_and(|bytes| bytes > 8 << 20)
    };
    until("a stream", || is_sending(&daemon));
    daemon.kill();
    daemon.begin();
    until("a stream again", || is_sending(&daemon) || state(&daemon, "s") == "online");
    svc(&daemon, &["disable", "s"]).done();
    until("the end of the run", || shown(&daemon, "s")["sync"]["sending"].is_null());
    assert_eq!(own(&daemon, "tank/a").len(), 1);
    svc(&daemon, &["enable", "s"]).done();
    svc(&daemon, &["run", "s"]);
    until("the replica", || !shown(&daemon, "s")["sync"]["replicas"][0]["current"].is_null());
    until("the end of the run", || state(&daemon, "s") == "online");
    assert_eq!(own(&daemon, "backup/a").last(), own(&daemon, "tank/a").last());
    let copy = share(&daemon, &scratch, "backup/a");
    for number in 0..6 {
        assert!(copy.read_file(&format!("/f{number}")).expect("read") == part[number..], "{number}");
    }
    drop(copy);

    // The target is away, and comes back read-only, then whole.
    let write = |daemon: &Daemon, text: &[u8]| {
        let client = Client::mount(daemon, &scratch.text("tank-a")).expect("mounted");
        client.write_file("/last", 0o644, text).expect("written");
    };
    daemon.zpool("export backup").done();
    for turn in 0..3 {
        write(&daemon, &[turn; 100]);
        run(&daemon, "s");
        assert_eq!((state(&daemon, "s").as_str(), own(&daemon, "tank/a").len()), ("degraded", 1));
    }
    assert!(svc(&daemon, &["show", "s"]).done().contains("no such pool"), "it says why");
    daemon.zpool(&format!("import -d {} -o readonly=on backup", scratch.text("two"))).done();
    run(&daemon, "s");
    assert_eq!((state(&daemon, "s").as_str(), own(&daemon, "tank/a").len()), ("degraded", 1));
    daemon.zpool("export backup").done();
    daemon.zpool(&format!("import -d {} backup", scratch.text("two"))).done();
    run(&daemon, "s");
    assert_eq!(state(&daemon, "s"), "online");
    assert_eq!(own(&daemon, "backup/a").last(), own(&daemon, "tank/a").last());

    // The target is full: one waits, and gets there once there is room.
    daemon.zfs("set quota=110M backup/a").done();
    let client = Client::mount(&daemon, &scratch.text("tank-a")).expect("mounted");
    client.write_file("/more", 0o644, &noise(9, 32 << 20)).expect("written");
    for _ in 0..3 {
        run(&daemon, "s");
        assert_eq!(state(&daemon, "s"), "degraded", "{}", svc(&daemon, &["show", "s"]).out);
        assert_eq!(own(&daemon, "tank/a").len(), 2, "the base, and one that waits");
    }
    daemon.zfs("set quota=none backup/a").done();
    run(&daemon, "s");
    assert_eq!((state(&daemon, "s").as_str(), own(&daemon, "tank/a").len()), ("online", 1));
    drop(client);
    daemon.stop();
    assert_clean(&scratch.path("one"), "tank");
    assert_clean(&scratch.path("two"), "backup");
}

#[test]
fn a_replica_that_somebody_changed_is_left_to_a_person() {
    let scratch = Scratch::new("replication-person");
    let mut daemon = Daemon::start(&scratch);
    pools(&scratch, &daemon, (256, 256));
    daemon.zfs("create tank/a").done();
    let client = share(&daemon, &scratch, "tank/a");
    client.write_file("/f", 0o644, b"one").expect("written");
    // What is there and is no replica stays as it is.
    daemon.zfs("create backup/a").done();
    create(&daemon, "s", "tank/a", "backup/a", &["--absence", "1s"]);
    until("it waits for a person", || state(&daemon, "s") == "maintenance");
    let told = svc(&daemon, &["show", "s"]).done();
    assert!(told.contains("backup/a is there, and is no replica"), "{told}");
    daemon.zfs("destroy backup/a").done();
    svc(&daemon, &["clear", "s"]).done();
    until("the replica", || own(&daemon, "backup/a").len() == 1);
    until("the end of the run", || state(&daemon, "s") == "online");

    // A snapshot of its own: it would be lost.
    daemon.zfs("snapshot backup/a@mine").done();
    client.write_file("/f", 0o644, b"two").expect("written");
    run(&daemon, "s");
    assert_eq!(state(&daemon, "s"), "maintenance");
    assert!(svc(&daemon, &["plan", "s"]).done().contains("it has a snapshot of its own: mine"));
    daemon.zfs("destroy backup/a@mine").done();
    // Promoted: it may be written to, and is nobody's replica any more.
    daemon.zfs("set readonly=off backup/a").done();
    svc(&daemon, &["clear", "s"]).done();
    until("it waits for a person", || state(&daemon, "s") == "maintenance");
    assert!(svc(&daemon, &["show", "s"]).done().contains("backup/a may be written to"));
    daemon.zfs("set readonly=on backup/a").done();
    svc(&daemon, &["clear", "s"]).done();
    run(&daemon, "s");
    assert_eq!(own(&daemon, "backup/a").len(), 2);

    // Too long away: a bookmark is what is left, and enough.
    daemon.zpool("export backup").done();
    client.write_file("/f", 0o644, b"thr").expect("written");
    run(&daemon, "s");
    std::thread::sleep(Duration::from_secs(2));
    run(&daemon, "s");
    assert!(own(&daemon, "tank/a").is_empty(), "the budget is used up");
    daemon.zpool(&format!("import -d {} backup", scratch.text("two"))).done();
    run(&daemon, "s");
    assert_eq!(state(&daemon, "s"), "online", "{}", svc(&daemon, &["show", "s"]).out);
    assert_eq!(own(&daemon, "backup/a").last(), own(&daemon, "tank/a").last());
    assert_eq!(share(&daemon, &scratch, "backup/a").read_file("/f").expect("read"), b"thr");
    let bookmarks = daemon.zfs("list -H -t bookmark -r tank").out;
    assert_eq!(bookmarks, "", "what is needless goes");

    // It is gone: nothing is sent anew before somebody says so.
    daemon.zfs("destroy -r backup/a").done();
    client.write_file("/f", 0o644, b"fou").expect("written");
    run(&daemon, "s");
    assert_eq!(state(&daemon, "s"), "maintenance");
    assert!(svc(&daemon, &["show", "s"]).done().contains("the replica backup/a is gone"));
    svc(&daemon, &["clear", "s"]).done();
    until("a new replica", || own(&daemon, "backup/a").len() == 1);
    // The base is held, and its own service lets go of it.
    let base = format!("tank/a@{}", snapshots(&daemon, "tank/a")[0].1);
    assert_eq!(daemon.run(&["zfs", "destroy", &base]).status, 1);
    drop(client);
    daemon.stop();
    assert_clean(&scratch.path("one"), "tank");
    assert_clean(&scratch.path("two"), "backup");
}

#[test]
fn a_stream_goes_no_faster_than_it_may_and_what_lags_is_told() {
    let scratch = Scratch::new("replication-rate");
    let mut daemon = Daemon::start_with(&scratch, "state", &["--checks-every", "1s"]);
    pools(&scratch, &daemon, (256, 256));
    daemon.zfs("create tank/a").done();
    let client = share(&daemon, &scratch, "tank/a");
    client.write_file("/f", 0o644, &noise(1, 24 << 20)).expect("written");
    let refused = svc(
        &daemon,
        &[
            "create",
            "auto-sync",
            "s",
            "--from",
            "tank/a",
            "--to",
            "backup/a",
            "--schedule",
            "5s",
            "--limit",
            "1K",
        ],
    );
    assert!(refused.status != 0 && refused.err.contains("65536 bytes a second or more"), "{refused:?}");
    // The other one is in force at no time that there is.
    let limits = ["--limit", "4M", "--limit", "1G", "--lag", "2s"];
    create(&daemon, "s", "tank/a", "backup/a", &limits);
    let (mut rates, begun) = (Vec::new(), std::time::Instant::now());
    until("the replica", || {
        if let Some(sending) = shown(&daemon, "s")["sync"]["sending"].as_object() {
            rates.push((sending["bytes"].as_u64().expect("bytes"), begun.elapsed()));
        }
        own(&daemon, "backup/a").len() == 1
    });
    // Between two looks that are seconds apart, whatever was sent before them.
    let (first, last) = (rates.first().expect("a look"), rates.last().expect("a look"));
    let rate = (last.0 - first.0) as f64 / (last.1 - first.1).as_secs_f64() / f64::from(4 << 20);
    assert!(rate < 1.05, "{rate} of the rate: {rates:?}");
    until("the end of the run", || state(&daemon, "s") == "online");
    let told = svc(&daemon, &["show", "s"]).done();
    assert!(
        told.contains("limits      4M/s, 1G/s\n") && told.contains("lag         an alert after 2s\n"),
        "{told}"
    );
    // It lags for as long as nothing is sent, and no longer.
    let alerts = || daemon.run(&["alert", "list"]).done();
    daemon.zpool("export backup").done();
    client.write_file("/f", 0o644, b"new").expect("written");
    until("an alert", || alerts().contains("the replica of tank/a lags"));
    daemon.zpool(&format!("import -d {} backup", scratch.text("two"))).done();
    svc(&daemon, &["set", "s", "--schedule", "1s", "--limit", "none"]).done();
    svc(&daemon, &["run", "s"]);
    until("no alert", || !alerts().contains("lags"));
    // Each second, and nothing is left of it.
    for turn in 0..4_u8 {
        client.write_file("/f", 0o644, &[turn; 5_000]).expect("written");
        std::thread::sleep(Duration::from_millis(700));
    }
    until("the newest", || {
        let newest = own(&daemon, "tank/a");
        newest.len() == 1
            && newest.last() == own(&daemon, "backup/a").last()
            && state(&daemon, "s") == "online"
    });
    drop(client);
    daemon.stop();
    assert_clean(&scratch.path("one"), "tank");
    assert_clean(&scratch.path("two"), "backup");
}

/// A replica that is sent on: what its own service makes is what both replicas have, and the
/// service that sends it on makes nothing of its own there. Nor does one that takes snapshots.
#[test]
fn a_replica_is_sent_on_as_it_came() {
    let scratch = Scratch::new("replication-on");
    let mut daemon = Daemon::start(&scratch);
    pools(&scratch, &daemon, (512, 512));
    daemon.zpool(&format!("create -m none third {}", scratch.image_in("three", "c", 512))).done();
    daemon.zfs("create tank/home").done();
    let client = share(&daemon, &scratch, "tank/home");
    client.write_file("/f", 0o644, &[1]).expect("written");
    create(&daemon, "away", "tank/home", "backup/home", &["--keep", "2"]);
    until("the first replica", || {
        state(&daemon, "away") == "online" && own(&daemon, "backup/home").len() == 1
    });
    create(&daemon, "on", "backup/home", "third/home", &["--keep", "2"]);
    let snap = "create auto-snap local --target backup/home --level hourly=4";
    svc(&daemon, &snap.split(' ').collect::<Vec<_>>()).done();
    until("the second", || state(&daemon, "on") == "online" && own(&daemon, "third/home").len() == 1);
    for round in 2..5_u8 {
        client.write_file("/f", 0o644, &[round]).expect("written");
        run(&daemon, "away");
        run(&daemon, "on");
        let names: Vec<String> = ["tank/home", "backup/home", "third/home"]
            .map(|of| snapshots(&daemon, of).pop().expect("the newest").1)
            .to_vec();
        assert!(names.iter().all(|name| name.starts_with("sync-away-") && *name == names[0]), "{names:?}");
        for of in ["backup/home", "third/home"] {
            let kept = snapshots(&daemon, of);
            assert!(kept.len() <= 3, "{of}: {kept:?}");
            assert!(kept.iter().all(|(_, name)| name.starts_with("sync-away-")), "{of}: {kept:?}");
        }
    }
    for service in ["away", "on"] {
        assert_eq!(state(&daemon, service), "online");
    }
    let copy = share(&daemon, &scratch, "third/home");
    assert_eq!(copy.read_file("/f").expect("read"), [4]);
    drop((client, copy));
    daemon.stop();
    for (folder, pool) in [("one", "tank"), ("two", "backup"), ("three", "third")] {
        assert_clean(&scratch.path(folder), pool);
    }
}
