//! Replication between appliances: pairing, streams that break off, and peers who mean no good.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::attacker::Attacker;
use crate::daemon::{Daemon, Scratch};
use crate::https::port_of;
use crate::libnfs::Client;
use crate::replication::{create, noise, own, run, share, snapshots, value};
use crate::services::{shown, state, svc};
use crate::suspended::until;
use crate::zdb::assert_clean;

/// An appliance with a pool, whose port stays what it is.
pub fn appliance(scratch: &Scratch, name: &str, pool: &str, mib: u64) -> Daemon {
    appliance_with(scratch, name, pool, mib, &[])
}

pub fn appliance_with(scratch: &Scratch, name: &str, pool: &str, mib: u64, more: &[&str]) -> Daemon {
    let port = crate::daemon::free_port("127.0.0.1");
    let https = format!("127.0.0.1:{port}");
    let daemon = Daemon::start_with(scratch, name, &[&["--https", &https], more].concat());
    let image = scratch.image_in(pool, "disk", mib);
    daemon.zpool(&format!("create -m none {pool} {image}")).done();
    daemon
}

/// What an appliance shows to peers.
pub fn id(daemon: &Daemon) -> String {
    daemon.run(&["peer", "id"]).done().trim().to_owned()
}

/// By a code: `from` may send to `grant` on `to`.
pub fn pair(from: &Daemon, to: &Daemon, grant: &str) {
    let code = to.run(&["peer", "invite", "north", "--allow", grant]).done();
    let place = format!("127.0.0.1:{}", port_of(to));
    let told = from.run(&["peer", "join", "south", &place, code.trim()]).done();
    assert_eq!(told.trim(), format!("south is a peer: {}", id(to)));
}

/// Whether the replica of each has the newest snapshot of its source.
pub fn same(from: (&Daemon, &str), to: (&Daemon, &str)) -> bool {
    let newest = own(from.0, from.1).pop();
    newest.is_some() && newest == own(to.0, to.1).pop()
}

