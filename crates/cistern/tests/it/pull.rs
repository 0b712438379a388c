//! Replication that the receiver asks for: sources on hosts with OpenZFS's commands, by OpenSSH,
//! exact over kills of either side, renames, rollbacks, and more than one who pulls.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use crate::daemon::{Daemon, Ran, program, text};
use crate::failover::synced;
use crate::replication::{create, noise, own, run, share, snapshots, value};
use crate::services::{shown, state, svc};
use crate::site::{Site, Sources};
use crate::suspended::until;
use crate::zdb::assert_clean;

/// Who holds the newest snapshot that services have made of a dataset.
fn holder(daemon: &Daemon, dataset: &str) -> String {
    let newest = snapshots(daemon, dataset).pop().expect("one").1;
    daemon.run(&["zfs", "holds", "-H", &format!("{dataset}@{newest}")]).done()
}

#[test]
fn what_is_pulled_from_a_host_is_exact_and_stays_so() {
    let site = Site::new("pull", 384, Sources::There);
    let (here, there) = (&site.here, &site.there);
    there.zfs("create -o compression=lz4 -o exec=off tank/home").done();
    there.zfs("create -s -V 16M tank/home/vol").done();
    // No shell, no option, no pattern: names as they are.
    let odd = "tank/home/-o readonly:off .x";
    there.run(&["zfs", "create", "--", odd]).done();
    let client = share(there, &site.scratch, "tank/home");
    let large = noise(1, 5 << 20);
    client.write_file("/large", 0o640, &large).expect("written");
    let url = there.run(&["volume", "attach", "tank/home/vol"]).done().trim().to_owned();
    let disk = site.scratch.path("disk.raw");
    fs::write(&disk, [noise(2, 3 << 20), vec![0; 13 << 20]].concat()).expect("written");
    Ran::of(program("nbdcopy", 120).args(["--flush"]).arg(&disk).arg(&url)).done();

    site.pull("home", "tank/home", "dozer/home", &["--recursive", "--keep", "2"]);
    synced(&site.here, "home", 3);
    // All of one moment.
    let group = |dataset: &str| {
        there.run(&["zfs", "list", "-H", "-t", "snapshot", "-o", "createtxg", "-d", "1", dataset]).done()
    };
    assert!(group("tank/home") == group(odd) && group(odd) == group("tank/home/vol"), "{}", group(odd));
    let near_odd = odd.replace("tank", "dozer");
    for (of, to) in [("tank/home", "dozer/home"), (odd, near_odd.as_str())] {
        assert_eq!(snapshots(there, of), snapshots(here, to));
        assert_eq!(value(here, "readonly", to), "on");
        assert_eq!(value(here, "canmount", to), "noauto");
        assert_eq!(value(here, "org.cistern:replica", to), format!("home {}", value(there, "guid", of)));
    }
    // What says how data is written goes along, and what mounts, runs or shares does not.
    assert_eq!(value(here, "compression", "dozer/home"), "lz4");
    assert_eq!(value(here, "sharenfs", "dozer/home"), "off");
    assert_eq!(value(here, "exec", "dozer/home"), "on");
    let told = site.show("home");
    assert!(told.contains(&format!("from        {} and all below", site.sshd.url("tank/home"))), "{told}");
    assert!(told.contains("replica     tank/home/vol to dozer/home/vol: lags"), "{told}");

    // What changes follows, and only that is kept which is to be.
    std::thread::sleep(Duration::from_millis(1_100));
    client.write_file("/turn", 0o600, b"0").expect("written");
    let planned = svc(here, &["plan", "home"]).done();
    assert!(planned.contains("make     tank/home@sync-home-"), "{planned}");
    assert!(planned.contains(&format!("nothing  {near_odd} has all of {odd}")), "{planned}");
    for turn in 0..3_u8 {
        client.write_file("/turn", 0o600, &[turn; 1_000]).expect("written");
        site.run("home");
    }
    assert_eq!((own(there, "tank/home").len(), own(here, "dozer/home").len()), (1, 2));
    assert_eq!(own(there, odd).len(), 1, "what has not changed gets no more");
    assert!(holder(there, "tank/home").contains("org.cistern:"), "the base is held");
    let copy = share(here, &site.scratch, "dozer/home");
    assert!(copy.read_file("/large").expect("read") == large);
    assert_eq!(copy.read_file("/turn").expect("read"), [2; 1_000]);
    assert!(copy.write_file("/mine", 0o644, b"mine").is_err(), "a replica refuses writes");
    let url = here.run(&["volume", "attach", "dozer/home/vol"]).done().trim().to_owned();
    Ran::of(program("nbdcopy", 120).arg(&url).arg(site.scratch.path("back.raw"))).done();
    assert!(fs::read(site.scratch.path("back.raw")).expect("read") == fs::read(&disk).expect("read"));

    // What is new there comes along.
    there.zfs("create tank/home/new").done();
    site.run("home");
    synced(&site.here, "home", 4);
    assert_eq!(own(there, "tank/home/new"), own(here, "dozer/home/new"));
    let line = here.run(&["replica", "list"]).done();
    assert!(line.contains("dozer/home/new") && line.contains("home"), "{line}");
    let refused = svc(here, &["reverse", "home"]);
    assert!(refused.status == 1 && refused.err.contains("'home' pulls"), "{refused:?}");
    let told = here.run(&["replica", "promote", "dozer/home"]).done();
    assert!(told.contains("promoted   dozer/home: clients of its source start anew"), "{told}");
    assert!(told.contains("disabled   service home: it pulled what is promoted now"), "{told}");
    assert_eq!(state(here, "home"), "disabled");
    copy.write_file("/mine", 0o644, b"mine").expect("it is live");
    drop((client, copy));
    site.stop();
}

