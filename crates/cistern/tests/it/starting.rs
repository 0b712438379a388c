//! What the daemon says and keeps while it still imports the pools of its last run: one of them
//! lies on a disk that does not answer for a while.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sunrpc::client::Client;
use sunrpc::msg::{AuthSys, Credential};
use sunrpc::xdr::Encoder;

use crate::daemon::{Daemon, Ran, Scratch, program, text};
use crate::iscsi::{LISTEN, portal};
use crate::nfs3::File;
use crate::suspended::until;
use crate::zdb::assert_clean;

const NAMES: &str = "list -H -o name";

#[track_caller]
fn refused(ran: Ran, message: &str) {
    assert_eq!((ran.status, ran.err.trim_end()), (1, message));
}

/// A disk that does not answer while the daemon that it comes with is stopped: a file in a file
/// system that this one serves. Gives where that is mounted, and the file.
fn stoppable(scratch: &Scratch) -> (Daemon, PathBuf, PathBuf) {
    let below = Daemon::start_with(scratch, "below", &[]);
    let (under, at) = (scratch.image_in("under", "under", 512), scratch.path("at"));
    below.zpool(&format!("create -m {} under {under}", text(&at))).done();
    below.zfs("mount under").done();
    let slow = at.join("slow");
    fs::File::create(&slow).and_then(|file| file.set_len(256 << 20)).expect("made");
    (below, at, slow)
}

#[test]
fn a_pool_that_is_still_to_come_is_neither_denied_nor_forgotten() {
    let scratch = Scratch::new("starting");
    let (below, at, slow) = stoppable(&scratch);
    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none quick {a}")).done();
    daemon.zpool(&format!("create -m none hung {}", text(&slow))).done();
    daemon.zfs("create hung/fs").done();
    daemon.stop();
    below.signal("-STOP");

    let banner = daemon.spawn();
    until("the other pool", || daemon.zpool(NAMES).out == "quick\n");
    let coming = "pool is being imported, try again later";
    refused(daemon.zpool("list hung"), &format!("cannot open 'hung': {coming}"));
    refused(daemon.zpool("status hung"), &format!("cannot open 'hung': {coming}"));
    refused(daemon.zfs("list hung/fs"), &format!("cannot open 'hung/fs': {coming}"));
    refused(daemon.zfs("create hung/new"), &format!("cannot create 'hung/new': {coming}"));
    refused(daemon.zfs("snapshot hung/fs@now"), &format!("cannot open 'hung/fs': {coming}"));
    refused(daemon.zfs("set atime=off hung/fs"), &format!("cannot set property for 'hung/fs': {coming}"));
    refused(daemon.zpool("list nosuch"), "cannot open 'nosuch': no such pool");
    // Who makes a pool meanwhile has the list of pools written.
    daemon.zpool(&format!("create -m none third {b}")).done();
    daemon.kill();
    drop(banner);
    below.signal("-CONT");
    daemon.begin();
    assert_eq!(daemon.zpool(NAMES).done(), "hung\nquick\nthird\n");

    // Who exports one that is still to come does not find it at the next start.
    daemon.stop();
    below.signal("-STOP");
    let banner = daemon.spawn();
    until("the other pool", || daemon.zpool(NAMES).out.starts_with("quick\n"));
    let refusal = "cannot destroy 'hung': pool is being imported";
    refused(daemon.zpool("destroy hung"), refusal);
    let export = daemon.command(&["zpool", "export", "hung"]).spawn().expect("started");
    below.signal("-CONT");
    let exported = export.wait_with_output().expect("it ended").status;
    assert!(exported.success(), "{exported}");
    banner.recv_timeout(crate::daemon::PATIENCE).expect("it has started");
    assert_eq!(daemon.zpool(NAMES).done(), "quick\nthird\n");
    daemon.kill();
    daemon.begin();
    assert_eq!(daemon.zpool(NAMES).done(), "quick\nthird\n");
    // Nor does who destroys one that came with the start.
    daemon.zpool("destroy third").done();
    let list = fs::read_to_string(scratch.path("state/pools")).expect("it is there");
    assert!(list.contains("quick") && !list.contains("third"), "{list}");
    daemon.zpool(&format!("import -d {} hung", text(&at))).done();
    daemon.zpool("export hung").done();
    assert_clean(&at, "hung");
    daemon.stop();
    drop(below);
}

/// NFS3ERR_JUKEBOX: the client is to ask again.
const JUKEBOX: u32 = 10_008;

