//! Replication that the receiver asks another appliance for: exact over kills of either side,
//! renames, rollbacks and what is taken away in the middle; and pullers who mean no good.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use crate::attacker::{Attacker, forged};
use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::failover::synced;
use crate::https::port_of;
use crate::libnfs::Client;
use crate::peers::{appliance, appliance_with, id};
use crate::replication::{create, noise, own, run, share, snapshots, value};
use crate::services::{shown, state, svc};
use crate::suspended::until;
use crate::zdb::assert_clean;

/// An appliance that has the sources, in `tank`, and one that pulls them to `dozer`.
struct Site {
    scratch: Scratch,
    far: Daemon,
    near: Daemon,
}

/// One becomes known as `name` on the one that has the sources, and knows that as `far`.
fn join(far: &Daemon, near: &Daemon, name: &str) {
    let code = far.run(&["peer", "invite", name]).done();
    let place = format!("127.0.0.1:{}", port_of(far));
    near.run(&["peer", "join", "far", &place, code.trim()]).done();
}

impl Site {
    fn new(name: &str, mib: u64) -> Site {
        Site::with(name, mib, &[])
    }

    /// `more`: of the one that has the sources.
    fn with(name: &str, mib: u64, more: &[&str]) -> Site {
        let scratch = Scratch::new(name);
        let far = appliance_with(&scratch, "far", "tank", mib, more);
        let near = appliance(&scratch, "near", "dozer", mib);
        join(&far, &near, "near");
        Site { scratch, far, near }
    }

    fn allow(&self, dataset: &str, more: &[&str]) {
        self.far.run(&[&["peer", "allow", "near", dataset, "--read"], more].concat()).done();
    }

    fn pull(&self, name: &str, from: &str, to: &str, more: &[&str]) {
        create(&self.near, name, &format!("peer://far/{from}"), to, more);
    }

    fn show(&self, name: &str) -> String {
        svc(&self.near, &["show", name]).done()
    }

    /// Runs a service, which succeeds.
    fn run(&self, name: &str) {
        run(&self.near, name);
        assert_eq!(state(&self.near, name), "online", "{}", self.show(name));
    }

    /// Runs a service, which fails for that reason.
    fn fails(&self, name: &str, wanted: &str, why: &str) {
        run(&self.near, name);
        let told = self.show(name);
        assert!(state(&self.near, name) == wanted && told.contains(why), "{why}: {told}");
    }

    /// Who holds a snapshot there.
    fn holders(&self, snapshot: &str) -> Vec<String> {
        let told = self.far.run(&["zfs", "holds", "-H", snapshot]).done();
        told.lines().filter_map(|line| Some(line.split('\t').nth(1)?.to_owned())).collect()
    }

    fn bookmarks(&self, dataset: &str) -> String {
        self.far.run(&["zfs", "list", "-H", "-t", "bookmark", "-o", "name", dataset]).done()
    }

    fn stop(mut self) {
        self.far.stop();
        self.near.stop();
        assert_clean(&self.scratch.path("tank"), "tank");
        assert_clean(&self.scratch.path("dozer"), "dozer");
    }
}

fn newest(daemon: &Daemon, dataset: &str) -> String {
    snapshots(daemon, dataset).pop().expect("one").1
}