#[test]
fn a_source_that_is_renamed_goes_on_and_one_that_was_rolled_back_waits_for_a_person() {
    let site = Site::new("pull-moves", 256, Sources::There);
    let (here, there) = (&site.here, &site.there);
    there.zfs("create tank/a").done();
    there.zfs("create tank/a/b").done();
    let client = share(there, &site.scratch, "tank/a");
    client.write_file("/f", 0o644, b"one").expect("written");
    site.pull("s", "tank/a", "dozer/a", &["--recursive"]);
    synced(&site.here, "s", 2);
    let first = value(here, "guid", "dozer/a");
    drop(client);
    there.zfs("set sharenfs=off tank/a").done();
    there.zfs("rename tank/a tank/z").done();
    let client = share(there, &site.scratch, "tank/z");
    client.write_file("/f", 0o644, b"two").expect("written");
    site.run("s");
    assert_eq!(value(here, "guid", "dozer/a"), first, "it is the same replica");
    assert_eq!(own(there, "tank/z").last(), own(here, "dozer/a").last());
    assert!(site.show("s").contains(&site.sshd.url("tank/z")), "{}", site.show("s"));

    // Back to before what the replica has: it waits, and nothing is taken away on either side.
    there.zfs("snapshot tank/z@before").done();
    client.write_file("/f", 0o644, b"three").expect("written");
    site.run("s");
    let all: Vec<(String, String)> = snapshots(there, "tank/z");
    let had = snapshots(here, "dozer/a");
    for (_, name) in all.iter().filter(|(_, name)| name.starts_with("sync-")) {
        let held = there.run(&["zfs", "holds", "-H", &format!("tank/z@{name}")]).done();
        let tag = held.split('\t').nth(1).expect("a tag").to_owned();
        there.run(&["zfs", "release", &tag, &format!("tank/z@{name}")]).done();
    }
    there.zfs("rollback -r tank/z@before").done();
    client.write_file("/g", 0o644, b"another").expect("written");
    run(here, "s");
    assert_ne!(state(here, "s"), "online", "{}", site.show("s"));
    let told = site.show("s");
    assert!(
        told.contains("is not of the source") || told.contains("no snapshot that its source has"),
        "{told}"
    );
    assert_eq!(snapshots(here, "dozer/a"), had);
    assert!(own(there, "tank/z").len() <= 1);
    drop(client);
    site.stop();
}

