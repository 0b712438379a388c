//! A day in the life of two appliances, at accelerated time: replication each 15 minutes, a target
//! that dies in the middle of a stream and returns a day later, a fail-over that NFS clients and
//! initiators survive though the address moves, work on the other side, and the way back.
//!
//! The calendar of the appliance that sends leaps whenever its services are at rest
//! (`cistern serve --trial`).

use load::{Initiator, Unit};
use serde_json::Value;

use crate::daemon::{Daemon, Scratch, free_port};
use crate::failover::{TARGET, names, replica, serve, settle, synced};
use crate::peers::pair;
use crate::replication::{create, noise, own, run, share, snapshots, value};
use crate::services::{shown, state, svc};
use crate::suspended::until;
use crate::zdb::assert_clean;

const DAY: i64 = 86_400;

/// What time an appliance believes that it is.
fn now(daemon: &Daemon) -> i64 {
    let (_, clock): (u16, Value) = daemon.ask("GET", "/v1/service-clock", None);
    clock["believed"].as_i64().expect("a time")
}

/// Options of an appliance, with an address for peers that stays.
fn options(https: u16, iscsi: u16, more: &[&str]) -> Vec<String> {
    let own = ["--https".to_owned(), format!("127.0.0.1:{https}"), "--iscsi".to_owned()];
    let more = more.iter().map(|&word| word.to_owned());
    own.into_iter().chain([format!("127.0.0.1:{iscsi}")]).chain(more).collect()
}

fn start(scratch: &Scratch, name: &str, options: &[String]) -> Daemon {
    let words: Vec<&str> = options.iter().map(String::as_str).collect();
    Daemon::start_with(scratch, name, &words)
}

/// Has an appliance listen where another one did, and that one somewhere else from its next start
/// on.
fn take_address(to: &mut Daemon, from: &mut Daemon) {
    to.stop();
    std::mem::swap(&mut to.host, &mut from.host);
    std::mem::swap(&mut to.port, &mut from.port);
    let iscsi =
        |daemon: &Daemon| daemon.extra.iter().position(|it| it == "--iscsi").expect("it is there") + 1;
    let (a, b) = (iscsi(to), iscsi(from));
    std::mem::swap(&mut to.extra[a], &mut from.extra[b]);
    to.begin();
}