#[test]
fn what_is_pulled_from_a_peer_is_exact_and_stays_so() {
    let site = Site::new("peer-pull", 384);
    let Site { scratch, far, near } = &site;
    far.zfs("create -o compression=lz4 -o exec=off tank/home").done();
    far.zfs("create -s -V 16M tank/home/vol").done();
    let odd = "tank/home/-o readonly:off .x";
    far.run(&["zfs", "create", "--", odd]).done();
    far.zfs("create tank/other").done();
    let client = share(far, scratch, "tank/home");
    let large = noise(1, 5 << 20);
    client.write_file("/large", 0o640, &large).expect("written");
    let url = far.run(&["volume", "attach", "tank/home/vol"]).done().trim().to_owned();
    let disk = scratch.path("disk.raw");
    fs::write(&disk, [noise(2, 3 << 20), vec![0; 13 << 20]].concat()).expect("written");
    Ran::of(program("nbdcopy", 120).args(["--flush"]).arg(&disk).arg(&url)).done();

    // Nothing may be read before that is allowed, and what is allowed is shown on both sides.
    site.pull("home", "tank/home", "dozer/home", &["--recursive", "--keep", "2"]);
    until("it waits for a person", || state(near, "home") == "maintenance");
    assert!(site.show("home").contains("this peer may not read 'tank/home'"), "{}", site.show("home"));
    assert!(!far.run(&["peer", "show", "near"]).done().contains("may read"));
    site.allow("tank/home", &["--snapshots"]);
    let rule = "tank/home and all below, and make snapshots of it, absence 30d\n";
    let told = far.run(&["peer", "show", "near"]).done();
    assert!(told.contains(&format!("may read     {rule}")), "{told}");
    let told = near.run(&["peer", "check", "far"]).done();
    assert!(told.contains(&format!("shows        {rule}")), "{told}");
    svc(near, &["clear", "home"]).done();
    synced(near, "home", 3);

    // All of one moment.
    let group = |dataset: &str| {
        far.run(&["zfs", "list", "-H", "-t", "snapshot", "-o", "createtxg", "-d", "1", dataset]).done()
    };
    assert!(group("tank/home") == group(odd) && group(odd) == group("tank/home/vol"), "{}", group(odd));
    let near_odd = odd.replace("tank", "dozer");
    for (of, to) in [("tank/home", "dozer/home"), (odd, near_odd.as_str())] {
        assert_eq!(snapshots(far, of), snapshots(near, to));
        assert_eq!(value(near, "readonly", to), "on");
        assert_eq!(value(near, "canmount", to), "noauto");
        assert_eq!(value(near, "org.cistern:replica", to), format!("home {}", value(far, "guid", of)));
    }
    assert_eq!(value(near, "compression", "dozer/home"), "lz4");
    assert_eq!(value(near, "sharenfs", "dozer/home"), "off");
    assert_eq!(value(near, "exec", "dozer/home"), "on");
    let told = site.show("home");
    assert!(told.contains("from        peer://far/tank/home and all below"), "{told}");
    assert!(told.contains("replica     tank/home/vol to dozer/home/vol: lags"), "{told}");
    let first = newest(far, "tank/home");
    assert_eq!(site.holders(&format!("tank/home@{first}")), ["org.cistern:pull/near/home"]);
    assert!(value(far, "org.cistern:sync", &format!("tank/home@{first}")).starts_with("pull/near/home "));

    // The one that has the source can ask how far that is.
    let there = format!("127.0.0.1:{}", port_of(near));
    far.run(&["peer", "set", "near", "--address", &there]).done();
    let told = far.run(&["peer", "relations", "near", "-H", "-p"]).done();
    let rows: Vec<Vec<&str>> = told.lines().map(|line| line.split('\t').collect()).collect();
    let row = rows.iter().find(|row| row[1] == "dozer/home").expect("a row");
    assert_eq!(row[..5], ["pulls", "dozer/home", "tank/home", "home", "online"]);
    assert!(row[5].parse::<u64>().is_ok_and(|lag| lag < 60), "{told}");

    // What changes follows, and only that is kept which is to be.
    std::thread::sleep(Duration::from_millis(1_100));
    client.write_file("/turn", 0o600, b"0").expect("written");
    let planned = svc(near, &["plan", "home"]).done();
    assert!(planned.contains("make     tank/home@sync-home-"), "{planned}");
    assert!(planned.contains(&format!("nothing  {near_odd} has all of {odd}")), "{planned}");
    for turn in 0..3_u8 {
        client.write_file("/turn", 0o600, &[turn; 1_000]).expect("written");
        site.run("home");
    }
    assert_eq!((own(far, "tank/home").len(), own(near, "dozer/home").len()), (1, 2));
    assert_eq!(own(far, odd).len(), 1, "what has not changed gets no more");
    let copy = share(near, scratch, "dozer/home");
    assert!(copy.read_file("/large").expect("read") == large);
    assert_eq!(copy.read_file("/turn").expect("read"), [2; 1_000]);
    assert!(copy.write_file("/mine", 0o644, b"mine").is_err(), "a replica refuses writes");
    let url = near.run(&["volume", "attach", "dozer/home/vol"]).done().trim().to_owned();
    Ran::of(program("nbdcopy", 120).arg(&url).arg(scratch.path("back.raw"))).done();
    assert!(fs::read(scratch.path("back.raw")).expect("read") == fs::read(&disk).expect("read"));

    // What is new there comes along.
    far.zfs("create tank/home/new").done();
    site.run("home");
    synced(near, "home", 4);
    assert_eq!(own(far, "tank/home/new"), own(near, "dozer/home/new"));
    let refused = svc(near, &["reverse", "home"]);
    assert!(refused.status == 1 && refused.err.contains("'home' pulls"), "{refused:?}");
    // The one that has the original is asked first.
    let refused = near.run(&["replica", "promote", "dozer/home"]);
    assert!(refused.err.contains("the original of dozer/home is in use on far"), "{refused:?}");
    far.zfs("set readonly=on tank/home").done();
    let told = near.run(&["replica", "promote", "dozer/home"]).done();
    assert!(told.contains("promoted   dozer/home: clients of its source start anew"), "{told}");
    assert!(told.contains("disabled   service home: it pulled what is promoted now"), "{told}");
    copy.write_file("/mine", 0o644, b"mine").expect("it is live");
    let wrong = svc(
        near,
        &["create", "auto-sync", "x", "--from", "peer://Far/tank/a", "--to", "dozer/x", "--schedule", "15m"],
    );
    assert!(wrong.err.contains("'Far' is no name of a peer"), "{wrong:?}");
    drop((client, copy));
    site.stop();
}

