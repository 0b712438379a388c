//! Fail-over: NFS clients with open files and initiators with a session go on at a replica that was
//! promoted, and back; nothing is lost untold, and nobody takes the place of another by a claim.

use load::{Initiator, Unit};
use serde_json::Value;

use crate::daemon::{Daemon, Ran, Scratch, program};
use crate::iscsi::{LISTEN, portal};
use crate::libnfs::Client;
use crate::nfs3::File;
use crate::peers::{appliance, pair, same};
use crate::replication::{create, pools, run, share, value};
use crate::services::{shown, state, svc};
use crate::suspended::until;
use crate::zdb::assert_clean;

/// The target that the volume is in, wherever it lies.
pub const TARGET: &str = "iqn.2026-01.org.example:home";

pub fn replica(daemon: &Daemon, words: &[&str]) -> Ran {
    daemon.run(&[&["replica"], words].concat())
}

/// Why something was refused.
pub fn refused(ran: Ran) -> String {
    assert!(ran.status != 0, "{}", ran.out);
    ran.out + &ran.err
}

/// The service has looked, and all is there.
pub fn synced(daemon: &Daemon, service: &str, replicas: usize) {
    until("all replicas", || {
        let status = shown(daemon, service);
        let found = status["sync"]["replicas"].as_array().expect("a list").clone();
        found.len() == replicas && found.iter().all(|it| !it["current"].is_null())
    });
    until("the end of the run", || state(daemon, service) == "online");
}

/// What a unit says of itself: its serial number as libiscsi is told it, and the page of its names
/// with its NAA, byte by byte.
pub fn names(url: &str) -> (String, Vec<u8>) {
    let serial = Ran::of(program("iscsi-inq", 60).args(["-e", "1", "-c", "128", url])).done();
    let unit = Unit::parse(url).expect("a place");
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    let page = initiator.call(&unit, &[0x12, 1, 0x83, 0, 255, 0], &[], 255).expect("the page");
    (serial, page)
}

/// What initiators are told of a unit that is another one now.
pub fn settle(initiator: &mut Initiator, unit: &Unit) {
    until("the unit", || initiator.call(unit, &[0; 6], &[], 0).is_ok());
}

pub fn serve(daemon: &Daemon, volume: &str) {
    daemon.zfs(&format!("set cistern:iscsi=target={TARGET},lun=0 {volume}")).done();
}