#[test]
fn two_become_peers_by_a_code_and_what_one_has_the_other_keeps() {
    let scratch = Scratch::new("peers");
    let mut north = appliance(&scratch, "north", "tank", 512);
    let mut south = appliance(&scratch, "south", "dozer", 512);
    // No code is good but the one that is out, and that one once, and not for ever.
    let place = format!("127.0.0.1:{}", port_of(&south));
    let refused = |code: &str| north.run(&["peer", "join", "south", &place, code]);
    assert!(refused("AAAAA-AAAAA").err.contains("no code is good any more"));
    let first = south.run(&["peer", "invite", "north"]).done();
    for _ in 0..3 {
        let ran = refused("AAAAA-AAAAA");
        assert!(ran.status == 1 && ran.err.contains("the code is wrong"), "{ran:?}");
    }
    assert!(refused(first.trim()).err.contains("no code is good any more"), "three tries were all");
    pair(&north, &south, "dozer/north");
    assert!(refused(first.trim()).err.contains("there is one of this name already"));
    // Each knows the other by what it shows.
    let listed: Value = serde_json::from_str(&south.run(&["peer", "list", "--json"]).done()).expect("JSON");
    assert_eq!((&listed[0]["name"], &listed[0]["fingerprint"]), (&json!("north"), &json!(id(&north))));
    let checked = north.run(&["peer", "check", "south"]).done();
    assert!(checked.starts_with("it answers\n") && checked.contains("takes to     dozer/north"), "{checked}");
    // Who is only called has no address.
    assert!(south.run(&["peer", "check", "north"]).err.contains("where 'north' listens is not known"));

    north.zfs("create -o compression=lz4 tank/home").done();
    north.zfs("create -s -V 16M tank/home/vol").done();
    let client = share(&north, &scratch, "tank/home");
    let large = noise(1, 5 << 20);
    client.write_file("/large", 0o640, &large).expect("written");
    create(&north, "away", "tank/home", "peer://south/dozer/north", &["--recursive", "--keep", "2"]);
    until("the replicas", || {
        same((&north, "tank/home"), (&south, "dozer/north"))
            && same((&north, "tank/home/vol"), (&south, "dozer/north/vol"))
    });
    until("the end of the run", || state(&north, "away") == "online");
    // The receiver can ask how far behind it is; where nobody listens it cannot, and says so.
    assert!(south.run(&["peer", "relations", "north"]).err.contains("where 'north' listens is not known"));
    let there = format!("127.0.0.1:{}", port_of(&north));
    south.run(&["peer", "set", "north", "--address", &there]).done();
    let told = south.run(&["peer", "relations", "north", "-H", "-p"]).done();
    let rows: Vec<Vec<&str>> = told.lines().map(|line| line.split('\t').collect()).collect();
    let row = rows.iter().find(|row| row[1] == "dozer/north").expect("a row");
    assert_eq!(row[..5], ["sends", "dozer/north", "tank/home", "away", "online"]);
    assert!(row[5].parse::<u64>().is_ok_and(|lag| lag < 60) && row[8] == "scheduled", "{told}");
    assert_eq!(snapshots(&north, "tank/home"), snapshots(&south, "dozer/north"));
    let replica = |property: &str| value(&south, property, "dozer/north");
    assert_eq!([replica("readonly"), replica("canmount"), replica("compression")], ["on", "noauto", "lz4"]);
    let source = value(&north, "guid", "tank/home");
    assert_eq!(replica("org.cistern:replica"), format!("north/away {source}"));
    for turn in 0..3_u8 {
        client.write_file("/turn", 0o600, &[turn; 1_000]).expect("written");
        run(&north, "away");
        assert_eq!(state(&north, "away"), "online", "{}", svc(&north, &["show", "away"]).out);
    }
    assert_eq!((own(&north, "tank/home").len(), snapshots(&south, "dozer/north").len()), (1, 2));
    let copy = share(&south, &scratch, "dozer/north");
    assert!(copy.read_file("/large").expect("read") == large);
    assert_eq!(copy.read_file("/turn").expect("read"), [2; 1_000]);
    assert!(copy.write_file("/mine", 0o644, b"mine").is_err(), "a replica refuses writes");

    // It is away, comes back, and is somebody else.
    south.kill();
    client.write_file("/turn", 0o600, &[7; 1_000]).expect("written");
    for _ in 0..2 {
        run(&north, "away");
        assert_eq!(state(&north, "away"), "degraded");
        assert_eq!(own(&north, "tank/home").len(), 1, "nothing piles up");
    }
    assert!(svc(&north, &["show", "away"]).done().contains("'south' cannot be reached"));
    south.begin();
    run(&north, "away");
    assert_eq!(state(&north, "away"), "online", "{}", svc(&north, &["show", "away"]).out);
    drop(copy);
    south.run(&["peer", "remove", "north"]).done();
    client.write_file("/turn", 0o600, &[8; 1_000]).expect("written");
    run(&north, "away");
    assert_eq!(state(&north, "away"), "maintenance");
    assert!(svc(&north, &["show", "away"]).done().contains("'south' does not know this machine"));
    // By fingerprints, without a code.
    south.run(&["peer", "add", "north", "--fingerprint", &id(&north), "--allow", "dozer/north"]).done();
    svc(&north, &["clear", "away"]).done();
    until("the newest", || {
        state(&north, "away") == "online" && same((&north, "tank/home"), (&south, "dozer/north"))
    });
    north.run(&["peer", "remove", "south"]).done();
    let other = id(&north);
    north
        .run(&["peer", "add", "south", "--fingerprint", &other.replace('A', "B"), "--address", &place])
        .done();
    client.write_file("/turn", 0o600, &[9; 1_000]).expect("written");
    run(&north, "away");
    let told = svc(&north, &["show", "away"]).done();
    assert!(told.contains("shows another certificate") && told.contains(&id(&south)), "{told}");
    drop(client);
    north.stop();
    south.stop();
    assert_clean(&scratch.path("tank"), "tank");
    assert_clean(&scratch.path("dozer"), "dozer");
}