#[test]
fn what_is_kept_for_a_reader_that_is_away_has_a_budget() {
    let site = Site::with("peer-pull-away", 192, &["--trial"]);
    let Site { far, near, scratch } = &site;
    far.zfs("create tank/a").done();
    far.zfs("create tank/b").done();
    let client = share(far, scratch, "tank/a");
    client.write_file("/one", 0o644, b"1").expect("written");
    site.allow("tank/a", &["--snapshots", "--absence", "2d"]);
    site.allow("tank/b", &["--snapshots", "--absence", "none"]);
    for name in ["a", "b"] {
        site.pull(name, &format!("tank/{name}"), &format!("dozer/{name}"), &[]);
        synced(near, name, 1);
        svc(near, &["disable", name]).done();
    }
    let of = |name: &str| format!("tank/{name}@{}", newest(far, &format!("tank/{name}")));
    let (a, b) = (of("a"), of("b"));
    assert_eq!(site.holders(&a), ["org.cistern:pull/near/a"]);
    // Days go by there, and nobody comes.
    svc(far, &["create", "auto-snap", "days", "--target", "tank/b", "--level", "daily=3"]).done();
    until("a bookmark takes its place", || !site.bookmarks("tank/a").is_empty());
    svc(far, &["remove", "days"]).done();
    let mark = a.replace('@', "#near:a:");
    until("it is gone", || snapshots(far, "tank/a").is_empty());
    assert_eq!(site.bookmarks("tank/a").trim(), mark);
    // What has no bound stays.
    assert_eq!(site.holders(&b), ["org.cistern:pull/near/b"]);
    // Who comes back goes on from there.
    client.write_file("/two", 0o644, b"2").expect("written");
    svc(near, &["enable", "a"]).done();
    site.run("a");
    let copy = share(near, scratch, "dozer/a");
    assert_eq!(copy.read_file("/two").expect("read"), b"2");
    assert_eq!(newest(far, "tank/a"), newest(near, "dozer/a"));
    assert_eq!(site.bookmarks("tank/a"), "", "it is of no more use");
    drop((client, copy));
    site.stop();
}

#[test]
fn who_may_make_no_snapshots_gets_those_that_others_make() {
    let site = Site::new("peer-pull-read", 192);
    let Site { scratch, far, near } = &site;
    far.zfs("create tank/a").done();
    let client = share(far, scratch, "tank/a");
    site.allow("tank/a", &[]);
    site.pull("s", "tank/a", "dozer/a", &["--keep", "2"]);
    until("it has looked", || state(near, "s") == "degraded");
    assert!(site.show("s").contains("'tank/a' has no snapshot yet"), "{}", site.show("s"));
    for turn in 0..4_u8 {
        client.write_file("/f", 0o644, &[turn; 5_000]).expect("written");
        far.zfs(&format!("snapshot tank/a@hand{turn}")).done();
        client.write_file("/f", 0o644, b"is in none").expect("written");
        site.run("s");
        assert_eq!(newest(near, "dozer/a"), format!("hand{turn}"));
        assert_eq!(site.holders(&format!("tank/a@hand{turn}")), ["org.cistern:pull/near/s"]);
    }
    // It made none there, holds one, and keeps two of its own.
    assert_eq!(snapshots(far, "tank/a").len(), 4);
    assert_eq!(site.holders("tank/a@hand2"), [""; 0]);
    assert_eq!(snapshots(near, "dozer/a"), snapshots(far, "tank/a")[2..]);
    let copy = share(near, scratch, "dozer/a");
    assert_eq!(copy.read_file("/f").expect("read"), [3; 5_000]);
    drop(copy);
    // The one that it goes on from stays until it is away for too long; then a bookmark does.
    assert!(far.zfs("destroy tank/a@hand3").err.contains("hold"));
    near.zpool("export dozer").done();
    svc(near, &["set", "s", "--absence", "1s"]).done();
    run(near, "s");
    std::thread::sleep(Duration::from_millis(2_100));
    run(near, "s");
    assert_eq!(site.bookmarks("tank/a"), "tank/a#near:s:hand3\n", "{}", site.show("s"));
    far.zfs("destroy tank/a@hand3").done();
    client.write_file("/f", 0o644, b"last").expect("written");
    far.zfs("snapshot tank/a@hand4").done();
    near.zpool(&format!("import -d {} dozer", scratch.text("dozer"))).done();
    svc(near, &["set", "s", "--absence", "30d"]).done();
    site.run("s");
    assert_eq!((newest(near, "dozer/a").as_str(), site.bookmarks("tank/a").as_str()), ("hand4", ""));
    drop(client);
    site.stop();
}