#[test]
fn clients_go_on_at_the_replica_and_back() {
    let scratch = Scratch::new("failover");
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    pools(&scratch, &daemon, (256, 256));
    for pool in ["tank", "backup"] {
        daemon.zfs(&format!("set atime=off {pool}")).done();
    }
    daemon.zfs("create tank/home").done();
    daemon.zfs("create -s -V 32M tank/home/disk").done();
    serve(&daemon, "tank/home/disk");
    let client = share(&daemon, &scratch, "tank/home");
    client.write_file("/f", 0o644, b"one, two, three").expect("written");
    client.mkdir("/d", 0o755).expect("made");
    let url = format!("iscsi://{}/{TARGET}/0", portal(&daemon));
    let unit = Unit::parse(&url).expect("a place");
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    initiator.write(&unit, 0, &[1; 512]).expect("written");
    initiator.flush(&unit).expect("flushed");
    create(&daemon, "away", "tank/home", "backup/home", &["--recursive"]);
    synced(&daemon, "away", 2);
    let (disk, before) = (names(&url), client.stat("/f").expect("it is there"));
    let serial: u64 = value(&daemon, "guid", "tank/home/disk").parse().expect("a number");
    assert!(disk.0.contains(&format!("{serial:016x}")), "{}", disk.0);
    let listed = daemon.zfs("list -H -t snapshot -o name -d 1 tank/home").done();
    let (_, made) = listed.trim().split_once('@').expect("one snapshot");
    let old = client.open(&format!("/.zfs/snapshot/{made}/f"), libc::O_RDONLY).expect("opened");
    let open = client.open("/f", libc::O_RDWR).expect("opened");

    // What the replica has not, it is told before.
    open.write(0, b"ONE").expect("written");
    open.sync().expect("on disk");
    let told = replica(&daemon, &["lost", "backup/home"]).done();
    assert!(told.contains("lost would be ") && told.contains(" of tank/home\n"), "{told}");
    assert!(told.contains("nothing of tank/home/disk would be lost"), "{told}");
    let told = refused(replica(&daemon, &["promote", "backup/home"]));
    assert!(told.contains("tank/home is here and in use"), "{told}");

    // The pool is lost, and the replica takes its place: the same handles, the same disk.
    daemon.zpool("export -f tank").done();
    let told = replica(&daemon, &["lost", "backup/home"]).done();
    assert!(told.contains("its source is not here"), "{told}");
    let told = replica(&daemon, &["promote", "backup/home"]).done();
    assert_eq!(told.matches("clients of its source go on").count(), 2, "{told}");
    assert!(told.contains("disabled   service away"), "{told}");
    let copy = share(&daemon, &scratch, "backup/home");
    serve(&daemon, "backup/home/disk");
    assert_eq!(open.read(0, 64).expect("the same handle"), b"one, two, three");
    open.write(0, b"1").expect("written");
    open.sync().expect("on disk");
    let after = client.stat("/f").expect("it is there");
    assert_eq!(
        (before.dev, before.ino),
        (after.dev, after.ino),
        "it is the same file of the same file system"
    );
    assert_eq!(old.read(0, 64).expect("the same snapshot"), b"one, two, three");
    client.write_file("/d/g", 0o644, b"new").expect("written");
    assert_eq!(copy.read_file("/f").expect("read"), b"1ne, two, three");
    assert_eq!(names(&url), disk);
    settle(&mut initiator, &unit);
    assert_eq!(initiator.read(&unit, 0, 512).expect("read"), [1; 512]);
    initiator.write(&unit, 0, &[2; 512]).expect("written");
    initiator.flush(&unit).expect("flushed");

    // It is so after the daemon was killed; and the original comes back, and takes nobody's
    // clients.
    let url = again(&mut daemon, &scratch, &disk);
    let unit = Unit::parse(&url).expect("a place");
    let client = Client::mount(&daemon, &scratch.text("backup-home")).expect("mounted");
    assert_eq!(client.stat("/f").expect("it is there").dev, before.dev);
    let open = client.open("/f", libc::O_RDWR).expect("opened");
    daemon.zpool(&format!("import -d {} tank", scratch.text("one"))).done();
    assert_eq!(open.read(0, 64).expect("read"), b"1ne, two, three");
    assert_eq!(names(&url), disk);

    // Reversed, the original is the replica; what it alone has is given up when that is said.
    let told = refused(svc(&daemon, &["reverse", "away"]));
    assert!(told.contains("bytes of tank/home") && told.contains("--discard"), "{told}");
    assert_eq!(value(&daemon, "readonly", "tank/home"), "off");
    svc(&daemon, &["reverse", "away", "--discard"]).done();
    synced(&daemon, "away", 2);
    assert_eq!(shown(&daemon, "away")["spec"]["source"]["dataset"], "backup/home");
    assert_eq!(value(&daemon, "readonly", "tank/home"), "on");
    run(&daemon, "away");
    assert_eq!(open.read(0, 64).expect("read"), b"1ne, two, three");

    // And back: what was written meanwhile is there, and nothing is lost.
    open.write(0, b"2").expect("written");
    open.sync().expect("on disk");
    let mut initiator = Initiator::log_in(&unit).expect("a session");
    initiator.write(&unit, 512, &[3; 512]).expect("written");
    initiator.flush(&unit).expect("flushed");
    run(&daemon, "away");
    let told = replica(&daemon, &["lost", "tank/home"]).done();
    assert_eq!(told.matches(": nothing of backup/home").count(), 2, "{told}");
    let told = replica(&daemon, &["promote", "tank/home", "--force"]).done();
    assert!(told.starts_with("taken out  backup/home\n"), "{told}");
    assert_eq!(open.read(0, 64).expect("the same handle"), b"2ne, two, three");
    open.write(1, b"NE").expect("written");
    open.sync().expect("on disk");
    assert_eq!(client.read_file("/d/g").expect("read"), b"new");
    assert_eq!(names(&url), disk);
    settle(&mut initiator, &unit);
    assert_eq!(initiator.read(&unit, 512, 512).expect("read"), [3; 512]);
    svc(&daemon, &["reverse", "away"]).done();
    synced(&daemon, "away", 2);
    run(&daemon, "away");
    assert_eq!(shown(&daemon, "away")["spec"]["source"]["dataset"], "tank/home");
    let live = Client::mount(&daemon, &scratch.text("tank-home")).expect("mounted");
    assert_eq!(live.read_file("/f").expect("read"), b"2NE, two, three");
    assert_eq!(value(&daemon, "readonly", "backup/home"), "on");
    drop((open, live));
    drop(client);
    daemon.stop();
    assert_clean(&scratch.path("one"), "tank");
    assert_clean(&scratch.path("two"), "backup");
}