#[test]
fn a_day_in_the_life_of_two_appliances() {
    let scratch = Scratch::new("day");
    let ports: Vec<u16> = (0..4).map(|_| free_port("127.0.0.1")).collect();
    let mut north = start(&scratch, "north", &options(ports[0], ports[1], &["--trial"]));
    let mut south = start(&scratch, "south", &options(ports[2], ports[3], &[]));
    for (daemon, pool) in [(&north, "tank"), (&south, "dozer")] {
        let image = scratch.image_in(pool, "disk", 1_024);
        daemon.zpool(&format!("create -m none -O atime=off {pool} {image}")).done();
    }
    pair(&north, &south, "dozer/north");
    south.run(&["peer", "set", "north", "--address", &format!("127.0.0.1:{}", ports[0])]).done();
    north.run(&["peer", "allow", "south", "tank/home"]).done();

    // A day of work.
    north.zfs("create tank/home").done();
    north.zfs("create -s -V 32M tank/home/disk").done();
    serve(&north, "tank/home/disk");
    let client = share(&north, &scratch, "tank/home");
    client.write_file("/f", 0o644, b"one, two, three").expect("written");
    let url = format!("iscsi://127.0.0.1:{}/{TARGET}/0", ports[1]);
    let unit = Unit::parse(&url).expect("a place");
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    initiator.write(&unit, 0, &[1; 512]).expect("written");
    initiator.flush(&unit).expect("flushed");
    let to = ["--to", "peer://south/dozer/north", "--schedule", "15m", "--keep", "3", "--absence", "100G"];
    let words = ["create", "auto-sync", "away", "--from", "tank/home", "--recursive"];
    svc(&north, &[&words[..], &to].concat()).done();
    let snap = "create auto-snap local --target tank/home --recursive --level hourly=4";
    svc(&north, &snap.split(' ').collect::<Vec<_>>()).done();
    synced(&north, "away", 2);
    let begun = now(&north);
    let mut turn = 0_u32;
    until("the end of work", || {
        turn += 1;
        client.write_file("/turn", 0o644, &turn.to_le_bytes()).expect("written");
        now(&north) > begun + DAY / 4
    });
    until("the next morning", || now(&north) > begun + DAY);
    // Retention holds on both sides, and what is local is nobody else's.
    until("what is kept", || {
        let (here, there) = (own(&north, "tank/home").len(), own(&south, "dozer/north").len());
        here <= 2 && (1..=4).contains(&there)
    });
    let local = |daemon: &Daemon, of: &str| {
        snapshots(daemon, of).iter().filter(|(_, name)| name.starts_with("auto-hourly")).count()
    };
    assert!((1..=5).contains(&local(&north, "tank/home")) && local(&south, "dozer/north") == 0);

    // It dies in the middle of a stream, and returns a day later.
    svc(&north, &["set", "away", "--limit", "16M"]).done();
    let large = noise(1, 64 << 20);
    client.write_file("/large", 0o644, &large).expect("written");
    until("a stream", || {
        shown(&north, "away")["sync"]["sending"]["bytes"].as_u64().is_some_and(|bytes| bytes > 8 << 20)
    });
    south.kill();
    let died = now(&north);
    until("a day without it", || {
        turn += 1;
        client.write_file("/turn", 0o644, &turn.to_le_bytes()).expect("written");
        assert!(own(&north, "tank/home").len() <= 2, "the base, and one that waits");
        now(&north) > died + DAY
    });
    assert_eq!(state(&north, "away"), "degraded");
    assert!(local(&north, "tank/home") >= 1, "snapshots of its own go on");
    south.begin();
    svc(&north, &["set", "away", "--limit", "none"]).done();
    svc(&north, &["run", "away"]);
    let same = |here: (&Daemon, &str), there: (&Daemon, &str)| {
        own(here.0, here.1).pop().is_some_and(|newest| own(there.0, there.1).contains(&newest))
    };
    until("all of it", || {
        state(&north, "away") == "online"
            && same((&north, "tank/home"), (&south, "dozer/north"))
            && same((&north, "tank/home/disk"), (&south, "dozer/north/disk"))
            && own(&south, "dozer/north").len() <= 4
    });
    let copy = share(&south, &scratch, "dozer/north");
    assert!(copy.read_file("/large").expect("read") == large, "exact to the byte");
    drop(copy);

    // North dies; south takes its address, and clients go on.
    let (disk, before) = (names(&url), client.stat("/f").expect("it is there"));
    let handle = client.open("/f", libc::O_RDONLY).expect("opened").handle();
    drop(client);
    svc(&north, &["run", "away"]);
    until("the end of the run", || state(&north, "away") == "online");
    let told = replica(&south, &["promote", "dozer/north"]);
    assert!(told.status != 0 && told.err.contains("in use on north"), "{told:?}");
    north.kill();
    let told = replica(&south, &["promote", "dozer/north"]).done();
    assert_eq!(told.matches("clients of its source go on").count(), 2, "{told}");
    serve(&south, "dozer/north/disk");
    take_address(&mut south, &mut north);
    // libnfs does not connect again by itself; what it mounts anew has the same handle.
    let client = share(&south, &scratch, "dozer/north");
    let open = client.open("/f", libc::O_RDWR).expect("opened");
    assert_eq!(open.handle(), handle, "the same file of the same file system");
    assert_eq!(open.read(0, 64).expect("read"), b"one, two, three");
    open.write(0, b"ONE").expect("written");
    open.sync().expect("on disk");
    let after = client.stat("/f").expect("it is there");
    assert_eq!((before.dev, before.ino), (after.dev, after.ino));
    assert_eq!(names(&url), disk);
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    settle(&mut initiator, &unit);
    assert_eq!(initiator.read(&unit, 0, 512).expect("read"), [1; 512]);
    initiator.write(&unit, 512, &[2; 512]).expect("written");
    initiator.flush(&unit).expect("flushed");

    // North is back, elsewhere: what it alone has is named, and it becomes the replica.
    north.begin();
    until("it waits for a person", || ["degraded", "maintenance"].contains(&&*state(&north, "away")));
    svc(&north, &["disable", "away"]).done();
    let asked = svc(&north, &["reverse", "away"]);
    if asked.status != 0 {
        assert!(asked.err.contains("--discard"), "{asked:?}");
        svc(&north, &["reverse", "away", "--discard"]).done();
    }
    assert_eq!(value(&north, "readonly", "tank/home"), "on");
    create(&south, "away", "dozer/north", "peer://north/tank/home", &["--recursive"]);
    synced(&south, "away", 2);
    open.write(0, b"Two").expect("written");
    open.sync().expect("on disk");
    assert!(replica(&north, &["promote", "tank/home"]).err.contains("in use on south"));
    south.zfs("set readonly=on dozer/north").done();
    run(&south, "away");
    assert!(same((&south, "dozer/north"), (&north, "tank/home")));

    // And back.
    drop(open);
    drop(client);
    svc(&south, &["disable", "away"]).done();
    replica(&north, &["promote", "tank/home"]).done();
    let told = svc(&south, &["reverse", "away"]).done();
    assert!(told.contains("dozer/north waits as the replica of what was promoted on north"), "{told}");
    south.stop();
    take_address(&mut north, &mut south);
    south.begin();
    let client = share(&north, &scratch, "tank/home");
    let open = client.open("/f", libc::O_RDWR).expect("opened");
    assert_eq!(open.handle(), handle, "the same file of the same file system");
    assert_eq!(open.read(0, 64).expect("read"), b"Two, two, three");
    open.write(0, b"END").expect("written");
    open.sync().expect("on disk");
    assert_eq!(names(&url), disk);
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    settle(&mut initiator, &unit);
    assert_eq!(initiator.read(&unit, 512, 512).expect("read"), [2; 512]);
    // Of the snapshots that come from now on each has the last write.
    let before = own(&south, "dozer/north");
    svc(&north, &["enable", "away"]).done();
    until("the replica", || own(&south, "dozer/north").pop().is_some_and(|newest| !before.contains(&newest)));
    assert_eq!(value(&south, "readonly", "dozer/north"), "on");
    drop((open, initiator));
    let copy = share(&south, &scratch, "dozer/north");
    assert_eq!(copy.read_file("/f").expect("read"), b"END, two, three");
    drop((copy, client));
    north.stop();
    south.stop();
    assert_clean(&scratch.path("tank"), "tank");
    assert_clean(&scratch.path("dozer"), "dozer");
}