#[test]
fn two_who_pull_by_one_name_know_their_own() {
    let site = Site::new("pull-two", 192, Sources::There);
    let there = &site.there;
    let mut other = Daemon::start_with(&site.scratch, "other", &[]);
    other.zpool(&format!("create -m none silo {}", site.scratch.image_in("three", "c", 192))).done();
    there.zfs("create tank/a").done();
    let client = share(there, &site.scratch, "tank/a");
    client.write_file("/f", 0o644, b"one").expect("written");
    site.pull("s", "tank/a", "dozer/a", &[]);
    synced(&site.here, "s", 1);
    create(&other, "s", &site.sshd.url("tank/a"), "silo/a", &[]);
    until("it waits for a person", || state(&other, "s") == "maintenance");
    let keys: Vec<String> = [&site.here, &other]
        .map(|daemon| fs::read_to_string(daemon.state.join("ssh/id_ed25519.pub")).expect("made"))
        .to_vec();
    site.sshd.authorize(keys.concat().trim());
    svc(&other, &["clear", "s"]).done();
    until("the other replica", || own(&other, "silo/a").len() == 1 && state(&other, "s") == "online");
    for turn in 0..2_u8 {
        client.write_file("/f", 0o644, &[turn; 100]).expect("written");
        site.run("s");
        run(&other, "s");
        assert_eq!(state(&other, "s"), "online", "{}", svc(&other, &["show", "s"]).out);
    }
    // Each has one base there, which it holds, and nothing of the other's is gone.
    let all = own(there, "tank/a");
    assert_eq!(all.len(), 2);
    assert_eq!(own(&site.here, "dozer/a").last(), all.first());
    assert_eq!(own(&other, "silo/a").last(), all.last());
    drop(client);
    other.stop();
    assert_clean(&site.scratch.path("three"), "silo");
    site.stop();
}

#[test]
fn a_stream_from_a_host_that_breaks_off_goes_on_where_it_was() {
    let mut site = Site::new("pull-breaks", 768, Sources::There);
    site.there.zfs("create tank/a").done();
    let client = share(&site.there, &site.scratch, "tank/a");
    let part = noise(7, 16 << 20);
    for number in 0..6 {
        client.write_file(&format!("/f{number}"), 0o644, &part[number..]).expect("written");
    }
    let is_sending = |daemon: &Daemon| {
        shown(daemon, "s")["sync"]["sending"]["bytes"].as_u64().is_some_and(|bytes| bytes > 24 << 20)
    };
    // The host dies in the middle of a stream, then this side.
    site.pull("s", "tank/a", "dozer/a", &["--limit", "24M"]);
    until("a stream", || is_sending(&site.here));
    assert!(site.show("s").contains("sending     tank/a@sync-s-"), "{}", site.show("s"));
    site.sshd.kill();
    until("the end of the run", || state(&site.here, "s") == "degraded");
    assert!(site.show("s").contains("cannot be reached"), "{}", site.show("s"));
    let token = || value(&site.here, "receive_resume_token", "dozer/a");
    assert!(token().starts_with("1-"));
    let made = own(&site.there, "tank/a");
    run(&site.here, "s");
    assert!(state(&site.here, "s") == "degraded" && site.show("s").contains("cannot be reached"));
    site.sshd.begin();
    svc(&site.here, &["run", "s"]).done();
    until("a stream again", || is_sending(&site.here));
    site.here.kill();
    site.here.begin();
    svc(&site.here, &["run", "s"]);
    synced(&site.here, "s", 1);
    assert_eq!(own(&site.there, "tank/a"), made, "nothing was made anew");
    assert_eq!(own(&site.here, "dozer/a"), made);
    let copy = share(&site.here, &site.scratch, "dozer/a");
    for number in 0..6 {
        assert!(copy.read_file(&format!("/f{number}")).expect("read") == part[number..], "{number}");
    }
    drop(copy);

    // The pool here is full: one snapshot waits there, and comes in the end.
    let (here, there) = (&site.here, &site.there);
    here.zfs("set quota=110M dozer/a").done();
    client.write_file("/last", 0o644, &noise(9, 32 << 20)).expect("written");
    for _ in 0..2 {
        run(here, "s");
        assert_eq!((state(here, "s").as_str(), own(there, "tank/a").len()), ("degraded", 2));
    }
    // Once too much is kept for it there, bookmarks take the place of both.
    svc(here, &["set", "s", "--absence", "1K"]).done();
    run(here, "s");
    assert_eq!(own(there, "tank/a").len(), 0, "{}", site.show("s"));
    let marks = there.run(&["zfs", "list", "-H", "-t", "bookmark", "-o", "name", "tank/a"]).done();
    assert!(marks.contains("tank/a#sync-s-"), "{marks}");
    here.zfs("set quota=none dozer/a").done();
    svc(here, &["set", "s", "--absence", "30d"]).done();
    site.run("s");
    assert_eq!(own(there, "tank/a").len(), 1);
    assert_eq!(own(here, "dozer/a").last(), own(there, "tank/a").last());
    let marks = there.run(&["zfs", "list", "-H", "-t", "bookmark", "-o", "name", "tank/a"]).done();
    assert_eq!(marks, "", "the snapshot is the base again");
    // The pool there is away, and comes back.
    drop(client);
    there.zfs("set sharenfs=off tank/a").done();
    there.zpool("export tank").done();
    run(here, "s");
    assert!(site.show("s").contains("has no pool 'tank' now"), "{}", site.show("s"));
    there.zpool(&format!("import -d {} tank", site.scratch.text("one"))).done();
    site.run("s");
    site.stop();
}