#[test]
fn a_stream_to_a_peer_that_dies_goes_on_where_it_was() {
    let scratch = Scratch::new("peers-break");
    let (mut north, mut south) =
        (appliance(&scratch, "north", "tank", 1_024), appliance(&scratch, "south", "dozer", 1_024));
    pair(&north, &south, "dozer/north");
    north.zfs("create tank/a").done();
    let client = share(&north, &scratch, "tank/a");
    let part = noise(7, 16 << 20);
    for number in 0..8 {
        client.write_file(&format!("/f{number}"), 0o644, &part[number..]).expect("written");
    }
    create(&north, "s", "tank/a", "peer://south/dozer/north", &[]);
    let is_sending = |daemon: &Daemon, least: u64| {
        shown(daemon, "s")["sync"]["sending"]["bytes"].as_u64().is_some_and(|bytes| bytes > least)
    };
    // The one that takes it dies, then the one that sends.
    until("a stream", || is_sending(&north, 40 << 20));
    south.kill();
    until("the failure", || state(&north, "s") == "degraded");
    south.begin();
    svc(&north, &["run", "s"]).done();
    until("a stream again", || is_sending(&north, 8 << 20) || state(&north, "s") == "online");
    north.kill();
    north.begin();
    until("the replica", || same((&north, "tank/a"), (&south, "dozer/north")));
    until("the end of the run", || state(&north, "s") == "online");
    assert_eq!(own(&north, "tank/a").len(), 1);
    drop(client);
    let copy = share(&south, &scratch, "dozer/north");
    for number in 0..8 {
        assert!(copy.read_file(&format!("/f{number}")).expect("read") == part[number..], "{number}");
    }
    drop(copy);
    // Full: it says so, and goes on once there is room.
    south.zfs("set quota=140M dozer/north").done();
    let client = Client::mount(&north, &scratch.text("tank-a")).expect("mounted");
    client.write_file("/more", 0o644, &noise(9, 48 << 20)).expect("written");
    run(&north, "s");
    let told = svc(&north, &["show", "s"]).done();
    assert!(state(&north, "s") == "degraded" && told.contains("south says: "), "{told}");
    south.zfs("set quota=none dozer/north").done();
    run(&north, "s");
    assert_eq!((state(&north, "s").as_str(), own(&north, "tank/a").len()), ("online", 1));
    drop(client);
    north.stop();
    south.stop();
    assert_clean(&scratch.path("tank"), "tank");
    assert_clean(&scratch.path("dozer"), "dozer");
}

fn stream(daemon: &Daemon, scratch: &Scratch, words: &str) -> Vec<u8> {
    let at = scratch.path("stream");
    let mut command = daemon.command(&[&["zfs", "send"], &words.split(' ').collect::<Vec<_>>()[..]].concat());
    let sent = command.stdout(fs::File::create(&at).expect("made")).status().expect("sent");
    assert!(sent.success());
    fs::read(Path::new(&at)).expect("read")
}

fn snapshot_names(daemon: &Daemon, of: &str) -> Vec<String> {
    snapshots(daemon, of).into_iter().map(|(_, name)| name).collect()
}

