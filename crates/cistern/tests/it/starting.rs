//! What the daemon says and keeps while it still imports the pools of its last run: one of them
//! lies on a disk that does not answer for a while.

use std::fs;

use crate::daemon::{Daemon, Ran, Scratch, text};
use crate::suspended::until;
use crate::zdb::assert_clean;

const NAMES: &str = "list -H -o name";

#[track_caller]
fn refused(ran: Ran, message: &str) {
    assert_eq!((ran.status, ran.err.trim_end()), (1, message));
}

#[test]
fn a_pool_that_is_still_to_come_is_neither_denied_nor_forgotten() {
    let scratch = Scratch::new("starting");
    // The disk is a file in a file system that another daemon serves, and that one can be stopped.
    let below = Daemon::start_with(&scratch, "below", &[]);
    let (under, at) = (scratch.image_in("under", "under", 512), scratch.path("at"));
    below.zpool(&format!("create -m {} under {under}", text(&at))).done();
    below.zfs("mount under").done();
    let slow = at.join("slow");
    fs::File::create(&slow).and_then(|file| file.set_len(256 << 20)).expect("made");

    let mut daemon = Daemon::start(&scratch);
    let (a, b) = (scratch.image("a", 128), scratch.image("b", 128));
    daemon.zpool(&format!("create -m none first {a}")).done();
    daemon.zpool(&format!("create -m none last {}", text(&slow))).done();
    daemon.zfs("create last/fs").done();
    daemon.stop();
    below.signal("STOP");

    let banner = daemon.spawn();
    until("the first pool", || daemon.zpool(NAMES).out == "first\n");
    let coming = "pool is being imported, try again later";
    refused(daemon.zpool("list last"), &format!("cannot open 'last': {coming}"));
    refused(daemon.zpool("status last"), &format!("cannot open 'last': {coming}"));
    refused(daemon.zfs("list last/fs"), &format!("cannot open 'last/fs': {coming}"));
    refused(daemon.zfs("create last/new"), &format!("cannot create 'last/new': {coming}"));
    refused(daemon.zfs("snapshot last/fs@now"), &format!("cannot create snapshot 'last/fs@now': {coming}"));
    refused(daemon.zfs("set atime=off last/fs"), &format!("cannot open 'last/fs': {coming}"));
    refused(daemon.zpool("list nosuch"), "cannot open 'nosuch': no such pool");
    // Who makes a pool meanwhile has the list of pools written.
    daemon.zpool(&format!("create -m none second {b}")).done();
    daemon.kill();
    drop(banner);
    below.signal("CONT");
    daemon.begin();
    assert_eq!(daemon.zpool(NAMES).done(), "first\nlast\nsecond\n");

    // Who exports one that is still to come does not find it at the next start.
    daemon.stop();
    below.signal("STOP");
    let banner = daemon.spawn();
    until("the first pool", || daemon.zpool(NAMES).out.starts_with("first\n"));
    let export = daemon.command(&["zpool", "export", "last"]).spawn().expect("started");
    below.signal("CONT");
    let exported = export.wait_with_output().expect("it ended").status;
    assert!(exported.success(), "{exported}");
    banner.recv_timeout(crate::daemon::PATIENCE).expect("it has started");
    assert_eq!(daemon.zpool(NAMES).done(), "first\nsecond\n");
    daemon.kill();
    daemon.begin();
    assert_eq!(daemon.zpool(NAMES).done(), "first\nsecond\n");
    daemon.zpool(&format!("import -d {} last", text(&at))).done();
    daemon.zpool("export last").done();
    assert_clean(&at, "last");
    daemon.stop();
    drop(below);
}