/// Kills the daemon and begins it anew: the disk has the same names. Gives where it is.
fn again(daemon: &mut Daemon, scratch: &Scratch, disk: &(String, Vec<u8>)) -> String {
    daemon.kill();
    daemon.begin();
    let url = format!("iscsi://{}/{TARGET}/0", portal(daemon));
    assert_eq!(names(&url), *disk, "{}", scratch.text("state"));
    url
}

#[test]
fn a_fail_over_is_tried_on_clones_and_changes_nothing() {
    let scratch = Scratch::new("failover-test");
    let mut daemon = Daemon::start(&scratch);
    pools(&scratch, &daemon, (256, 256));
    daemon.zfs("create tank/home").done();
    daemon.zfs("create tank/home/below").done();
    let client = share(&daemon, &scratch, "tank/home");
    client.write_file("/f", 0o644, b"one").expect("written");
    create(&daemon, "away", "tank/home", "backup/home", &["--recursive"]);
    synced(&daemon, "away", 2);
    let listed: Value = serde_json::from_str(&replica(&daemon, &["list", "--json"]).done()).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(2));
    assert_eq!((&listed[0]["source"], &listed[0]["keeps_clients"]), (&"tank/home".into(), &true.into()));

    let clones = replica(&daemon, &["test", "backup/home", "backup/trial"]).done();
    assert_eq!(clones, "backup/trial\nbackup/trial/below\n");
    let trial = share(&daemon, &scratch, "backup/trial");
    assert_eq!(trial.read_file("/f").expect("read"), b"one");
    trial.write_file("/f", 0o644, b"tried").expect("it can be written to");
    for own in ["org.cistern:replica", "org.cistern:identity"] {
        assert_eq!(value(&daemon, own, "backup/trial"), "-");
    }
    // Replication goes on meanwhile, and afterwards nothing of it is left.
    client.write_file("/f", 0o644, b"two").expect("written");
    run(&daemon, "away");
    assert_eq!(
        (state(&daemon, "away").as_str(), client.read_file("/f").ok()),
        ("online", Some(b"two".to_vec()))
    );
    drop(trial);
    daemon.zfs("destroy -r backup/trial").done();
    assert!(refused(replica(&daemon, &["test", "tank/home", "tank/trial"])).contains("is a replica"));
    assert!(refused(replica(&daemon, &["promote", "tank/none"])).contains("tank/none"));
    drop(client);
    daemon.stop();
    assert_clean(&scratch.path("two"), "backup");
}