#[test]
fn a_peer_has_its_own_replicas_and_nothing_else() {
    let scratch = Scratch::new("peers-attack");
    let mut south = appliance(&scratch, "south", "dozer", 512);
    let attacker = Attacker::new(&scratch, &south);
    let claim = |dataset: &str| json!({"service": "evil", "source": 7, "dataset": dataset});
    // A stranger is told nothing.
    for path in ["/peer/hello", "/peer/look", "/peer/abort", "/peer/destroy", "/v1/pools", "/peer/none"] {
        let (status, answer) = attacker.post(path, &claim("dozer/x"));
        assert!([400, 401].contains(&status), "{path}: {status} {answer}");
        assert!(!answer.to_string().contains("dozer"), "{answer}");
    }
    let add = ["peer", "add", "evil", "--fingerprint", &attacker.fingerprint(), "--allow", "dozer/evil"];
    south.run(&add).done();

    // What others have here.
    south.zfs("create dozer/mine").done();
    south.zfs("create dozer/other").done();
    south.zfs("set org.cistern:replica=north/away.7 readonly=on dozer/other").done();
    south.zfs("snapshot dozer/mine@s dozer/other@s").done();
    south.zfs("create dozer/src").done();
    let client = share(&south, &scratch, "dozer/src");
    client.write_file("/f", 0o644, b"data").expect("written");
    south.zfs("set org.cistern:x=1 dozer/src").done();
    south.zfs("snapshot dozer/src@1").done();
    let plain = stream(&south, &scratch, "dozer/src@1");
    // Where he may not, there is nothing to be had: not even whether something is there.
    for dataset in ["dozer", "dozer/mine", "dozer/evilx", "dozer/evil/../mine", "dozer/none", "/etc", ""] {
        let (status, answer) = attacker.post("/peer/look", &claim(dataset));
        assert_eq!(status, 403, "{dataset}: {answer}");
        let (status, answer) = attacker.receive(&claim(dataset), &json!([]), &plain);
        assert_eq!(status, 403, "{dataset}: {answer}");
    }
    // What comes along sets nothing but what is on the list.
    let evil = json!([
        {"name": "mountpoint", "value": "/etc"}, {"name": "sharenfs", "value": "rw"},
        {"name": "readonly", "value": "off"}, {"name": "org.cistern:replica", "value": "north/away 7"},
        {"name": "setuid", "value": "on"}, {"name": "compression", "value": "zstd"}
    ]);
    let (status, answer) = attacker.receive(&claim("dozer/evil"), &evil, &plain);
    assert_eq!(status, 200, "{answer}");
    let got = |property: &str| value(&south, property, "dozer/evil");
    assert_eq!([got("compression"), got("readonly"), got("canmount")], ["zstd", "on", "noauto"]);
    assert_eq!([got("sharenfs"), got("org.cistern:replica")], ["off".to_owned(), "evil/evil 7".to_owned()]);
    assert_eq!(got("mountpoint"), "none");
    // A package could destroy and rename, and sets properties.
    south.zfs("snapshot dozer/src@2").done();
    for words in ["-R dozer/src@2", "-p dozer/src@2", "-I @1 dozer/src@2"] {
        let package = stream(&south, &scratch, words);
        for dataset in ["dozer/evil", "dozer/evil/new"] {
            let (status, answer) = attacker.receive(&claim(dataset), &json!([]), &package);
            assert_eq!(status, 409, "{words}: {answer}");
            assert!(answer["problem"]["detail"].to_string().contains("more than one snapshot"), "{answer}");
        }
    }
    // Broken, cut short, out of order, again: all of it is refused, and what was there stays.
    let later = stream(&south, &scratch, "-i @1 dozer/src@2");
    south.zfs("snapshot dozer/src@3").done();
    let gap = stream(&south, &scratch, "-i @2 dozer/src@3");
    let mut broken = later.clone();
    let middle = broken.len() / 2;
    broken[middle] ^= 0x40;
    for (what, bytes) in
        [("gap", &gap), ("broken", &broken), ("again", &plain), ("noise", &noise(3, 100_000))]
    {
        let (status, answer) = attacker.receive(&claim("dozer/evil"), &json!([]), bytes);
        assert!(status >= 400, "{what}: {answer}");
        assert_eq!(snapshot_names(&south, "dozer/evil"), ["1"], "{what}");
    }
    // As another service, or of another source, it is not his; nor is what was made here.
    south.zfs("snapshot dozer/evil@local").done();
    let guid = value(&south, "guid", "dozer/evil@local");
    let of_one = value(&south, "guid", "dozer/evil@1");
    let destroy = |claim: Value, snapshot: &str, guid: &str| {
        let guid: u64 = guid.parse().expect("a number");
        attacker.post("/peer/destroy", &json!({"claim": claim, "snapshot": snapshot, "guid": guid})).0
    };
    let other = json!({"service": "other", "source": 7, "dataset": "dozer/evil"});
    assert_eq!(destroy(other, "1", &of_one), 403);
    assert_eq!(destroy(json!({"service": "evil", "source": 8, "dataset": "dozer/evil"}), "1", &of_one), 403);
    assert_eq!(destroy(claim("dozer/evil"), "local", &guid), 403);
    assert_eq!(destroy(claim("dozer/evil"), "1", &guid), 403);
    assert_eq!(destroy(claim("dozer/mine"), "s", &value(&south, "guid", "dozer/mine@s")), 403);
    south.zfs("destroy dozer/evil@local").done();
    // What he did, and would have done, is in the audit log under his name.
    let noted = south.run(&["audit", "-H", "-n", "1000", "--user", "evil"]).done();
    for (status, target) in [("200", "dozer/evil, new"), ("403", "dozer/mine"), ("403", "dozer/evil@local")] {
        let is_it = |line: &str| {
            line.contains(target) && line.split('\t').any(|it| it == status) && line.contains("peer")
        };
        assert!(noted.lines().any(is_it), "{target}: {noted}");
    }
    // Append-only holds, whatever he sends.
    south.run(&["peer", "allow", "evil", "dozer/evil", "--append-only"]).done();
    let (status, answer) = attacker.receive(&claim("dozer/evil"), &json!([]), &later);
    assert_eq!(status, 200, "{answer}");
    assert_eq!(destroy(claim("dozer/evil"), "1", &of_one), 403);
    assert_eq!(snapshot_names(&south, "dozer/evil"), ["1", "2"]);
    // The one who has it decides what stays.
    south.run(&["peer", "allow", "evil", "dozer/evil", "--append-only", "--keep", "2"]).done();
    assert_eq!(attacker.receive(&claim("dozer/evil"), &json!([]), &gap).0, 200);
    assert_eq!(snapshot_names(&south, "dozer/evil"), ["2", "3"]);
    let noted = || south.run(&["audit", "-H", "-n", "1000", "--user", "evil"]).done();
    until("the record", || noted().contains("dozer/evil@1, destroyed"));
    // Silence, garbage and half a request end by themselves, and nobody else notices.
    for garbage in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"POST /peer/look HTTP/1.1\r\nContent-Length: 9\r\n\r\n{",
        &[0; 9_000],
    ] {
        drop(attacker.talk(garbage));
    }
    let long = json!({"service": "a".repeat(70_000), "source": 7, "dataset": "dozer/evil"});
    assert_eq!(attacker.post("/peer/look", &long).0, 400);
    // Removed, he is a stranger.
    south.run(&["peer", "remove", "evil"]).done();
    assert_eq!(attacker.post("/peer/look", &claim("dozer/evil")).0, 401);
    drop(client);
    std::thread::sleep(Duration::from_millis(100));
    south.stop();
    assert_clean(&scratch.path("dozer"), "dozer");
}