/// Whether MNT of a path is left without an answer.
fn is_unanswered(daemon: &Daemon, path: &str) -> bool {
    let credential = Credential::Sys(AuthSys::new(0, 0, &[]));
    let addr = format!("{}:{}", daemon.host, daemon.port);
    let mut client = Client::connect(addr, 100_005, 3, credential).expect("connected");
    client.set_timeout(Some(Duration::from_secs(2))).expect("a timeout");
    let mut args = Encoder::new();
    args.opaque(path.as_bytes());
    client.call(1, args.bytes()).is_err()
}

#[test]
fn what_is_there_is_served_while_a_pool_is_still_to_come() {
    let scratch = Scratch::new("early");
    let (below, at, slow) = stoppable(&scratch);
    let mut daemon = Daemon::start_with(&scratch, "state", &LISTEN);
    let (a, mnt) = (scratch.image("a", 128), scratch.text("mnt"));
    let share = "-O sharenfs=rw,no_root_squash,insecure";
    let paths = ["quick", "hung"].map(|pool| format!("{mnt}/{pool}"));
    for (pool, disk, path) in [("quick", &a, &paths[0]), ("hung", &text(&slow), &paths[1])] {
        daemon.zpool(&format!("create {share} -m {path} {pool} {disk}")).done();
        daemon.zfs(&format!("create -V 16M -o cistern:iscsi=on {pool}/v")).done();
        File::create(&daemon, path, "file", 0o644).write_stable(0, b"before").expect("written");
    }
    let lost = File::open(&daemon, &paths[1], "file");
    daemon.stop();
    below.signal("-STOP");

    daemon.begin();
    assert!(daemon.banner.contains("hung (still being imported)"), "{}", daemon.banner);
    let mut file = File::open(&daemon, &paths[0], "file");
    file.write_stable(0, b"now").expect("written");
    let mut lost = lost.by_way_of(file);
    assert_eq!(lost.try_write_stable(0, b"now").expect("answered"), JUKEBOX);
    assert!(is_unanswered(&daemon, &paths[1]));
    let inquiry = |daemon: &Daemon, pool: &str| {
        let url = format!("iscsi://{}/iqn.2026-01.org.cistern:{pool}:v/0", portal(daemon));
        Ran::of(program("iscsi-inq", 60).arg(url))
    };
    assert!(inquiry(&daemon, "quick").done().contains("Vendor:CISTERN"));
    let refusal = inquiry(&daemon, "hung");
    assert!(refusal.status != 0 && !refusal.err.contains("not found"), "{}", refusal.err);

    below.signal("-CONT");
    until("the pool", || daemon.zpool(NAMES).out == "hung\nquick\n");
    until("its file", || lost.try_write_stable(0, b"now").expect("answered") == 0);
    File::open(&daemon, &paths[1], "file").write_stable(0, b"then").expect("written");
    until("its volume", || inquiry(&daemon, "hung").status == 0);
    // What is not there is told again.
    assert!(!is_unanswered(&daemon, &format!("{mnt}/nowhere")));
    daemon.stop();
    assert_clean(&scratch.path("disks"), "quick");
    assert_clean(&at, "hung");
    drop(below);
}

/// Writes down another guid for the one pool of a list, as if the kill had come before the new one
/// was.
fn write_down_another_guid(scratch: &Scratch) -> String {
    let list = scratch.path("state").join("pools");
    let text = fs::read_to_string(&list).expect("a list");
    let (guid, rest) = text.split_once('\t').expect("a guid, and more");
    fs::write(&list, format!("7\t{rest}")).expect("written");
    guid.to_owned()
}

#[test]
fn a_pool_whose_new_guid_was_not_written_down_is_found_while_it_is_in_use() {
    let scratch = Scratch::new("starting-guid");
    let mut daemon = Daemon::start(&scratch);
    let image = scratch.image("a", 128);
    daemon.zpool(&format!("create -m none tank {image}")).done();
    daemon.kill();
    let guid = write_down_another_guid(&scratch);
    daemon.begin();
    assert_eq!(daemon.zpool("get -H -o value guid tank").done(), format!("{guid}\n"));
    daemon.kill();
    // It was written down at once.
    assert_eq!(write_down_another_guid(&scratch), guid);
    daemon.begin();
    // A stop exports it: it might be somebody else's by now.
    daemon.stop();
    write_down_another_guid(&scratch);
    daemon.begin();
    refused(daemon.zpool("list tank"), "cannot open 'tank': no such pool");
    daemon.stop();
    assert_clean(&scratch.path("disks"), "tank");
}