#[test]
fn a_source_that_moves_goes_on_and_one_that_goes_back_or_away_takes_nothing_along() {
    let site = Site::new("peer-pull-moves", 256);
    let Site { scratch, far, near } = &site;
    far.zfs("create tank/in").done();
    far.zfs("create tank/in/a").done();
    far.zfs("create tank/in/a/b").done();
    let client = share(far, scratch, "tank/in/a");
    client.write_file("/f", 0o644, b"one").expect("written");
    site.allow("tank/in", &["--snapshots"]);
    site.pull("s", "tank/in/a", "dozer/a", &["--recursive"]);
    synced(near, "s", 2);
    let first = value(near, "guid", "dozer/a");
    drop(client);
    far.zfs("set sharenfs=off tank/in/a").done();
    far.zfs("rename tank/in/a tank/in/z").done();
    let client = share(far, scratch, "tank/in/z");
    client.write_file("/f", 0o644, b"two").expect("written");
    site.run("s");
    assert_eq!(value(near, "guid", "dozer/a"), first, "it is the same replica");
    assert_eq!(own(far, "tank/in/z").last(), own(near, "dozer/a").last());
    assert!(site.show("s").contains("peer://far/tank/in/z"), "{}", site.show("s"));

    // Back to before what the replica has: it waits, and nothing is taken away on either side.
    far.zfs("snapshot tank/in/z@before").done();
    client.write_file("/f", 0o644, b"three").expect("written");
    site.run("s");
    let had = snapshots(near, "dozer/a");
    for (_, name) in snapshots(far, "tank/in/z").iter().filter(|(_, name)| name.starts_with("sync-")) {
        let held = format!("tank/in/z@{name}");
        for tag in site.holders(&held) {
            far.run(&["zfs", "release", &tag, &held]).done();
        }
    }
    far.zfs("rollback -r tank/in/z@before").done();
    client.write_file("/g", 0o644, b"another").expect("written");
    run(near, "s");
    assert_ne!(state(near, "s"), "online", "{}", site.show("s"));
    let told = site.show("s");
    assert!(
        told.contains("is not of the source") || told.contains("no snapshot that its source has"),
        "{told}"
    );
    assert_eq!(snapshots(near, "dozer/a"), had);

    // Out of what may be read it is gone, and there again once it is back; so is one that was
    // destroyed, but for ever.
    drop(client);
    far.zfs("set sharenfs=off tank/in/z").done();
    far.zfs("rename tank/in/z tank/out").done();
    svc(near, &["clear", "s"]).done();
    run(near, "s");
    assert!(!site.show("s").contains("tank/out"), "{}", site.show("s"));
    far.zfs("rename tank/out tank/in/z").done();
    run(near, "s");
    assert!(site.show("s").contains("replica     tank/in/z to dozer/a"), "{}", site.show("s"));
    let all = far.zfs("list -H -t snapshot -o name -r tank/in").done();
    for held in all.lines() {
        for tag in site.holders(held) {
            far.run(&["zfs", "release", &tag, held]).done();
        }
    }
    far.zfs("destroy -r tank/in").done();
    svc(near, &["clear", "s"]).done();
    run(near, "s");
    assert_eq!(snapshots(near, "dozer/a"), had, "{}", site.show("s"));
    site.stop();
}

#[test]
fn two_peers_who_pull_by_one_name_know_their_own() {
    let site = Site::new("peer-pull-two", 192);
    let Site { scratch, far, near } = &site;
    let mut other = appliance(scratch, "other", "silo", 192);
    join(far, &other, "other");
    far.zfs("create tank/a").done();
    let client = share(far, scratch, "tank/a");
    client.write_file("/f", 0o644, b"one").expect("written");
    for name in ["near", "other"] {
        far.run(&["peer", "allow", name, "tank/a", "--read", "--snapshots"]).done();
    }
    site.pull("s", "tank/a", "dozer/a", &[]);
    synced(near, "s", 1);
    create(&other, "s", "peer://far/tank/a", "silo/a", &[]);
    synced(&other, "s", 1);
    for turn in 0..2_u8 {
        client.write_file("/f", 0o644, &[turn; 100]).expect("written");
        site.run("s");
        run(&other, "s");
        assert_eq!(state(&other, "s"), "online", "{}", svc(&other, &["show", "s"]).out);
    }
    // Each has one base there, which it holds, and nothing of the other's is gone.
    let all = own(far, "tank/a");
    assert_eq!(all.len(), 2);
    assert_eq!(own(near, "dozer/a").last(), all.first());
    assert_eq!(own(&other, "silo/a").last(), all.last());
    // One is a peer no more, and the other goes on.
    far.run(&["peer", "remove", "near"]).done();
    client.write_file("/f", 0o644, b"last").expect("written");
    site.fails("s", "maintenance", "'far' does not know this machine");
    run(&other, "s");
    assert_eq!(state(&other, "s"), "online");
    assert_eq!(own(far, "tank/a").len(), 2, "what the other one had is left as it is");
    drop(client);
    other.stop();
    assert_clean(&scratch.path("silo"), "silo");
    site.stop();
}