/// Who becomes a peer of one member of a group is one of all, without any right; who was removed
/// stays so; and each receiver can ask what comes to it.
#[test]
fn members_of_a_group_make_each_other_known() {
    let scratch = Scratch::new("peers-group");
    let quick = ["--checks-every", "1s"];
    let names = ["a", "b", "c"];
    let mut all = names.map(|name| {
        let port = crate::daemon::free_port("127.0.0.1");
        let https = format!("127.0.0.1:{port}");
        Daemon::start_with(&scratch, name, &[&["--https", &https], &quick[..]].concat())
    });
    let place = |of: usize| format!("127.0.0.1:{}", port_of(&all[of]));
    let join = |of: usize, group: &str| {
        let invite = ["peer", "invite", names[of], "--address", &place(of), "--group", group];
        let code = all[0].run(&invite).done();
        all[of].run(&["peer", "join", "a", &place(0), code.trim(), "--group", group]).done();
    };
    let listed = |of: usize| {
        let told: Value =
            serde_json::from_str(&all[of].run(&["peer", "list", "--json"]).done()).expect("JSON");
        let name = |peer: &Value| peer["name"].as_str().expect("a name").to_owned();
        let mut list: Vec<_> = told.as_array().expect("a list").iter().map(name).collect();
        list.sort();
        list
    };
    join(1, "lab");
    assert_eq!(listed(1), ["a"]);
    join(2, "lab");
    assert_eq!(listed(2), ["a", "b"], "who joins is told at once");
    until("the others are told", || listed(1) == ["a", "c"]);
    until("it answers", || all[1].run(&["peer", "check", "c"]).out.starts_with("it answers\n"));
    let shown = all[1].run(&["peer", "show", "c"]).done();
    assert!(shown.contains("group        lab") && !shown.contains("may send to"), "{shown}");
    // Who is removed stays so, whatever the others say.
    all[1].run(&["peer", "remove", "c"]).done();
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(listed(1), ["a"]);
    assert!(all[2].run(&["peer", "check", "b"]).err.contains("does not know this machine"));
    // He comes back when somebody says so.
    let fingerprint = id(&all[2]);
    all[1].run(&["peer", "add", "c", "--fingerprint", &fingerprint, "--address", &place(2)]).done();
    assert_eq!(listed(1), ["a", "c"]);
    let told = all[1].run(&["peer", "relations", "a"]).done();
    assert_eq!(told, "it replicates nothing to this appliance, and nothing from it\n");
    let wrong = all[1].run(&["peer", "set", "c", "--group", "Not One"]);
    assert!(wrong.status == 1 && !wrong.err.is_empty(), "{wrong:?}");
    all.iter_mut().for_each(Daemon::stop);
}