#[test]
fn a_host_that_answers_what_it_likes_is_told_and_takes_nothing_away() {
    let site = Site::new("pull-hostile", 192, Sources::There);
    site.there.zfs("create tank/a").done();
    let client = share(&site.there, &site.scratch, "tank/a");
    client.write_file("/f", 0o644, b"one").expect("written");
    site.pull("s", "tank/a", "dozer/a", &["--stuck-after", "10s"]);
    synced(&site.here, "s", 1);
    let had = snapshots(&site.here, "dozer/a");
    let bin = site.scratch.path("sshd/bin/zfs");
    let program = text(&fs::read_link(&bin).expect("a link"));
    let say = |script: &str| {
        drop(fs::remove_file(&bin));
        fs::write(&bin, format!("#!/bin/sh\n{script}\nexec {program} zfs \"$@\"\n")).expect("written");
        fs::set_permissions(&bin, PermissionsExt::from_mode(0o755)).expect("set");
    };
    let fails = |wanted: &str, why: &str| {
        client.write_file("/f", 0o644, why.as_bytes()).expect("written");
        run(&site.here, "s");
        until(why, || site.show("s").lines().any(|line| line.starts_with("cause") && line.contains(why)));
        until("the end of the run", || state(&site.here, "s") != "running");
        assert_eq!(state(&site.here, "s"), wanted, "{}", site.show("s"));
        assert_eq!(snapshots(&site.here, "dozer/a"), had, "{why}");
    };
    say("echo hello; exit 0");
    fails("degraded", "answers what 'zfs' does not: hello");
    say("case $1 in get) yes 'tank/a\tguid\t7\t-' | head -c 80000000; exit 0 ;; esac");
    fails("degraded", "too much");
    say("case $1 in list) echo \"cannot open 'tank': permission denied\" >&2; exit 1 ;; esac");
    fails("maintenance", "'zfs allow' there");
    say("");
    svc(&site.here, &["clear", "s"]).done();
    until("it looks by itself", || state(&site.here, "s") == "online");
    say("case $1-$2-$3-$4-$5 in send-*-nvP*) ;; send-*) head -c 3000000 /dev/urandom; exit 0 ;; esac");
    fails("degraded", "stream");
    say("case $1-$2-$3-$4-$5 in send-*-nvP*) ;; send-*) exec sleep 1000 ;; esac");
    fails("degraded", "no byte moved for 10 seconds");
    say("");
    site.run("s");
    assert_eq!(own(&site.there, "tank/a").last(), own(&site.here, "dozer/a").last());
    assert_eq!(own(&site.there, "tank/a").len(), 1);
    drop(client);
    site.stop();
}