#[test]
fn a_stream_from_a_peer_that_breaks_off_goes_on_where_it_was() {
    let mut site = Site::new("peer-pull-breaks", 768);
    site.far.zfs("create tank/a").done();
    let client = share(&site.far, &site.scratch, "tank/a");
    let part = noise(7, 16 << 20);
    for number in 0..6 {
        client.write_file(&format!("/f{number}"), 0o644, &part[number..]).expect("written");
    }
    drop(client);
    let sent = |daemon: &Daemon| shown(daemon, "s")["sync"]["sending"]["bytes"].as_u64().unwrap_or(0);
    let is_sending = |daemon: &Daemon| sent(daemon) > 6 << 20;
    // The one that has it dies in the middle of a stream.
    site.allow("tank/a", &["--snapshots"]);
    site.pull("s", "tank/a", "dozer/a", &["--limit", "8M", "--stuck-after", "10s"]);
    until("a stream", || is_sending(&site.near));
    assert!(site.show("s").contains("sending     tank/a@sync-s-"), "{}", site.show("s"));
    site.far.kill();
    until("the end of the run", || state(&site.near, "s") == "degraded");
    let token = |site: &Site| value(&site.near, "receive_resume_token", "dozer/a");
    assert!(token(&site).starts_with("1-"));
    run(&site.near, "s");
    assert!(site.show("s").contains("'far' cannot be reached"), "{}", site.show("s"));
    site.far.begin();
    let made = own(&site.far, "tank/a");
    // What it may read is taken away in the middle: the stream ends soon, and nothing is lost.
    svc(&site.near, &["run", "s"]).done();
    until("a stream again", || is_sending(&site.near));
    assert_eq!(own(&site.far, "tank/a"), made, "it is the rest of the same");
    site.far.run(&["peer", "deny", "near", "tank/a", "--read"]).done();
    until("the end of the run", || state(&site.near, "s") == "maintenance");
    assert!(site.show("s").contains("this peer may not read 'tank/a'"), "{}", site.show("s"));
    assert!(token(&site).starts_with("1-"));
    site.allow("tank/a", &["--snapshots"]);
    svc(&site.near, &["clear", "s"]).done();
    // It says nothing any more.
    until("a stream again", || is_sending(&site.near));
    assert_eq!(own(&site.far, "tank/a"), made, "it is the rest of the same");
    site.far.signal("-STOP");
    until("the end of the run", || state(&site.near, "s") == "degraded");
    assert!(site.show("s").contains("no byte moved for 10 seconds"), "{}", site.show("s"));
    site.far.signal("-CONT");
    // The one that pulls dies.
    svc(&site.near, &["run", "s"]).done();
    until("a stream again", || sent(&site.near) > 4 << 20);
    assert_eq!(own(&site.far, "tank/a"), made, "it is the rest of the same");
    site.near.kill();
    site.near.begin();
    svc(&site.near, &["run", "s"]);
    synced(&site.near, "s", 1);
    assert_eq!(own(&site.near, "dozer/a").first(), made.first(), "nothing was made anew");
    assert_eq!(own(&site.near, "dozer/a").last(), own(&site.far, "tank/a").last());
    let copy = share(&site.near, &site.scratch, "dozer/a");
    for number in 0..6 {
        assert!(copy.read_file(&format!("/f{number}")).expect("read") == part[number..], "{number}");
    }
    drop(copy);

    // The pool here is full: one snapshot waits there, and comes in the end.
    let (near, far) = (&site.near, &site.far);
    let client = Client::mount(far, &site.scratch.text("tank-a")).expect("mounted");
    near.zfs("set quota=110M dozer/a").done();
    client.write_file("/last", 0o644, &noise(9, 32 << 20)).expect("written");
    for _ in 0..2 {
        run(near, "s");
        assert_eq!((state(near, "s").as_str(), own(far, "tank/a").len()), ("degraded", 2));
    }
    // Once too much is kept for it there, bookmarks take the place of both.
    svc(near, &["set", "s", "--absence", "1K"]).done();
    run(near, "s");
    assert_eq!(own(far, "tank/a").len(), 0, "{}", site.show("s"));
    assert!(site.bookmarks("tank/a").contains("tank/a#near:s:sync-s-"), "{}", site.bookmarks("tank/a"));
    near.zfs("set quota=none dozer/a").done();
    svc(near, &["set", "s", "--absence", "30d"]).done();
    site.run("s");
    assert_eq!(own(far, "tank/a").len(), 1);
    assert_eq!(own(near, "dozer/a").last(), own(far, "tank/a").last());
    assert_eq!(site.bookmarks("tank/a"), "", "the snapshot is the base again");
    // The pool there is away, and comes back.
    drop(client);
    far.zfs("set sharenfs=off tank/a").done();
    far.zpool("export tank").done();
    site.fails("s", "degraded", "no such pool");
    far.zpool(&format!("import -d {} tank", site.scratch.text("tank"))).done();
    site.run("s");
    site.stop();
}