/// The address would move too: a handle of the one is good at the other.
#[test]
fn a_handle_is_good_at_the_other_appliance() {
    let scratch = Scratch::new("failover-peers");
    let (mut north, mut south) =
        (appliance(&scratch, "north", "tank", 256), appliance(&scratch, "south", "dozer", 256));
    pair(&north, &south, "dozer/north");
    north.zfs("create tank/home").done();
    let client = share(&north, &scratch, "tank/home");
    client.write_file("/f", 0o644, b"one").expect("written");
    create(&north, "away", "tank/home", "peer://south/dozer/north", &[]);
    until("the replica", || same((&north, "tank/home"), (&south, "dozer/north")));
    until("the end of the run", || state(&north, "away") == "online");
    let identity = format!("{} {}", pool_guid(&north, "tank"), value(&north, "guid", "tank/home"));
    assert_eq!(value(&south, "org.cistern:identity", "dozer/north"), format!("asleep {identity}"));
    let file = File::open(&north, &scratch.text("tank-home"), "f");

    let told = replica(&south, &["promote", "dozer/north"]).done();
    assert_eq!(told, "promoted   dozer/north: clients of its source go on\n");
    let copy = share(&south, &scratch, "dozer/north");
    let there = File::open(&south, &scratch.text("dozer-north"), "f");
    assert_eq!(there.handle(), file.handle());
    let mut there = file.by_way_of(there);
    there.read(0, 64).expect("the same handle");
    there.write_stable(0, b"two").expect("written");
    assert_eq!(copy.read_file("/f").expect("read"), b"two");
    // What the original sends is taken no more, and a person is told.
    client.write_file("/f", 0o644, b"three").expect("written");
    run(&north, "away");
    assert_eq!(state(&north, "away"), "maintenance");
    assert!(svc(&north, &["show", "away"]).done().contains("is no replica"));
    assert_eq!(copy.read_file("/f").expect("read"), b"two");
    drop((client, copy, there));
    north.stop();
    south.stop();
    assert_clean(&scratch.path("dozer"), "dozer");
}

/// What clients know a dataset by is set by replication alone, goes nowhere, and is shown without
/// what seals handles.
#[test]
fn nobody_takes_the_place_of_another_by_a_claim() {
    let scratch = Scratch::new("failover-claims");
    let mut daemon = Daemon::start(&scratch);
    pools(&scratch, &daemon, (256, 256));
    daemon.zfs("create tank/home").done();
    let client = share(&daemon, &scratch, "tank/home");
    client.write_file("/f", 0o644, b"one").expect("written");
    create(&daemon, "away", "tank/home", "backup/home", &[]);
    synced(&daemon, "away", 1);
    let identity = format!("{} {}", pool_guid(&daemon, "tank"), value(&daemon, "guid", "tank/home"));
    until("its identity", || {
        value(&daemon, "org.cistern:identity", "backup/home") == format!("asleep {identity}")
    });
    let claim = format!("org.cistern:identity=live {identity} -");
    for words in [vec!["zfs", "set", &claim, "backup"], vec!["zfs", "create", "-o", &claim, "backup/x"]] {
        let told = refused(daemon.run(&words));
        assert!(told.contains("replication sets it"), "{told}");
    }

    // Whoever makes it a dataset of its own has not promoted it: the original has its clients.
    svc(&daemon, &["disable", "away"]).done();
    daemon.zfs("inherit org.cistern:replica backup/home").done();
    daemon.zfs("inherit readonly backup/home").done();
    let copy = share(&daemon, &scratch, "backup/home");
    copy.write_file("/f", 0o644, b"another").expect("written");
    assert_eq!(client.read_file("/f").expect("read"), b"one");
    assert!(copy.stat("/f").expect("there").dev != client.stat("/f").expect("there").dev);
    drop((client, copy));
    daemon.stop();
    assert_clean(&scratch.path("two"), "backup");
}

fn pool_guid(daemon: &Daemon, pool: &str) -> String {
    daemon.run(&["zpool", "get", "-Hp", "-o", "value", "guid", pool]).done().trim().to_owned()
}