/// One who may read a dataset, and asks for all else.
#[test]
fn a_peer_reads_what_it_may_and_nothing_else() {
    let scratch = Scratch::new("peer-pull-attack");
    let mut far = appliance(&scratch, "far", "tank", 256);
    let attacker = Attacker::new(&scratch, &far);
    for dataset in ["tank/open", "tank/open/below", "tank/openx", "tank/shut"] {
        far.zfs(&format!("create {dataset}")).done();
    }
    let clients = ["tank/open", "tank/shut"].map(|dataset| share(&far, &scratch, dataset));
    clients[0].write_file("/f", 0o644, b"an open word").expect("written");
    clients[0].write_file("/large", 0o644, &noise(3, 2 << 20)).expect("written");
    clients[1].write_file("/f", 0o644, b"a shut word").expect("written");
    far.zfs("snapshot -r tank@1").done();
    far.zfs("bookmark tank/open@1 tank/open#mine").done();
    far.zfs("hold mine tank/open@1").done();
    let guid = |of: &str| value(&far, "guid", of).parse::<u64>().expect("a number");
    let claim = |dataset: &str, guid: u64| json!({"service": "evil", "dataset": dataset, "guid": guid});
    let open = || claim("tank/open", guid("tank/open"));
    let read = |claim: &Value| {
        attacker.post("/peer/source/read", &json!({"claim": claim, "counts": true, "anew": true}))
    };
    let change = |claim: &Value, step: Value| {
        attacker.post("/peer/source/change", &json!({"claim": claim, "step": step, "at": 1_790_000_000_i64}))
    };
    let fetch = |claim: &Value, content: Value| {
        attacker.post("/peer/source/send", &json!({"claim": claim, "content": content}))
    };
    let all = |from: Value| json!({"snapshot": {"snapshot": "1", "from": from}});
    let rest = |token: &str| json!({"rest": {"token": token}});
    let names = |dataset: &str, guid: Option<u64>| {
        attacker.post("/peer/source/names", &json!({"dataset": dataset, "guid": guid}))
    };
    let make = |name: &str| json!({"kind": "snapshot", "snapshot": name});

    // A stranger, and a peer that may read nothing, is told nothing.
    assert_eq!(names("tank/open", None).0, 401);
    assert_eq!(read(&open()).0, 401);
    far.run(&["peer", "add", "evil", "--fingerprint", &attacker.fingerprint()]).done();
    let refused = |what: &str, (status, answer): (u16, Value)| {
        assert!((400..500).contains(&status), "{what}: {status} {answer}");
        assert!(!answer.to_string().contains("word"), "{what}: {answer}");
    };
    refused("names", names("tank/open", None));
    refused("read", read(&open()));
    refused("send", fetch(&open(), all(Value::Null)));
    far.run(&["peer", "allow", "evil", "tank/open", "--read"]).done();

    // It sees what it may, and what is below.
    let (status, answer) = names("tank/open", None);
    assert_eq!(
        (status, answer),
        (200, json!([["tank/open", guid("tank/open")], ["tank/open/below", guid("tank/open/below")]]))
    );
    let (status, answer) = read(&open());
    assert_eq!((status, answer["source"]["snapshots"][0]["name"].as_str()), (200, Some("1")), "{answer}");
    let told = attacker.talk(&attacker.request(
        "/peer/source/send",
        json!({"claim": open(), "content": all(Value::Null)}).to_string().as_bytes(),
    ));
    let has = |bytes: &[u8], word: &str| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    assert!(has(&told, "200 OK") && has(&told, "an open word") && has(&told, "\"done\""));

    // Of anything else not even that it is there.
    for dataset in [
        "tank",
        "tank/openx",
        "tank/shut",
        "tank/none",
        "tank/open/../shut",
        "tank/open@1",
        "/etc",
        "",
        "none",
    ] {
        let guid = if dataset == "tank/shut" { guid(dataset) } else { 7 };
        refused(dataset, names(dataset, None));
        refused(dataset, names(dataset, Some(guid)));
        refused(dataset, read(&claim(dataset, guid)));
        refused(dataset, fetch(&claim(dataset, guid), all(Value::Null)));
        refused(dataset, change(&claim(dataset, guid), json!({"kind": "hold", "snapshot": "1"})));
        refused(
            dataset,
            attacker.post("/peer/source/rest", &json!({"claim": claim(dataset, guid), "token": "1-1-1-1"})),
        );
    }
    // Nor by a guid, a name within a name, or another's.
    assert_eq!(names("tank/open", Some(guid("tank/shut"))), (200, json!([])));
    refused("another guid", read(&claim("tank/open", guid("tank/shut"))));
    refused("another guid", fetch(&claim("tank/open", guid("tank/shut")), all(Value::Null)));
    for name in ["1/../../shut@1", "x@1", "1,2", "%recv", "", "--", "1%1", "../shut@1", "1#1"] {
        refused(name, fetch(&open(), json!({"snapshot": {"snapshot": name, "from": null}})));
        for from in [format!("@{name}"), format!("#{name}"), name.to_owned(), format!("tank/shut@{name}")] {
            refused(&from, fetch(&open(), all(json!(from))));
        }
        for kind in ["hold", "release", "bookmark"] {
            refused(name, change(&open(), json!({"kind": kind, "snapshot": name})));
        }
    }
    // Who may make no snapshots makes none, and destroys none.
    refused("make", change(&open(), make("sync-evil-1")));
    let destroy =
        |name: &str, guid: u64| json!({"kind": "destroy", "side": "source", "name": name, "guid": guid});
    refused("destroy", change(&open(), destroy("@1", guid("tank/open@1"))));

    // Tokens of what it may not have: of a snapshot of another dataset, under its own name or that
    // of what it may read, and from one.
    let token = |what: &str, of: &str| {
        let (cut, to) = (scratch.path("cut"), format!("tank/part-{what}"));
        let sent = far
            .command(&[&["zfs", "send"], &of.split(' ').collect::<Vec<_>>()[..]].concat())
            .output()
            .expect("sent");
        fs::write(&cut, &sent.stdout[..sent.stdout.len() * 2 / 3]).expect("written");
        if what == "next" {
            let whole = far.command(&["zfs", "send", "tank/open@1"]).output().expect("sent");
            fs::write(scratch.path("whole"), whole.stdout).expect("written");
            let taken = far
                .command(&["zfs", "receive", &to])
                .stdin(fs::File::open(scratch.path("whole")).expect("it"))
                .status();
            assert!(taken.expect("received").success());
        }
        let mut receive = far.command(&["zfs", "receive", "-s", &to]);
        assert!(
            !receive.stdin(fs::File::open(&cut).expect("it is there")).status().expect("it runs").success()
        );
        value(&far, "receive_resume_token", &to)
    };
    clients[0].write_file("/next", 0o644, &noise(4, 2 << 20)).expect("written");
    far.zfs("snapshot tank/open@2").done();
    let (whole, next) = (token("whole", "tank/open@1"), token("next", "-i @1 tank/open@2"));
    for part in ["tank/part-whole", "tank/part-next"] {
        far.run(&["zfs", "receive", "-A", part]).done();
    }
    far.zfs("destroy -r tank/part-next").done();
    let (own_guid, other) = (guid("tank/open@1"), guid("tank/shut@1"));
    let bytes = |guid: u64| guid.to_le_bytes();
    let (own_bytes, other_bytes) = (bytes(own_guid), bytes(other));
    let named: (&[u8], &[u8]) = (b"tank/open@1", b"tank/shut@1");
    let ours: (&[u8], &[u8]) = (&own_bytes, &other_bytes);
    let is_rest = |token: &str| attacker.post("/peer/source/rest", &json!({"claim": open(), "token": token}));
    for (what, token) in [
        ("another's", forged(&whole, &[named, ours])),
        ("another's under a name of ours", forged(&whole, &[ours])),
        ("from another's", forged(&next, &[ours])),
        ("a dataset", forged(&whole, &[(b"tank/open@1", b"tank/open\0\0")])),
        ("nothing", "1-0-0-0".to_owned()),
    ] {
        assert_eq!(is_rest(&token), (200, json!(false)), "{what}");
        refused(what, fetch(&open(), rest(&token)));
    }
    for token in [&whole, &next, &forged(&whole, &[named])] {
        // What it may have, it is sent, whatever that is called.
        let question = json!({"claim": open(), "content": rest(token)}).to_string();
        let told = attacker.talk(&attacker.request("/peer/source/send", question.as_bytes()));
        let start = String::from_utf8_lossy(&told[..told.len().min(2_000)]);
        assert!(has(&told, "200 OK") && has(&told, "tank/open@") && !has(&told, "tank/shut"), "{start}");
        assert_eq!(is_rest(token), (200, json!(true)));
    }

    // With the right to make some it makes its own, and has nothing of others'.
    far.run(&["peer", "allow", "evil", "tank/open", "--read", "--snapshots"]).done();
    for name in ["1x", "sync-other-1", "sync-evil-", "sync-evil-1@2", "auto-1"] {
        refused(name, change(&open(), make(name)));
    }
    assert_eq!(change(&open(), make("sync-evil-1")).0, 200);
    assert!(value(&far, "org.cistern:sync", "tank/open@sync-evil-1").starts_with("pull/evil/evil "));
    let made = guid("tank/open@sync-evil-1");
    let other_service = json!({"service": "other", "dataset": "tank/open", "guid": guid("tank/open")});
    for (what, claim, step) in [
        ("another's", open(), destroy("@1", own_guid)),
        ("under another guid", open(), destroy("@sync-evil-1", own_guid)),
        ("as another service", other_service, destroy("@sync-evil-1", made)),
        ("another's bookmark", open(), destroy("#mine", own_guid)),
        ("a dataset", open(), destroy("", guid("tank/open"))),
        ("below", open(), destroy("/below", 7)),
        ("many", open(), destroy("@1,sync-evil-1", made)),
        ("a range", open(), destroy("@1%sync-evil-1", made)),
        ("there", open(), json!({"kind": "destroy", "side": "replica", "name": "@1", "guid": own_guid})),
        ("no step", open(), json!({"kind": "abort"})),
    ] {
        refused(what, change(&claim, step));
    }
    // Another's hold is not its own, and its own is.
    let step = |kind: &str, name: &str| json!({"kind": kind, "snapshot": name});
    refused("another's hold", change(&open(), step("release", "1")));
    assert_eq!(change(&open(), step("hold", "1")).0, 200);
    assert_eq!(change(&open(), step("release", "1")).0, 200);
    let held = far.run(&["zfs", "holds", "-H", "tank/open@1"]).done();
    assert!(held.contains("\tmine\t") && held.lines().count() == 1, "{held}");
    assert_eq!(change(&open(), step("bookmark", "1")).0, 200);
    let marks = far.zfs("list -H -t bookmark -o name tank/open").done();
    assert_eq!(marks, "tank/open#evil:evil:1\ntank/open#mine\n");
    assert_eq!(change(&open(), destroy("#evil:evil:1", own_guid)).0, 200);
    // There is an end to what it makes, whatever its services are called, and however it asks.
    let service = |number: u32| json!({"service": format!("s{number}"), "dataset": "tank/open", "guid": guid("tank/open")});
    let last = (0..40)
        .take_while(|number| change(&service(*number), make(&format!("sync-s{number}-1"))).0 == 200)
        .count();
    assert_eq!(last, 15);
    let many: Vec<Value> = (0..30)
        .map(|number| {
            json!([claim("tank/open/below", guid("tank/open/below")), format!("sync-evil-{number}")])
        })
        .collect();
    refused("many", attacker.post("/peer/source/make", &json!({"wanted": many, "at": 1_790_000_000_i64})));
    assert_eq!(snapshots(&far, "tank/open/below").len(), 1);
    let last = (0..40).take_while(|number| change(&service(*number), step("hold", "1")).0 == 200).count();
    assert_eq!(last, 16);
    let noted = || far.run(&["audit", "-H", "-n", "1000", "--user", "evil"]).done();
    for target in [
        "make tank/open@sync-evil-1",
        "hold tank/open@1",
        "destroy tank/open#evil:evil:1",
        "send tank/open@1",
    ] {
        until(target, || noted().contains(target));
    }
    // Of one that asks so often not every refusal is kept.
    until("a refusal is noted", || {
        refused("destroy", change(&open(), destroy("@1", guid("tank/open@1"))));
        noted().contains("destroy tank/open@1")
    });
    // What it was sent, held and made is of no use to it for what it keeps here, nor the other way:
    // append-only holds.
    far.run(&["peer", "allow", "evil", "tank/kept", "--append-only"]).done();
    far.run(&["peer", "allow", "evil", "tank/kept", "--read", "--snapshots"]).done();
    let stream = scratch.path("stream");
    let command = far
        .command(&["zfs", "send", "tank/open@1"])
        .stdout(fs::File::create(&stream).expect("made"))
        .status();
    assert!(command.expect("sent").success());
    let kept = json!({"service": "evil", "source": 9, "dataset": "tank/kept"});
    let (status, answer) = attacker.receive(&kept, &json!([]), &fs::read(&stream).expect("read"));
    assert_eq!(status, 200, "{answer}");
    let own = claim("tank/kept", guid("tank/kept"));
    refused("its replica", change(&own, make("sync-evil-1")));
    refused("its replica", change(&own, destroy("@1", guid("tank/kept@1"))));
    assert_eq!(snapshots(&far, "tank/kept").len(), 1);
    // Silence and half a request end by themselves; what is taken away is away at once.
    drop(attacker.talk(b"POST /peer/source/send HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"));
    far.run(&["peer", "deny", "evil", "tank/open", "--read"]).done();
    refused("denied", read(&open()));
    far.run(&["peer", "remove", "evil"]).done();
    assert_eq!(read(&open()).0, 401);
    assert_eq!(id(&far).len(), 95);
    drop(clients);
    far.stop();
    assert_clean(&scratch.path("tank"), "tank");
}
